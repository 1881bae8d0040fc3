//! Helpers for tests: plans over built-in scenarios, and made-up runs.

use crate::plan::{Plan, PlanFiles};
use crate::record::Record;
use crate::runs::{OpenError, Sources, Sweep};
use pathweave_algorithms::Registry;
use pathweave_lab::results::Status;
use pathweave_lab::scenario::{Document, builtin};

struct BuiltIn;

impl PlanFiles for BuiltIn {
    fn read(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no {name}"))
    }
}

impl Sources for BuiltIn {
    fn open(&self, name: &str) -> Result<Document, OpenError> {
        builtin(name).ok_or_else(|| OpenError::Unreadable("a built-in scenario".into()))
    }
}

/// The plan in `text`, ready to run.
pub(crate) fn sweep(text: &str) -> Sweep {
    let plan = Plan::parse("made-up.toml", text, false, &BuiltIn).unwrap_or_else(|e| panic!("{e}"));
    Sweep::new(plan, &Registry::builtin(), &BuiltIn).unwrap_or_else(|e| panic!("{e}"))
}

/// The run with this number, with a given end and goodput.
pub(crate) fn record(sweep: &Sweep, run: usize, status: Status, goodput_mbps: f64) -> Record {
    let (cell, seed) = sweep.run(run);
    Record {
        run,
        scenario: sweep.scenario_name(cell.scenario).to_owned(),
        point: Default::default(),
        variant: sweep.variants[cell.variant].name.clone(),
        seed,
        status,
        reason: None,
        digest: String::new(),
        metrics: [("goodput_mbps".to_owned(), goodput_mbps)].into(),
    }
}
