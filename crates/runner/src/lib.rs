//! From names and files to runs on threads: what the command and the Python package have in common.
//!
//! [`open`] finds a scenario, [`plans`] checks everything that is to be run, and [`execute`] makes the runs. If
//! [`Watch::stop`] ends them early, the finished runs are kept. Terminal, progress bar and signals belong to the
//! command.

mod execute;
mod explain;
mod failure;
mod made_by;
mod plan;
mod report;
mod sweep;
mod validation;

pub use execute::{Engine, Prepare, Run, failed, simulate};
pub use execute::{NoWatch, Outcome, Watch, execute, spread};
pub use explain::{Explained, explanation};
pub use failure::Failure;
pub use failure::{SchedulerFault, caught, remember_places};
pub use made_by::{COMMIT, version};
pub use plan::Traces;
pub use plan::{DEFAULT_SCENARIO, Plan, Request, Source, TELLING, check, chosen, open, plans};
pub use report::{again, planned, write_pages};
pub use sweep::{Bundle, ReadyPlan};
pub use validation::{reference_runs, references};
