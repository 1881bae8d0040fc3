//! What pacing does to a shallow queue.

use pathweave_algorithms::Registry;
use pathweave_lab::results::Metrics;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, Variant};

/// A bulk flow on 50 Mbit/s and 40 ms of round trip, which are 167 packets, behind a queue of so many packets.
fn metrics(queue: u32, pacing: &str) -> Metrics {
    let text = format!(
        "format = 1\nname = \"shallow\"\nduration = \"20s\"\n[[path]]\nrate = \"50Mbps\"\ndelay = \"20ms\"\nqueue = \"{queue}packets\"\n\
         [[connection]]\nmptcp = false\npacing = \"{pacing}\"\ncongestion = \"cubic\"\n"
    );
    let document = Document::parse("test.toml", &text).expect("it is TOML");
    run(&document, &Variant::AsWritten, 1, &Registry::builtin(), &NoFiles).expect("it runs").metrics
}

#[test]
fn pacing_loses_less_at_a_shallow_queue() {
    for queue in [5, 10, 20, 50, 170] {
        let (off, on) = (metrics(queue, "off"), metrics(queue, "on"));
        println!(
            "{queue:>4} packets: off {:.2} Mbit/s, {} repeated; on {:.2} Mbit/s, {} repeated",
            off.goodput_mbps, off.retransmitted_segments, on.goodput_mbps, on.retransmitted_segments
        );
    }
}
