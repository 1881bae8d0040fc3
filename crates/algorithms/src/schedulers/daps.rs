//! `daps`: delay-aware packet scheduling for any number of paths.
//!
//! # What it does
//!
//! DAPS plans in advance which path sends which part of the stream, so that everything arrives in order: a path with a
//! tenth of another path's delay gets ten windows of data before each window of the other. A path sends its part of the
//! plan when its window allows it, even if that part is far ahead of data that other paths have not sent yet. A plan is
//! kept until all of it has been given out, so the rule is slow to notice that a path has changed.
//!
//! # Formula
//!
//! ```text
//! D_i  = max(1, ⌊(srtt_i/2)/quantum⌋)                span = min(lcm(D_1, …, D_n), max_plan/quantum)
//! path i has n_i = max(1, ⌊span/D_i⌋) sendings of cwnd_i segments, the m-th at m·D_i, arriving at (m+1)·D_i
//! first byte of i's m-th sending = base + Σ_j cwnd_j·MSS_j · (sendings of j that arrive before it)
//!                                  ties to the path with the smaller D
//! ```
//!
//! * D_i: forward delay, quanta; srtt_i: smoothed round-trip time; span: length of the plan, quanta; cwnd_i: congestion
//!   window at the plan's start, segments; m counts from 0.
//! * base: first byte that was not assigned when the plan was made; MSS_i: data bytes of a full segment.
//!
//! # Source
//!
//! Sarwar et al., "Mitigating receiver's buffer blocking by delay aware packet scheduling in multipath data
//! transfer", WAINA 2013, as in BLEST §IV.A and Alg. 1, its reference 7.
//!
//! # Deviations
//!
//! * The stream is divided among the sendings in the order of their arrival, t + D_i, ties to the faster path. Only
//!   this reading gives the paper's "1..10 fast, 11 slow" at a ratio of ten.
//! * In the paper's plan a path sends two windows per round trip, one per forward delay. Here a path sends when its
//!   window allows it, and only the order follows the plan.
//! * Delays are counted in units of `quantum` and are at least one quantum. A plan is no longer than `max_plan`,
//!   because the least common multiple of 7 and 149 ms alone is over a second. A plan that is cut off has as many
//!   sendings of each path as fit into it, at least one.
//! * A new plan is made when the old one has been given out, or when a path comes or goes. Nothing is stored per
//!   segment: the start of a sending's range is computed from the counts of the sendings that arrive before it, in
//!   O(paths).
//! * A path without a round-trip time sample is planned with the largest delay of the others.
//! * The out-of-tree Linux port (`mptcp_daps.c`) reads the paper differently, and is not followed here. It orders
//!   sendings by the time at which they are due, not by their arrival, gives a path its whole part whatever its window
//!   allows, rounds delays to 4 ms, and smooths windows.

use arrayvec::ArrayVec;
use core::ops::Range;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::Duration;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "daps",
    source: "BLEST Alg. 1 [7]",
    summary: "a plan over all paths in which segments arrive in order",
    parameters: &[
        Parameter {
            name: "quantum",
            kind: Kind::Time,
            unit: "time",
            default: "1ms",
            description: "unit in which forward delays are counted",
            source: "ours",
        },
        Parameter {
            name: "max_plan",
            kind: Kind::Time,
            unit: "time",
            default: "1s",
            description: "longest plan",
            source: "ours",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Daps::new(v.time("quantum"), v.time("max_plan")))),
};

/// One path's part of a plan.
#[derive(Clone, Copy, Debug)]
struct Part {
    id: SubflowId,
    /// Forward delay, quanta.
    delay: u64,
    /// Bytes of one sending: cwnd_i segments.
    bytes: u64,
    sendings: u64,
    /// The sending that is being given out, and the bytes of it that are given out already.
    next: u64,
    given: u64,
}

/// Delay-aware scheduling: one plan after the other.
#[derive(Debug)]
pub struct Daps {
    quantum: Duration,
    max_plan: Duration,
    base: DataSeq,
    /// The parts of the plan, fastest path first.
    plan: ArrayVec<Part, { SubflowId::MAX_SUBFLOWS }>,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Daps {
    /// `quantum` is the unit of delays, `max_plan` the longest plan.
    pub fn new(quantum: Duration, max_plan: Duration) -> Self {
        let quantum = quantum.max(Duration::from_nanos(1));
        Daps { quantum, max_plan, base: DataSeq(0), plan: ArrayVec::new() }
    }

    fn make_plan(&mut self, view: &View<'_>, base: DataSeq) {
        let quanta = |time: Duration| (time.as_nanos() / self.quantum.as_nanos()).max(1);
        let slowest = view.candidates().filter_map(|s| s.rtt.smoothed).max().unwrap_or(Duration::ZERO);
        let longest = quanta(self.max_plan);
        self.base = base;
        self.plan.clear();
        for s in view.candidates().take(SubflowId::MAX_SUBFLOWS) {
            let delay = quanta(s.rtt.smoothed.unwrap_or(slowest).div(2));
            let bytes = u64::from(s.window.cwnd.max(1)) * u64::from(s.mss.max(1));
            self.plan.push(Part { id: s.id, delay, bytes, sendings: 1, next: 0, given: 0 });
        }
        // The stable sort would allocate.
        self.plan.sort_unstable_by_key(|p| (p.delay, p.id));
        let multiple = self.plan.iter().fold(1u64, |multiple, p| {
            if multiple > longest { multiple } else { (multiple / gcd(multiple, p.delay)).saturating_mul(p.delay) }
        });
        let span = multiple.min(longest);
        for part in &mut self.plan {
            part.sendings = (span / part.delay).max(1);
        }
    }

    /// Whether the plan has been given out, or is for other paths than those that exist now.
    fn is_over(&self, view: &View<'_>) -> bool {
        let planned = |s: &SubflowView| self.plan.iter().any(|p| p.id == s.id);
        self.plan.iter().all(|p| p.next >= p.sendings)
            || view.candidates().count() != self.plan.len()
            || !view.candidates().all(planned)
    }

    /// The range of the stream for sending `n` of part `i`. All sendings that arrive earlier come before it in the
    /// stream.
    fn range(&self, i: usize, n: u64) -> Range<DataSeq> {
        let own = self.plan[i];
        let arrival = (n + 1) * own.delay;
        let before: u64 = self
            .plan
            .iter()
            .enumerate()
            .map(|(j, p)| {
                // Sending m of j arrives at (m + 1)·D_j. Ties go to the faster path, which comes first in the plan.
                let latest = if j < i { arrival } else { arrival - 1 };
                p.bytes * (latest / p.delay).min(p.sendings)
            })
            .sum();
        let start = self.base + before;
        start..start + own.bytes
    }

    /// The next unassigned range of part `i` inside the send window. Skips data that other paths carry already.
    fn next_range(&mut self, i: usize, s: &SubflowView, view: &View<'_>) -> Option<Range<DataSeq>> {
        while self.plan[i].next < self.plan[i].sendings {
            let whole = self.range(i, self.plan[i].next);
            let mut at = (whole.start + self.plan[i].given).max(view.first_unacked());
            while at < whole.end {
                let Some((assigned, _)) = view.queue.span_at(at) else { break };
                at = assigned.end;
            }
            if at < whole.end {
                let next_assigned = view.queue.spans_from(at).next().map_or(whole.end, |(r, _)| r.start);
                self.plan[i].given = at.since(whole.start);
                return view.inside_window(s, at..whole.end.min(next_assigned));
            }
            self.plan[i].next += 1;
            self.plan[i].given = 0;
        }
        None
    }

    /// The path whose present sending contains the byte at `at`.
    fn owner(&self, at: DataSeq) -> Option<SubflowId> {
        let is_next = |i: &usize| {
            let part = self.plan[*i];
            part.next < part.sendings && self.range(*i, part.next).contains(&at)
        };
        (0..self.plan.len()).find(is_next).map(|i| self.plan[i].id)
    }

    /// Assigns the next data of the plan to the fastest path that has space and planned data.
    fn next_in_plan(&mut self, view: &View<'_>, first: DataSeq) -> Option<Decision> {
        for i in 0..self.plan.len() {
            let id = self.plan[i].id;
            let Some(s) = view.candidates().find(|s| s.id == id && s.has_space()) else { continue };
            let Some(range) = self.next_range(i, s, view) else { continue };
            let most = u64::from(s.mss.max(1)) * u64::from(s.window_space());
            let range = range.start..range.end.min(range.start + most);
            let reason = Reason::new(
                "sending {sending} of its part of the plan, {ahead_bytes} ahead of the first unassigned byte",
            )
            .with("sending", self.plan[i].next as f64)
            .with("ahead_bytes", range.start.since(first) as f64);
            let window = WindowUse::Respect;
            return Some(Decision::Assign(Assign { subflow: id, range, window, reason }));
        }
        None
    }
}

impl Scheduler for Daps {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(data) = view.sendable() else { return Decision::nothing_to_send() };
        if !view.candidates().any(|s| s.has_space()) {
            return Decision::no_space();
        }
        if self.is_over(view) {
            self.make_plan(view, data.start);
        }
        if let Some(decision) = self.next_in_plan(view, data.start) {
            return decision;
        }
        let mut owner = self.owner(data.start);
        if owner.is_none() {
            // The data is in no path's part: less was sent than planned, or the path that carried it is gone.
            self.make_plan(view, data.start);
            if let Some(decision) = self.next_in_plan(view, data.start) {
                return decision;
            }
            owner = self.owner(data.start);
        }
        // The owner has no space, so it has data in flight.
        let reason = Reason::new("the next bytes are the part of a path without window space");
        Decision::Wait { until: None, for_subflow: owner, reason }
    }

    fn on_event(&mut self, event: &Event<'_>, _view: &View<'_>) {
        let Event::Assigned { subflow, range, .. } = event else { return };
        let Some(i) = self.plan.iter().position(|p| p.id == *subflow && p.next < p.sendings) else { return };
        let whole = self.range(i, self.plan[i].next);
        if !whole.contains(&range.start) {
            return;
        }
        let part = &mut self.plan[i];
        part.given = range.end.since(whole.start);
        if part.given >= part.bytes {
            (part.next, part.given) = (part.next + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, seg, sub};

    fn daps() -> Daps {
        Daps::new(Duration::from_millis(1), Duration::from_secs(1))
    }

    #[test]
    fn ten_to_one() {
        // BLEST §IV.A: segments 1..10 on the fast path, 11 on a path with ten times the delay (counted from 1 there).
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(1), sub(1).rtt(200).cwnd(1)]).write(100);
        let mut scheduler = daps();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..1), (1, 10..11)]);
        for n in 1..10 {
            bench.acked(0, 1);
            assert_eq!(bench.run(&mut scheduler), [(0, n..n + 1)]);
        }
        bench.acked(0, 1);
        assert_eq!(bench.step(&mut scheduler), Some((0, 11..12)), "the next plan");
    }

    #[test]
    fn order_of_arrival_over_the_least_common_multiple() {
        // D = 2 and 3 ms, windows of 4 and 3: arrivals at 2 (f), 3 (s), 4 (f), 6 (f, then s).
        let mut bench = Bench::new([sub(0).rtt(4).cwnd(4), sub(1).rtt(6).cwnd(3)]).write(100);
        let mut scheduler = daps();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..4), (1, 4..7)]);
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), [(0, 7..11)]);
        bench.acked(1, 3);
        assert_eq!(bench.run(&mut scheduler), [(1, 15..18)]);
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), [(0, 11..15)]);
        bench.acked(1, 3);
        // In the next plan, the slow path's first sending comes after the fast path's.
        assert_eq!(bench.run(&mut scheduler), [(1, 22..25)]);
    }

    #[test]
    fn a_faster_path_waits_for_the_end_of_the_plan() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(2), sub(1).rtt(40).cwnd(2).in_flight(2)]).write(100);
        let mut scheduler = daps();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..2)]);
        bench.acked(0, 2);
        assert_eq!(bench.run(&mut scheduler), [(0, 2..4)]);
        bench.acked(0, 2);
        assert_eq!(bench.run(&mut scheduler), []);
        let Decision::Wait { for_subflow, .. } = bench.decide(&mut scheduler) else { panic!("it waits") };
        assert_eq!(for_subflow, Some(SubflowId(1)));
        bench.acked(1, 2);
        assert_eq!(bench.run(&mut scheduler), [(1, 4..6), (0, 6..8)]);
    }

    #[test]
    fn when_the_data_ends_before_its_part_the_slow_path_is_not_used() {
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(10), sub(1).rtt(200).cwnd(10)]).write(50);
        let mut scheduler = daps();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10)]);
        assert_eq!(
            bench.decide(&mut scheduler),
            Decision::Wait {
                until: None,
                for_subflow: Some(SubflowId(0)),
                reason: Reason::new("the next bytes are the part of a path without window space"),
            }
        );
    }

    #[test]
    fn a_long_common_multiple_is_capped() {
        // D = 7 and 149 ms: their least common multiple is 1043 ms, cut to 1000 ms: 142 and 6 sendings.
        let mut bench = Bench::new([sub(0).rtt(14), sub(1).rtt(298)]).write(10_000);
        let mut scheduler = daps();
        bench.step(&mut scheduler);
        assert_eq!(scheduler.plan.iter().map(|p| p.sendings).collect::<Vec<_>>(), [142, 6]);
    }

    #[test]
    fn a_path_s_death_makes_a_new_plan_from_the_first_gap() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100), sub(2).rtt(100)]).write(1000);
        let mut scheduler = daps();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..10), (1, 50..60), (2, 60..70)]);
        bench.down(2, &mut scheduler);
        bench.map.acknowledge(seg(10));
        bench.acked(0, 10);
        bench.acked(1, 10);
        // The slow path's part from 10 on would be 60..70, but the dead path carried that, so it is skipped.
        assert_eq!(bench.run(&mut scheduler), [(0, 10..20)]);
        for n in [20, 30] {
            bench.acked(0, 10);
            assert_eq!(bench.run(&mut scheduler), [(0, n..n + 10)]);
        }
        bench.acked(0, 10);
        // 50..60 is on its way on the slow path, so the next plan begins at 70.
        assert_eq!(bench.run(&mut scheduler), [(0, 40..50), (1, 120..130)]);
        bench.acked(0, 10);
        assert_eq!(bench.run(&mut scheduler), [(0, 70..80)]);
    }
}
