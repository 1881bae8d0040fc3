//! The application's side: writing, reading, and how much may be written, as the host counts it.

use super::lifecycle::DataFin;
use super::{Connection, ConnectionEvent, ReadError, Shared, WriteError};
use crate::host::Written;
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use crate::send_buffer::SendBuffer;
use crate::tcp::TcpState;
use bytes::Bytes;
use core::ops::AddAssign;
use pathweave_scheduler::{DataSeq, Event, SubflowId};
use pathweave_units::{Duration, Instant};
use pathweave_wire::Payload;

/// Amount that one call has written or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes.
    pub bytes: u64,
    /// Chunks that these bytes fill. For a write: the chunks that were accepted whole.
    pub chunks: usize,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Amount) {
        self.bytes += more.bytes;
        self.chunks += more.chunks;
    }
}

/// Mark that the application sets at the end of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// End of a message.
    Message,
    /// End of a record, which shares no segment with later data.
    Record,
    /// More data follows at once.
    More,
}

impl Connection {
    /// Appends data to the stream, as much as the send buffer has room for. Returns the number of bytes accepted.
    ///
    /// The first write decides whether the stream is virtual or has bytes. A virtual payload must start where the
    /// stream ends.
    ///
    /// # Errors
    /// If the send buffer is full, or the stream can no longer be written to.
    ///
    /// # Panics
    /// If virtual data is written after bytes, or bytes after virtual data, or a virtual payload does not start at the
    /// end of the stream.
    pub fn write(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.write_payload(now, payload, End::Nothing)
    }

    fn write_payload(&mut self, now: Instant, payload: Payload, at_end: End) -> Result<u64, WriteError> {
        self.append(now, payload.len().into(), at_end, |buffer, start, taken| {
            buffer.append(start, payload.slice(0, taken as u32));
        })
    }

    /// Appends chunks of bytes to the stream in one write, as many as the send buffer has room for. Nothing is copied.
    /// Accepted bytes are removed from `chunks`: fully accepted chunks become empty, a partly accepted one keeps its
    /// rest.
    ///
    /// # Errors
    /// As for [`Connection::write`]; `chunks` is unchanged then.
    ///
    /// # Panics
    /// If the first write was virtual.
    pub fn write_chunks(&mut self, now: Instant, chunks: &mut [Bytes]) -> Result<Amount, WriteError> {
        let len = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let mut whole = 0;
        let bytes = self.append(now, len, End::Nothing, |buffer, mut at, taken| {
            let end = at + taken;
            for chunk in chunks {
                let part = chunk.split_to(chunk.len().min(end.since(at) as usize));
                whole += usize::from(chunk.is_empty());
                if !part.is_empty() {
                    let len = part.len() as u64;
                    buffer.append_bytes(at, part);
                    at = at + len;
                }
            }
        })?;
        Ok(Amount { bytes, chunks: whole })
    }

    /// Accepts as much of `len` bytes as there is room for. `put(buffer, start, n)` copies the first `n` bytes to
    /// `start`.
    fn append(
        &mut self,
        now: Instant,
        len: u64,
        at_end: End,
        put: impl FnOnce(&mut SendBuffer, DataSeq, u64),
    ) -> Result<u64, WriteError> {
        self.shared.check_writing()?;
        let take = self.shared.room(&self.subflows).min(len);
        self.shared.sender.writer_waits = take < len || self.shared.room(&self.subflows) == take;
        if take == 0 {
            return if len == 0 { Ok(0) } else { Err(WriteError::Blocked) };
        }
        if self.shared.host.push_due().is_some() {
            // The write comes after all packets of this instant.
            self.schedule(now);
        }
        let start = self.shared.sender.map.written_end();
        put(&mut self.shared.sender.buffer, start, take);
        self.shared.host.append(start, take, self.shared.sender.map.unassigned_bytes() > 0);
        self.shared.sender.map.append(take);
        self.shared.sender.busy.begin(now);
        match at_end {
            End::Message if take == len => self.shared.sender.messages.append(start + take),
            End::Record if take == len => self.shared.sender.records.append(start + take),
            _ => {}
        }
        self.shared.tell(now, &Event::DataWritten(start..start + take), &self.subflows);
        self.shared.scheduling.more_follows = at_end == End::More;
        self.schedule(now);
        self.shared.scheduling.more_follows = false;
        self.shared.host.writer_found_no_more();
        Ok(take)
    }

    /// Reads at most `max` bytes in order, as far as they are contiguous in memory.
    ///
    /// # Errors
    /// If there is no data yet, or will never be any. A `max` of 0 reads nothing.
    pub fn read(&mut self, now: Instant, max: u64) -> Result<Payload, ReadError> {
        let Some(out) = self.shared.receiver.read(max) else { return Err(self.shared.nothing_read()) };
        self.shared.after_reading(now, &mut self.subflows);
        Ok(out)
    }

    /// Reads bytes in order into `chunks`, one contiguous piece into each and at most `max` bytes in all, replacing
    /// what the chunks held. Nothing is copied: a chunk shares the memory of the packet that it came in. One call costs
    /// less than one [`Connection::read`] per piece, because the window is updated only once.
    ///
    /// # Errors
    /// As for [`Connection::read`], and [`ReadError::Virtual`] if the peer's stream has no bytes.
    pub fn read_chunks(&mut self, now: Instant, max: u64, chunks: &mut [Bytes]) -> Result<Amount, ReadError> {
        let mut read = Amount::default();
        for chunk in chunks {
            // Everything that was ready, or `max` bytes, are read.
            let Some(bytes) = self.shared.receiver.read_bytes(max - read.bytes) else { break };
            read += Amount { bytes: bytes.len() as u64, chunks: 1 };
            *chunk = bytes;
        }
        if read.bytes == 0 {
            return Err(if self.shared.receiver.reads_virtual() {
                ReadError::Virtual
            } else {
                self.shared.nothing_read()
            });
        }
        self.shared.after_reading(now, &mut self.subflows);
        Ok(read)
    }

    /// Whether some subflow is due to send an acknowledgement, at once or after the time that a reader takes.
    pub(crate) fn acknowledges_reading(&self, now: Instant) -> bool {
        let read = now + self.shared.receiver.window.reading_takes().unwrap_or(Duration::ZERO);
        self.subflows.iter().any(|s| s.tcp.acknowledges_by(read))
    }

    /// Writes like [`Connection::write`]. If all of `payload` is accepted, a message of the application ends with it.
    /// Schedulers can use the ends of messages ([`View::message_end`](pathweave_scheduler::View::message_end)); the peer
    /// does not see them.
    ///
    /// # Errors
    /// As for [`Connection::write`].
    ///
    /// # Panics
    /// As for [`Connection::write`].
    pub fn write_message(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.write_payload(now, payload, End::Message)
    }

    /// Writes like [`Connection::write`]. If all of `payload` is accepted, a record ends with it: no later byte shares
    /// a segment with it, even in a retransmission (Linux: `MSG_EOR`). The peer still sees one stream.
    ///
    /// # Errors
    /// As for [`Connection::write`].
    ///
    /// # Panics
    /// As for [`Connection::write`].
    pub fn write_record(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.write_payload(now, payload, End::Record)
    }

    /// Writes like [`Connection::write`], if more data follows at once. A short segment at the stream's end does not
    /// leave with this call (Linux: `MSG_MORE`), but with the next write, the next acknowledgement or after a
    /// retransmission timeout.
    ///
    /// # Errors
    /// As for [`Connection::write`].
    ///
    /// # Panics
    /// As for [`Connection::write`].
    pub fn write_more(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.write_payload(now, payload, End::More)
    }
}

impl Shared {
    /// Announces the room that reading has made, if it is large enough to be worth a segment.
    fn after_reading(&mut self, now: Instant, subflows: &mut SubflowTable) {
        let mptcp = self.is_mptcp();
        let longest = subflows.established().filter_map(|s| s.tcp.receiver_rtt()).max();
        let distrusts = self.receiver.window.distrusts_new_subflows();
        // A subflow that this host opens is one from its SYN on, one that the peer opens from the handshake's end on.
        let is_open = |s: &Subflow| s.tcp.is_established() || s.tcp.state() == TcpState::SynSent;
        let fresh = distrusts && mptcp && subflows.iter().any(|s| is_open(s) && !s.tcp.saw_full_segment());
        let mut tuned = false;
        if let Some(clamp) = self.receiver.window.tune(now, self.receiver.read_position(), longest, fresh) {
            for subflow in subflows.iter_mut() {
                // The subflow's first full segment removes the clamp.
                subflow.window.clamp = if fresh && subflow.tcp.saw_full_segment() { clamp } else { u64::MAX };
            }
            tuned = true;
        }
        let occupied = self.occupied(0);
        let takes = self.receiver.window.reading_takes();
        let at = if self.receiver.window.waits_for_rest() && self.receiver.ready_bytes() > 0 {
            // A reader that has not read everything continues in this instant.
            Some(now)
        } else {
            takes.map(|time| now + time)
        };
        let has_news = tuned || self.receiver.has_news(occupied, mptcp);
        for subflow in subflows.established_mut() {
            // A host whose readers take time looks at each subflow with its own buffer, which holds only data that
            // waits for a hole of that subflow.
            let empty = occupied == 0 || (tuned && takes.is_some() && subflow.tcp.held_bytes() == 0);
            subflow.tcp.after_read(at, empty);
            if has_news && self.receiver.tells(&subflow.tcp, &subflow.window, occupied) {
                subflow.tcp.ack_by(at);
            }
        }
        // The acknowledgements leave in the order of the subflows.
        self.next_output = SubflowId(0);
    }

    /// Returns an error if the stream can no longer be written to.
    fn check_writing(&self) -> Result<(), WriteError> {
        match (self.life.error(), self.life.data_fin) {
            (Some(error), _) => Err(WriteError::Failed(error)),
            (None, DataFin::NotRequested) => Ok(()),
            (None, _) => Err(WriteError::Closed),
        }
    }

    /// The reason why nothing was read.
    fn nothing_read(&self) -> ReadError {
        match self.life.error() {
            _ if self.receiver.drained() => ReadError::Finished,
            Some(error) if self.receiver.ready_bytes() == 0 => ReadError::Failed(error),
            _ => ReadError::Blocked,
        }
    }

    /// Bytes of the receive buffer in use; see [`StreamReceiver::occupied`].
    #[inline]
    pub(super) fn occupied(&self, held: u64) -> u64 {
        self.receiver.occupied(held, self.is_mptcp())
    }
}

/// Room in the send buffer for which the application is woken, bytes; with a small send buffer, a third of it.
const WORTH_WRITING: u64 = 64 << 10;

impl Connection {
    /// Bytes that [`Connection::write`] would accept now; 0 if it would fail.
    #[inline]
    pub fn writable(&self) -> u64 {
        self.shared.room(&self.subflows)
    }
}

impl Shared {
    /// Size of the send buffer in force: fixed, or as the host adapts it to the subflows' windows.
    #[inline]
    pub(super) fn send_buffer(&self, subflows: &SubflowTable) -> u64 {
        if self.host.counts_memory() { self.counted_send_buffer(subflows) } else { self.config.send_buffer }
    }

    #[inline(never)]
    fn counted_send_buffer(&self, subflows: &SubflowTable) -> u64 {
        let max = self.config.send_buffer;
        if self.sender.fixed_buffer {
            return max;
        }
        let established = subflows.iter().filter(|s| s.tcp.is_established());
        self.host.send_buffer(max, self.is_mptcp(), established.map(|s| s.tcp.share_of_send_buffer(max)).sum())
    }

    /// Part of the send buffer that written data takes until it is acknowledged, bytes.
    #[inline]
    fn send_memory(&self, subflows: &SubflowTable) -> u64 {
        if self.host.counts_memory() { self.counted_send_memory(subflows) } else { self.written().bytes() }
    }

    #[inline(never)]
    fn counted_send_memory(&self, subflows: &SubflowTable) -> u64 {
        self.host.send_memory(&self.written(), |unassigned| {
            let queued: u64 = subflows.iter().map(|s| s.tcp.queued_memory()).sum();
            queued + subflows.iter().map(|s| s.tcp.memory_of(unassigned)).max().unwrap_or(unassigned)
        })
    }

    /// Bytes that a write would accept now.
    #[inline]
    pub(super) fn room(&self, subflows: &SubflowTable) -> u64 {
        if self.life.data_fin != DataFin::NotRequested || self.life.error().is_some() {
            return 0;
        }
        let room = match self.host.counts_memory() {
            true => self.counted_writable(subflows),
            false => self.config.send_buffer.saturating_sub(self.written().bytes()),
        };
        match self.sender.unsent_limit {
            Some(limit) => room.min(limit.saturating_sub(self.unsent_bytes(subflows))),
            None => room,
        }
    }

    /// Bytes that were written and have not left yet.
    fn unsent_bytes(&self, subflows: &SubflowTable) -> u64 {
        self.sender.map.unassigned_bytes() + subflows.iter().map(|s| s.tcp.unsent_bytes()).sum::<u64>()
    }

    /// Whether less than half of the allowed unsent data is unsent. Only then is a writer woken (Linux:
    /// `tcp_stream_memory_free`).
    fn unsent_room_is_worth_writing(&self, subflows: &SubflowTable) -> bool {
        self.sender.unsent_limit.is_none_or(|limit| 2 * self.unsent_bytes(subflows) < limit)
    }

    #[inline(never)]
    fn counted_writable(&self, subflows: &SubflowTable) -> u64 {
        let (written, subflows) = (self.written(), subflows);
        let is_out = || subflows.iter().any(|s| s.tcp.queue().packets_out() > 0);
        let fills = |free| subflows.iter().map(|s| s.tcp.fills(written.unassigned, free)).max().unwrap_or(free);
        self.host.writable(&written, self.send_memory(subflows), self.send_buffer(subflows), is_out, fills)
    }

    /// Wakes a writer that found no room, if its host lets it look once more after all waiting data was sent.
    pub(super) fn look_again(&mut self, subflows: &SubflowTable) {
        if self.host.writer_looks_again() {
            self.wake_writer(subflows);
        }
    }

    /// Wakes a writer that found no room, if there is any now.
    pub(super) fn wake_writer(&mut self, subflows: &SubflowTable) {
        if self.sender.writer_waits && self.room(subflows) > 0 {
            self.sender.writer_waits = false;
            self.news.events.push_back(ConnectionEvent::Writable);
        }
    }

    /// Reports room in the send buffer to the application, if it is large enough.
    pub(super) fn report_writable(&mut self, subflows: &SubflowTable) {
        if !self.sender.writer_waits {
            return;
        }
        let (limit, writable) = (self.send_buffer(subflows), self.room(subflows));
        let worth = (limit / 3).min(WORTH_WRITING);
        let worth = self.sender.unsent_limit.map_or(worth, |unsent| worth.min(unsent / 2));
        let tells = || self.host.tells_writer(self.send_memory(subflows), limit, writable, worth);
        if writable > 0 && self.unsent_room_is_worth_writing(subflows) && tells() {
            self.sender.writer_waits = false;
            self.news.events.push_back(ConnectionEvent::Writable);
        }
    }

    pub(super) fn written(&self) -> Written {
        Written {
            una: self.sender.map.first_unacked(),
            end: self.sender.map.written_end(),
            unassigned: self.sender.map.unassigned_bytes(),
            mptcp: self.is_mptcp(),
        }
    }
}
