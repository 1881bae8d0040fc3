//! The answer to whether several paths are worse than one anywhere in a sweep, in sentences for the terminal and the
//! page.
//!
//! A case is a scheduler at a point of a scenario. The value that ranks schedulers there ([`Judged`]) is compared, seed by
//! seed, with plain TCP on the best path at that point. A loss counts if it exceeds [`HEADERS`], the fraction of a frame
//! that Multipath TCP's options take. The 95 % interval of the difference decides the case: *worse* if all of the
//! interval is a loss that counts, *not worse* if none of it is, else *undecided*. If the scheduler or plain TCP
//! finishes, or delivers what is offered, with more seeds, that decides. With a single seed the case is undecided. If
//! no byte arrived with either, the case says *nothing*. Failed runs have no value and enter no case. A backup is the best
//! path only if all paths are backups, as in a comparison.
//!
//! | sentence | said if | banner |
//! |---|---|---|
//! | "N of M runs are finished" | runs are missing | red, of its own |
//! | "Failed runs", "Stalled runs" | there are such runs, other than plain TCP that stalls without a byte delivered | red, of its own |
//! | "Nothing can be compared" | there is no case, though the plan has schedulers and plain TCP, or nothing arrived in any | plain |
//! | "worse ... at W of N points" | W > 0 cases are worse | red |
//! | "nowhere worse" | no run is missing or failed, no scheduler's run stalled, and every case is not worse | green |
//! | "not worse ... wherever that was measured" | as before, but such runs are missing, failed or stalled, or nothing arrived in some case | plain |
//! | "One seed cannot tell" | no case has two seeds | plain |
//! | "undecided ... at U of N points" | no case is worse, and U > 0 are undecided | plain |
//! | "The mean goodput is lower ... lowest" | some mean is lower by a loss that counts; a case with the largest loss is named, and how many others have the same | |
//! | "The mean completion time is longer", "The mean delay ... is longer" | the same, if that ranks some case | |
//! | "No mean ..." | no mean of that kind is, and some case is undecided | |
//! | "Plain TCP finishes ... with more seeds" | so it does in some case that completion time or delay ranks | |
//! | "NAME is a backup" | plain TCP was run on a backup too | |
//! | "Nothing arrived at N of M points" | no byte arrived there, with the scheduler or with plain TCP | |

use crate::case::{Case, Outcome};
use crate::plan::What;
use crate::results::Results;
use crate::runs::Sweep;
use pathweave_report::{HEADERS, Judged, short};

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
        let planned = sweep.cells.iter().filter(|c| matches!(sweep.variants[c.variant].run, What::Scheduler(_)));
        let places = planned.map(|c| (c.scenario, c.point, c.variant));
        let cases: Vec<Case> = places.filter_map(|place| Case::of(sweep, results, place)).collect();
        let missing = missing(results, &cases);
        let counts = Counts { cases: &cases, several: multipath(sweep).count() > 1 };
        let (worse, undecided) = (counts.of(Outcome::Worse), counts.of(Outcome::Undecided));
        let nothing = counts.of(Outcome::Nothing);
        let has_seeds = cases.iter().any(Case::has_seeds);
        let (tone, headline) = match () {
            () if cases.is_empty() => {
                (Tone::Open, "Nothing can be compared: no scheduler has a run beside one of plain TCP.".into())
            }
            () if nothing == cases.len() => {
                (Tone::Open, "Nothing can be compared: no data arrived, with several paths or with plain TCP.".into())
            }
            () if worse > 0 => {
                (Tone::Bad, format!("Several paths are worse than plain TCP on the best path {}.", counts.at(worse)))
            }
            () if !has_seeds => (
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
            () if is_whole(sweep, results) && nothing == 0 => {
                (Tone::Good, "Several paths are nowhere worse than plain TCP on the best path.".into())
            }
            () => (
                Tone::Open,
                "Several paths are not worse than plain TCP on the best path wherever that was measured.".into(),
            ),
        };
        let mut more = if cases.is_empty() { Vec::new() } else { counts.evidence(sweep, has_seeds) };
        more.extend(backups(sweep).filter(|_| !cases.is_empty()));
        Some(Answer { missing, tone, headline, more })
    }

    /// The answer for a terminal, a sentence per line.
    pub fn text(&self) -> String {
        let lines = self.missing.iter().chain([&self.headline]).chain(&self.more);
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// Whether all runs are made, none failed, and no scheduler's run stalled.
fn is_whole(sweep: &Sweep, results: &Results) -> bool {
    let stalled = |v: usize| results.stalled.iter().any(|(name, _)| *name == sweep.variants[v].name);
    results.runs == results.planned && results.failed.is_empty() && !multipath(sweep).any(stalled)
}

/// The backups on which plain TCP was run, which is not compared.
fn backups(sweep: &Sweep) -> Option<String> {
    let names: Vec<&str> = sweep.backups().into_iter().collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{one} is a backup, and is the best path only where all are backups.")),
        all => Some(format!("{} are backups, and are the best path only where all are backups.", all.join(", "))),
    }
}

/// Sentences about missing and failed runs.
fn missing(results: &Results, cases: &[Case]) -> Vec<String> {
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
        let by_goodput = |c: &Case| c.judged == Judged::Goodput;
        let how = match (cases.iter().all(by_goodput), cases.iter().any(by_goodput)) {
            (true, _) => "with what they delivered",
            (false, true) => "with what they delivered if goodput decides, else as not finished",
            (false, false) => "as not finished",
        };
        sentences.push(format!("Stalled runs, which count {how}: {}.", list(&results.stalled)));
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

    /// A sentence that names the points with lower means, or says that there are none although some case is undecided.
    fn worst_mean(&self, sweep: &Sweep, measure: Judged) -> Option<String> {
        let Words { mean, worst, sign, .. } = Words::of(measure);
        let percent = HEADERS * 100.0;
        let lower: Vec<&Case> = self.cases.iter().filter(|c| c.judged == measure && c.mean_is_lower()).collect();
        let Some(case) = lower.iter().min_by(|a, b| a.part().total_cmp(&b.part())) else {
            let undecided = self.of(Outcome::Undecided) > 0;
            return undecided.then(|| format!("No {mean} by more than {percent:.2} %."));
        };
        let as_much = lower.iter().filter(|other| other.part() - case.part() < 1e-9).count() - 1;
        let same = if as_much > 0 { format!("; the same in {as_much} more") } else { String::new() };
        Some(format!(
            "The {mean} by more than {percent:.2} % {}, {worst} with {}: {} against {} {} ({:.0} % {sign}{same}).",
            self.at(lower.len()),
            place(sweep, case),
            short(case.own()),
            short(case.tcp),
            measure.unit(),
            -100.0 * case.part()
        ))
    }

    fn evidence(&self, sweep: &Sweep, has_seeds: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        let percent = HEADERS * 100.0;
        let measures = [Judged::Goodput, Judged::Completion, Judged::Delay];
        let measures = measures.into_iter().filter(|m| self.cases.iter().any(|c| c.judged == *m));
        if has_seeds {
            let names: Vec<&str> = measures.clone().map(|m| Words::of(m).name).collect();
            sentences.push(format!(
                "A difference in {} counts if it is more than {percent:.2} %, which headers take; the 95 % interval of the difference decides: {} worse, {} not worse, {} undecided.",
                names.join(" or "),
                self.of(Outcome::Worse),
                self.of(Outcome::NotWorse),
                self.of(Outcome::Undecided),
            ));
        }
        sentences.extend(measures.filter_map(|measure| self.worst_mean(sweep, measure)));
        let lost = || self.cases.iter().filter(|c| c.is_lost());
        if let Some(first) = lost().next() {
            sentences.push(format!(
                "Plain TCP finishes, or delivers what is offered, with more seeds {}, one of them {}.",
                self.at(lost().count()),
                place(sweep, first)
            ));
        }
        if self.of(Outcome::Nothing) > 0 {
            let place = self.at(self.of(Outcome::Nothing));
            sentences.push(format!("Nothing arrived {place}, with several paths or with plain TCP."));
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

/// Words for a measure and its difference to plain TCP.
struct Words {
    name: &'static str,
    mean: &'static str,
    worst: &'static str,
    sign: &'static str,
}

impl Words {
    fn of(measure: Judged) -> Self {
        match measure {
            Judged::Goodput => Words { name: "goodput", mean: "mean goodput is lower", worst: "lowest", sign: "less" },
            Judged::Completion => Words {
                name: "completion time",
                mean: "mean completion time is longer",
                worst: "longest",
                sign: "more",
            },
            Judged::Delay => {
                Words { name: "delay", mean: "mean delay (99th percentile) is longer", worst: "longest", sign: "more" }
            }
        }
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
