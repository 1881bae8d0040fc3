//! The answer in a few sentences: which scheduler is best, by how much, whether that is significant, and when several
//! paths are worse than one.
//!
//! The tables have every sentence with its condition, in the order in which the sentences are said. "Value" is the
//! value that ranks schedulers ([`Judged`](crate::Judged)): goodput, completion time, or the 99th percentile of the
//! messages' delay. A run has no value if it does not finish, or does not deliver what is offered. Differences are of
//! values seed by seed, over the seeds that both have. With two seeds or more they are significant at 95 % (Student's
//! t), or if they are the same with each of several seeds. Failed runs enter no number. "Clearly" means by more
//! than [`HEADERS`](crate::HEADERS), and significantly if there are several seeds.
//!
//! A scheduler is "whole" if it has a measurement with each seed for which any scheduler has one. Other schedulers are
//! never called the best. Schedulers are "equal" if they have the same value with the same seeds, or the same goodput
//! where they have no value; they are named together ("A and B are the best", "each takes"). "No scheduler" is "None of
//! the N that ran" if some never ran, "None of the N measured" if some failed in every run, and "no scheduler that ran"
//! or "no scheduler measured" if one is left. Sentences about the best begin with "With this seed" if there is one.
//!
//! Missing runs ([`notices`]):
//!
//! | sentence | said if |
//! |---|---|
//! | Stopped early: F of P runs are finished. | fewer runs are finished than were asked for |
//! | Never run: NAMES. | of these no run is finished |
//! | With F of P seeds only: NAMES. | of these some runs are finished, and not all |
//! | NAME failed in F of N runs: REASON. Its numbers are of the other M. | some of its finished runs failed, and not all; "and it is not called the best" if it is not whole |
//! | NAME failed in N of N runs: REASON. It is left out. | all of its finished runs failed |
//!
//! The answer ([`lead`], [`paths`]):
//!
//! | sentence | said if |
//! |---|---|
//! | No scheduler has a measurement. | schedulers were asked for, and none has a run that did not fail |
//! | Nothing arrived: ... | no run delivered a byte; "plain TCP did not either" if it was run, "on any path" if on each |
//! | Nothing arrived within the measured time: ... | the same, and some run delivered data before |
//! | ... The measured connections start after the run's end. | the same, and they do; else "The paths may be down, or lose everything." |
//! | No scheduler delivered a byte, although plain TCP did. | the goodput of all schedulers is 0; "within the measured time" if data arrived before |
//! | No run delivers what is offered, so goodput decides. | there are messages or pages, and no run has a value; not green |
//! | No transfer finished: N of N runs stalled, so goodput decides. | all runs that did not fail stalled, and there are no messages or pages; not green |
//! | NAMES do not deliver what is offered in every run. | the delay is judged, the best scheduler has a value, and runs of these have none |
//! | No scheduler is as good as plain TCP on PATH, which is a backup: that ... | plain TCP on a backup ranks before plain TCP on the other paths; it is clearly better than the best scheduler, and better than every other; not green |
//! | No scheduler reaches plain TCP on PATH: the best of the N, NAME, ... (goodput); No scheduler is as fast as plain TCP on PATH: ... | plain TCP on its best path is clearly better than the best scheduler, and better than every other |
//! | No scheduler finishes as often as plain TCP on PATH: ... | with every scheduler there are more seeds with which only plain TCP has a value than seeds with which only the scheduler has |
//! | No scheduler finishes. Of the N compared, NAME delivers most. | no scheduler's run has a value, though plain TCP's has; "NAMES deliver most, each" if their goodput reads the same, "Each delivers" if that of all does; "NAMES are not significantly behind" if the 95 % interval of the differences in goodput contains 0 |
//! | NAME is the best of the N schedulers compared: it ... | none of these, and there are several; each value is the mean of its runs |
//! | NAME is the best of the N schedulers with all measured seeds: it ... | the same, and N of the schedulers are whole; with one, "NAME is the only scheduler with all measured seeds" |
//! | The schedulers have different seeds, and none is called the best. NAME: it ... | the same, and no whole scheduler has a value; not green |
//! | NAMES are equally good: each ... | none of these, there are several, and all are equal |
//! | NAME ... | none of these, and there is one |
//! | with K of S seeds plain TCP on PATH does not finish, and it does | beside plain TCP: with K of the common seeds only the scheduler has a value; the reverse likewise |
//! | exactly as much as NAME with every seed / with this seed | all differences are 0 |
//! | not significantly more or less than NAME (D ± M) | the 95 % interval of the differences contains 0 |
//! | practically as much as NAME (D more, ...) | the mean difference is at most 1 %, and not as above |
//! | NAME on a Linux host | beside NAME in the first sentence: its runs have another host than those of the best scheduler |
//! | D (P %) more than NAME (...) | the mean difference is more than 1 %, and not as above; `significant`, `the same with every seed`, or `one seed: significance unknown` |
//! | none of those compared beats the scheduler of Linux | `linux` ranks first of all, plain TCP included, other schedulers were run, and all are whole |
//! | Its median delay is ..., and its longest time without a delivery ...; the longest of all schedulers is ..., with NAMES. | the delay is judged; "With NAME the median delay is ..." if others are equal to it; the last part if another scheduler's is at least twice as long |
//! | NAMES are within 1 % of it. | they are not equal to it, and their mean difference from the best one is at most 1 %; `linux` is left out where the first sentence has it, and those that are not whole |
//! | NAMES are not significantly worse. | the 95 % interval of the differences from the best one contains 0, the sentence above does not name them, and they are whole |
//! | It sent over PATH alone. | all its bytes went over this path, and not those of every scheduler; "almost" from 99.5 % on |
//! | Only PATH carried data: NAME is a backup, and plain TCP delivers nothing on NAME. | all bytes of every scheduler went over this path; each reason if there is such a path; "with every scheduler" if a path has none of the two reasons; "Hardly any data went over another path than PATH" from 99.5 % on |
//! | Two paths are worse than one with K of N schedulers, most of all with NAME: ... | "for example with NAME" if some of the K is not whole, or not told apart from NAME by the seeds and by the rounded value; without a name if the K are equal; K of the N schedulers that use several paths, and have two seeds or more in common with plain TCP on its best path, are clearly worse than it, or finish less often; "here with every scheduler" if that is so of all that were asked for |
//! | With this seed two paths are worse than one ... | the same by the means, if no scheduler has two seeds in common with plain TCP |
//! | The receive window was full for S of T s, ... | what takes more of the time of the scheduler named last than of plain TCP's: the largest such part, at least 15 % of the time, and of the goodput or the completion time at least the part that is missing ([`culprit`](crate::time_spent::culprit)); not if several equal schedulers are named |

mod lead;
mod notices;
mod paths;
mod words;

use crate::comparison::{Comparison, Standing};
use lead::{as_good, behind_backup, delays, lead};
pub(crate) use notices::reason;
use paths::{one_path, worse_than_one};
use std::fmt;
use words::{no_scheduler, nobody};

/// The answer of a comparison, with notices about missing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Notices about missing runs: never made, or failed. Empty if none is missing.
    pub missing: Vec<String>,
    /// The answer; empty if no scheduler was asked for.
    pub answer: Vec<String>,
    /// The tone of the answer.
    pub tone: Tone,
}

/// The tone of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The best scheduler is significantly better than plain TCP on the best path.
    Good,
    /// The runs do not show a winner, or both are level.
    Open,
    /// The best scheduler is significantly worse than plain TCP on the best path, or nothing works.
    Bad,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<&str> = self.missing.iter().chain(&self.answer).map(String::as_str).collect();
        f.write_str(&all.join(" "))
    }
}

/// The answer in plain words; `None` if there is nothing to say: no scheduler was asked for, and nothing is missing.
pub fn verdict(comparison: &Comparison) -> Option<Verdict> {
    let missing: Vec<String> = notices::stopped(comparison).into_iter().chain(notices::failed(comparison)).collect();
    let (answer, tone) = answer(comparison);
    let tone = if comparison.is_stopped() && tone == Tone::Good { Tone::Open } else { tone };
    (!missing.is_empty() || !answer.is_empty()).then_some(Verdict { missing, answer, tone })
}

fn answer(comparison: &Comparison) -> (Vec<String>, Tone) {
    let Some(best) = comparison.best_multipath() else {
        let asked = comparison.absent.iter().any(|absent| absent.plain_tcp.is_none());
        let text = asked.then(|| "No scheduler has a measurement.".to_owned());
        return (text.into_iter().collect(), Tone::Bad);
    };
    if comparison.nothing_arrived() {
        return (vec![nothing_arrived(comparison)], Tone::Bad);
    }
    let silent = comparison.multipath().all(|row| row.goodput_mbps.mean == 0.0);
    let mut sentences = Vec::new();
    let none_delivers = notices::none_delivers(comparison);
    let is_open = none_delivers.is_some() || comparison.backup_ahead.is_some() || best.lacking > 0;
    if silent {
        let within = if comparison.multipath().any(|row| row.received) { " within the measured time" } else { "" };
        let nobody = no_scheduler(comparison, false);
        sentences.push(format!("{nobody} delivered a byte{within}, although plain TCP did."));
    } else {
        sentences.extend(none_delivers);
        sentences.extend(notices::undelivered(comparison));
        sentences.extend(behind_backup(comparison).filter(|_| best.value.is_some()));
        sentences.push(lead(comparison, best));
        sentences.extend(delays(comparison, best));
        sentences.extend(as_good(comparison, best));
    }
    sentences.extend(one_path(comparison, best));
    sentences.extend(worse_than_one(comparison));
    let tone = match best.standing() {
        _ if silent => Tone::Bad,
        Some(Standing::Worse) => Tone::Bad,
        Some(Standing::Better) if !is_open => Tone::Good,
        Some(_) | None => Tone::Open,
    };
    (sentences, tone)
}

fn nothing_arrived(comparison: &Comparison) -> String {
    if comparison.summaries.iter().any(|row| row.received) {
        return "Nothing arrived within the measured time: all that arrived came before it (measure_from).".into();
    }
    let tcp = match comparison.summaries.iter().filter(|row| row.plain_tcp.is_some()).count() {
        0 => "",
        n if n < comparison.paths => ", and plain TCP did not either",
        _ => ", and plain TCP did not either on any path",
    };
    let reason = match comparison.summaries.iter().all(|row| row.starts_late) {
        true => "The measured connections start after the run's end (start, duration).",
        false => "The paths may be down, or lose everything.",
    };
    format!("Nothing arrived: {} delivered a byte{tcp}. {reason}", nobody(comparison))
}
