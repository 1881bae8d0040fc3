//! Idle connections: a connection that does nothing for a second frees its spare memory.
//!
//! A connection in use is checked once a second, so that a use costs no more than setting a flag. An idle connection is
//! not checked again until it is used.

use super::Endpoint;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Interval between checks of a connection in use.
const LOOK: Duration = Duration::from_secs(1);
/// A connection whose last rest was shorter is restless: freeing its memory each time would not pay.
const SHORT_REST: Duration = Duration::from_secs(3);
/// Checks without a use after which a restless connection counts as idle.
const RESTLESS: u8 = 4;
/// Entries for which room is always kept.
const ROOM: usize = 64;

/// When connections are checked. The first entry is always of a living connection.
#[derive(Debug, Default)]
pub(super) struct Looks(VecDeque<(Instant, u32)>);

impl Looks {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How far a connection is on its way to rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    /// Whether the connection was used since the last check.
    is_used: bool,
    /// Whether the connection has an entry in `Looks`.
    is_listed: bool,
    is_restless: bool,
    /// Number of consecutive checks without a use.
    unused: u8,
    /// When the connection freed its memory, if it was not used since.
    since: Option<Instant>,
}

impl Rest {
    #[inline]
    pub(super) fn note_use(&mut self) {
        self.is_used = true;
    }

    /// The connection is gone. Its entry in `Looks` stays for the next connection in this slot.
    pub(super) fn end(&mut self) {
        *self = Rest { is_listed: self.is_listed, ..Rest::default() };
    }
}

impl Endpoint {
    /// Schedules a check of a connection that was used.
    #[inline]
    pub(super) fn list_used(&mut self, now: Instant, index: u32) {
        let rest = &self.slots[index as usize].rest;
        if rest.is_used && !rest.is_listed {
            self.list(now, index);
        }
    }

    #[cold]
    fn list(&mut self, now: Instant, index: u32) {
        let slot = &mut self.slots[index as usize];
        // There may be many handshakes, and they have no memory to free.
        if slot.half_open {
            return;
        }
        let rest = &mut slot.rest;
        if let Some(since) = rest.since.take() {
            rest.is_restless = now.since(since) < SHORT_REST;
        }
        (rest.is_used, rest.is_listed, rest.unused) = (false, true, 0);
        self.looks.0.push_back((now + LOOK, index));
    }

    /// Checks the connections that are due.
    #[cold]
    pub(super) fn look_for_rest(&mut self, now: Instant) {
        while let Some((_, index)) = self.looks.0.pop_front_if(|(at, _)| *at <= now) {
            let slot = &mut self.slots[index as usize];
            let rest = &mut slot.rest;
            rest.is_listed = false;
            let Some(connection) = slot.connection.as_deref_mut() else { continue };
            rest.unused = if core::mem::take(&mut rest.is_used) { 0 } else { rest.unused + 1 };
            if rest.unused < if rest.is_restless { RESTLESS } else { 1 } {
                rest.is_listed = true;
                self.looks.0.push_back((now + LOOK, index));
            } else if connection.is_at_rest() {
                connection.shrink();
                rest.since = Some(now);
            }
            // A connection that waits for something is checked again after that has come, because it counts as a use.
        }
        self.forget_looks();
        if self.looks.0.capacity() > 4 * self.looks.len() + ROOM {
            self.looks.0.shrink_to(2 * self.looks.len() + ROOM / 2);
        }
    }

    /// Drops entries of connections that are gone from the front, so that no timer fires for them. Those further back
    /// stay for the next connections in their slots.
    pub(super) fn forget_looks(&mut self) {
        let slots = &mut self.slots;
        while let Some((_, index)) = self.looks.0.pop_front_if(|(_, index)| slots[*index as usize].connection.is_none())
        {
            slots[index as usize].rest.is_listed = false;
        }
    }
}
