//! Limits of an endpoint's memory, independent of what peers do.

use super::Endpoint;
use crate::connection::Connection;
use pathweave_wire::Segment;
use std::collections::BTreeSet;

/// Limits of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLimits {
    /// Connections in all, including those in handshake. Beyond the limit SYNs are not answered, and connecting fails.
    /// Linux has no such limit except its memory.
    pub connections: usize,
    /// Connections that wait for [`Endpoint::poll_accept`]. Beyond the limit SYNs are not answered, as in Linux, whose
    /// `somaxconn` is the same number. Handshakes that have begun still complete.
    pub unclaimed: usize,
    /// Memory of waiting data of all connections, bytes: data that waits for a reader, or for missing data in front of
    /// it. Beyond the limit, a connection that holds more than its share accepts no data until there is room again, and
    /// announces a window of zero to its peer. Linux bounds all TCP memory likewise (`tcp_mem`).
    pub waiting_bytes: u64,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        EndpointLimits { connections: 1 << 20, unclaimed: 4096, waiting_bytes: 4 << 30 }
    }
}

/// The limits, and the counts that they bound.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pub(super) limits: EndpointLimits,
    /// Memory of the waiting data of all connections, bytes.
    waiting_bytes: u64,
    /// Segments whose data was dropped because there was no memory.
    dropped: u64,
    /// Connections that have announced a closed window because there was no memory.
    closed: BTreeSet<u32>,
}

impl Budget {
    /// A connection's waiting data holds `now` bytes instead of `before`.
    #[inline]
    pub(super) fn count(&mut self, before: u64, now: u64) {
        self.waiting_bytes = self.waiting_bytes - before + now;
    }

    /// Number of connections that have announced a closed window because there was no memory.
    pub(super) fn closed(&self) -> usize {
        self.closed.len()
    }

    #[inline]
    fn is_exceeded(&self) -> bool {
        self.waiting_bytes > self.limits.waiting_bytes
    }
}

impl Endpoint {
    /// Sets the limits. Connections and data beyond a lower limit stay.
    pub fn set_limits(&mut self, limits: EndpointLimits) {
        self.budget.limits = limits;
    }

    /// Memory of the waiting data of all connections, bytes: data that waits for a reader, or for missing data in front
    /// of it.
    pub fn waiting_bytes(&self) -> u64 {
        self.budget.waiting_bytes
    }

    /// Segments whose data was dropped because the waiting data of all connections exceeded
    /// [`EndpointLimits::waiting_bytes`].
    pub fn dropped_for_memory(&self) -> u64 {
        self.budget.dropped
    }

    /// Whether there is no room for one more connection.
    pub(super) fn is_full(&self) -> bool {
        self.slots.len() - self.free.len() >= self.budget.limits.connections
    }

    /// Whether a SYN gets no answer, so that its peer asks again later.
    pub(super) fn ignores_syns(&self) -> bool {
        self.is_full() || self.accepted.len() >= self.budget.limits.unclaimed
    }

    /// Whether there is no memory for the data of a segment: all connections together hold too much, and this one more
    /// than its share.
    #[inline]
    pub(super) fn has_no_memory_for(&mut self, index: u32, segment: &Segment) -> bool {
        self.budget.is_exceeded() && !segment.payload.is_empty() && self.drops_data(index)
    }

    #[cold]
    fn drops_data(&mut self, index: u32) -> bool {
        if !self.is_beyond_its_share(index) {
            return false;
        }
        // If no data is ready to be read, only data that fills the hole makes room, so only other data is dropped.
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

    /// Notes that a connection has announced a closed window, so that it announces the window again when there is room.
    #[cold]
    pub(super) fn note_closed(&mut self, index: u32) {
        self.budget.closed.insert(index);
    }

    pub(super) fn forget_closed(&mut self, index: u32) {
        self.budget.closed.remove(&index);
    }

    /// Called when a connection may hold less memory than before: if it has announced a closed window and there is room
    /// now, it announces the window again. Other connections do so only when all together are below the limit. If no
    /// data is ready to be read, there is always room for the missing data ([`Endpoint::drops_data`]).
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

    /// Recounts the memory that a connection's waiting data holds.
    #[inline]
    pub(super) fn count_waiting(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let now = slot.connection.as_deref_mut().map_or(0, Connection::count_waiting);
        let before = core::mem::replace(&mut slot.waiting_bytes, now);
        self.budget.count(before, now);
    }
}
