//! Tests of repetitions and copies.

use super::tests::{answer, held_by_the_slow_path, held_up, learn};
use super::{Objective, Weave};
use pathweave_proto::congestion::Phase;
use pathweave_proto::scheduler::testing::{Bench, seg, sub};
use pathweave_proto::scheduler::{Decision, Event};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::Duration;

#[test]
fn the_head_and_what_is_lost_behind_it_are_repeated_once() {
    let (mut weave, mut bench) = held_up(2);
    assert!(matches!(bench.decide(&mut weave), Decision::Wait { .. }), "it may still arrive");
    bench.now += Duration::from_millis(101);
    assert_eq!(bench.step(&mut weave), Some((0, 0..1)));
    assert_eq!(bench.step(&mut weave), Some((0, 1..2)));
    assert!(matches!(bench.decide(&mut weave), Decision::Wait { .. }), "once");
}

#[test]
fn what_a_wrong_path_holds_up_costs_one_copy_a_round_trip_after_it_was_due() {
    for held in [1, 4, 8] {
        let (mut weave, mut bench) = held_up(held);
        bench.now += Duration::from_millis(101);
        for n in 0..held {
            assert_eq!(bench.step(&mut weave), Some((0, n..n + 1)), "of {held}");
        }
        assert!(matches!(bench.decide(&mut weave), Decision::Wait { .. }), "{held}: once");
    }
}

/// Like [`held_up`], but the segments on the slow path are due one after the other, 150 ms apart.
fn held_up_in_turn(held: u64) -> (Weave, Bench) {
    let (mut weave, bench) = held_by_the_slow_path(held);
    for n in 0..held {
        let due = bench.now + Duration::from_millis(150 * n);
        weave.path(SubflowId(1)).given(bench.now, seg(n)..seg(n + 1), due);
    }
    (weave, bench)
}

#[test]
fn what_lies_behind_an_overdue_byte_is_as_late_and_is_not_waited_for() {
    // The second segment is late by 51 ms beyond a round trip of 100 ms. So is the third one, which was due just now.
    // This is more than the 30 ms that a copy over the other path takes, its round trip included.
    let (mut weave, mut bench) = held_up_in_turn(5);
    bench.now += Duration::from_millis(301);
    let repeated: Vec<_> = std::iter::from_fn(|| bench.step(&mut weave)).collect();
    assert_eq!(repeated, (0..5).map(|n| (0, n..n + 1)).collect::<Vec<_>>(), "all at once");
}

#[test]
fn what_a_path_has_acknowledged_waits_for_the_head_and_is_not_repeated() {
    // A slow path holds the first byte. The data behind it has arrived over another slow path, except for the last
    // segment, which is overdue too.
    let slow = |id| sub(id).rtt(100).cwnd(50);
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), slow(1), slow(2)]).write(4);
    let mut weave = Weave::new(Objective::Throughput, 0.05, Duration::from_secs(1000));
    for (range, id) in [(0..0, 0), (0..1, 1), (1..4, 2)] {
        let range = seg(range.start)..seg(range.end);
        bench.map.assign(range.clone(), SubflowId(id));
        weave.path(SubflowId(id)).given(bench.now, range, bench.now);
        weave.path(SubflowId(id)).lates[0] = Some(0.0);
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
        let mut weave = Weave::new(Objective::Latency, 0.05, Duration::from_secs(1000));
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

/// Whether the last segment is copied to the other path, if `written` segments are written in four seconds. There it
/// would arrive later by a millisecond, plus the time `owes_ms` for which that path's acknowledgement is overdue beyond
/// a round trip.
fn copied_for_nothing(written: u64, owes_ms: u64, prepare: impl Fn(&mut Bench)) -> bool {
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(22).cwnd(50)]);
    let mut weave = Weave::new(Objective::Latency, 0.05, Duration::from_secs(1000));
    prepare(&mut bench);
    bench.decide(&mut weave);
    for id in [0, 1] {
        learn(&mut weave, &mut bench, id, 8.0, 0);
    }
    bench.now += Duration::from_secs(2);
    bench = bench.write(written);
    let last = seg(written - 1)..seg(written);
    bench.map.assign(seg(0)..last.start, SubflowId(1));
    bench.map.assign(last.clone(), SubflowId(0));
    weave.path(SubflowId(0)).given(bench.now, last, bench.now + Duration::from_millis(10));
    let due = bench.now - Duration::from_millis(22 + owes_ms);
    (5000..5002).for_each(|n| weave.path(SubflowId(1)).given(due, seg(n)..seg(n + 1), due));
    bench.run(&mut weave).contains(&(1, written - 1..written))
}

#[test]
fn for_low_delay_copies_that_cost_nothing_go_out_although_nothing_is_known_to_need_them() {
    assert!(copied_for_nothing(100, 0, |_| {}));
    assert!(copied_for_nothing(100, 0, |bench| bench.sub(1).queue.unsent = 1), "one copy after the other");
    assert!(!copied_for_nothing(100, 0, |bench| bench.sub(1).path.cost = 1.0), "it has a price");
    assert!(!copied_for_nothing(100, 0, |bench| bench.sub(1).path.quota_left = Some(1_000_000)), "it has a quota");
    assert!(
        !copied_for_nothing(100, 0, |bench| bench.sub(0).path.cost = 1.0),
        "what is new would go where it costs something"
    );
    // 1 MB/s; while the path is in slow start, it is not known whether it has more.
    let starts = |bench: &mut Bench| {
        (bench.sub(1).window.ssthresh, bench.sub(1).window.phase) = (u32::MAX, Phase::SlowStart);
    };
    assert!(copied_for_nothing(3900, 0, |_| {}));
    assert!(!copied_for_nothing(4100, 0, |_| {}), "the path could not keep up");
    assert!(copied_for_nothing(4100, 0, starts));
    // A repetition would arrive 41 ms from now: after 10 ms, a round trip of 20 ms and a one-way delay of 11 ms.
    assert!(copied_for_nothing(100, 25, |_| {}));
    assert!(!copied_for_nothing(100, 35, |_| {}), "a repeat would be sooner");
}

#[test]
fn for_low_delay_a_path_for_which_the_window_has_no_room_carries_copies_of_all_that_is_out() {
    // A round trip's data of the nearer path takes up the whole window.
    let mut bench = Bench::new([sub(0).rtt(20).cwnd(50), sub(1).rtt(60).cwnd(50)]).send_window(20);
    let mut weave = Weave::new(Objective::Latency, 0.05, Duration::from_secs(1000));
    bench.decide(&mut weave);
    for id in [0, 1] {
        learn(&mut weave, &mut bench, id, 8.0, 0);
    }
    bench = bench.write(4);
    let given = bench.run(&mut weave);
    assert_eq!(weave.used, 1);
    assert_eq!(given, [(0, 0..4), (1, 0..4)]);
}

#[test]
fn what_is_lost_on_a_silent_path_goes_out_elsewhere_but_behind_a_queue_only_before_that_could_answer() {
    let repeated = |other_rtt, other_late_ms| {
        let mut bench = Bench::new([sub(0).rtt(100).cwnd(50), sub(1).rtt(other_rtt).cwnd(50)]).write(3);
        let mut weave = Weave::new(Objective::Throughput, 0.05, Duration::from_secs(1000));
        bench.event(&mut weave, &answer(0));
        weave.path(SubflowId(0)).lates[0] = Some(0.0);
        weave.path(SubflowId(1)).lates[0] = Some(f64::from(other_late_ms) / 1e3);
        weave.path(SubflowId(1)).given(bench.now, DataSeq(0)..DataSeq(0), bench.now);
        bench.map.assign(seg(0)..seg(3), SubflowId(0));
        (0..3).for_each(|n| weave.path(SubflowId(0)).given(bench.now, seg(n)..seg(n + 1), bench.now));
        bench.now += Duration::from_millis(500);
        bench.step(&mut weave)
    };
    assert_eq!(repeated(80, 0), Some((1, 0..1)));
    assert_eq!(repeated(200, 25), Some((1, 0..1)));
    assert_eq!(repeated(200, 26), None);
    assert_eq!(repeated(64, 16), Some((1, 0..1)));
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
fn what_is_as_late_as_all_on_its_path_is_not_lost() {
    let repeated = |holder: Option<f64>, other: Option<f64>, ms: u64| {
        let (mut weave, mut bench) = held_up(2);
        weave.path(SubflowId(1)).lates = [holder, None];
        weave.path(SubflowId(0)).lates = [other, None];
        bench.now += Duration::from_millis(ms);
        bench.step(&mut weave)
    };
    // The round trip is 100 ms, and all data is late by 40 ms there.
    assert_eq!(repeated(Some(0.04), None, 139), None);
    assert_eq!(repeated(Some(0.04), None, 141), Some((0, 0..1)));
    assert_eq!(repeated(None, None, 10_000), None, "it may be in a long queue");
    assert_eq!(repeated(None, Some(0.03), 129), None, "as long as the other path's");
    assert_eq!(repeated(None, Some(0.03), 131), Some((0, 0..1)));
    // Here it arrives after 10 ms plus the lateness of all data here; on its own path it arrives after 50 ms.
    assert_eq!(repeated(Some(0.0), Some(0.039), 101), Some((0, 0..1)));
    assert_eq!(repeated(Some(0.0), Some(0.041), 101), None);
}

#[test]
fn how_late_all_is_at_least_is_learnt_from_acknowledgements_and_forgotten_again() {
    let mut bench = Bench::new([sub(0).rtt(100).cwnd(50), sub(1).rtt(20).cwnd(50)]).write(40);
    let mut weave = Weave::new(Objective::Throughput, 0.05, Duration::from_secs(1000));
    let (id, mut next) = (SubflowId(0), 0);
    // Gives `segments`, which should arrive after 50 ms, and acknowledges them `late_ms` after the acknowledgement is
    // due.
    let mut acknowledged = |segments: u64, late_ms: u64| {
        let mappings = [seg(next)..seg(next + segments)];
        next += segments;
        weave.path(id).given(bench.now, mappings[0].clone(), bench.now + Duration::from_millis(50));
        bench.now += Duration::from_millis(100 + late_ms);
        bench.event(
            &mut weave,
            &Event::Acked { subflow: id, mappings: &mappings, data_ack: DataSeq(0), has_sack: false },
        );
        bench.event(&mut weave, &Event::RttSample { subflow: id, rtt: Duration::from_millis(100 + late_ms) });
        weave.path(id).least_late().map(|late| (late * 1e3).round())
    };
    assert_eq!(acknowledged(1, 40), None, "a single segment's acknowledgement waits for the receiver's timer");
    assert_eq!(acknowledged(1, 50), Some(50.0), "nothing else is there to learn from");
    assert_eq!(acknowledged(2, 40), Some(40.0));
    assert_eq!(acknowledged(2, 30), Some(30.0));
    assert_eq!(acknowledged(2, 60), Some(30.0));
    let later: Vec<_> = (0..10).map(|_| acknowledged(2, 60)).collect();
    assert_eq!((later[0], later[9]), (Some(30.0), Some(60.0)), "{later:?}");
}
