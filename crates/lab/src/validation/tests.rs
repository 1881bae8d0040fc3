//! Tests of reading reference files, setting scenarios up, and judging differences.

use super::*;
use crate::scenario::{Direction, Document, LinkChange, Rate, Variant};
use pathweave_algorithms::Registry;
use pathweave_netsim::{Loss, QueueLimit};
use pathweave_proto::config::{FailureDetection, ReceiveBuffer};
use pathweave_units::{Bitrate, Duration};

/// A line of a file. `more` has `KEY=VALUE` of the scenario, replaced or added.
fn line(id: &str, seed: u64, goodput: f64, more: &str) -> String {
    format!(
        r#"{{"id": "{id}", "seed": {seed}, "scenario": {{"mode": "mptcp", "paths": [{{"rate_mbps": 8, "delay_ms": 10, "queue_pkts": 100}}, {{"rate_mbps": 1.5, "delay_ms": 7.5, "queue_pkts": 20, "loss_pct": 0.1}}], "cc": "reno", "seconds": 2, "rmem": 65536{more}}}, "goodput_mbps": {goodput}, "bytes": 1000000, "path0": {{"received_frame_bytes": 900000, "queue_drops": 3, "window_bytes": [30000, 38912]}}, "path1": {{"received_frame_bytes": 160000, "queue_drops": 0, "window_bytes": null}}, "sender": {{"TcpRetransSegs": 7}}}}"#
    )
}

fn read(text: &str) -> Vec<Reference> {
    Reference::read("ref.jsonl", text).expect("it is right")
}

#[track_caller]
fn says(text: &str, expected: &str) {
    assert_eq!(Reference::read("ref.jsonl", text).expect_err("it is wrong").to_string(), expected);
}

fn scenario(reference: &Reference) -> crate::scenario::Scenario {
    let document = Document::parse("x", &scenario_text(reference, 1)).expect("it is TOML");
    document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right")
}

#[test]
fn lines_of_one_scenario_come_together() {
    let text = [line("a/mptcp", 1, 2.0, ""), line("b/mptcp", 1, 3.0, ""), line("a/mptcp", 2, 2.5, "")].join("\n");
    let references = read(&text);
    assert_eq!(
        references.iter().map(|r| (r.id.as_str(), r.runs.len())).collect::<Vec<_>>(),
        [("a/mptcp", 2), ("b/mptcp", 1)]
    );
    let run = &references[0].runs[0];
    assert_eq!((run.value, run.retransmitted_segments, run.timeouts), (2.0, Some(7), None));
    assert_eq!(run.queue_drops, [3, 0]);
    // Half of the run's bytes arrived in its two seconds.
    assert_eq!(run.frame_bytes, [450_000.0, 80_000.0]);
    assert_eq!(references[0].largest_window(), Some(38_912));
    assert_eq!(references[0].group(), "a");
}

#[test]
fn comments_are_skipped_and_counted_as_lines() {
    let text = format!("# how it was made\n{}\n# the end\n[1]", line("a/mptcp", 1, 2.0, ""));
    assert_eq!(Reference::read("ref.jsonl", &text).expect_err("the last line is wrong").line, 4);
    assert_eq!(read(text.trim_end_matches("[1]")).len(), 1);
    says("# nothing else", "ref.jsonl: an empty file: allowed: a line of JSON for each run");
}

#[test]
fn a_scenario_is_set_up_as_linux_had_it() {
    let text = line("a/mptcp", 1, 2.0, ", \"rmem0\": 65536, \"wmem\": 100000");
    let scenario = scenario(&read(&text)[0]);
    let up = |path: usize, hop: usize| &scenario.links[scenario.paths[path].up[hop]].settings;
    let down = |path: usize, hop: usize| &scenario.links[scenario.paths[path].down[hop]].settings;
    assert_eq!(up(1, 0).shaper, Rate::TokenBucket { rate: Bitrate::from_bps(1_500_000), burst_bytes: 3028 });
    // 20 Ethernet frames of 1514 bytes, counted as IP packets.
    assert_eq!((up(1, 0).queue.limit, up(1, 0).overhead_bytes), (QueueLimit::Bytes(30_000), 14));
    assert_eq!((up(1, 0).delay, up(1, 0).loss), (Duration::ZERO, Loss::None));
    assert_eq!((up(1, 1).delay, &up(1, 1).shaper), (Duration::from_micros(7500), &Rate::Unlimited));
    assert!(matches!(up(1, 1).loss, Loss::Bernoulli(p) if p.get() == 0.001));
    // The way back: hops in the other order.
    assert_eq!((down(1, 0).delay, down(1, 1).delay), (Duration::from_micros(7500), Duration::ZERO));
    assert_eq!(
        (&down(1, 0).shaper, &down(1, 1).shaper, down(1, 0).loss),
        (&Rate::Unlimited, &Rate::Unlimited, Loss::None)
    );
    let connection = &scenario.connections[0];
    assert_eq!((connection.paths.as_slice(), connection.engine.mptcp), (&[0, 1][..], true));
    assert_eq!(
        (connection.engine.scheduler.name.as_str(), connection.engine.congestion.name.as_str()),
        ("linux", "reno")
    );
    assert_eq!(connection.engine.failure_detection, FailureDetection::Linux);
    assert_eq!(connection.engine.send_buffer, 100_000);
    assert_eq!(connection.engine.tcp.min_rto, Duration::from_millis(200));
    // A fixed buffer offers half at first, and then the window that was seen.
    assert_eq!(connection.engine.receive_buffer, ReceiveBuffer::Auto { initial: 38_912, max: 38_912 });
    assert!(connection.start < Duration::from_millis(64));
    assert_eq!(scenario.duration, Duration::from_nanos(connection.start.as_nanos() + 2_000_000_000));
}

#[test]
fn plain_tcp_takes_its_path_and_grows_its_window() {
    let text = line("a/tcp1", 1, 2.0, "").replace("\"mptcp\"", "\"tcp1\"").replace("65536", "6291456");
    let references = read(&text);
    assert_eq!((references[0].setup.mode, references[0].seeds()), (Mode::Tcp(1), 1..=300));
    let connection = &scenario(&references[0]).connections[0];
    assert_eq!((connection.paths.as_slice(), connection.engine.mptcp, connection.measured), (&[1][..], false, true));
    assert_eq!(connection.engine.receive_buffer, ReceiveBuffer::Auto { initial: 78_336, max: 3_760_128 });
}

#[test]
fn a_download_has_the_bottleneck_towards_the_client() {
    let text = line("a/mptcp", 1, 2.0, ", \"direction\": \"download\"");
    let references = read(&text);
    let scenario = scenario(&references[0]);
    assert_eq!(scenario.connections[0].direction, Direction::Download);
    let down = |path: usize, hop: usize| &scenario.links[scenario.paths[path].down[hop]].settings;
    assert_eq!(down(1, 0).shaper, Rate::TokenBucket { rate: Bitrate::from_bps(1_500_000), burst_bytes: 3028 });
    assert_eq!((down(1, 1).delay, &down(1, 1).shaper), (Duration::from_micros(7500), &Rate::Unlimited));
    assert!(matches!(down(1, 1).loss, Loss::Bernoulli(p) if p.get() == 0.001));
    let up = |hop: usize| &scenario.links[scenario.paths[1].up[hop]].settings;
    assert_eq!([0, 1].map(|hop| (&up(hop).shaper, &up(hop).loss)), [(&Rate::Unlimited, &Loss::None); 2]);
    let run = run(&references[0], 1, &Registry::builtin()).expect("it runs");
    assert!(run.value > 1.0 && run.frame_bytes[0] > 100_000.0 && run.frame_bytes[1] > 50_000.0, "{run:?}");
    assert_eq!(ours(&references[0], 2.0).class.to_string(), "MPTCP, download, random loss, timed");
    let wrong = text.replace("download", "sideload");
    says(&wrong, "ref.jsonl:1: scenario.direction = \"sideload\": allowed: upload, download");
}

#[test]
fn random_loss_counts_on_paths_in_use_only() {
    let on = |mode: &str| read(&line("a", 1, 2.0, "").replace("mptcp", mode))[0].setup.has_random_loss();
    assert_eq!(["tcp0", "tcp1", "mptcp"].map(on), [false, true, true]);
}

/// [`line`] with a third path, whose rate changes twice.
fn line_with_third_path(id: &str, seed: u64, goodput: f64, steps: &str) -> String {
    let third = format!("}}, {{\"rate_mbps\": 30, \"delay_ms\": 5, \"queue_pkts\": 50, \"steps\": {steps}}}]");
    let result = "\"path2\": {\"received_frame_bytes\": 500000, \"queue_drops\": 1}, \"sender\"";
    line(id, seed, goodput, "").replace("0.1}]", &format!("0{third}")).replace("\"sender\"", result)
}

#[test]
fn three_paths_and_changing_rates_are_set_up_as_linux_had_them() {
    let text = line_with_third_path("a/mptcp", 1, 2.0, "[[0.5, 3], [1.25, 30]]");
    let references = read(&text);
    let scenario = scenario(&references[0]);
    let connection = &scenario.connections[0];
    assert_eq!((connection.paths.as_slice(), connection.engine.max_subflows), (&[0, 1, 2][..], 3));
    let bottleneck = &scenario.links[scenario.paths[2].up[0]];
    let changes: Vec<_> = bottleneck.changes.iter().map(|c| (c.at - connection.start, c.change.clone())).collect();
    let shaper = |mbps| Rate::TokenBucket { rate: Bitrate::from_mbps(mbps), burst_bytes: 3028 };
    let expected =
        [(500, 3), (1250, 30)].map(|(ms, mbps)| (Duration::from_millis(ms), LinkChange::Shaper(shaper(mbps))));
    assert_eq!(changes, expected);
    let down = &scenario.links[scenario.paths[2].down[1]];
    assert_eq!((down.changes.len(), references[0].runs[0].queue_drops.as_slice()), (0, &[3, 0, 1][..]));
    let run = run(&references[0], 1, &Registry::builtin()).expect("it runs");
    assert!(run.frame_bytes.len() == 3 && run.frame_bytes[2] > 100_000.0, "{run:?}");
}

#[test]
fn mistakes_are_told_with_their_line() {
    let right = line("a/mptcp", 1, 2.0, "");
    let with = |from: &str, to: &str| format!("{}\n\n{}", line("z", 1, 1.0, ""), right.replacen(from, to, 1));
    let object = "an object of JSON with id, seed, scenario and results";
    says("", "ref.jsonl: an empty file: allowed: a line of JSON for each run");
    says("[1]", &format!("ref.jsonl:1: [1]: allowed: {object}"));
    says(&with("reno", "bbr"), "ref.jsonl:3: scenario.cc = bbr: allowed: reno, cubic");
    says(&with("mptcp\", \"paths", "sctp\", \"paths"), "ref.jsonl:3: scenario.mode = sctp: allowed: tcp0, tcp1, mptcp");
    says(&with("\"seconds\": 2, ", ""), "ref.jsonl:3: scenario.seconds and .bytes = none: allowed: one of the two");
    says(
        &with("\"queue_pkts\": 20", "\"queue_pkts\": -1"),
        "ref.jsonl:3: scenario.paths.1.queue_pkts = -1: allowed: a whole number from zero",
    );
    says(
        &with("\"rate_mbps\": 8", "\"rate_mbps\": 0"),
        "ref.jsonl:3: scenario.paths.0.rate_mbps = 0: allowed: a number above zero",
    );
    says(
        &with("\"loss_pct\": 0.1", "\"loss_pct\": 101"),
        "ref.jsonl:3: scenario.paths.1.loss_pct = 101: allowed: 0 to 100",
    );
    says(
        &with("\"loss_pct\": 0.1", "\"steps\": [[2, 1], [1, 2]]"),
        "ref.jsonl:3: scenario.paths.1.steps = [[2,1],[1,2]]: allowed: a list of [seconds after the connect, rate], both \
         above zero, in the order of time",
    );
    says(
        &with("\"mode\": \"mptcp\"", "\"mode\": \"tcp2\""),
        "ref.jsonl:3: scenario.mode = tcp2: allowed: tcp0, tcp1, mptcp",
    );
    says(&with("null", "[1]"), "ref.jsonl:3: path1.window_bytes = [1]: allowed: [median, largest] in bytes, or null");
    says(&with("\"bytes\": 1000000, ", ""), "ref.jsonl:3: bytes = nothing: allowed: a number from zero");
    says(&format!("{right}\n{right}"), "ref.jsonl:2: seed = 1: allowed: each seed of a scenario once");
    says(
        &format!("{right}\n{}", line("a/mptcp", 2, 1.0, ", \"wmem\": 5000")),
        "ref.jsonl:2: scenario = another one: allowed: the scenario of the lines before with this id",
    );
    says(
        &right.replacen("\"seed\"", "\"error\": \"bytes lost\", \"seed\"", 1),
        "ref.jsonl:1: error = \"bytes lost\": allowed: runs that did not fail",
    );
}

#[test]
fn quartiles_lie_between_ranks() {
    let q = Quartiles::of([4.0, 1.0, 2.0, 3.0]);
    assert_eq!((q.first, q.median, q.third, q.range()), (1.75, 2.5, 3.25, 1.5));
    assert_eq!(Quartiles::of([7.0]), Quartiles { first: 7.0, median: 7.0, third: 7.0 });
    assert_eq!(Quartiles::of([]), Quartiles::default());
}

fn ours(reference: &Reference, value: f64) -> Comparison {
    let mut run = OurRun::failed(reference, 1, String::new());
    (run.value, run.problem) = (value, None);
    Comparison::new(reference, vec![run])
}

/// A group of plain TCP on each path and MPTCP without loss, with fixed windows: Linux's values and ours.
fn group(linux: [f64; 3], here: [f64; 3]) -> Vec<Comparison> {
    let modes = ["tcp0", "tcp1", "mptcp"];
    let one = |i: usize| {
        let text = line(&format!("g/{}", modes[i]), 1, linux[i], ", \"rmem0\": 65536").replace("0.1}", "0}");
        let mode = format!("\"mode\": \"{}\"", modes[i]);
        ours(&read(&text.replace("\"mode\": \"mptcp\"", &mode))[0], here[i])
    };
    (0..3).map(one).collect()
}

fn verdict(summary: &Summary, what: &str) -> Option<bool> {
    summary.limits.iter().find(|l| l.what == what).and_then(|l| l.holds)
}

#[test]
fn limits_hold_or_fail_by_class() {
    let good = Summary::new(&group([8.0, 1.0, 8.5], [8.0, 1.0, 8.6]));
    assert!(good.holds());
    assert_eq!(verdict(&good, "TCP, no loss, timed, fixed window"), Some(true));
    assert_eq!(verdict(&good, "MPTCP, no loss, timed"), Some(true));
    assert_eq!(verdict(&good, "sized, no loss"), None);
    let bad = Summary::new(&group([8.0, 1.0, 8.5], [8.0, 1.04, 7.0]));
    assert!(!bad.holds());
    assert_eq!(verdict(&bad, "TCP, no loss, timed, fixed window"), Some(false));
    assert_eq!(verdict(&bad, "MPTCP, no loss, timed"), Some(false));
    assert_eq!(verdict(&bad, "sign of the aggregation benefit"), Some(false));
    let text = summary_table(&bad);
    assert!(text.contains("g: Linux +0.500, ours -0.125"), "{text}");
    assert!(text.contains("MPTCP, no loss, timed"), "{text}");
}

#[test]
fn a_benefit_within_five_percent_is_not_clear() {
    let summary = Summary::new(&group([8.0, 1.0, 8.02], [8.0, 1.0, 7.9]));
    assert_eq!((summary.benefits[0].clear, summary.benefits[0].agrees()), (false, false));
    assert_eq!(verdict(&summary, "sign of the aggregation benefit"), None);
}

#[test]
fn more_paths_and_changing_rates_have_classes_and_limits_of_their_own() {
    let steady = ours(&read(&line_with_third_path("n/mptcp", 1, 2.0, "[]"))[0], 2.1);
    let steps = ours(&read(&line_with_third_path("s/mptcp", 1, 2.0, "[[1, 3]]"))[0], 2.01);
    let summary = Summary::new(&[steady, steps]);
    let names: Vec<_> = summary.rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["MPTCP, 3 paths, no loss, timed", "MPTCP, 3 paths, rates change, no loss, timed"]);
    assert_eq!(verdict(&summary, "MPTCP, 3 and 4 paths, no loss, timed"), Some(false), "5 % is too far at the median");
    assert_eq!(verdict(&summary, "MPTCP, rates change, no loss, timed"), Some(true));
    assert_eq!(verdict(&summary, "MPTCP, no loss, timed"), None, "this is for two steady paths");
}

#[test]
fn scattered_runs_of_linux_are_compared_by_their_ranges() {
    let text = [1.0, 2.0, 3.0].iter().zip(1..).map(|(g, seed)| line_with_third_path("n/mptcp", seed, *g, "[]") + "\n");
    let reference = &read(&text.collect::<String>())[0];
    let what = "MPTCP, 3 and 4 paths or rates change, Linux's runs beyond 20 %";
    for (here, overlaps) in [(2.9, true), (3.1, false)] {
        let all = [ours(reference, here)];
        let summary = Summary::new(&all);
        assert_eq!(
            (verdict(&summary, what), verdict(&summary, "MPTCP, 3 and 4 paths, no loss, timed")),
            (Some(overlaps), None)
        );
        let text = ranges_table(&all);
        assert!(text.contains("Linux 1.000 2.000 3.000") && text.contains("do not") != overlaps, "{text}");
    }
}

#[test]
fn each_scheduler_is_compared_with_the_best_single_path() {
    let all = group([8.0, 1.0, 7.0], [10.0, 1.0, 9.0]);
    let mut run = OurRun::failed(&all[2].reference, 1, String::new());
    run.value = 9.9;
    let text = best_path_table(&[Alternatives::new(&all[2], vec![("minrtt".into(), vec![run])])], &all);
    let words =
        |line: usize| text.lines().nth(line).expect("there are three lines").split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(1), ["g/mptcp", "-12.5%", "-10.0%", "-1.0%"]);
    assert!(text.ends_with("1 of 1       1 of 1       0 of 1\n"), "{text}");
}

#[test]
fn with_loss_the_spread_of_linux_counts() {
    let text = [1.0, 2.0, 3.0, 4.0, 5.0].iter().zip(1..).map(|(g, seed)| line("a/mptcp", seed, *g, "") + "\n");
    let reference = &read(&text.collect::<String>())[0];
    assert!(ours(reference, 4.9).is_within_spread());
    assert!(!ours(reference, 5.1).is_within_spread());
    assert_eq!(ours(reference, 3.3).json()["linux_iqr"], 2.0);
    assert_eq!(ours(reference, 3.3).json()["unit"], "Mbit/s");
}

#[test]
fn a_run_of_ours_repeats_and_has_its_frames() {
    let reference = &read(&line("a/mptcp", 1, 2.0, ", \"rmem0\": 65536"))[0];
    let registry = Registry::builtin();
    let one = run(reference, 3, &registry).expect("it runs");
    assert_eq!(one, run(reference, 3, &registry).expect("it runs"));
    assert_eq!(one.problem, None);
    assert!(one.value > 1.0 && one.frame_bytes[0] > 100_000.0, "{one:?}");
    let table = comparison_table(&[Comparison::new(reference, vec![one])]);
    assert!(table.lines().count() == 2 && table.contains("a/mptcp"), "{table}");
}
