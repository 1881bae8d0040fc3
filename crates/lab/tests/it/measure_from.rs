//! `measure_from` discards the start: only data that was sent or arrived after it counts.

use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, Variant};

/// One path of 5 Mbit/s with a queue of 9 s. Reno's slow start overflows it, and the data behind the first loss waits
/// out of order for seconds.
const DEEP: &str = r#"
format = 1
name = "deep"
duration = "DURATION"
measure_from = "FROM"
[[path]]
name = "3g"
rate = "5Mbps"
delay = "65ms"
queue = "3750packets"
down = { rate = "unlimited" }
[[connection]]
name = "bulk"
congestion = "reno"
receive_buffer = "16MiB"
"#;

fn deep(from: &str, duration: &str) -> RunResult {
    let text = DEEP.replace("FROM", from).replace("DURATION", duration);
    let document = Document::parse("deep.toml", &text).expect("a right scenario");
    run(&document, &Variant::PlainTcp(0), 1, &Registry::builtin(), &NoFiles).expect("it runs")
}

#[test]
fn no_link_delivers_more_than_its_rate() {
    // 1448 of 1500 bytes (the path's packets have no further overhead) at 5 Mbit/s.
    let most = 5.0 * 1448.0 / 1500.0;
    for from in 12..30 {
        let metrics = deep(&format!("{from}s"), "45s").metrics;
        assert!(metrics.goodput_mbps <= most * 1.001, "from {from} s: {}", metrics.goodput_mbps);
        assert!(metrics.per_path[0].goodput_mbps <= most * 1.001, "from {from} s: {:?}", metrics.per_path);
    }
}

#[test]
fn the_sender_s_counters_begin_with_the_measured_time() {
    // The two parts of a run add up to the whole.
    let (first, rest, whole) = (deep("0s", "23s").metrics, deep("23s", "40s").metrics, deep("0s", "40s").metrics);
    assert_eq!(first.per_path[0].sent_bytes + rest.per_path[0].sent_bytes, whole.per_path[0].sent_bytes);
    assert_eq!(first.retransmitted_segments + rest.retransmitted_segments, whole.retransmitted_segments);
    assert_eq!(first.timeouts + rest.timeouts, whole.timeouts);
    assert!(first.retransmitted_segments > 0 && rest.retransmitted_segments > 0, "{first:?} {rest:?}");
}
