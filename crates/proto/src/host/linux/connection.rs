//! A kernel's send buffer (`docs/notes/linux-6.12-send-buffer-and-segments.md`).
//!
//! With tuning, memory is data plus the overhead of its buffers. The writer fills a buffer to its end once it has begun one,
//! stops where memory has reached the limit, and goes on when memory has come down to two thirds of the limit
//! (`sk_stream_is_writeable`).

use super::LinuxHost;
use super::fragments::{FULL, Fragments};
use super::push::Delegation;
use crate::host::Written;
use crate::seq::DataSeq;

/// What the kernel gives a Multipath TCP socket beside its subflows' send buffers.
const LEAST_SEND_BUFFER: u64 = 4096;

/// What the kernel remembers of one connection's sending.
#[derive(Debug)]
pub(crate) struct LinuxConnection {
    /// The send buffer follows the subflows' windows.
    pub(crate) tunes: bool,
    /// Grants wait for the end of an instant.
    pub(crate) delegates: bool,
    pub(crate) fragments: Fragments,
    pub(crate) delegation: Delegation,
    /// A writer that found no room has had what there was sent, and looks once more before it waits: for any room, not for a
    /// third of the buffer (`sk_stream_wait_memory`).
    pub(crate) writer_looks_again: bool,
}

impl LinuxConnection {
    pub(crate) fn new(host: &LinuxHost) -> Self {
        LinuxConnection {
            tunes: host.send_buffer_tuning,
            delegates: host.other_habits,
            fragments: Fragments::default(),
            delegation: Delegation::default(),
            writer_looks_again: false,
        }
    }

    pub(crate) fn send_buffer(&self, mptcp: bool, subflows: u64) -> u64 {
        if mptcp { subflows + LEAST_SEND_BUFFER } else { subflows }
    }

    pub(crate) fn send_memory(&self, written: &Written, queued: impl FnOnce(u64) -> u64) -> u64 {
        if written.mptcp { written.bytes() + self.fragments.overhead() } else { queued(written.unassigned) }
    }

    pub(crate) fn writable(
        &self,
        written: &Written,
        memory: u64,
        limit: u64,
        is_out: impl FnOnce() -> bool,
        fills: impl FnOnce(u64) -> u64,
    ) -> u64 {
        if !written.mptcp {
            return fills(limit - memory);
        }
        if written.end.0 < FULL {
            // The first fragment meets a send buffer of 20480 bytes, which grows once it goes out.
            return FULL - written.end.0;
        }
        if written.end.0 == FULL && written.una.0 == 0 && !is_out() {
            // The first fragment is all that was written, and none of it is out.
            return 0;
        }
        self.fragments.fills(memory, limit, written.unassigned > 0)
    }

    pub(crate) fn note_burst(&mut self, end: DataSeq) {
        self.delegation.burst_end = self.fragments.end_from(end).unwrap_or(end);
    }

    pub(crate) fn burst_end(&self, start: DataSeq) -> DataSeq {
        let border = self.fragments.end_from(start + 1).unwrap_or(start + 1);
        self.delegation.burst_end.max(border)
    }
}
