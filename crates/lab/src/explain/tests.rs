use super::*;
use crate::scenario::{NoFiles, SchedulerSpec, builtin};

fn explained(scenario: &str, scheduler: &str, settings: &[(&str, &str)], to_ms: u64) -> Explanation {
    let mut document = builtin(scenario).expect("it is built in");
    for (key, value) in settings {
        document.set(key, value).expect("it is a setting");
    }
    let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("it is one"));
    let to = Instant::ZERO + Duration::from_millis(to_ms);
    explain(&document, &variant, 1, (Instant::ZERO, to), None, &Registry::builtin(), &NoFiles).expect("it runs")
}

/// The texts of all waits for a subflow.
fn waits(explanation: &Explanation) -> Vec<String> {
    let wait = |e: &Entry| match &e.what {
        What::Decision { verdict: DecisionEntry::Wait { for_subflow: Some(_), .. }, reason, .. } => {
            Some(reason.text.clone())
        }
        _ => None,
    };
    explanation.entries.iter().filter_map(wait).collect()
}

#[test]
fn waits_are_told_with_the_numbers_that_were_compared() {
    let small = [("connection.receive_buffer", "60KB")];
    let blest = waits(&explained("wlan-3g", "blest", &small, 1000));
    assert!(blest.iter().all(|t| t.starts_with("X·λ = ") && t.contains(" KB > ") && t.contains(" free (lambda = ")));
    let cp = waits(&explained("wlan-3g", "cp", &small, 1000));
    assert!(cp.iter().all(|t| t.starts_with("B = ") && t.contains(" > ") && t.ends_with(" available")), "{cp:?}");
    // ECF waits when little data is left to send.
    let sized = [("connection.workload", "transfer:size=800KB"), ("connection.receive_buffer", "1MB")];
    let ecf = waits(&explained("cp-asymmetric", "ecf", &sized, 3000));
    assert!(ecf.iter().all(|t| t.contains("·rtt_F = ") && t.contains(" ms < ") && t.contains(" ms ≥ ")), "{ecf:?}");
    for (name, waits) in [("blest", blest), ("cp", cp), ("ecf", ecf)] {
        assert!(!waits.is_empty(), "{name} never waited");
    }
}

#[test]
fn recording_changes_nothing_in_the_run() {
    let registry = Registry::builtin();
    for (name, scheduler) in [("wlan-3g", "blest"), ("wifi-lte", "redundant"), ("cp-symmetric", "linux")] {
        let mut document = builtin(name).expect("it is built in");
        document.set("duration", "3s").expect("it is a setting");
        document.set("measure_from", "0s").expect("it is a setting");
        let variant = Variant::Scheduler(SchedulerSpec::parse(scheduler).expect("it is one"));
        let scenario = document.scenario(&registry, &variant).expect("it is right");
        let new = || Simulation::new(&scenario, 1, &registry, &NoFiles).expect("it can be built");
        let plain = new().run();
        let mut traced = new();
        traced.observe(Kinds::ALL);
        let mut recorded = 0;
        let mut until = Instant::ZERO;
        while {
            until += STEP;
            traced.run_until(until)
        } {
            recorded += std::iter::from_fn(|| traced.poll_observation()).count();
        }
        assert!(recorded > 100, "{recorded} entries of {scheduler} on {name}");
        assert_eq!(traced.finish().digest, plain.digest, "{scheduler} on {name}");
    }
}

#[test]
fn every_scheduler_explains_itself_without_a_brace_left() {
    for spec in SchedulerSpec::all(&Registry::builtin()) {
        let explanation = explained("wlan-3g", &spec.text, &[("connection.receive_buffer", "100KB")], 800);
        let mut decisions = 0;
        for entry in &explanation.entries {
            let What::Decision { reason, .. } = &entry.what else { continue };
            decisions += 1;
            assert!(!reason.text.contains(['{', '}']), "{}: {}", spec.text, reason.text);
            assert!(!reason.text.is_empty() && !reason.text.ends_with('.'), "{}: {}", spec.text, reason.text);
        }
        assert!(decisions > 20, "{}: {decisions} decisions", spec.text);
    }
}

#[test]
fn what_was_given_follows_what_was_seen() {
    let explanation = explained("wlan-3g", "minrtt", &[], 600);
    let mut end = 0;
    for entry in &explanation.entries {
        let What::Decision { saw, outcome, .. } = &entry.what else { continue };
        assert_eq!(saw.first_unassigned.unwrap_or(end), end, "minrtt sends in order");
        if let Some(given) = outcome.given() {
            assert_eq!(given.range[0], end);
            end = given.range[1];
            assert!(saw.subflows.iter().any(|s| s.name == given.subflow && s.window_space_segments > 0));
        }
    }
    assert!(end > 0);
}

#[test]
fn a_span_without_a_decision_names_the_nearest() {
    let mut document = builtin("wifi-lte").expect("it is built in");
    document.set("connection.start_spread", "0s").expect("it is a setting");
    let variant = Variant::Scheduler(SchedulerSpec::parse("minrtt").expect("it is one"));
    let span = (Instant::ZERO, Instant::ZERO + Duration::from_millis(1));
    let explanation = explain(&document, &variant, 1, span, None, &Registry::builtin(), &NoFiles).expect("it runs");
    assert!(explanation.entries.is_empty());
    assert_eq!(explanation.before_s, None);
    // The handshake takes a round trip of 20 ms.
    assert!(explanation.after_s.is_some_and(|t| t > 0.019 && t < 0.03), "{:?}", explanation.after_s);
}
