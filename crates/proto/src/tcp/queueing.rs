//! Data, schedulers' grants and the FIN: how they are queued on a subflow, and taken back.

use super::{Tcp, TcpState};
use crate::send_buffer::SendBuffer;
use crate::send_queue::SentSegment;
use core::ops::Range;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Payload;

impl Tcp {
    /// Bytes that are queued and were not sent yet.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.send.queued_end.saturating_sub(self.send.nxt.max(1))
    }

    /// Bytes that still fit into the last segment, if data from `at` on continues it and nothing of its buffer was
    /// sent.
    pub(crate) fn room_in_last(&self, at: DataSeq) -> u32 {
        match (self.queue.open_buffer(), self.queue.last_queued()) {
            (Some(_), Some(last)) if !last.fin && !last.ends_record && last.data().end == at => {
                self.agreed.mss.saturating_sub(last.len)
            }
            _ => 0,
        }
    }

    /// [`Tcp::queued_memory`] as it would be after queuing `bytes` more from `at` on.
    pub(crate) fn memory_with(&self, at: DataSeq, bytes: u64) -> u64 {
        let goes_on = self.queue.last_queued().is_some_and(|l| l.data().end == at);
        self.host.memory_with(&self.queue, goes_on, bytes, self.agreed.mss, self.peer_window.largest)
    }

    /// Memory that `bytes` not queued here would take, if they are all that is left of a plain TCP stream.
    pub(crate) fn memory_of(&self, bytes: u64) -> u64 {
        self.host.memory_of(bytes, self.agreed.mss, self.peer_window.largest)
    }

    /// Bytes that a writer adds to `unassigned` bytes if `free` bytes of memory are left.
    pub(crate) fn fills(&self, unassigned: u64, free: u64) -> u64 {
        self.host.fills(unassigned, free, self.agreed.mss, self.peer_window.largest)
    }

    /// Queues `payload`, which starts at `dsn` and is no longer than a segment. It is added to the last segment if it
    /// fits ([`Tcp::room_in_last`]). `ends_record`: later data begins another segment.
    pub(crate) fn queue_segment(&mut self, dsn: DataSeq, payload: Payload, ends_record: bool, buffer: &mut SendBuffer) {
        debug_assert!(self.can_send(), "data is queued only if it can be sent");
        let len = payload.len();
        self.host.look_again();
        if len <= self.room_in_last(dsn)
            && self.queue.extend_last(&payload, ends_record, |last, more| buffer.append_to(last, more))
        {
            self.send.queued_end += u64::from(len);
            return;
        }
        let goes_on = self.queue.last_queued().is_some_and(|l| l.data().end == dsn);
        let starts_buffer = !goes_on
            || self
                .queue
                .open_buffer()
                .is_none_or(|n| n >= self.host.buffer_segments(self.agreed.mss, self.peer_window.largest));
        let segment = SentSegment {
            ssn: self.send.queued_end,
            len,
            fin: false,
            starts_buffer,
            pushed: false,
            ends_record,
            psh: false,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            dsn,
            last_sent: Instant::ZERO,
            transmission: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
        };
        self.queue.push(segment, payload);
        self.send.queued_end += u64::from(len);
    }

    /// Marks the end of a scheduler's grant, which may be beyond the congestion window.
    pub(crate) fn end_grant(&mut self) {
        self.send.queues = true;
        self.queue.end_grant();
    }

    /// Ends our direction after all queued data (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self, now: Instant) {
        match self.state {
            TcpState::SynSent => self.abort(),
            TcpState::SynReceived | TcpState::Established | TcpState::CloseWait if !self.send.fin_queued => {
                if !self.queue.end_with_last() {
                    self.queue_lone_fin(now);
                }
                self.send.queued_end += 1;
                self.send.fin_queued = true;
                match self.state {
                    TcpState::Established => self.state = TcpState::FinWait1,
                    TcpState::CloseWait => self.state = TcpState::LastAck,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Takes back a FIN that was queued and never sent. Returns whether there was one.
    pub(crate) fn take_back_fin(&mut self) -> bool {
        if !self.send.fin_queued || !self.queue.take_back_fin() {
            return false;
        }
        self.send.fin_queued = false;
        self.send.queued_end -= 1;
        self.state = match self.state {
            TcpState::FinWait1 => TcpState::Established,
            // The peer has ended its direction meanwhile.
            TcpState::LastAck | TcpState::Closing => TcpState::CloseWait,
            state => state,
        };
        true
    }

    fn queue_lone_fin(&mut self, now: Instant) {
        let fin = SentSegment {
            ssn: self.send.queued_end,
            len: 0,
            fin: true,
            starts_buffer: true,
            pushed: false,
            ends_record: false,
            psh: false,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            dsn: DataSeq(0),
            last_sent: now,
            transmission: 0,
            delivered: 0,
            delivered_at: now,
        };
        self.queue.push(fin, Payload::EMPTY);
    }

    /// Takes back every queued segment that was never sent; returns their data, newest first.
    pub(crate) fn take_unsent(&mut self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        core::iter::from_fn(|| {
            if self.queue.last_queued().is_some_and(|s| s.fin) {
                return None;
            }
            let s = self.queue.pop_unsent()?;
            self.send.queued_end = s.ssn;
            Some(s.data())
        })
    }

    /// The data of every unacknowledged segment, in subflow order.
    pub(crate) fn unacked_data(&self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        self.queue.iter().filter(|s| s.len > 0).map(SentSegment::data)
    }

    /// Data that is overdue, in subflow order: of unacknowledged segments that were sent at least a round trip ago, and
    /// of segments that cannot be sent because lost ones come first.
    pub(crate) fn overdue_data(&self, now: Instant) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        let round_trip = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let segments = if self.is_repairing() { u32::MAX } else { self.queue.packets_out() };
        let sent = self.queue.packets_out() as usize;
        let is_overdue = move |place: usize, s: &SentSegment| place >= sent || s.last_sent + round_trip <= now;
        let segments = self.queue.iter().enumerate().take(segments as usize);
        segments.filter(move |(place, s)| s.len > 0 && is_overdue(*place, s)).map(|(_, s)| s.data())
    }

    /// Whether everything up to `end` of the stream was queued here in order, so that the subflow's sequence is the
    /// stream's.
    pub(crate) fn is_whole_stream(&self, end: DataSeq) -> bool {
        let data_end = self.send.queued_end - u64::from(self.send.fin_queued);
        data_end == end.0 + 1 && self.queue.iter().filter(|s| s.len > 0).all(|s| s.dsn.0 + 1 == s.ssn)
    }
}
