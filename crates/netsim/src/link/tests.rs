//! Exact times on one link. Each test reads as a protocol: which packets enter when, and which come out when.

use super::*;
use crate::testing::{Frame, drain, drain_until, frame};
use crate::{LinkChange, Loss, OnDown, Reorder, Shaper, Trace};
use pathweave_units::Bitrate;

fn link(config: LinkConfig) -> Link<Frame> {
    Link::new(config, LinkRandom::new(1, "link"))
}

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn ns(n: u64) -> Instant {
    Instant::from_nanos(n)
}

fn certain() -> Probability {
    Probability::new(1.0).expect("from 0 to 1")
}

/// All outputs as (number of the frame, nanoseconds, fate).
#[track_caller]
fn outcomes(link: &mut Link<Frame>) -> Vec<(u32, u64, Fate)> {
    outcomes_until(link, Instant::FAR_FUTURE)
}

/// All outputs up to `end`, as (number of the frame, nanoseconds, fate).
#[track_caller]
fn outcomes_until(link: &mut Link<Frame>, end: Instant) -> Vec<(u32, u64, Fate)> {
    drain_until(link, end).into_iter().map(|out| (out.packet.tag, out.at.as_nanos(), out.fate)).collect()
}

fn cp_config() -> LinkConfig {
    LinkConfig::constant(Bitrate::from_mbps(8), Duration::from_millis(10), QueueLimit::Packets(100))
}

#[test]
fn a_frame_takes_its_transmission_time_and_the_delay() {
    let mut link = link(cp_config());
    link.enqueue(Instant::ZERO, frame(0, 1514));
    // 1514 bytes at 8 Mbit/s: 1.514 ms; the delay: 10 ms.
    assert_eq!(link.poll_timeout(), Some(ns(11_514_000)));
    assert_eq!(link.poll(ns(11_513_999)), None);
    let out = link.poll(ns(11_514_000)).expect("it arrives");
    assert_eq!((out.at, out.entered, out.sequence, out.fate), (ns(11_514_000), Instant::ZERO, 0, Fate::Delivered));
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn frames_follow_back_to_back_and_the_transmission_time_is_rounded_up() {
    let config = LinkConfig::constant(Bitrate::from_mbps(3), Duration::ZERO, QueueLimit::Packets(100));
    let mut link = link(config);
    for number in 0..3 {
        link.enqueue(ns(u64::from(number)), frame(number, 1));
    }
    // 8 bits at 3 Mbit/s: 2666.7 ns.
    let deliveries = [2667, 5334, 8001];
    assert_eq!(outcomes(&mut link), [0, 1, 2].map(|n| (n, deliveries[n as usize], Fate::Delivered)));
}

#[test]
fn a_constant_rate_link_asks_for_one_wakeup_per_packet() {
    let mut link = link(cp_config());
    for number in 0..50 {
        link.enqueue(Instant::ZERO, frame(number, 1514));
    }
    let mut wakeups = 0;
    while let Some(at) = link.poll_timeout() {
        wakeups += 1;
        assert!(link.poll(at).is_some());
    }
    assert_eq!(wakeups, 50);
}

#[test]
fn overhead_takes_time_but_no_room() {
    let mut link = link(LinkConfig {
        overhead_bytes: 24,
        queue: QueueLimit::Bytes(1000).into(),
        delay: Duration::ZERO,
        ..cp_config()
    });
    for number in 0..3 {
        link.enqueue(Instant::ZERO, frame(number, 976));
    }
    assert_eq!(
        outcomes(&mut link),
        [(2, 0, Fate::QueueFull), (0, 1_000_000, Fate::Delivered), (1, 2_000_000, Fate::Delivered)]
    );
}

#[test]
fn a_negative_overhead_leaves_the_ethernet_header_out() {
    let mut link = link(LinkConfig { overhead_bytes: -14, delay: Duration::ZERO, ..cp_config() });
    link.enqueue(Instant::ZERO, frame(0, 1014));
    assert_eq!(outcomes(&mut link), [(0, 1_000_000, Fate::Delivered)]);
}

#[test]
fn a_queue_limited_in_packets_holds_so_many_beside_the_one_in_transmission() {
    let mut link = link(LinkConfig { queue: QueueLimit::Packets(2).into(), ..cp_config() });
    for number in 0..5 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    assert_eq!((link.queued_packets(), link.queued_bytes()), (2, 2000));
    assert_eq!(outcomes_until(&mut link, ms(0)), [3, 4].map(|number| (number, 0, Fate::QueueFull)));
    // At 1 ms the first has left: room for one more.
    link.enqueue(ms(1), frame(5, 1000));
    link.enqueue(ms(1), frame(6, 1000));
    assert_eq!(outcomes_until(&mut link, ms(1)), [(6, 1_000_000, Fate::QueueFull)]);
    assert_eq!(link.stats().max_queue_packets, 2);
    assert_eq!(link.stats().count(Fate::QueueFull), 3);
}

#[test]
fn a_queue_limited_in_time_holds_what_the_rate_sends_in_it() {
    // 3 ms at 8 Mbit/s: 3000 bytes.
    let mut link = link(LinkConfig { queue: QueueLimit::Time(Duration::from_millis(3)).into(), ..cp_config() });
    for number in 0..6 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    assert_eq!(link.queued_packets(), 3);
    // Half the rate: 1500 bytes.
    link.apply(ms(3), LinkChange::Shaper(Shaper::Constant(Bitrate::from_mbps(4))));
    assert_eq!(link.queued_packets(), 0);
    link.enqueue(ms(3), frame(6, 1000));
    link.enqueue(ms(3), frame(7, 1000));
    assert_eq!(link.queued_packets(), 1);
}

#[test]
fn a_queue_limited_in_time_has_room_for_one_packet() {
    let mut link = link(LinkConfig { queue: QueueLimit::Time(Duration::from_nanos(1)).into(), ..cp_config() });
    for number in 0..3 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    assert_eq!(link.queued_packets(), 1);
}

#[test]
fn a_change_of_rate_goes_on_with_what_is_left_of_the_frame() {
    let mut link = link(LinkConfig { delay: Duration::ZERO, ..cp_config() });
    link.enqueue(Instant::ZERO, frame(0, 1000));
    // After a quarter of it, at half the rate: 0.25 ms + 1.5 ms.
    link.apply(ns(250_000), LinkChange::Shaper(Shaper::Constant(Bitrate::from_mbps(4))));
    assert_eq!(outcomes(&mut link), [(0, 1_750_000, Fate::Delivered)]);
}

#[test]
fn rate_zero_stops_the_link_until_the_rate_changes() {
    let mut link = link(LinkConfig { delay: Duration::ZERO, ..cp_config() });
    link.enqueue(Instant::ZERO, frame(0, 1000));
    link.apply(ns(500_000), LinkChange::Shaper(Shaper::Constant(Bitrate::from_bps(0))));
    assert_eq!(link.poll_timeout(), None);
    link.apply(ms(20), LinkChange::Shaper(Shaper::Constant(Bitrate::from_mbps(8))));
    assert_eq!(outcomes(&mut link), [(0, 20_500_000, Fate::Delivered)]);
}

#[test]
fn a_shorter_delay_overtakes_only_where_order_is_not_kept() {
    for (keep_order, expected) in
        [(true, vec![(0, 11_000_000), (1, 11_000_000)]), (false, vec![(1, 4_000_000), (0, 11_000_000)])]
    {
        let mut link = link(LinkConfig { keep_order, ..cp_config() });
        link.enqueue(Instant::ZERO, frame(0, 1000));
        link.apply(ms(2), LinkChange::Delay(Duration::from_millis(1)));
        link.enqueue(ms(2), frame(1, 1000));
        let order: Vec<(u32, u64)> = outcomes(&mut link).into_iter().map(|out| (out.0, out.1)).collect();
        assert_eq!(order, expected);
    }
}

#[test]
fn a_link_that_goes_down_drops_what_waits_and_what_comes_but_not_what_was_sent() {
    let mut link = link(cp_config());
    for number in 0..3 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    link.apply(ns(1_500_000), LinkChange::Up(false));
    let cut = [(1, 1_500_000, Fate::LinkDown), (2, 1_500_000, Fate::LinkDown)];
    assert_eq!(outcomes_until(&mut link, ms(2)), cut);
    link.enqueue(ms(5), frame(3, 1000));
    assert_eq!(outcomes_until(&mut link, ms(5)), [(3, 5_000_000, Fate::LinkDown)]);
    link.apply(ms(6), LinkChange::Up(true));
    link.enqueue(ms(7), frame(4, 1000));
    assert_eq!(outcomes(&mut link), [(0, 11_000_000, Fate::Delivered), (4, 18_000_000, Fate::Delivered)]);
}

#[test]
fn a_link_that_holds_goes_on_where_it_stopped() {
    let mut link = link(LinkConfig { on_down: OnDown::Hold, ..cp_config() });
    for number in 0..3 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    link.apply(ns(1_500_000), LinkChange::Up(false));
    link.enqueue(ms(5), frame(3, 1000));
    link.apply(ms(6), LinkChange::Up(true));
    assert_eq!(
        outcomes(&mut link),
        [
            (3, 5_000_000, Fate::LinkDown),
            (0, 11_000_000, Fate::Delivered),
            (1, 16_500_000, Fate::Delivered),
            (2, 17_500_000, Fate::Delivered),
        ]
    );
}

#[test]
fn loss_before_the_queue_takes_no_time_and_loss_after_it_does() {
    let lossy = |loss_position| LinkConfig { loss: Loss::Bernoulli(certain()), loss_position, ..cp_config() };
    let mut before = link(lossy(LossPosition::BeforeQueue));
    before.enqueue(ms(1), frame(0, 1000));
    assert_eq!(outcomes(&mut before), [(0, 1_000_000, Fate::RandomLoss)]);
    let mut after = link(lossy(LossPosition::AfterQueue));
    after.enqueue(ms(1), frame(0, 1000));
    after.enqueue(ms(1), frame(1, 1000));
    assert_eq!(outcomes(&mut after), [(0, 2_000_000, Fate::RandomLoss), (1, 3_000_000, Fate::RandomLoss)]);
}

#[test]
fn corruption_marks_the_packet_and_delivers_it() {
    let mut link = link(LinkConfig { corrupt: certain(), ..cp_config() });
    link.enqueue(Instant::ZERO, frame(0, 1000));
    let out = drain(&mut link).pop().expect("it arrives");
    assert_eq!((out.fate, out.packet.corrupted, out.at), (Fate::Corrupted, true, ms(11)));
}

#[test]
fn duplication_gives_a_copy_with_the_original() {
    let mut link = link(LinkConfig { duplicate: certain(), ..cp_config() });
    link.enqueue(Instant::ZERO, frame(7, 1000));
    let out = drain(&mut link).pop().expect("it arrives");
    assert_eq!((out.packet.tag, out.copy.map(|copy| copy.tag)), (7, Some(7)));
    assert_eq!((link.stats().delivered_packets, link.stats().duplicated_packets), (2, 1));
}

#[test]
fn a_packet_held_back_is_overtaken_but_holds_up_nobody() {
    let reorder = Reorder { probability: certain(), extra: Duration::from_micros(2_500) };
    let mut link = link(LinkConfig { reorder, ..cp_config() });
    link.enqueue(Instant::ZERO, frame(0, 1000));
    link.apply(ms(1), LinkChange::Reorder(Reorder::default()));
    for number in 1..4 {
        link.enqueue(ms(1), frame(number, 1000));
    }
    let order: Vec<(u32, u64)> = outcomes(&mut link).into_iter().map(|out| (out.0, out.1 / 1000)).collect();
    assert_eq!(order, [(1, 12_000), (2, 13_000), (0, 13_500), (3, 14_000)]);
}

fn trace_link(millis: &[u32], queue: QueueLimit) -> Link<Frame> {
    let trace = Trace::from_millis(millis).expect("a valid trace");
    link(LinkConfig { shaper: Shaper::Trace(trace), queue: queue.into(), ..LinkConfig::default() })
}

#[test]
fn a_trace_delivers_1500_bytes_per_line_and_wraps_at_its_end() {
    let mut link = trace_link(&[2, 2, 7, 10], QueueLimit::Packets(100));
    for number in 0..7 {
        link.enqueue(Instant::ZERO, frame(number, 1500));
    }
    let times: Vec<u64> = outcomes(&mut link).into_iter().map(|out| out.1 / 1_000_000).collect();
    assert_eq!(times, [2, 2, 7, 10, 12, 12, 17]);
}

#[test]
fn small_packets_share_an_opportunity_and_big_ones_take_several() {
    let mut link = trace_link(&[1, 2, 3, 4, 5], QueueLimit::Packets(100));
    // 500 + 500 + 500 at 1 ms; 1000 and the first 500 of 2600 at 2 ms, 1500 at 3 ms, 600 at 4 ms with 900 of the last.
    for (number, length) in [500, 500, 500, 1000, 2600, 900].into_iter().enumerate() {
        link.enqueue(Instant::ZERO, frame(number as u32, length));
    }
    let times: Vec<u64> = outcomes(&mut link).into_iter().map(|out| out.1 / 1_000_000).collect();
    assert_eq!(times, [1, 1, 1, 2, 4, 4]);
}

#[test]
fn unused_opportunities_are_wasted() {
    let mut link = trace_link(&[1, 2, 3, 10], QueueLimit::Packets(100));
    link.enqueue(Instant::from_nanos(2_500_000), frame(0, 100));
    link.enqueue(ms(4), frame(1, 1500));
    // The rest of the opportunity at 3 ms is lost with those before it.
    assert_eq!(outcomes(&mut link), [(0, 3_000_000, Fate::Delivered), (1, 10_000_000, Fate::Delivered)]);
}

#[test]
fn a_packet_that_comes_at_the_time_of_an_opportunity_is_too_late_for_it() {
    let mut link = trace_link(&[1, 2, 10], QueueLimit::Packets(100));
    link.enqueue(ms(1), frame(0, 1500));
    assert_eq!(outcomes(&mut link), [(0, 2_000_000, Fate::Delivered)]);
}

#[test]
fn a_trace_counts_a_waiting_packet_until_its_first_opportunity() {
    let mut link = trace_link(&[1, 2, 3, 10], QueueLimit::Packets(1));
    link.enqueue(Instant::ZERO, frame(0, 3000));
    link.enqueue(Instant::ZERO, frame(1, 1500));
    // At 1 ms the first packet has left the queue, though not the link.
    link.enqueue(ns(1_100_000), frame(2, 1500));
    assert_eq!(
        outcomes(&mut link),
        [(1, 0, Fate::QueueFull), (0, 2_000_000, Fate::Delivered), (2, 3_000_000, Fate::Delivered)]
    );
}

#[test]
fn a_trace_wakes_once_per_packet() {
    let mut link = trace_link(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], QueueLimit::Packets(10));
    link.enqueue(Instant::ZERO, frame(0, 6000));
    assert_eq!(link.poll_timeout(), Some(ms(4)));
    assert!(link.poll(ms(4)).is_some());
}

#[test]
fn opportunities_while_down_are_wasted() {
    let mut link = trace_link(&[1, 2, 3, 10], QueueLimit::Packets(10));
    link.apply(Instant::ZERO, LinkChange::OnDown(OnDown::Hold));
    link.enqueue(Instant::ZERO, frame(0, 3000));
    link.apply(ns(1_500_000), LinkChange::Up(false));
    assert_eq!(link.poll_timeout(), None);
    link.apply(ms(2), LinkChange::Up(true));
    assert_eq!(outcomes(&mut link), [(0, 3_000_000, Fate::Delivered)]);
}

fn bucket_link(burst_bytes: u64) -> Link<Frame> {
    let shaper = Shaper::TokenBucket { rate: Bitrate::from_mbps(8), burst_bytes };
    link(LinkConfig { shaper, queue: QueueLimit::Packets(10).into(), ..LinkConfig::default() })
}

#[test]
fn a_token_bucket_lets_a_burst_through_at_once_and_then_keeps_the_rate() {
    let mut link = bucket_link(2500);
    for number in 0..5 {
        link.enqueue(Instant::ZERO, frame(number, 1000));
    }
    // 2500 tokens at the start, 1000 per millisecond.
    let times: Vec<u64> = outcomes(&mut link).into_iter().map(|out| out.1 / 1000).collect();
    assert_eq!(times, [0, 0, 500, 1500, 2500]);
}

/// Linux's tbf, `tc qdisc change` (`tbf_change`): the bucket is full, and the timer of the waiting frame stays.
#[test]
fn a_new_rate_fills_the_token_bucket_and_the_waiting_frame_keeps_its_time() {
    let to = |mbps| LinkChange::Shaper(Shaper::TokenBucket { rate: Bitrate::from_mbps(mbps), burst_bytes: 1500 });
    let microseconds =
        |outcomes: Vec<(u32, u64, Fate)>| outcomes.into_iter().map(|out| out.1 / 1000).collect::<Vec<_>>();
    for (arrival, times) in [(None, [500, 550, 650]), (Some(ns(200_000)), [200, 250, 350])] {
        let mut link = bucket_link(1500);
        for number in 0..3 {
            link.enqueue(Instant::ZERO, frame(number, 1000));
        }
        assert_eq!(microseconds(outcomes_until(&mut link, ns(100_000))), [0]);
        // The second frame waits until 0.5 ms and leaves then, the third finds the 500 tokens that are left.
        link.apply(ns(100_000), to(80));
        // An arrival lets the second one leave.
        link.enqueue(arrival.unwrap_or(ns(500_000)), frame(3, 1000));
        assert_eq!(microseconds(outcomes(&mut link)), times);
    }
}

#[test]
fn a_token_bucket_rounds_as_the_kernel_does() {
    // 1.5 MB/s: a byte is 2,863,311,530 / 2^22 ns, a little less than 666 2/3. 1500 bytes are so a nanosecond short of
    // a millisecond, 1514 bytes are 1,009,333 ns.
    let shaper = Shaper::TokenBucket { rate: Bitrate::from_mbps(12), burst_bytes: 1514 };
    let mut link = link(LinkConfig { shaper, queue: QueueLimit::Packets(10).into(), ..LinkConfig::default() });
    for (number, length) in [1514, 1500, 1514, 1514].into_iter().enumerate() {
        link.enqueue(Instant::ZERO, frame(number as u32, length));
    }
    let times: Vec<u64> = outcomes(&mut link).into_iter().map(|out| out.1).collect();
    assert_eq!(times, [0, 999_999, 999_999 + 1_009_333, 999_999 + 2 * 1_009_333]);
}

#[test]
fn a_token_bucket_fills_up_to_its_depth_only() {
    let mut link = bucket_link(2000);
    link.enqueue(Instant::ZERO, frame(0, 2000));
    assert_eq!(outcomes_until(&mut link, ms(0)), [(0, 0, Fate::Delivered)]);
    for number in 1..4 {
        link.enqueue(ms(100), frame(number, 1000));
    }
    let times: Vec<u64> = outcomes(&mut link).into_iter().map(|out| out.1 / 1000).collect();
    assert_eq!(times, [100_000, 100_000, 101_000]);
}

#[test]
fn a_frame_longer_than_the_bucket_is_dropped() {
    let mut link = bucket_link(1000);
    link.enqueue(Instant::ZERO, frame(0, 1001));
    assert_eq!(outcomes(&mut link), [(0, 0, Fate::Oversized)]);
}

#[test]
fn an_unlimited_link_adds_only_its_delay() {
    let mut link = link(LinkConfig { delay: Duration::from_millis(3), ..LinkConfig::default() });
    link.enqueue(ms(1), frame(0, 1_000_000));
    link.enqueue(ms(1), frame(1, 1_000_000));
    assert_eq!(outcomes(&mut link), [(0, 4_000_000, Fate::Delivered), (1, 4_000_000, Fate::Delivered)]);
}
