use super::*;
use crate::args::Jobs;
use pathweave_lab::results::{Metrics, PathMetrics, Series};
use pathweave_runner::{NoWatch, Run, TELLING, failed};
use std::num::NonZero;

/// Makes up a result from the run's label and seed alone.
fn made_up(run: &Run<'_>) -> RunResult {
    let label = run.variant.label();
    let level = label.bytes().map(f64::from).sum::<f64>() / 100.0 + run.seed as f64 / 10.0;
    let mut result = failed(run, "");
    result.status = Status::Completed;
    result.reason = None;
    result.metrics = Metrics {
        goodput_mbps: level,
        per_path: run
            .scenario
            .paths
            .iter()
            .map(|_| PathMetrics { sent_bytes: 10, goodput_mbps: 1.0, ..PathMetrics::default() })
            .collect(),
        ..Metrics::default()
    };
    result.series = Series { step_s: 0.1, goodput_mbps: vec![level; 5], ..Series::default() };
    result
}

fn options(scenarios: &[&str], schedulers: &str, jobs: usize) -> CompareOptions {
    CompareOptions {
        scenarios: scenarios.iter().map(|s| s.to_string()).collect(),
        schedulers: Some(schedulers.into()),
        seeds: NonZero::new(2),
        jobs: Jobs { at_once: NonZero::new(jobs) },
        ..CompareOptions::default()
    }
}

fn results(options: &CompareOptions, engine: &Engine) -> Result<Vec<RunResult>, Failure> {
    let registry = Registry::builtin();
    let plans = plans(options, &registry)?;
    Ok(execute(&plans, &registry, engine, options.jobs.at_once, &NoWatch, None, None)?.results)
}

fn names(results: &[RunResult]) -> Vec<String> {
    results.iter().map(|r| format!("{} {} {}", r.scenario, r.scheduler, r.seed)).collect()
}

#[test]
fn the_order_is_that_of_scenarios_schedulers_and_seeds_with_plain_tcp_last() {
    let one = results(&options(&["wlan-3g", "cp-asymmetric"], "blest,minrtt", 1), &made_up).expect("all is right");
    assert_eq!(
        names(&one)[..9],
        [
            "wlan-3g blest 1",
            "wlan-3g blest 2",
            "wlan-3g minrtt 1",
            "wlan-3g minrtt 2",
            "wlan-3g tcp-path0 1",
            "wlan-3g tcp-path0 2",
            "wlan-3g tcp-path1 1",
            "wlan-3g tcp-path1 2",
            "cp-asymmetric blest 1",
        ]
    );
    assert!(one.iter().all(|r| r.metrics.aggregation_benefit.is_some()));
    let many = results(&options(&["wlan-3g", "cp-asymmetric"], "blest,minrtt", 8), &made_up).expect("all is right");
    let json = |results: &[RunResult]| serde_json::to_string(results).expect("it has a JSON form");
    assert_eq!(json(&one), json(&many));
}

#[test]
fn lines_leave_in_the_order_of_the_plan_with_their_benefit() {
    let options = options(&["wlan-3g"], "blest,minrtt", 4);
    let registry = Registry::builtin();
    let plans = plans(&options, &registry).expect("all is right");
    let mut lines: Vec<u8> = Vec::new();
    let outcome = execute(&plans, &registry, &made_up, options.jobs.at_once, &NoWatch, None, Some(&mut lines))
        .expect("all is right");
    let text = String::from_utf8(lines).expect("JSON is Unicode");
    let expected: String =
        outcome.results.iter().map(|r| serde_json::to_string(r).expect("it has a JSON form") + "\n").collect();
    assert_eq!(text, expected);
    assert_eq!((outcome.results.len(), outcome.planned), (8, 8));
}

#[test]
fn without_names_the_telling_ones_run_and_what_a_reference_needs() {
    let registry = Registry::builtin();
    let names = |options: &CompareOptions| {
        let plans = plans(options, &registry).expect("all is right");
        plans[0].variants.iter().map(|(v, _)| v.label()).collect::<Vec<_>>().join(" ")
    };
    let few = "minrtt linux roundrobin redundant blest ecf cp dpsaf rems weave";
    assert_eq!(names(&CompareOptions::default()), format!("{few} tcp-path0 tcp-path1"));
    let against = |name: &str| CompareOptions { against: Some(name.into()), ..options(&[], "blest", 1) };
    assert_eq!(names(&against("linux")), "blest linux tcp-path0 tcp-path1");
    assert_eq!(names(&against("tcp-path1")), "blest tcp-path0 tcp-path1");
    assert!(plans(&against("tcp-pathological"), &registry).is_err());
}

#[test]
fn the_help_names_what_is_run_by_default() {
    use clap::CommandFactory;
    let command = crate::args::Arguments::command();
    let compare = command.find_subcommand("compare").expect("it is a part of the command");
    let help = |id: &str| {
        let argument = compare.get_arguments().find(|a| a.get_id() == id).expect("it is an argument");
        argument.get_help().expect("it has a help").to_string()
    };
    let names: Vec<_> = TELLING.to_vec();
    assert!(help("schedulers").contains(&format!("[default: {}]", names.join(", "))), "{}", help("schedulers"));
    assert!(help("scenarios").contains(&format!("[default: {}]", DEFAULT_SCENARIO)));
}

#[test]
fn all_is_the_whole_registry_once() {
    let registry = Registry::builtin();
    let all = plans(&options(&[], "all,minrtt", 1), &registry).expect("all is right");
    assert_eq!(all[0].name, DEFAULT_SCENARIO);
    assert_eq!(all[0].variants.len(), registry.schedulers().len() + 2);
}

#[test]
fn settings_reach_the_scenario_and_the_baselines() {
    let mut with = options(&["cp-asymmetric"], "minrtt", 1);
    with.settings = vec![("connection.receive_buffer".into(), "60KB".into())];
    let plans = plans(&with, &Registry::builtin()).expect("all is right");
    assert_eq!(plans[0].document.overrides(), with.settings);
    for (_, scenario) in &plans[0].variants {
        let fixed = pathweave_proto::config::ReceiveBuffer::Fixed(60_000);
        assert!(scenario.connections.iter().all(|c| c.engine.receive_buffer == fixed));
    }
}

#[test]
fn wrong_input_says_what_is_allowed() {
    let message = |options: &CompareOptions| match results(options, &made_up).expect_err("the input is wrong") {
        Failure::Scenario(error) => error.to_string(),
        Failure::Input(text) => text,
        other => panic!("{other:?}"),
    };
    assert!(message(&options(&["wlan-4g"], "all", 1)).contains("wifi-lte, wlan-3g"));
    assert!(message(&options(&["connection.pr=true"], "all", 1)).contains("--set"));
    assert!(
        message(&options(&["wifi-let"], "all", 1))
            .contains("; did you mean `wifi-lte`? A scenario is a file or one of ")
    );
    assert!(message(&options(&[], "minrt", 1)).contains("unknown scheduler `minrt`; did you mean `minrtt`? Allowed: "));
    let named = |against: &str| CompareOptions { against: Some(against.into()), ..options(&[], "minrtt", 1) };
    assert!(
        message(&named("blst")).starts_with("--against: unknown scheduler `blst`; did you mean `blest`? Allowed: ")
    );
    let unknown = message(&named("tcp-pth1"));
    assert!(
        unknown.starts_with("--against: unknown scheduler `tcp-pth1`; did you mean `tcp-path1`? Allowed: ")
            && unknown.ends_with(", single, tcp-path0, tcp-path1, ..."),
        "{unknown}"
    );
    assert!(message(&options(&[], ",", 1)).contains("minrtt"));
    assert!(message(&options(&["wlan-3g", "wlan-3g"], "minrtt", 1)).contains("there are two scenarios called wlan-3g"));
    let mut with = options(&[], "minrtt", 1);
    with.settings = vec![("connection.receive_buffer".into(), "much".into())];
    assert!(message(&with).starts_with("--set: ") && message(&with).contains(" = much: allowed: "));
    with.settings = vec![("path.0.trace".into(), "no-such-file.down".into())];
    assert!(message(&with).contains("no-such-file.down"));
}

#[test]
fn a_panic_is_one_failed_run_and_is_told() {
    let engine = |run: &Run<'_>| {
        assert!(run.seed != 2 || run.variant.label() != "minrtt", "the window is negative");
        made_up(run)
    };
    let all = results(&options(&[], "minrtt,blest", 2), &engine).expect("the input is right");
    let bad: Vec<_> = all.iter().filter(|r| r.status == Status::Failed).collect();
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].metrics.aggregation_benefit, None, "nothing was measured");
    let text = problems(&all);
    assert!(text.starts_with("1 of 8 runs did not complete:\n  wifi-lte, minrtt, seed 2: failed: "), "{text}");
    assert!(text.ends_with(": the window is negative\n"), "{text}");
}

#[test]
fn without_plain_tcp_on_one_path_there_is_no_benefit() {
    let engine = |run: &Run<'_>| {
        assert!(run.variant.label() != "tcp-path1", "no path");
        made_up(run)
    };
    let all = results(&options(&[], "minrtt", 1), &engine).expect("the input is right");
    assert!(all.iter().all(|r| r.metrics.aggregation_benefit.is_none()), "{:?}", all[0].metrics);
}

#[test]
fn the_page_is_written_without_being_asked_only_for_a_quick_look() {
    let page = |options: &CompareOptions| page_output(options).map(|output| output.to_string());
    let mut o = CompareOptions::default();
    assert_eq!(page(&o).as_deref(), Some("pathweave-report.html"));
    o.scenarios = vec!["wlan-3g".into()];
    assert_eq!(page(&o), None);
    o.report = Some("a.html".into());
    assert_eq!(page(&o).as_deref(), Some("a.html"));
}
