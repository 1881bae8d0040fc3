//! What a host adds to one connection's sending: how much may be written, in which pieces that is kept, and which subflow's
//! data waits for the end of an instant.

use super::Host;
#[cfg(feature = "host-linux")]
use super::linux::LinuxConnection;
#[cfg(feature = "host-mptcp-org")]
use super::mptcp_org::MptcpOrgConnection;
use crate::seq::{DataSeq, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// What was written and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// First byte not acknowledged, and the end.
    pub(crate) una: DataSeq,
    pub(crate) end: DataSeq,
    /// Bytes that no subflow carries.
    pub(crate) unassigned: u64,
    /// The connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

impl Written {
    pub(crate) fn bytes(&self) -> u64 {
        self.end.since(self.una)
    }
}

/// What a host remembers of one connection's sending.
#[derive(Debug)]
pub(crate) enum ConnectionHost {
    Rfc {
        tunes: bool,
    },
    #[cfg(feature = "host-linux")]
    Linux(Box<LinuxConnection>),
    #[cfg(feature = "host-mptcp-org")]
    MptcpOrg(MptcpOrgConnection),
}

impl ConnectionHost {
    /// `tunes`: the send buffer follows the subflows' windows.
    pub(crate) fn new(host: &Host, tunes: bool) -> Self {
        match host {
            #[cfg(feature = "host-linux")]
            Host::Linux => ConnectionHost::Linux(Box::new(LinuxConnection::new(tunes))),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg => ConnectionHost::MptcpOrg(MptcpOrgConnection::new(tunes)),
            Host::Rfc => ConnectionHost::Rfc { tunes },
        }
    }

    /// Whether it sizes the send buffer, or counts what written data takes of it, by rules of its own. Without, the buffer is fixed and
    /// data takes its length, and none of the questions about them is asked: some come with each segment.
    #[inline]
    pub(crate) fn counts_memory(&self) -> bool {
        match self {
            ConnectionHost::Rfc { tunes } => *tunes,
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.tunes,
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(_) => true,
        }
    }

    /// The send buffer in force, of at most `max` bytes. `subflows`: what their own are in sum.
    pub(crate) fn send_buffer(&self, max: u64, mptcp: bool, subflows: u64) -> u64 {
        match self {
            ConnectionHost::Rfc { .. } => subflows.min(max),
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(_) => LinuxConnection::send_buffer(mptcp, subflows),
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(org) => org.send_buffer(max, subflows),
        }
    }

    /// What written data takes of the send buffer until it is acknowledged. `queued`: what it takes on its subflows, with the
    /// rest of so many bytes.
    pub(crate) fn send_memory(&self, written: &Written, queued: impl FnOnce(u64) -> u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if linux.tunes && written.bytes() > 0 => linux.send_memory(written, queued),
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(_) => MptcpOrgConnection::send_memory(written),
            _ => written.bytes(),
        }
    }

    /// Bytes that a writer may write where `memory` of `limit` is taken. `is_out`: something is on its way. `fills`: how many
    /// bytes fill a subflow's buffers where so much memory is free.
    pub(crate) fn writable(
        &self,
        written: &Written,
        memory: u64,
        limit: u64,
        is_out: impl FnOnce() -> bool,
        fills: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let free = limit.saturating_sub(memory);
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if linux.tunes && free > 0 => {
                linux.writable(written, memory, limit, is_out, fills)
            }
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(_) => MptcpOrgConnection::writable(written, limit),
            _ => free,
        }
    }

    /// Whether a writer that waits is told of room now; of less room than `worth` bytes nobody is told.
    pub(crate) fn tells_writer(&self, memory: u64, limit: u64, writable: u64, worth: u64) -> bool {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if linux.tunes => 3 * memory <= 2 * limit,
            #[cfg(feature = "host-mptcp-org")]
            ConnectionHost::MptcpOrg(_) => MptcpOrgConnection::tells_writer(memory, limit),
            _ => writable >= worth,
        }
    }

    /// `bytes` are written at `end`. `unsent`: some of what was written before is.
    #[inline]
    pub(crate) fn append(&mut self, end: DataSeq, bytes: u64, unsent: bool) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if linux.tunes => linux.fragments.append(end, bytes, unsent),
            _ => {}
        }
    }

    /// A writer has been given all the room there was: once that is sent it looks again before it waits.
    pub(crate) fn writer_found_no_more(&mut self) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.writer_looks_again = linux.tunes,
            _ => {}
        }
    }

    /// Whether the writer looks again now.
    pub(crate) fn writer_looks_again(&mut self) -> bool {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => core::mem::take(&mut linux.writer_looks_again),
            _ => false,
        }
    }

    /// All before `una` is acknowledged.
    #[inline]
    pub(crate) fn acknowledge(&mut self, una: DataSeq) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.fragments.acknowledge(una),
            _ => {}
        }
    }

    /// Where the pieces end in which the host keeps what was written, if it keeps it in pieces.
    #[inline]
    pub(crate) fn fragment_ends(&self) -> Option<&VecDeque<DataSeq>> {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if linux.tunes => Some(linux.fragments.ends()),
            _ => None,
        }
    }

    /// Whether what is picked for another subflow than the one that is being acknowledged waits for the end of the instant.
    /// `queues`: the scheduler queues data beyond the congestion windows.
    #[inline]
    pub(crate) fn delegates(&self, queues: bool) -> bool {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(_) => queues,
            _ => false,
        }
    }

    /// When something that waits for the end of an instant is to be pushed.
    #[inline]
    pub(crate) fn push_due(&self) -> Option<Instant> {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.due(),
            _ => None,
        }
    }

    /// Gives back the memory that is kept for what may come.
    pub(crate) fn shrink(&mut self) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.shrink(),
            _ => {}
        }
    }

    /// Nothing waits any more.
    pub(crate) fn clear_pushes(&mut self) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.clear(),
            _ => {}
        }
    }

    /// A segment of this subflow is processed, and what the scheduler picks for it goes there at once.
    #[inline]
    pub(crate) fn begin_acknowledgement(&mut self, subflow: SubflowId, queues: bool) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) if queues => linux.delegation.acknowledging = Some(subflow),
            _ => {}
        }
    }

    #[inline]
    pub(crate) fn end_acknowledgement(&mut self) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.acknowledging = None,
            _ => {}
        }
    }

    /// The subflow whose segment is processed, or that is pushed to at the end of an instant.
    #[inline]
    pub(crate) fn acknowledging(&self) -> Option<SubflowId> {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.acknowledging,
            _ => None,
        }
    }

    /// The subflow that is pushed to next, where one was picked before.
    #[inline]
    pub(crate) fn picked(&self) -> Option<SubflowId> {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.picked(),
            _ => None,
        }
    }

    /// Lets `to` push at the end of the instant.
    pub(crate) fn let_wait(&mut self, now: Instant, to: SubflowId) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.let_wait(now, to),
            _ => {}
        }
    }

    /// Something is pushed to `subflow`, which may have been picked.
    pub(crate) fn unpick(&mut self, subflow: SubflowId) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.unpick(subflow),
            _ => {}
        }
    }

    /// The next subflow whose wait is over: what the scheduler picks for it goes there now.
    pub(crate) fn next_pushed(&mut self) -> Option<SubflowId> {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.delegation.next_pushed(),
            _ => None,
        }
    }

    /// A burst up to `end` was decided.
    pub(crate) fn note_burst(&mut self, end: DataSeq) {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.note_burst(end),
            _ => {}
        }
    }

    /// Where the data ends that a picked subflow gets from `start` on: the rest of the last burst, or at least of a fragment.
    pub(crate) fn burst_end(&self, start: DataSeq) -> DataSeq {
        match self {
            #[cfg(feature = "host-linux")]
            ConnectionHost::Linux(linux) => linux.burst_end(start),
            _ => start + 1,
        }
    }
}
