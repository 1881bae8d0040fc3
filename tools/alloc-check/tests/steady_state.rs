//! Between 20 s and 60 s of a run, fewer than one allocation per thousand data segments.
//!
//! The exceptions are the lists of results, which grow with time, and buffers that reach a new maximum.

use pathweave_algorithms::Registry;
use pathweave_alloc_check::{Counting, allocations};
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One flow over 100 Mbit/s, 10 ms, a queue of 100 packets.
const ONE_PATH: &str = r#"
format = 1
name = "one-path"
duration = "60s"
[[path]]
rate = "100Mbps"
delay = "10ms"
queue = "100packets"
down = { rate = "unlimited" }
"#;

/// Two different paths.
const TWO_PATHS: &str = r#"
format = 1
name = "two-paths"
duration = "60s"
[[path]]
rate = "20Mbps"
delay = "10ms"
queue = "100packets"
down = { rate = "unlimited" }
[[path]]
rate = "10Mbps"
delay = "40ms"
queue = "100packets"
loss = "0.1%"
down = { rate = "unlimited", loss = 0 }
"#;

/// Allocations and data segments between 20 s and 60 s.
fn steady_state(text: &str, variant: &Variant) -> (u64, u64) {
    let registry = Registry::builtin();
    let document = Document::parse("test.toml", text).expect("a scenario");
    let scenario = document.scenario(&registry, variant).expect("a scenario");
    let mut simulation = Simulation::new(&scenario, 1, &registry, &NoFiles).expect("it can be built");
    assert!(simulation.run_until(Instant::from_secs(20)));
    let before = (allocations(), simulation.data_segments_sent());
    assert!(!simulation.run_until(Instant::from_secs(60)));
    let after = (allocations(), simulation.data_segments_sent());
    (after.0 - before.0, after.1 - before.1)
}

#[track_caller]
fn nothing_per_segment(text: &str, variant: &Variant) {
    let (allocations, segments) = steady_state(text, variant);
    println!("{}: {allocations} allocations, {segments} data segments", variant.label());
    assert!(segments > 10_000, "{}: only {segments} data segments", variant.label());
    assert!(allocations * 1000 < segments, "{}: {allocations} allocations, {segments} data segments", variant.label());
}

#[test]
fn the_allocator_counts() {
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(allocations() - before, 1);
}

#[test]
fn plain_tcp() {
    nothing_per_segment(ONE_PATH, &Variant::PlainTcp(0));
}

#[test]
fn one_subflow() {
    nothing_per_segment(ONE_PATH, &Variant::AsWritten);
}

#[test]
fn every_scheduler_on_two_paths() {
    for spec in SchedulerSpec::all(&Registry::builtin()) {
        nothing_per_segment(TWO_PATHS, &Variant::Scheduler(spec));
    }
}
