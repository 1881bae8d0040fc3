//! From names and files to runs on threads: what the command and the Python package have in common.
//!
//! [`open`] finds a scenario, [`plans`] checks everything that is to be run, [`execute`] makes the runs and keeps those that are finished
//! when somebody asks to [stop](Watch::stop). The terminal, its progress bar and its signals are the command's.

mod execute;
mod explain;
mod failure;
mod plan;
mod report;
mod sweep;
mod validation;

pub use execute::{Engine, Prepare, Run, failed, simulate};
pub use execute::{NoWatch, Outcome, Watch, execute, spread};
pub use explain::{Explained, explanation};
pub use failure::Failure;
pub use failure::{SchedulerFault, caught, remember_places};
pub use plan::Traces;
pub use plan::{DEFAULT_SCENARIO, Plan, Request, Source, TELLING, check, chosen, open, plans};
pub use report::{planned, write_pages};
pub use sweep::{Bundle, ReadyPlan};
pub use validation::{reference_runs, references};
