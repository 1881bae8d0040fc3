//! Schedulers that must do the same under certain settings, down to the last packet.

use pathweave_algorithms::Registry;
use pathweave_lab::run;
use pathweave_lab::scenario::{NoFiles, SchedulerSpec, Variant, builtin};

/// Everything that a capture on every link would show of eight seconds.
fn digest(scenario: &str, scheduler: &str) -> String {
    let mut document = builtin(scenario).expect("a built-in scenario");
    document.set("duration", "8s").expect("a right setting");
    document.set("measure_from", "0s").expect("a right setting");
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("a scheduler"));
    run(&document, &variant, 1, &Registry::builtin(), &NoFiles).expect("it runs").digest
}

/// Whether `a` and `b` are the same in each scenario.
fn same(a: &str, b: &str) -> Vec<bool> {
    ["wlan-3g", "cp-asymmetric", "wifi-lte"].iter().map(|s| digest(s, a) == digest(s, b)).collect()
}

/// DPSAF eq. 11: Δ stays zero.
#[test]
fn feedback_with_an_alpha_of_zero_changes_nothing() {
    for (with, without) in [("dpsaf", "fpdps"), ("fps-daf", "fps")] {
        assert_eq!(same(&format!("{with}:alpha=0"), without), [true; 3], "{with}");
        assert_eq!(same(with, without), [false; 3], "{with}: the default has an effect");
    }
}
