//! Our run of a reference scenario.

use super::reference::{Amount, Reference};
use super::setup::scenario_text;
use crate::results::Status;
use crate::run::RunError;
use crate::scenario::{Document, NoFiles, Variant};
use crate::sim::Simulation;
use pathweave_algorithms::Registry;
use pathweave_netsim::Fate;

/// What one of our runs gave, as [`LinuxRun`](super::LinuxRun).
#[derive(Clone, Debug, PartialEq)]
pub struct OurRun {
    /// The run's seed.
    pub seed: u64,
    /// Completion time in seconds of a sized run, else goodput in 10⁶ bit/s.
    pub value: f64,
    /// Whole frames at the server, bytes, by path.
    pub frame_bytes: [f64; 2],
    /// Frames dropped at the bottleneck, by path.
    pub queue_drops: [u64; 2],
    /// Data segments sent again on their own subflow.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Why it did not complete, where it did not.
    pub problem: Option<String>,
}

impl OurRun {
    /// A run in which something broke: nothing arrived, ever.
    pub fn failed(reference: &Reference, seed: u64, problem: String) -> Self {
        OurRun {
            seed,
            value: if reference.setup.is_sized() { f64::INFINITY } else { 0.0 },
            frame_bytes: [0.0; 2],
            queue_drops: [0; 2],
            retransmitted_segments: 0,
            timeouts: 0,
            problem: Some(problem),
        }
    }
}

/// Ethernet's header: the links count IP packets.
const ETHERNET_BYTES: u64 = 14;

/// Runs a reference scenario with one seed, as Linux has it. A pure function.
///
/// # Errors
/// If a value of the reference is none that a scenario can have.
pub fn run(reference: &Reference, seed: u64, registry: &Registry) -> Result<OurRun, RunError> {
    run_variant(reference, &Variant::AsWritten, seed, registry)
}

/// Runs a variant of it: MPTCP with another scheduler, all else equal.
///
/// # Errors
/// As [`run`]'s.
pub fn run_variant(
    reference: &Reference,
    variant: &Variant,
    seed: u64,
    registry: &Registry,
) -> Result<OurRun, RunError> {
    let wrong = |e| RunError::Scenario(Box::new(e));
    let document = Document::parse(&reference.id, &scenario_text(reference, seed)).map_err(wrong)?;
    let scenario = document.scenario(registry, variant).map_err(wrong)?;
    let measured = Simulation::new(&scenario, seed, registry, &NoFiles).map_err(RunError::Build)?.run();
    let mut out = OurRun {
        seed,
        value: match reference.setup.amount {
            Amount::Seconds(_) => measured.metrics.goodput_mbps,
            // A transfer that never ended took at least the whole time limit.
            Amount::Bytes(_) => measured.metrics.completion_s.unwrap_or(scenario.duration.as_secs_f64()),
        },
        frame_bytes: [0.0; 2],
        queue_drops: [0; 2],
        retransmitted_segments: measured.metrics.retransmitted_segments,
        timeouts: measured.metrics.timeouts,
        problem: (measured.status != Status::Completed).then(|| measured.reason.unwrap_or_default()),
    };
    for (i, path) in scenario.paths.iter().enumerate().take(2) {
        let [bottleneck, wire] = path.up[..] else { continue };
        out.queue_drops[i] = measured.links[bottleneck].count(Fate::QueueFull);
        let link = &measured.links[wire];
        out.frame_bytes[i] = (link.delivered_bytes + ETHERNET_BYTES * link.delivered_packets) as f64;
    }
    Ok(out)
}
