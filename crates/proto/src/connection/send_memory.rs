//! How much the application may write, as the host counts it.

use super::close::DataFin;
use super::{Connection, ConnectionEvent};
use crate::host::Written;

/// An application is woken for this much room, or for a third of a smaller send buffer, bytes.
const WORTH_WRITING: u64 = 64 << 10;

impl Connection {
    pub(super) fn written(&self) -> Written {
        Written {
            una: self.sender.map.first_unacked(),
            end: self.sender.map.written_end(),
            unassigned: self.sender.map.unassigned_bytes(),
            mptcp: self.is_mptcp(),
        }
    }

    /// The send buffer in force: fixed, or as the host sizes it for the subflows' windows.
    pub(super) fn send_buffer(&self) -> u64 {
        let max = self.config.send_buffer;
        let established = || self.subflows.iter().filter(|s| s.tcp.is_established());
        self.host.send_buffer(max, self.is_mptcp(), || established().map(|s| s.tcp.share_of_send_buffer(max)).sum())
    }

    /// What written data takes of the send buffer until it is acknowledged.
    fn send_memory(&self) -> u64 {
        self.host.send_memory(&self.written(), |unassigned| {
            let queued: u64 = self.subflows.iter().map(|s| s.tcp.queued_memory()).sum();
            queued + self.subflows.iter().map(|s| s.tcp.memory_of(unassigned)).max().unwrap_or(unassigned)
        })
    }

    /// Bytes that [`Connection::write`] takes now; 0 where it would be an error.
    pub fn writable(&self) -> u64 {
        if self.life.data_fin != DataFin::NotRequested || self.life.error().is_some() {
            return 0;
        }
        let (written, subflows) = (self.written(), &self.subflows);
        let is_out = || subflows.iter().any(|s| s.tcp.queue().packets_out() > 0);
        let fills = |free| subflows.iter().map(|s| s.tcp.fills(written.unassigned, free)).max().unwrap_or(free);
        self.host.writable(&written, self.send_memory(), self.send_buffer(), is_out, fills)
    }

    /// A writer that found no room may look once more when what there was has been sent.
    pub(super) fn look_again(&mut self) {
        if self.host.writer_looks_again() && self.sender.writer_waits && self.writable() > 0 {
            self.sender.writer_waits = false;
            self.news.events.push_back(ConnectionEvent::Writable);
        }
    }

    /// Tells the application of room in the send buffer, once it is worth writing.
    pub(super) fn report_writable(&mut self) {
        if !self.sender.writer_waits {
            return;
        }
        let (limit, writable) = (self.send_buffer(), self.writable());
        let worth = (limit / 3).min(WORTH_WRITING);
        if writable > 0 && self.host.tells_writer(self.send_memory(), limit, writable, worth) {
            self.sender.writer_waits = false;
            self.news.events.push_back(ConnectionEvent::Writable);
        }
    }
}
