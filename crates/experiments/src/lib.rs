//! Experiments as data.
//!
//! A [`Plan`](plan::Plan) is a TOML file: scenarios, the schedulers to run on them, parameters with their values,
//! seeds, figures and claims. A [`Sweep`](runs::Sweep) is the plan with all its runs. A [`Record`](record::Record)
//! holds the measured values of a run. [`Results`](results::Results) looks values up in the records.
//! [`verdicts`](claim::verdicts) decides the claims from them, and [`Answer`](answer::Answer) says whether several
//! paths are worse than one.
//!
//! Like the simulator, this crate reads no file and no clock. The command does.

pub mod ablation;
pub mod answer;
pub mod arena;
pub mod claim;
pub mod metric;
pub mod page;
pub mod plan;
pub mod plot;
pub mod record;
pub mod reproduction;
pub mod results;
pub mod runs;
pub mod table;
#[cfg(test)]
mod testing;
