//! Draws cases from a seed.

use core::fmt::Write as _;
use pathweave_algorithms::Registry;
use pathweave_units::random::Random;

/// Purpose of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One of two paths goes dark once and comes back.
    One,
    /// Each of two or three paths goes dark once; the outages may overlap.
    Each,
    /// Both paths go dark and stay so.
    All,
    /// Like `One`, with failure detection `linux`.
    Linux,
    /// Like `One`, with SACK and counted duplicates for recovery (RFC 6675).
    Sack,
    /// Like `One`, with recovery `newreno` (RFC 6582).
    NewReno,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Kind; 6] = [Kind::One, Kind::Each, Kind::All, Kind::Linux, Kind::Sack, Kind::NewReno];

    fn name(self) -> &'static str {
        match self {
            Kind::One => "one",
            Kind::Each => "each",
            Kind::All => "all",
            Kind::Linux => "linux",
            Kind::Sack => "sack",
            Kind::NewReno => "newreno",
        }
    }
}

/// A path's outage, milliseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dark {
    /// Begin of the outage.
    pub(crate) from_ms: u64,
    /// End of the outage, which may be after the run's end.
    pub(crate) until_ms: u64,
    /// `both`, or only one direction: `up` from the client or `down` to it.
    pub(crate) direction: &'static str,
}

/// One path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCase {
    /// Rate, kbit/s.
    pub(crate) rate_kbps: u64,
    /// One-way delay, milliseconds.
    pub(crate) delay_ms: u64,
    /// Size of the queue, packets.
    pub(crate) queue: u64,
    /// The path's outage, if it has one.
    pub(crate) dark: Option<Dark>,
}

/// A network, a transfer over it, and the outages of its paths.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Purpose of the case.
    pub(crate) kind: Kind,
    /// Seed of the run.
    pub(crate) seed: u64,
    /// The paths; the connection starts on the first.
    pub(crate) paths: Vec<PathCase>,
    size: u64,
    download: bool,
    controller: usize,
    receive_buffer: u64,
}

/// Number of milliseconds that stands for the end of a permanent outage.
const NEVER_MS: u64 = 10_000_000;

/// A random whole number from `from` (included) to `to` (excluded), with each power of two equally likely.
fn log_uniform(random: &mut Random, from: f64, to: f64) -> u64 {
    (from * libm::exp2(random.unit() * libm::log2(to / from))) as u64
}

impl Case {
    /// The case of this kind and seed.
    pub(crate) fn draw(kind: Kind, seed: u64) -> Self {
        let stream = |name: &str| Random::substream(seed, &format!("gates/{}/{name}", kind.name()));
        let (mut network, mut outages, mut end) = (stream("network"), stream("outages"), stream("connection"));
        let count = if kind == Kind::Each { 2 + network.below(2) } else { 2 };
        let mut paths: Vec<PathCase> = (0..count)
            .map(|_| PathCase {
                rate_kbps: log_uniform(&mut network, 500.0, 4_000.0),
                delay_ms: log_uniform(&mut network, 4.0, 150.0),
                queue: log_uniform(&mut network, 12.0, 80.0),
                dark: None,
            })
            .collect();
        let from_ms = outages.below(8_000);
        let direction = |r: &mut Random| ["both", "both", "up", "down"][r.below(4) as usize];
        match kind {
            Kind::One | Kind::Sack | Kind::NewReno => {
                let until_ms = from_ms + log_uniform(&mut outages, 200.0, 40_000.0);
                let direction = direction(&mut outages);
                paths[outages.below(count) as usize].dark = Some(Dark { from_ms, until_ms, direction });
            }
            Kind::Linux => {
                let dark = Dark { from_ms: 2_000 + from_ms, until_ms: 32_000 + from_ms, direction: "both" };
                paths[outages.below(count) as usize].dark = Some(dark);
            }
            Kind::Each => {
                for path in &mut paths {
                    let from_ms = outages.below(8_000);
                    let until_ms = from_ms + log_uniform(&mut outages, 200.0, 20_000.0);
                    path.dark = Some(Dark { from_ms, until_ms, direction: direction(&mut outages) });
                }
            }
            Kind::All => {
                // Outages begin after the handshake, because the handshake has a timeout of its own.
                let first = 2_000 + from_ms;
                let second = first + if outages.chance(0.5) { 0 } else { outages.below(8_000) };
                let order = outages.below(2) as usize;
                for (i, from_ms) in [(order, first), (1 - order, second)] {
                    paths[i].dark = Some(Dark { from_ms, until_ms: NEVER_MS, direction: direction(&mut outages) });
                }
            }
        }
        let rate: u64 = paths.iter().map(|p| p.rate_kbps).sum();
        let last_ms = paths.iter().filter_map(|p| p.dark).map(|b| b.until_ms).max().unwrap_or(0);
        // As much as all paths carry until some seconds after the end of the outages. Some streams end before that.
        let whole_ms = if kind == Kind::All { NEVER_MS } else { last_ms + 4_000 };
        let portion = if end.chance(0.8) { 1.0 } else { 0.1 + 0.9 * end.unit() };
        Case {
            kind,
            seed,
            size: ((rate * whole_ms / 8) as f64 * portion) as u64,
            paths,
            download: end.chance(0.5),
            controller: end.below(1000) as usize,
            receive_buffer: log_uniform(&mut end, 64_000.0, 600_000.0),
        }
    }

    /// Length of the stream, bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the server sends.
    pub(crate) fn is_download(&self) -> bool {
        self.download
    }

    /// The text of the case's scenario file.
    pub(crate) fn scenario_text(&self, scheduler: &str, registry: &Registry) -> String {
        let mut t = format!("format = 1\nname = \"gate-{}\"\nduration = \"3000s\"\n", self.kind.name());
        for (i, p) in self.paths.iter().enumerate() {
            let _ = write!(
                t,
                "\n[[path]]\nname = \"path{i}\"\nrate = \"{}kbps\"\ndelay = \"{}ms\"\nqueue = \"{}packets\"\n",
                p.rate_kbps, p.delay_ms, p.queue
            );
            for (at, up) in p.dark.iter().flat_map(|b| [(b.from_ms, false), (b.until_ms, true)]) {
                let direction = p.dark.map_or("both", |b| b.direction);
                let _ = write!(t, "[[path.change]]\nat = \"{at}ms\"\ndirection = \"{direction}\"\nup = {up}\n");
            }
        }
        let controllers = registry.controllers();
        let _ = write!(
            t,
            "\n[[connection]]\nname = \"c\"\nworkload = \"transfer:size={}B\"\ndirection = \"{}\"\nscheduler = \"{scheduler}\"\n\
             host = \"{}\"\nfailure_detection = \"{}\"\ncongestion = \"{}\"\nrecovery = \"{}\"\nreceive_buffer = \"{}B\"\n\
             send_buffer = \"{}B\"\npr = false\njoin_initial_address = true\n",
            self.size.max(1),
            if self.download { "download" } else { "upload" },
            if self.kind == Kind::Linux { "linux" } else { "rfc" },
            if self.kind == Kind::Linux { "linux" } else { "fast" },
            controllers[self.controller % controllers.len()].name(),
            match self.kind {
                Kind::Sack => "sack",
                Kind::NewReno => "newreno",
                _ => "rack",
            },
            self.receive_buffer,
            2 * self.receive_buffer,
        );
        t
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::scenario::{Document, Variant};

    #[test]
    fn cases_of_a_seed_repeat_are_whole_scenarios_and_differ_by_seed() {
        let registry = Registry::builtin();
        for kind in Kind::ALL {
            let text = |seed| Case::draw(kind, seed).scenario_text("minrtt", &registry);
            assert_eq!(text(1), text(1));
            assert_ne!(text(1), text(2));
            for seed in 1..50 {
                let document = Document::parse("gate.toml", &text(seed)).unwrap_or_else(|e| panic!("{e}"));
                document.scenario(&registry, &Variant::AsWritten).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}
