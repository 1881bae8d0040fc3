//! The endpoint's timers: when connections are to be woken.

use super::Endpoint;
use crate::connection::Connection;
use core::cmp::Reverse;
use pathweave_units::Instant;
use std::collections::BinaryHeap;

impl Endpoint {
    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.backlog.deadline().is_some_and(|t| t <= now) {
            self.backlog.expire(now);
        }
        if self.time_waits.deadline().is_some_and(|t| t <= now) {
            self.time_waits.expire(now);
        }
        if self.looks.deadline().is_some_and(|t| t <= now) {
            self.look_for_rest(now);
        }
        while let Some(&Reverse((at, index))) = self.checks.peek()
            && at <= now
        {
            self.checks.pop();
            let slot = &mut self.slots[index as usize];
            if slot.check != Some(at) {
                continue;
            }
            slot.check = None;
            if slot.connection.as_deref_mut().is_some_and(|c| c.handle_check(now)) {
                self.after_input(now, index);
            }
            self.update_check(index);
        }
        while let Some(&Reverse((at, index))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let slot = &mut self.slots[index as usize];
            if slot.timer != Some(at) {
                continue;
            }
            slot.timer = None;
            if let Some(connection) = slot.connection.as_deref_mut() {
                if connection.poll_timeout().is_some_and(|t| t <= now) {
                    slot.rest.note_use();
                    connection.handle_timeout(now);
                    self.share_learned_path_mtus(now, index);
                }
                self.after_input(now, index);
            }
        }
    }

    /// When [`Endpoint::handle_timeout`] is to be called.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let or_never = |time: Option<Instant>| time.unwrap_or(Instant::FAR_FUTURE);
        let first = |heap: &BinaryHeap<Reverse<(Instant, u32)>>| or_never(heap.peek().map(|Reverse((at, _))| *at));
        let next = first(&self.timers)
            .min(first(&self.checks))
            .min(or_never(self.backlog.deadline()))
            .min(or_never(self.time_waits.deadline()))
            .min(or_never(self.looks.deadline()));
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Updates a connection's timer entry. Entries are corrected lazily: one that is too early costs a look, one that
    /// is too late would be a missed timer.
    pub(super) fn update_timer(&mut self, now: Instant, index: u32) {
        let slot = &mut self.slots[index as usize];
        let next = slot.connection.as_deref().and_then(Connection::poll_timeout);
        if slot.timer == Some(now) && next != Some(now) && self.timers.peek() == Some(&Reverse((now, index))) {
            // The data that waited for the end of this instant has left.
            self.timers.pop();
            slot.timer = None;
        }
        if let Some(next) = next
            && slot.timer.is_none_or(|t| next < t)
        {
            slot.timer = Some(next);
            self.timers.push(Reverse((next, index)));
            self.compact_timers();
        }
    }

    pub(super) fn update_check(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.check.is_none()
            && let Some(at) = slot.connection.as_deref().and_then(Connection::poll_check)
        {
            slot.check = Some(at);
            self.checks.push(Reverse((at, index)));
        }
    }

    /// Removes replaced entries, which otherwise stay until their time, if there are too many. At most one entry per
    /// connection is left, so that many more can be added before the next removal.
    pub(super) fn compact_timers(&mut self) {
        if self.timers.len() > 4 * self.slots.len() + 64 {
            let mut entries = core::mem::take(&mut self.timers).into_vec();
            entries.retain(|Reverse((at, index))| self.slots[*index as usize].timer == Some(*at));
            // A timer that was replaced by a sooner one and then set again can have several equal entries.
            entries.sort_unstable();
            entries.dedup();
            self.timers = entries.into();
        }
    }
}
