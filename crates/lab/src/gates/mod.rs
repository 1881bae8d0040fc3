//! The gates for failing paths: what must hold when paths go black at any moment, whatever schedules.
//!
//! A [`Case`] is drawn from a seed: paths, buffers, controller, recovery, and when which path goes black for how long, in both
//! directions or in one. [`run`] runs it with one scheduler and watches it. [`Summary`] holds the runs of one scheduler
//! against the gates, [`table`] shows the summaries.
//!
//! Call order: [`run`] for each kind, scheduler and seed (in any order, on any thread), then [`Summary::new`] for each
//! scheduler, then [`table`].

mod case;
mod summary;
mod watch;

pub use case::{Black, Case, Kind};
pub use summary::{Summary, table};
pub use watch::{Outcome, run};
