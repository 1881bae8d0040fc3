//! The arguments of the command line.

use crate::output::{self, Output};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

/// Compares Multipath TCP schedulers in a deterministic simulator.
#[derive(Debug, Parser)]
#[command(name = "pathweave", version = pathweave_runner::version(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Compare(CompareOptions),
    Explain(ExplainOptions),
    Sweep(SweepOptions),
    Reproduce(ReproduceOptions),
    Arena(ArenaOptions),
    Validate(ValidateOptions),
    List(ListOptions),
    NewScheduler(NewSchedulerOptions),
    #[cfg(all(feature = "tun", target_os = "linux"))]
    Perf(crate::real::args::PerfOptions),
    #[cfg(all(feature = "tun", target_os = "linux"))]
    Emulate(crate::real::args::EmulateOptions),
    #[cfg(not(all(feature = "tun", target_os = "linux")))]
    #[command(hide = true, disable_help_flag = true)]
    Perf(AnyArguments),
    #[cfg(not(all(feature = "tun", target_os = "linux")))]
    #[command(hide = true, disable_help_flag = true)]
    Emulate(AnyArguments),
    /// Writes a shell's completions to standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Writes the manual pages.
    Man {
        /// The folder to write them to; it is created if it does not exist.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

// Not a doc comment, as below. The command is not in this build, so any arguments get the same answer.
#[cfg(not(all(feature = "tun", target_os = "linux")))]
#[derive(Args, Clone, Debug)]
pub(crate) struct AnyArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

/// Runs schedulers on scenarios, ranks them, and says whether several paths are worse than one.
///
/// Plain TCP on each path (tcp-path0, tcp-path1, ...) is always run as well, with the same seeds and the same
/// congestion controller. Without any argument, this runs the scenario wifi-lte with ten schedulers and 5 seeds, and
/// writes the page pathweave-report.html.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CompareOptions {
    /// Built-in scenarios (see `pathweave list scenarios`) or scenario files [default: wifi-lte].
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenarios: Vec<String>,

    /// Schedulers, separated by commas, or `all` (see `pathweave list schedulers`) [default: minrtt, linux, roundrobin,
    /// redundant, blest, ecf, cp, dpsaf, rems, weave].
    ///
    /// Parameters and connection settings follow a name after colons: `minrtt,blest:lambda=1.2,linux:pr=true`.
    #[arg(long, value_name = "A,B,C|all")]
    pub(crate) schedulers: Option<String>,

    /// The row that all others are compared with, seed by seed: a scheduler or tcp-pathN [default: plain TCP on the
    /// best path].
    #[arg(long, value_name = "NAME")]
    pub(crate) against: Option<String>,

    /// The scheduler whose time is explained below the table [default: the slowest that uses several paths].
    #[arg(long, value_name = "NAME")]
    pub(crate) why: Option<String>,

    /// Number of runs of each scheduler, with the seeds 1, 2, ... [default: 5].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,

    /// Overrides a setting of the scenarios; can be repeated.
    ///
    /// `connection.KEY` applies to every connection and to plain TCP (`connection.receive_buffer=60KB` is a fixed
    /// window of 60 KB), `path.0.KEY` or `path.NAME.KEY` to one path, `path.KEY` to every path, `KEY` to the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::key_value::key_value)]
    pub(crate) settings: Vec<(String, String)>,

    /// Writes each run as a line of JSON (docs/results-format.md); with `-` to standard output, which then holds
    /// nothing else.
    #[arg(long, value_name = "FILE|-", value_parser = output::lines, value_hint = ValueHint::FilePath)]
    pub(crate) jsonl: Option<Output>,

    /// Writes the numbers of the table as comma-separated values, with a line for each scheduler; with `-` to standard
    /// output.
    #[arg(long, value_name = "FILE.csv|-", value_parser = output::table, value_hint = ValueHint::FilePath)]
    pub(crate) csv: Option<Output>,

    /// Writes an HTML page that works offline [default: pathweave-report.html if neither a scenario nor --jsonl is
    /// given, otherwise none].
    ///
    /// A second page beside it shows each decision of the scheduler that --why names, in the first second of the
    /// measured time.
    #[arg(long, value_name = "FILE.html", value_parser = output::page, value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<Output>,

    #[command(flatten)]
    pub(crate) jobs: Jobs,

    /// Writes a capture of one run, for tcpdump, tshark and Wireshark; needs one scenario, one scheduler and --seeds 1.
    /// With `-` to standard output.
    ///
    /// The capture has the packets that the sending host sends and receives, with an interface for each path: complete
    /// headers and options, the first bytes of the data (which is all zeros), and the time in nanoseconds.
    #[arg(long, value_name = "FILE.pcapng|-", value_parser = output::capture, value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<Output>,

    /// Encodes every segment to bytes and decodes it again, to check the codec and the engine. This changes no result.
    #[arg(long)]
    pub(crate) through_bytes: bool,
}

// Not a doc comment: clap would show it as the help of the command that takes these.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Jobs {
    /// Number of runs at once [default: one per processor]. Results do not depend on it.
    #[arg(id = "jobs", long = "jobs", value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    pub(crate) at_once: Option<NonZero<usize>>,
}

/// Shows why a scheduler did what it did: every decision of one run between two times.
///
/// Each decision comes with the scheduler's input (round-trip time, window and segments in flight of each subflow, the
/// send window, the first unassigned byte), the decision, how the connection carried it out, and the reason in the
/// terms of the scheduler's paper.
/// The output is text, unless --jsonl or --report asks for a file.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainOptions {
    /// A built-in scenario (see `pathweave list scenarios`) or a scenario file.
    #[arg(value_name = "NAME|FILE")]
    pub(crate) scenario: String,

    /// The scheduler, with parameters after colons (see `pathweave list schedulers`).
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: String,

    /// Start of the period to show, from the start of the run [default: 0s].
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// End of the period to show [default: 200ms after --from].
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,

    /// Shows only this connection, if the scenario measures several [default: one of each group of equal ones; with
    /// --jsonl and --report all].
    #[arg(long, value_name = "NAME")]
    pub(crate) connection: Option<String>,

    /// The run's seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Overrides a setting of the scenario, as in `compare`; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::key_value::key_value)]
    pub(crate) settings: Vec<(String, String)>,

    /// Writes a line of JSON for the run and one for each event; with `-` to standard output.
    #[arg(long, value_name = "FILE|-", value_parser = output::lines, value_hint = ValueHint::FilePath)]
    pub(crate) jsonl: Option<Output>,

    /// Writes an HTML page that works offline: the stream over time, the reasons of the decisions, and what blocked the
    /// stream; with `-` to standard output.
    #[arg(long, value_name = "FILE.html|-", value_parser = output::page, value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<Output>,
}

/// Makes all runs of a plan: scenarios, schedulers, ranges of parameters and seeds.
///
/// A plan is a TOML file (docs/experiments.md). Each run becomes a line of JSON when it is done. With --shard, several
/// machines share the work; when one folder has the files of all shards, any of the commands with --resume puts them
/// together. The results depend neither on the number of shards nor on interruptions.
#[derive(Args, Clone, Debug)]
pub(crate) struct SweepOptions {
    /// The plan.
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,

    /// The folder for the results; it is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Makes only part I of N of the runs, counted from 1.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(usize, usize)>,

    /// Continues with the runs in the folder. They must be of the same plan and the same program.
    #[arg(long)]
    pub(crate) resume: bool,

    /// Makes the smaller sweep that the plan describes in [quick].
    #[arg(long)]
    pub(crate) quick: bool,

    /// Also writes runs.parquet when all runs are done.
    #[cfg(feature = "parquet")]
    #[arg(long)]
    pub(crate) parquet: bool,

    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Ranks schedulers over the arena: many links, windows, loss patterns, changes, workloads and competing flows.
///
/// Each point is scored against the best single path of the same connection. Half of the plans are for tuning, half for
/// evaluation. A command that was interrupted continues when it is given again.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArenaOptions {
    /// Schedulers, separated by commas, or `all`; the first is compared with each other one.
    #[arg(value_name = "SCHEDULERS")]
    pub(crate) schedulers: Option<String>,

    /// More schedulers, separated by commas, that the first one is compared with. The first of these is its opponent in
    /// the answer and in --point [default: the second of SCHEDULERS].
    #[arg(long, value_name = "A,B", requires = "schedulers")]
    pub(crate) against: Option<String>,

    /// Makes the runs of one point, such as bulk-evaluation/3, and writes their page; the arena's page names the points.
    #[arg(long, value_name = "FAMILY/N", conflicts_with = "only")]
    pub(crate) point: Option<String>,

    /// Makes only these points of these families, separated by commas: `bulk-evaluation/1-3,web-tuning/4,sized-tuning`.
    ///
    /// Without a number, all points of the family. The runs have folders of their own.
    #[arg(long, value_name = "FAMILY[/N[-M]],...", conflicts_with_all = ["only", "point"])]
    pub(crate) points: Option<String>,

    /// Also shows the decisions of the first two schedulers in the second in which they part.
    #[arg(long, requires = "point")]
    pub(crate) explain: bool,

    /// Number of seeds, from 1 on [default: as the plans say].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,

    /// Makes four points of each plan with one seed.
    #[arg(long)]
    pub(crate) quick: bool,

    /// Makes only plans with this text in their names, such as evaluation or small-window.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,

    /// The folder for runs and the page.
    #[arg(long, value_name = "DIR", default_value = "pathweave-arena")]
    pub(crate) out: PathBuf,

    /// A folder with other plans [default: the plans that the program carries].
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Reproduces the papers' experiments, and says for each claim whether it holds.
///
/// Without names, all experiments are made. A command that was interrupted continues when it is given again. --out gets
/// the figures and a document with all verdicts.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReproduceOptions {
    /// Papers (cp, blest, dpsaf, rems, eval) or single experiments, such as cp/fig5 [default: all].
    #[arg(value_name = "PAPER[/ID]")]
    pub(crate) experiments: Vec<String>,

    /// Makes smaller and shorter experiments.
    #[arg(long)]
    pub(crate) quick: bool,

    /// Makes only the runs that the promises of the papers' abstracts need, and leaves out the other claims.
    #[arg(long, conflicts_with_all = ["tables", "from_tables", "ablate"])]
    pub(crate) promises: bool,

    /// Writes each claim as a line of JSON; with `-` to standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-", value_parser = output::lines, value_hint = ValueHint::FilePath)]
    pub(crate) jsonl: Option<Output>,

    /// The folder for runs, figures and the document [default: pathweave-reproduction].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Also writes the values that figures and claims need to PAPER-ID.csv in this folder, to four digits.
    #[arg(long, value_name = "DIR", conflicts_with = "from_tables")]
    pub(crate) tables: Option<PathBuf>,

    /// Makes no runs, but takes the values from a folder that --tables wrote.
    #[arg(long, value_name = "DIR")]
    pub(crate) from_tables: Option<PathBuf>,

    /// For each claim that fails, and each promise of an abstract that does not hold everywhere, tries changes until it
    /// holds: those that the plan names, then those of ablations.toml, then two together. The runs are those of --quick.
    #[arg(long)]
    pub(crate) ablate: bool,

    /// The folder with the experiments.
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) from: PathBuf,

    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Compares the engine with measurements of the real Linux stack.
///
/// Runs every scenario of a reference file (see validation/README.md) with matching settings: plain TCP, or the
/// scheduler linux, on Linux hosts with failure detection linux. The seeds are 1 to 10, or 1 to 300 with random loss.
/// Shows Linux and Pathweave side by side for each scenario, and whether the limits hold.
#[derive(Args, Clone, Debug)]
pub(crate) struct ValidateOptions {
    /// Reference data; each line is one run of Linux.
    #[arg(value_name = "FILE.jsonl")]
    pub(crate) file: PathBuf,

    /// Writes a line of JSON for each scenario: id, linux_median, ours_median (completion in seconds of sized runs,
    /// else goodput in Mbit/s), difference (a fraction), linux_iqr, unit. With `-` to standard output, which then holds
    /// nothing else.
    #[arg(long, value_name = "OUT.jsonl|-", value_parser = output::lines, value_hint = ValueHint::FilePath)]
    pub(crate) jsonl: Option<Output>,

    /// Runs only scenarios with this text in their id.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,

    #[command(flatten)]
    pub(crate) jobs: Jobs,

    /// Exits with code 1 if a limit does not hold.
    #[arg(long)]
    pub(crate) check: bool,

    /// Also runs other schedulers, separated by commas, on the MPTCP scenarios, to show their gain over the kernel's.
    #[arg(long, value_name = "A,B,C")]
    pub(crate) schedulers: Option<String>,

    /// Writes two pictures into this folder: agreement.svg (Pathweave against Linux) and differences.svg (by scenario).
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Runs nothing, but writes each scenario with seed 1 as a scenario file into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) scenarios: Option<PathBuf>,
}

/// Writes a crate for a scheduler of your own: its rule, its tests, and this whole command with the scheduler in it.
///
/// The crate depends on Pathweave's source: a checkout on this machine, or a revision of a git repository.
#[derive(Args, Clone, Debug)]
pub(crate) struct NewSchedulerOptions {
    /// The name of the scheduler and of the crate: lower-case letters, digits and hyphens.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The folder to create [default: NAME].
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

/// Lists schedulers, congestion controllers or scenarios.
#[derive(Args, Clone, Debug)]
pub(crate) struct ListOptions {
    /// The kind of thing to list.
    #[arg(value_enum)]
    pub(crate) what: Listed,

    /// Prints a JSON array of objects.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    Schedulers,
    Controllers,
    Scenarios,
}

fn at_least_one<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "write a whole number from 1".into())
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(i, n)| (1..=*n).contains(i)).ok_or_else(|| "write I/N with I from 1 to N, such as 2/4".into())
}
