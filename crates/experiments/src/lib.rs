//! Experiments as data.
//!
//! A [`Plan`](plan::Plan) is a TOML file: scenarios, what is run on them, parameters with their values, seeds, figures and claims. A
//! [`Sweep`](runs::Sweep) is the plan with every run that it asks for; [`Record`](record::Record)s are what the runs leave behind.
//! [`Results`](results::Results) looks values up in them, from which
//! [`verdicts`](claim::verdicts) decides the claims, and [`Answer`](answer::Answer) says whether several paths are worse than one.
//!
//! Like the simulator, this reads no file and no clock: the command does.

pub mod ablation;
pub mod answer;
pub mod arena;
pub mod calibration;
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
