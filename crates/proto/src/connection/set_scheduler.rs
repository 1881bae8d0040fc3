//! The scheduler of a living connection: what it carries along, and another one in its place.

use super::Connection;
use crate::parameter::ParameterError;
use crate::scheduler::{ChosenScheduler, Event, Quantity};
use crate::sender::blocking::Blocked;
use crate::seq::SubflowId;
use arrayvec::ArrayVec;
use pathweave_units::Instant;

impl Connection {
    /// What this side's scheduler carries along now (see [`Scheduler::quantities`](crate::scheduler::Scheduler::quantities)).
    pub fn scheduler_quantities(&self, put: &mut dyn FnMut(Quantity)) {
        self.scheduling.scheduler.quantities(put);
    }

    /// Exchanges the scheduler of this side's sending direction. The old one is dropped with all that it remembers.
    ///
    /// What the old one gave to subflows stays there. What it waited for ends, and subflows that it picked and that have not been
    /// pushed to yet are picked no more. The new one is told of each subflow that can carry data and of what holds data back, as
    /// if both had just begun, and is asked at once. Events of data that the old one assigned reach the new one.
    ///
    /// # Errors
    /// Where the new one's factory does not take a value; the old one goes on.
    pub fn set_scheduler(&mut self, now: Instant, chosen: ChosenScheduler) -> Result<(), ParameterError> {
        self.scheduling.scheduler = chosen.build()?;
        self.config.scheduler = chosen;
        self.scheduling.wake = None;
        self.host.clear_pushes();
        let usable: ArrayVec<SubflowId, { SubflowId::MAX_SUBFLOWS }> = self.subflows.usable().map(|s| s.id).collect();
        for id in usable {
            self.tell(now, |_| Event::SubflowUp(id));
        }
        if let Some(Blocked { by, holders, .. }) = self.sender.blocked {
            self.tell(now, |_| Event::WindowBlocked { by, holders });
        }
        self.schedule(now);
        Ok(())
    }
}
