//! Scenarios, runs and metrics: one run is a pure function of scenario, seed and files (ARCHITECTURE.md, contract 7).

pub mod benefit;
pub mod bound;
pub mod explain;
pub mod gates;
pub mod middlebox;
pub mod results;
mod run;
pub mod scenario;
pub mod sim;
pub mod validation;
mod value_parser;

pub use run::{RunError, run, run_watched};
