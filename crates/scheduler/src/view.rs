//! The view that a scheduler gets, and its events.

use crate::decision::ClippedBy;
use crate::send_map::SendMap;
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use crate::subflow_state::{Delivery, PathTerms, QueueState, RoundTrip, WindowState};
use alloc::collections::VecDeque;
use core::ops::Range;
use pathweave_units::{Duration, Instant};

/// One subflow as a scheduler sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubflowView {
    /// Name of the subflow.
    pub id: SubflowId,
    /// Whether the subflow should carry data only while no other subflow can (RFC 8684 §3.3.8).
    pub backup: bool,
    /// Whether the subflow shows no sign of life. It should get no new data while another subflow is alive.
    pub stale: bool,
    /// Data bytes of a full segment.
    pub mss: u32,
    /// Settings of the subflow's path.
    pub path: PathTerms,
    /// Measured round-trip times.
    pub rtt: RoundTrip,
    /// The congestion window and the segments in it.
    pub window: WindowState,
    /// Data that was assigned to the subflow and is not acknowledged.
    pub queue: QueueState,
    /// Losses and rates.
    pub delivery: Delivery,
}

impl SubflowView {
    /// Segments for which the congestion window has room, beside those in flight and those assigned but not yet sent.
    #[inline]
    pub fn window_space(&self) -> u32 {
        self.window.cwnd.saturating_sub(self.window.in_flight.saturating_add(self.queue.unsent))
    }

    /// Whether congestion window and send buffer have room for another segment.
    #[inline]
    pub fn has_space(&self) -> bool {
        self.window_space() > 0 && self.queue.space > 0
    }
}

/// A connection as a scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The current time.
    pub now: Instant,
    /// All subflows that can carry data, ordered by name. Dead ones and those in handshake are left out. In QUIC, the
    /// validated paths.
    pub subflows: &'a [SubflowView],
    /// Which subflow carries which data, from the first unacknowledged byte on.
    pub queue: &'a SendMap,
    /// End of the send window: the first byte that may not be sent. In Multipath TCP, the peer's DATA_ACK plus its
    /// window; in QUIC, the peer's limit for the stream (MAX_STREAM_DATA, RFC 9000 §4.1).
    pub send_window_end: DataSeq,
    /// Size of the send window that the peer offers, from the first unacknowledged byte on, bytes (BLEST's |M|).
    pub send_window: u64,
    /// Room in the connection's send buffer for more data from the application, bytes.
    pub send_buffer_free: u64,
    /// Size of the connection's send buffer, bytes.
    pub send_buffer: u64,
    /// End of the message or chunk that the first unassigned byte belongs to, if the application marks such ends.
    pub message_end: Option<DataSeq>,
    /// Ends of the unacknowledged fragments of a kernel's send buffer, in order. Only rules that model a kernel's
    /// scheduler read them; `None` for a sender without such fragments.
    pub fragment_ends: Option<&'a VecDeque<DataSeq>>,
}

impl View<'_> {
    /// End of the first fragment of a kernel's send buffer that ends at or after `at`.
    pub fn fragment_end(&self, at: DataSeq) -> Option<DataSeq> {
        let ends = self.fragment_ends?;
        ends.get(ends.partition_point(|e| *e < at)).copied()
    }

    /// The subflow called `id`.
    #[inline]
    pub fn subflow(&self, id: SubflowId) -> Option<&SubflowView> {
        self.subflows.iter().find(|s| s.id == id)
    }

    /// The subflows that a scheduler should choose from: the living ones that are not backups. If all living subflows
    /// are backups, these; if no subflow lives, all.
    pub fn candidates(&self) -> impl Iterator<Item = &SubflowView> + Clone {
        //= RFC 8684 §3.3.8: "a subflow where the receiver has indicated that B=1 SHOULD NOT be used to send data unless there are
        //= no usable subflows where B=0"
        //= tests: mp_prio::a_subflow_becomes_a_backup_and_is_used_again, mp_prio::a_backup_takes_over_where_no_other_subflow_lives
        //= RFC 8684 §3.3.8: "the backup flag is a request from a data receiver to a data sender only, and the data sender SHOULD
        //= adhere to these requests"
        //= tests: mp_prio::a_subflow_becomes_a_backup_and_is_used_again
        let some = |backup_too: bool, stale_too: bool| {
            self.subflows.iter().any(|s| (backup_too || !s.backup) && (stale_too || !s.stale))
        };
        let (backup_too, stale_too) = if some(false, false) {
            (false, false)
        } else if some(true, false) {
            (true, false)
        } else {
            (true, true)
        };
        self.subflows.iter().filter(move |s| (backup_too || !s.backup) && (stale_too || !s.stale))
    }

    /// First byte that is not acknowledged at the data level.
    #[inline]
    pub fn first_unacked(&self) -> DataSeq {
        self.queue.first_unacked()
    }

    /// Room between the end of the assigned data and the end of the send window, bytes.
    #[inline]
    pub fn send_window_free(&self) -> u64 {
        self.send_window_end.since(self.queue.assigned_end())
    }

    /// The first unassigned range inside the send window.
    #[inline]
    pub fn sendable(&self) -> Option<Range<DataSeq>> {
        self.queue.sendable(self.send_window_end)
    }

    /// At most `segments` full segments for subflow `s`, from the first unassigned byte inside the send window.
    #[inline]
    pub fn next_for(&self, s: &SubflowView, segments: u32) -> Option<Range<DataSeq>> {
        let range = self.sendable()?;
        let end = range.end.min(range.start + u64::from(s.mss) * u64::from(segments));
        Some(range.start..end)
    }

    /// The part of `range` that lies inside the send window and can leave on `s` now. While data is in flight, a last
    /// segment that the window cuts short is left out, because it waits for more window (RFC 9293 §3.8.6.2.1).
    ///
    /// A scheduler that chooses between several ranges needs this to pass over a range that would have to wait.
    pub fn inside_window(&self, s: &SubflowView, range: Range<DataSeq>) -> Option<Range<DataSeq>> {
        let mut end = range.end.min(self.queue.written_end());
        if end >= self.send_window_end {
            end = self.send_window_end;
            if end < self.queue.written_end() && self.bytes_in_flight() > 0 {
                end = end - end.since(range.start) % u64::from(s.mss.max(1));
            }
        }
        (range.start < end).then_some(range.start..end)
    }

    /// Bytes that are assigned and not acknowledged at the data level.
    #[inline]
    pub fn bytes_in_flight(&self) -> u64 {
        self.queue.assigned_bytes()
    }

    /// The limit that holds data back although a subflow has room. `writer_waits`: whether the application has more
    /// data than the send buffer takes.
    pub fn blocked(&self, writer_waits: bool) -> Option<Blocked> {
        let by = match self.queue.unassigned_bytes() {
            0 if writer_waits && self.bytes_in_flight() > 0 => BlockedBy::SendBuffer,
            1.. if self.sendable().is_none() => BlockedBy::SendWindow,
            _ => return None,
        };
        let free = self.subflows.iter().filter(|s| s.has_space());
        let with_space = free.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
        let head = self.first_unacked();
        let holders = self.queue.span_at(head).map_or(SubflowSet::EMPTY, |(_, owners)| owners);
        (!with_space.is_empty()).then_some(Blocked { by, head, holders, with_space })
    }

    /// Available buffer (CP): the smaller of free receive window and free send buffer, bytes.
    pub fn available_buffer(&self) -> u64 {
        self.send_window_free().min(self.send_buffer_free + self.queue.unassigned_bytes())
    }
}

/// Data waits although a subflow has room: the limit that holds it back, and the state in which it does.
///
/// After each change, compare [`View::blocked`] with the value before. If they differ, the scheduler needs
/// [`Blocked::event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    by: BlockedBy,
    /// The first unacknowledged byte, and the subflows that carry it.
    head: DataSeq,
    holders: SubflowSet,
    with_space: SubflowSet,
}

impl Blocked {
    /// The event that tells a scheduler the present state; `None`: nothing is blocked any more.
    pub fn event(blocked: Option<Blocked>) -> Event<'static> {
        match blocked {
            Some(Blocked { by, holders, .. }) => Event::WindowBlocked { by, holders },
            None => Event::WindowUnblocked,
        }
    }
}

/// An event on the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A subflow's cumulative acknowledgement advanced. In QUIC, packets of a path were acknowledged.
    Acked {
        /// The subflow.
        subflow: SubflowId,
        /// Ranges of the stream that were newly acknowledged on the subflow, in the order in which it carried them.
        mappings: &'a [Range<DataSeq>],
        /// The data acknowledgement that came with the subflow's. It is lower than [`View::first_unacked`] if a later
        /// one overtook it on another subflow.
        data_ack: DataSeq,
        /// Whether the acknowledgement carried a SACK block.
        has_sack: bool,
    },
    /// A subflow found a segment lost.
    Lost {
        /// The subflow.
        subflow: SubflowId,
        /// How the loss was found.
        kind: LossKind,
    },
    /// A subflow measured a round trip.
    RttSample {
        /// The subflow.
        subflow: SubflowId,
        /// The measured round-trip time.
        rtt: Duration,
    },
    /// Data is waiting and some subflow has window space, but the connection's send window or its send buffer is full.
    /// The event comes when that begins, and again when the first unacknowledged byte, the subflows that carry it, or
    /// the subflows with space change. The event always precedes an opportunistic retransmission of that byte on
    /// another subflow.
    WindowBlocked {
        /// The buffer or window that is full.
        by: BlockedBy,
        /// The subflows that carry the first unacknowledged byte.
        holders: SubflowSet,
    },
    /// The state that [`Event::WindowBlocked`] reported is over: there is room, or no data waits for room.
    WindowUnblocked,
    /// A subflow can carry data, for the first time or again.
    SubflowUp(SubflowId),
    /// A subflow can no longer carry data. Its name may be given to another subflow later.
    SubflowDown(SubflowId),
    /// The application wrote data.
    DataWritten(Range<DataSeq>),
    /// An assignment was carried out.
    Assigned {
        /// The subflow.
        subflow: SubflowId,
        /// The range that was assigned after clipping.
        range: Range<DataSeq>,
        /// The limit that made the range smaller than the decision's, if it is smaller.
        clipped_by: Option<ClippedBy>,
    },
}

/// The limit of the connection that holds data back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedBy {
    /// The peer's receive window: written data does not fit.
    SendWindow,
    /// The connection's own send buffer: the application has more data, and unacknowledged data leaves no room.
    SendBuffer,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// By acknowledgements: the start of fast recovery.
    FastRecovery,
    /// By the retransmission timer.
    Timeout,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, seg, sub};

    #[test]
    fn a_full_window_blocks_while_a_subflow_has_room() {
        let mut bench = Bench::new([sub(0).cwnd(10).in_flight(4), sub(1)]).write(8).send_window(4);
        assert_eq!(bench.view().blocked(false), None, "nothing is assigned");
        bench.map.assign(seg(0)..seg(4), SubflowId(0));
        let blocked = bench.view().blocked(false);
        let (by, holders) = (BlockedBy::SendWindow, SubflowSet::only(SubflowId(0)));
        assert_eq!(Blocked::event(blocked), Event::WindowBlocked { by, holders });
        bench.sub(1).window.cwnd = 0;
        assert_ne!(bench.view().blocked(false), blocked, "other subflows have room");
        bench.sub(0).window.cwnd = 4;
        assert_eq!(bench.view().blocked(false), None, "no subflow has room");
    }

    #[test]
    fn a_full_send_buffer_blocks_if_the_application_has_more() {
        let mut bench = Bench::new([sub(0).cwnd(10).in_flight(4)]).write(4);
        bench.map.assign(seg(0)..seg(4), SubflowId(0));
        assert_eq!(bench.view().blocked(false), None);
        let (by, holders) = (BlockedBy::SendBuffer, SubflowSet::only(SubflowId(0)));
        assert_eq!(Blocked::event(bench.view().blocked(true)), Event::WindowBlocked { by, holders });
        assert_eq!(Blocked::event(None), Event::WindowUnblocked);
    }
}
