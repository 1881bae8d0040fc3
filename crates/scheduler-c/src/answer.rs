//! Clips a scheduler's decision to what can be carried out: the stream, the receiver's window and the room of the path.
//! If nothing is left, the path with the lowest round trip among those with room gets a packet, as in the engine.

use pathweave_scheduler::{Assign, ClippedBy, Decision, Reason, View, WindowUse};

/// The reason of a decision that replaces an impossible one.
const DEFAULT: &str = "default: lowest srtt";

/// Returns the decision that is carried out, and the limit that shortened it.
pub(crate) fn possible(view: &View<'_>, decision: Decision) -> (Decision, Option<ClippedBy>) {
    let kept = match decision {
        Decision::Assign(assign) => clip(view, assign).map(|(assign, by)| (Decision::Assign(assign), by)),
        Decision::Wait { until: Some(until), .. } if until <= view.now => None,
        Decision::Wait { until: None, .. } if !awaits_acknowledgement(view) => None,
        wait @ Decision::Wait { .. } => Some((wait, None)),
    };
    kept.unwrap_or_else(|| (default(view), None))
}

/// Whether data is in flight whose acknowledgement will end a wait. Data on a stale path does not count while another
/// path is alive.
fn awaits_acknowledgement(view: &View<'_>) -> bool {
    let all_stale = view.subflows.iter().all(|s| s.stale);
    view.subflows.iter().any(|s| (all_stale || !s.stale) && s.window.unacked + s.queue.unsent > 0)
}

/// The part of an assignment that its path can take now.
fn clip(view: &View<'_>, mut assign: Assign) -> Option<(Assign, Option<ClippedBy>)> {
    let s = view.subflow(assign.subflow)?;
    if s.stale && view.subflows.iter().any(|other| !other.stale) {
        return None;
    }
    let mss = u64::from(s.mss);
    let start = assign.range.start.max(view.first_unacked());
    let limits = [(view.queue.written_end(), ClippedBy::Data), (view.send_window_end, ClippedBy::SendWindow)];
    let (mut end, mut by) = (assign.range.end, None);
    for (limit, limited_by) in limits {
        if end > limit {
            (end, by) = (limit, Some(limited_by));
        }
    }
    if start >= end || s.queue.space == 0 {
        return None;
    }
    if view.queue.first_not_carried_by(s.id, start).is_none_or(|range| range.start >= end) {
        return None;
    }
    if assign.window == WindowUse::Respect {
        let window = u64::from(s.window_space()) * mss;
        let buffer = s.queue.space.next_multiple_of(mss);
        let room = window.min(buffer);
        if room == 0 {
            return None;
        }
        if end.since(start) > room {
            let limit = if room == window { ClippedBy::CongestionWindow } else { ClippedBy::SendBuffer };
            (end, by) = (start + room, Some(limit));
        }
    }
    assign.range = start..end;
    Some((assign, by))
}

fn default(view: &View<'_>) -> Decision {
    let best = view.candidates().filter(|s| s.has_space()).min_by_key(|s| s.rtt.smoothed_or_zero());
    match best.and_then(|s| Some((s.id, view.next_for(s, 1)?))) {
        Some((subflow, range)) => {
            Decision::Assign(Assign { subflow, range, window: WindowUse::Respect, reason: Reason::new(DEFAULT) })
        }
        None => Decision::no_space(),
    }
}
