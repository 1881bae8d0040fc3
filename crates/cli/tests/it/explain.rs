//! `pathweave explain`.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;

#[test]
fn a_timeline_lines_and_a_page() {
    let folder = folder("explain");
    let arguments = ["explain", "wlan-3g", "--scheduler", "blest", "--from", "400ms", "--to", "600ms"];
    let arguments = [&arguments[..], &["--set", "connection.receive_buffer=60KB"]].concat();
    let text = pathweave(&folder, &arguments);
    assert!(text.status.success(), "{}", stderr(&text));
    let text = stdout(&text);
    for part in
        ["blest on wlan-3g, seed 1, 0.4 s to 0.6 s", "assign to wlan: DSN ", "wait for wlan", "because X·λ = ", "srtt"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }

    let files = ["--jsonl", "decisions.jsonl", "--report", "page.html"];
    let output = pathweave(&folder, &[&arguments[..], &files].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "Written: decisions.jsonl\nWritten: page.html\n");
    assert!(fs::read_to_string(folder.join("page.html")).is_ok_and(|page| page.contains("blest on wlan-3g")));

    let lines = fs::read_to_string(folder.join("decisions.jsonl")).expect("the lines are there");
    let lines: Vec<serde_json::Value> = lines.lines().map(|l| serde_json::from_str(l).expect("each is JSON")).collect();
    let (run, entries) = lines.split_first().expect("the run comes first");
    assert_eq!((run["kind"].as_str(), run["scheduler"].as_str()), (Some("run"), Some("blest")));
    assert_eq!(run["overrides"]["connection.receive_buffer"], "60KB");
    let (mut waits, mut given) = (0, 0);
    for entry in entries {
        assert!(entry["time_s"].as_f64().is_some_and(|t| (0.4..=0.6).contains(&t)), "{entry}");
        if entry["kind"] != "decision" {
            assert!(["repeated", "window-blocked", "window-unblocked"].contains(&entry["kind"].as_str().unwrap_or("")));
            continue;
        }
        let saw = &entry["saw"];
        for key in
            ["send_window_bytes", "send_window_free_bytes", "first_unacked", "unassigned_bytes", "in_flight_bytes"]
        {
            assert!(saw[key].is_u64(), "{key}: {saw}");
        }
        for subflow in saw["subflows"].as_array().expect("a list") {
            assert!(subflow["path"].is_string() && subflow["srtt_ms"].is_number(), "{subflow}");
            for key in ["cwnd_segments", "in_flight_segments", "window_space_segments", "queued_bytes"] {
                assert!(subflow[key].is_u64(), "{key}: {subflow}");
            }
        }
        assert!(entry["reason"]["text"].is_string() && entry["reason"]["terms"].is_object());
        if entry["verdict"]["wait"]["for"]["path"] == "wlan" {
            let terms = &entry["reason"]["terms"];
            assert!(terms["x_lambda_bytes"].as_f64() > terms["free_bytes"].as_f64(), "{terms}");
            assert_eq!(entry["outcome"], "waiting");
            waits += 1;
        }
        if entry["verdict"]["assign"].is_object() {
            given += usize::from(entry["outcome"]["assigned"]["range"].is_array());
        }
    }
    assert!(waits > 0 && given > 0, "{waits} waits, {given} assignments");
}

/// Twenty equal connections, and one of another kind.
const MANY: &str = "format = 1\nname = \"many\"\nduration = \"2s\"\n[[path]]\nname = \"wifi\"\nrate = \"20Mbps\"\ndelay = \"10ms\"\n\
    [[path]]\nname = \"lte\"\nrate = \"10Mbps\"\ndelay = \"30ms\"\n\
    [[connection]]\nname = \"flow\"\ncount = 20\nworkload = \"transfer:size=100KB\"\n\
    [[connection]]\nname = \"large\"\nworkload = \"transfer:size=1MB\"\n";

#[test]
fn one_of_many_equal_connections_is_shown_and_each_can_be_chosen() {
    let folder = folder("explain-many");
    fs::write(folder.join("many.toml"), MANY).expect("the folder is writable");
    let explain = |more: &[&str]| {
        let output = pathweave(&folder, &[&["explain", "many.toml", "--scheduler", "minrtt"], more].concat());
        (output.status.success(), stdout(&output), stderr(&output))
    };
    let (_, text, _) = explain(&[]);
    assert!(text.lines().next().is_some_and(|line| line.ends_with(" of 21 connections")), "{text}");
    assert!(text.contains("\n20 alike: flow-1 to flow-20; shown here: flow-1, "), "{text}");
    assert!(text.contains(" s  flow-1: ") && text.contains(" s  large: ") && !text.contains("flow-2:"), "{text}");
    assert!(text.ends_with("\n--connection NAME shows another connection.\n"), "{text}");

    let (_, text, _) = explain(&["--connection", "flow-7"]);
    assert!(text.lines().next().is_some_and(|line| line.ends_with(" of flow-7")), "{text}");
    assert!(!text.contains("alike") && !text.contains("--connection"), "{text}");
    let (_, lines, _) = explain(&["--connection", "flow-7", "--jsonl", "-"]);
    let mut lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    assert_eq!(lines.next().expect("a line for the run")["alike"], serde_json::json!([["flow-7"]]));
    assert!(lines.all(|line| line["connection"] == "flow-7"));

    let (done, _, error) = explain(&["--connection", "flow-77"]);
    assert_eq!(
        (done, error.trim()),
        (
            false,
            "error: --connection: unknown connection `flow-77`; did you mean `flow-7`? \
        The measured connections of many are 20 alike: flow-1 to flow-20; large"
        )
    );
    let (done, _, error) = explain(&["--connection", "flow-7", "--to", "1ms"]);
    assert!(!done && error.contains(": there is no decision of flow-7 between 0 s and 0.001 s; "), "{error}");
}

#[test]
fn what_is_wrong_is_told() {
    let folder = folder("explain-wrong");
    for (arguments, message) in [
        (
            "--scheduler blestx",
            "error: --scheduler: unknown scheduler `blestx`; did you mean `blest`? Allowed: minrtt, ",
        ),
        ("--scheduler blest:x=1", "error: --scheduler: blest:x=1: unknown setting `x`; there are: "),
        ("--scheduler blest --from 3s --to 2s", "error: --from = 3 s is later than --to = 2 s"),
        ("--scheduler blest --from 2s --to 2s", "error: --from and --to are both 2 s; choose a span that is not empty"),
        (
            "--scheduler blest --from 199s",
            "error: --from = 199 s is too late: it must be less than 100 s, the duration of wlan-3g",
        ),
        (
            "--scheduler blest --to 199s",
            "error: --to = 199 s is too late: it may be at most 100 s, the duration of wlan-3g",
        ),
        ("--scheduler blest --to 2", "error: --to = 2 is not a time; write "),
        (
            "--scheduler blest --to 1ms",
            "error: blest on wlan-3g, seed 1: there is no decision between 0 s and 0.001 s; the first one is at ",
        ),
        ("--scheduler blest --set duration=5parsecs", "error: --set: duration = 5parsecs"),
        (
            "--scheduler blest --connection bulkk",
            "error: --connection: unknown connection `bulkk`; did you mean `bulk`? The measured connection of wlan-3g is bulk\n",
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let output = pathweave(&folder, &[&["explain", "wlan-3g"], &words[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).starts_with(message), "{arguments}: {}", stderr(&output));
    }
}
