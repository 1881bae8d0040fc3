//! Messages that need little of their paths, beside others' bulk transfers that fill the queues of all paths.
//!
//! The connection's own rate then says nothing of what the paths could deliver. If a scheduler takes that rate for a
//! path's capacity, messages go to the path with the longest queue.

use pathweave_algorithms::Registry;
use pathweave_lab::run;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};

/// Messages over DSL and LTE, whose queue is deep. Each path also has a bulk transfer.
fn scenario(direction: &str) -> Document {
    let path = |name: &str, link: &str| format!("[[path]]\nname = \"{name}\"\n{link}\n");
    let other = |path: &str| {
        format!(
            "[[connection]]\nname = \"other-{path}\"\nmptcp = false\nmeasured = false\npaths = [\"{path}\"]\n\
             direction = \"{direction}\"\nworkload = \"bulk\"\nstart_spread = \"20ms\"\nreceive_buffer = \"4MiB\"\n"
        )
    };
    let text = format!(
        "format = 1\nname = \"thin\"\nduration = \"30s\"\nmeasure_from = \"5s\"\n{}{}\
         [[connection]]\nname = \"messages\"\ndirection = \"{direction}\"\nnagle = false\nfailure_detection = \"fast\"\n\
         workload = \"cbr:rate=2.5Mbps:message=10KB\"\nstart_spread = \"20ms\"\n{}{}",
        path("dsl", "rate = \"50Mbps\"\ndelay = \"10ms\"\nqueue = \"100packets\""),
        path("lte", "rate = \"20Mbps\"\ndelay = \"30ms\"\nqueue = \"600packets\""),
        other("dsl"),
        other("lte"),
    );
    Document::parse("thin.toml", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// The 99th percentile of a message's delay in the mean of four seeds, ms.
fn p99(document: &Document, variant: &Variant) -> f64 {
    let one = |seed| {
        let result = run(document, variant, seed, &Registry::builtin(), &NoFiles).expect("it runs");
        result.metrics.message_delay_ms.expect("messages").p99
    };
    (1..=4).map(one).sum::<f64>() / 4.0
}

#[test]
fn for_low_delay_messages_beside_full_queues_are_nearly_as_quick_as_with_tcp_on_the_best_path() {
    for direction in ["download", "upload"] {
        let document = scenario(direction);
        let tcp = p99(&document, &Variant::PlainTcp(0));
        let scheduler = Variant::Scheduler(SchedulerSpec::parse("weave:objective=latency").expect("a scheduler"));
        let delay = p99(&document, &scheduler);
        assert!(delay <= 1.3 * tcp, "{direction}: {delay} ms, TCP {tcp} ms");
    }
}
