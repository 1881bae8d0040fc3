//! Scenarios, runs and metrics: one run is a pure function of scenario, seed and files (ARCHITECTURE.md, contract 7).

pub mod benefit;
pub mod results;
pub mod scenario;
