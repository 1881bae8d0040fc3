//! Tests of debts, and of bursts after a loss.

use super::lanes::Lanes;
use super::tests::{answer, learn, pair};
use super::without::Without;
use super::{Objective, Weave};
use pathweave_proto::SubflowId;
use pathweave_proto::scheduler::Event;
use pathweave_proto::scheduler::testing::{Bench, seg, sub};
use pathweave_units::Duration;

/// The lanes of the paths, compared now.
fn lanes(weave: &mut Weave, bench: &Bench) -> Lanes {
    let mut lanes = Lanes::default();
    weave.compare(&bench.view(), &mut lanes);
    lanes
}

fn uses_the_slow_one(weave: &mut Weave, bench: &Bench) -> bool {
    lanes(weave, bench).used().iter().any(|lane| lane.id == SubflowId(1))
}

/// Two paths of 1 MB/s and a window of 200 segments. The slow path has brought 120 segments. The first segment in the
/// window was due on the slow path `late_ms` ago, and `given` more segments have been given.
fn kept_waiting(late_ms: u64, given: u64, without: &str) -> (Weave, Bench) {
    kept_waiting_for(Objective::Throughput, late_ms, given, without)
}

fn kept_waiting_for(objective: Objective, late_ms: u64, given: u64, without: &str) -> (Weave, Bench) {
    let (mut weave, mut bench) = pair(200, 0);
    weave.objective = objective;
    weave.without = Without::named(without);
    bench.map.assign(seg(0)..seg(1), SubflowId(1));
    bench.map.assign(seg(1)..seg(1 + given), SubflowId(0));
    weave.path(SubflowId(1)).given(bench.now, seg(0)..seg(1), bench.now);
    bench.decide(&mut weave);
    bench.now += Duration::from_millis(late_ms);
    bench.decide(&mut weave);
    (weave, bench)
}

/// Whether the slow path of [`kept_waiting`] is left out afterwards.
pub(super) fn left_out(late_ms: u64, given: u64, without: &str) -> bool {
    let (mut weave, bench) = kept_waiting(late_ms, given, without);
    !uses_the_slow_one(&mut weave, &bench)
}

#[test]
fn a_path_that_costs_the_others_more_than_it_has_brought_is_left_out_until_it_has_paid() {
    assert!(!left_out(210, 199, ""), "110 segments after a round trip of 100 ms are less than 120");
    assert!(left_out(230, 199, ""), "130 are more");
    assert!(!left_out(230, 100, ""), "nobody waits while the window has room");
    let (mut weave, mut bench) = kept_waiting(720, 199, "");
    bench.send_window *= 2;
    let mut used_after = |ms: u64| {
        bench.now += Duration::from_millis(ms);
        let used = uses_the_slow_one(&mut weave, &bench);
        weave.decided_at = bench.now;
        used
    };
    assert!(!used_after(490), "it owes 500 segments and pays 1 MB/s");
    assert!(used_after(20));
}

#[test]
fn a_wait_ends_when_its_byte_is_acknowledged_and_with_its_path() {
    let (mut weave, mut bench) = kept_waiting(110, 199, "");
    bench.map.acknowledge(seg(200));
    bench.event(&mut weave, &answer(0));
    bench.now += Duration::from_secs(5);
    bench.decide(&mut weave);
    assert!(uses_the_slow_one(&mut weave, &bench), "nobody waited for five seconds");
    let (mut weave, mut bench) = kept_waiting(110, 199, "");
    bench.event(&mut weave, &Event::SubflowDown(SubflowId(1)));
    bench.now += Duration::from_secs(5);
    bench.decide(&mut weave);
    assert!(uses_the_slow_one(&mut weave, &bench), "another one has that name now");
}

#[test]
fn where_costs_decide_nothing_is_charged() {
    let (mut weave, bench) = kept_waiting_for(Objective::Cost, 300, 199, "");
    assert!(uses_the_slow_one(&mut weave, &bench));
}

#[test]
fn a_path_in_debt_gets_no_bursts() {
    let burst = |charged: f64| {
        let slow = |id, rtt| sub(id).rtt(rtt).cwnd(200);
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(200), slow(1, 100), slow(2, 1000)]).write(2000).send_window(60);
        let mut weave = Weave::new(Objective::Throughput, 0.05, Duration::from_secs(1));
        for id in [0, 1, 2] {
            learn(&mut weave, &mut bench, id, 8.0, 0);
            weave.path(SubflowId(id)).given(bench.now, seg(0)..seg(0), bench.now);
        }
        weave.window = 60_000.0;
        weave.decided_at = bench.now;
        weave.path(SubflowId(1)).charge(charged, 0.0);
        lanes(&mut weave, &bench).burst.map(|(lane, _)| lane)
    };
    assert_eq!(burst(0.0), Some(1));
    assert_eq!(burst(1e6), None, "and it is not the one of a second either, for which there is no room");
}

#[test]
fn what_a_path_has_brought_counts_up_to_a_window() {
    let (mut weave, mut bench) = pair(200, 0);
    (0..4).for_each(|_| learn(&mut weave, &mut bench, 1, 8.0, 0));
    bench.decide(&mut weave);
    assert!(uses_the_slow_one(&mut weave, &bench));
    weave.path(SubflowId(1)).charge(190_000.0, 200_000.0);
    assert!(uses_the_slow_one(&mut weave, &bench));
    weave.path(SubflowId(1)).charge(20_000.0, 200_000.0);
    assert!(!uses_the_slow_one(&mut weave, &bench));
}

#[test]
fn where_all_are_in_debt_the_soonest_is_used() {
    let (mut weave, bench) = pair(200, 0);
    bench.decide(&mut weave);
    [0, 1].iter().for_each(|id| weave.path(SubflowId(*id)).charge(1e6, 200_000.0));
    let used: Vec<_> = lanes(&mut weave, &bench).used().iter().map(|lane| lane.id.0).collect();
    assert_eq!(used, [0]);
}

#[test]
fn after_a_loss_a_burst_makes_no_longer_queue_than_a_full_window_does() {
    let room = |id: u8, cwnd: u32| {
        let (mut weave, mut bench) = pair(200, 0);
        for id in [0, 1] {
            // The link's rate is known once data that was given as a burst is acknowledged.
            weave.path(SubflowId(id)).given(bench.now, seg(0)..seg(120), bench.now);
            learn(&mut weave, &mut bench, id, 8.0, 0);
        }
        bench.sub(id).window.cwnd = cwnd;
        lanes(&mut weave, &bench).all.iter().find(|lane| lane.id.0 == id).map(|lane| lane.room)
    };
    assert_eq!(room(0, 40), Some(20), "half of it is under way on 1 MB/s and 20 ms");
    assert_eq!(room(0, 25), Some(10), "an initial window");
    assert_eq!(room(1, 120), Some(30), "a quarter shows the link's rate");
}
