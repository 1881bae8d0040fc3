//! What an endpoint takes on at most, whatever peers do.

use super::Endpoint;
use crate::connection::Connection;
use pathweave_wire::Segment;
use std::collections::BTreeSet;

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
    /// that has more than its share of it takes no data until there is room again, and its peer is told of a window of zero. Linux
    /// bounds all TCP memory likewise (`tcp_mem`).
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
    /// Connections whose peers have been told that there is no room.
    closed: BTreeSet<u32>,
}

impl Budget {
    /// A connection's waiting data takes `now` bytes instead of `before`.
    #[inline]
    pub(super) fn count(&mut self, before: u64, now: u64) {
        self.waiting_bytes = self.waiting_bytes - before + now;
    }

    /// Connections whose peers have been told that there is no room.
    pub(super) fn closed(&self) -> usize {
        self.closed.len()
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
        self.budget.is_exceeded() && !segment.payload.is_empty() && self.drops_data(index)
    }

    #[cold]
    fn drops_data(&mut self, index: u32) -> bool {
        if !self.is_beyond_its_share(index) {
            return false;
        }
        // Where nothing can be read, what fills the hole makes room: only the rest is dropped.
        let connection = self.slots[index as usize].connection.as_deref_mut();
        let hole = connection.is_some_and(Connection::takes_only_what_is_missing);
        self.budget.dropped += u64::from(!hole);
        !hole
    }

    fn is_beyond_its_share(&self, index: u32) -> bool {
        let connections = (self.slots.len() - self.free.len()).max(1) as u64;
        self.slots[index as usize].waiting_bytes > self.budget.limits.waiting_bytes / connections
    }

    fn waits_for_what_is_missing(&self, index: u32) -> bool {
        self.slots[index as usize].connection.as_deref().is_some_and(Connection::waits_for_what_is_missing)
    }

    /// A peer has been told that there is no room: it is told when there is.
    #[cold]
    pub(super) fn note_closed(&mut self, index: u32) {
        self.budget.closed.insert(index);
    }

    pub(super) fn forget_closed(&mut self, index: u32) {
        self.budget.closed.remove(&index);
    }

    /// A connection may take less memory than before: peers that have been told that there is no room are told if there is now. Those of
    /// other connections only once all take less than the limit together. Where nothing can be read, there is always room for what is
    /// missing ([`Endpoint::drops_data`]).
    #[inline]
    pub(super) fn look_for_room(&mut self, index: u32) {
        if !self.budget.closed.is_empty() {
            self.tell_of_room(index);
        }
    }

    #[cold]
    fn tell_of_room(&mut self, index: u32) {
        let told = if !self.budget.is_exceeded() {
            core::mem::take(&mut self.budget.closed)
        } else if (!self.is_beyond_its_share(index) || self.waits_for_what_is_missing(index))
            && self.budget.closed.remove(&index)
        {
            BTreeSet::from([index])
        } else {
            return;
        };
        for index in told {
            if let Some(connection) = self.slots[index as usize].connection.as_deref_mut() {
                connection.tell_of_room();
                self.touch(index);
            }
        }
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
