//! Tests of scenario files.

mod builtins;
mod errors;
mod variants;

use super::*;
use pathweave_proto::Registry;

/// A whole file around these lines.
fn with_path(lines: &str) -> String {
    format!("format = 1\nname = \"test\"\nduration = \"5s\"\n[[path]]\nrate = \"8Mbps\"\n{lines}\n")
}

#[track_caller]
fn read(text: &str) -> Scenario {
    let document = Document::parse("test.toml", text).expect("the text is TOML");
    document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("the scenario is right")
}

#[track_caller]
fn error_of(text: &str) -> ScenarioError {
    let result = Document::parse("test.toml", text)
        .and_then(|document| document.scenario(&Registry::builtin(), &Variant::AsWritten));
    result.expect_err("the scenario is wrong")
}

fn scheduler(text: &str) -> Variant {
    Variant::Scheduler(SchedulerSpec::parse(text).expect("the entry is right"))
}
