//! Grants that wait for the end of an instant, where the host is one that lets them wait.

use super::Connection;
use crate::scheduler::{Assign, Decision, Reason, SubflowView, WindowUse};
use crate::seq::SubflowId;
use pathweave_units::Instant;

impl Connection {
    /// Notes where a burst ends, and lets the subflow that it is for wait for the end of the instant if that is not the
    /// one that is being acknowledged. The answer is whether it waits.
    pub(super) fn delegate(&mut self, now: Instant, decision: &Decision, views: &[SubflowView]) -> bool {
        if !self.host.delegates(self.config.scheduler.queues()) {
            return false;
        }
        let to = match decision {
            Decision::Assign(assign) => {
                self.host.note_burst(assign.range.end);
                assign.subflow
            }
            // Picked without any room in the window, which may open until the end of the instant.
            Decision::Wait { for_subflow: Some(to), .. } => *to,
            Decision::Wait { .. } => return false,
        };
        let has_space = views.iter().any(|v| v.id == to && v.queue.space > 0);
        if !has_space || self.host.acknowledging().is_none_or(|own| own == to) {
            return false;
        }
        self.host.let_wait(now, to);
        true
    }

    /// What a subflow that was picked before gets.
    pub(super) fn picked_before(&mut self, subflow: SubflowId) -> Option<Assign> {
        self.host.unpick(subflow);
        let start = self.sender.map.sendable(self.sender.peer.end)?.start;
        let range = start..self.host.burst_end(start);
        Some(Assign { subflow, range, window: WindowUse::Queue, reason: Reason::new("picked before at this instant") })
    }

    /// Pushes to the subflows that waited for the end of the instant.
    pub(super) fn push_delegated(&mut self, now: Instant) {
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views);
        while let Some(id) = self.host.next_pushed() {
            self.run_scheduler(now, &mut views, Some(id));
        }
        self.host.end_acknowledgement();
        self.scheduling.views = views;
    }
}
