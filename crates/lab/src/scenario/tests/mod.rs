//! Tests of scenario files.

mod builtins;
mod errors;
mod network;
mod overrides;
mod random;
mod texts;
mod units;
mod variants;
mod warnings;

use super::*;
use pathweave_algorithms::Registry;

/// A whole file with one path that has these lines.
fn with_path(lines: &str) -> String {
    format!("format = 1\nname = \"test\"\nduration = \"5s\"\n[[path]]\n{lines}\n")
}

/// A whole file with one path and one connection that has these lines.
fn with_connection(lines: &str) -> String {
    with_path(&format!("name = \"a\"\n[[connection]]\n{lines}"))
}

fn document(text: &str) -> Document {
    Document::parse("test.toml", text).expect("the text is TOML")
}

#[track_caller]
fn read(text: &str) -> Scenario {
    match document(text).scenario(&Registry::builtin(), &Variant::AsWritten) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn error_of(text: &str) -> ScenarioError {
    let result = Document::parse("test.toml", text)
        .and_then(|document| document.scenario(&Registry::builtin(), &Variant::AsWritten));
    result.expect_err("the scenario is wrong")
}

/// Checks that the text's error is exactly this.
#[track_caller]
fn says(text: &str, expected: &str) {
    assert_eq!(error_of(text).to_string(), expected);
}

fn spec(text: &str) -> SchedulerSpec {
    SchedulerSpec::parse(text).expect("the entry is right")
}

fn scheduler(text: &str) -> Variant {
    Variant::Scheduler(spec(text))
}
