//! Observations of an endpoint's connections.

use super::{ConnectionHandle, Endpoint};
use crate::connection::{Connection, Kinds, Observation, UnknownConnection};
use std::collections::VecDeque;

/// Observations that were not polled yet.
#[derive(Default)]
pub(super) struct Observing {
    /// Kinds that are recorded for new connections.
    of_new: Kinds,
    recorded: VecDeque<(ConnectionHandle, Observation)>,
    /// Connections that may have changed and were not polled yet; `None` unless changes are noted.
    changed: Option<Vec<ConnectionHandle>>,
}

impl Observing {
    /// Starts recording for a new connection.
    pub(super) fn begin(&self, connection: &mut Connection) {
        connection.observe(self.of_new);
    }

    /// Takes a connection's observations.
    #[inline]
    pub(super) fn collect(&mut self, handle: ConnectionHandle, connection: &mut Connection) {
        while let Some(observation) = connection.poll_observation() {
            self.recorded.push_back((handle, observation));
        }
    }

    /// Notes that a connection may have changed, if changes are noted.
    #[inline]
    pub(super) fn note_change(&mut self, handle: ConnectionHandle) {
        if let Some(changed) = &mut self.changed {
            changed.push(handle);
        }
    }
}

impl Endpoint {
    /// Records these kinds of observations of a connection from now on, for [`Endpoint::poll_observation`]; none with
    /// [`Kinds::NONE`]. Unlike a command this changes nothing, not even the order in which connections send.
    ///
    /// # Errors
    /// If there is no such connection.
    pub fn observe(&mut self, handle: ConnectionHandle, kinds: Kinds) -> Result<(), UnknownConnection> {
        self.connection_mut(handle).ok_or(UnknownConnection)?.observe(kinds);
        Ok(())
    }

    /// Records these kinds for all connections from now on, and for later connections from their start.
    pub fn observe_all(&mut self, kinds: Kinds) {
        self.observing.of_new = kinds;
        for connection in self.slots.iter_mut().filter_map(|s| s.connection.as_deref_mut()) {
            connection.observe(kinds);
        }
    }

    /// The next observation of any connection, oldest first. Observations stay until they are polled.
    pub fn poll_observation(&mut self) -> Option<(ConnectionHandle, Observation)> {
        self.observing.recorded.pop_front()
    }

    /// Notes from now on which connections may have changed, for [`Endpoint::poll_changed`].
    pub fn note_changes(&mut self) {
        self.observing.changed.get_or_insert_default();
    }

    /// A connection that may have changed by a segment, a timer or a command since it was polled here last. The
    /// connection has sent its segments, or is forgotten. Reading alone is not a change, and neither is having nothing
    /// to send. Always `None` without [`Endpoint::note_changes`]; after that the names stay until they are polled.
    pub fn poll_changed(&mut self) -> Option<ConnectionHandle> {
        self.observing.changed.as_mut()?.pop()
    }
}
