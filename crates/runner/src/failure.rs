//! Reasons for ending early.

use pathweave_lab::scenario::ScenarioError;
use std::fmt;
use std::io;

/// Why work ends early.
#[derive(Debug)]
pub enum Failure {
    /// A wrong place in a scenario, an override or a scheduler's entry.
    Scenario(Box<ScenarioError>),
    /// Other wrong input.
    Input(String),
    /// Something could not be written.
    Output(String),
    /// The reader of our output is gone.
    Closed,
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Failure::Scenario(Box::new(error))
    }
}

impl Failure {
    /// From an error while writing to `what`.
    pub fn writing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Failure {
        move |error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Output(format!("{what}: {error}")),
        }
    }
}
