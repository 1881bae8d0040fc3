//! How much the application may write: a fixed number of bytes, or what Linux' accounts of memory allow.
//!
//! With tuning (`docs/notes/linux-6.12-send-buffer-and-segments.md`): memory is data plus the overhead of its buffers. The
//! writer fills a buffer to its end once it has begun one, stops where memory has reached the limit, and goes on when
//! memory has come down to two thirds of the limit (`sk_stream_is_writeable`).

use super::{Connection, ConnectionEvent, DataFin};
use crate::host::linux::fragments::FULL;

/// What the kernel gives a Multipath TCP socket beside its subflows' send buffers.
const LEAST_SEND_BUFFER: u64 = 4096;
/// An application is woken for this much room, or for a third of a smaller send buffer, bytes.
const WORTH_WRITING: u64 = 64 << 10;

impl Connection {
    /// The send buffer in force: fixed, or as the kernel sizes it, for the subflows' windows.
    pub(super) fn send_buffer(&self) -> u64 {
        if !self.config.host.tunes_send_buffer() {
            return self.config.send_buffer;
        }
        let max = self.config.send_buffer;
        let subflows = self.subflows.established();
        let tuned: u64 = subflows.map(|s| s.tcp.send_buffer(max)).sum();
        if self.is_mptcp() { tuned + LEAST_SEND_BUFFER } else { tuned }
    }

    /// What written data takes of the send buffer until it is acknowledged.
    fn send_memory(&self) -> u64 {
        let data = self.sender.map.written_end().since(self.sender.map.first_unacked());
        if !self.config.host.tunes_send_buffer() || data == 0 {
            return data;
        }
        if self.is_mptcp() {
            return data + self.host.fragments.overhead();
        }
        let unassigned = self.sender.map.unassigned_bytes();
        let queued: u64 = self.subflows.iter().map(|s| s.tcp.queued_memory()).sum();
        queued + self.subflows.iter().map(|s| s.tcp.buffer_size().memory_of(unassigned)).max().unwrap_or(unassigned)
    }

    /// Bytes that [`Connection::write`] takes now; 0 where it would be an error.
    pub fn writable(&self) -> u64 {
        if self.life.data_fin != DataFin::NotRequested || self.life.error.is_some() {
            return 0;
        }
        let free = self.send_buffer().saturating_sub(self.send_memory());
        if !self.config.host.tunes_send_buffer() || free == 0 {
            return free;
        }
        let end = self.sender.map.written_end().0;
        if self.is_mptcp() && end < FULL {
            // The first fragment meets a send buffer of 20480 bytes, which grows once it goes out.
            return FULL - end;
        }
        if self.is_mptcp() && self.only_first_fragment_waits() {
            return 0;
        }
        if self.is_mptcp() {
            return self.host.fragments.fills(
                self.send_memory(),
                self.send_buffer(),
                self.sender.map.unassigned_bytes() > 0,
            );
        }
        let unassigned = self.sender.map.unassigned_bytes();
        self.subflows.iter().map(|s| s.tcp.buffer_size().fills(unassigned, free)).max().unwrap_or(free)
    }

    /// The stream's first fragment is all that was written, and none of it is out.
    fn only_first_fragment_waits(&self) -> bool {
        let is_out = self.subflows.iter().any(|s| s.tcp.queue().packets_out() > 0);
        self.sender.map.written_end().0 == FULL && self.sender.map.first_unacked().0 == 0 && !is_out
    }

    /// A writer that found no room has had what there was sent, and looks once more before it waits: for any room, not for a
    /// third of the buffer (`sk_stream_wait_memory`).
    pub(super) fn look_again(&mut self) {
        if core::mem::take(&mut self.host.writer_looks_again) && self.sender.writer_waits && self.writable() > 0 {
            self.sender.writer_waits = false;
            self.events.push_back(ConnectionEvent::Writable);
        }
    }

    /// Tells the application of room in the send buffer, once it is worth writing.
    pub(super) fn report_writable(&mut self) {
        if !self.sender.writer_waits {
            return;
        }
        let worth = match self.config.host.tunes_send_buffer() {
            true => 3 * self.send_memory() <= 2 * self.send_buffer(),
            false => self.writable() >= (self.send_buffer() / 3).min(WORTH_WRITING),
        };
        if worth && self.writable() > 0 {
            self.sender.writer_waits = false;
            self.events.push_back(ConnectionEvent::Writable);
        }
    }
}
