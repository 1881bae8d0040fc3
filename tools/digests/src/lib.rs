//! Digests of fixed runs: the same on every machine, in debug and release, natively and in WebAssembly
//! (ARCHITECTURE.md, contract 7).
//!
//! The program `digests` prints them. Built for `wasm32-unknown-unknown`, the library is a module without imports, and
//! `run.mjs` prints the same lines from it. `cargo xtask determinism` compares the two, and `cargo xtask digests`
//! compares them with `digests.txt`: moving code without changing what it does leaves all digests the same.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{BUILTIN, Document, NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_lab::sim::Simulation;

/// The settings that shorten each built-in scenario. All of the run is measured, because the start that the scenarios
/// leave unmeasured is longer than this.
const DURATION: [(&str, &str); 2] = [("measure_from", "0s"), ("duration", "4s")];
/// The host models, with the settings that select them whatever the scheduler is.
const HOSTS: [(&str, &[(&str, &str)]); 2] = [("rfc", RFC), ("linux", LINUX)];
/// The schedulers that run on an mptcp.org host too, with buffers that are full at times and with penalisation.
const ON_MPTCP_ORG: [&str; 5] = ["minrtt", "roundrobin", "blest", "blest-kernel", "cp"];
const RFC: &[(&str, &str)] = &[
    ("connection.host", "rfc"),
    ("connection.failure_detection", "fast"),
    ("connection.send_buffer_tuning", "false"),
    ("connection.least_window_shift", "0"),
    ("connection.timer_tick", "0s"),
];
const LINUX: &[(&str, &str)] = &[
    ("connection.host", "linux"),
    ("connection.failure_detection", "linux"),
    ("connection.send_buffer_tuning", "true"),
    ("connection.least_window_shift", "10"),
    ("connection.timer_tick", "1ms"),
];
const MPTCP_ORG: &[(&str, &str)] = &[
    ("connection.host", "mptcp-0.9x"),
    ("connection.failure_detection", "fast"),
    ("connection.pr", "true"),
    ("connection.send_buffer", "200KB"),
    ("connection.receive_buffer", "auto 40KB..400KB"),
    ("connection.send_buffer_tuning", "true"),
    ("connection.least_window_shift", "0"),
    ("connection.timer_tick", "1ms"),
];
/// A scenario with every random model of the network.
const RANDOM: &str = include_str!("random.toml");

/// One run.
#[derive(Clone, Debug)]
pub struct Case {
    document: Document,
    variant: Variant,
    /// The overridden settings, for the line.
    note: String,
    seed: u64,
}

impl Case {
    /// Makes the run and returns its line: scenario, scheduler, overrides, seed, status and digest.
    ///
    /// # Panics
    /// If the run cannot start, which is a defect of this list.
    pub fn line(&self) -> String {
        self.line_watched(|_| {})
    }

    /// Like [`Case::line`], with segments that travel as bytes. The line must be the same (ARCHITECTURE.md, contract
    /// 8).
    ///
    /// # Panics
    /// As for [`Case::line`], and if a segment changes on its way through bytes.
    pub fn line_through_bytes(&self) -> String {
        self.line_watched(Simulation::set_through_bytes)
    }

    fn line_watched(&self, watch: impl FnOnce(&mut Simulation)) -> String {
        let registry = Registry::builtin();
        match pathweave_lab::run_watched(&self.document, &self.variant, self.seed, &registry, &NoFiles, watch) {
            Ok(r) => {
                format!("{} {} {}{} {:?} {}", r.scenario, r.scheduler, self.note, r.seed, r.status, r.digest)
            }
            Err(error) => panic!("{} {}: {error}", self.document.name().unwrap_or("?"), self.variant.label()),
        }
    }
}

/// All runs, each with every scheduler and with plain TCP on every path: the built-in scenarios as they are written and
/// with every host model, and the scenario with all random models with every host model and every controller. On an
/// mptcp.org host only some schedulers and plain TCP run.
pub fn cases() -> Vec<Case> {
    let registry = Registry::builtin();
    let schedulers = SchedulerSpec::all(&registry);
    let variants = || {
        let tcp = (0..2).map(Variant::PlainTcp);
        schedulers.iter().cloned().map(Variant::Scheduler).chain(tcp)
    };
    let mut cases = Vec::new();
    let mut add = |document: &Document, note: &str, seed: u64| {
        cases.extend(variants().map(|variant| Case { document: document.clone(), variant, note: note.into(), seed }));
    };
    let on_mptcp_org = |variant: &Variant| match variant {
        Variant::Scheduler(spec) => ON_MPTCP_ORG.contains(&spec.text.as_str()),
        _ => true,
    };
    let mut old = Vec::new();
    let mut add_old = |document: &Document, seed: u64| {
        let document = with(document.clone(), MPTCP_ORG);
        let note = "mptcp-org-host ";
        let variants = variants().filter(on_mptcp_org);
        old.extend(variants.map(|variant| Case { document: document.clone(), variant, note: note.into(), seed }));
    };
    for (name, _) in BUILTIN {
        let short = with(builtin(name).unwrap_or_else(random), &DURATION);
        add(&short, "", 1);
        add_old(&short, 1);
        add(&with(short, LINUX), "linux-host ", 1);
    }
    add_old(&random(), 1);
    for controller in registry.controllers() {
        let document = with(random(), &[("connection.congestion", controller.name())]);
        for (seed, (host, settings)) in (1..).zip(HOSTS) {
            add(&with(document.clone(), settings), &format!("{} {host}-host ", controller.name()), seed);
        }
    }
    cases.extend(old);
    cases
}

fn random() -> Document {
    Document::parse("random.toml", RANDOM).unwrap_or_else(|error| panic!("{error}"))
}

fn with(mut document: Document, settings: &[(&str, &str)]) -> Document {
    for (key, value) in settings {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document
}

/// The functions that the WebAssembly module exports. The compiler calls an exported name `unsafe` because two equal
/// names would be confused; each of these exists once.
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
mod exports {
    use std::sync::LazyLock;

    static CASES: LazyLock<Vec<super::Case>> = LazyLock::new(super::cases);

    /// The number of runs.
    #[unsafe(no_mangle)]
    pub(crate) extern "C" fn case_count() -> u32 {
        CASES.len() as u32
    }

    /// Makes run number `i`. Returns the address of its line in memory and, in the upper half, the line's length.
    #[unsafe(no_mangle)]
    pub(crate) extern "C" fn case_line(i: u32) -> u64 {
        let line: &'static str = CASES[i as usize].line().leak();
        (line.len() as u64) << 32 | line.as_ptr() as u64
    }
}
