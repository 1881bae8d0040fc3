//! `start_spread`: connections start at a time that the seed chooses.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_lab::{run, sim::Simulation};
use std::cell::Cell;
use std::rc::Rc;

const TEXT: &str = r#"
format = 1
name = "spread"
duration = "2s"
[[path]]
name = "a"
rate = "8Mbps"
delay = "10ms"
[[path]]
name = "b"
rate = "1Mbps"
delay = "75ms"
[[connection]]
name = "bulk"
start = "100ms"
start_spread = "200ms"
"#;

/// Time of the first packet, ns.
fn first_packet(variant: &Variant, seed: u64) -> u64 {
    let document = Document::parse("spread.toml", TEXT).expect("a right scenario");
    let registry = Registry::builtin();
    let scenario = document.scenario(&registry, variant).expect("a right scenario");
    let mut simulation = Simulation::new(&scenario, seed, &registry, &NoFiles).expect("it can be built");
    let first = Rc::new(Cell::new(u64::MAX));
    let seen = first.clone();
    simulation.set_host_capture(Box::new(move |packet| seen.set(seen.get().min(packet.at.as_nanos()))));
    simulation.run();
    first.get()
}

#[test]
fn the_seed_chooses_the_start_and_every_variant_has_the_same() {
    let scheduler = Variant::Scheduler(SchedulerSpec::parse("blest").expect("a scheduler"));
    let starts: Vec<u64> = (1..=40).map(|seed| first_packet(&Variant::PlainTcp(0), seed)).collect();
    assert!(starts.iter().all(|t| (100_000_000..=300_000_000).contains(t)), "{starts:?}");
    assert!(starts.iter().any(|t| *t < 140_000_000) && starts.iter().any(|t| *t > 260_000_000), "{starts:?}");
    for (seed, start) in (1..=40).zip(&starts) {
        assert_eq!(first_packet(&scheduler, seed), *start, "seed {seed}");
    }
}

#[test]
fn without_random_models_seeds_differ_by_the_start_alone() {
    let document = Document::parse("spread.toml", TEXT).expect("a right scenario");
    let goodput = |seed| {
        let result = run(&document, &Variant::PlainTcp(0), seed, &Registry::builtin(), &NoFiles).expect("it runs");
        result.metrics.goodput_mbps
    };
    let all: Vec<f64> = (1..=5).map(goodput).collect();
    assert!(all.windows(2).any(|w| w[0] != w[1]), "{all:?}");
}
