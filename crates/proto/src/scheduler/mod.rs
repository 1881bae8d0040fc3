//! The packet scheduler: which subflow carries which bytes, and when none should.
//!
//! A connection has one scheduler per direction. It sees a read-only [`View`], returns a [`Decision`], and the
//! connection validates, clips and carries it out (ARCHITECTURE.md, contract 4). To add one: a file in this folder and
//! a line in [`Registry::builtin`](crate::Registry::builtin).

mod decision;
mod event;
#[cfg(any(test, feature = "testing"))]
pub mod properties;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod view;

pub mod bas;
pub mod blest;
pub mod blest_kernel;
pub mod blind_roundrobin;
pub mod cp;
pub mod daf;
pub mod daps;
pub mod daps_two_path;
pub mod dems;
pub mod dpsaf;
pub mod ecf;
pub mod ecf_kernel;
pub mod edpf;
pub mod forward;
pub mod fpdps;
pub mod fps;
pub mod fps_daf;
pub mod hsr;
pub mod lamps;
pub mod linux;
pub mod linux_early;
pub mod lts;
pub mod lws;
pub mod minrtt;
pub mod otias;
pub mod otias_kernel;
pub mod redundant;
pub mod rems;
pub mod roundrobin;
pub mod single;
#[cfg(any(test, feature = "testing"))]
pub mod toys;
pub mod weighted_roundrobin;

pub use decision::{Assign, ClippedBy, Decision, Reason, WindowUse};
pub use event::{BlockedBy, Event, LossKind};
pub use view::{Growth, Phase, SubflowView, View};

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

    /// Whether [`Scheduler::on_event`] does anything. Where it does not, no view is made for it.
    fn wants_events(&self) -> bool {
        true
    }
}
