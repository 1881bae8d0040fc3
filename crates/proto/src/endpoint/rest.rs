//! Connections that rest: what does nothing for a second gives back the memory that it keeps for what may come.
//!
//! A connection that is used is looked at once a second, so that a use costs no more than saying that there was one. One that rests is not
//! looked at again until it is used.

use super::Endpoint;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// How often a connection that is used is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// One whose rest was shorter than this is restless: its memory would come and go all the time.
const SHORT_REST: Duration = Duration::from_secs(3);
/// A restless connection rests after so many looks without a use.
const RESTLESS: u8 = 4;
/// Room for so many entries is kept.
const ROOM: usize = 64;

/// When connections are looked at. The first entry is of one that lives.
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

/// How a connection comes to rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    /// It was used since it was last looked at.
    is_used: bool,
    /// It will be looked at.
    is_listed: bool,
    is_restless: bool,
    /// So many looks have found it unused.
    unused: u8,
    /// When it gave back its memory, if it has not been used since.
    since: Option<Instant>,
}

impl Rest {
    #[inline]
    pub(super) fn note_use(&mut self) {
        self.is_used = true;
    }

    /// The connection is gone. Its entry stays for the next one.
    pub(super) fn end(&mut self) {
        *self = Rest { is_listed: self.is_listed, ..Rest::default() };
    }
}

impl Endpoint {
    /// See that a connection is looked at if it was used.
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
        // There may be many handshakes, and they have nothing to give back.
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

    /// Looks at the connections whose time has come.
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
            // What waits for something is looked at again when that has come: it is a use.
        }
        self.forget_looks();
        if self.looks.0.capacity() > 4 * self.looks.len() + ROOM {
            self.looks.0.shrink_to(2 * self.looks.len() + ROOM / 2);
        }
    }

    /// Nobody is woken for a connection that is gone. Behind the first, entries of such stay for those that get their places.
    pub(super) fn forget_looks(&mut self) {
        let slots = &mut self.slots;
        while let Some((_, index)) = self.looks.0.pop_front_if(|(_, index)| slots[*index as usize].connection.is_none())
        {
            slots[index as usize].rest.is_listed = false;
        }
    }
}
