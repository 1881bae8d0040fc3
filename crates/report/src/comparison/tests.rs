use super::*;
use crate::{Tone, table, verdict};
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::{Delays, Metrics, OutOfOrder, PathMetrics, Status};
use pathweave_lab::scenario::HostModel;

pub(super) fn run(scheduler: &str, seed: u64, goodput: f64, sent: [u64; 2]) -> RunResult {
    RunResult {
        scenario: "two".into(),
        scheduler: scheduler.into(),
        congestion: "reno".into(),
        seed,
        paths: ["wlan", "3g"].map(|name| PathInfo { name: name.into(), backup: false }).into(),
        plain_tcp: plain_tcp_path(scheduler),
        metrics: Metrics {
            goodput_mbps: goodput,
            out_of_order_bytes: OutOfOrder {
                mean: 1000.0 * goodput,
                p95: 5000 * seed,
                max: 9000 * seed,
                looked_at: 0.0,
            },
            retransmitted_segments: 2 * seed,
            per_path: sent.map(|sent_bytes| PathMetrics { sent_bytes, ..PathMetrics::default() }).into(),
            ..Metrics::default()
        },
        ..RunResult::default()
    }
}

pub(super) fn sized(mut r: RunResult, seconds: Option<f64>) -> RunResult {
    r.metrics.completion_s = seconds;
    if seconds.is_none() {
        r.status = Status::Stalled;
    }
    r
}

pub(super) fn of(results: &[RunResult]) -> Comparison {
    Comparison::all(results, &[], None).remove(0)
}

fn names(c: &Comparison) -> Vec<&str> {
    c.summaries.iter().map(|s| s.scheduler.as_str()).collect()
}

fn standings(c: &Comparison) -> Vec<Option<Standing>> {
    c.summaries.iter().map(|s| s.standing()).collect()
}

pub(super) fn said(results: &[RunResult]) -> String {
    verdict(&of(results)).expect("there is a scheduler").to_string()
}

/// Results of three seeds with noise that is the same in all rows, so that it cancels in their differences.
pub(super) fn seeds(rows: &[(&str, f64, [u64; 2])]) -> Vec<RunResult> {
    let mut results = Vec::new();
    for (scheduler, goodput, sent) in rows {
        for (seed, shared, own) in [(1, 0.0, 0.01), (2, 2.0, 0.02), (3, 1.0, 0.04)] {
            let own = if plain_tcp_path(scheduler).is_some() { 0.0 } else { own };
            results.push(run(scheduler, seed, goodput + shared + own, *sent));
        }
    }
    results
}

#[test]
fn ranked_by_mean_goodput_with_plain_tcp_among_the_others() {
    let rows = [
        ("minrtt", 3.0, [60, 40]),
        ("blest", 8.0, [90, 10]),
        ("single", 7.5, [100, 0]),
        ("tcp-path0", 7.6, [100, 0]),
        ("tcp-path1", 0.9, [0, 100]),
    ];
    let results = seeds(&rows);
    let c = of(&results);
    assert_eq!(names(&c), ["blest", "tcp-path0", "single", "minrtt", "tcp-path1"]);
    assert_eq!(standings(&c), [Some(Standing::Better), None, None, Some(Standing::Worse), None]);
    assert_eq!((c.paths, c.seeds.as_slice(), c.judged), (2, [1, 2, 3].as_slice(), Judged::Goodput));
    let minrtt = &c.summaries[3];
    assert_eq!(minrtt.share, [0.6, 0.4]);
    let metric = |csv: &str| minrtt.metric(csv).expect("it is a metric");
    assert_eq!(metric("resent_segments"), 4.0);
    assert_eq!((metric("out_of_order_p95_kb"), metric("out_of_order_max_kb")), (10_000.0, 27_000.0), "in bytes");
    assert_eq!(
        said(&results),
        "blest is the best of the 3 schedulers compared: it delivers 9.0 Mbit/s, 0.42 Mbit/s (5 %) more than plain TCP on wlan (significant). \
         Two paths are worse than one with 1 of the 2 schedulers that use both, most of all with minrtt: \
         4.6 Mbit/s (53 %) less than plain TCP on wlan (significant)."
    );
}

#[test]
fn differences_are_paired_and_go_by_the_chosen_reference() {
    let results = seeds(&[("minrtt", 3.0, [60, 40]), ("linux", 3.5, [60, 40]), ("tcp-path0", 7.6, [100, 0])]);
    let c = of(&results);
    let tcp = c.summaries[2].against_tcp.expect("minrtt against TCP");
    // The seeds spread by 2, the differences by 0.03.
    assert!(tcp.estimate.margin().expect("three seeds") < 0.1, "{tcp:?}");
    assert_eq!(tcp.is_significant(), Some(true));
    let c = Comparison::all(&results, &[], Some("linux")).remove(0);
    assert_eq!(c.reference, Some(1));
    let against = c.summaries[2].against.expect("minrtt against linux");
    assert!((against.mean() + 0.5).abs() < 1e-9 && against.same_on_every_seed, "{against:?}");
    let text = table(&c, 80);
    assert!(text.contains("-0.50 always") && text.contains("reference: linux"), "{text}");
}

#[test]
fn rows_with_the_same_packets_are_one_row() {
    let mut results =
        seeds(&[("minrtt", 3.0, [6, 4]), ("lws", 3.0, [6, 4]), ("blest", 3.0, [6, 4]), ("tcp-path0", 2.0, [9, 0])]);
    for r in &mut results {
        let differs = r.scheduler == "blest" && r.seed == 3;
        r.digest = format!("{}{}", r.seed, if differs { "other" } else { "" });
    }
    let c = of(&results);
    assert_eq!(names(&c), ["blest", "minrtt", "tcp-path0"], "plain TCP stays by itself");
    assert_eq!(c.summaries[1].same, ["lws"]);
    assert!(c.row("lws").is_some_and(|s| s.scheduler == "minrtt"));
    let text = table(&c, 80);
    assert!(text.contains("    = lws\n"), "{text}");
}

#[test]
fn a_difference_within_the_spread_of_the_seeds_is_none() {
    let results: Vec<_> = [(1, 7.0, 7.6), (2, 8.4, 7.5), (3, 7.4, 7.7)]
        .into_iter()
        .flat_map(|(seed, x, y)| [run("minrtt", seed, x, [60, 40]), run("tcp-path1", seed, y, [0, 100])])
        .collect();
    let c = of(&results);
    assert_eq!(standings(&c), [Some(Standing::Level), None]);
    assert_eq!(
        said(&results),
        "minrtt delivers 7.6 Mbit/s, not significantly more or less than plain TCP on 3g (0.00 ± 1.97 Mbit/s)."
    );
    assert!(table(&c, 80).contains('~'));
}

#[test]
fn who_is_as_good_as_the_best_is_named() {
    let rows = [("blest", 8.0, [9, 1]), ("ecf", 7.95, [9, 1]), ("cp", 5.0, [9, 1]), ("tcp-path0", 5.0, [9, 0])];
    assert!(said(&seeds(&rows)).contains("(significant). ecf is within 1 % of it."), "{}", said(&seeds(&rows)));
}

#[test]
fn one_seed_settles_nothing() {
    let results = [run("minrtt", 1, 3.1, [60, 40]), run("tcp-path0", 1, 7.6, [100, 0])];
    assert_eq!(
        said(&results),
        "With this seed minrtt does not reach plain TCP on wlan: it delivers 3.1 Mbit/s, 4.5 Mbit/s (59 %) less \
         (one seed: significance unknown). With this seed two paths are worse than one here."
    );
}

#[test]
fn sized_transfers_rank_by_time_of_which_less_is_better() {
    let results = [
        sized(run("slow", 1, 5.0, [50, 50]), Some(4.0)),
        sized(run("stalls", 1, 9.0, [50, 50]), None),
        sized(run("fast", 1, 8.0, [50, 50]), Some(2.5)),
        sized(run("tcp-path0", 1, 7.0, [50, 0]), Some(3.0)),
    ];
    let c = of(&results);
    assert_eq!(names(&c), ["fast", "tcp-path0", "slow", "stalls"]);
    assert_eq!(standings(&c), [None; 4], "one seed cannot tell");
    assert_eq!(c.summaries[3].stalled, 1);
    assert_eq!(
        said(&results),
        "With this seed fast is the best of the 3 schedulers compared: it takes 2.5 s, 0.50 s (17 %) less than plain TCP on wlan \
         (one seed: significance unknown). With this seed two paths are worse than one with 2 of 3 schedulers, most of all with stalls: \
         with 1 of 1 seed it does not finish, and plain TCP on wlan does."
    );
}

#[test]
fn where_nothing_arrives_the_sentence_says_so() {
    let results = [run("minrtt", 1, 0.0, [0, 0]), run("tcp-path0", 1, 0.0, [0, 0]), run("tcp-path1", 1, 0.0, [0, 0])];
    assert!(said(&results).starts_with("Nothing arrived: "), "{}", said(&results));
}

#[test]
fn with_one_path_dead_the_sentence_names_the_other() {
    let results = [run("minrtt", 1, 7.5, [90, 0]), run("tcp-path0", 1, 7.6, [90, 0]), run("tcp-path1", 1, 0.0, [0, 1])];
    let text = said(&results);
    assert!(text.ends_with("Only wlan carried data: plain TCP delivers nothing on 3g."), "{text}");
}

#[test]
fn a_backup_is_no_path_to_compare_with() {
    let mut results = seeds(&[("minrtt", 3.8, [90, 0]), ("tcp-path0", 4.1, [90, 0]), ("tcp-path1", 20.0, [0, 90])]);
    for r in &mut results {
        r.paths[1].backup = true;
    }
    let c = of(&results);
    assert_eq!(c.best_plain_tcp().map(|s| s.scheduler.as_str()), Some("tcp-path0"));
    let text = said(&results);
    assert!(
        text.contains("reach plain TCP on wlan: ") && text.ends_with("Only wlan carried data: 3g is a backup."),
        "{text}"
    );
}

#[test]
fn every_path_without_data_is_explained() {
    let results = |unused_delivers: bool| {
        let mut all = Vec::new();
        for seed in 1..=3 {
            all.push(run("minrtt", seed, 3.8, [90, 0]));
            all.push(run("tcp-path0", seed, 4.1, [90, 0]));
            all.push(run("tcp-path1", seed, 20.0, [0, 90]));
            all.push(run("tcp-path2", seed, 0.0, [0, 0]));
            if unused_delivers {
                all.push(run("tcp-path3", seed, 1.0, [0, 0]));
            }
        }
        for r in &mut all {
            r.paths[1].backup = true;
            let names = if unused_delivers { &["lte", "wire"][..] } else { &["lte"] };
            r.paths.extend(names.iter().map(|name| PathInfo { name: (*name).into(), backup: false }));
            r.metrics.per_path.resize(r.paths.len(), PathMetrics::default());
        }
        said(&all)
    };
    let text = results(false);
    let only = "Only wlan carried data: 3g is a backup, and plain TCP delivers nothing on lte.";
    assert!(text.contains(only), "{text}");
    let text = results(true);
    let only = "Only wlan carried data, with every scheduler; 3g is a backup, and plain TCP delivers nothing on lte.";
    assert!(text.contains(only), "{text}");
}

#[test]
fn equal_values_are_named_as_equal_whatever_the_packets_were() {
    // Other packets, and the same goodput.
    let rows = [("blest", 3.0, [6, 4]), ("minrtt", 3.0, [5, 5]), ("tcp-path0", 7.6, [9, 0])];
    let text = said(&seeds(&rows));
    assert!(text.contains("the best of the 2 are blest and minrtt; each delivers 4.0 Mbit/s"), "{text}");
    assert!(!text.contains("most of all") && !text.contains("within 1 %"), "{text}");
    let text = said(&seeds(&[rows[0], rows[1], ("tcp-path0", 1.0, [9, 0])]));
    assert!(text.starts_with("blest and minrtt are equally good: each delivers 4.0 Mbit/s"), "{text}");
    let text = said(&seeds(&[rows[0], rows[1], ("weave", 2.0, [6, 4]), ("tcp-path0", 1.0, [9, 0])]));
    assert!(text.starts_with("blest and minrtt are the best of the 3 schedulers compared: each delivers"), "{text}");
    // No transfer finishes, except over one path.
    let mut stalled: Vec<RunResult> = Vec::new();
    for r in seeds(&rows) {
        let seconds = r.plain_tcp.map(|_| 2.0);
        stalled.push(sized(r, seconds));
    }
    let text = said(&stalled);
    assert!(text.contains(" Each delivers 4.0 Mbit/s."), "{text}");
}

#[test]
fn several_scenarios_are_several_comparisons() {
    let mut other = run("minrtt", 1, 1.0, [1, 1]);
    other.scenario = "other".into();
    let all = Comparison::all(&[other, run("minrtt", 1, 1.0, [1, 1])], &[], None);
    assert_eq!(all.iter().map(|c| c.scenario.as_str()).collect::<Vec<_>>(), ["other", "two"]);
    assert_eq!(
        verdict(&all[0]).map(|v| v.to_string()).as_deref(),
        Some("minrtt delivers 1.0 Mbit/s."),
        "nothing to compare it with"
    );
}

#[test]
fn a_row_on_another_host_than_most_says_so() {
    let all: Vec<RunResult> = ["minrtt", "blest", "linux"].map(|name| run(name, 1, 10.0, [1, 1])).into();
    let same = of(&all);
    assert_eq!(same.host_note(), None);
    assert!(!table(&same, 80).contains('†'));
    let mut mixed = all.clone();
    mixed[2].host = HostModel::Linux;
    let mixed = of(&mixed);
    let text = table(&mixed, 80);
    assert!(text.lines().any(|l| l.contains(" linux † ")), "{text}");
    assert!(!text.contains("minrtt †") && text.contains("†: on a Linux host"), "{text}");
    let mut mostly_linux = all;
    mostly_linux[1..].iter_mut().for_each(|r| r.host = HostModel::Linux);
    let mostly_linux = of(&mostly_linux);
    assert!(table(&mostly_linux, 80).contains("minrtt †"), "the odd one out is marked");
    let mut three: Vec<RunResult> = ["minrtt", "blest", "linux", "cp"].map(|name| run(name, 1, 10.0, [1, 1])).into();
    three[2].host = HostModel::Linux;
    three[3].host = HostModel::MptcpOrg;
    let note = of(&three).host_note().expect("there are three hosts");
    assert!(
        note.contains("a Linux host") && note.contains("an mptcp.org host") && note.ends_with("RFC hosts"),
        "{note}"
    );
}

#[test]
fn the_answer_says_that_hosts_differ() {
    let mut results = seeds(&[("weave", 9.0, [6, 4]), ("linux", 8.0, [6, 4]), ("tcp-path0", 7.0, [9, 0])]);
    assert!(!told(&of(&results)).contains("host"), "{}", told(&of(&results)));
    let on_linux = |results: &mut [RunResult], name: &str| {
        let rows = results.iter_mut().filter(|r| r.scheduler == name);
        rows.for_each(|r| r.host = HostModel::Linux);
    };
    on_linux(&mut results, "linux");
    let answer = told(&of(&results));
    assert!(
        answer.contains("more than plain TCP on wlan (") && answer.contains("than linux on a Linux host ("),
        "{answer}"
    );
    let without_weave: Vec<RunResult> = results.into_iter().filter(|r| r.scheduler != "weave").collect();
    let answer = told(&of(&without_weave));
    assert!(answer.contains("more than plain TCP on wlan on an RFC host ("), "{answer}");
    let mut behind = seeds(&[("linux", 5.0, [6, 4]), ("tcp-path0", 7.0, [9, 0])]);
    on_linux(&mut behind, "linux");
    let answer = told(&of(&behind));
    assert!(answer.contains("does not reach plain TCP on wlan on an RFC host: "), "{answer}");
}

/// The comparison of these results if each scheduler was to have this many seeds.
pub(super) fn asked(results: &[RunResult], schedulers: &[&str], seeds: usize) -> Comparison {
    let schedulers = schedulers.iter().map(|s| (*s).to_owned()).collect();
    let paths = ["wlan", "3g"].map(str::to_owned).into();
    Comparison::all(results, &[Planned { scenario: "two".into(), schedulers, seeds, paths }], None).remove(0)
}

pub(super) fn told(c: &Comparison) -> String {
    verdict(c).expect("there is a verdict").to_string()
}

#[test]
fn a_comparison_that_was_stopped_names_what_is_missing() {
    let mut results = seeds(&[("blest", 9.0, [6, 4]), ("cp", 3.5, [6, 4]), ("tcp-path0", 7.6, [9, 0])]);
    results.retain(|r| r.scheduler != "cp" || r.seed == 1);
    let c = asked(&results, &["weave", "linux", "blest", "cp", "tcp-path0", "tcp-path1"], 3);
    let said = verdict(&c).expect("there is a verdict");
    assert_eq!(
        said.missing,
        [
            "Stopped early: 7 of 18 runs are finished. Never run: weave, linux and tcp-path1 (3g). With 1 of 3 seeds only: cp."
        ]
    );
    assert!(said.to_string().contains(" blest is the only scheduler with all measured seeds: it delivers"), "{said}");
    assert_eq!(said.tone, Tone::Open, "nothing is green");
    let text = table(&c, 80);
    for line in
        ["- weave: never run", "- tcp-path1 (3g): never run", "* cp: 2 of 3 runs not made", "Means of 1 to 3 seeds"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let csv = crate::csv(std::slice::from_ref(&c));
    assert!(csv.contains("\ntwo,weave,,,,3,0,0,0,,,") && csv.contains("\ntwo,tcp-path1,,3g,,3,0,0,0,,,"), "{csv}");
    let complete = asked(&seeds(&[("blest", 9.0, [6, 4]), ("tcp-path0", 7.6, [9, 0])]), &["blest", "tcp-path0"], 3);
    assert!(verdict(&complete).is_some_and(|v| v.missing.is_empty() && v.tone == Tone::Good));
}

#[test]
fn nothing_finished_is_said_too() {
    let c = asked(&[], &["blest", "tcp-path0"], 3);
    assert_eq!(
        told(&c),
        "Stopped early: 0 of 6 runs are finished. Never run: blest and tcp-path0 (wlan). No scheduler has a measurement."
    );
}

#[test]
fn failed_runs_are_no_measurements() {
    let mut results =
        seeds(&[("loop", 0.0, [0, 0]), ("blest", 9.0, [6, 4]), ("cp", 9.5, [6, 4]), ("tcp-path0", 7.6, [9, 0])]);
    for r in results.iter_mut().filter(|r| r.scheduler == "loop" || (r.scheduler == "cp" && r.seed == 2)) {
        r.status = Status::Failed;
        r.metrics = Metrics::default();
        r.reason = Some("it divides by zero".into());
    }
    let c = of(&results);
    let said = verdict(&c).expect("there is a verdict");
    assert_eq!(
        said.missing,
        [
            "cp failed in 1 of 3 runs: it divides by zero. Its numbers are of the other 2, and it is not called the best.",
            "loop failed in 3 of 3 runs: it divides by zero. It is left out."
        ]
    );
    assert!(
        said.answer[0].starts_with("blest is the only scheduler with all measured seeds: it delivers 10.0 Mbit/s"),
        "{said}"
    );
    assert!(!said.to_string().contains("worse than one"), "{said}");
    // The mean of seeds 1 and 3, and three pairs less one with plain TCP.
    let cp = c.row("cp").expect("it has two measurements");
    assert!((cp.goodput_mbps.mean - 10.025).abs() < 1e-9);
    assert_eq!(cp.against_tcp.map(|d| d.estimate.count), Some(2));
    assert_eq!(names(&c), ["blest", "tcp-path0", "cp"]);
    assert!(table(&c, 80).replace('\n', " ").contains("schedulers that lack seeds of others come last"));
    assert!(table(&c, 80).contains("- loop: 3 of 3 runs failed"), "{}", table(&c, 80));
}

#[test]
fn a_stalled_run_is_a_measurement() {
    let mut results = seeds(&[("blest", 9.0, [6, 4]), ("tcp-path0", 7.6, [9, 0])]);
    results[0].status = Status::Stalled;
    results[0].metrics.goodput_mbps = 0.0;
    let c = of(&results);
    assert!((c.row("blest").expect("it counts").goodput_mbps.mean - 21.06 / 3.0).abs() < 1e-9);
}

#[test]
fn linux_is_beaten_by_none_of_those_compared() {
    let all = [("linux", 9.0, [6, 4]), ("minrtt", 8.0, [6, 4]), ("tcp-path0", 7.6, [9, 0])];
    let text = said(&seeds(&all));
    assert!(text.contains("; none of those compared beats the scheduler of Linux."), "{text}");
    let text = said(&seeds(&all[..1]));
    assert!(!text.contains("none of those"), "{text}");
}

#[test]
fn where_plain_tcp_is_better_than_all_the_answer_begins_with_that() {
    let rows = [("blest", 6.0, [6, 4]), ("minrtt", 5.0, [6, 4]), ("tcp-path0", 7.6, [9, 0])];
    let said = verdict(&of(&seeds(&rows))).expect("there is a verdict");
    assert_eq!(
        said.answer[0],
        "No scheduler reaches plain TCP on wlan: the best of the 2, blest, delivers 7.0 Mbit/s, 1.6 Mbit/s (18 %) less (significant)."
    );
    assert_eq!(said.tone, Tone::Bad);
}

#[test]
fn a_banner_is_green_only_for_a_significant_lead() {
    let tone = |results: &[RunResult]| verdict(&of(results)).expect("there is a verdict").tone;
    let rows = [("blest", 9.0, [6, 4]), ("tcp-path0", 7.6, [9, 0])];
    assert_eq!(tone(&seeds(&rows)), Tone::Good);
    let one: Vec<RunResult> = seeds(&rows).into_iter().filter(|r| r.seed == 1).collect();
    assert_eq!(tone(&one), Tone::Open, "one seed");
    let level = [("blest", 7.65, [6, 4]), ("tcp-path0", 7.6, [9, 0])];
    assert_eq!(tone(&seeds(&level)), Tone::Open, "less than 1 %");
    let mut noisy = seeds(&rows);
    noisy[0].metrics.goodput_mbps = 3.0;
    assert_eq!(tone(&noisy), Tone::Open, "not significant");
}

#[test]
fn streams_that_are_not_bound_by_capacity_are_judged_by_delay() {
    let mut results = seeds(&[("linux", 6.0, [6, 4]), ("weave", 6.0, [6, 4]), ("tcp-path0", 6.0, [9, 0])]);
    for r in &mut results {
        let (p50, p99, gap) = match r.scheduler.as_str() {
            "linux" => (35.0, 6700.0, 7000.0),
            "weave" => (40.0, 350.0, 360.0),
            _ => (90.0, 8000.0, 9000.0),
        };
        r.metrics.message_delay_ms = Some(Delays { count: 4000, p50, p99: p99 + r.seed as f64, ..Delays::default() });
        r.metrics.undelivered_messages = Some(0);
        r.metrics.arrival_interval_ms.max = gap;
    }
    let c = of(&results);
    assert_eq!((names(&c), c.judged), (vec!["weave", "linux", "tcp-path0"], Judged::Delay));
    assert_eq!(
        told(&c),
        "weave is the best of the 2 schedulers compared: it has a delay of 352 ms at the 99th percentile, 7.7 s (96 %) less than \
         plain TCP on wlan (the same with every seed); that is 6.3 s (95 %) less than linux (the same with every seed). \
         Its median delay is 40.0 ms, and its longest time without a delivery 360 ms; the longest of all schedulers is 7.0 s, with linux."
    );
    let text = table(&c, 80);
    let heading: Vec<&str> = text.lines().nth(1).expect("a heading").split_whitespace().collect();
    assert_eq!(heading[..5], ["scheduler", "ms", "reference", "%", "ms"], "{text}");
    assert!(text.contains("p50") && text.contains("longest"), "{text}");
    // One that leaves messages undelivered is not compared by the delay of the others.
    results[0].metrics.undelivered_messages = Some(500);
    let c = of(&results);
    assert_eq!(names(&c), ["weave", "tcp-path0", "linux"]);
    assert!(told(&c).starts_with("linux does not deliver what is offered in every run. weave is "), "{}", told(&c));
    // If no scheduler delivers what is offered, the network is the limit.
    results.iter_mut().for_each(|r| r.metrics.undelivered_messages = Some(500));
    let c = of(&results);
    assert_eq!(c.judged, Judged::Goodput);
    assert!(told(&c).starts_with("No run delivers what is offered, so goodput decides. "), "{}", told(&c));
}
