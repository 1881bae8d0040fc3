//! Commands with real packets. A test that needs root is skipped without it, and says so.

use super::{folder, folder_of, pathweave, stderr, stdout};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

#[test]
fn a_setting_without_a_meaning_for_real_packets_is_refused_with_the_reason() {
    let folder = folder("real-settings");
    let perf = ["perf", "--client", "10.1.0.1", "--path", "10.1.0.2@10.1.0.1", "--set"];
    for (setting, reason) in [
        ("direction=download", "use --reverse or --both"),
        ("workload=bulk", "use --time, --bytes or --ping"),
        ("start=3s", "the connection is opened at once"),
        ("mtu=1400", "use --mtu"),
    ] {
        let output = pathweave(&folder, &[&perf[..], &[setting]].concat());
        assert_eq!(output.status.code(), Some(2), "{setting}");
        let (name, _) = setting.split_once('=').expect("it has a value");
        let said = stderr(&output);
        assert!(said.contains(&format!("the setting {name} has no meaning")) && said.contains(reason), "{said}");
    }
    let output = pathweave(&folder, &["emulate", "wifi-lte", "--set", "connection.congestion=lia", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not its connections"), "{}", stderr(&output));
}

#[test]
fn standard_output_of_emulate_is_that_of_the_clients_command_alone() {
    let folder = folder("real-output");
    let command = ["emulate", "wifi-lte", "--server", "echo from the server", "--", "echo", "from the client"];
    let output = pathweave(&folder, &command);
    if stderr(&output).contains("that needs root") {
        eprintln!("SKIPPED: {}", stderr(&output));
        return;
    }
    assert_eq!(stdout(&output), "from the client\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("from the server\n"));
}

/// A server of `perf` over the kernel, which serves one client on a port of its own.
fn perf_server(port: &str) -> Child {
    let mut server = Command::new(env!("CARGO_BIN_EXE_pathweave"));
    server.args(["perf", "--server", "--kernel", "--plain", "--clients", "1", "--port", port]);
    let mut server = server.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut first = String::new();
    let lines = server.stdout.as_mut().expect("it is piped");
    BufReader::new(lines).read_line(&mut first).expect("it says that it waits");
    server
}

#[test]
fn a_signal_ends_perf_with_the_figures_so_far() {
    for (signal, port, reverse) in [("INT", "52107", false), ("TERM", "52108", true)] {
        let mut server = perf_server(port);
        let mut client = Command::new(env!("CARGO_BIN_EXE_pathweave"));
        client.args(["perf", "--client", "::1", "--kernel", "--plain", "--time", "60", "--json", "--port", port]);
        client.args(reverse.then_some("--reverse")).stdout(Stdio::piped());
        let client = client.spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(1500));
        let sent = Command::new("kill").args(["-s", signal, &client.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let output = client.wait_with_output().expect("it ends");
        let _ = (server.kill(), server.wait());
        assert_eq!(output.status.code(), Some(130), "{signal}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!(document["error"], "interrupted", "{signal}");
        let sum = if reverse { "sum_received" } else { "sum_sent" };
        assert!(document["end"][sum]["bytes"].as_u64() > Some(0), "{signal}: {document}");
        // The kernel's figures of its socket.
        assert!(document["start"]["tcp_mss_default"].as_u64() > Some(0), "{signal}: {document}");
        if !reverse {
            assert!(document["end"][sum]["retransmits"].is_u64(), "{signal}: {document}");
        }
    }
}

/// The output of a shell command in the client's namespace of `emulate wifi-lte`. `$PERF` is the command's `perf`.
/// `None` without root.
fn emulated(name: &str, server: &str, client: &str) -> Option<Output> {
    let folder = folder(name);
    let script = |text: &str| format!("PERF='{} perf'; {text}", env!("CARGO_BIN_EXE_pathweave"));
    let (server, client) = (script(server), script(client));
    let command = ["emulate", "wifi-lte", "--server", &server, "--", "sh", "-c", &client];
    let output = pathweave(&folder, &command);
    if stderr(&output).contains("that needs root") {
        eprintln!("SKIPPED: {}", stderr(&output));
        return None;
    }
    Some(output)
}

#[test]
fn without_a_connection_perf_says_to_whom_and_why_and_shows_no_figures() {
    const STOPPED: &str = "timeout --foreground --preserve-status -s INT 2.5";
    const ENGINE: &str = "--path 10.0.1.5@10.0.1.6";
    // The machine at 10.0.1.2 has no server, and no machine has the address 10.0.1.77.
    for (name, limit, kind, server, code, why) in [
        ("engine-refused", "", ENGINE, "10.0.1.2", 1, "refused by the peer"),
        ("engine-silent", STOPPED, ENGINE, "10.0.1.77", 130, "interrupted"),
        ("kernel-refused", "", "--kernel", "10.0.1.2", 1, "Connection refused"),
        ("kernel-silent", STOPPED, "--kernel --plain", "10.0.1.77", 130, "interrupted"),
    ] {
        let said = format!("no connection to {server}:5210: {why}");
        let client = format!("{limit} $PERF {kind} --client {server}");
        let Some(output) = emulated(name, "true", &client) else { return };
        let (text, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{name}: {text}{error}");
        assert_eq!(text, "", "{name}");
        assert!(error.contains(&said) && !error.contains("figures"), "{name}: {error}");
        let Some(output) = emulated(name, "true", &format!("{client} --json")) else { return };
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert!(document["error"].as_str().is_some_and(|error| error.starts_with(&said)), "{name}: {document}");
        assert_eq!(
            (&document["intervals"], &document["end"]),
            (&serde_json::json!([]), &serde_json::json!({})),
            "{name}"
        );
    }
}

/// Linux's default is 500 packets, which a hundred connections that start together fill.
#[test]
fn the_engines_devices_have_room_for_the_packets_of_many_connections() {
    let server = "$PERF --server --path 10.0.1.5@10.0.1.6 >ready & n=0";
    let wait = "until [ -s ready ] || [ $n -gt 200 ]; do n=$((n+1)); sleep 0.05; done";
    let Some(output) = emulated("queue", "true", &format!("{server}; {wait}; ip link show dev pw0")) else { return };
    assert!(stdout(&output).contains("qlen 20000"), "{}{}", stdout(&output), stderr(&output));
}

/// Where a stopped measurement says that bytes were sent, the streams add up to them, and the other side has received
/// no more than what was written.
#[test]
fn a_stopped_client_tells_as_sent_what_was_acknowledged() {
    const ENGINE: &str = "--path 10.0.1.5@10.0.1.6 --path 10.0.2.5@10.0.2.6";
    for (name, kind) in [("engine", ENGINE), ("kernel", "--kernel"), ("plain", "--kernel --plain")] {
        let plain = if name == "plain" { "--plain" } else { "" };
        let server = format!("exec $PERF --server --kernel {plain} >served");
        let client = format!(
            "n=0; until [ -s served ] || [ $n -gt 200 ]; do n=$((n+1)); sleep 0.05; done
            timeout --foreground --preserve-status -s INT 2.5 $PERF {kind} --client 10.0.1.2 --time 60 --json; status=$?
            n=0; until grep -q received served || [ $n -gt 200 ]; do n=$((n+1)); sleep 0.05; done; exit $status"
        );
        let Some(output) = emulated(&format!("stopped-{name}"), &server, &client) else { return };
        assert_eq!(output.status.code(), Some(130), "{name}: {}", stderr(&output));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let served = std::fs::read_to_string(folder_of(&format!("stopped-{name}")).join("served")).expect("served");
        let received: u64 = served
            .lines()
            .find_map(|line| line.strip_prefix("received ")?.split_once(' ')?.0.parse().ok())
            .expect("the server says what it received");
        let end = &document["end"];
        let sent = end["sum_sent"]["bytes"].as_u64().expect("what was sent");
        // The links carry 42 Mbit/s for 2.5 s. After the end, a kernel still sends what its buffer has.
        let written = document["client"]["written"].as_u64().expect("what was written");
        assert!(sent > 500_000 && sent < 42_000_000 / 8 * 5 / 2, "{name}: {sent}, {served}");
        assert!(received > 0 && received <= written && sent < written, "{name}: {sent}, {written}, {served}");
        let streams = end["streams"].as_array().into_iter().flatten();
        let of_streams: u64 = streams.filter_map(|stream| stream["sender"]["bytes"].as_u64()).sum();
        assert_eq!((of_streams, &end["sum_received"]["bytes"]), (sent, &sent.into()), "{name}: {end}");
    }
}
