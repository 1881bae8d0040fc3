//! Outputs of commands, and files that commands must not overwrite.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;
use std::path::PathBuf;

const SCENARIO: &str = r#"
format = 1
name = "base"
duration = "1s"

[[path]]
name = "wifi"
trace = "recording"
delay = "10ms"
down = { rate = "8Mbps" }

[[path.change]]
at = "2s"
delay = "20ms"
"#;

/// A folder with a scenario and its trace, both without endings that would forbid them as outputs.
fn prepared(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("base"), SCENARIO).expect("the scenario can be written");
    fs::write(folder.join("base.toml"), SCENARIO).expect("the scenario can be written");
    fs::write(folder.join("recording"), "1\n2\n3\n").expect("the trace can be written");
    folder
}

const SMALL: [&str; 6] = ["compare", "base", "--schedulers", "minrtt", "--seeds", "1"];

#[cfg(unix)]
#[test]
fn no_command_overwrites_its_inputs() {
    let folder = prepared("inputs");
    std::os::unix::fs::symlink("base", folder.join("link")).expect("a link can be made");
    fs::hard_link(folder.join("recording"), folder.join("same")).expect("a link can be made");
    let plan = "format = 1\nname = \"plan\"\nscenarios = [\"base\"]\nschedulers = [\"minrtt\"]\nseeds = 1\n";
    fs::write(folder.join("page.html"), plan).expect("the plan can be written");
    let explain = ["explain", "base", "--scheduler", "minrtt"];
    for (command, option, file, why) in [
        (&SMALL[..], "--jsonl", "base", "this is the input base, which would be overwritten"),
        (&SMALL, "--jsonl", "./base", "this is the input base"),
        (&SMALL, "--csv", "link", "this is the input base"),
        (&SMALL, "--report", "recording", "this is the input recording"),
        (&SMALL, "--pcap", "same", "this is the input recording"),
        (&["compare", "base.toml"], "--jsonl", "base.toml", "stands for something else"),
        (&explain, "--jsonl", "link", "this is the input base"),
        (&explain, "--report", "recording", "this is the input recording"),
        (&["validate", "base"], "--jsonl", "link", "this is the input base"),
        (&["sweep", "page.html"], "--out", ".", "this is the input page.html"),
    ] {
        let output = pathweave(&folder, &[command, &[option, file]].concat());
        let shown = format!("{command:?} {option} {file}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(stderr(&output).contains(why), "{shown}");
        for (input, text) in
            [("base", SCENARIO), ("base.toml", SCENARIO), ("recording", "1\n2\n3\n"), ("page.html", plan)]
        {
            assert_eq!(fs::read_to_string(folder.join(input)).ok().as_deref(), Some(text), "{shown}");
        }
    }
}

#[test]
fn two_outputs_are_not_one_file() {
    let folder = prepared("two");
    let output = pathweave(&folder, &[&SMALL[..], &["--jsonl", "both", "--csv", "./both"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("both and ./both are one file"), "{}", stderr(&output));
    let output = pathweave(&folder, &[&SMALL[..], &["--jsonl", "-", "--csv", "-"]].concat());
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(!folder.join("both").exists());
}

#[test]
fn a_dash_is_standard_output_and_nothing_else_goes_there() {
    let folder = prepared("dash");
    let run = |more: &[&str]| {
        let output = pathweave(&folder, &[&SMALL[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("goodput"), "the table is on standard error: {}", stderr(&output));
        assert!(!folder.join("-").exists());
        output.stdout
    };
    let table = run(&["--csv", "table.csv", "--jsonl", "-"]);
    assert!(table.starts_with(b"{\"schema_version\""));
    assert_eq!(run(&["--csv", "-"]), fs::read(folder.join("table.csv")).expect("it is written"));
    assert_eq!(run(&["--pcap", "-"])[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header (pcapng)");
    let page = pathweave(&folder, &["explain", "base", "--scheduler", "minrtt", "--report", "-"]);
    assert!(stdout(&page).starts_with("<!doctype html>") || stdout(&page).starts_with("<!DOCTYPE html>"));
    assert!(stdout(&page).trim_end().ends_with("</html>"));
    let output = pathweave(&folder, &[&SMALL[..], &["--report", "-"]].concat());
    assert!(stderr(&output).contains("--report -: pages are written beside it"), "{}", stderr(&output));
}

#[test]
fn an_ending_says_what_is_in_the_file() {
    let folder = prepared("endings");
    for (option, file, allowed) in [
        ("--report", "x.txt", ".html, .htm"),
        ("--pcap", "x.pcap", ".pcapng"),
        ("--csv", "x.html", ".csv, .txt"),
        ("--jsonl", "x.csv", ".jsonl, .ndjson, .json, .txt, .log"),
    ] {
        let output = pathweave(&folder, &[&SMALL[..], &[option, file]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(&format!("let the name end with {allowed}, or with nothing")),
            "{}",
            stderr(&output)
        );
        assert!(!folder.join(file).exists());
    }
}

#[test]
fn what_has_no_effect_is_warned_of_once() {
    let folder = prepared("warnings");
    let output = pathweave(&folder, &["compare", "base", "--schedulers", "minrtt,blest", "--seeds", "2"]);
    let warning =
        "warning: base: wifi changes at 2s, but the run ends at 1s: what changes from then on has no effect\n";
    assert_eq!(stderr(&output).matches(warning).count(), 1, "{}", stderr(&output));
    let text = SCENARIO.replace("rate = \"8Mbps\"", "rate = \"unlimited\"");
    fs::write(folder.join("base"), format!("{text}[[connection]]\ndirection = \"download\"\n"))
        .expect("it can be written");
    for command in [&SMALL[..], &["explain", "base", "--scheduler", "minrtt"]] {
        let output = pathweave(&folder, command);
        let warning = "warning: base: the data goes to the client, and no rate limits wifi that way";
        assert_eq!(stderr(&output).matches(warning).count(), 1, "{}", stderr(&output));
    }
    for command in ["compare", "explain"] {
        let scheduler = if command == "compare" { "--schedulers" } else { "--scheduler" };
        let set = |setting| ["--set", setting];
        let rest =
            [&["wifi-lte", scheduler, "minrtt"][..], &set("path.wifi.rate=5Mbps"), &set("duration=11s")].concat();
        let download = set("connection.direction=download");
        for (more, count) in [(&download[..], 1), (&[], 0)] {
            let output = pathweave(&folder, &[&[command], &rest[..], more].concat());
            let warning = "warning: wifi-lte: path.wifi.rate does not reach the data, which goes to the client: ";
            assert_eq!(stderr(&output).matches(warning).count(), count, "{}", stderr(&output));
        }
        let output = pathweave(&folder, &[&[command], &rest[..], &set("connection.scheduler=blest")].concat());
        let warning = "warning: wifi-lte: connection.scheduler does not reach the measured data: ";
        assert_eq!(stderr(&output).matches(warning).count(), 1, "{}", stderr(&output));
    }
}
