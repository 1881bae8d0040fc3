//! Carrying out a scheduler's decision: a range of the stream becomes segments on a subflow.

use super::Sender;
use crate::paths::table::SubflowTable;
use crate::tcp::Tcp;
use core::fmt;
use core::ops::Range;
use pathweave_scheduler::{Assign, ClippedBy, DataSeq, SubflowId, SubflowView, WindowUse};
use std::collections::VecDeque;

/// The rule that holds a short segment back although the scheduler gave it to a subflow with room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// Nagle's rule: an earlier short segment is not acknowledged (setting `nagle`).
    Nagle,
    /// The application has said that more follows.
    Cork,
    /// Avoidance of silly windows (RFC 9293 §3.8.6.2.1): the peer's window would cut the segment short.
    SillyWindow,
}

impl HeldBy {
    /// The limit reported to a scheduler whose assignment ends before a segment that is held back.
    fn clips(self) -> ClippedBy {
        match self {
            HeldBy::SillyWindow => ClippedBy::SendWindow,
            HeldBy::Nagle | HeldBy::Cork => ClippedBy::Data,
        }
    }
}

/// Why a scheduler's decision could not be carried out. The default scheduler decided instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The subflow does not exist, cannot carry data yet, or shows no sign of life while another one does.
    UnknownSubflow(SubflowId),
    /// The range has nothing that can be sent.
    EmptyRange,
    /// The subflow carries all of the range already.
    AlreadyCarried,
    /// The subflow has no room for a segment.
    NoSpace(ClippedBy),
    /// The segment is short and held back, which is no mistake of the scheduler.
    HeldBack(HeldBy),
    /// A wait without a time while no data is in flight: nothing would end it.
    EndlessWait,
    /// A wait until a time that has passed.
    WaitIsOver,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::UnknownSubflow(id) => write!(f, "subflow {} cannot carry data", id.0),
            ScheduleError::EmptyRange => f.write_str("the range has nothing that can be sent"),
            ScheduleError::AlreadyCarried => f.write_str("the subflow carries the range already"),
            ScheduleError::NoSpace(by) => write!(f, "no room for a segment: {by:?}"),
            ScheduleError::HeldBack(by) => write!(f, "a short segment is held back: {by:?}"),
            ScheduleError::WaitIsOver => f.write_str("a wait until a time that has passed"),
            ScheduleError::EndlessWait => f.write_str("a wait without a time while no data is in flight"),
        }
    }
}

impl core::error::Error for ScheduleError {}

/// Conditions from the settings, the application and the host under which data is given to a subflow.
pub(crate) struct Terms<'a> {
    /// Largest size of the send buffer, bytes.
    pub(crate) send_buffer: u64,
    /// Whether Nagle's rule applies.
    pub(crate) nagle: bool,
    /// Whether the stream's short tail waits because the application has announced more data.
    pub(crate) holds: bool,
    /// Whether the application has ended the stream, so that nothing follows its last bytes.
    pub(crate) ends: bool,
    /// Ends of the fragments in which the host keeps the stream, if it does so.
    pub(crate) fragment_ends: Option<&'a VecDeque<DataSeq>>,
}

/// The part of an assignment that its subflow can take now.
struct Clipped {
    range: Range<DataSeq>,
    /// The limit that shortened the assignment, if one did.
    by: Option<ClippedBy>,
}

impl Sender {
    /// Cuts a range into segments, queues them on a subflow and updates the subflow's view.
    pub(crate) fn carry_out(
        &mut self,
        assign: &Assign,
        views: &mut [SubflowView],
        subflows: &mut SubflowTable,
        terms: &Terms<'_>,
    ) -> Result<(Range<DataSeq>, Option<ClippedBy>), ScheduleError> {
        let id = assign.subflow;
        let unknown = ScheduleError::UnknownSubflow(id);
        let view = views.iter_mut().find(|v| v.id == id).ok_or(unknown)?;
        let subflow = subflows.get_mut(id).ok_or(unknown)?;
        let Clipped { range, by } = self.clip(assign, view, &subflow.tcp, terms)?;
        let start = range.start;
        let (end, held) = self.cut(range, assign.window, view, &mut subflow.tcp, terms);
        let clipped_by = match held {
            Some(by) if end == start => return Err(ScheduleError::HeldBack(by)),
            Some(by) => Some(by.clips()),
            None => by,
        };
        if assign.window == WindowUse::Queue {
            subflow.tcp.end_grant();
        }
        view.queue.memory = subflow.tcp.queued_memory();
        view.queue.space = subflow.tcp.send_buffer(terms.send_buffer).saturating_sub(subflow.tcp.queued_memory());
        self.map.assign(start..end, id);
        Ok((start..end, clipped_by))
    }

    /// Clips an assignment to the stream, the peer's window, and the room of its subflow.
    fn clip(
        &self,
        assign: &Assign,
        view: &SubflowView,
        tcp: &Tcp,
        terms: &Terms<'_>,
    ) -> Result<Clipped, ScheduleError> {
        let id = assign.subflow;
        let mss = u64::from(view.mss.max(1));
        let mut by = None;
        let start = assign.range.start.max(self.map.first_unacked());
        let mut end = assign.range.end;
        if end > self.map.written_end() {
            (end, by) = (self.map.written_end(), Some(ClippedBy::Data));
        }
        if end > self.peer.end {
            (end, by) = (self.peer.end, Some(ClippedBy::SendWindow));
        }
        if start >= end {
            return Err(ScheduleError::EmptyRange);
        }
        if self.map.owners(start..end).contains(id)
            && self.map.first_not_carried_by(id, start).is_none_or(|r| r.start >= end)
        {
            return Err(ScheduleError::AlreadyCarried);
        }
        let segments = match assign.window {
            WindowUse::Respect => u64::from(view.window_space()),
            WindowUse::Queue => u64::MAX / mss,
        };
        if segments == 0 {
            return Err(ScheduleError::NoSpace(ClippedBy::CongestionWindow));
        }
        if view.queue.space == 0 {
            return Err(ScheduleError::NoSpace(ClippedBy::SendBuffer));
        }
        let room = match assign.window {
            WindowUse::Respect => (segments * mss).min(view.queue.space.next_multiple_of(mss)),
            // Queued data waits on its subflow anyway, so all of the range is taken if there is any room.
            WindowUse::Queue => segments * mss,
        };
        if end.since(start) > room {
            let window = room == segments * mss;
            end = start + room;
            by = Some(if window { ClippedBy::CongestionWindow } else { ClippedBy::SendBuffer });
        }
        if let (WindowUse::Queue, Some(ends)) = (assign.window, terms.fragment_ends) {
            // A host that keeps the stream in fragments checks its memory after each of them.
            let limit = tcp.send_buffer(terms.send_buffer);
            let full = |border: &&DataSeq| tcp.memory_with(start, border.since(start)) >= limit;
            let mut borders = ends.iter().skip_while(|e| **e <= start).take_while(|e| **e < end);
            if let Some(border) = borders.find(full) {
                (end, by) = (*border, Some(ClippedBy::SendBuffer));
            }
        }
        Ok(Clipped { range: start..end, by })
    }

    /// Cuts a range into segments and queues them, up to the first that is held back. Returns the end of the queued
    /// data, and the rule that holds the rest back.
    fn cut(
        &mut self,
        range: Range<DataSeq>,
        window: WindowUse,
        view: &mut SubflowView,
        tcp: &mut Tcp,
        terms: &Terms<'_>,
    ) -> (DataSeq, Option<HeldBy>) {
        let (start, end) = (range.start, range.end);
        let mss = u64::from(view.mss.max(1));
        let mut at = start;
        while at < end {
            // Data that continues the subflow's queue fills its last segment first.
            let room = u64::from(tcp.room_in_last(at));
            //= RFC 9293 §3.9.1.2 (SHLD-28): "a TCP implementation SHOULD send a maximum-sized segment whenever possible"
            //= tests: path_mtu::each_path_is_filled_to_its_own_mtu
            let full = if room > 0 { room } else { mss };
            let record_end = if self.records.is_empty() { None } else { self.records.end_of(at) };
            let piece = at..end.min(at + full).min(record_end.unwrap_or(end));
            let ends_record = record_end == Some(piece.end);
            let len = piece.end.since(piece.start);
            if len < full
                && let Some(by) = self.held_by(&piece, at > start, window, tcp, terms)
            {
                return (at, Some(by));
            }
            //= RFC 9293 §3.9.1.2 (SHLD-27): "The transmitter SHOULD collapse successive bits when it packetizes data, to send the
            //= largest possible segment"
            //= tests: zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out, chunks::the_form_of_a_stream_changes_no_segment
            let payload = self.buffer.get(piece.clone());
            tcp.queue_segment(piece.start, payload, ends_record, &mut self.buffer);
            view.queue.unsent += u32::from(room == 0);
            view.queue.bytes += len;
            at = piece.end;
        }
        (at, None)
    }

    /// The rule that holds a short segment back, if one does. `follows`: the piece follows a segment of the same
    /// assignment.
    fn held_by(
        &self,
        piece: &Range<DataSeq>,
        follows: bool,
        window: WindowUse,
        tcp: &Tcp,
        terms: &Terms<'_>,
    ) -> Option<HeldBy> {
        // Only data that no subflow carries yet may wait; data that is sent again unblocks the stream.
        if self.map.span_at(piece.start).is_some() {
            return None;
        }
        // Silly window avoidance (RFC 9293 §3.8.6.2.1): a window's last bytes wait for more window, unless they
        // follow a full segment of the same burst and Nagle's rule lets them leave. Data queued beyond the
        // congestion window fills the send window to the byte; Nagle's rule acts on the subflow.
        //= RFC 9293 §3.8.6.2.1 (MUST-38): "A TCP implementation MUST include a SWS avoidance algorithm in the sender"
        //= tests: zero_window::a_byte_at_a_time_reader_makes_no_silly_segments
        let respects = window == WindowUse::Respect;
        let window_edge = piece.end == self.peer.end && piece.end < self.map.written_end();
        let worth = 2 * piece.end.since(piece.start) >= self.peer.largest || self.peer.overridden;
        let holds = if follows { tcp.small_outstanding() } else { self.map.assigned_bytes() > 0 || !worth };
        if respects && window_edge && holds {
            return Some(HeldBy::SillyWindow);
        }
        // Nagle's rule (RFC 9293 §3.7.4): the stream's last bytes wait for more data, or for the acknowledgement of
        // data in flight. Queued data waits on its subflow.
        let stream_edge = piece.end == self.map.written_end() && !terms.ends;
        if terms.holds && stream_edge && !self.peer.overridden {
            return Some(HeldBy::Cork);
        }
        //= RFC 9293 §3.9.1.2 (MAY-16): "the TCP implementation MAY aggregate the data internally without sending it"
        //= tests: zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out
        (respects && stream_edge && terms.nagle && tcp.small_outstanding()).then_some(HeldBy::Nagle)
    }
}
