//! Opens scenarios by name or file and makes their runs on threads, for the command and the Python package.
//!
//! [`open`] finds a scenario, [`plans`] checks everything that is to be run, and [`execute`] makes the runs. If
//! [`Watch::stop`] ends them early, the finished runs are kept. Terminal, progress bar and signals belong to the
//! command.
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_runner::{NoWatch, Request, execute, open, plans, simulate};
//!
//! let registry = Registry::builtin();
//! let mut source = open("wifi-lte").unwrap();
//! source.document.set("duration", "12s").unwrap();
//!
//! // Two schedulers, and plain TCP on each of the two paths. Nothing is written, and all processors are used.
//! let request = Request { schedulers: Some("minrtt,blest".into()), against: None, why: None, seeds: vec![1] };
//! let plans = plans(&request, [Ok(source)], &registry).unwrap();
//! let outcome = execute(&plans, &registry, &simulate, None, &NoWatch, None, None).unwrap();
//! assert_eq!(outcome.results.len(), 4);
//! ```

mod arena;
mod execute;
mod explain;
mod failure;
mod made_by;
mod plan;
mod report;
mod sweep;
mod validation;

pub use arena::{Arena, COMPETING, Competition, Points};
pub use execute::{Engine, Prepare, Run, failed, simulate};
pub use execute::{NoWatch, RunOutcome, Watch, execute, spread, stopped_line};
pub use explain::{Explained, explanation};
pub use failure::Failure;
pub use failure::{SchedulerFault, caught, remember_places};
pub use made_by::{COMMIT, version};
pub use plan::Traces;
pub use plan::{DEFAULT_SCENARIO, Request, RunPlan, Source, TELLING, check, chosen, open, plans};
pub use report::{again, planned, write_pages};
pub use sweep::{Bundle, ReadyPlan};
pub use validation::{reference_runs, references};
