//! The interface of multipath packet schedulers, which decide which path carries which bytes, and when no data should
//! leave.
//!
//! The crate knows no transport. A program that sends one stream of bytes over several paths (Multipath TCP, QUIC with
//! several paths, a tunnel over several links) keeps a [`SendMap`], fills a [`SubflowView`] for each path and shows
//! both to a [`Scheduler`] as a [`View`]. The scheduler returns a [`Decision`]; the program carries it out and reports
//! what happened as an [`Event`]. The schedulers themselves are in the crate `pathweave-algorithms`.
//!
//! The words are those of Multipath TCP (RFC 8684). If QUIC (RFC 9000) has another word, the documentation adds it. The
//! feature `testing` adds two modules: `testing` builds views for tests, `properties` tests what every scheduler must
//! do.
//!
//! ```
//! use pathweave_scheduler::{
//!     Assign, DataSeq, Decision, Duration, Instant, QueueState, Reason, RoundTrip, Scheduler, SendMap, SubflowId,
//!     SubflowView, View, WindowState, WindowUse,
//! };
//!
//! /// The path with the shortest round trip that has room.
//! struct Quickest;
//!
//! impl Scheduler for Quickest {
//!     fn decide(&mut self, view: &View<'_>) -> Decision {
//!         let free = view.candidates().filter(|s| s.has_space());
//!         let Some(s) = free.min_by_key(|s| s.rtt.smoothed) else { return Decision::no_space() };
//!         let Some(range) = view.next_for(s, s.window_space()) else { return Decision::nothing_to_send() };
//!         let reason = Reason::new("the shortest round trip with room");
//!         Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
//!     }
//! }
//!
//! // Two paths with room for ten segments each, and 1 MB that was written.
//! let path = |id, ms| SubflowView {
//!     id: SubflowId(id),
//!     mss: 1200,
//!     rtt: RoundTrip { smoothed: Some(Duration::from_millis(ms)), ..RoundTrip::default() },
//!     window: WindowState { cwnd: 10, ..WindowState::default() },
//!     queue: QueueState { space: 1 << 20, ..QueueState::default() },
//!     ..SubflowView::default()
//! };
//! let (paths, mut stream) = ([path(0, 50), path(1, 20)], SendMap::new());
//! stream.append(1_000_000);
//! let view = View {
//!     now: Instant::from_secs(1),
//!     subflows: &paths,
//!     queue: &stream,
//!     send_window_end: DataSeq(500_000),
//!     send_window: 500_000,
//!     send_buffer_free: 0,
//!     send_buffer: 1_000_000,
//!     message_end: None,
//!     fragment_ends: None,
//! };
//! let Decision::Assign(assign) = Quickest.decide(&view) else { panic!("a path has room") };
//! assert_eq!((assign.subflow, assign.range.clone()), (SubflowId(1), DataSeq(0)..DataSeq(12_000)));
//!
//! // The sender puts these bytes on that path, and notes it.
//! stream.assign(assign.range, assign.subflow);
//! assert_eq!(stream.unassigned_bytes(), 988_000);
//! ```

#![no_std]

extern crate alloc;

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
pub use pathweave_units::{Duration, Instant};
pub use send_map::SendMap;
pub use seq::{DataSeq, SubflowId, SubflowSet};
pub use subflow_state::{Delivery, Growth, PathTerms, Phase, QueueState, RoundTrip, WindowState};
pub use view::{Blocked, BlockedBy, Event, LossKind, SubflowView, View};

/// A rule that decides which subflow carries which bytes.
pub trait Scheduler: Send {
    /// Returns the next decision.
    ///
    /// The connection calls this after every change that may allow a new decision (an acknowledgement, written data, a
    /// new subflow, the end of a wait), and repeats the call until the scheduler waits. It calls only while unassigned
    /// data lies inside the send window or, for a scheduler that duplicates, while data is in flight.
    fn decide(&mut self, view: &View<'_>) -> Decision;

    /// Handles an event. `view` is the state after the event.
    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let _ = (event, view);
    }

    /// Whether [`Scheduler::on_event`] does anything. If not, the connection makes no views for events and does not
    /// call it.
    fn wants_events(&self) -> bool {
        true
    }

    /// Calls `put` with each value that the rule keeps between decisions, such as BLEST's lambda or CP's guard times.
    /// Measurements record them.
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
