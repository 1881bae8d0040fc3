//! `pathweave compare`.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;

const SMALL: &str = r#"
format = 1
name = "small"
description = "two <small> paths"
duration = "3s"

[[path]]
name = "fast"
rate = "8Mbps"
delay = "10ms"
queue = "50packets"
loss = "0.1%"
down = { rate = "unlimited", loss = 0 }

[[path]]
name = "slow"
rate = "2Mbps"
delay = "40ms"
queue = "50packets"
down = { rate = "unlimited" }

[[connection]]
congestion = "reno"
"#;

#[test]
fn a_table_lines_and_a_page() {
    let folder = folder("compare");
    fs::write(folder.join("small.toml"), SMALL).expect("the scenario can be written");
    let arguments = ["compare", "small.toml", "--schedulers", "minrtt,blest", "--seeds", "2"];
    let files = ["--jsonl", "runs.jsonl", "--report", "page.html"];
    let output = pathweave(&folder, &[&arguments[..], &files].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["minrtt", "blest", "tcp-path0", "tcp-path1", "goodput", "bene-", "Mbit/s", "page.html"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");

    let lines = fs::read_to_string(folder.join("runs.jsonl")).expect("the lines are there");
    let lines: Vec<serde_json::Value> = lines.lines().map(|l| serde_json::from_str(l).expect("each is JSON")).collect();
    let order: Vec<_> =
        lines.iter().map(|l| format!("{} {}", l["scheduler"].as_str().unwrap_or(""), l["seed"])).collect();
    let expected =
        ["minrtt 1", "minrtt 2", "blest 1", "blest 2", "tcp-path0 1", "tcp-path0 2", "tcp-path1 1", "tcp-path1 2"];
    assert_eq!(order, expected);
    for line in &lines {
        assert_eq!((line["scenario"].as_str(), line["status"].as_str()), (Some("small"), Some("completed")));
        let metrics = &line["metrics"];
        assert!(metrics["goodput_mbps"].as_f64().is_some_and(|g| g > 0.5), "{metrics}");
        assert!(metrics["aggregation_benefit"].is_number());
        assert!(metrics["out_of_order_bytes"]["p95"].is_number());
        assert!(metrics["per_path"].as_array().is_some_and(|paths| !paths.is_empty()));
    }

    let page = fs::read_to_string(folder.join("page.html")).expect("the page is there");
    assert!(page.contains("two &lt;small&gt; paths") && page.contains("</html>"));

    // Beside it are the decisions of the scheduler whose time is explained.
    let linked: Vec<_> =
        ["minrtt", "blest"].map(|name| (name, format!("page-small-{name}.html"))).into_iter().collect();
    let (name, file) = linked.iter().find(|(_, file)| folder.join(file).is_file()).expect("one of them is explained");
    assert!(page.contains(&format!("./{file}")) && text.contains(file), "{text}");
    let decisions = fs::read_to_string(folder.join(file)).expect("the page is there");
    assert!(decisions.contains(&format!("{name} on small")));
    assert!(decisions.contains("<a href=\"./page.html#s0\">All schedulers on "), "it leads back");
    let other = pathweave(&folder, &[&arguments[..], &["--report", "why.html", "--why", "redundant"]].concat());
    assert!(other.status.success(), "{}", stderr(&other));
    let page = fs::read_to_string(folder.join("why.html")).expect("the page is there");
    assert!(folder.join("why-small-redundant.html").is_file() && page.contains("./why-small-redundant.html"));
    assert!(page.contains("\"command\":\"pathweave explain small.toml\""), "the command names the file");

    // Standard output holds the same lines and nothing else, whatever the number of threads.
    let piped = pathweave(&folder, &[&arguments[..], &["--jsonl", "-", "--jobs", "1"]].concat());
    assert_eq!(stdout(&piped), fs::read_to_string(folder.join("runs.jsonl")).expect("the lines are there"));
    assert!(stderr(&piped).contains("goodput"));
}

#[test]
fn without_a_scenario_it_is_wifi_lte_with_a_page() {
    let folder = folder("default");
    let output = pathweave(&folder, &["compare", "--schedulers", "minrtt", "--seeds", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("wifi-lte\n"), "{}", stdout(&output));
    assert!(folder.join("pathweave-report.html").is_file());
}

#[test]
fn traces_lie_beside_their_scenario() {
    let folder = folder("traces");
    fs::create_dir(folder.join("links")).expect("the folder can be made");
    let scenario = SMALL.replace("rate = \"8Mbps\"", "trace = \"a.down\"");
    fs::write(folder.join("links/small.toml"), scenario).expect("the scenario can be written");
    let arguments = ["compare", "links/small.toml", "--schedulers", "minrtt", "--seeds", "1", "--jsonl", "-"];

    fs::write(folder.join("links/a.down"), "1\n2\n3\n5\n").expect("the trace can be written");
    let output = pathweave(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 3);

    fs::write(folder.join("links/a.down"), "1\ntwo\n").expect("the trace can be written");
    let output = pathweave(&folder, &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("small.toml:9: trace = a.down: allowed: "), "{}", stderr(&output));
}

#[test]
fn wrong_scenarios_say_file_line_value_and_what_is_allowed() {
    let folder = folder("wrong");
    fs::write(folder.join("wrong.toml"), SMALL.replace("40ms", "40 furlongs")).expect("the scenario can be written");
    let output = pathweave(&folder, &["compare", "wrong.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.starts_with("error: wrong.toml:18: ") && text.contains("40 furlongs: allowed: "), "{text}");
    assert!(stdout(&output).is_empty());
}

#[test]
fn wrong_arguments_end_with_2_before_any_run() {
    let folder = folder("arguments");
    for (arguments, part) in [
        (&["compare", "no-such"][..], "wlan-3g"),
        (&["compare", "--schedulers", "minrt"], "minrtt"),
        (&["compare", "--schedulers", "minrtt:speed=9"], "speed"),
        (&["compare", "--set", "connection.receive_buffer=much"], "much"),
        (&["compare", "--set", "receive_buffer"], "KEY=VALUE"),
        (&["compare", "--seeds", "0"], "for '--seeds <N>': write a whole number from 1"),
        (&["compare", "--why", "nobody"], "error: --why: unknown scheduler `nobody`; allowed: minrtt"),
        (
            &["compare", "--against", "tcp-path2"],
            "error: --against = tcp-path2: wifi-lte has no such path; the last is tcp-path1",
        ),
        (&["compare", "--jobs", "many"], "--jobs"),
        (&["compare", "--report", "no/such/folder/page.html"], "no/such/folder"),
        (&["compare", "--set", "path.0.trace=nowhere.down"], "nowhere.down"),
    ] {
        let output = pathweave(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(fs::read_dir(&folder).expect("the folder is there").count(), 0, "nothing was written");
}

#[test]
fn a_capture_of_one_run_and_segments_as_bytes_change_no_result() {
    let folder = folder("capture");
    fs::write(folder.join("small.toml"), SMALL).expect("the scenario can be written");
    let one = ["compare", "small.toml", "--schedulers", "minrtt", "--seeds", "1", "--jsonl", "-"];
    let plain = pathweave(&folder, &one);
    let watched = pathweave(&folder, &[&one[..], &["--pcap", "run.pcapng", "--through-bytes"]].concat());
    assert!(watched.status.success(), "{}", stderr(&watched));
    assert_eq!(stdout(&watched), stdout(&plain));
    let capture = fs::read(folder.join("run.pcapng")).expect("the capture is there");
    // A pcapng file begins with a section header, little-endian here on every machine.
    assert_eq!(capture[..12], [0x0a, 0x0d, 0x0d, 0x0a, capture[4], 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]);
    assert!(capture.len() > 100_000, "{} bytes", capture.len());
    let two = pathweave(
        &folder,
        &["compare", "small.toml", "--schedulers", "minrtt", "--seeds", "2", "--pcap", "two.pcapng"],
    );
    assert_eq!(two.status.code(), Some(2));
    assert!(stderr(&two).contains("--pcap: a capture is of one run"), "{}", stderr(&two));
    assert!(!folder.join("two.pcapng").exists());
}

#[test]
fn stalled_runs_of_schedulers_end_with_1_and_plain_tcp_on_a_dead_path_does_not() {
    let folder = folder("dead");
    let dead = |text: &str| text.replacen("rate = \"2Mbps\"", "rate = \"2Mbps\"\nloss = \"100%\"", 1);
    fs::write(folder.join("one.toml"), dead(SMALL)).expect("the scenario can be written");
    let output = pathweave(&folder, &["compare", "one.toml", "--schedulers", "minrtt", "--seeds", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).replace('\n', " ").contains("plain TCP delivers nothing on slow"), "{}", stdout(&output));
    let both = dead(&SMALL.replace("loss = \"0.1%\"", "loss = \"100%\""));
    fs::write(folder.join("both.toml"), both).expect("the scenario can be written");
    let output = pathweave(&folder, &["compare", "both.toml", "--schedulers", "minrtt", "--seeds", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("Nothing arrived"), "{}", stdout(&output));
}

/// The bytes of a base64 text (RFC 4648 §4).
fn decoded(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text.chars().filter_map(|c| ALPHABET.find(c)).map(|d| d as u32).collect();
    let bytes = digits.chunks(4).flat_map(|chunk| {
        let word = chunk.iter().fold(0, |word, d| word << 6 | d) << (6 * (4 - chunk.len()));
        word.to_be_bytes()[1..chunk.len()].to_vec()
    });
    bytes.collect()
}

/// The page holds a file and a command. Saved and run elsewhere, they give the same runs, overrides included.
#[test]
fn the_page_says_how_its_runs_are_made_again() {
    let folder = folder("again");
    fs::write(folder.join("small.toml"), SMALL).expect("the scenario can be written");
    let digests = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join(file)).expect("the lines are there");
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("a line of JSON");
        text.lines()
            .map(line)
            .map(|run| run["digest"].to_string() + &run["manifest"]["scenario_hash"].to_string())
            .collect()
    };
    let first = ["compare", "small.toml", "--schedulers", "blest:delta=0.02,minrtt:pr=true", "--seeds", "2"];
    let more = ["--set", "path.0.delay=7.3ms", "--jsonl", "first.jsonl", "--report", "page.html"];
    let output = pathweave(&folder, &[&first[..], &more[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(folder.join("page.html")).expect("the page is there");
    let between = |start: &str, end: &str| {
        let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}"));
        rest.split_once(end).map_or("", |(inside, _)| inside).to_owned()
    };
    let command = between("<pre class=\"command\">", "</pre>");
    let saved = command.split_whitespace().nth(2).expect("the command names a file").to_owned();
    assert_eq!(between("download=\"", "\""), saved);
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).expect("the folder is new");
    fs::write(elsewhere.join(&saved), decoded(&between(";base64,", "\""))).expect("the file can be saved");
    let mut words: Vec<&str> = command.split_whitespace().skip(1).collect();
    words.extend(["--jsonl", "../second.jsonl"]);
    let output = pathweave(&elsewhere, &words);
    assert!(output.status.success(), "{command}: {}", stderr(&output));
    assert_eq!(digests("first.jsonl"), digests("second.jsonl"), "{command}");
    let line = fs::read_to_string(folder.join("first.jsonl")).expect("the lines are there");
    let run: serde_json::Value = serde_json::from_str(line.lines().next().expect("there is a run")).expect("JSON");
    assert_eq!(run["manifest"]["commit"].as_str(), pathweave_runner::COMMIT);
    assert!(page.contains(&format!("Made by Pathweave {}", pathweave_runner::version())));
}

/// A path goes down for 5 s under a stream of messages that either path could carry.
const MESSAGES: &str = r#"
format = 1
name = "messages"
duration = "20s"
[[path]]
name = "wan"
rate = "50Mbps"
delay = "8ms"
queue = "200packets"
[[path.change]]
at = "3s"
up = false
[[path.change]]
at = "8s"
up = true
[[path]]
name = "fiveg"
rate = "40Mbps"
delay = "30ms"
queue = "400packets"
[[connection]]
congestion = "cubic"
workload = "cbr:rate=6Mbps:message=10KB"
"#;

#[test]
fn messages_that_all_schedulers_deliver_are_compared_by_their_delay() {
    let folder = folder("messages");
    fs::write(folder.join("messages.toml"), MESSAGES).expect("the scenario can be written");
    let arguments = "compare messages.toml --schedulers linux,minrtt --seeds 1 --csv table.csv --jsonl runs.jsonl --report page.html";
    let output = pathweave(&folder, &arguments.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["has a delay of ", " at the 99th percentile", "Its median delay is ", "without a delivery"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Mbit/s less") && !text.contains("practically as much"), "{text}");
    let runs = fs::read_to_string(folder.join("runs.jsonl")).expect("the lines are there");
    let runs: Vec<serde_json::Value> = runs.lines().map(|l| serde_json::from_str(l).expect("each is JSON")).collect();
    let table = fs::read_to_string(folder.join("table.csv")).expect("the table is there");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().expect("a heading");
    let column = |name: &str| heading.iter().position(|h| *h == name).expect(name);
    let mut last = 0.0;
    for line in lines {
        let run = runs.iter().find(|run| run["scheduler"] == line[column("scheduler")]).expect("its run");
        assert_eq!((line[column("judged_by")], &run["metrics"]["undelivered_messages"]), ("delay_p99_ms", &0.into()));
        let shown = |name: &str| line[column(name)].parse::<f64>().expect("a number");
        let close = |a: f64, b: &serde_json::Value| (a - b.as_f64().expect("a number")).abs() < 1e-6;
        let delays = &run["metrics"]["message_delay_ms"];
        assert!(
            close(shown("delay_p50_ms"), &delays["p50"]) && close(shown("delay_p99_ms"), &delays["p99"]),
            "{table}"
        );
        assert!(close(shown("longest_gap_ms"), &run["metrics"]["arrival_interval_ms"]["max"]), "{table}");
        assert!(shown("delay_p99_ms") >= last, "the shortest delay is first: {table}");
        last = shown("delay_p99_ms");
    }
    let page = fs::read_to_string(folder.join("page.html")).expect("the page is there");
    assert!(page.contains("Delay, 99th percentile") && page.contains(">longest gap</th>"));
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_what_is_finished_is_kept_and_every_output_says_what_is_missing() {
    use std::process::{Command, Stdio};
    let folder = folder("interrupted");
    let long = SMALL.replace("duration = \"3s\"", "duration = \"60s\"");
    fs::write(folder.join("long.toml"), long).expect("the scenario can be written");
    let arguments =
        "compare long.toml --schedulers minrtt --seeds 4000 --jsonl runs.jsonl --report page.html --csv table.csv";
    let child = Command::new(env!("CARGO_BIN_EXE_pathweave"))
        .args(arguments.split(' '))
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command can be started");
    let lines = || fs::read_to_string(folder.join("runs.jsonl")).unwrap_or_default();
    let finished = || lines().lines().filter(|line| line.contains("\"scheduler\":")).count();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|s| s.success()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("tcp-path0"), "{}", stdout(&output));
    // minrtt and plain TCP on two paths.
    let said = format!("Stopped early: {} of 12000 runs are finished", finished());
    assert!(stderr(&output).contains(&said) && finished() > 0, "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("\n\n{said}. With ")), "{}", stdout(&output));
    let stopped = format!("{{\"stopped\":{{\"finished\":{},\"planned\":12000}}}}", finished());
    assert_eq!(lines().lines().last(), Some(stopped.as_str()));
    assert_eq!(lines().lines().count(), finished() + 1);
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert!(page.contains(&format!("<div class=\"verdict worse\"><p>{said}.</p>")), "the banner is red");
    assert!(!page.contains("<div class=\"verdict\">"), "and no other one is green");
    let table = fs::read_to_string(folder.join("table.csv")).expect("a table");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = lines.next().expect("a heading");
    let column = |name: &str| heading.iter().position(|h| *h == name).expect(name);
    let (planned, runs) = (column("planned"), column("runs"));
    let sum = |lines: &[Vec<&str>], column: usize| {
        lines.iter().map(|line| line[column].parse::<usize>().expect("a number")).sum::<usize>()
    };
    let lines: Vec<_> = lines.collect();
    assert_eq!((sum(&lines, planned), sum(&lines, runs)), (12_000, finished()), "{table}");
}
