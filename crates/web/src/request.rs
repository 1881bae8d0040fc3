//! The requests, and the answers that are not comparisons.

use serde::{Deserialize, Serialize};

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// List the algorithms and the built-in scenarios.
    Offer,
    /// Check a scenario and schedulers, and forget earlier runs.
    Plan {
        /// The scenario's file name, for errors and commands.
        file: String,
        /// The scenario's text.
        toml: String,
        /// Schedulers, separated by commas, or `all`.
        schedulers: String,
    },
    /// Make one run of the plan.
    Run {
        /// An index into the plan's runs.
        variant: usize,
        /// The seed.
        seed: u64,
    },
    /// Compare the finished runs.
    Compare,
    /// Explain the decisions of one run of the plan.
    Explain {
        /// The scheduler, as in the plan.
        scheduler: String,
        /// The seed.
        seed: u64,
        /// The first time, such as `2s`.
        from: String,
        /// The last time.
        to: String,
    },
}

/// The answer to [`Request::Offer`].
#[derive(Serialize)]
pub(crate) struct Offer {
    pub(crate) version: &'static str,
    pub(crate) schedulers: Vec<Item>,
    /// The schedulers that the command runs if none are named.
    pub(crate) telling: &'static [&'static str],
    pub(crate) controllers: Vec<Item>,
    pub(crate) scenarios: Vec<Text>,
}

/// An algorithm.
#[derive(Serialize)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) summary: String,
}

/// A built-in scenario.
#[derive(Serialize)]
pub(crate) struct Text {
    pub(crate) name: &'static str,
    pub(crate) toml: &'static str,
}

/// The answer to [`Request::Plan`].
#[derive(Serialize)]
pub(crate) struct Planned {
    pub(crate) name: String,
    /// Schedulers, then plain TCP on each path.
    pub(crate) runs: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// The length of a run and the start of the measured time, seconds.
    pub(crate) duration_s: f64,
    pub(crate) measure_from_s: f64,
}

/// The answer to [`Request::Run`].
#[derive(Serialize)]
pub(crate) struct Ran {
    pub(crate) scheduler: String,
    pub(crate) seed: u64,
    pub(crate) status: pathweave_lab::results::Status,
    pub(crate) reason: Option<String>,
    pub(crate) digest: String,
}
