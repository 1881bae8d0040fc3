//! Segments that travel as bytes give the same results (ARCHITECTURE.md, contract 8).
//!
//! `cargo xtask determinism` and `cargo xtask through-bytes` run more of it.

use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::scenario::{BUILTIN, NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_lab::{run, run_watched};

fn json(result: &RunResult) -> String {
    serde_json::to_string(result).expect("a result has a JSON form")
}

#[test]
fn every_built_in_scenario_gives_the_same_through_bytes() {
    let registry = Registry::builtin();
    for (name, _) in BUILTIN {
        let mut document = builtin(name).expect("a built-in scenario");
        document.set("duration", "3s").expect("a right setting");
        document.set("measure_from", "0s").expect("a right setting");
        for spec in ["minrtt", "linux"] {
            let variant = Variant::Scheduler(SchedulerSpec::parse(spec).expect("a scheduler"));
            let values = run(&document, &variant, 1, &registry, &NoFiles).expect("it runs");
            let bytes = run_watched(&document, &variant, 1, &registry, &NoFiles, |s| s.set_through_bytes());
            assert_eq!(json(&bytes.expect("it runs")), json(&values), "{name} {spec}");
        }
    }
}
