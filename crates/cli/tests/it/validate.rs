//! `pathweave validate`.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;

/// Runs of Linux 6.12: plain TCP with a fixed window, twice.
const LINES: &str = r#"
{"id": "small/tcp0", "seed": 1, "scenario": {"mode": "tcp0", "paths": [{"rate_mbps": 8, "delay_ms": 10, "queue_pkts": 100, "loss_pct": 0}, {"rate_mbps": 1, "delay_ms": 75, "queue_pkts": 100, "loss_pct": 0}], "cc": "reno", "seconds": 20, "rmem": 65536, "rmem0": 65536}, "goodput_mbps": 7.6424, "bytes": 19202048, "path0": {"received_frame_bytes": 20081726, "queue_drops": 0, "window_bytes": [38912, 38912]}, "path1": {"received_frame_bytes": 936, "queue_drops": 0, "window_bytes": null}}
{"id": "small/tcp0", "seed": 2, "scenario": {"mode": "tcp0", "paths": [{"rate_mbps": 8, "delay_ms": 10, "queue_pkts": 100, "loss_pct": 0}, {"rate_mbps": 1, "delay_ms": 75, "queue_pkts": 100, "loss_pct": 0}], "cc": "reno", "seconds": 20, "rmem": 65536, "rmem0": 65536}, "goodput_mbps": 7.6425, "bytes": 19202048, "path0": {"received_frame_bytes": 20081726, "queue_drops": 0, "window_bytes": [38912, 38912]}, "path1": {"received_frame_bytes": 936, "queue_drops": 0, "window_bytes": null}}
"#;

#[test]
fn a_table_limits_and_lines() {
    let folder = folder("validate");
    fs::write(folder.join("ref.jsonl"), LINES).expect("the file can be written");
    let output = pathweave(&folder, &["validate", "ref.jsonl", "--jsonl", "out.jsonl", "--check", "--jobs", "2"]);
    assert!(output.status.success(), "{}\n{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    for part in ["small/tcp0", "holds  TCP, no loss, timed, fixed window (1 scenario)"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let lines = fs::read_to_string(folder.join("out.jsonl")).expect("the lines are there");
    let line: serde_json::Value = serde_json::from_str(lines.trim()).expect("one line of JSON");
    assert_eq!(line["id"], "small/tcp0");
    for key in ["linux_median", "ours_median", "difference", "linux_iqr"] {
        assert!(line[key].is_number(), "{key} is missing: {line}");
    }
    assert!(line["difference"].as_f64().is_some_and(|d| d.abs() < 0.01), "{line}");
}

#[test]
fn a_broken_limit_is_a_failure_only_where_it_is_asked_for() {
    let folder = folder("validate-check");
    fs::write(folder.join("ref.jsonl"), LINES.replace("7.642", "9.642")).expect("the file can be written");
    assert_eq!(pathweave(&folder, &["validate", "ref.jsonl"]).status.code(), Some(0));
    let output = pathweave(&folder, &["validate", "ref.jsonl", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("FAILS"));
}

#[test]
fn mistakes_are_told() {
    let folder = folder("validate-mistakes");
    let says = |arguments: &[&str], expected: &str| {
        let output = pathweave(&folder, &[&["validate"], arguments].concat());
        assert_eq!((output.status.code(), stderr(&output).trim()), (Some(2), expected));
    };
    let missing = "there is no such file; this has to be a file of measurements";
    says(&["ref.jsonl"], &format!("error: ref.jsonl: {missing}"));
    fs::write(folder.join("reference.jsonl"), LINES).expect("the file can be written");
    says(
        &["refrence.jsonl"],
        "error: refrence.jsonl: there is no such file; did you mean `reference.jsonl`? This has to be a file of measurements",
    );
    says(
        &["nowhere/ref.jsonl"],
        "error: nowhere/ref.jsonl: there is no folder nowhere; this has to be a file of measurements",
    );
    says(&["."], "error: .: this is a folder, and has to be a file of measurements");
    fs::write(folder.join("ref.jsonl"), LINES.replace("reno", "vegas")).expect("the file can be written");
    says(&["ref.jsonl"], "error: ref.jsonl:2: scenario.cc = vegas: allowed: reno, cubic");
    fs::write(folder.join("ref.jsonl"), LINES).expect("the file can be written");
    says(
        &["ref.jsonl", "--only", "x"],
        "error: --only = x: no scenario of ref.jsonl has this in its id; the first is small/tcp0",
    );
    says(
        &["ref.jsonl", "--only", "smal/tcp0"],
        "error: --only = smal/tcp0: no scenario of ref.jsonl has this in its id; did you mean `small/tcp0`? The first is small/tcp0",
    );
}

#[test]
fn scenarios_can_be_looked_at_closer() {
    let folder = folder("validate-scenarios");
    fs::write(folder.join("ref.jsonl"), LINES).expect("the file can be written");
    assert!(pathweave(&folder, &["validate", "ref.jsonl", "--scenarios", "s"]).status.success());
    let arguments = ["compare", "s/small-tcp0.toml", "--schedulers", "minrtt", "--seeds", "1"];
    let output = pathweave(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn pictures_and_other_schedulers() {
    let folder = folder("validate-more");
    let mptcp = LINES.replace("tcp0", "mptcp");
    fs::write(folder.join("ref.jsonl"), format!("{LINES}{mptcp}")).expect("the file can be written");
    let output = pathweave(&folder, &["validate", "ref.jsonl", "--svg", "pictures", "--schedulers", "minrtt,blest"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().any(|l| l.starts_with("median gain") && l.matches('%').count() == 2), "{text}");
    for (name, parts) in [("agreement", ["Linux", "small/tcp0:"]), ("differences", ["small/mptcp", "+30 %"])] {
        let svg = fs::read_to_string(folder.join(format!("pictures/{name}.svg"))).expect("it is there");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        for part in parts {
            assert!(svg.contains(part), "{part} is missing in {name}");
        }
    }
}

#[test]
fn an_unknown_scheduler_is_told_before_the_runs() {
    let folder = folder("validate-unknown");
    fs::write(folder.join("ref.jsonl"), LINES).expect("the file can be written");
    let output = pathweave(&folder, &["validate", "ref.jsonl", "--jsonl", "out.jsonl", "--schedulers", "minrt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: --schedulers: unknown scheduler `minrt`; did you mean `minrtt`?"));
    assert!(!folder.join("out.jsonl").exists(), "nothing was run");
}
