//! Carrying out a scheduler's decision: a range of the stream becomes segments on a subflow.

use super::Sender;
use crate::paths::table::SubflowTable;
use crate::scheduler::{Assign, ClippedBy, SubflowView, WindowUse};
use crate::seq::{DataSeq, SubflowId};
use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;

/// What keeps a short segment back although a scheduler has given it to a subflow with room.
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
    /// What a scheduler is told about an assignment that ends before such a segment.
    fn clips(self) -> ClippedBy {
        match self {
            HeldBy::SillyWindow => ClippedBy::SendWindow,
            HeldBy::Nagle | HeldBy::Cork => ClippedBy::Data,
        }
    }
}

/// Why a scheduler's decision could not be carried out. The default scheduler decided instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let mss = u64::from(view.mss.max(1));
        let mut clipped_by = None;
        let start = assign.range.start.max(self.map.first_unacked());
        let mut end = assign.range.end;
        if end > self.map.written_end() {
            end = self.map.written_end();
            clipped_by = Some(ClippedBy::Data);
        }
        if end > self.peer.end {
            end = self.peer.end;
            clipped_by = Some(ClippedBy::SendWindow);
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
            end = start + room;
            let by = if room == segments * mss { ClippedBy::CongestionWindow } else { ClippedBy::SendBuffer };
            clipped_by = Some(by);
        }
        if let (WindowUse::Queue, Some(ends)) = (assign.window, terms.fragment_ends) {
            // A host that keeps the stream in fragments checks its memory after each of them.
            let limit = subflow.tcp.send_buffer(terms.send_buffer);
            let full = |border: &&DataSeq| subflow.tcp.memory_with(start, border.since(start)) >= limit;
            let borders = ends.iter().skip_while(|e| **e <= start).take_while(|e| **e < end);
            if let Some(border) = borders.into_iter().find(full) {
                (end, clipped_by) = (*border, Some(ClippedBy::SendBuffer));
            }
        }
        let in_flight = self.map.assigned_bytes() > 0;
        let mut held = None;
        let mut at = start;
        while at < end {
            // Data that continues the subflow's queue fills its last segment first.
            let room = u64::from(subflow.tcp.room_in_last(at));
            //= RFC 9293 §3.9.1.2 (SHLD-28): "a TCP implementation SHOULD send a maximum-sized segment whenever possible"
            //= tests: path_mtu::each_path_is_filled_to_its_own_mtu
            let full = if room > 0 { room } else { mss };
            let record_end = if self.records.is_empty() { None } else { self.records.end_of(at) };
            let piece = at..end.min(at + full).min(record_end.unwrap_or(end));
            let ends_record = record_end == Some(piece.end);
            // Only data that no subflow carries yet may wait; data that is sent again unblocks the stream.
            let short = piece.end.since(piece.start) < full && self.map.span_at(at).is_none();
            // Silly window avoidance (RFC 9293 §3.8.6.2.1): a window's last bytes wait for more window, unless they
            // follow a full segment of the same burst and Nagle's rule lets them leave. Data queued beyond the
            // congestion window fills the send window to the byte; Nagle's rule acts on the subflow.
            //= RFC 9293 §3.8.6.2.1 (MUST-38): "A TCP implementation MUST include a SWS avoidance algorithm in the sender"
            //= tests: zero_window::a_byte_at_a_time_reader_makes_no_silly_segments
            let respects = assign.window == WindowUse::Respect;
            let window_edge = piece.end == self.peer.end && piece.end < self.map.written_end();
            let worth = 2 * piece.end.since(piece.start) >= self.peer.largest || self.peer.overridden;
            let holds = if at > start { subflow.tcp.small_outstanding() } else { in_flight || !worth };
            if respects && short && window_edge && holds {
                held = Some(HeldBy::SillyWindow);
                break;
            }
            // Nagle's rule (RFC 9293 §3.7.4): the stream's last bytes wait for more data, or for the acknowledgement of
            // data in flight. Queued data waits on its subflow.
            let stream_edge = piece.end == self.map.written_end() && !terms.ends;
            if terms.holds && short && stream_edge && !self.peer.overridden {
                held = Some(HeldBy::Cork);
                break;
            }
            //= RFC 9293 §3.9.1.2 (MAY-16): "the TCP implementation MAY aggregate the data internally without sending it"
            //= tests: zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out
            if respects && short && stream_edge && terms.nagle && subflow.tcp.small_outstanding() {
                held = Some(HeldBy::Nagle);
                break;
            }
            //= RFC 9293 §3.9.1.2 (SHLD-27): "The transmitter SHOULD collapse successive bits when it packetizes data, to send the
            //= largest possible segment"
            //= tests: zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out, chunks::the_form_of_a_stream_changes_no_segment
            let payload = self.buffer.get(piece.clone());
            subflow.tcp.queue_segment(piece.start, payload, ends_record, &mut self.buffer);
            view.queue.unsent += u32::from(room == 0);
            let len = piece.end.since(piece.start);
            view.queue.bytes += len;
            at = piece.end;
        }
        if let Some(by) = held {
            if at == start {
                return Err(ScheduleError::HeldBack(by));
            }
            clipped_by = Some(by.clips());
        }
        if assign.window == WindowUse::Queue {
            subflow.tcp.end_grant();
        }
        view.queue.memory = subflow.tcp.queued_memory();
        view.queue.space = subflow.tcp.send_buffer(terms.send_buffer).saturating_sub(subflow.tcp.queued_memory());
        self.map.assign(start..at, id);
        Ok((start..at, clipped_by))
    }
}
