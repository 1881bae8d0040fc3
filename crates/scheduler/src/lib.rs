//! The packet scheduler: which subflow carries which bytes, and when no data should leave.
//!
//! Each sender has one scheduler. It sees a read-only [`View`] and returns a [`Decision`], which the connection
//! validates, clips and carries out (ARCHITECTURE.md, contract 4). The schedulers themselves are in the crate
//! `pathweave-algorithms`.

mod decision;
mod factory;
pub mod parameter;
#[cfg(any(test, feature = "testing"))]
pub mod properties;
mod send_map;
mod seq;
mod subflow_state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod view;

pub use decision::{Assign, ClippedBy, Decision, Reason, WindowUse};
pub use factory::{ChosenScheduler, SchedulerEntry, SchedulerFactory};
pub use send_map::SendMap;
pub use seq::{DataSeq, SubflowId, SubflowSet};
pub use subflow_state::{Delivery, Growth, PathTerms, Phase, QueueState, RoundTrip, WindowState};
pub use view::{BlockedBy, Event, LossKind, SubflowView, View};

/// The rule that decides what each subflow carries.
pub trait Scheduler: Send {
    /// Returns the next decision.
    ///
    /// The connection calls this after every change that may allow a new decision (an acknowledgement, written data, a
    /// new subflow, the end of a wait), and repeats the call until the scheduler waits. It calls only while unassigned
    /// data lies inside the send window or, for a scheduler that duplicates, while data is in flight.
    fn decide(&mut self, view: &View<'_>) -> Decision;

    /// Handles an event. `view` is the state after it.
    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let _ = (event, view);
    }

    /// Whether [`Scheduler::on_event`] does anything. If not, no view is made for it.
    fn wants_events(&self) -> bool {
        true
    }

    /// Reports the values that the rule keeps between decisions, for measurements: BLEST's lambda, CP's guard times.
    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        let _ = put;
    }
}

/// A value that a scheduler keeps between decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Name, which ends with the unit if there is one: `guard_s`.
    pub name: &'static str,
    /// The subflow that the value belongs to; `None`: the connection.
    pub subflow: Option<SubflowId>,
    /// Current value.
    pub value: f64,
}
