//! `rems`: the redundant-error scheduler.
//!
//! # What it does
//!
//! Paths are sorted by when a segment would arrive. The fastest continues with the next data of the stream. A slower
//! one starts behind a gap, the redundant error, which is as large as what the faster ones sent during its last
//! round, because they will send as much in the next. Until its first data is acknowledged, a path repeats data that
//! is on its way, so that nothing depends on a path that is not known yet.
//!
//! # Formula
//!
//! ```text
//! C_i   = cwnd_i − unacked_i                                                        (eq. 1)
//! AT_i  = (max(0, (unsent_i − C_i)/cwnd_i) + 1/2) · srtt_i                     (eqs. 2, 3)
//! sort by AT_i, ties to the larger cwnd_i                                           (Alg. 1)
//! fastest:  from the first unassigned byte, all that its window lets out       (eqs. 4, 5)
//! slower s, when the first data of its round is acknowledged:
//!   error=sent (our reading):
//!           red_error_s = bytes that the paths before it sent during the round
//!           start_s     = the byte behind red_error_s unassigned bytes
//!   error=printed, p the path before s, in packets of MSS_s:
//!           red_error_s = start_s − end_p                                            (eq. 8)
//!           start_s     = max(first unassigned, start_p + |red_error_s| + 1)         (eq. 6)
//!           it sends all that its window lets out from start_s on                   (eq. 7)
//! phases:   redundant until s's first acknowledgement (red_error = −1): repeats what is out
//!           overambitious while unassigned data lies before its range, else round-robin
//! ```
//!
//! * cwnd, unacked (sent, not acknowledged), unsent (given, not yet sent): segments; srtt: smoothed round-trip time,
//!   ms; AT: ms; red_error: bytes.
//! * end_p: the last packet that p was given before the round ends; start_p: the first that it is given after that.
//!
//! # Source
//!
//! REMS §4.3: Alg. 1 and 2, eqs. 1 to 8 and the worked example of Fig. 19.
//!
//! # Deviations
//!
//! * Eq. 3 has no half round trip. Without it, data on an idle path would arrive at once, whatever the delay.
//! * Eq. 5 adds what is in flight where eq. 1 subtracts it: the end is start + (cwnd − in flight) − 1. Eq. 7 is missing
//!   in the text; here it is the same with the path's own values.
//! * Nothing is queued on a path here, so the wait of eq. 2 is zero unless more is unacknowledged than the window
//!   holds, as in a recovery. Otherwise Alg. 1 sorts by round-trip time.
//! * The default follows the prose of §4.3.2 instead of eq. 8: there the error is how much more the fast path can send.
//!   Both give the 11 of the worked example: 5 + 5 + 1, and as printed 6 + |1 − 5| + 1. After that, eq. 8 measures by
//!   how much the last range missed its aim, not how far ahead the next one must begin. After a range that began just
//!   behind the fast path's end, the next one is to begin two packets behind the fast path's start, and so just follows
//!   its window. `error=printed` does that.
//! * With `error=sent` the gap counts unassigned bytes, so that data behind it that is already on its way does not
//!   shrink it. What is sent at the very moment a round begins belongs to that round.
//! * A round ends with the acknowledgement of the first data given in it. On a path that carries nothing it ends after
//!   a round trip, so that a path that finds no data behind its gap asks again, and takes over when the faster ones
//!   have stalled.
//! * Each path has a redundant phase of its own, because paths join after the connection has started. Faster paths
//!   ignore what is repeated in it.
//! * A path without a round-trip time sample comes last.

use arrayvec::ArrayVec;
use core::cmp::Reverse;
use core::ops::Range;
use pathweave_proto::parameter::{Kind, Parameter};
use pathweave_proto::scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse,
};
use pathweave_proto::{DataSeq, SubflowId, SubflowSet};
use pathweave_units::Instant;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "rems",
    source: "REMS Alg. 1 and 2, eqs. 1 to 8",
    summary: "slower subflows start as far ahead as the faster ones sent during their last round",
    parameters: &[Parameter {
        name: "error",
        kind: Kind::Choice("sent printed"),
        unit: "",
        default: "sent",
        description: "redundant error: what the faster paths sent during the last round, or eq. 8 as it is printed",
        source: "REMS §4.3.2's prose and worked example; its eqs. 6 and 8",
    }],
    queues: false,
    duplicates: true,
    build: |v| Ok(Box::new(Rems::new(v.choice("error") == "printed"))),
};

const REDUNDANT: &str = "redundant phase: it repeats what is out until its first acknowledgement";
const FASTEST: &str = "first to arrive, after {arrival_ms}: the next of the stream";
const AHEAD: &str = "overambitious phase: {ahead_bytes} ahead, by a redundant error of {red_error_bytes}";
const IN_TURN: &str = "round-robin phase: right behind the faster paths' data";

/// From one acknowledgement of a path's data to that of what was sent first after it.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    /// The first byte given in it.
    first: Option<DataSeq>,
    /// The paths before it in the order, and the bytes that they had sent when it began.
    faster: SubflowSet,
    sent_before: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// Bytes given to it, and those of them given at `last_given`.
    sent: u64,
    last_given: Instant,
    sent_at_last: u64,
    /// The first byte given at `last_given`, the end of what was given last, and the same before `last_given`.
    first_at_last: DataSeq,
    end: DataSeq,
    end_before_last: DataSeq,
    round: Option<Round>,
    /// The redundant error after its last round, bytes; nothing while in the redundant phase.
    error: Option<u64>,
    /// Where its ranges begin (eq. 6).
    start: DataSeq,
}

impl Path {
    /// Bytes sent before `now`.
    fn sent_until(&self, now: Instant) -> u64 {
        if self.last_given == now { self.sent - self.sent_at_last } else { self.sent }
    }

    /// Where what was given before `now` ends.
    fn end_until(&self, now: Instant) -> DataSeq {
        if self.last_given == now { self.end_before_last } else { self.end }
    }

    fn give(&mut self, now: Instant, range: &Range<DataSeq>) {
        if self.last_given != now {
            (self.sent_at_last, self.first_at_last, self.end_before_last) = (0, range.start, self.end);
        }
        let len = range.end.since(range.start);
        self.last_given = now;
        self.sent_at_last += len;
        self.sent += len;
        self.end = range.end;
    }
}

/// Redundant error.
#[derive(Debug, Default)]
pub struct Rems {
    paths: [Path; SubflowId::MAX_SUBFLOWS],
    /// Eqs. 6 and 8 as they are printed.
    printed: bool,
}

type Sorted<'v> = ArrayVec<&'v SubflowView, { SubflowId::MAX_SUBFLOWS }>;

/// Eqs. 1 to 3, seconds.
fn arrival_time(s: &SubflowView) -> f64 {
    let Some(srtt) = s.rtt.smoothed else { return f64::INFINITY };
    let capacity = f64::from(s.window.cwnd) - f64::from(s.window.unacked);
    let rounds = (f64::from(s.queue.unsent) - capacity) / f64::from(s.window.cwnd.max(1));
    (rounds.max(0.0) + 0.5) * srtt.as_secs_f64()
}

/// Alg. 1.
fn sorted<'v>(view: &'v View<'_>) -> Sorted<'v> {
    let mut paths: Sorted<'v> = view.candidates().take(SubflowId::MAX_SUBFLOWS).collect();
    // Not the stable sort, which allocates.
    paths.sort_unstable_by(|a, b| {
        let tie = || (Reverse(a.window.cwnd), a.id).cmp(&(Reverse(b.window.cwnd), b.id));
        arrival_time(a).total_cmp(&arrival_time(b)).then_with(tie)
    });
    paths
}

/// The place behind the first `gap` unassigned bytes, also when so many are not written yet.
fn behind(view: &View<'_>, gap: u64) -> DataSeq {
    let mut left = gap;
    for range in view.queue.unassigned() {
        let len = range.end.since(range.start);
        if left < len {
            return range.start + left;
        }
        left -= len;
    }
    view.queue.written_end() + left
}

/// What the fastest path takes: the first range that nobody carries but paths in the redundant phase.
fn next_of_fastest(view: &View<'_>, id: SubflowId, redundant: SubflowSet) -> Option<Range<DataSeq>> {
    let unassigned = view.queue.first_unassigned();
    if redundant.is_empty() {
        return unassigned;
    }
    let only_redundant = |owners: &SubflowSet| {
        !owners.is_empty() && !owners.contains(id) && owners.iter().all(|o| redundant.contains(o))
    };
    let mut spans = view.queue.spans_from(view.first_unacked());
    let repeated = spans.find(|(_, owners)| only_redundant(owners)).map(|(range, _)| range);
    match (unassigned, repeated) {
        (Some(a), Some(b)) => Some(if a.start < b.start { a } else { b }),
        (a, b) => a.or(b),
    }
}

impl Rems {
    /// With eqs. 6 and 8 as they are `printed`, or by what the faster paths sent.
    pub fn new(printed: bool) -> Self {
        Rems { printed, ..Rems::default() }
    }

    fn path(&self, id: SubflowId) -> Path {
        self.paths.get(id.index()).copied().unwrap_or_default()
    }

    /// Bytes that `paths` sent before `now`.
    fn sent_until(&self, paths: SubflowSet, now: Instant) -> u64 {
        paths.iter().map(|id| self.path(id).sent_until(now)).sum()
    }

    fn new_round(&self, view: &View<'_>, id: SubflowId) -> Round {
        let before = |paths: Sorted<'_>| {
            paths.iter().take_while(|s| s.id != id).fold(SubflowSet::EMPTY, |set, s| set.with(s.id))
        };
        let faster = before(sorted(view));
        Round { began: view.now, first: None, faster, sent_before: self.sent_until(faster, view.now) }
    }

    /// Eq. 8, then eq. 6 for the next round.
    fn end_round(&mut self, view: &View<'_>, id: SubflowId) {
        let Some(ended) = self.path(id).round else { return };
        let round = self.new_round(view, id);
        let (error, start) = if self.printed {
            self.as_printed(view, id, ended.first)
        } else {
            self.by_what_was_sent(view, &ended, &round)
        };
        let Some(path) = self.paths.get_mut(id.index()) else { return };
        (path.round, path.error, path.start) = (Some(round), Some(error), start);
    }

    /// The error, and where the next range begins.
    fn by_what_was_sent(&self, view: &View<'_>, ended: &Round, next: &Round) -> (u64, DataSeq) {
        let error = self.sent_until(ended.faster, view.now).saturating_sub(ended.sent_before);
        let sent_now: u64 = next.faster.iter().map(|f| self.path(f).sent).sum::<u64>() - next.sent_before;
        (error, behind(view, error.saturating_sub(sent_now)))
    }

    /// The same by eqs. 8 and 6, whose ends are the last packet, not what follows it. `first`: start_s of the last round.
    fn as_printed(&self, view: &View<'_>, id: SubflowId, first: Option<DataSeq>) -> (u64, DataSeq) {
        let own = self.path(id);
        let next = view.queue.first_unassigned().map_or(view.queue.written_end(), |range| range.start);
        let paths = sorted(view);
        let rank = paths.iter().position(|s| s.id == id).unwrap_or(0);
        let Some(before) = rank.checked_sub(1).and_then(|rank| paths.get(rank)) else { return (0, next) };
        let mss = paths.get(rank).map_or(1, |s| u64::from(s.mss.max(1)));
        let p = self.path(before.id);
        // Eq. 4 for the fastest, which may have been served already now; eq. 6 for the others.
        let start_p = match (rank, p.last_given == view.now) {
            (1, false) => next,
            (1, true) => p.first_at_last,
            _ => p.start.max(next),
        };
        let end_p = p.end_until(view.now).0.saturating_sub(mss);
        let error = first.unwrap_or(own.start).0.abs_diff(end_p);
        (error, (start_p + error + mss).max(next))
    }

    /// When the round of a path that carries nothing is over.
    fn idle_round_ends(&self, s: &SubflowView) -> Option<Instant> {
        let round = self.path(s.id).round.filter(|_| s.window.unacked + s.queue.unsent == 0)?;
        Some(round.began + s.rtt.smoothed?)
    }

    fn assign(&self, view: &View<'_>, s: &SubflowView, whole: Range<DataSeq>, rule: &'static str) -> Option<Decision> {
        let most = u64::from(s.mss.max(1)) * u64::from(s.window_space());
        let range = view.inside_window(s, whole.start..whole.end.min(whole.start + most))?;
        let ahead = view.queue.first_unassigned().map_or(0, |first| range.start.since(first.start));
        let reason = Reason::new(rule)
            .with("red_error_bytes", self.path(s.id).error.map_or(-1.0, |error| error as f64))
            .with("ahead_bytes", ahead as f64)
            .with("arrival_ms", arrival_time(s) * 1e3);
        Some(Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason }))
    }
}

impl Scheduler for Rems {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let paths = sorted(view);
        let in_redundant_phase = |set: SubflowSet, s: &&SubflowView| {
            if self.path(s.id).error.is_none() { set.with(s.id) } else { set }
        };
        let redundant = paths.iter().fold(SubflowSet::EMPTY, in_redundant_phase);
        if redundant.is_empty() && view.sendable().is_none() {
            return Decision::nothing_to_send();
        }
        let mut until: Option<Instant> = None;
        for (rank, s) in paths.iter().enumerate().filter(|(_, s)| s.has_space()) {
            let decision = if redundant.contains(s.id) {
                // Alg. 2, step 2.
                let missing = view.queue.first_not_carried_by(s.id, view.first_unacked());
                missing.and_then(|range| self.assign(view, s, range, REDUNDANT))
            } else if rank == 0 {
                // Eqs. 4 and 5.
                let next = next_of_fastest(view, s.id, redundant);
                next.and_then(|range| self.assign(view, s, range, FASTEST))
            } else {
                if self.idle_round_ends(s).is_some_and(|end| end <= view.now) {
                    self.end_round(view, s.id);
                }
                let start = self.path(s.id).start;
                let behind_gap = view.queue.unassigned().find(|range| range.end > start);
                let range = behind_gap.map(|range| range.start.max(start)..range.end);
                let lead =
                    range.as_ref().is_some_and(|r| view.queue.first_unassigned().is_some_and(|f| f.start < r.start));
                let rule = if lead { AHEAD } else { IN_TURN };
                range.and_then(|range| self.assign(view, s, range, rule))
            };
            if let Some(decision) = decision {
                return decision;
            }
            if rank > 0 {
                let end = self.idle_round_ends(s).filter(|end| *end > view.now);
                until = [until, end].into_iter().flatten().min();
            }
        }
        let reason = Reason::new("what is left lies in the gap that faster paths fill");
        Decision::Wait { until, for_subflow: paths.first().map(|s| s.id), reason }
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } => {
                let round = match self.path(*subflow).round {
                    Some(round) => round,
                    None => self.new_round(view, *subflow),
                };
                let Some(path) = self.paths.get_mut(subflow.index()) else { return };
                path.give(view.now, range);
                path.round = Some(Round { first: round.first.or(Some(range.start)), ..round });
            }
            Event::Acked { subflow, mappings, .. } => {
                let first = self.path(*subflow).round.and_then(|round| round.first);
                if first.is_some_and(|first| mappings.iter().any(|m| m.contains(&first))) {
                    self.end_round(view, *subflow);
                }
            }
            Event::SubflowUp(id) | Event::SubflowDown(id) => {
                if let Some(path) = self.paths.get_mut(id.index()) {
                    // What it sent stays counted: others' rounds refer to it.
                    *path = Path { sent: path.sent, ..Path::default() };
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "rems_tests.rs"]
mod tests;
