//! `rems`: the redundant-error scheduler.
//!
//! # What it does
//!
//! Paths are sorted by the time at which a segment would arrive on them. The first path continues with the next data of
//! the stream. A slower one leaves a gap to the faster ones and takes the data behind it. The size of the gap, the
//! redundant error, is what the faster paths sent during the slower one's last round: they will send as much in its
//! next round. Until its first data is acknowledged, a path only repeats data that is in flight, so that nothing
//! depends on a path that is not known yet.
//!
//! # Formula
//!
//! ```text
//! C_i   = cwnd_i − unacked_i                                                        (eq. 1)
//! AT_i  = (max(0, (unsent_i − C_i)/cwnd_i) + 1/2) · srtt_i                     (eqs. 2, 3)
//! sort by AT_i, ties to the larger cwnd_i                                           (Alg. 1)
//! fastest:  sends its free window from the first unassigned byte on            (eqs. 4, 5)
//! slower s, when the first data of its round is acknowledged:
//!   error=sent (our reading):
//!           red_error_s = bytes that the paths before s in the order sent during the round
//!           start_s     = the byte after red_error_s unassigned bytes
//!   error=printed, p the path before s, in packets of MSS_s:
//!           red_error_s = start_s − end_p                                            (eq. 8)
//!           start_s     = max(first unassigned, start_p + |red_error_s| + 1)         (eq. 6)
//!   s sends its free window from start_s on                                         (eq. 7)
//! phases of s:  redundant until its first acknowledgement (red_error = −1): repeats data in flight
//!               overambitious while there is unassigned data before its range, else round-robin
//! ```
//!
//! * C_i: room in the window; AT_i: time until a segment would arrive on i, ms; srtt: smoothed round-trip time, ms.
//! * cwnd: congestion window; unacked: sent and not acknowledged; unsent: given and not yet sent; all in segments.
//!   red_error: bytes.
//! * end_p: the last packet that p was given before the round ends; start_p: the first packet that it is given after
//!   that.
//!
//! # Source
//!
//! REMS §4.3: Alg. 1 and 2, eqs. 1 to 8 and the worked example of Fig. 19.
//!
//! # Deviations
//!
//! * The half round trip in AT_i is ours. By eq. 3 as printed, data on an idle path would arrive at once, whatever the
//!   delay.
//! * Eq. 5 as printed adds the data in flight, but eq. 1 subtracts it. Here the end is start + (cwnd − in flight) − 1.
//!   Eq. 7 is missing in the text; here it is the same with the path's own values.
//! * Nothing is queued on a path here, so the wait of eq. 2 is zero, unless more data is unacknowledged than the window
//!   holds, as in a recovery. So Alg. 1 normally sorts by round-trip time.
//! * The default follows the prose of §4.3.2 instead of eq. 8: in the prose, the error is how much more the fast path
//!   can send. Both give the 11 of the worked example: 5 + 5 + 1 by the prose, 6 + |1 − 5| + 1 by eq. 8. In later
//!   rounds eq. 8 measures by how much the last range missed its aim, not how far ahead the next range must begin. If
//!   the last range began right behind the fast path's end, eq. 8 lets the next one begin two packets behind the fast
//!   path's start, so that it overlaps the fast path's next window. `error=printed` does that.
//! * With `error=sent` the gap counts unassigned bytes, so that data behind the gap which is already in flight does not
//!   shrink it. Data that is sent at the very moment at which a round begins belongs to that round.
//! * A round ends with the acknowledgement of the first data given in it. On a path that carries nothing it ends after
//!   a round trip. So a path that has found no data behind its gap tries again, and takes over if the faster ones have
//!   stalled.
//! * Each path has a redundant phase of its own, because paths join after the connection has started. Faster paths
//!   ignore the data that is repeated in it.
//! * A path without a round-trip time sample comes last.

use arrayvec::ArrayVec;
use core::cmp::Reverse;
use core::ops::Range;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowSet, SubflowView, View,
    WindowUse,
};
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

/// A path's round: from the acknowledgement that ends the last round to the acknowledgement of the first data that is
/// sent after it.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    /// The first byte given to the path in the round.
    first: Option<DataSeq>,
    /// The paths before this one in the order, and the bytes that they had sent when the round began.
    faster: SubflowSet,
    sent_before: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// Bytes given to the path in all, the time at which it was given data last, and the bytes given at that time.
    sent: u64,
    last_given: Instant,
    sent_at_last: u64,
    /// The first byte given at `last_given`, the end of the data given last, and the end of the data given before
    /// `last_given`.
    first_at_last: DataSeq,
    end: DataSeq,
    end_before_last: DataSeq,
    round: Option<Round>,
    /// The redundant error after the last round, bytes; `None` in the redundant phase.
    error: Option<u64>,
    /// The byte from which the path takes data (eq. 6).
    start: DataSeq,
}

impl Path {
    /// Bytes sent before `now`.
    fn sent_until(&self, now: Instant) -> u64 {
        if self.last_given == now { self.sent - self.sent_at_last } else { self.sent }
    }

    /// The end of the data that was given before `now`.
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

/// The redundant-error scheduler.
#[derive(Debug, Default)]
pub struct Rems {
    paths: [Path; SubflowId::MAX_SUBFLOWS],
    /// Whether eqs. 6 and 8 are used as they are printed (`error=printed`).
    printed: bool,
}

type Sorted<'v> = ArrayVec<&'v SubflowView, { SubflowId::MAX_SUBFLOWS }>;

/// AT of `s` by eqs. 1 to 3, seconds.
fn arrival_time(s: &SubflowView) -> f64 {
    let Some(srtt) = s.rtt.smoothed else { return f64::INFINITY };
    let capacity = f64::from(s.window.cwnd) - f64::from(s.window.unacked);
    let rounds = (f64::from(s.queue.unsent) - capacity) / f64::from(s.window.cwnd.max(1));
    (rounds.max(0.0) + 0.5) * srtt.as_secs_f64()
}

/// The paths in the order of Alg. 1.
fn sorted<'v>(view: &'v View<'_>) -> Sorted<'v> {
    let mut paths: Sorted<'v> = view.candidates().take(SubflowId::MAX_SUBFLOWS).collect();
    // The stable sort would allocate.
    paths.sort_unstable_by(|a, b| {
        let tie = || (Reverse(a.window.cwnd), a.id).cmp(&(Reverse(b.window.cwnd), b.id));
        arrival_time(a).total_cmp(&arrival_time(b)).then_with(tie)
    });
    paths
}

/// The place behind the first `gap` unassigned bytes. If fewer are written, it is beyond the end of the written data.
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

/// The data that the fastest path takes next: the first range that is carried by no path, or only by paths in the
/// redundant phase.
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
    /// `printed`: whether eqs. 6 and 8 are used as they are printed. If not, they use the data that the faster paths
    /// sent.
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

    /// Ends a round of path `id`: computes the error (eq. 8) and the start for the next round (eq. 6).
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

    /// The error and the next start with `error=sent`.
    fn by_what_was_sent(&self, view: &View<'_>, ended: &Round, next: &Round) -> (u64, DataSeq) {
        let error = self.sent_until(ended.faster, view.now).saturating_sub(ended.sent_before);
        let sent_now: u64 = next.faster.iter().map(|f| self.path(f).sent).sum::<u64>() - next.sent_before;
        (error, behind(view, error.saturating_sub(sent_now)))
    }

    /// The error and the next start with `error=printed`, by eqs. 8 and 6. In these equations an end is the last
    /// packet, not the byte after it. `first` is start_s of the last round.
    fn as_printed(&self, view: &View<'_>, id: SubflowId, first: Option<DataSeq>) -> (u64, DataSeq) {
        let own = self.path(id);
        let next = view.queue.first_unassigned().map_or(view.queue.written_end(), |range| range.start);
        let paths = sorted(view);
        let rank = paths.iter().position(|s| s.id == id).unwrap_or(0);
        let Some(before) = rank.checked_sub(1).and_then(|rank| paths.get(rank)) else { return (0, next) };
        let mss = paths.get(rank).map_or(1, |s| u64::from(s.mss.max(1)));
        let p = self.path(before.id);
        // start_p is eq. 4 for the fastest path, which may have been given data at this time already, and eq. 6 for
        // others.
        let start_p = match (rank, p.last_given == view.now) {
            (1, false) => next,
            (1, true) => p.first_at_last,
            _ => p.start.max(next),
        };
        let end_p = p.end_until(view.now).0.saturating_sub(mss);
        let error = first.unwrap_or(own.start).0.abs_diff(end_p);
        (error, (start_p + error + mss).max(next))
    }

    /// The time at which the round of a path that carries nothing ends; `None` if the path carries data.
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
                    // The count of bytes sent stays, because the rounds of other paths refer to it.
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
