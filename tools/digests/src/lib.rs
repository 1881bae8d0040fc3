//! Digests of fixed runs: the same on every machine, in debug and release, natively and in WebAssembly (ARCHITECTURE.md,
//! contract 7).
//!
//! The program `digests` prints them; built for `wasm32-unknown-unknown` the library is a module without imports, which
//! `run.mjs` prints the same lines from. `cargo xtask determinism` compares the two.

use pathweave_lab::scenario::{BUILTIN, Document, NoFiles, SchedulerSpec, Variant, builtin};
use pathweave_lab::sim::Simulation;
use pathweave_proto::Registry;

/// How much of each scenario is run.
const DURATION: &str = "4s";
/// A scenario with every random model of the network.
const RANDOM: &str = include_str!("random.toml");
/// Seeds of the scenario above; the others have one.
const SEEDS: [u64; 2] = [1, 2];

/// One run.
#[derive(Clone, Debug)]
pub struct Case {
    document: Document,
    variant: Variant,
    /// What is overridden.
    note: String,
    seed: u64,
}

impl Case {
    /// Runs it: scenario, scheduler, overrides, seed, status and digest.
    ///
    /// # Panics
    /// Where the run cannot start, which is a defect of this list.
    pub fn line(&self) -> String {
        self.line_watched(|_| {})
    }

    /// The same, with segments that travel as bytes: the same line (ARCHITECTURE.md, contract 8).
    ///
    /// # Panics
    /// As [`Case::line`], and where a segment does not come back from its bytes as it was.
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

/// Every run: each built-in scenario with each scheduler and plain TCP, and the scenario of every random model with each
/// scheduler and each controller.
pub fn cases() -> Vec<Case> {
    let registry = Registry::builtin();
    let schedulers = SchedulerSpec::all(&registry);
    let variants = || {
        let tcp = (0..2).map(Variant::PlainTcp);
        schedulers.iter().cloned().map(Variant::Scheduler).chain(tcp)
    };
    let mut cases = Vec::new();
    for (name, _) in BUILTIN {
        let document = with(builtin(name).unwrap_or_else(random), "duration", DURATION);
        cases.extend(variants().map(|variant| Case { document: document.clone(), variant, note: "".into(), seed: 1 }));
    }
    for controller in registry.controllers() {
        let document = with(random(), "connection.congestion", controller.name);
        for seed in SEEDS {
            let case =
                |variant| Case { document: document.clone(), variant, note: format!("{} ", controller.name), seed };
            cases.extend(variants().map(case));
        }
    }
    cases
}

fn random() -> Document {
    Document::parse("random.toml", RANDOM).unwrap_or_else(|error| panic!("{error}"))
}

fn with(mut document: Document, key: &str, value: &str) -> Document {
    document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    document
}

/// What the WebAssembly module exports. An exported name is `unsafe` to the compiler because two of one name would be
/// mixed up; these exist once.
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
mod exports {
    /// How many runs there are.
    #[unsafe(no_mangle)]
    pub(crate) extern "C" fn case_count() -> u32 {
        super::cases().len() as u32
    }

    /// Runs number `i`; the place of its line in memory and, in the upper half, its length.
    #[unsafe(no_mangle)]
    pub(crate) extern "C" fn case_line(i: u32) -> u64 {
        let line: &'static str = super::cases()[i as usize].line().leak();
        (line.len() as u64) << 32 | line.as_ptr() as u64
    }
}
