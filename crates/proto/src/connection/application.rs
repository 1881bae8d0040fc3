//! What the application does: write and read.

use super::close::DataFin;
use super::{Connection, ReadError, WriteError};
use crate::scheduler::Event;
use crate::seq::SubflowId;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Payload;

impl Connection {
    /// Appends data to the stream; takes as much as the send buffer has room for and returns the number of bytes taken.
    ///
    /// The first write decides whether the stream is virtual or has bytes. A virtual payload starts where the stream ends.
    ///
    /// # Errors
    /// When there is no room for a single byte, and when nothing can be written any more.
    ///
    /// # Panics
    /// When virtual data is written behind bytes or bytes behind virtual data, and when a virtual payload is another part of the
    /// stream.
    pub fn write(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.append(now, payload, false)
    }

    /// Why nothing can be written any more.
    fn check_writing(&self) -> Result<(), WriteError> {
        match (self.life.error, self.life.data_fin) {
            (Some(error), _) => Err(WriteError::Failed(error)),
            (None, DataFin::NotRequested) => Ok(()),
            (None, _) => Err(WriteError::Closed),
        }
    }

    fn append(&mut self, now: Instant, payload: Payload, ends_message: bool) -> Result<u64, WriteError> {
        self.check_writing()?;
        let take = self.writable().min(u64::from(payload.len()));
        self.sender.writer_waits = take < u64::from(payload.len()) || self.writable() == take;
        if take == 0 {
            return if payload.is_empty() { Ok(0) } else { Err(WriteError::Blocked) };
        }
        if self.host.push_due().is_some() {
            // The writer comes after the packets of this instant.
            self.schedule(now);
        }
        let start = self.sender.map.written_end();
        self.sender.buffer.append(start, payload.slice(0, take as u32));
        self.host.append(start, take, self.sender.map.unassigned_bytes() > 0);
        self.sender.map.append(take);
        if ends_message && take == u64::from(payload.len()) {
            self.sender.messages.append(start + take);
        }
        self.tell(now, |_| Event::DataWritten(start..start + take));
        self.schedule(now);
        self.host.writer_found_no_more();
        Ok(take)
    }

    /// Reads at most `max` bytes in order: as much as is in one piece.
    ///
    /// # Errors
    /// When there is nothing to read yet, or never again. A `max` of 0 reads nothing.
    pub fn read(&mut self, now: Instant, max: u64) -> Result<Payload, ReadError> {
        let Some(out) = self.receiver.read(max) else { return Err(self.nothing_read()) };
        let mptcp = self.is_mptcp();
        let longest = self.subflows.established().filter_map(|s| s.tcp.receiver_rtt()).max();
        let distrusts = self.receiver.window.distrusts_new_subflows();
        let fresh = distrusts && mptcp && self.subflows.established().any(|s| !s.tcp.saw_full_segment());
        let mut tuned = false;
        if let Some(clamp) = self.receiver.window.tune(now, self.receiver.read_position(), longest, fresh) {
            for subflow in self.subflows.iter_mut() {
                // Its first full segment takes the clamp away.
                subflow.window.clamp = if fresh && subflow.tcp.saw_full_segment() { clamp } else { u64::MAX };
            }
            tuned = true;
        }
        let occupied = self.occupied(0);
        let at = self.receiver.window.reading_takes().map(|time| now + time);
        let worth_telling = tuned || self.receiver.is_worth_telling(occupied, mptcp);
        for subflow in self.subflows.established_mut() {
            // A host whose readers take time looks at each subflow with its buffer, which holds only what waits for a hole of
            // its own.
            let empty = occupied == 0 || (tuned && at.is_some() && subflow.tcp.held_bytes() == 0);
            subflow.tcp.after_read(at, empty);
            if worth_telling && self.receiver.window_doubles(&subflow.tcp, &subflow.window, occupied) {
                subflow.tcp.ack_by(at);
            }
        }
        // Subflows tell of it in their order.
        self.next_output = SubflowId(0);
        Ok(out)
    }

    /// Why nothing was read.
    fn nothing_read(&self) -> ReadError {
        match self.life.error {
            _ if self.receiver.drained() => ReadError::Finished,
            Some(error) if self.receiver.ready_bytes() == 0 => ReadError::Failed(error),
            _ => ReadError::Blocked,
        }
    }

    /// See [`Receiver::occupied`].
    pub(super) fn occupied(&self, held: u64) -> u64 {
        self.receiver.occupied(held, self.is_mptcp())
    }

    /// Whether some subflow is to send an acknowledgement, at once or when a reader would have read.
    pub(crate) fn acknowledges_reading(&self, now: Instant) -> bool {
        let read = now + self.receiver.window.reading_takes().unwrap_or(Duration::ZERO);
        self.subflows.iter().any(|s| s.tcp.acknowledges_by(read))
    }

    /// As [`Connection::write`]; where all of `payload` is taken, a message of the application ends with it. Schedulers that
    /// care for messages see their ends ([`View::message_end`](crate::scheduler::View::message_end)), the peer does not.
    ///
    /// # Errors
    /// As [`Connection::write`].
    ///
    /// # Panics
    /// As [`Connection::write`].
    pub fn write_message(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.append(now, payload, true)
    }
}
