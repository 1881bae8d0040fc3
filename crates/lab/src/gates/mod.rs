//! The gates for failing paths: requirements on every scheduler when paths go dark at any moment.
//!
//! A [`Case`] is drawn from a seed: paths, buffers, controller, recovery, and the outages of paths in one direction or
//! both. [`run`] runs it with one scheduler and watches it. [`Summary`] compares the runs of one scheduler with the
//! gates, and [`table`] shows the summaries.
//!
//! Call order: [`run`] for each kind, scheduler and seed (in any order, on any thread), then [`Summary::new`] for each
//! scheduler, then [`table`].

mod case;
mod summary;
mod watch;

pub use case::{Case, Dark, Kind};
pub use summary::{Summary, table};
pub use watch::{Outcome, run};
