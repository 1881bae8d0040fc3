//! The effect of pacing with a shallow queue.

use pathweave_algorithms::Registry;
use pathweave_lab::results::Metrics;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, Variant};

/// A bulk flow on 50 Mbit/s with a round trip of 40 ms, which is 167 packets, behind a queue of this many packets.
fn metrics(queue: u32, pacing: &str) -> Metrics {
    let text = format!(
        "format = 1\nname = \"shallow\"\nduration = \"20s\"\n[[path]]\nrate = \"50Mbps\"\ndelay = \"20ms\"\nqueue = \"{queue}packets\"\n\
         [[connection]]\nmptcp = false\npacing = \"{pacing}\"\ncongestion = \"cubic\"\n"
    );
    let document = Document::parse("test.toml", &text).expect("it is TOML");
    run(&document, &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).expect("it runs").metrics
}

/// If a queue is far below the bandwidth-delay product, a window that leaves in bursts overflows it. At 10 packets, 35
/// of 50 Mbit/s get through, 43 with pacing, with at most half the retransmissions. At 5 packets the windows are so
/// small that about ten segments are lost either way.
#[test]
fn at_a_shallow_queue_pacing_lets_more_through_and_loses_less() {
    for queue in [5, 10, 20] {
        let (off, on) = (metrics(queue, "off"), metrics(queue, "on"));
        assert!(on.goodput_mbps > 1.1 * off.goodput_mbps, "{queue}: {} and {}", on.goodput_mbps, off.goodput_mbps);
        if queue >= 10 {
            assert!(2 * on.retransmitted_segments <= off.retransmitted_segments, "at a queue of {queue}");
        }
    }
}

/// If the queue holds the burst of a window, pacing has nothing to save and costs a little: 46 Mbit/s against 47,
/// because the window grows later.
#[test]
fn at_a_deep_queue_pacing_gains_nothing() {
    for queue in [50, 170] {
        let (off, on) = (metrics(queue, "off"), metrics(queue, "on"));
        let ratio = on.goodput_mbps / off.goodput_mbps;
        assert!((0.95..1.0).contains(&ratio), "{queue}: {} and {}", on.goodput_mbps, off.goodput_mbps);
    }
}
