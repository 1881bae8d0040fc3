use super::super::{blest::Blest, minrtt::MinRtt, redundant::Redundant, roundrobin};
use super::*;
use pathweave_scheduler::testing::{Bench, MSS, Sub, seg, sub};
use pathweave_units::Duration;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// Acknowledges the subflow's oldest data, `range` in segments from 0.
fn ack(bench: &mut Bench, scheduler: &mut dyn Scheduler, id: u8, range: Range<u64>) {
    bench.acked(id, (range.end - range.start) as u32);
    let data_ack = bench.map.first_unacked();
    let mappings = [seg(range.start)..seg(range.end)];
    bench.event(scheduler, &Event::Acked { subflow: SubflowId(id), mappings: &mappings, data_ack, has_sack: false });
}

/// All decisions until the scheduler waits, with their rules. Neighbouring ranges of the same rule are joined.
#[track_caller]
fn rules(bench: &mut Bench, scheduler: &mut Rems) -> Vec<(u8, Range<u64>, &'static str)> {
    let mut all: Vec<(u8, Range<u64>, &'static str)> = Vec::new();
    while let Decision::Assign(assign) = bench.decide(scheduler) {
        let (id, range) = bench.carry_out(scheduler, &assign);
        match all.last_mut() {
            Some((last, before, rule)) if *last == id && before.end == range.start && *rule == assign.reason.rule => {
                before.end = range.end;
            }
            _ => all.push((id, range, assign.reason.rule)),
        }
    }
    all
}

#[test]
fn eqs_1_to_3_by_hand() {
    let at = |s: Sub| arrival_time(&s.0);
    // An empty window, a full one, and one with half a window too much in flight: the wait is 5/10.
    assert_eq!(at(sub(0).rtt(20)), 0.010);
    assert_eq!(at(sub(0).rtt(20).in_flight(10)), 0.010);
    assert_eq!(at(sub(0).rtt(20).in_flight(15)), 0.020);
    // The wait is (20 − (10 − 10))/10.
    assert_eq!(at(sub(0).rtt(20).in_flight(10).unsent(20)), 0.050);
    assert_eq!(at(sub(0).no_rtt()), f64::INFINITY);
}

#[test]
fn alg_1_sorts_by_arrival_time_and_then_by_window() {
    let bench = Bench::new([sub(0).no_rtt(), sub(1).rtt(40), sub(2).rtt(20).cwnd(4), sub(3).rtt(20).cwnd(9)]);
    let order: Vec<_> = sorted(&bench.view()).iter().map(|s| s.id.0).collect();
    assert_eq!(order, [3, 2, 1, 0]);
}

/// §4.3.2 and Fig. 19, corrected: windows of 2 and 3 that grow by one each round; the slow path's round trip is two of
/// the fast one's. Segments count from 0 here, so the paper's 11 is 10.
#[test]
fn worked_example_five_and_five_and_one_is_eleven() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(2), sub(2).rtt(20).cwnd(3)]).write(1000);
    let mut rems = Rems::default();
    bench.now = ms(0);
    assert_eq!(rules(&mut bench, &mut rems), [(1, 0..2, REDUNDANT), (2, 0..3, REDUNDANT)]);

    // "Sub-flow1 takes new packets 3, 4, 5". The other path already has the first of them in flight.
    bench.now = ms(10);
    bench.map.acknowledge(seg(2));
    bench.sub(1).window.cwnd = 3;
    ack(&mut bench, &mut rems, 1, 0..2);
    assert_eq!(rules(&mut bench, &mut rems), [(1, 2..5, FASTEST)]);

    // "Next 4 packets 6, 7, 8, 9", and "next packets from 11": four, because the window has grown.
    bench.now = ms(20);
    bench.map.acknowledge(seg(5));
    (bench.sub(1).window.cwnd, bench.sub(2).window.cwnd) = (4, 4);
    ack(&mut bench, &mut rems, 1, 2..5);
    ack(&mut bench, &mut rems, 2, 0..3);
    assert_eq!(rems.path(SubflowId(2)).error, Some(5 * MSS));
    assert_eq!(rules(&mut bench, &mut rems), [(1, 5..9, FASTEST), (2, 10..14, AHEAD)]);

    // Five more: the last one of the gap, then the data behind the slow path's range.
    bench.now = ms(30);
    bench.map.acknowledge(seg(9));
    bench.sub(1).window.cwnd = 5;
    ack(&mut bench, &mut rems, 1, 5..9);
    assert_eq!(bench.run(&mut rems), [(1, 9..10), (1, 14..18)]);
}

/// Eqs. 6 and 8 as printed, with packets counted from 1. At 20 ms start₂ = 6 + |1 − 5| + 1 = 11, as by the prose. At 40
/// ms the fast path has reached 18 and continues with 19: start₂ = 19 + |11 − 18| + 1 = 27, although it had sent nine.
#[test]
fn worked_example_by_the_printed_equations() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(2), sub(2).rtt(20).cwnd(3)]).write(1000);
    let mut rems = Rems::new(true);
    bench.now = ms(0);
    assert_eq!(rules(&mut bench, &mut rems), [(1, 0..2, REDUNDANT), (2, 0..3, REDUNDANT)]);
    bench.now = ms(10);
    bench.map.acknowledge(seg(2));
    bench.sub(1).window.cwnd = 3;
    ack(&mut bench, &mut rems, 1, 0..2);
    assert_eq!(rules(&mut bench, &mut rems), [(1, 2..5, FASTEST)]);
    bench.now = ms(20);
    bench.map.acknowledge(seg(5));
    (bench.sub(1).window.cwnd, bench.sub(2).window.cwnd) = (4, 4);
    ack(&mut bench, &mut rems, 1, 2..5);
    ack(&mut bench, &mut rems, 2, 0..3);
    assert_eq!(rems.path(SubflowId(2)).error, Some(4 * MSS));
    assert_eq!(rules(&mut bench, &mut rems), [(1, 5..9, FASTEST), (2, 10..14, AHEAD)]);
    bench.now = ms(30);
    bench.map.acknowledge(seg(9));
    bench.sub(1).window.cwnd = 5;
    ack(&mut bench, &mut rems, 1, 5..9);
    assert_eq!(bench.run(&mut rems), [(1, 9..10), (1, 14..18)]);
    bench.now = ms(40);
    bench.map.acknowledge(seg(18));
    ack(&mut bench, &mut rems, 1, 9..10);
    ack(&mut bench, &mut rems, 1, 14..18);
    ack(&mut bench, &mut rems, 2, 10..14);
    assert_eq!(rems.path(SubflowId(2)).error, Some(7 * MSS));
    assert_eq!(rules(&mut bench, &mut rems), [(1, 18..23, FASTEST), (2, 26..30, AHEAD)]);
}

/// The fast path sends 10 windows of 10 while the slow one sends 2. Packets count from 1. As printed, the slow path
/// starts at 101 + |1 − 100| + 1 = 201. The fast path fills 101 to 200 and continues with 203. Then the slow path
/// starts at 203 + |201 − 200| + 1 = 205, inside the fast path's next window of 203 to 212. With `error=sent` it starts
/// at 303.
#[test]
fn a_gap_that_was_right_is_followed_by_none_as_printed() {
    for (mut rems, aim, start) in [(Rems::new(true), 204, 212), (Rems::default(), 302, 302)] {
        let mut bench = Bench::new([sub(1).rtt(10).cwnd(10), sub(2).rtt(100).cwnd(2)]).write(1000);
        let mut fast: Vec<Range<u64>> = Vec::new();
        let mut slow = 0..2;
        for at in 0..=20 {
            bench.now = ms(10 * at);
            for range in fast.drain(..) {
                bench.map.acknowledge(seg(range.end));
                ack(&mut bench, &mut rems, 1, range);
            }
            if at > 0 && at % 10 == 0 {
                ack(&mut bench, &mut rems, 2, slow.clone());
            }
            for (id, range) in bench.run(&mut rems) {
                if id == 1 {
                    fast.push(range);
                } else {
                    slow = range;
                }
            }
            if at == 10 {
                assert_eq!(slow, 200..202);
            }
        }
        assert_eq!((rems.path(SubflowId(2)).start, slow.start), (seg(aim), start));
    }
}

#[test]
fn as_printed_it_keeps_the_rules_of_every_scheduler() {
    pathweave_scheduler::properties::holds(&SchedulerEntry { build: |_| Ok(Box::new(Rems::new(true))), ..ENTRY });
}

/// The order of acknowledgements that come at the same time makes no difference.
#[test]
fn the_slow_path_s_start_does_not_depend_on_who_is_acknowledged_first() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(5), sub(2).rtt(10).cwnd(5)]).write(1000);
    let mut rems = Rems::default();
    assert_eq!(bench.run(&mut rems), [(1, 0..5), (2, 0..5)]);
    bench.now += Duration::from_millis(10);
    bench.map.acknowledge(seg(5));
    ack(&mut bench, &mut rems, 1, 0..5);
    // The fast path sends its next window before the other path's acknowledgement is handled.
    assert_eq!(bench.run(&mut rems), [(1, 5..10)]);
    ack(&mut bench, &mut rems, 2, 0..5);
    assert_eq!(rules(&mut bench, &mut rems), [(2, 10..15, IN_TURN)]);
}

/// Two equal paths (§4.3) are redundant at first, then send windows in turn without a gap.
#[test]
fn the_phases_of_equal_paths() {
    let trace = ideal(&mut Rems::default(), [(10, 4), (10, 4)], 60);
    let first: Vec<_> = trace.given.iter().take(8).cloned().collect();
    assert_eq!(
        first,
        [
            (0, 0, 0..4),
            (0, 1, 0..4),
            (10, 0, 4..8),
            (10, 1, 8..12),
            (20, 0, 12..16),
            (20, 1, 16..20),
            (30, 0, 20..24),
            (30, 1, 24..28),
        ]
    );
}

/// "No overlap after the first": only each path's first window is sent twice.
#[test]
fn nothing_overlaps_after_the_first_phase() {
    for paths in [[(5, 5), (20, 20)], [(10, 4), (10, 4)], [(10, 2), (25, 3)], [(5, 20), (100, 3)]] {
        let trace = ideal(&mut Rems::default(), paths, 200);
        let mut sent = [0u32; 200];
        for (_, _, range) in &trace.given {
            sent[range.start as usize..range.end as usize].iter_mut().for_each(|n| *n += 1);
        }
        let twice = sent.iter().filter(|n| **n > 1).count() as u64;
        assert!(sent.iter().all(|n| (1..=2).contains(n)), "{paths:?}");
        assert!(twice <= u64::from(paths[1].1), "{paths:?}: {twice}");
    }
}

/// §4.3, Fig. 17: redundant, then overambitious, and round-robin once the error is gone, here because the fast path
/// stalls.
#[test]
fn the_order_of_the_phases() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(10), sub(2).rtt(100).cwnd(2)]).write(1000);
    let mut rems = Rems::default();
    bench.now = ms(0);
    assert_eq!(rules(&mut bench, &mut rems), [(1, 0..10, REDUNDANT), (2, 0..2, REDUNDANT)]);
    bench.now = ms(100);
    bench.map.acknowledge(seg(10));
    ack(&mut bench, &mut rems, 2, 0..2);
    assert_eq!(rules(&mut bench, &mut rems), [(2, 20..22, AHEAD)], "ten that the fast path sent in that round");
    bench.now = ms(200);
    ack(&mut bench, &mut rems, 2, 20..22);
    assert_eq!(rules(&mut bench, &mut rems), [(2, 10..12, IN_TURN)], "none");
}

#[test]
fn without_data_behind_its_gap_a_path_asks_again_after_a_round_trip() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(10), sub(2).rtt(100).cwnd(2)]).write(15);
    let mut rems = Rems::default();
    bench.now = ms(0);
    bench.run(&mut rems);
    bench.now = ms(100);
    ack(&mut bench, &mut rems, 2, 0..2);
    let Decision::Wait { until, for_subflow, .. } = bench.decide(&mut rems) else { panic!("it waits") };
    assert_eq!((until, for_subflow), (Some(ms(200)), Some(SubflowId(1))));
    bench.now = ms(200);
    assert_eq!(bench.run(&mut rems), [(2, 10..12)], "the fast path has stalled");
}

#[test]
fn the_gap_is_left_for_all_faster_paths() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(4), sub(2).rtt(20).cwnd(4), sub(3).rtt(40).cwnd(4)]).write(1000);
    let mut rems = Rems::default();
    bench.now = ms(0);
    assert_eq!(bench.run(&mut rems), [(1, 0..4), (2, 0..4), (3, 0..4)]);
    bench.now = ms(40);
    bench.map.acknowledge(seg(4));
    ack(&mut bench, &mut rems, 1, 0..4);
    ack(&mut bench, &mut rems, 2, 0..4);
    ack(&mut bench, &mut rems, 3, 0..4);
    // The second path leaves 4 segments to the first; the third leaves 4 to each of the others.
    assert_eq!(bench.run(&mut rems), [(1, 4..8), (2, 8..12), (3, 12..16)]);
}

#[test]
fn a_path_that_comes_back_starts_with_its_redundant_phase() {
    let mut bench = Bench::new([sub(1).rtt(10).cwnd(4), sub(2).rtt(10).cwnd(4)]).write(1000);
    let mut rems = Rems::default();
    bench.run(&mut rems);
    bench.map.acknowledge(seg(4));
    ack(&mut bench, &mut rems, 1, 0..4);
    let mut back = bench.sub(2).clone();
    bench.down(2, &mut rems);
    assert_eq!(bench.run(&mut rems), [(1, 4..8)]);
    (back.window.in_flight, back.window.unacked) = (0, 0);
    bench.subflows.push(back);
    bench.event(&mut rems, &Event::SubflowUp(SubflowId(2)));
    assert_eq!(rules(&mut bench, &mut rems), [(2, 4..8, REDUNDANT)]);
}

/// A run over an ideal network: whole windows are acknowledged a round trip later, and nothing is lost.
struct Trace {
    /// Time in ms, path, segments.
    given: Vec<(u64, u8, Range<u64>)>,
    /// When the last segment was acknowledged, ms.
    done: u64,
}

/// Runs `scheduler` over `paths` with these round trips (ms) and constant windows. The receive window holds all
/// `segments`.
fn ideal(scheduler: &mut dyn Scheduler, paths: [(u64, u32); 2], segments: u64) -> Trace {
    let [(rtt0, w0), (rtt1, w1)] = paths;
    let mut bench = Bench::new([sub(0).rtt(rtt0).cwnd(w0), sub(1).rtt(rtt1).cwnd(w1)]).write(segments);
    let mut trace = Trace { given: Vec::new(), done: 0 };
    let mut out: Vec<(u64, u8, Range<u64>)> = Vec::new();
    let mut received = vec![false; segments as usize];
    for now in 0..100_000 {
        bench.now = ms(now);
        for (_, id, range) in out.extract_if(.., |(at, ..)| *at == now) {
            received[range.start as usize..range.end as usize].fill(true);
            let whole = received.iter().position(|r| !r).unwrap_or(received.len());
            bench.map.acknowledge(seg(whole as u64));
            ack(&mut bench, scheduler, id, range);
        }
        if received.iter().all(|r| *r) {
            trace.done = now;
            return trace;
        }
        let first = trace.given.len();
        for (id, range) in bench.run(scheduler) {
            trace.given.push((now, id, range));
        }
        out.extend(
            trace.given[first..].iter().map(|(at, id, range)| (at + paths[usize::from(*id)].0, *id, range.clone())),
        );
    }
    panic!("it does not end");
}

/// REMS Table 3: 5 ms with a window of 5, and 20 ms with a window of 20. The table gives no size, so this takes its
/// receive window of 60 packets. The proposed scheduler's 40 ms and the redundant one's 60 ms hold; the other rows do
/// not (docs/notes/rems-tables.md).
#[test]
fn table_3_download_times() {
    let time = |scheduler: &mut dyn Scheduler| ideal(scheduler, [(5, 5), (20, 20)], 60).done;
    assert_eq!(time(&mut Rems::default()), 40);
    assert_eq!(time(&mut Redundant), 60);
    // The paper prints 60, 50 and 60. No schedule takes less than 40 ms: until then the paths carry 40 + 40 packets,
    // but 5 ms earlier only 35 + 20.
    assert_eq!(time(&mut MinRtt), 40);
    assert_eq!(time(&mut Blest::new(1.0, 0.01)), 40);
    assert_eq!(time(&mut roundrobin::RoundRobin::new(roundrobin::Turn::Segments(1), true)), 40);
}

/// The rule's result for Table 2. The table prints batches of 20 + 20 + 1, which neither its windows nor its round-trip
/// times allow.
#[test]
fn table_2_as_the_rule_gives_it() {
    let trace = ideal(&mut Rems::default(), [(5, 5), (20, 20)], 60);
    let of = |path: u8| {
        let given = trace.given.iter().filter(move |(_, id, _)| *id == path);
        given.map(|(at, _, range)| (*at, range.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(1), [(0, 0..20), (20, 40..60)]);
    assert_eq!(of(0), (0..8).map(|n| (5 * n, 5 * n..5 * n + 5)).collect::<Vec<_>>());
}
