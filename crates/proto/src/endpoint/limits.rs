//! What an endpoint takes on at most, whatever peers do.

use super::Endpoint;
use crate::connection::Connection;
use pathweave_wire::Segment;

/// What an endpoint takes on at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLimits {
    /// Connections in all, those whose handshake is not complete included. Beyond them SYNs are not answered, and connecting is an
    /// error. Linux has no such limit but its memory.
    pub connections: usize,
    /// Connections that wait for [`Endpoint::poll_accept`]. Beyond them SYNs are not answered, as in Linux, whose `somaxconn` is the
    /// same number. Handshakes that were begun before still complete.
    pub unclaimed: usize,
    /// Data that waits for a reader or for what is missing before it, of all connections, bytes of memory. Beyond it, a connection
    /// that has more than its share of it loses the data that comes, as if the network had lost it, until it is read. Linux bounds
    /// all TCP memory likewise (`tcp_mem`).
    pub waiting_bytes: u64,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        EndpointLimits { connections: 1 << 20, unclaimed: 4096, waiting_bytes: 4 << 30 }
    }
}

/// The limits, and what is counted against them.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pub(super) limits: EndpointLimits,
    /// Memory that waiting data takes, of all connections.
    waiting_bytes: u64,
    /// Segments whose data was dropped for want of memory.
    dropped: u64,
}

impl Budget {
    /// A connection's waiting data takes `now` bytes instead of `before`.
    #[inline]
    pub(super) fn count(&mut self, before: u64, now: u64) {
        self.waiting_bytes = self.waiting_bytes - before + now;
    }

    #[inline]
    fn is_exceeded(&self) -> bool {
        self.waiting_bytes > self.limits.waiting_bytes
    }
}

impl Endpoint {
    /// What is taken on at most from now on. What is more already stays.
    pub fn set_limits(&mut self, limits: EndpointLimits) {
        self.budget.limits = limits;
    }

    /// The memory that data takes which waits for a reader or for what is missing before it, of all connections, bytes.
    pub fn waiting_bytes(&self) -> u64 {
        self.budget.waiting_bytes
    }

    /// Segments whose data was dropped because the waiting data of all connections took more than [`EndpointLimits::waiting_bytes`].
    pub fn dropped_for_memory(&self) -> u64 {
        self.budget.dropped
    }

    /// Whether one more connection is too much.
    pub(super) fn is_full(&self) -> bool {
        self.slots.len() - self.free.len() >= self.budget.limits.connections
    }

    /// Whether a SYN gets no answer, so that its peer asks again later.
    pub(super) fn ignores_syns(&self) -> bool {
        self.is_full() || self.accepted.len() >= self.budget.limits.unclaimed
    }

    /// Whether the data of a segment finds no memory: all connections take too much together, and this one more than its share.
    #[inline]
    pub(super) fn has_no_memory_for(&mut self, index: u32, segment: &Segment) -> bool {
        self.budget.is_exceeded() && !segment.payload.is_empty() && self.is_beyond_its_share(index)
    }

    #[cold]
    fn is_beyond_its_share(&mut self, index: u32) -> bool {
        let connections = (self.slots.len() - self.free.len()).max(1) as u64;
        let slot = &mut self.slots[index as usize];
        if slot.waiting_bytes <= self.budget.limits.waiting_bytes / connections {
            return false;
        }
        // Where nothing can be read, what fills the hole makes room: only the rest is dropped.
        let hole = slot.connection.as_deref_mut().is_some_and(Connection::takes_only_what_is_missing);
        self.budget.dropped += u64::from(!hole);
        !hole
    }

    /// Counts again what a connection's waiting data takes.
    #[inline]
    pub(super) fn count_waiting(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let now = slot.connection.as_deref_mut().map_or(0, Connection::count_waiting);
        let before = core::mem::replace(&mut slot.waiting_bytes, now);
        self.budget.count(before, now);
    }
}
