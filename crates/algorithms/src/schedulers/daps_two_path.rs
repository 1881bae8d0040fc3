//! `daps-two-path`: the two-path simplification of delay-aware scheduling.
//!
//! # What it does
//!
//! If more data waits than the fast path's window has room for, the fast path gets η segments, as many as it has round
//! trips during one of the slow path. The slow path gets the segments that follow, a whole free window, so its data
//! should arrive just after the fast path's. If the fast path can take everything, it does. When a schedule has been
//! given out, the slow window is full, so the next schedules have only the fast path in them, until that window is full
//! too. So η orders what is sent and does not limit it, unless `every=round`.
//!
//! # Formula
//!
//! ```text
//! η = ⌊srtt_s / srtt_f⌋
//! pending > free_f:  f gets the next min(η, free_f) segments, then s gets the free_s segments that follow
//! else               f gets all pending segments
//! the next schedule:  every=given  when all of this one has been given out
//!                     every=round  as with given, and srtt_s has passed since this one was made, or nothing is in flight
//! ```
//!
//! * f, s: the paths with the lower and the higher smoothed round-trip time (srtt, ms); pending: segments that are
//!   written and not assigned.
//! * free_i = cwnd_i − in_flight_i − unsent_i, segments; unsent_i: given to i and not yet sent.
//!
//! # Source
//!
//! EVAL §III.C and Alg. 1, which is what EVAL measures as DAPS; Kuhn et al., "DAPS: intelligent delay-aware packet
//! scheduling for multipath transport", ICC 2014 (BLEST §IV.A, its reference 8).
//!
//! # Deviations
//!
//! * The fast path gets η segments, as in the algorithm; the prose has one more.
//! * Alg. 1 does not say when the next schedule is made. By default this is when the last one has been given out, as in
//!   the out-of-tree Linux port of DAPS for any number of paths ([`super::daps`]). EVAL's prose speaks of the segments
//!   that each path sends in the next round; `every=round` follows that. Then the fast path sends η segments in a round
//!   trip of the slow path, which is one segment in each of its own round trips. The text of Kuhn et al. was not
//!   available.
//! * A path that has no room when its turn in the schedule comes loses its part.
//! * With more than two paths, each slower one gets its free window, in order of round-trip times, and η is that of the
//!   two fastest. With one path, everything goes there.
//! * Free windows count the segments in flight, not all unacknowledged ones, as with the other schedulers here.

use super::minrtt;
use arrayvec::ArrayVec;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::Instant;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "daps-two-path",
    source: "EVAL Alg. 1",
    summary: "as many segments on the fast path as it has round trips during one of the slow path",
    parameters: &[Parameter {
        name: "every",
        kind: Kind::Choice("given round"),
        unit: "",
        default: "given",
        description: "when the next schedule is made: once the last one is given out, or in addition not before a round trip of the slow path has passed",
        source: "DAPS's kernel port; EVAL §III.C's prose",
    }],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(DapsTwoPath::new(v.choice("every") == "round"))),
};

/// Two-path delay-aware scheduling: one schedule after the other.
#[derive(Debug, Default)]
pub struct DapsTwoPath {
    /// The rest of the schedule: paths and their numbers of segments. The next path is the last of the list.
    schedule: ArrayVec<(SubflowId, u32), { SubflowId::MAX_SUBFLOWS }>,
    eta: f64,
    /// Whether there is at most one schedule per round trip of the slow path (`every=round`), and the time from which
    /// the next one may be made.
    per_round: bool,
    next_round: Option<Instant>,
}

impl DapsTwoPath {
    /// `per_round`: whether there is at most one schedule per round trip of the slow path.
    pub fn new(per_round: bool) -> Self {
        DapsTwoPath { per_round, ..DapsTwoPath::default() }
    }

    /// Makes a schedule, or returns the time from which one may be made.
    fn plan(&mut self, view: &View<'_>) -> Result<(), Instant> {
        let mut paths: ArrayVec<&SubflowView, { SubflowId::MAX_SUBFLOWS }> = ArrayVec::new();
        paths.extend(view.candidates().take(SubflowId::MAX_SUBFLOWS));
        // The stable sort would allocate.
        paths.sort_unstable_by_key(|s| (minrtt::key(s), s.id));
        let Some(f) = paths.first() else { return Ok(()) };
        let space = if f.has_space() { f.window_space() } else { 0 };
        let pending = view.queue.unassigned_bytes().div_ceil(u64::from(f.mss.max(1)));
        let slow = paths.get(1).and_then(|s| super::blest::round_trips(f, s)).unwrap_or(1.0);
        self.eta = libm::floor(slow).clamp(1.0, f64::from(u32::MAX));
        let on_f = if pending > u64::from(space) { space.min(self.eta as u32) } else { pending as u32 };
        if pending > u64::from(space) {
            if let Some(next) = self.round_lasts_until(view) {
                return Err(next);
            }
            for s in paths[1..].iter().rev().filter(|s| s.has_space()) {
                self.schedule.push((s.id, s.window_space()));
            }
        }
        if on_f > 0 {
            self.schedule.push((f.id, on_f));
        }
        if pending > u64::from(space) && !self.schedule.is_empty() {
            let slow_round = paths.get(1).and_then(|s| s.rtt.smoothed).filter(|_| self.per_round);
            self.next_round = slow_round.map(|srtt| view.now + srtt);
        }
        Ok(())
    }

    /// The time from which the next schedule may be made, if that lies in the future.
    fn round_lasts_until(&self, view: &View<'_>) -> Option<Instant> {
        let is_out = view.subflows.iter().any(|s| s.window.unacked + s.queue.unsent > 0);
        self.next_round.filter(|next| *next > view.now && is_out)
    }
}

impl Scheduler for DapsTwoPath {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let given_out = |next, eta| {
            let reason = Reason::new("the schedule of this round is given out, η = {eta}").with("eta", eta);
            Decision::Wait { until: Some(next), for_subflow: None, reason }
        };
        if self.schedule.is_empty()
            && let Err(next) = self.plan(view)
        {
            return given_out(next, self.eta);
        }
        while let Some((id, planned)) = self.schedule.last().copied() {
            let Some(s) = view.candidates().find(|s| s.id == id && s.has_space()) else {
                self.schedule.pop();
                continue;
            };
            let Some(range) = view.next_for(s, planned.min(s.window_space())) else {
                return Decision::nothing_to_send();
            };
            let reason = Reason::new("it has {planned_segments} of the schedule, η = {eta}")
                .with("planned_segments", f64::from(planned))
                .with("eta", self.eta);
            return Decision::Assign(Assign { subflow: id, range, window: WindowUse::Respect, reason });
        }
        // The planned paths have no space any more. A subflow with space will be in the next schedule.
        match self.round_lasts_until(view) {
            Some(next) => given_out(next, self.eta),
            None => minrtt::decide(view),
        }
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let Event::Assigned { subflow, range, .. } = event else { return };
        let Some((id, planned)) = self.schedule.last_mut().filter(|(id, _)| id == subflow) else { return };
        let mss = view.subflow(*id).map_or(1, |s| u64::from(s.mss.max(1)));
        let given = range.end.since(range.start).div_ceil(mss).min(u64::from(*planned));
        *planned -= given as u32;
        if *planned == 0 {
            self.schedule.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::properties;
    use pathweave_scheduler::testing::{Bench, sub};
    use pathweave_units::Duration;

    #[test]
    fn the_fast_path_gets_eta_segments_and_the_slow_one_its_window() {
        let mut bench = Bench::new([sub(0).rtt(25), sub(1).rtt(100).cwnd(6)]).write(100);
        // η = 4, then the slow window. The next schedules, of 4 and 2 segments, have only the fast path.
        assert_eq!(bench.run(&mut DapsTwoPath::default()), [(0, 0..4), (1, 4..10), (0, 10..16)]);
    }

    /// EVAL §III.C: in the next round the fast path sends η segments and the slow one a window.
    #[test]
    fn a_schedule_per_round_leaves_the_fast_window_open() {
        let mut bench = Bench::new([sub(0).rtt(25), sub(1).rtt(100).cwnd(6)]).write(100);
        let mut scheduler = DapsTwoPath::new(true);
        let start = bench.now;
        assert_eq!(bench.run(&mut scheduler), [(0, 0..4), (1, 4..10)]);
        let next = start + Duration::from_millis(100);
        assert!(matches!(bench.decide(&mut scheduler), Decision::Wait { until: Some(t), .. } if t == next));
        bench.now = start + Duration::from_millis(99);
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), []);
        bench.now = next;
        bench.acked(1, 6);
        assert_eq!(bench.run(&mut scheduler), [(0, 10..14), (1, 14..20)]);
    }

    #[test]
    fn a_round_ends_early_when_nothing_is_out_and_what_fits_the_fast_window_needs_none() {
        let mut bench = Bench::new([sub(0).rtt(25), sub(1).rtt(100).cwnd(6)]).write(25);
        let mut scheduler = DapsTwoPath::new(true);
        assert_eq!(bench.run(&mut scheduler), [(0, 0..4), (1, 4..10)]);
        bench.acked(0, 4);
        assert_eq!(bench.run(&mut scheduler), []);
        bench.acked(1, 6);
        assert_eq!(bench.run(&mut scheduler), [(0, 10..14), (1, 14..20), (0, 20..25)], "five fit the free window of 6");
    }

    #[test]
    fn a_schedule_per_round_keeps_the_rules_of_every_scheduler() {
        properties::holds(&SchedulerEntry { build: |_| Ok(Box::new(DapsTwoPath::new(true))), ..ENTRY });
    }

    #[test]
    fn a_large_eta_is_limited_by_the_window() {
        let mut bench = Bench::new([sub(0).rtt(5).in_flight(3), sub(1).rtt(100).cwnd(6)]).write(100);
        assert_eq!(bench.run(&mut DapsTwoPath::default()), [(0, 0..7), (1, 7..13)]);
    }

    #[test]
    fn what_fits_the_fast_window_goes_there_alone() {
        let mut bench = Bench::new([sub(0).rtt(25), sub(1).rtt(100)]).write(10);
        assert_eq!(bench.run(&mut DapsTwoPath::default()), [(0, 0..10)]);
    }

    #[test]
    fn eval_figure_2_eleven_packets() {
        // Windows of 10, 10 and 20 ms: η = 2.
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(20)]).write(11);
        assert_eq!(bench.run(&mut DapsTwoPath::default()), [(0, 0..2), (1, 2..11)]);
    }

    #[test]
    fn a_full_fast_path_leaves_the_slow_one_its_window() {
        let mut bench = Bench::new([sub(0).rtt(25).in_flight(10), sub(1).rtt(100).cwnd(6)]).write(100);
        assert_eq!(bench.run(&mut DapsTwoPath::default()), [(1, 0..6)]);
    }

    #[test]
    fn a_dead_path_s_part_goes_to_the_others() {
        let mut bench = Bench::new([sub(0).rtt(25), sub(1).rtt(100)]).write(100);
        let mut scheduler = DapsTwoPath::default();
        assert_eq!(bench.step(&mut scheduler), Some((0, 0..4)));
        bench.down(1, &mut scheduler);
        assert_eq!(bench.run(&mut scheduler), [(0, 4..10)]);
    }
}
