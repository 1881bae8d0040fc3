//! Compares the engine with measurements of the real Linux stack.
//!
//! A reference file has one run of Linux per line ([`Reference::read`]; its fields are in `validation/README.md`). Each
//! of its scenarios is set up here in the same way ([`scenario_text`]), run with our own seeds ([`run`]), and compared
//! ([`Comparison`]). [`Summary`] compares the results with the [limits](Limit).
//!
//! Call order: [`Reference::read`], then [`run`] for each reference and each of [`Reference::seeds`] (in any order, on
//! any thread), then [`Comparison::new`], then [`Summary::new`] over all.

mod compare;
mod limits;
mod reference;
mod run;
mod table;

#[cfg(test)]
mod tests;

pub use compare::{Class, Comparison, Quartiles};
pub use limits::{BenefitCheck, Limit, Row, Summary};
pub use reference::ReferenceError;
pub use reference::{Amount, LinuxRun, Mode, PathSetup, RateStep, Reference, Setup};
pub use run::scenario_text;
pub use run::{OurRun, run, run_variant};
pub use table::{Alternatives, best_path_table, gain_table};
pub use table::{comparison_table, ranges_table, summary_table};
