//! Data that is sent a second time: late data that holds up the stream, copies that keep estimates fresh, and, for low
//! delay, copies on idle paths.

use super::lanes::{Lane, Lanes};
use super::{Decision, Reason, Rule, Weave, larger};
use core::ops::Range;
use pathweave_proto::scheduler::{SubflowView, View};
use pathweave_proto::{DataSeq, SubflowId, SubflowSet};
use pathweave_units::{Duration, Instant};

/// Segments of a copy that refreshes estimates: as many as an acknowledgement covers.
const REFRESHING: u64 = 2;
/// Copies that refresh estimates are at most this fraction of the written data, and so of the delivered data.
const REFRESHED: f64 = 0.03;
/// A path with at most this loss rate needs no copies against losses.
const LOSSLESS: f64 = 0.001;
/// A path whose data is late by more than this fraction of a round trip is behind a queue of others.
const ON_TIME: f64 = 0.125;
/// Time between two measurements of the rate at which data is written.
const LOAD_MEASURED: Duration = Duration::from_secs(1);
/// The number of pieces in flight, from the first on, that a decision examines for repetitions and copies.
const LOOKED_AT: usize = 16;

/// The rate at which the application writes data.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// The time of the last measurement, and the end of the written data at that time.
    since: Option<Instant>,
    written: DataSeq,
    /// Bytes/s; 0 until the second measurement.
    rate: f64,
}

impl Load {
    fn measure(&mut self, view: &View<'_>) {
        let (now, written) = (view.now, view.queue.written_end());
        let time = self.since.map(|since| now.since(since));
        if time.is_some_and(|time| time < LOAD_MEASURED) {
            return;
        }
        self.rate = time.map_or(0.0, |time| written.since(self.written) as f64 / time.as_secs_f64());
        (self.since, self.written) = (Some(now), written);
    }

    /// Whether copies on this lane cost nothing: it has no price and no quota, and it could carry all written data, or
    /// is in slow start, so that its limit is not known yet.
    fn leaves_free(&self, s: &SubflowView, lane: &Lane) -> bool {
        (lane.doubles || self.rate <= lane.rate) && is_unpriced(s)
    }
}

fn is_unpriced(s: &SubflowView) -> bool {
    s.path.cost == 0.0 && s.path.quota_left.is_none()
}

/// Whether the lane's path has enough losses for copies to be worth their cost.
fn loses(view: &View<'_>, lane: &Lane) -> bool {
    view.subflow(lane.id).is_some_and(|s| s.delivery.loss > LOSSLESS)
}

/// The time from now until `due`, s; negative if `due` is in the past.
fn from_now(view: &View<'_>, due: Option<Instant>) -> f64 {
    let due = due.unwrap_or(view.now);
    if due > view.now { due.since(view.now).as_secs_f64() } else { -view.now.since(due).as_secs_f64() }
}

impl Weave {
    /// The part of `span` that no subflow of `owners` has acknowledged.
    fn outstanding(&self, span: Range<DataSeq>, owners: SubflowSet) -> Option<Range<DataSeq>> {
        let paths = owners.iter().filter_map(|id| self.paths.get(id.index()));
        let span = paths.fold(span, |span, path| path.outstanding(span));
        (span.start < span.end).then_some(span)
    }

    /// The earliest time at which one of the `owners` should deliver the byte at `at`, and that owner.
    pub(super) fn arrival_of(&self, at: DataSeq, owners: SubflowSet) -> Option<(Instant, SubflowId)> {
        owners.iter().filter_map(|id| Some((self.paths.get(id.index())?.due(at)?, id))).min_by_key(|(due, _)| *due)
    }

    /// q of the lane: the least lateness that its acknowledgements showed lately, s. If it has not shown any yet, the
    /// largest q of the other lanes counts.
    fn least_late(&self, lanes: &Lanes, lane: &Lane) -> Option<f64> {
        let known = |l: &Lane| self.paths[l.id.index()].least_late();
        known(lane).or_else(|| lanes.all.iter().filter_map(known).reduce(larger))
    }

    /// If nothing new can be sent: repeats the first unacknowledged byte on another lane, if it arrives there sooner
    /// than on its present lane.
    ///
    /// Data that is overdue by a round trip and its path's least lateness counts as lost. Lost data behind the first
    /// byte is repeated too. Before the first acknowledgement nothing counts as lost, because the data may be in a long
    /// queue of others. If no unassigned data is left, the end of the stream waits for all data in flight, not only for
    /// the first byte; then any data is repeated that arrives sooner.
    pub(super) fn repeat_head(
        &mut self,
        view: &View<'_>,
        lanes: &Lanes,
        head_arrives: Option<Instant>,
    ) -> Option<Decision> {
        let takers = lanes.takers;
        if lanes.all.len() < 2 || takers.is_empty() || self.without.leaves_out(Rule::Repeats) {
            return None;
        }
        let (head, ends) = (view.first_unacked(), view.queue.unassigned_bytes() == 0);
        for (span, owners) in view.queue.spans_from(self.repeated.max(head)).take(LOOKED_AT) {
            if owners.union(takers) == owners {
                continue;
            }
            // If the first byte is acknowledged on its path but not by a DATA_ACK, it has not arrived: a middlebox
            // acknowledged it.
            let outstanding = if span.start == head { Some(span) } else { self.outstanding(span, owners) };
            let Some(span) = outstanding else { continue };
            let holders = lanes.all.iter().filter(|l| owners.contains(l.id));
            let holder = holders.min_by(|a, b| a.arrival.total_cmp(&b.arrival));
            let due =
                if span.start == head { head_arrives } else { self.arrival_of(span.start, owners).map(|(due, _)| due) };
            let due = from_now(view, due);
            let is_lost = |l: &&Lane| -due > l.rtt && self.least_late(lanes, l).is_some_and(|late| -due > l.rtt + late);
            let lost = holder.filter(is_lost);
            if span.start != head && lost.is_none() && self.burst.holds(span.start) {
                // Data of a burst is meant to arrive later.
                continue;
            }
            let arrives = if let Some(l) = lost {
                // The alternative is to send it again on its own path, behind the data there.
                l.arrival
            } else {
                // Usually nothing is late, or no lane is sooner than the late data, and no search is needed.
                let sooner = |late: f64| lanes.open().any(|(_, other)| other.arrival < due + late);
                let is_behind = |l: &&Lane| self.paths[l.id.index()].is_behind(span.start);
                let late = holder.filter(|l| l.late > 0.0 && sooner(l.late)).filter(is_behind);
                larger(due + late.map_or(0.0, |l| l.late), 0.0)
            };
            // Data behind the head that is not lost is repeated only if that gains a round trip. Otherwise data that is
            // in time would be repeated again and again.
            let all = span.start == head || lost.is_some() || ends;
            // Data further behind is due later. Usually no lane is sooner, whatever its lateness.
            let mut others = lanes.open().map(|(_, l)| l).filter(|l| l.arrival < arrives && !owners.contains(l.id));
            let owes = lost.map_or(0.0, |l| l.owes);
            let (lane, arrival) = others.find_map(|l| {
                let late = self.paths[l.id.index()].least_late().unwrap_or(0.0);
                // If the other lane is behind a queue of others, the silence probably comes from such a queue, and a
                // copy would only lengthen the other queue.
                let arrives = if late > ON_TIME * l.rtt { arrives - owes } else { arrives };
                let arrival = l.arrival + late;
                (arrival + if all { 0.0 } else { l.rtt } < arrives).then_some((l, arrival))
            })?;
            let piece = span.start..span.end.min(span.start + lane.segment());
            let range = view.inside_window(view.subflow(lane.id)?, piece)?;
            self.repeated = range.end;
            let reason = Reason::new("all waits for it: arrives in {arrival_ms} here, in {instead_ms} where it is")
                .with("arrival_ms", arrival * 1e3)
                .with("instead_ms", arrives * 1e3);
            return Some(self.assign(lane, range, reason));
        }
        None
    }

    /// Repeats data of lanes that are not in use any more if it would arrive only after the horizon. Such data holds up
    /// the deliveries of the other lanes, so it is repeated before new data is sent.
    pub(super) fn rescue(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if !lanes.all[lanes.used..].iter().any(|l| l.out > 0) || self.without.leaves_out(Rule::Rescue) {
            return None;
        }
        let lane = lanes.open().map(|(_, l)| l).min_by(|a, b| a.arrival.total_cmp(&b.arrival))?;
        let head = view.first_unacked();
        for (span, owners) in view.queue.spans_from(self.repeated.max(head)).take(LOOKED_AT) {
            if lanes.used().iter().any(|l| owners.contains(l.id)) || self.burst.holds(span.start) {
                continue;
            }
            let Some(span) = self.outstanding(span, owners) else { continue };
            let due = from_now(view, self.arrival_of(span.start, owners).map(|(due, _)| due));
            if due <= f64::max(lanes.horizon, lane.arrival) {
                continue;
            }
            let piece = span.start..span.end.min(span.start + lane.segment());
            let range = view.inside_window(view.subflow(lane.id)?, piece)?;
            self.repeated = range.end;
            let reason =
                Reason::new("its path is not used any more: arrives in {arrival_ms} here, in {instead_ms} where it is")
                    .with("arrival_ms", lane.arrival * 1e3)
                    .with("instead_ms", due * 1e3);
            return Some(self.assign(lane, range, reason));
        }
        None
    }

    /// For low delay: copies data in flight to a lane with room if it arrives sooner there. If the original's path
    /// loses packets, or if the copy costs nothing, the copy need only arrive before a repetition would, because no
    /// estimate tells when a path will be late. A copy takes no additional room in the window, so lanes that are not in
    /// use carry copies too.
    pub(super) fn copy_where_it_pays(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        self.load.measure(view);
        for lane in lanes.all.iter().filter(|lane| lane.room > 0) {
            let Some(s) = view.subflow(lane.id) else { continue };
            let leaves_free = self.load.leaves_free(s, lane);
            for (span, owners) in view.queue.spans_from(view.first_unacked()).take(LOOKED_AT) {
                if owners.contains(lane.id) || owners.iter().count() > 1 {
                    continue;
                }
                let Some(span) = self.outstanding(span, owners) else { continue };
                let Some(holder) = lanes.all.iter().find(|l| owners.contains(l.id)) else { continue };
                // A copy of data that is on a priced path is not free, because it would draw new data to that path.
                let free = leaves_free && view.subflow(holder.id).is_some_and(is_unpriced);
                let due = from_now(view, self.arrival_of(span.start, owners).map(|(due, _)| due)).max(0.0);
                // Without the copy, the data would be repeated on this lane a round trip after it was due.
                let instead = if free || loses(view, holder) { due + holder.rtt + lane.there } else { due };
                if lane.arrival >= instead {
                    continue;
                }
                let piece = span.start..span.end.min(span.start + lane.segment());
                let Some(range) = view.inside_window(s, piece) else { continue };
                let reason = Reason::new(
                    "a copy pays: arrives in {arrival_ms}, before {instead_ms} without it, repeats included",
                )
                .with("arrival_ms", lane.arrival * 1e3)
                .with("instead_ms", instead * 1e3);
                return Some(self.assign(lane, range, reason));
            }
        }
        None
    }

    /// Refreshes the estimates of a lane that has carried nothing for the patience: sends it a copy of the last bytes
    /// in flight.
    pub(super) fn refresh(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if self.without.leaves_out(Rule::Copies) {
            return None;
        }
        for lane in &lanes.all {
            if !self.paths[lane.id.index()].idle(view.now, self.patience) {
                continue;
            }
            let Some(s) = view.subflow(lane.id).filter(|s| s.queue.bytes == 0 && s.has_space()) else { continue };
            let bytes = REFRESHING.min(u64::from(s.window_space())) * lane.segment();
            let end = view.queue.assigned_end();
            let start = DataSeq(end.0.saturating_sub(bytes)).max(view.first_unacked());
            let (last, owners) = view.queue.last_span()?;
            if owners.contains(lane.id) {
                continue;
            }
            let start = start.max(last.start);
            let refreshed = self.refreshed + last.end.since(start);
            if refreshed as f64 > REFRESHED * view.queue.written_end().0 as f64 {
                continue;
            }
            self.refreshed = refreshed;
            let reason = Reason::new("unused for long: a copy of what is out, to know the path");
            return Some(self.assign(lane, start..last.end, reason));
        }
        None
    }
}
