use super::{Objective, Weave};
use pathweave_scheduler::testing::{Bench, Sub, seg, sub};
use pathweave_scheduler::{DataSeq, Decision, Event, SendMap, SubflowId};
use pathweave_units::Duration;

fn weave(objective: Objective) -> Weave {
    Weave::new(objective, Duration::from_secs(1))
}

/// Lets the scheduler measure the rate `mbps` and a queue of `queue_ms` on subflow `id`: it gets acknowledgements of
/// two segments each, at intervals that correspond to the rate. A second passes.
fn learn(weave: &mut Weave, bench: &mut Bench, id: u8, mbps: f64, queue_ms: u64) {
    use pathweave_scheduler::Scheduler;
    let gap = Duration::from_secs_f64(2.0 * 8000.0 / (mbps * 1e6));
    let start = bench.now;
    for n in 0..60 {
        bench.sub(id).delivery.rate = mbps * 1e6 / 8.0;
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

/// Two paths of 8 Mbit/s with one-way delays of 10 and 50 ms. Both are measured, have congestion windows of 200
/// segments, and a recent queue of `queue_ms`. The receive window has `window` segments.
fn pair(window: u64, queue_ms: u64) -> (Weave, Bench) {
    let open = |s: Sub| s.cwnd(200);
    let mut bench = Bench::new([open(sub(0).rtt(20)), open(sub(1).rtt(100))]).write(2000).send_window(window);
    let mut weave = weave(Objective::Throughput);
    learn(&mut weave, &mut bench, 0, 8.0, queue_ms);
    learn(&mut weave, &mut bench, 1, 8.0, queue_ms);
    for id in [0, 1] {
        weave.path(SubflowId(id)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
    }
    (weave, bench)
}

#[test]
fn a_window_that_fits_both_paths_uses_both_and_the_slow_one_takes_data_ahead() {
    // Both paths together deliver 2 MB/s. For a delay of 50 ms there and 10 ms back, they need a window of 120 segments
    // of 1000 bytes.
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
    // The fast path alone fills 1.5 round trips with 30 segments, and so delivers 1 MB/s. Both paths together would
    // deliver these 30 segments in 60 ms, which is 0.5 MB/s.
    let (mut weave, mut bench) = pair(30, 0);
    let given = bench.run(&mut weave);
    assert!(given.iter().filter(|g| g.1.start > 0).all(|g| g.0 == 0), "{given:?}");
}

#[test]
fn a_path_has_no_more_in_flight_than_its_delay_takes() {
    // The horizon is the time of 30 segments at 1 MB/s, less 10 ms for the way back: 20 ms. So at most 1 MB/s · 30 ms,
    // which is 30 segments, is in flight.
    let (mut weave, mut bench) = pair(30, 0);
    let most = bench.run(&mut weave).iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>();
    assert!((20..=30).contains(&most), "{most}");
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

/// The written data, `held` segments, is all on the slow path and due now.
fn held_up(held: u64) -> (Weave, Bench) {
    let (mut weave, bench) = held_by_the_slow_path(held);
    weave.path(SubflowId(1)).given(bench.now, seg(0)..seg(held), bench.now);
    (weave, bench)
}

fn held_by_the_slow_path(held: u64) -> (Weave, Bench) {
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(100).cwnd(50)]).write(held);
    bench.map.assign(seg(0)..seg(held), SubflowId(1));
    bench.sub(1).window.unacked = held as u32;
    bench.sub(1).queue.bytes = held * 1000;
    let mut weave = Weave::new(Objective::Throughput, Duration::from_secs(1000));
    weave.path(SubflowId(0)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
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
fn answer(id: u8) -> Event<'static> {
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
        weave.path(SubflowId(0)).delays(0.02) > 0.0
    };
    assert!(queues(0));
    assert!(!queues(20));
}

#[test]
fn what_a_wrong_path_holds_up_costs_one_copy_a_round_trip_after_it_was_due() {
    for held in [1, 2, 4, 8] {
        let (mut weave, mut bench) = held_up(held);
        assert!(matches!(bench.decide(&mut weave), Decision::Wait { .. }), "it may still arrive");
        bench.now += Duration::from_millis(101);
        for n in 0..held {
            assert_eq!(bench.step(&mut weave), Some((0, n..n + 1)), "of {held}");
        }
        assert!(matches!(bench.decide(&mut weave), Decision::Wait { .. }), "{held}: once");
    }
}

#[test]
fn what_a_path_has_acknowledged_waits_for_the_head_and_is_not_repeated() {
    // A slow path holds the first byte. The data behind it has arrived over another slow path, except for the last
    // segment, which is overdue too.
    let slow = |id| sub(id).rtt(100).cwnd(50);
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), slow(1), slow(2)]).write(4);
    let mut weave = Weave::new(Objective::Throughput, Duration::from_secs(1000));
    for (range, id) in [(0..0, 0), (0..1, 1), (1..4, 2)] {
        let range = seg(range.start)..seg(range.end);
        bench.map.assign(range.clone(), SubflowId(id));
        weave.path(SubflowId(id)).given(bench.now, range, bench.now);
    }
    let acked =
        Event::Acked { subflow: SubflowId(2), mappings: &[seg(1)..seg(3)], data_ack: DataSeq(0), has_sack: false };
    bench.now += Duration::from_millis(301);
    bench.event(&mut weave, &acked);
    let repeated: Vec<_> = std::iter::from_fn(|| bench.step(&mut weave)).collect();
    assert_eq!(repeated, [(0, 0..1), (0, 3..4)]);
}

#[test]
fn for_low_delay_what_has_arrived_is_not_copied() {
    let copied = |arrived: u64| {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(100).cwnd(50)]).write(4);
        let mut weave = Weave::new(Objective::Latency, Duration::from_secs(1000));
        weave.path(SubflowId(0)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
        bench.map.assign(seg(0)..seg(4), SubflowId(1));
        weave.path(SubflowId(1)).given(bench.now, seg(0)..seg(4), bench.now + Duration::from_millis(500));
        let mappings = [seg(0)..seg(arrived)];
        let acked = Event::Acked { subflow: SubflowId(1), mappings: &mappings, data_ack: DataSeq(0), has_sack: false };
        bench.event(&mut weave, &acked);
        weave.window = 1e6;
        let view = bench.view();
        let mut lanes = super::lanes::Lanes::default();
        weave.compare(&view, &mut lanes);
        weave.copy_where_it_pays(&view, &lanes).is_some()
    };
    assert!(copied(3));
    assert!(!copied(4));
}

/// Whether the last of 100 segments is copied from subflow 0 to subflow 1. On subflow 1 it would arrive later by 1 ms,
/// and by `owes_ms`, which is the time by which data there is overdue beyond a round trip.
fn copied_for_nothing(owes_ms: u64, prepare: impl Fn(&mut Bench)) -> bool {
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(22).cwnd(50)]);
    let mut weave = Weave::new(Objective::Latency, Duration::from_secs(1000));
    prepare(&mut bench);
    bench.decide(&mut weave);
    for id in [0, 1] {
        learn(&mut weave, &mut bench, id, 8.0, 0);
    }
    bench.now += Duration::from_secs(2);
    bench = bench.write(100);
    let last = seg(99)..seg(100);
    bench.map.assign(seg(0)..last.start, SubflowId(1));
    bench.map.assign(last.clone(), SubflowId(0));
    weave.path(SubflowId(0)).given(bench.now, last, bench.now + Duration::from_millis(10));
    let due = bench.now - Duration::from_millis(22 + owes_ms);
    (5000..5002).for_each(|n| weave.path(SubflowId(1)).given(due, seg(n)..seg(n + 1), due));
    bench.run(&mut weave).contains(&(1, 99..100))
}

#[test]
fn for_low_delay_copies_that_cost_nothing_go_out_although_nothing_is_known_to_need_them() {
    assert!(copied_for_nothing(0, |_| {}));
    assert!(copied_for_nothing(0, |bench| bench.sub(1).queue.unsent = 1), "one copy after the other");
    assert!(!copied_for_nothing(0, |bench| bench.sub(1).path.cost = 1.0), "it has a price");
    assert!(!copied_for_nothing(0, |bench| bench.sub(1).path.quota_left = Some(1_000_000)), "it has a quota");
    assert!(
        !copied_for_nothing(0, |bench| bench.sub(0).path.cost = 1.0),
        "what is new would go where it costs something"
    );
    // A repetition would arrive 41 ms from now: after 10 ms, a round trip of 20 ms and a one-way delay of 11 ms.
    assert!(copied_for_nothing(25, |_| {}));
    assert!(!copied_for_nothing(35, |_| {}), "a repeat would be sooner");
}

#[test]
fn for_low_delay_a_path_for_which_the_window_has_no_room_carries_copies_of_all_that_is_out() {
    // The data of one round trip on the nearer path takes up the whole window.
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(60).cwnd(50)]).send_window(20);
    let mut weave = Weave::new(Objective::Latency, Duration::from_secs(1000));
    bench.decide(&mut weave);
    for id in [0, 1] {
        learn(&mut weave, &mut bench, id, 8.0, 0);
    }
    bench = bench.write(4);
    let given = bench.run(&mut weave);
    assert_eq!(given, [(0, 0..4), (1, 0..4)]);
}

#[test]
fn a_head_that_only_a_middlebox_has_acknowledged_is_repeated() {
    let (mut weave, mut bench) = held_up(2);
    let acked = [seg(0)..seg(2)];
    bench.event(
        &mut weave,
        &Event::Acked { subflow: SubflowId(1), mappings: &acked, data_ack: DataSeq(0), has_sack: false },
    );
    bench.now += Duration::from_millis(101);
    assert_eq!(bench.step(&mut weave), Some((0, 0..1)));
}

#[test]
fn a_bottleneck_gets_no_burst_longer_than_an_initial_window_unless_a_longer_queue_is_there() {
    let burst = |queue_ms| {
        let (mut weave, mut bench) = pair(200, 0);
        // The link's rate is known once data that was given as a burst is acknowledged.
        weave.path(SubflowId(0)).given(bench.now, seg(0)..seg(120), bench.now);
        learn(&mut weave, &mut bench, 0, 8.0, queue_ms);
        bench.run(&mut weave).iter().filter(|g| g.0 == 0).map(|g| g.1.end - g.1.start).sum::<u64>()
    };
    assert_eq!(burst(0), 10);
    // A segment takes a millisecond.
    assert!(burst(20) > 10);
}

#[test]
fn a_rate_measured_while_there_was_nothing_more_to_send_says_only_at_least() {
    let rate = |idle| {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(200)]).write(1000);
        let mut weave = weave(Objective::Throughput);
        learn(&mut weave, &mut bench, 0, 40.0, 0);
        if idle {
            // All written data has been given, and the congestion window has room.
            bench.map.assign(seg(0)..seg(1000), SubflowId(0));
        }
        // Other flows fill the queue, and this connection delivers 2 Mbit/s.
        for n in 0..30 {
            lane(&mut weave, &bench, 0);
            bench.now += Duration::from_millis(20);
            bench.sub(0).delivery.rate = 2e6 / 8.0;
            let mappings = [seg(200 + 2 * n)..seg(202 + 2 * n)];
            let (subflow, rtt) = (SubflowId(0), Duration::from_millis(60));
            let acked = Event::Acked { subflow, mappings: &mappings, data_ack: DataSeq(0), has_sack: false };
            bench.event(&mut weave, &acked);
            bench.event(&mut weave, &Event::RttSample { subflow, rtt });
        }
        lane(&mut weave, &bench, 0).rate
    };
    assert_eq!(rate(true), 40e6 / 8.0);
    assert!(rate(false) < 3e6 / 8.0, "{}", rate(false));
}
