//! The applications of a scenario mark the ends of their messages, and schedulers see them.

use pathweave_algorithms::Registry;
use pathweave_algorithms::schedulers::minrtt::MinRtt;
use pathweave_lab::results::Status;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_proto::scheduler::{Decision, Scheduler, SchedulerEntry, View};
use std::cell::RefCell;

thread_local! {
    /// The next byte and the end of its message, for each decision of a run.
    static SEEN: RefCell<Vec<(u64, Option<u64>)>> = const { RefCell::new(Vec::new()) };
}

/// `minrtt` with a record of its views.
struct Watch(MinRtt);

impl Scheduler for Watch {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        if let Some(next) = view.sendable() {
            SEEN.with_borrow_mut(|seen| seen.push((next.start.0, view.message_end.map(|e| e.0))));
        }
        self.0.decide(view)
    }
}

const WATCH: SchedulerEntry = SchedulerEntry {
    name: "watch",
    source: "tests",
    summary: "",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Watch(MinRtt))),
};

const SCENARIO: &str = r#"
format = 1
name = "messages"
duration = "20s"
[[path]]
name = "a"
rate = "4Mbps"
delay = "10ms"
queue = "50packets"
[[path]]
name = "b"
rate = "2Mbps"
delay = "40ms"
queue = "50packets"
[[connection]]
name = "c"
workload = "bulk"
direction = "upload"
send_buffer = "100KB"
receive_buffer = "400KB"
"#;

fn seen(workload: &str) -> Vec<(u64, Option<u64>)> {
    let mut document = Document::parse("messages.toml", SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    document.set("connection.workload", workload).expect("a right setting");
    SEEN.take();
    let variant = Variant::Scheduler(SchedulerSpec::parse("watch").expect("a scheduler"));
    let registry = Registry::builtin().with_scheduler(WATCH);
    let result = pathweave_lab::run(&document, &variant, 1, &registry, &NoFiles).expect("it runs");
    assert_eq!(result.status, Status::Completed);
    let seen = SEEN.take();
    assert!(seen.len() > 50, "{workload}: {} decisions", seen.len());
    seen
}

/// The number of decisions that saw an end, and of those that saw none. Checks that every end is right.
fn ends(workload: &str, message: u64, size: u64) -> (usize, usize) {
    let seen = seen(workload);
    for (next, end) in &seen {
        if let Some(end) = end {
            assert_eq!(*end, ((next / message + 1) * message).min(size), "{workload}: byte {next}");
        }
    }
    let known = seen.iter().filter(|(_, end)| end.is_some()).count();
    (known, seen.len() - known)
}

/// The last message has the rest of the size.
#[test]
fn each_message_of_a_constant_bit_rate_has_its_end() {
    let (_, unknown) = ends("cbr:rate=1Mbps:message=5000B:size=1001KB", 5_000, 1_001_000);
    assert_eq!(unknown, 0);
}

/// The messages exceed the paths' capacity, so they wait for room in the send buffer and are written in parts. The end
/// of a message is not known before all of it is written.
#[test]
fn the_end_of_a_message_is_known_once_all_of_it_is_written() {
    let (known, unknown) = ends("cbr:rate=20Mbps:message=30KB:size=2000KB", 30_000, 2_000_000);
    assert!(known > 0 && unknown > 0, "{known} with an end, {unknown} without");
}

#[test]
fn a_transfer_is_one_message() {
    let size = 1_000_000;
    for (next, end) in seen("transfer:size=1000KB") {
        // The end is known once the last byte is written, for which the send buffer of 100 KB must have room.
        match end {
            Some(end) => assert_eq!(end, size, "byte {next}"),
            None => assert!(next < size - 20_000, "byte {next} of {size} without an end"),
        }
    }
}

#[test]
fn a_bulk_stream_has_no_messages() {
    assert!(seen("bulk").iter().all(|(_, end)| end.is_none()));
}
