//! The library's memory of a stream: the bytes that were written, given to paths and acknowledged, the paths that are
//! up, and the program's last view of them.

use crate::accept::{self, LATEST, MOST_BYTES, NO_LIMIT, wrong};
use crate::pointers::Given;
use crate::status::{Fault, Status};
use crate::types::{MAX_PATHS, UNKNOWN, VIEW_WRITER_WAITS, View as ViewInC};
use core::ops::Range;
use pathweave_scheduler::{Blocked, DataSeq, SendMap, SubflowId, SubflowSet, SubflowView, View};
use pathweave_units::Instant;
use std::collections::BTreeMap;

/// The stream and the paths.
#[derive(Debug, Default)]
pub(crate) struct State {
    map: SendMap,
    up: SubflowSet,
    /// The paths of the last view, ordered by number.
    paths: Vec<SubflowView>,
    /// The next view, until it is accepted.
    next: Vec<SubflowView>,
    now: Instant,
    view: ViewInC,
    last_sent: [Option<Instant>; MAX_PATHS as usize],
    /// Acknowledged ranges after the first byte that is not acknowledged, by their starts, if the program leaves it to
    /// the library to join them.
    acknowledged: BTreeMap<DataSeq, DataSeq>,
}

impl State {
    /// The stream and the paths as a scheduler sees them.
    pub(crate) fn view(&self) -> View<'_> {
        let first = self.map.first_unacked();
        let or = |value: u64, default: u64| if value == 0 { default } else { value };
        let send_window_end = DataSeq(or(self.view.send_window_end, first.0 + NO_LIMIT));
        let send_buffer = or(self.view.send_buffer_bytes, NO_LIMIT);
        View {
            now: self.now,
            subflows: &self.paths,
            queue: &self.map,
            send_window_end,
            send_window: or(self.view.send_window_bytes, send_window_end.since(first)),
            send_buffer_free: send_buffer.saturating_sub(self.map.written_end().since(first)),
            send_buffer,
            message_end: (self.view.message_end > 0).then_some(DataSeq(self.view.message_end)),
            fragment_ends: None,
        }
    }

    pub(crate) fn map(&self) -> &SendMap {
        &self.map
    }

    /// The paths that are up.
    pub(crate) fn up(&self) -> SubflowSet {
        self.up
    }

    /// The path called `path`, which must be up.
    pub(crate) fn known(&self, path: u32) -> Result<SubflowId, Fault> {
        let id = accept::number(path)?;
        let unknown = || Fault::new(Status::UnknownPath, format!("path {path} is not up"));
        self.up.contains(id).then_some(id).ok_or_else(unknown)
    }

    /// Takes over a view, which must have exactly the paths `expected`. They are the paths that are up from now on. A
    /// wrong view changes nothing.
    pub(crate) fn see(&mut self, given: &Given<'_>, expected: SubflowSet) -> Result<(), Fault> {
        let view = given.view;
        check(&view, self.now)?;
        self.next.clear();
        let mut seen = SubflowSet::EMPTY;
        for path in given.paths() {
            let path = path?;
            let last_sent = self.last_sent.get(path.id as usize).copied().flatten();
            let subflow = accept::subflow(&path, last_sent)?;
            let id = subflow.id;
            if !expected.contains(id) {
                return Err(Fault::new(Status::UnknownPath, format!("the view has path {}, which is not up", id.0)));
            }
            if seen.contains(id) {
                return Err(Fault::new(Status::PathTwice, format!("the view has path {} twice", id.0)));
            }
            seen = seen.with(id);
            let place = self.next.partition_point(|other| other.id < id);
            self.next.insert(place, subflow);
        }
        if let Some(id) = expected.iter().find(|id| !seen.contains(*id)) {
            return Err(Fault::new(Status::PathMissing, format!("the view lacks path {}, which is up", id.0)));
        }
        core::mem::swap(&mut self.paths, &mut self.next);
        (self.now, self.view, self.up) = (Instant::from_nanos(view.now_ns), view, expected);
        Ok(())
    }

    /// Appends to the stream.
    pub(crate) fn write(&mut self, bytes: u64) -> Range<DataSeq> {
        let start = self.map.written_end();
        self.map.append(bytes);
        start..self.map.written_end()
    }

    /// Whether `bytes` more may be written.
    pub(crate) fn check_write(&self, bytes: u64) -> Result<(), Fault> {
        let room = MOST_BYTES - self.map.written_end().0;
        let most = || Fault::new(Status::Value, format!("{bytes} bytes written; allowed: up to {room} more"));
        (bytes <= room).then_some(()).ok_or_else(most)
    }

    /// Records that a path was given a range.
    pub(crate) fn give(&mut self, range: Range<DataSeq>, id: SubflowId) {
        self.last_sent[id.index()] = Some(self.now);
        self.map.assign(range, id);
    }

    /// Records acknowledged ranges, and the end of what is acknowledged without a gap; [`UNKNOWN`]: the ranges say it.
    /// Returns that end.
    pub(crate) fn acknowledge(&mut self, ranges: &[Range<DataSeq>], end: u64) -> DataSeq {
        if end != UNKNOWN {
            self.map.acknowledge(DataSeq(end));
            return DataSeq(end);
        }
        let mut first = self.map.first_unacked();
        for range in ranges.iter().filter(|range| range.end > first) {
            self.join(range.clone());
        }
        while let Some(entry) = self.acknowledged.first_entry().filter(|entry| *entry.key() <= first) {
            first = first.max(entry.remove());
        }
        self.map.acknowledge(first);
        first
    }

    /// Adds a range to the acknowledged ones, as one with those that it touches.
    fn join(&mut self, range: Range<DataSeq>) {
        let (mut start, mut end) = (range.start, range.end);
        while let Some((s, e)) = self.acknowledged.range(..=end).next_back().filter(|(_, e)| **e >= start) {
            let (s, e) = (*s, *e);
            (start, end) = (start.min(s), end.max(e));
            self.acknowledged.remove(&s);
        }
        self.acknowledged.insert(start, end);
    }

    /// Takes a range back from a path. Bytes that no other path carries, and that are not acknowledged, wait for a path
    /// again.
    pub(crate) fn withdraw(&mut self, range: Range<DataSeq>, id: SubflowId) {
        let mut at = range.start;
        for (start, end) in &self.acknowledged {
            if *start >= range.end {
                break;
            }
            if at < *start {
                self.map.withdraw(at..*start, id);
            }
            at = at.max(*end);
        }
        if at < range.end {
            self.map.withdraw(at..range.end, id);
        }
    }

    /// Takes back all that a path carries.
    pub(crate) fn withdraw_all(&mut self, id: SubflowId) {
        let carried: Vec<_> = self.map.spans_from(self.map.first_unacked()).filter(|(_, by)| by.contains(id)).collect();
        for (range, _) in carried {
            self.withdraw(range, id);
        }
        // Acknowledged bytes stay given, but the path's number may be another path's later.
        self.map.release(id);
        self.last_sent[id.index()] = None;
    }

    /// The limit that holds data back although a path has room, if one does.
    pub(crate) fn blocked(&self) -> Option<Blocked> {
        self.view().blocked(self.view.flags & VIEW_WRITER_WAITS != 0)
    }
}

/// Checks the numbers of a view, without its paths.
fn check(view: &ViewInC, last: Instant) -> Result<(), Fault> {
    if view.now_ns < last.as_nanos() {
        let text =
            format!("now_ns is {}; allowed: {} or later, the time of an earlier call", view.now_ns, last.as_nanos());
        return Err(Fault::new(Status::Time, text));
    }
    if view.flags & !VIEW_WRITER_WAITS != 0 {
        return Err(wrong("the view", "flags", view.flags, "0 or PATHWEAVE_VIEW_WRITER_WAITS"));
    }
    if view.reserved != 0 {
        return Err(wrong("the view", "reserved", view.reserved, 0));
    }
    let numbers = [
        ("now_ns", view.now_ns, LATEST),
        ("send_window_end", view.send_window_end, MOST_BYTES),
        ("send_window_bytes", view.send_window_bytes, MOST_BYTES),
        ("send_buffer_bytes", view.send_buffer_bytes, MOST_BYTES),
        ("message_end", view.message_end, MOST_BYTES),
    ];
    match numbers.into_iter().find(|(_, value, most)| value > most) {
        Some((field, value, most)) => Err(wrong("the view", field, value, format!("up to {most}"))),
        None => Ok(()),
    }
}

/// A range that ends at `most` or before.
pub(crate) fn range(range: &crate::types::Range, most: DataSeq, what: &str) -> Result<Range<DataSeq>, Fault> {
    let (start, end) = (DataSeq(range.start), DataSeq(range.end));
    if start < end && end <= most {
        return Ok(start..end);
    }
    let text = format!("the range from {start} to {end}; allowed: not empty, up to {most}, the end of the {what} data");
    Err(Fault::new(Status::Range, text))
}
