use super::{Objective, Weave};
use pathweave_proto::congestion::LossKind;
use pathweave_proto::connection::SendMap;
use pathweave_proto::scheduler::Event;
use pathweave_proto::scheduler::testing::{Bench, Sub, seg, sub};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::Duration;

fn weave(objective: Objective) -> Weave {
    Weave::new(objective, 0.05, Duration::from_secs(1))
}

/// Lets the scheduler measure the rate `mbps` and a queue of `queue_ms` on subflow `id`: acknowledgements of two
/// segments come as far apart as the rate says.
pub(super) fn learn(weave: &mut Weave, bench: &mut Bench, id: u8, mbps: f64, queue_ms: u64) {
    learn_from_little(weave, bench, id, mbps, mbps, queue_ms);
}

/// Like [`learn`], but less was given than the path takes, so that it delivered only `delivered` Mbit/s.
fn learn_from_little(weave: &mut Weave, bench: &mut Bench, id: u8, mbps: f64, delivered: f64, queue_ms: u64) {
    use pathweave_proto::scheduler::Scheduler;
    let gap = Duration::from_secs_f64(2.0 * 8000.0 / (mbps * 1e6));
    let start = bench.now;
    for n in 0..60 {
        bench.sub(id).delivery.rate = delivered * 1e6 / 8.0;
        let view = bench.view();
        let rtt = bench.subflows.iter().find(|s| s.id.0 == id).and_then(|s| s.rtt.min).unwrap_or(Duration::ZERO);
        let mappings = [seg(2 * n)..seg(2 * n + 2)];
        let subflow = SubflowId(id);
        weave.on_event(&Event::Acked { subflow, mappings: &mappings, data_ack: DataSeq(0), has_sack: false }, &view);
        weave.on_event(&Event::RttSample { subflow, rtt: rtt + Duration::from_millis(queue_ms) }, &view);
        bench.now = start + gap.saturating_mul(n + 1);
    }
    bench.now = start + Duration::from_secs(1);
}

/// Two paths of 8 Mbit/s with one-way delays of 10 and 50 ms. Both are measured, have had losses, have congestion
/// windows of 200 segments, and a recent queue of `queue_ms`. The receive window has `window` segments.
pub(super) fn pair(window: u64, queue_ms: u64) -> (Weave, Bench) {
    pair_of(window, 2000, queue_ms)
}

/// Like [`pair`], with `written` segments written.
fn pair_of(window: u64, written: u64, queue_ms: u64) -> (Weave, Bench) {
    let open = |s: Sub| s.cwnd(200);
    let mut bench = Bench::new([open(sub(0).rtt(20)), open(sub(1).rtt(100))]).write(written).send_window(window);
    let mut weave = weave(Objective::Throughput);
    learn(&mut weave, &mut bench, 0, 8.0, queue_ms);
    learn(&mut weave, &mut bench, 1, 8.0, queue_ms);
    for id in [0, 1] {
        weave.path(SubflowId(id)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
        weave.path(SubflowId(id)).lost = true;
    }
    (weave, bench)
}

#[test]
fn a_window_that_fits_both_paths_uses_both_and_the_slow_one_takes_data_ahead() {
    // 2 MB/s need (50 + 10) ms: 120 segments of 1000 bytes.
    let (mut weave, mut bench) = pair(200, 0);
    let given = bench.run(&mut weave);
    let slow: Vec<_> = given.iter().filter(|g| g.0 == 1).collect();
    assert!(given.iter().any(|g| g.0 == 0) && !slow.is_empty(), "{given:?}");
    // The slow path's first byte arrives 40 ms after the fast path's. In these 40 ms the fast path delivers 40
    // segments.
    assert!(slow[0].1.start > 0, "{given:?}");
}

#[test]
fn a_window_that_the_fast_path_needs_is_left_to_it() {
    // 30 segments are 1.5 RTT of the fast path, which alone delivers 1 MB/s. Both paths would deliver a window in 60
    // ms, which is 0.5 MB/s.
    let (mut weave, mut bench) = pair(30, 0);
    let given = bench.run(&mut weave);
    assert!(given.iter().filter(|g| g.1.start > 0).all(|g| g.0 == 0), "{given:?}");
}

#[test]
fn a_path_has_no_more_in_flight_than_its_delay_takes() {
    // The horizon is 30 segments over 1 MB/s less 10 ms: 20 ms. At most 1 MB/s · 30 ms is in flight.
    let (mut weave, mut bench) = pair(30, 0);
    let most = bench.run(&mut weave).iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>();
    assert!((20..=30).contains(&most), "{most}");
}

/// A [`pair`] with a window that fits the fast path and a part of the slow one. The fast path has lost nothing yet.
pub(super) fn burst_pair() -> (Weave, Bench) {
    let (mut weave, bench) = pair(60, 0);
    weave.path(SubflowId(0)).lost = false;
    (weave, bench)
}

#[test]
fn a_path_that_has_lost_something_has_no_bursts_behind_it() {
    let (mut weave, mut bench) = burst_pair();
    let lost = Event::Lost { subflow: SubflowId(0), kind: LossKind::FastRecovery };
    bench.event(&mut weave, &lost);
    let given = bench.run(&mut weave);
    assert!(given.iter().all(|g| g.0 == 0), "its rate will change: {given:?}");
}

#[test]
fn a_window_that_fits_one_path_and_more_has_bursts_at_its_far_end() {
    // The fast path has 20 segments in flight; it fills 60 − 13 segments while 13 are on their way over 60 ms.
    let (mut weave, mut bench) = burst_pair();
    let given = bench.run(&mut weave);
    let burst: Vec<_> = given.iter().filter(|g| g.0 == 1).collect();
    assert_eq!(burst, [&(1, 47..60)], "{given:?}");
    let fast = given.iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>();
    assert!((20..=24).contains(&fast), "{given:?}");
    // There is one burst at a time, also while the fast path continues behind it.
    bench.map.assign(seg(fast)..seg(47), SubflowId(0));
    bench.map.acknowledge(seg(20));
    bench.sub(0).window.unacked = 0;
    bench.sub(0).queue.bytes = 0;
    bench.now += Duration::from_millis(20);
    let behind = bench.run(&mut weave);
    assert!(!behind.is_empty() && behind.iter().all(|g| g.0 == 0 && g.1.start >= 60), "{behind:?}");
}

/// The slow path is not used any more, but holds two segments that are due in `due_ms`.
pub(super) fn left_behind(due_ms: u64) -> (Weave, Bench) {
    let (mut weave, mut bench) = pair(30, 0);
    bench.map.assign(seg(0)..seg(2), SubflowId(1));
    bench.sub(1).window.unacked = 2;
    bench.sub(1).queue.bytes = 2000;
    let due = bench.now + Duration::from_millis(due_ms);
    weave.path(SubflowId(1)).given(bench.now, seg(0)..seg(2), due);
    (weave, bench)
}

#[test]
fn a_path_that_answers_again_is_known() {
    let given = |event: Option<Event<'_>>| {
        let (mut weave, mut bench) = pair(200, 0);
        event.into_iter().for_each(|event| bench.event(&mut weave, &event));
        bench.run(&mut weave)
    };
    assert_eq!(given(Some(Event::SubflowUp(SubflowId(1)))), given(None));
    assert_ne!(given(Some(Event::SubflowDown(SubflowId(1)))), given(None), "another one may have its name");
}

#[test]
fn what_a_window_takes_at_once_needs_no_other_path() {
    // The fast path has delivered at a small rate so far, but its window has room for all data, which it delivers
    // before the slow path's first byte would arrive.
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50).slow_start(), sub(1).rtt(30).cwnd(50)]).write(20);
    let mut weave = weave(Objective::Throughput);
    weave.path(SubflowId(0)).given(bench.now, seg(0)..seg(120), bench.now);
    learn_from_little(&mut weave, &mut bench, 0, 80.0, 1.0, 0);
    learn(&mut weave, &mut bench, 1, 8.0, 0);
    let given = bench.run(&mut weave);
    assert_eq!(given, [(0, 0..10)]);
}

#[test]
fn what_lies_on_a_path_that_is_not_used_any_more_goes_out_again_before_new_data() {
    let first = |due_ms| {
        let (mut weave, mut bench) = left_behind(due_ms);
        [bench.step(&mut weave), bench.step(&mut weave)]
    };
    assert_eq!(first(50), [Some((0, 0..1)), Some((0, 1..2))]);
    assert_eq!(first(10)[0].as_ref().map(|g| g.1.start), Some(2), "within the horizon");
}

#[test]
fn an_unused_path_is_refreshed_with_a_copy() {
    let (mut weave, mut bench) = pair(30, 0);
    bench.now += Duration::from_secs(2);
    let given = bench.run(&mut weave);
    let copy = given.iter().find(|g| g.0 == 1).expect("the slow path is unused");
    assert!(
        copy.1.end - copy.1.start <= 2 && given.iter().any(|g| g.0 == 0 && g.1.contains(&copy.1.start)),
        "{given:?}"
    );
}

#[test]
fn copies_for_estimates_are_a_small_part_of_what_was_written() {
    let copied = |segments| {
        let (mut weave, bench) = pair(30, 0);
        let mut bench = Bench { map: SendMap::new(), ..bench }.write(segments);
        bench.now += Duration::from_secs(2);
        let given = bench.run(&mut weave);
        given.iter().filter(|g| g.0 == 1).map(|g| g.1.end - g.1.start).sum::<u64>()
    };
    // Two segments are 3 % of 67.
    assert_eq!((copied(66), copied(67)), (0, 2));
}

/// A [`pair`] whose fast path has lost nothing yet, and has shown its link's rate.
pub(super) fn not_lost_yet() -> (Weave, Bench) {
    let (mut weave, mut bench) = pair(200, 0);
    not_lost(&mut weave, &mut bench);
    (weave, bench)
}

fn not_lost(weave: &mut Weave, bench: &mut Bench) {
    // The link's rate is known once data that was given as a burst is acknowledged.
    weave.path(SubflowId(0)).given(bench.now, seg(0)..seg(120), bench.now);
    learn(weave, bench, 0, 8.0, 0);
    weave.path(SubflowId(0)).lost = false;
}

#[test]
fn where_the_window_is_ample_and_full_a_slow_start_has_no_limits() {
    // 2 MB/s need (50 + 10) ms of the window: 120 segments. Six times that is 720.
    let first = |window, written| {
        let (mut weave, mut bench) = pair_of(window, written, 0);
        not_lost(&mut weave, &mut bench);
        bench.run(&mut weave).iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>()
    };
    assert_eq!(first(700, 2000), 10);
    assert!(first(740, 2000) > 60);
    assert_eq!(first(740, 739), 10, "what does not fill the window cannot go on while a loss is repaired");
}

#[test]
fn a_segment_that_waits_at_the_receiver_for_the_next_one_shows_no_queue() {
    let queues = |apart_ms| {
        let (mut weave, mut bench) = (weave(Objective::Throughput), Bench::new([sub(0).rtt(20)]).write(100));
        learn(&mut weave, &mut bench, 0, 8.0, 0);
        // Both are acknowledged when the second one has made its round trip, including any wait in a queue.
        for n in 0..4 {
            let (start, apart) = (bench.now, Duration::from_millis(apart_ms));
            let [first, second] = [seg(2 * n)..seg(2 * n + 1), seg(2 * n + 1)..seg(2 * n + 2)];
            weave.path(SubflowId(0)).given(start, first.clone(), start);
            weave.path(SubflowId(0)).given(start + apart, second.clone(), start);
            bench.now = start + Duration::from_millis(40);
            let (subflow, mappings, rtt) = (SubflowId(0), [first, second], Duration::from_millis(40));
            let acked = Event::Acked { subflow, mappings: &mappings, data_ack: seg(0), has_sack: false };
            bench.event(&mut weave, &acked);
            bench.event(&mut weave, &Event::RttSample { subflow, rtt });
        }
        weave.path(SubflowId(0)).queues(0.02, 1000.0)
    };
    assert!(queues(0));
    assert!(!queues(20));
}

#[test]
fn until_its_first_loss_a_bottleneck_gets_no_burst_longer_than_an_initial_window() {
    let (mut weave, mut bench) = not_lost_yet();
    let burst = |weave: &mut Weave, bench: &mut Bench| {
        bench.run(weave).iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>()
    };
    assert_eq!(burst(&mut weave, &mut bench), 10);
    assert_eq!(burst(&mut weave, &mut bench), 0);
    let lost = Event::Lost { subflow: SubflowId(0), kind: LossKind::FastRecovery };
    bench.event(&mut weave, &lost);
    assert!(burst(&mut weave, &mut bench) > 10);
}

/// The written data, `held` segments, is all on the slow path and is due now.
pub(super) fn held_up(held: u64) -> (Weave, Bench) {
    let (mut weave, bench) = held_by_the_slow_path(held);
    weave.path(SubflowId(1)).given(bench.now, seg(0)..seg(held), bench.now);
    (weave, bench)
}

pub(super) fn held_by_the_slow_path(held: u64) -> (Weave, Bench) {
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(100).cwnd(50)]).write(held);
    bench.map.assign(seg(0)..seg(held), SubflowId(1));
    bench.sub(1).window.unacked = held as u32;
    bench.sub(1).queue.bytes = held * 1000;
    let mut weave = Weave::new(Objective::Throughput, 0.05, Duration::from_secs(1000));
    weave.path(SubflowId(0)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
    weave.path(SubflowId(1)).lates[0] = Some(0.0);
    (weave, bench)
}

#[test]
fn a_path_that_owes_acknowledgements_and_is_silent_gets_new_data_later() {
    let arrival = |owed: u64, answered: bool| {
        let (mut weave, mut bench) = pair(200, 0);
        let path = weave.path(SubflowId(1));
        (0..owed).for_each(|n| path.given(bench.now, seg(200 + n)..seg(201 + n), bench.now));
        bench.now += Duration::from_millis(290);
        if answered {
            bench.event(&mut weave, &answer(1));
        }
        bench.now += Duration::from_millis(10);
        let mut lanes = super::lanes::Lanes::default();
        weave.compare(&bench.view(), &mut lanes);
        lanes.all.iter().find(|l| l.id == SubflowId(1)).map(|l| l.arrival * 1e3).unwrap_or_default().round()
    };
    // The round trip is 100 ms, and a single segment's acknowledgement may wait for the receiver's timer.
    assert_eq!(arrival(2, false) - arrival(0, false), 200.0);
    assert_eq!(arrival(1, false) - arrival(0, false), 0.0);
    assert_eq!(arrival(2, true) - arrival(0, true), 10.0);
}

/// An acknowledgement on subflow `id` that covers no data of the test.
pub(super) fn answer(id: u8) -> Event<'static> {
    Event::Acked { subflow: SubflowId(id), mappings: &[DataSeq(0)..DataSeq(0)], data_ack: DataSeq(0), has_sack: false }
}

#[test]
fn a_dearer_path_waits_for_its_need() {
    let dear = |segments| {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(20).cwnd(50)]).write(segments);
        bench.sub(1).path.cost = 5.0;
        let mut weave = weave(Objective::Cost);
        learn(&mut weave, &mut bench, 0, 8.0, 0);
        learn(&mut weave, &mut bench, 1, 8.0, 0);
        bench.run(&mut weave).iter().any(|g| g.0 == 1)
    };
    // At 1 MB/s, the patience of a second is 1000 segments.
    assert!(!dear(900));
    assert!(dear(1200));
}

#[test]
fn a_path_of_later_priority_waits_for_its_need_and_one_without_quota_for_the_others_end() {
    let used = |segments, change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(20).cwnd(50)]).write(segments);
        change(&mut bench);
        let mut weave = weave(Objective::Cost);
        learn(&mut weave, &mut bench, 0, 8.0, 0);
        learn(&mut weave, &mut bench, 1, 8.0, 0);
        bench.run(&mut weave).iter().any(|g| g.0 == 1)
    };
    let later = |bench: &mut Bench| bench.sub(1).path.priority = bench.sub(0).path.priority + 1;
    assert!(!used(900, &later));
    assert!(used(1200, &later));
    let spent = |bench: &mut Bench| bench.sub(1).path.quota_left = Some(0);
    assert!(!used(1200, &spent), "the other one has quota");
    let both = |bench: &mut Bench| [0, 1].iter().for_each(|id| bench.sub(*id).path.quota_left = Some(0));
    assert!(used(1200, &both), "there is no other one");
}

#[test]
fn for_low_delay_idle_paths_carry_copies_of_what_a_path_may_lose() {
    let copies = |objective, loss| {
        let mut bench = Bench::new([sub(0).rtt(40).cwnd(50), sub(1).rtt(50).cwnd(50)]).write(3);
        bench.sub(0).delivery.loss = loss;
        // Otherwise copies cost nothing.
        bench.sub(1).path.cost = 1.0;
        let mut weave = Weave::new(objective, 0.05, Duration::from_secs(1000));
        learn(&mut weave, &mut bench, 0, 80.0, 0);
        learn(&mut weave, &mut bench, 1, 80.0, 0);
        for id in [0, 1] {
            weave.path(SubflowId(id)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
        }
        bench.run(&mut weave).iter().filter(|g| g.0 == 1).map(|g| g.1.end - g.1.start).sum::<u64>()
    };
    assert_eq!(copies(Objective::Latency, 0.05), 3);
    assert_eq!(copies(Objective::Latency, 0.0), 0);
    assert_eq!(copies(Objective::Throughput, 0.05), 0);
}

/// The lane of subflow `id`, compared now.
fn lane(weave: &mut Weave, bench: &Bench, id: u8) -> super::lanes::Lane {
    let mut lanes = super::lanes::Lanes::default();
    weave.window = bench.view().send_window as f64;
    weave.compare(&bench.view(), &mut lanes);
    *lanes.all.iter().find(|l| l.id == SubflowId(id)).expect("it can be chosen")
}

#[test]
fn a_full_segment_takes_longer_than_a_handshake_by_its_transmission_at_most() {
    let rtt_ms = |data_took_us: u64| {
        let mut bench = Bench::new([sub(0).rtt(20)]).write(2000);
        let mut weave = weave(Objective::Throughput);
        bench.now += Duration::from_secs(1);
        // All segments are given at once, so that their acknowledgements show the link's rate of 1 ms a segment.
        let given = bench.now;
        bench.now += Duration::from_micros(data_took_us);
        weave.path(SubflowId(0)).given(given, seg(0)..seg(120), given);
        learn(&mut weave, &mut bench, 0, 8.0, 0);
        (lane(&mut weave, &bench, 0).rtt * 1e4).round() / 10.0
    };
    assert_eq!(rtt_ms(20_500), 20.5);
    assert_eq!(rtt_ms(35_000), 21.0, "the rest is a queue");
    assert_eq!(rtt_ms(15_000), 20.0);
}

#[test]
fn no_part_of_a_segment_waits_beyond_the_horizon() {
    let room = |mbps, window| {
        let (mut weave, mut bench) = pair(window, 0);
        learn(&mut weave, &mut bench, 0, mbps, 0);
        lane(&mut weave, &bench, 0).room
    };
    // Both deliver a window of 201 segments in 100.5 ms, a segment each millisecond.
    assert_eq!((room(8.0, 200), room(8.0, 201), room(8.0, 202)), (100, 100, 101));
    // A round trip of 20 ms holds 20.5 segments, so the path is busy with 21.
    assert_eq!(room(8.2, 15), 21);
}

#[test]
fn a_full_window_takes_the_next_byte_when_an_acknowledgement_comes() {
    let arrival = |window, out: u64| {
        let (mut weave, mut bench) = pair(200, 0);
        bench.sub(1).window.cwnd = window;
        bench.sub(1).window.in_flight = out as u32;
        bench.sub(1).queue.bytes = out * 1000;
        let due = bench.now + Duration::from_millis(50);
        (0..out).for_each(|n| weave.path(SubflowId(1)).given(bench.now, seg(200 + n)..seg(201 + n), due));
        bench.now += Duration::from_millis(20);
        (lane(&mut weave, &bench, 1).arrival * 1e3).round()
    };
    assert_eq!(arrival(11, 10), 50.0);
    // The acknowledgement comes 100 ms after the first segment was given, 80 ms from now.
    assert_eq!(arrival(10, 10), 130.0);
}

#[test]
fn a_path_that_has_shown_no_burst_counts_with_an_initial_window_unless_it_queues() {
    let rate = |queue_ms, after_ms| {
        let mut bench = Bench::new([sub(0).rtt(10)]).write(2000);
        let (mut weave, start) = (weave(Objective::Throughput), bench.now);
        // The last acknowledgement comes after 472 ms.
        learn(&mut weave, &mut bench, 0, 2.0, queue_ms);
        bench.now = start + Duration::from_millis(after_ms);
        lane(&mut weave, &bench, 0).rate.round()
    };
    // Without a queue the window counts, ten segments in 10 ms; with a queue the delivery rate, 2 Mbit/s.
    assert_eq!((rate(0, 480), rate(40, 480)), (1e6, 250e3));
    assert_eq!(rate(40, 1000), 1e6, "the queue may be gone");
}
