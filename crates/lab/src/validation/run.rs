//! Writes a reference scenario as a scenario file of ours, and runs it.
//!
//! Linux's set-up: sender, router a, router b, receiver on each path. Router a shapes with tbf (rate, burst 3028 B,
//! Ethernet frames counted) before a drop-tail queue of bytes; router b adds delay and random loss towards the receiver,
//! and the same delay on the way back. Wires between them are unlimited. The client sends, or with a download the server.

use super::reference::{Amount, Mode, Reference, Setup};
use crate::results::Status;
use crate::run::RunError;
use crate::scenario::{Direction, Document, NoFiles, Variant};
use crate::sim::Simulation;
use pathweave_algorithms::Registry;
use pathweave_netsim::Fate;
use pathweave_units::random::Random;

/// The result of one of our runs, in the form of [`LinuxRun`](super::LinuxRun).
#[derive(Clone, Debug, PartialEq)]
pub struct OurRun {
    /// The run's seed.
    pub seed: u64,
    /// Completion time in seconds of a sized run, else goodput in 10⁶ bit/s.
    pub value: f64,
    /// Whole frames at the receiver, bytes, by path.
    pub frame_bytes: Vec<f64>,
    /// Frames dropped at the bottleneck, by path.
    pub queue_drops: Vec<u64>,
    /// Data segments retransmitted on their own subflow.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The reason why the run did not complete.
    pub problem: Option<String>,
}

impl OurRun {
    /// A run that failed; nothing arrived in it.
    pub fn failed(reference: &Reference, seed: u64, problem: String) -> Self {
        OurRun {
            seed,
            value: if reference.setup.is_sized() { f64::INFINITY } else { 0.0 },
            frame_bytes: vec![0.0; reference.setup.paths.len()],
            queue_drops: vec![0; reference.setup.paths.len()],
            retransmitted_segments: 0,
            timeouts: 0,
            problem: Some(problem),
        }
    }
}

/// Bytes of Ethernet's header. The links count IP packets.
const ETHERNET_BYTES: u64 = 14;

/// Runs a reference scenario with one seed, set up as for Linux. A pure function.
///
/// # Errors
/// If a scenario cannot have a value of the reference.
pub fn run(reference: &Reference, seed: u64, registry: &Registry) -> Result<OurRun, RunError> {
    run_variant(reference, &Variant::AsWritten, seed, registry)
}

/// Like [`run`], but with another MPTCP scheduler and everything else equal.
///
/// # Errors
/// As for [`run`].
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
        frame_bytes: Vec::new(),
        queue_drops: Vec::new(),
        retransmitted_segments: measured.metrics.retransmitted_segments,
        timeouts: measured.metrics.timeouts,
        problem: (measured.status != Status::Completed).then(|| measured.reason.unwrap_or_default()),
    };
    for path in &scenario.paths {
        let (data, _) = path.links(reference.setup.direction);
        let [bottleneck, wire] = data[..] else { unreachable!("a path has a bottleneck and a wire") };
        out.queue_drops.push(measured.links[bottleneck].count(Fate::QueueFull));
        let link = &measured.links[wire];
        out.frame_bytes.push((link.delivered_bytes + ETHERNET_BYTES * link.delivered_packets) as f64);
    }
    Ok(out)
}

/// Share of the receive memory that becomes window, of 256, once full-sized segments have arrived (`scaling_ratio`):
/// 1448 of 2408 bytes with plain TCP, 1424 of 2384 with MPTCP.
const TCP_RATIO: u64 = 153;
const MPTCP_RATIO: u64 = 152;
/// Range of start times, ms. The kernel's clock ticks each millisecond, and its timer wheel's coarser levels each 8 and
/// 64 ms, at a phase independent of the start of a connection. Our clock starts at zero, so the connection starts at a
/// random time within this range.
const PHASE_MS: u64 = 64;
/// Step in which windows are offered (a window scale of 10), bytes.
const WINDOW_STEP: u64 = 1024;
/// Burst of tbf, bytes.
const BURST: u64 = 3028;
/// A full IP packet. Ethernet's 14 bytes count on the link (its overhead) and in the kernel's queue limit of
/// `queue_pkts` · 1514 bytes; our queues count IP packets.
const PACKET: u64 = 1500;

/// The text of a scenario file for one seed. `pathweave compare` can run it and variants of it for a closer look.
pub fn scenario_text(reference: &Reference, seed: u64) -> String {
    let setup = &reference.setup;
    let start = Random::substream(seed, "phase of the clock").below(PHASE_MS * 1_000_000);
    let mut text = format!(
        "format = 1\nname = {:?}\ndescription = \"A scenario of the Linux reference data\"\n",
        reference.id.replace('/', "-")
    );
    if let Amount::Seconds(s) = setup.amount {
        text += &format!("duration = \"{}ns\"\n", start + (s * 1e9) as u64);
    }
    let routers = (0..setup.paths.len()).map(|i| format!("router{i}"));
    for node in ["client".to_owned(), "server".to_owned()].into_iter().chain(routers) {
        text += &format!("\n[[node]]\nname = \"{node}\"\n");
    }
    let shaper = |mbps: f64| format!("token-bucket:rate={}bps:burst={BURST}B", (mbps * 1e6).round() as u64);
    let (source, target) = match setup.direction {
        Direction::Upload => ("client", "server"),
        Direction::Download => ("server", "client"),
    };
    for (i, path) in setup.paths.iter().enumerate() {
        let mut links = [format!("bottleneck{i}"), format!("wire{i}")];
        if setup.direction == Direction::Download {
            // A path begins at the client.
            links.reverse();
        }
        let (rate, delay) = (shaper(path.rate_mbps), (path.delay_ms * 1e6).round() as u64);
        let queue = u64::from(path.queue_packets) * PACKET;
        text += &format!(
            "\n[[link]]\nname = \"bottleneck{i}\"\nbetween = [\"{source}\", \"router{i}\"]\n\
             up = {{ rate = \"{rate}\", queue = \"{queue}B\" }}\n"
        );
        for step in &path.steps {
            let at = start + (step.at_s * 1e9).round() as u64;
            let rate = shaper(step.rate_mbps);
            text += &format!("\n[[link.change]]\nat = \"{at}ns\"\ndirection = \"up\"\nrate = \"{rate}\"\n");
        }
        text += &format!(
            "\n[[link]]\nname = \"wire{i}\"\nbetween = [\"router{i}\", \"{target}\"]\ndelay = \"{delay}ns\"\n\
             up = {{ loss = \"{}%\" }}\n\
             \n[[path]]\nname = \"path{i}\"\nlinks = {links:?}\n",
            path.loss_percent
        );
    }
    text + &connection(reference, setup, start)
}

fn connection(reference: &Reference, setup: &Setup, start: u64) -> String {
    let mptcp = setup.mode == Mode::Mptcp;
    let paths: Vec<String> = setup.used_paths().map(|path| format!("\"path{path}\"")).collect();
    let (paths, subflows) = (paths.join(", "), setup.paths.len());
    let direction = match setup.direction {
        Direction::Upload => "upload",
        Direction::Download => "download",
    };
    let workload = match setup.amount {
        Amount::Seconds(_) => "bulk".into(),
        Amount::Bytes(size) => format!("transfer:size={size}B"),
    };
    format!(
        "\n[[connection]]\nname = \"measured\"\nmeasured = true\npaths = [{paths}]\nmptcp = {mptcp}\nstart = \"{start}ns\"\n\
         direction = \"{direction}\"\nworkload = \"{workload}\"\nscheduler = \"{}\"\nhost = \"linux\"\nfailure_detection = \"linux\"\n\
         congestion = \"{}\"\nsend_buffer = \"{}B\"\nreceive_buffer = \"{}\"\npath_manager = \"default\"\n\
         max_subflows = {subflows}\nnagle = true\nsend_buffer_tuning = true\npr = false\nmtu = 1500\ninitial_window = 10\nmin_rto = \"200ms\"\ntimer_tick = \"1ms\"\nleast_window_shift = 10\n",
        if mptcp { "linux" } else { "single" },
        setup.congestion,
        setup.wmem,
        receive_buffer(reference, setup),
    )
}

/// The range of windows that Linux would offer: from the share of its first buffer to that of its largest. If the
/// buffer is fixed, it is one window: the recorded one, or the computed one if the two differ by less than two steps.
fn receive_buffer(reference: &Reference, setup: &Setup) -> String {
    let ratio = if setup.mode == Mode::Mptcp { MPTCP_RATIO } else { TCP_RATIO };
    let window = |memory: u64| memory * ratio / 256;
    if !setup.has_fixed_window() {
        return format!("auto {}B..{}B", window(setup.initial_rmem), window(setup.rmem));
    }
    let held = window(setup.rmem);
    let recorded = reference.largest_window().unwrap_or(held);
    let fixed = if recorded.abs_diff(held) < 2 * WINDOW_STEP { held } else { recorded };
    format!("auto {fixed}B..{fixed}B")
}
