//! The packet scheduler: which subflow carries which bytes, and when none should.
//!
//! A connection has one scheduler per direction. It sees a read-only [`View`], returns a [`Decision`], and the
//! connection validates, clips and carries it out (ARCHITECTURE.md, contract 4). The schedulers themselves are in the crate
//! `pathweave-algorithms`.

mod decision;
mod factory;
#[cfg(any(test, feature = "testing"))]
pub mod properties;
#[cfg(any(test, feature = "testing"))]
pub mod test_schedulers;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod view;

pub use decision::{Assign, ClippedBy, Decision, Reason, WindowUse};
pub use factory::{ChosenScheduler, SchedulerEntry, SchedulerFactory};
pub use view::{BlockedBy, Event};
pub use view::{SubflowView, View};

use crate::seq::SubflowId;

/// Decides what each subflow carries.
pub trait Scheduler: Send {
    /// The next thing to do now.
    ///
    /// Called again and again until it waits: after every change that may allow a new answer (an acknowledgement, data
    /// written, a subflow up, a wait's time). Called only while there is something unassigned inside the send window,
    /// or something in flight that a scheduler registered as duplicating may want to repeat.
    fn decide(&mut self, view: &View<'_>) -> Decision;

    /// Something happened. `view` is the state after it.
    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let _ = (event, view);
    }

    /// Whether [`Scheduler::on_event`] does anything. If it does not, no view is made for it.
    fn wants_events(&self) -> bool {
        true
    }

    /// What the rule carries along from decision to decision, for measurements: BLEST's lambda, CP's guard times.
    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        let _ = put;
    }
}

/// A number that a scheduler carries along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Its name, with its unit at the end where it has one: `guard_s`.
    pub name: &'static str,
    /// The subflow that it is about; `None`: the connection.
    pub subflow: Option<SubflowId>,
    /// Its value now.
    pub value: f64,
}
