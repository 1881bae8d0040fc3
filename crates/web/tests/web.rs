//! The laboratory answers as the command does: the same digests, sentences, rankings, explanations and errors.

use pathweave_algorithms::Registry;
use pathweave_lab::benefit::fill_aggregation_benefit;
use pathweave_lab::results::RunResult;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_report::{Comparison, verdict};
use pathweave_web::Laboratory;
use serde_json::{Value, json};

const TWO_PATHS: &str = r#"
    format = 1
    name = "two-paths"
    duration = "4s"
    measure_from = "1s"
    [[path]]
    name = "near"
    rate = "20Mbps"
    delay = "10ms"
    queue = "50packets"
    loss = "0.5%"
    [[path]]
    name = "far"
    rate = "10Mbps"
    delay = "60ms"
    queue = "50packets"
    [[connection]]
    congestion = "cubic"
    receive_buffer = "128KiB"
"#;

fn ask(laboratory: &mut Laboratory, request: Value) -> Value {
    serde_json::from_str(&laboratory.reply(&request.to_string())).expect("an answer is JSON")
}

fn planned(toml: &str) -> (Laboratory, Value) {
    let mut laboratory = Laboratory::new();
    let request = json!({"ask": "plan", "file": "two-paths.toml", "toml": toml, "schedulers": "minrtt,roundrobin"});
    let plan = ask(&mut laboratory, request);
    (laboratory, plan)
}

/// The same runs without the laboratory, in the plan's order, seed by seed.
fn results(seeds: u64) -> Vec<RunResult> {
    let document = Document::parse("two-paths.toml", TWO_PATHS).expect("it is TOML");
    let scheduler = |name| Variant::Scheduler(SchedulerSpec::parse(name).expect("it is a scheduler"));
    let variants = [scheduler("minrtt"), scheduler("roundrobin"), Variant::PlainTcp(0), Variant::PlainTcp(1)];
    let registry = Registry::builtin();
    let run = |variant, seed| pathweave_lab::run(&document, variant, seed, &registry, &NoFiles).expect("it runs");
    (1..=seeds).flat_map(|seed| variants.iter().map(move |variant| run(variant, seed))).collect()
}

#[test]
fn a_run_has_the_simulators_digest() {
    let (mut laboratory, plan) = planned(TWO_PATHS);
    assert_eq!(plan["runs"], json!(["minrtt", "roundrobin", "tcp-path0", "tcp-path1"]));
    for (variant, result) in results(1).iter().enumerate() {
        let ran = ask(&mut laboratory, json!({"ask": "run", "variant": variant, "seed": 1}));
        assert_eq!(ran["scheduler"], result.scheduler);
        assert_eq!(ran["digest"], result.digest);
        assert_eq!(ran["status"], "completed");
    }
}

#[test]
fn the_answer_is_the_reports() {
    let (mut laboratory, _) = planned(TWO_PATHS);
    for seed in 1..=3 {
        for variant in 0..4 {
            ask(&mut laboratory, json!({"ask": "run", "variant": variant, "seed": seed}));
        }
    }
    let answer = ask(&mut laboratory, json!({"ask": "compare"}));
    let mut results = results(3);
    fill_aggregation_benefit(&mut results);
    let comparison = &Comparison::all(&results, &[], None)[0];
    let expected = verdict(comparison).expect("there is an answer");
    assert_eq!(answer["sentences"], json!(expected.answer));
    assert_eq!(answer["seeds"], 3);
    let rows = answer["drawn"]["rows"].as_array().expect("there are rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    let ranked: Vec<&str> = comparison.summaries.iter().map(|row| row.scheduler.as_str()).collect();
    assert_eq!(names, ranked);
    let interval = comparison.summaries[0].value.and_then(|value| value.interval).expect("three seeds have one");
    assert_eq!(answer["intervals"][0], json!([interval.0, interval.1]));
    // 4 s in steps of the series, as medians over the seeds.
    assert!(rows[0]["goodput_series"]["median"].as_array().is_some_and(|series| series.len() >= 40));
    let command = answer["command"].as_str().expect("it is text");
    assert!(
        command.starts_with("pathweave compare two-paths.toml --schedulers minrtt,roundrobin --seeds 3"),
        "{command}"
    );
}

#[test]
fn half_of_the_runs_are_said_to_be_missing() {
    let (mut laboratory, _) = planned(TWO_PATHS);
    for variant in [0, 2] {
        ask(&mut laboratory, json!({"ask": "run", "variant": variant, "seed": 1}));
    }
    let answer = ask(&mut laboratory, json!({"ask": "compare"}));
    let said = answer["sentences"][0].as_str().expect("it is a sentence");
    assert_eq!(said, "Stopped early: 2 of 4 runs are finished. Never run: roundrobin and tcp-path1 (far).");
}

#[test]
fn a_second_has_each_decision_with_its_reason() {
    let (mut laboratory, _) = planned(TWO_PATHS);
    let request = json!({"ask": "explain", "scheduler": "minrtt", "seed": 1, "from": "1s", "to": "2s"});
    let page = ask(&mut laboratory, request);
    let page = page.as_str().expect("it is a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("minrtt on two-paths, seed 1, 1 s to 2 s"));
    assert!(page.contains("because "), "decisions have reasons");
}

#[test]
fn errors_are_the_commands() {
    let (mut laboratory, wrong) = planned(&TWO_PATHS.replace("\"4s\"", "\"5 parsecs\""));
    let error = wrong["error"].as_str().expect("it is wrong");
    assert!(error.starts_with("two-paths.toml:4: duration = 5 parsecs: allowed: "), "{error}");
    for (request, expected) in [
        (json!({"ask": "run", "variant": 0, "seed": 1}), "there is no plan"),
        (json!({"ask": "compare"}), "there is no plan"),
        (json!({"ask": "everything"}), "not a request: unknown variant `everything`"),
    ] {
        let answer = ask(&mut laboratory, request);
        assert!(answer["error"].as_str().is_some_and(|text| text.starts_with(expected)), "{answer}");
    }
    let request = json!({"ask": "plan", "file": "a.toml", "toml": TWO_PATHS, "schedulers": "minrt"});
    let error = ask(&mut laboratory, request)["error"].to_string();
    assert!(error.contains("unknown scheduler `minrt`; did you mean `minrtt`?"), "{error}");
    let (mut laboratory, _) = planned(TWO_PATHS);
    let answer = ask(&mut laboratory, json!({"ask": "run", "variant": 9, "seed": 1}));
    assert_eq!(answer["error"], "the plan has no run 9");
}

#[test]
fn a_new_plan_forgets_the_runs_of_the_last() {
    let (mut laboratory, _) = planned(TWO_PATHS);
    ask(&mut laboratory, json!({"ask": "run", "variant": 0, "seed": 7}));
    let request = json!({"ask": "plan", "file": "a.toml", "toml": TWO_PATHS, "schedulers": "minrtt"});
    ask(&mut laboratory, request);
    let answer = ask(&mut laboratory, json!({"ask": "compare"}));
    assert_eq!(answer["drawn"]["rows"], json!([]));
}
