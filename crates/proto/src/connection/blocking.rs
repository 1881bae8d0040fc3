//! What holds data back although some subflow has window space: the peer's window, or the connection's own send buffer. The
//! scheduler is told when that begins, whenever it changes, and when it ends.

use super::schedule::NoScheduler;
use super::{Connection, Trace};
use crate::scheduler::{BlockedBy, Event, SubflowView};
use crate::seq::{DataSeq, SubflowSet};
use pathweave_units::Instant;

/// A connection that is held back. Any change of it is news for the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    by: BlockedBy,
    /// The first byte not acknowledged, which everything waits for, and the subflows that carry it.
    head: DataSeq,
    holders: SubflowSet,
    /// The subflows that could send if there were anything to send.
    with_space: SubflowSet,
}

impl Connection {
    /// What holds data back now, if anything does and some subflow has window space.
    pub(super) fn blocked_now(&self) -> Option<Blocked> {
        let by = match self.send_window_is_full() {
            true => BlockedBy::SendWindow,
            false if self.send_buffer_is_full() => BlockedBy::SendBuffer,
            false => return None,
        };
        let send_buffer = self.config.send_buffer;
        let free = self.subflows.iter().filter(|s| s.usable() && s.has_space(send_buffer));
        let with_space = free.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
        if with_space.is_empty() {
            return None;
        }
        let head = self.send.first_unacked();
        let holders = self.send.span_at(head).map_or(SubflowSet::EMPTY, |(_, owners)| owners);
        Some(Blocked { by, head, holders, with_space })
    }

    /// Whether data is waiting that the peer's window has no room for: none at all, or too little for a segment, which
    /// silly window avoidance holds back.
    pub(super) fn send_window_is_full(&self) -> bool {
        if self.send.unassigned_bytes() == 0 {
            return false;
        }
        match self.send.sendable(self.send_window_end) {
            None => true,
            Some(range) => {
                let usable = self.subflows.usable();
                let segment = usable.map(|s| u64::from(s.tcp.mss())).max().unwrap_or(0);
                let edge = range.end == self.send_window_end && range.end < self.send.written_end();
                edge && range.end.since(range.start) < segment && self.send.assigned_bytes() > 0
            }
        }
    }

    /// Whether the peer's window holds data back that some subflow has room for.
    pub(super) fn is_held_back_by_window(&self) -> bool {
        self.blocked.is_some_and(|b| b.by == BlockedBy::SendWindow)
    }

    /// Whether everything written is out, and the application has more than the send buffer takes.
    fn send_buffer_is_full(&self) -> bool {
        self.write_blocked && self.send.unassigned_bytes() == 0 && self.send.assigned_bytes() > 0
    }

    /// Tells the scheduler what holds data back, where that has changed.
    pub(super) fn update_blocked(&mut self, now: Instant, views: &[SubflowView]) {
        let blocked = self.blocked_now();
        self.count_window_limited(now);
        if blocked == self.blocked {
            return;
        }
        self.blocked = blocked;
        let limited = blocked.is_some_and(|b| b.by == BlockedBy::SendWindow);
        self.window_limited_since = limited.then_some(now);
        let (event, trace) = match blocked {
            Some(Blocked { by, holders, .. }) => {
                (Event::WindowBlocked { by, holders }, Trace::WindowBlocked { at: now, by, holders })
            }
            None => (Event::WindowUnblocked, Trace::WindowUnblocked { at: now }),
        };
        self.views_event(now, views, &event);
        self.record(|| trace);
    }

    /// The peer's window has held data back until now. One that each acknowledgement opens for just one segment more holds
    /// back all the time.
    pub(super) fn count_window_limited(&mut self, now: Instant) {
        if let Some(since) = &mut self.window_limited_since {
            self.counters.window_limited += now.since(*since);
            *since = now;
        }
        self.arm_window_probe(now);
    }

    fn views_event(&mut self, now: Instant, views: &[SubflowView], event: &Event<'_>) {
        let mut scheduler = core::mem::replace(&mut self.scheduler, Box::new(NoScheduler));
        scheduler.on_event(event, &self.view(now, views));
        self.scheduler = scheduler;
    }
}
