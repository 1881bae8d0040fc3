//! Runs a campaign of random faults. Fails if a rule is broken, and names the seed.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_faults::{Case, Ending, Fault, Outcome, Rule, STEPS, run, run_caught, shrink, simplify};
use pathweave_units::Duration;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// Makes runs with random faults and checks that no byte is lost or wrong and every connection ends.
#[derive(Debug, Parser)]
struct Options {
    /// Number of runs.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// Makes runs for this many seconds instead, and prints how many they were.
    #[arg(long, conflicts_with = "runs")]
    seconds: Option<u64>,
    /// The first seed; each further run has the next seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Makes only the run with this seed, and prints its packets.
    #[arg(long)]
    replay: Option<u64>,
    /// Steps that simplify the replayed case, comma-separated, as a failure names them.
    #[arg(long, requires = "replay", value_delimiter = ',')]
    without: Vec<String>,
    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Number of failures that are listed and simplified.
    #[arg(long, default_value_t = 5)]
    list: usize,
}

/// Number of runs that are begun together. The clock is read after each batch.
const BATCH: u64 = 500;

/// The most steps that simplify a failure.
const MOST_STEPS: usize = 60;

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(seed) = options.replay {
        return replay(seed, &options.without);
    }
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(options.jobs).build() else {
        eprintln!("no threads");
        return ExitCode::FAILURE;
    };
    pool.install(|| campaign(&options))
}

/// The clock for `--seconds`. It does not affect the result of any run.
#[expect(clippy::disallowed_methods, reason = "a campaign for a time needs a clock; the runs do not see it")]
fn now() -> Instant {
    Instant::now()
}

fn campaign(options: &Options) -> ExitCode {
    let start = now();
    // The bar is drawn only on a terminal.
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}").unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(options.seconds.unwrap_or(options.runs)).with_style(style);
    let mut summary = Summary::default();
    loop {
        let left = match options.seconds {
            Some(seconds) if start.elapsed().as_secs() >= seconds => 0,
            Some(_) => BATCH,
            None => options.runs - summary.runs,
        };
        if left == 0 {
            break;
        }
        let first = options.seed + summary.runs;
        let seeds = first..first + left.min(BATCH);
        let outcomes: Vec<_> = seeds.into_par_iter().map(|seed| (seed, run_caught(&Case::draw(seed)))).collect();
        for (seed, outcome) in outcomes {
            // Printed at once, so that a campaign that is stopped has reported what it found.
            if let Some(fault) = summary.add(seed, outcome) {
                bar.suspend(|| eprintln!("seed {seed}: {}", fault.what));
            }
        }
        bar.set_position(if options.seconds.is_some() { start.elapsed().as_secs() } else { summary.runs });
    }
    bar.finish_and_clear();
    summary.print(options.list)
}

fn replay(seed: u64, without: &[String]) -> ExitCode {
    let mut case = Case::draw(seed);
    if let Err(what) = simplify(&mut case, &without.iter().map(String::as_str).collect::<Vec<_>>()) {
        let all: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        eprintln!("{what}; there are {}", all.join(", "));
        return ExitCode::FAILURE;
    }
    println!("{case:#?}");
    let outcome = run(&case, true);
    println!("{outcome:#?}");
    if outcome.fault.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The totals of all runs.
#[derive(Default)]
struct Summary {
    runs: u64,
    packets: u64,
    bytes: u64,
    tampered: u64,
    corrupted: u64,
    attacked: u64,
    one_sided: u64,
    /// Seeds of slow runs.
    slow: Vec<u64>,
    stall: Duration,
    endings: BTreeMap<String, u64>,
    faults: Vec<(u64, Fault)>,
}

fn name(ending: Ending) -> String {
    match ending {
        Ending::Never => "never open".into(),
        Ending::Closed => "closed".into(),
        Ending::Open => "open".into(),
        Ending::Failed(error) => format!("{error}"),
    }
}

impl Summary {
    /// Counts a run, and returns its fault if it has one.
    fn add(&mut self, seed: u64, outcome: Result<Outcome, Fault>) -> Option<&Fault> {
        self.runs += 1;
        let fault = match outcome {
            Ok(o) => {
                let endings = format!("{} / {}", name(o.endings[0]), name(o.endings[1]));
                *self.endings.entry(endings).or_default() += 1;
                self.packets += o.packets;
                self.bytes += o.bytes.iter().sum::<u64>();
                self.tampered += u64::from(o.tampered);
                self.corrupted += u64::from(o.corrupted);
                self.attacked += u64::from(o.attacked);
                self.one_sided += u64::from(o.one_sided);
                self.slow.extend(o.slow.then_some(seed));
                self.stall = self.stall.max(o.stall);
                o.fault
            }
            Err(panic) => Some(panic),
        };
        let known = self.faults.len();
        self.faults.extend(fault.map(|fault| (seed, fault)));
        self.faults.get(known).map(|(_, fault)| fault)
    }

    fn print(&self, list: usize) -> ExitCode {
        println!("{} runs, {} packets, {} bytes read", self.runs, self.packets, self.bytes);
        println!(
            "{} with a middlebox that changed something, {} with changed bytes, {} with attackers",
            self.tampered, self.corrupted, self.attacked
        );
        println!("{} where one end closed in order and the other lacked bytes and had an error", self.one_sided);
        println!("{} still read data after an hour: seeds {:?}", self.slow.len(), self.slow);
        println!("{} at most without progress once nothing was wrong", self.stall);
        println!("\nclient / server");
        for (what, times) in &self.endings {
            println!("{times:>8}  {what}");
        }
        let count = |rule| self.faults.iter().filter(|(_, fault)| fault.rule == rule).count();
        println!(
            "\n{} wrong or truncated, {} without an end, {} stalls, {} beyond a memory limit, {} leaks, {} harmed by attackers off \
             the path, {} panics",
            count(Rule::Bytes),
            count(Rule::Endless),
            count(Rule::Stall),
            count(Rule::Memory),
            count(Rule::Leak),
            count(Rule::Siege),
            count(Rule::Panic)
        );
        if self.faults.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!(
            "\nWhat does not hold, and the command that shows its packets, with all taken out that it does not need:"
        );
        for (seed, Fault { rule, what }) in self.faults.iter().take(list) {
            println!("seed {seed}: {what}");
            let steps = shrink(*seed, *rule, MOST_STEPS);
            let without = if steps.is_empty() { String::new() } else { format!(" --without {}", steps.join(",")) };
            println!("    cargo xtask faults --replay {seed}{without}");
        }
        ExitCode::FAILURE
    }
}
