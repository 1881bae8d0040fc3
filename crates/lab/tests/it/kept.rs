//! Time counts for the rule that holds data back (Nagle's rule, avoidance of silly windows, pacing), and not for the
//! scheduler.

use pathweave_algorithms::Registry;
use pathweave_lab::results::TimeSpent;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};

/// Messages of 10 KB, the last 800 bytes of which wait for the round trip of the message before.
const MESSAGES: &str = r#"
format = 1
name = "messages"
duration = "10s"
[[path]]
name = "a"
rate = "50Mbps"
delay = "30ms"
[[connection]]
workload = "cbr:rate=6Mbps:message=10KB"
"#;

const BULK: &str = r#"
format = 1
name = "bulk"
duration = "10s"
[[path]]
name = "a"
rate = "50Mbps"
delay = "30ms"
[[connection]]
"#;

fn variants() -> [Variant; 2] {
    let spec = SchedulerSpec::parse("minrtt").expect("it is a name");
    [Variant::Scheduler(spec), Variant::PlainTcp(0)]
}

fn time(text: &str, variant: &Variant) -> TimeSpent {
    let document = Document::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let time = run(&document, variant, 1, &Registry::builtin(), &NoFiles).expect("it runs").metrics.time;
    assert!((time.total_s() - 10.0).abs() < 1e-6, "{variant:?}: not 10 s: {time:?}");
    time
}

#[test]
fn what_nagles_rule_keeps_is_not_the_schedulers_wait() {
    for variant in variants() {
        let kept = time(MESSAGES, &variant);
        assert!(kept.nagle_s > 5.0 && kept.scheduler_waits_s < 0.1, "{variant:?}: {kept:?}");
        let off = time(&format!("{MESSAGES}nagle = false\n"), &variant);
        assert!(off.nagle_s == 0.0 && off.scheduler_waits_s < 0.1, "{variant:?}: {off:?}");
        // Kernels queue beyond the window, and Nagle's rule acts on the subflow.
        let linux = time(&format!("{MESSAGES}host = \"linux\"\n"), &variant);
        assert!(linux.nagle_s > 5.0 && linux.scheduler_waits_s < 0.1, "{variant:?}: {linux:?}");
    }
}

#[test]
fn what_a_window_without_room_for_a_segment_keeps_is_not_the_schedulers_wait() {
    for variant in variants() {
        // The size is no multiple of a segment, so the rest waits for acknowledgements.
        let kept = time(&format!("{BULK}receive_buffer = \"10KB\"\n"), &variant);
        assert!(kept.window_full_s > 5.0 && kept.scheduler_waits_s < 0.1, "{variant:?}: {kept:?}");
    }
}

#[test]
fn what_a_full_send_buffer_keeps_is_not_the_last_data() {
    for variant in variants() {
        // A full buffer lasts for much less than the round trip of 60 ms.
        let kept = time(&format!("{BULK}send_buffer = \"3KB\"\n"), &variant);
        assert!(kept.send_buffer_s > 8.0 && kept.sending_s == 0.0, "{variant:?}: {kept:?}");
        // Messages that the buffer has room for end, and the last of each is on its way.
        let free = time(&MESSAGES.replace("6Mbps", "1Mbps"), &variant);
        assert!(free.send_buffer_s == 0.0 && free.sending_s > 1.0, "{variant:?}: {free:?}");
    }
}

/// Messages of 12 Mbit/s, over two paths with round trips of 100 and 300 ms. A send buffer of 50 KB lets through at most
/// 50 KB in 100 ms, which is 4 Mbit/s, so the application always waits for room.
const MORE_THAN_THE_BUFFER: &str = r#"
format = 1
name = "buffer"
duration = "10s"
[[path]]
name = "a"
rate = "20Mbps"
delay = "50ms"
[[path]]
name = "b"
rate = "20Mbps"
delay = "150ms"
[[connection]]
send_buffer = "50KB"
workload = "cbr:rate=12Mbps:message=4KiB"
"#;

#[test]
fn a_short_segment_that_the_full_send_buffer_does_not_fill_is_not_nagles() {
    let spec = |name: &str| Variant::Scheduler(SchedulerSpec::parse(name).expect("it is a name"));
    for variant in [spec("roundrobin"), spec("linux"), Variant::PlainTcp(0)] {
        for host in ["rfc", "linux"] {
            let kept = time(&format!("{MORE_THAN_THE_BUFFER}host = \"{host}\"\n"), &variant);
            assert!(kept.nagle_s < 0.1 && kept.send_buffer_s > 5.0, "{variant:?} on {host}: {kept:?}");
        }
    }
}

#[test]
fn pacing_keeps_a_full_send_buffer_waiting_on_one_path() {
    // 2 Mbit/s leave the buffer of 50 KB in 200 ms, longer than the round trip of 60 ms.
    let paced = format!("{BULK}send_buffer = \"50KB\"\npacing = {{ kind = \"on\", limit = \"2Mbps\" }}\n");
    for variant in variants() {
        let kept = time(&paced, &variant);
        assert!(kept.pacing_s > 8.0 && kept.send_buffer_s < 1.0, "{variant:?}: {kept:?}");
    }
}

#[test]
fn what_pacing_keeps_is_neither_the_windows_nor_the_schedulers() {
    for variant in variants() {
        let limited = format!("{BULK}pacing = {{ kind = \"on\", limit = \"5Mbps\" }}\n");
        let kept = time(&limited, &variant);
        assert!(kept.pacing_s > 8.0 && kept.scheduler_waits_s < 0.1, "{variant:?}: {kept:?}");
        let free = time(BULK, &variant);
        assert!(free.pacing_s == 0.0, "{variant:?}: {free:?}");
    }
}
