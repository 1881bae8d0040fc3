//! What can be written on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZero;
use std::path::PathBuf;

/// Compares Multipath TCP schedulers in a deterministic simulator.
#[derive(Debug, Parser)]
#[command(name = "pathweave", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Compare(CompareOptions),
    Explain(ExplainOptions),
    Validate(ValidateOptions),
    List(ListOptions),
    NewScheduler(NewSchedulerOptions),
    /// Writes a shell's completions to standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Writes the manual's pages.
    Man {
        /// The folder for them; it is made where it is missing.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Runs schedulers on scenarios, ranks them, and says whether several paths are worse than one.
///
/// Plain TCP on each path (tcp-path0, tcp-path1, ...) is always run as well, with the same seeds and the same congestion controller.
/// Without any argument this runs the scenario wifi-lte with nine telling schedulers and 5 seeds, and writes the page
/// pathweave-report.html.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CompareOptions {
    /// Built-in scenarios (see `pathweave list scenarios`) or scenario files [default: wifi-lte].
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenarios: Vec<String>,

    /// Schedulers, separated by commas, or `all` (see `pathweave list schedulers`) [default: minrtt, linux, roundrobin, redundant,
    /// blest, ecf, cp, dpsaf, rems].
    ///
    /// Parameters and settings of the connection follow a name after colons: `minrtt,blest:lambda=1.2,linux:pr=true`.
    #[arg(long, value_name = "A,B,C|all")]
    pub(crate) schedulers: Option<String>,

    /// The row that the others are compared with, seed by seed: a scheduler or tcp-pathN [default: plain TCP on the best path].
    #[arg(long, value_name = "NAME")]
    pub(crate) against: Option<String>,

    /// The scheduler whose time is explained below the table [default: the slowest].
    #[arg(long, value_name = "NAME")]
    pub(crate) why: Option<String>,

    /// How many runs of each, with the seeds 1, 2, ... [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<NonZero<u32>>,

    /// Overrides a value of the scenarios; can be repeated.
    ///
    /// `connection.KEY` is for every connection and for plain TCP (`connection.receive_buffer=60KB` is a fixed window of 60 KB),
    /// `path.0.KEY` or `path.NAME.KEY` for one path, `path.KEY` for every path, `KEY` for the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,

    /// Writes each run as a line of JSON; with `-` to standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) jsonl: Option<PathBuf>,

    /// Writes the table's numbers as comma-separated values, a line for each scheduler.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,

    /// Writes one HTML page that needs nothing from outside [default: pathweave-report.html when neither a scenario nor --jsonl
    /// is given, else none].
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// How many runs at once [default: one per processor]. Results do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Writes a capture of one run (one scenario, one scheduler, --seeds 1) for tshark and Wireshark.
    ///
    /// It shows what the sending host sends and receives, with an interface for each path: whole headers and options, the first
    /// bytes of the data, which is zeros, and the time in nanoseconds.
    #[arg(long, value_name = "FILE.pcapng")]
    pub(crate) pcap: Option<PathBuf>,

    /// Turns every segment into bytes and back on its way: a check of the codec and the engine, which changes no result.
    #[arg(long)]
    pub(crate) through_bytes: bool,
}

/// Shows why a scheduler did what it did: every decision of one run between two times.
///
/// For each: what the scheduler saw (by subflow round-trip time, window, segments in flight; the send window, the first unassigned
/// byte), its verdict, what the connection made of it, and the reason in the terms of the scheduler's paper. As text, unless a
/// file is asked for.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainOptions {
    /// A built-in scenario (see `pathweave list scenarios`) or a scenario file.
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenario: String,

    /// The scheduler, with parameters after colons (see `pathweave list schedulers`).
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: String,

    /// The first time that is shown, from the start of the run [default: 0s].
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// The last time that is shown [default: 200ms after the first].
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,

    /// The run's seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Overrides a value of the scenario, as for `compare`; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,

    /// Writes a line of JSON for the run and one for each thing that happened; with `-` to standard output.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) jsonl: Option<PathBuf>,

    /// Writes one HTML page that needs nothing from outside: the stream over time, blocked times, and the reasons.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

/// Holds the engine against measurements of the real Linux stack.
///
/// Runs every scenario of a reference file (see validation/README.md) with matching settings: plain TCP, or the scheduler linux
/// with failure detection linux; seeds 1 to 10, to 30 with random loss. Shows Linux and ours by scenario, and the limits.
#[derive(Args, Clone, Debug)]
pub(crate) struct ValidateOptions {
    /// Reference data: one run of Linux a line.
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) file: PathBuf,

    /// Writes a line of JSON for each scenario: id, linux_median, ours_median (completion in seconds of sized runs, else goodput in
    /// Mbit/s), difference (a fraction), linux_iqr, unit.
    #[arg(long, value_name = "OUT.jsonl")]
    pub(crate) jsonl: Option<PathBuf>,

    /// Only scenarios with this text in their id.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,

    /// How many runs at once [default: one per processor]. Results do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Ends with code 1 when a limit does not hold.
    #[arg(long)]
    pub(crate) check: bool,

    /// Other schedulers, with commas between them, to run on the MPTCP scenarios: what would one gain over the kernel's?
    #[arg(long, value_name = "A,B,C")]
    pub(crate) schedulers: Option<String>,

    /// Writes two pictures into this folder: agreement.svg (ours against Linux) and differences.svg (by scenario).
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Runs nothing: writes each scenario as a scenario file into this folder, as it is with seed 1.
    #[arg(long, value_name = "DIR")]
    pub(crate) scenarios: Option<PathBuf>,
}

/// Starts a scheduler of your own: a crate with its rule, its tests, and this whole command with it in the registry.
///
/// The crate depends on Pathweave's source: a checkout on this machine, or a revision of a git repository.
#[derive(Args, Clone, Debug)]
pub(crate) struct NewSchedulerOptions {
    /// The scheduler's name, and the crate's: lower-case letters, digits and hyphens.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The folder to make [default: NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,

    /// A checkout of Pathweave to depend on.
    #[arg(long, value_name = "DIR", conflicts_with = "git", required_unless_present = "git")]
    pub(crate) checkout: Option<PathBuf>,

    /// A git repository of Pathweave to depend on.
    #[arg(long, value_name = "URL", requires = "rev")]
    pub(crate) git: Option<String>,

    /// The revision of the git repository.
    #[arg(long, value_name = "COMMIT", requires = "git")]
    pub(crate) rev: Option<String>,
}

/// Lists what can be named.
#[derive(Args, Clone, Debug)]
pub(crate) struct ListOptions {
    /// Of what.
    #[arg(value_enum)]
    pub(crate) what: Listed,

    /// As a JSON array of objects.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    Schedulers,
    Controllers,
    Scenarios,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("KEY=VALUE is needed, such as connection.receive_buffer=60KB".into()),
    }
}
