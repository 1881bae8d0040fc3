//! Data that is sent a second time: late data that holds up the stream, copies that keep estimates fresh, and, for low
//! delay, copies on idle paths.

use super::lanes::Lanes;
use super::{Decision, Objective, Reason, Weave};
use core::ops::Range;
use pathweave_scheduler::{DataSeq, SubflowSet, SubflowView, View};

/// Segments of a copy that refreshes estimates: as many as an acknowledgement covers.
const REFRESHING: u64 = 2;
/// Copies that refresh estimates are at most this fraction of the written data, and so of the delivered data.
const REFRESHED: f64 = 0.03;
/// The number of pieces in flight, from the first on, that a decision examines for repeats and copies.
const LOOKED_AT: usize = 16;

fn is_unpriced(s: &SubflowView) -> bool {
    s.path.cost == 0.0 && s.path.quota_left.is_none()
}

impl Weave {
    /// The part of `span` that no subflow of `owners` has acknowledged.
    fn outstanding(&self, span: Range<DataSeq>, owners: SubflowSet) -> Option<Range<DataSeq>> {
        let paths = owners.iter().filter_map(|id| self.paths.get(id.index()));
        let span = paths.fold(span, |span, path| path.outstanding(span));
        (span.start < span.end).then_some(span)
    }

    /// The time until the first of the `owners` should deliver the byte at `at`, s; negative if it is late.
    fn due(&self, view: &View<'_>, at: DataSeq, owners: SubflowSet) -> f64 {
        let dues = owners.iter().filter_map(|id| self.paths.get(id.index())?.due(at));
        let due = dues.min().unwrap_or(view.now);
        if due > view.now { due.since(view.now).as_secs_f64() } else { -view.now.since(due).as_secs_f64() }
    }

    /// If nothing new can be sent: repeats data on another lane if it arrives there sooner than where it is. That is
    /// the first unacknowledged byte, data behind it that is overdue by a round trip and so counts as lost, and, if no
    /// unassigned data is left, any data, because the stream's end waits for all of it. Other data is repeated only if
    /// that gains a round trip. Otherwise data that is in time would be repeated again and again.
    pub(super) fn repeat(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if lanes.all.len() < 2 || lanes.open().next().is_none() {
            return None;
        }
        let (head, ends) = (view.first_unacked(), view.queue.unassigned_bytes() == 0);
        for (span, owners) in view.queue.spans_from(self.repeated.max(head)).take(LOOKED_AT) {
            if lanes.open().all(|lane| owners.contains(lane.id)) {
                continue;
            }
            // If the first byte is acknowledged on its path but not by a DATA_ACK, it has not arrived: a middlebox
            // acknowledged it.
            let outstanding = if span.start == head { Some(span) } else { self.outstanding(span, owners) };
            let Some(span) = outstanding else { continue };
            let due = self.due(view, span.start, owners);
            let holders = lanes.all.iter().filter(|l| owners.contains(l.id));
            let lost = holders.min_by(|a, b| a.arrival.total_cmp(&b.arrival)).filter(|l| -due > l.rtt);
            // Lost data would be sent again on its own path, behind the data there.
            let arrives = lost.map_or(due.max(0.0), |l| l.arrival);
            let any_gain = span.start == head || lost.is_some() || ends;
            // Data further behind is due later.
            let lane = lanes
                .open()
                .find(|l| !owners.contains(l.id) && l.arrival + if any_gain { 0.0 } else { l.rtt } < arrives)?;
            let piece = span.start..span.end.min(span.start + lane.segment());
            let range = view.inside_window(view.subflow(lane.id)?, piece)?;
            self.repeated = range.end;
            let reason = Reason::new("all waits for it: arrives in {arrival_ms} here, in {instead_ms} where it is")
                .with("arrival_ms", lane.arrival * 1e3)
                .with("instead_ms", arrives * 1e3);
            return Some(self.assign(lane, range, reason));
        }
        None
    }

    /// For low delay: copies data in flight to a lane with room if it arrives sooner there. If nothing more is to be
    /// sent and neither path has a price or a quota, the copy is free. Then it need only arrive before a repeat would,
    /// because no estimate says when a path will be late. A copy takes no additional room in the window, so lanes that
    /// are not in use carry copies too.
    pub(super) fn copy_where_it_pays(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if self.objective != Objective::Latency {
            return None;
        }
        let unpriced = |id| view.subflow(id).is_some_and(is_unpriced);
        for lane in lanes.all.iter().filter(|lane| lane.room > 0) {
            let Some(s) = view.subflow(lane.id) else { continue };
            let leaves_free = view.queue.unassigned_bytes() == 0 && is_unpriced(s);
            for (span, owners) in view.queue.spans_from(view.first_unacked()).take(LOOKED_AT) {
                if owners.contains(lane.id) || owners.iter().count() > 1 {
                    continue;
                }
                let Some(span) = self.outstanding(span, owners) else { continue };
                let Some(holder) = lanes.all.iter().find(|l| owners.contains(l.id)) else { continue };
                let due = self.due(view, span.start, owners).max(0.0);
                // Without the copy, the data would be repeated on this lane a round trip after it was due. A copy of
                // data that is on a priced path is not free, because it would draw new data to that path.
                let free = leaves_free && unpriced(holder.id);
                let instead = if free { due + holder.rtt + lane.there } else { due };
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
        for lane in &lanes.all {
            if !self.paths[lane.id.index()].unused(view.now, self.patience) {
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
