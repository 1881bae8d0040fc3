//! The gates for failing paths: what must hold when paths go dark at any moment, with every scheduler.
//!
//! A [`Case`] is drawn from a seed: paths, buffers, controller, recovery, and when which path goes dark for how long, in both
//! directions or in one. [`run`] runs it with one scheduler and watches it. [`Summary`] holds the runs of one scheduler
//! against the gates, [`table`] shows the summaries.
//!
//! Call order: [`run`] for each kind, scheduler and seed (in any order, on any thread), then [`Summary::new`] for each
//! scheduler, then [`table`].

mod case;
mod summary;
mod watch;

pub use case::{Case, Dark, Kind};
pub use summary::{Summary, table};
pub use watch::{Outcome, run};
