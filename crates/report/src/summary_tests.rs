use super::*;
use crate::verdict;
use pathweave_lab::results::{Manifest, Metrics, OutOfOrder, PathMetrics, SCHEMA_VERSION, Series};

fn run(scheduler: &str, seed: u64, goodput: f64, sent: [u64; 2]) -> RunResult {
    RunResult {
        schema_version: SCHEMA_VERSION,
        scenario: "two".into(),
        scheduler: scheduler.into(),
        congestion: "reno".into(),
        seed,
        status: Status::Completed,
        reason: None,
        digest: String::new(),
        metrics: Metrics {
            goodput_mbps: goodput,
            out_of_order_bytes: OutOfOrder { mean: 1000.0 * goodput, p95: 5000 * seed, max: 9000 * seed },
            retransmitted_segments: 2 * seed,
            per_path: sent.map(|sent_bytes| PathMetrics { sent_bytes, goodput_mbps: 0.0 }).into(),
            ..Metrics::default()
        },
        series: Series::default(),
        manifest: Manifest::default(),
    }
}

fn sized(mut r: RunResult, seconds: Option<f64>) -> RunResult {
    r.metrics.completion_s = seconds;
    if seconds.is_none() {
        r.status = Status::Stalled;
    }
    r
}

fn names(c: &Comparison) -> Vec<&str> {
    c.summaries.iter().map(|s| s.scheduler.as_str()).collect()
}

fn standings(c: &Comparison) -> Vec<Option<Standing>> {
    c.summaries.iter().map(|s| s.standing).collect()
}

#[test]
fn ranked_by_mean_goodput_with_plain_tcp_among_the_others() {
    let mut results = Vec::new();
    for seed in [1, 2, 3] {
        let noise = seed as f64 / 100.0;
        results.push(run("minrtt", seed, 3.1 + noise, [60, 40]));
        results.push(run("blest", seed, 8.0 - noise, [90, 10]));
        results.push(run("single", seed, 7.5 + noise, [100, 0]));
        results.push(run("tcp-path0", seed, 7.6 + noise, [100, 0]));
        results.push(run("tcp-path1", seed, 0.9, [0, 100]));
    }
    let c = &Comparison::all(&results)[0];
    assert_eq!(names(c), ["blest", "tcp-path0", "single", "minrtt", "tcp-path1"]);
    assert_eq!(standings(c), [Some(Standing::Better), None, None, Some(Standing::Worse), None]);
    assert_eq!((c.paths, c.seeds.as_slice(), c.sized), (2, [1, 2, 3].as_slice(), false));
    let minrtt = &c.summaries[3];
    assert_eq!(minrtt.share, [0.6, 0.4]);
    assert_eq!((minrtt.retransmitted, minrtt.out_of_order_p95, minrtt.out_of_order_max), (4.0, 10_000.0, 27_000));
    assert_eq!(
        verdict(c).expect("there are two paths"),
        "Two paths are worse than one here with 1 of 2 schedulers: minrtt delivers 3.1 Mbit/s, plain TCP on path 0 delivers 7.6. \
         The best use of both is blest: 8.0 Mbit/s."
    );
}

#[test]
fn where_all_are_worse_the_sentence_is_short() {
    let results = [run("minrtt", 1, 3.1, [60, 40]), run("tcp-path0", 1, 7.6, [100, 0])];
    assert_eq!(
        verdict(&Comparison::of("two", &results)).expect("there are two paths"),
        "Two paths are worse than one here: minrtt delivers 3.1 Mbit/s, plain TCP on path 0 delivers 7.6."
    );
}

#[test]
fn a_difference_within_the_spread_of_the_seeds_is_none() {
    let results: Vec<_> = [(1, 7.0, 7.6), (2, 8.4, 7.5), (3, 7.4, 7.7)]
        .into_iter()
        .flat_map(|(seed, x, y)| [run("minrtt", seed, x, [60, 40]), run("tcp-path1", seed, y, [0, 100])])
        .collect();
    let c = Comparison::of("two", &results);
    assert_eq!(standings(&c), [Some(Standing::Level), None]);
    assert_eq!(
        verdict(&c).expect("there are two paths"),
        "Two paths are about as good as one here: minrtt delivers 7.6 Mbit/s, plain TCP on path 1 delivers 7.6."
    );
}

#[test]
fn sized_transfers_rank_by_time_and_unfinished_ones_come_last() {
    let results = [
        sized(run("slow", 1, 5.0, [50, 50]), Some(4.0)),
        sized(run("stalls", 1, 9.0, [50, 50]), None),
        sized(run("fast", 1, 8.0, [50, 50]), Some(2.5)),
        sized(run("tcp-path0", 1, 7.0, [50, 0]), Some(3.0)),
    ];
    let c = Comparison::of("two", &results);
    assert_eq!(names(&c), ["fast", "tcp-path0", "slow", "stalls"]);
    assert_eq!(c.summaries[3].stalled, 1);
    assert_eq!(
        verdict(&c).expect("there are two paths"),
        "Two paths are worse than one here with 2 of 3 schedulers: slow takes 4.0 s, stalls does not finish every run, plain TCP on path 0 takes 3.0. \
         The best use of both is fast: 2.5 s."
    );
}

#[test]
fn several_scenarios_are_several_comparisons() {
    let mut other = run("minrtt", 1, 1.0, [1, 1]);
    other.scenario = "other".into();
    let all = Comparison::all(&[other, run("minrtt", 1, 1.0, [1, 1])]);
    assert_eq!(all.iter().map(|c| c.scenario.as_str()).collect::<Vec<_>>(), ["other", "two"]);
    assert_eq!(verdict(&all[0]), None, "without plain TCP nothing is said");
}
