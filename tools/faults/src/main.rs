//! Runs the campaign of faults; fails where something does not hold, and names the seed.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_faults::{Case, Ending, Fault, Outcome, Rule, STEPS, run, run_caught, shrink, simplify};
use pathweave_units::Duration;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// Random faulty runs: no byte lost, none wrong, every connection ends.
#[derive(Debug, Parser)]
struct Options {
    /// How many runs.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// Runs for this long instead, and says how many they were.
    #[arg(long, conflicts_with = "runs")]
    seconds: Option<u64>,
    /// The first seed; each run has the next one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs this seed alone and shows its packets.
    #[arg(long)]
    replay: Option<u64>,
    /// What is taken out of the replayed case, as a failure names it: steps with commas between them.
    #[arg(long, requires = "replay", value_delimiter = ',')]
    without: Vec<String>,
    /// Threads; 0: as many as there are processors.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// How many failures are listed and made simpler.
    #[arg(long, default_value_t = 5)]
    list: usize,
}

/// So many runs are begun together; after them the clock is looked at.
const BATCH: u64 = 500;

/// At most so many steps make a failure simpler.
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

/// How long a campaign of so many seconds has taken is no result of it.
#[expect(clippy::disallowed_methods, reason = "a campaign for a time needs a clock; the runs do not see it")]
fn now() -> Instant {
    Instant::now()
}

fn campaign(options: &Options) -> ExitCode {
    let start = now();
    // Drawn only on a terminal.
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
            // At once, so that a campaign that is stopped has said what it found.
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

/// What all runs came to.
#[derive(Default)]
struct Summary {
    runs: u64,
    packets: u64,
    bytes: u64,
    tampered: u64,
    corrupted: u64,
    attacked: u64,
    one_sided: u64,
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
    /// Counts a run; what does not hold in it.
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
