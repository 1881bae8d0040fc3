//! The chores and checks by name, with their arguments.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The project's own chores and checks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 120)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) chore: Chore,
}

/// Writes the expected result anew instead of comparing with it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Bless {
    /// Write the committed file anew, after an intended change
    #[arg(long)]
    pub(crate) bless: bool,
}

/// A chore or a check.
#[derive(Debug, Subcommand)]
pub(crate) enum Chore {
    /// Run all checks, as CI does (about 25 minutes on 2 cores); first install the tools that they need
    Test {
        /// Install nothing; fail if a tool is missing
        #[arg(long)]
        no_install: bool,
    },
    /// Compare the public interface of each library with docs/api/
    Api(Bless),
    /// Check that no file has over 500 lines, and that no two rooms or files of a crate need each other
    Rooms,
    /// Check that each dependency is used, and is allowed by deny.toml (needs cargo-machete and cargo-deny)
    Supply {
        /// Use the copy of the advisories that cargo-deny keeps
        #[arg(long)]
        offline: bool,
    },
    /// Compare the digests of fixed runs with tools/digests/digests.txt
    Digests(Bless),
    /// Compare some of Linux's measurements with the engine; the differences must be as small as in validation/guard.txt
    Validation {
        #[command(flatten)]
        bless: Bless,
        /// Choose these measurements again from all of them (validation/guard-6.12.jsonl)
        #[arg(long, conflicts_with = "bless")]
        choose: bool,
    },
    /// Compare the same runs on one thread and two, in debug and release, on x86-64 and wasm32
    Determinism,
    /// Test two subflows and one TCP flow at a shared bottleneck, and print the table of all seeds
    Fairness,
    /// Make runs with random faulty networks, middleboxes and attackers: no byte may be lost or wrong
    #[command(disable_help_flag = true)]
    Faults {
        /// --runs N, --seconds N, --seed S, or --replay SEED [--without STEPS]; 10,000 runs if none is given
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build Linux with the schedulers of linux/, and compare them with the simulator's: linux/README.md says when
    Linux(crate::linux::Arguments),
    /// Run the scripts of a checkout of multipath-tcp/packetdrill against the engine
    Packetdrill {
        checkout: PathBuf,
        /// Run only the scripts whose names contain this
        part: Option<String>,
    },
    /// Change the engine's checks one by one; a test must notice each change. Continues an earlier run; 90 minutes at most
    Mutants,
    /// Run all schedulers on paths that go dark
    Gates {
        /// Seeds of each gate; without it 200, and docs/failing-paths.txt is written
        #[arg(long)]
        seeds: Option<u32>,
    },
    /// Compare instructions of the hot paths with benches/instructions.txt
    Instructions(Bless),
    /// Count the instructions of each scheduler's decisions, which have a limit
    Decisions {
        /// Write docs/decisions.txt
        #[arg(long)]
        write: bool,
    },
    /// Measure how accurate `pathweave emulate` is, against ping and iperf3 (root, 75 s a path): the table of docs/emulate.md
    Emulation {
        /// Rates of the paths to measure, Mbit/s; all paths if none is given
        rates: Vec<String>,
    },
    /// Run the engine with real packets against the kernel's Multipath TCP, in a network namespace (root)
    Interop {
        /// Fewer schedulers and smaller sizes
        #[arg(long)]
        quick: bool,
        /// Only check that two emulated paths carry what their rates add up to; SENDER is a scheduler, or kernel
        #[arg(long, value_name = "SENDER", conflicts_with = "quick")]
        deadline: Option<String>,
    },
    /// Inside of the namespace of `interop`
    #[command(hide = true)]
    InteropInside {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Simulate paths, and emulate them with the engine and with the kernel as sender (root, 2.5 minutes a point): docs/three-ways.md
    ThreeWays {
        /// One point for some seconds; nothing is written
        #[arg(long, conflicts_with = "points")]
        quick: bool,
        /// Instead, eight scenarios of the measurements of Linux with three and four paths or changing rates, from kernel to kernel
        #[arg(long, conflicts_with_all = ["quick", "points"])]
        measured: bool,
        /// The points to run; all if none is given
        points: Vec<String>,
    },
    /// Measure examples/stripe with several schedulers over emulated links (root, 45 minutes): the table of docs/embedding.md
    Stripe {
        /// Two legs for some seconds; nothing is written
        #[arg(long)]
        quick: bool,
        /// A tenth of the rates of the two fast links, for a machine that cannot emulate them
        #[arg(long, conflicts_with = "quick")]
        tenth: bool,
    },
    /// Measure the engine with real packets beside the kernel's Multipath TCP (root, 2 minutes on a quiet machine): docs/performance.md
    Throughput {
        /// Build with the profile `fast`
        #[arg(long)]
        fast: bool,
    },
    /// Inside of the namespace of `throughput`
    #[command(hide = true)]
    ThroughputInside { profile: String },
    /// Change a machine's addresses while `pathweave perf --auto` sends and receives (root, 90 s)
    Uplinks,
    /// Compare data segments per second of processor time with ns-3, which is installed first
    Peers(Bless),
    /// Let tshark check captures of all built-in scenarios
    Captures,
    /// Run all built-in scenarios and schedulers, 20 seeds, with segments that travel as bytes
    ThroughBytes,
    /// Build, test and run the crate that `pathweave new-scheduler` writes
    NewScheduler,
    /// Build the crates that must build for wasm32-unknown-unknown
    Wasm,
    /// Open a report page in headless Chromium, light and dark, wide and narrow, and press its export buttons
    Page { file: PathBuf },
    /// Build the playground into target/playground/; compare its digests with the command's, and use it in headless Chromium
    Playground,
    /// Write the tables of specs/
    Specs,
    /// Write docs/results/, docs/schedulers/, the README's picture, and the first output in the README and docs/first-steps.md
    Results,
    /// Check that no pair of schedulers changes places between 20 s and 110 s: docs/results/transients.txt
    Transients,
    /// Make the papers' experiments and write docs/reproduction.md. Continues an earlier run
    Reproduction {
        /// Plans to make, such as cp/fig5, instead of all
        #[arg(value_name = "PLAN", conflicts_with_all = ["from_tables", "quick", "check"])]
        plans: Vec<String>,
        /// Write the document from the committed tables, without runs
        #[arg(long)]
        from_tables: bool,
        /// Make small runs for the abstracts' promises; no effect above 10 % may have another sign than in docs/reproduction/tables
        #[arg(long, conflicts_with = "from_tables")]
        quick: bool,
        /// Make a drawn sample of the tables again, of as many seconds of processor time; they must be the same
        #[arg(long, value_name = "SECONDS", conflicts_with_all = ["from_tables", "quick"])]
        check: Option<f64>,
    },
    /// Check the Python package: wheel, lints, types, tests, notebooks, examples
    Python {
        /// Write docs/python-api.md
        #[arg(long)]
        bless: bool,
        /// Measure the figures of docs/performance.md; WHAT names some of them
        #[arg(long, value_name = "WHAT", num_args = 0.., conflicts_with = "bless")]
        measure: Option<Vec<String>>,
    },
    /// Make some small experiments, a sweep that is killed and resumed, shards, and the page
    Experiments,
    /// Make a release, one folder below target/dist/: crates, the command, a Debian package, wheels, sums (20 minutes)
    Release {
        /// Try the release that was made in a bare Debian, which is installed into target/ first (root)
        #[arg(long)]
        check: bool,
        /// Build the command twice, the second time with profile-guided optimisation (component `llvm-tools`)
        #[arg(long, conflicts_with = "check")]
        trained: bool,
    },
    /// Build the site into target/site/: the documents as a book, the playground, the crates' reference; check its links
    Site {
        /// Only the pages, without the playground and the crates' reference, whose building takes minutes
        #[arg(long)]
        quick: bool,
    },
    /// Build the schedulers' C library; a program in C must run with it, without an error under valgrind
    SchedulerC {
        /// Lay out library, header and pkg-config file below DIR instead: lib/, include/, lib/pkgconfig/
        #[arg(long, value_name = "DIR")]
        prefix: Option<PathBuf>,
    },
    /// Write docs/schedulers/ from the sources and docs/results/
    Schedulers,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_programs_options_are_passed_on() -> Result<(), clap::Error> {
        let read = Arguments::try_parse_from(["xtask", "faults", "--replay", "7", "--without", "1,2"])?;
        assert!(
            matches!(read.chore, Chore::Faults { arguments } if arguments == ["--replay", "7", "--without", "1,2"])
        );
        Ok(())
    }
}
