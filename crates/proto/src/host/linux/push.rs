//! Grants that wait for the end of an instant, as in the kernel (`mptcp_subflow_delegate`).
//!
//! An acknowledgement asks the scheduler, and what is picked for its own subflow goes there at once. Another subflow is
//! pushed to when all packets of the instant have been taken: how much it gets is decided by the window then. Until that
//! time nobody else is picked, and an acknowledgement of the picked subflow pushes at once.

use crate::seq::{DataSeq, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// What waits for the end of an instant.
#[derive(Debug, Default)]
pub(crate) struct Delegation {
    /// The subflows that push at the end of the instant, in the order in which they were picked.
    waiting: VecDeque<SubflowId>,
    /// The instant.
    at: Instant,
    /// The subflow that was picked last, until something is pushed to it.
    picked: Option<SubflowId>,
    /// The subflow whose segment is being processed, or that is being pushed to.
    pub(crate) acknowledging: Option<SubflowId>,
    /// Where the last burst that was decided ends.
    pub(crate) burst_end: DataSeq,
}

impl Delegation {
    /// When something is to be pushed.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.at)
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.picked = None;
    }

    /// The subflow that is pushed to next, where one was picked before.
    pub(crate) fn picked(&self) -> Option<SubflowId> {
        self.picked
    }

    /// Lets `to` push at the end of the instant.
    pub(crate) fn let_wait(&mut self, now: Instant, to: SubflowId) {
        self.at = now;
        self.picked = Some(to);
        if !self.waiting.contains(&to) {
            self.waiting.push_back(to);
        }
    }

    pub(crate) fn unpick(&mut self, subflow: SubflowId) {
        if self.picked == Some(subflow) {
            self.picked = None;
        }
    }

    /// The next subflow whose wait is over.
    pub(crate) fn next_pushed(&mut self) -> Option<SubflowId> {
        let subflow = self.waiting.pop_front()?;
        self.unpick(subflow);
        self.acknowledging = Some(subflow);
        Some(subflow)
    }
}
