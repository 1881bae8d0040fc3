//! Experiments as data: plans of sweeps, their runs and records, and verdicts on claims.
//!
//! A [`Plan`](plan::Plan) is a TOML file: scenarios, the schedulers to run on them, parameters with their values,
//! seeds, figures and claims. A [`Sweep`](runs::Sweep) is the plan with all its runs. A [`Record`](record::Record)
//! holds the measured values of a run. [`Results`](results::Results) looks values up in the records.
//! [`verdicts`](claim::verdicts) decides the claims from them, and [`Answer`](answer::Answer) says whether several
//! paths are worse than one.
//!
//! Like the simulator, this crate reads no file and no clock. The command does.
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_experiments::plan::{Plan, PlanFiles};
//! use pathweave_experiments::runs::{OpenError, Sources, Sweep};
//! use pathweave_lab::scenario::{Document, builtin};
//!
//! // The source of the plan's scenarios and files: the built-in scenarios, and no files.
//! struct BuiltIn;
//!
//! impl Sources for BuiltIn {
//!     fn open(&self, name: &str) -> Result<Document, OpenError> {
//!         builtin(name).ok_or_else(|| OpenError::Unreadable("a built-in scenario".into()))
//!     }
//! }
//!
//! impl PlanFiles for BuiltIn {
//!     fn read(&self, name: &str) -> Result<String, String> {
//!         Err(format!("there is no {name}"))
//!     }
//! }
//!
//! let text = r#"
//!     format = 1
//!     name = "buffers"
//!     scenarios = ["cp-asymmetric"]
//!     schedulers = ["minrtt", "blest"]
//!     seeds = 3
//!     [[parameter]]
//!     name = "buffer"
//!     values = [40, 100, 400]
//!     set = { "connection.receive_buffer" = "{}KB" }
//! "#;
//! let plan = Plan::parse("buffers.toml", text, false, &BuiltIn)?;
//! let sweep = Sweep::new(plan, &Registry::builtin(), &BuiltIn)?;
//! // Two schedulers, and plain TCP on each of the two paths, with three buffers and three seeds.
//! assert_eq!(sweep.len(), 4 * 3 * 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ablation;
pub mod answer;
pub mod arena;
pub mod calibration;
mod case;
pub mod claim;
pub mod columns;
pub mod page;
pub mod plan;
pub mod plot;
pub mod promises;
pub mod record;
pub mod reproduction;
pub mod results;
pub mod runs;
pub mod table;
#[cfg(test)]
mod testing;
