//! Grants that wait for the end of an instant, where the host is one that lets them wait (`host/linux/push.rs`).

use super::Connection;
use crate::scheduler::{Assign, Decision, Reason, SubflowView, WindowUse};
use crate::seq::SubflowId;
use pathweave_units::Instant;

impl Connection {
    /// Whether the scheduler's picks go to subflows as the kernel's do.
    pub(super) fn delegates(&self) -> bool {
        self.config.host.has_kernel_windows() && self.config.scheduler.entry.queues
    }

    /// The subflow that is pushed to next, where one was picked before.
    pub(super) fn picked(&self) -> Option<SubflowId> {
        self.host.delegation.picked()
    }

    /// Notes where a burst ends, and lets the subflow that it is for wait for the end of the instant if that is not the
    /// one that is being acknowledged. The answer is whether it waits.
    pub(super) fn delegate(&mut self, now: Instant, decision: &Decision, views: &[SubflowView]) -> bool {
        if !self.delegates() {
            return false;
        }
        let to = match decision {
            Decision::Assign(assign) => {
                self.host.delegation.burst_end =
                    self.host.fragments.end_from(assign.range.end).unwrap_or(assign.range.end);
                assign.subflow
            }
            // Picked without any room in the window, which may open until the end of the instant.
            Decision::Wait { for_subflow: Some(to), .. } => *to,
            Decision::Wait { .. } => return false,
        };
        let has_space = views.iter().any(|v| v.id == to && v.send_buffer_space > 0);
        if !has_space || self.scheduling.acknowledged_now.is_none_or(|own| own == to) {
            return false;
        }
        self.let_wait(now, to);
        true
    }

    /// Lets `to` push at the end of the instant.
    pub(super) fn let_wait(&mut self, now: Instant, to: SubflowId) {
        self.host.delegation.let_wait(now, to);
    }

    /// What a subflow that was picked before gets: the rest of the last burst, or at least of a fragment.
    pub(super) fn picked_before(&mut self, subflow: SubflowId) -> Option<Assign> {
        self.host.delegation.unpick(subflow);
        let start = self.sender.map.sendable(self.sender.peer.end)?.start;
        let border = self.host.fragments.end_from(start + 1).unwrap_or(start + 1);
        let range = start..self.host.delegation.burst_end.max(border);
        Some(Assign { subflow, range, window: WindowUse::Queue, reason: Reason::new("picked before at this instant") })
    }

    /// Pushes to the subflows that waited for the end of the instant.
    pub(super) fn push_delegated(&mut self, now: Instant) {
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views);
        while let Some(id) = self.host.delegation.next_pushed() {
            self.host.delegation.unpick(id);
            self.scheduling.acknowledged_now = Some(id);
            self.run_scheduler(now, &mut views, Some(id));
        }
        self.scheduling.acknowledged_now = None;
        self.scheduling.views = views;
    }
}
