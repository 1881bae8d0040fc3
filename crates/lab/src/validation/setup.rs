//! A reference scenario as a scenario file of ours.
//!
//! Linux's set-up: client, router a, router b, server on each path. Router a shapes with tbf (rate, burst 3028 B,
//! Ethernet frames counted) before a drop-tail queue of bytes; router b adds delay and random loss towards the server,
//! and the same delay on the way back. Wires between them are unlimited.

use super::reference::{Amount, Mode, Reference, Setup};
use pathweave_units::random::Random;

/// Of 256: how much of the receive memory becomes window, once full-sized segments have arrived (`scaling_ratio`):
/// 1448 of 2408 bytes with plain TCP, 1424 of 2384 with MPTCP.
const TCP_RATIO: u64 = 153;
const MPTCP_RATIO: u64 = 152;
/// The kernel's clock ticks each millisecond, its timer wheel's coarser levels each 8 and 64 ms, at a phase that has
/// nothing to do with the start of a connection. Ours start at zero: the connection starts at a random time within this.
const PHASE_MS: u64 = 64;
/// Windows are offered in steps of this (a window scale of 10), bytes.
const WINDOW_STEP: u64 = 1024;
/// tbf's burst.
const BURST: u64 = 3028;
/// A full IP packet. Ethernet's 14 bytes count on the link (its overhead) and in the kernel's queue limit of
/// `queue_pkts` · 1514 bytes; our queues count IP packets.
const PACKET: u64 = 1500;

/// The text of a scenario file for one seed. With `pathweave compare` and variants of it one can look closer.
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
    for node in ["client", "server", "router0", "router1"] {
        text += &format!("\n[[node]]\nname = \"{node}\"\n");
    }
    for (i, path) in setup.paths.iter().enumerate() {
        let (rate, delay) = ((path.rate_mbps * 1e6).round() as u64, (path.delay_ms * 1e6).round() as u64);
        let queue = u64::from(path.queue_packets) * PACKET;
        text += &format!(
            "\n[[link]]\nname = \"bottleneck{i}\"\nbetween = [\"client\", \"router{i}\"]\n\
             up = {{ rate = \"token-bucket:rate={rate}bps:burst={BURST}B\", queue = \"{queue}B\" }}\n\
             \n[[link]]\nname = \"wire{i}\"\nbetween = [\"router{i}\", \"server\"]\ndelay = \"{delay}ns\"\n\
             up = {{ loss = \"{}%\" }}\n\
             \n[[path]]\nname = \"path{i}\"\nlinks = [\"bottleneck{i}\", \"wire{i}\"]\n",
            path.loss_percent
        );
    }
    text + &connection(reference, setup, start)
}

fn connection(reference: &Reference, setup: &Setup, start: u64) -> String {
    let (paths, mptcp) = match setup.mode {
        Mode::Tcp(path) => (format!("[\"path{path}\"]"), false),
        Mode::Mptcp => ("[\"path0\", \"path1\"]".into(), true),
    };
    let workload = match setup.amount {
        Amount::Seconds(_) => "bulk".into(),
        Amount::Bytes(size) => format!("transfer:size={size}B"),
    };
    format!(
        "\n[[connection]]\nname = \"measured\"\nmeasured = true\npaths = {paths}\nmptcp = {mptcp}\nstart = \"{start}ns\"\n\
         direction = \"upload\"\nworkload = \"{workload}\"\nscheduler = \"{}\"\nhost = \"linux\"\nfailure_detection = \"linux\"\n\
         congestion = \"{}\"\nsend_buffer = \"{}B\"\nreceive_buffer = \"{}\"\npath_manager = \"default\"\n\
         max_subflows = 2\nnagle = true\nsend_buffer_tuning = true\npr = false\nmtu = 1500\ninitial_window = 10\nmin_rto = \"200ms\"\ntimer_tick = \"1ms\"\nleast_window_shift = 10\n",
        if mptcp { "linux" } else { "single" },
        setup.congestion,
        setup.wmem,
        receive_buffer(reference, setup),
    )
}

/// The windows that Linux would offer: from what its first buffer holds to what its largest does. Where the buffer is
/// fixed that is the window that was recorded, but for the kernel's rounding; one that is not, is taken as recorded.
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
