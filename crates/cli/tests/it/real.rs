//! Commands with real packets. A test that needs root is skipped without it, and says so.

use super::{folder, pathweave, stderr, stdout};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
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
