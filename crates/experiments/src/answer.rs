//! The answer to whether several paths are worse than one anywhere in a sweep, in sentences for the terminal and the
//! page.
//!
//! A case is a scheduler at a point of a scenario. Its goodput is compared, seed by seed, with plain TCP on the best
//! path at that point. A loss counts if it exceeds [`HEADERS`], the fraction of a frame that Multipath TCP's options
//! take. The 95 % interval of the difference decides the case: *worse* if all of the interval is a loss that counts,
//! *not worse* if none of it is, else *undecided*. With a single seed there is no interval, and the case is undecided.
//! Failed runs have no goodput and enter no case.
//!
//!
//! | sentence | said if | banner |
//! |---|---|---|
//! | "N of M runs are finished" | runs are missing | red, of its own |
//! | "Failed runs", "Stalled runs" | there are such runs, other than plain TCP that stalls on a dead path | red, of its own |
//! | "Nothing can be compared" | there is no case, though the plan has schedulers and plain TCP | plain |
//! | "worse ... at W of N points" | W > 0 cases are worse | red |
//! | "nowhere worse" | no run is missing or failed, and every case is not worse | green |
//! | "not worse ... wherever that was measured" | as before, but runs are missing or failed | plain |
//! | "One seed cannot tell" | no case has an interval | plain |
//! | "undecided ... at U of N points" | no case is worse, and U > 0 are undecided | plain |
//! | "The mean goodput is lower ... lowest" | some mean is lower by a loss that counts; the case with the largest loss is named | |
//! | "No mean goodput is lower" | none is, and some case is undecided | |

use crate::plan::What;
use crate::results::Results;
use crate::runs::Sweep;
use pathweave_report::{Difference, short};

/// Fraction of the goodput that Multipath TCP's options take: a mapping and a DATA_ACK have 24 of the 1448 bytes in a
/// frame. A smaller loss does not count as worse.
pub const HEADERS: f64 = 24.0 / 1448.0;

/// The colour of a banner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// No case is worse, and all runs are complete.
    Good,
    /// The runs cannot decide.
    Open,
    /// Several paths are worse than one somewhere.
    Bad,
}

/// The answer for a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Sentences about missing and failed runs; empty if there are none.
    pub missing: Vec<String>,
    /// The colour of the banner.
    pub tone: Tone,
    /// The answer in one sentence.
    pub headline: String,
    /// Sentences with the figures behind the answer.
    pub more: Vec<String>,
}

/// The decision on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Worse,
    NotWorse,
    Undecided,
}

/// A scheduler at a point, with the best plain TCP there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    scenario: usize,
    point: usize,
    variant: usize,
    /// Mean goodput of plain TCP over the seeds that both have.
    tcp: f64,
    difference: Difference,
}

impl Case {
    /// Compares the runs of a case. `None` if no seed has a run of both without a failure.
    pub(crate) fn of(
        sweep: &Sweep,
        results: &Results,
        (scenario, point, variant): (usize, usize, usize),
    ) -> Option<Self> {
        let goodput = |v: usize| Some((results.estimate(scenario, point, v, "goodput_mbps")?.mean, v));
        let (_, best) = sweep.plain_tcp().filter_map(goodput).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let reference = results.by_seed(scenario, point, best, "goodput_mbps");
        let with_seed = |seed: u64| reference.iter().find(|(s, _)| *s == seed).map(|(_, x)| *x);
        let own = results.by_seed(scenario, point, variant, "goodput_mbps");
        let pairs: Vec<(f64, f64)> = own.into_iter().filter_map(|(seed, x)| Some((x, with_seed(seed)?))).collect();
        let tcp = pairs.iter().map(|(_, y)| y).sum::<f64>() / pairs.len() as f64;
        Some(Case { scenario, point, variant, tcp, difference: Difference::of(&pairs)? })
    }

    /// The difference below which a loss counts.
    fn limit(&self) -> f64 {
        -HEADERS * self.tcp
    }

    fn outcome(&self) -> Outcome {
        match self.difference.bounds() {
            Some((_, high)) if high < self.limit() => Outcome::Worse,
            Some((low, _)) if low >= self.limit() => Outcome::NotWorse,
            _ => Outcome::Undecided,
        }
    }

    fn mean_is_lower(&self) -> bool {
        self.difference.mean() < self.limit()
    }

    /// Whether a map marks the case: it is worse, or there is no interval and its mean is lower.
    pub(crate) fn is_marked(&self) -> bool {
        self.outcome() == Outcome::Worse || (self.difference.bounds().is_none() && self.mean_is_lower())
    }

    /// The mean difference as a fraction of plain TCP's goodput.
    fn part(&self) -> f64 {
        self.difference.mean() / self.tcp.max(f64::MIN_POSITIVE)
    }
}

/// The variants that are not plain TCP.
pub(crate) fn multipath(sweep: &Sweep) -> impl Iterator<Item = usize> + '_ {
    (0..sweep.variants.len()).filter(|v| matches!(sweep.variants[*v].run, What::Scheduler(_)))
}

impl Answer {
    /// The answer from the runs. `None` if the plan has no schedulers or no plain TCP.
    pub fn of(sweep: &Sweep, results: &Results) -> Option<Self> {
        if multipath(sweep).next().is_none() || sweep.plain_tcp().next().is_none() {
            return None;
        }
        let missing = missing(results);
        let planned = sweep.cells.iter().filter(|c| matches!(sweep.variants[c.variant].run, What::Scheduler(_)));
        let places = planned.map(|c| (c.scenario, c.point, c.variant));
        let cases: Vec<Case> = places.filter_map(|place| Case::of(sweep, results, place)).collect();
        let counts = Counts { cases: &cases, several: multipath(sweep).count() > 1 };
        let (worse, undecided) = (counts.of(Outcome::Worse), counts.of(Outcome::Undecided));
        let has_interval = cases.iter().any(|c| c.difference.bounds().is_some());
        let (tone, headline) = match () {
            () if cases.is_empty() => {
                (Tone::Open, "Nothing can be compared: no scheduler has a run beside one of plain TCP.".into())
            }
            () if worse > 0 => {
                (Tone::Bad, format!("Several paths are worse than plain TCP on the best path {}.", counts.at(worse)))
            }
            () if !has_interval => (
                Tone::Open,
                "One seed cannot tell whether several paths are worse than plain TCP on the best path.".into(),
            ),
            () if undecided > 0 => (
                Tone::Open,
                format!(
                    "Whether several paths are worse than plain TCP on the best path is undecided {}.",
                    counts.at(undecided)
                ),
            ),
            () if missing.is_empty() => {
                (Tone::Good, "Several paths are nowhere worse than plain TCP on the best path.".into())
            }
            () => (
                Tone::Open,
                "Several paths are not worse than plain TCP on the best path wherever that was measured.".into(),
            ),
        };
        let more = if cases.is_empty() { Vec::new() } else { counts.evidence(sweep, has_interval) };
        Some(Answer { missing, tone, headline, more })
    }

    /// The answer for a terminal, a sentence per line.
    pub fn text(&self) -> String {
        let lines = self.missing.iter().chain([&self.headline]).chain(&self.more);
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// Sentences about missing and failed runs.
fn missing(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    if results.runs < results.planned {
        let mut text = format!("{} of {} runs are finished", results.runs, results.planned);
        if !results.not_begun.is_empty() {
            text.push_str(&format!("; none of {}", results.not_begun.join(", ")));
        }
        sentences.push(text + ".");
    }
    let list = |of: &[(String, usize)]| of.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ");
    if !results.failed.is_empty() {
        sentences.push(format!("Failed runs, which count nowhere: {}.", list(&results.failed)));
    }
    if !results.stalled.is_empty() {
        sentences.push(format!("Stalled runs, which count with what they delivered: {}.", list(&results.stalled)));
    }
    sentences
}

/// The cases of a sweep, with words that count them.
struct Counts<'a> {
    cases: &'a [Case],
    /// Whether the plan has several schedulers.
    several: bool,
}

impl Counts<'_> {
    fn of(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|c| c.outcome() == outcome).count()
    }

    /// Words for `n` of the cases: `at 3 of 12 points`.
    fn at(&self, n: usize) -> String {
        match (self.several, self.cases.len()) {
            (false, 1) => "at the only point".into(),
            (false, all) => format!("at {n} of {all} points"),
            (true, all) => format!("in {n} of {all} pairs of scheduler and point"),
        }
    }

    fn evidence(&self, sweep: &Sweep, has_interval: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        let undecided = self.of(Outcome::Undecided);
        let percent = HEADERS * 100.0;
        if has_interval {
            sentences.push(format!(
                "Less goodput counts from {percent:.1} % on, which headers take; the 95 % interval of the difference decides: {} worse, {} not worse, {undecided} undecided.",
                self.of(Outcome::Worse),
                self.of(Outcome::NotWorse),
            ));
        }
        let lower: Vec<&Case> = self.cases.iter().filter(|c| c.mean_is_lower()).collect();
        let lowest = lower.iter().min_by(|a, b| a.part().total_cmp(&b.part()));
        match lowest {
            Some(case) => sentences.push(format!(
                "The mean goodput is lower by more than {percent:.1} % {}, lowest with {}: {} against {} Mbit/s ({:.0} % less).",
                self.at(lower.len()),
                place(sweep, case),
                short(case.tcp + case.difference.mean()),
                short(case.tcp),
                -100.0 * case.part()
            )),
            None if undecided > 0 => sentences.push(format!("No mean goodput is lower by more than {percent:.1} %.")),
            None => {}
        }
        if self.several && self.of(Outcome::Worse) > 0 {
            let count = |v: usize| self.cases.iter().filter(move |c| c.variant == v);
            let worse = |v: usize| count(v).filter(|c| c.outcome() == Outcome::Worse).count();
            let mut list: Vec<(usize, usize)> = multipath(sweep).map(|v| (worse(v), v)).collect();
            list.retain(|(worse, _)| *worse > 0);
            list.sort_by_key(|(worse, _)| core::cmp::Reverse(*worse));
            let words =
                list.iter().map(|(n, v)| format!("{} at {n} of {}", sweep.variants[*v].name, count(*v).count()));
            sentences.push(format!("Worse: {}.", words.collect::<Vec<_>>().join(", ")));
        }
        sentences
    }
}

/// A case in words: `minrtt at buffer 100, loss 0.01`.
fn place(sweep: &Sweep, case: &Case) -> String {
    let plan = &sweep.plan;
    let several = (plan.scenarios.len() > 1).then(|| sweep.scenario_name(case.scenario).to_owned());
    let values = plan.parameters.iter().zip(plan.shown(case.point, &|_| false));
    let values = values.filter(|(p, _)| p.values.len() > 1).map(|(p, value)| format!("{} {value}", p.label));
    let words: Vec<String> = several.into_iter().chain(values).collect();
    let at = if words.is_empty() { String::new() } else { format!(" at {}", words.join(", ")) };
    format!("{}{at}", sweep.variants[case.variant].name)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
