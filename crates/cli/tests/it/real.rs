//! Commands with real packets. A test that needs root is skipped without it, and says so.

use super::{folder, pathweave, stderr, stdout};

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
