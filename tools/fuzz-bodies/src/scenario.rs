//! Fuzzes scenario files: any text must give a scenario or an error, and a scenario's canonical text the same scenario.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, Link, NoFiles, SchedulerSpec, Variant};
use pathweave_lab::sim::Simulation;
use pathweave_units::{Duration, Instant};

/// Simulations with more links, connections or buffers than this are not started, because they take long.
const SMALL: usize = 4;

/// Reads the bytes as a scenario file, for a scheduler and for plain TCP, and starts the simulation if it is small.
pub fn scenario(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let registry = Registry::builtin();
    let document = match Document::parse("fuzz.toml", text) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let scheduler = SchedulerSpec::parse("minrtt").expect("it is built in");
    for variant in [Variant::AsWritten, Variant::Scheduler(scheduler), Variant::PlainTcp(0), Variant::PlainTcp(9)] {
        match document.scenario(&registry, &variant) {
            Err(error) => {
                let place = error.source.get(error.span.clone());
                assert!(place.is_some(), "an error is somewhere in the text: {error}");
                assert!(!error.to_string().is_empty());
            }
            Ok(scenario) => {
                let _ = scenario.hash(&NoFiles);
                if scenario.links.len() > SMALL || scenario.connections.len() > SMALL || makes_traces(text) {
                    continue;
                }
                let simulation = Simulation::new(&scenario, 1, &registry, &NoFiles);
                if let (Ok(mut simulation), true) = (simulation, scenario.links.iter().all(is_slow)) {
                    simulation.run_until(Instant::from_millis(20));
                }
            }
        }
    }
}

/// Whether a link is cheap to simulate. A fast link without delay has very many round trips in a short time.
fn is_slow(link: &Link) -> bool {
    link.settings.delay >= Duration::from_millis(1) && link.changes.is_empty()
}

/// Whether the scenario generates traces, which may have hours of a fast link.
fn makes_traces(text: &str) -> bool {
    text.contains("cellular")
}
