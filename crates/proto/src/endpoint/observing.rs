//! What happens on an endpoint's connections, for those who want to know.

use super::{ConnectionHandle, Endpoint};
use crate::connection::{Connection, Kinds, Observation, UnknownConnection};
use std::collections::VecDeque;

/// What was recorded and not polled yet.
#[derive(Default)]
pub(super) struct Observing {
    /// What is recorded of new connections.
    of_new: Kinds,
    recorded: VecDeque<(ConnectionHandle, Observation)>,
}

impl Observing {
    /// A connection exists from now on.
    pub(super) fn begin(&self, connection: &mut Connection) {
        connection.observe(self.of_new);
    }

    /// Takes what a connection has recorded.
    #[inline]
    pub(super) fn collect(&mut self, handle: ConnectionHandle, connection: &mut Connection) {
        while let Some(observation) = connection.poll_observation() {
            self.recorded.push_back((handle, observation));
        }
    }
}

impl Endpoint {
    /// Records these kinds of what happens on a connection from now on, for [`Endpoint::poll_observation`]. With
    /// [`Kinds::NONE`] nothing more is recorded. Unlike a command it changes nothing, not even the order in which connections send.
    ///
    /// # Errors
    /// When there is no such connection.
    pub fn observe(&mut self, handle: ConnectionHandle, kinds: Kinds) -> Result<(), UnknownConnection> {
        self.connection_mut(handle).ok_or(UnknownConnection)?.observe(kinds);
        Ok(())
    }

    /// Records these kinds of all connections from now on, and of those that come later from their first moment.
    pub fn observe_all(&mut self, kinds: Kinds) {
        self.observing.of_new = kinds;
        for connection in self.slots.iter_mut().filter_map(|s| s.connection.as_deref_mut()) {
            connection.observe(kinds);
        }
    }

    /// The next thing that was recorded of any connection, in the order in which it happened. What was recorded stays until it
    /// is polled.
    pub fn poll_observation(&mut self) -> Option<(ConnectionHandle, Observation)> {
        self.observing.recorded.pop_front()
    }
}
