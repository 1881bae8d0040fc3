//! A scheduler at a point of a sweep, beside the best plain TCP there.

use crate::results::Results;
use crate::runs::Sweep;
use core::cmp::Ordering;
use pathweave_report::{Difference, Judged, least_gain};

/// How a case ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Worse,
    NotWorse,
    Undecided,
    /// No byte arrived.
    Nothing,
}

/// A scheduler at a point, beside the best plain TCP there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) scenario: usize,
    pub(crate) point: usize,
    pub(crate) variant: usize,
    /// The value that ranks both.
    pub(crate) judged: Judged,
    /// The mean of plain TCP's values over the seeds with which both have one; 0 without such a seed.
    pub(crate) tcp: f64,
    /// How much better the scheduler is, seed by seed; `None` if there is no seed with which both have a value.
    gain: Option<Difference>,
    /// A gain below this is a loss that counts.
    least_gain: f64,
    /// How many seeds both have.
    seeds: usize,
    /// With how many of them only plain TCP finishes, or delivers what is offered; with how many only the scheduler does.
    lost: usize,
    won: usize,
}

impl Case {
    /// `None` if no seed has a run of both that did not fail.
    pub(crate) fn of(sweep: &Sweep, results: &Results, place: (usize, usize, usize)) -> Option<Self> {
        let (scenario, point, variant) = place;
        let judged = results.judged(scenario, point);
        let best = results.best_plain_tcp(sweep, scenario, point)?;
        let reference = results.ranked_by_seed((scenario, point, best));
        let with_seed = |seed: u64| reference.iter().find(|(s, _)| *s == seed).map(|(_, x)| *x);
        let both: Vec<(Option<f64>, Option<f64>)> =
            results.ranked_by_seed(place).into_iter().filter_map(|(seed, own)| Some((own, with_seed(seed)?))).collect();
        if both.is_empty() {
            return None;
        }
        let pairs: Vec<(f64, f64)> = both.iter().filter_map(|(own, tcp)| own.zip(*tcp)).collect();
        let turned = |&(own, tcp): &(f64, f64)| if judged.less_is_better() { (tcp, own) } else { (own, tcp) };
        Some(Case {
            scenario,
            point,
            variant,
            judged,
            tcp: pairs.iter().map(|(_, tcp)| tcp).sum::<f64>() / pairs.len().max(1) as f64,
            gain: Difference::of(&pairs.iter().map(turned).collect::<Vec<_>>()),
            least_gain: least_gain(&pairs.iter().map(|(_, tcp)| *tcp).collect::<Vec<_>>(), judged),
            seeds: both.len(),
            lost: both.iter().filter(|(own, tcp)| own.is_none() && tcp.is_some()).count(),
            won: both.iter().filter(|(own, tcp)| own.is_some() && tcp.is_none()).count(),
        })
    }

    /// Whether there are several seeds, so that something can be told.
    pub(crate) fn has_seeds(&self) -> bool {
        self.seeds > 1
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let is_empty = self.judged == Judged::Goodput && self.tcp == 0.0;
        match (self.lost.cmp(&self.won), self.gain.and_then(|gain| gain.bounds())) {
            _ if is_empty && self.own() == 0.0 => Outcome::Nothing,
            _ if !self.has_seeds() => Outcome::Undecided,
            (Ordering::Greater, _) => Outcome::Worse,
            (Ordering::Less, _) => Outcome::NotWorse,
            (Ordering::Equal, Some((_, high))) if high < self.least_gain => Outcome::Worse,
            (Ordering::Equal, Some((low, _))) if low >= self.least_gain => Outcome::NotWorse,
            _ => Outcome::Undecided,
        }
    }

    /// Whether plain TCP finishes, or delivers what is offered, with more seeds.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost > self.won
    }

    /// Whether the mean is worse by a loss that counts.
    pub(crate) fn mean_is_lower(&self) -> bool {
        self.gain.is_some_and(|gain| gain.mean() < self.least_gain)
    }

    /// Whether a map marks it: it is worse, or there is one seed and its values are.
    pub(crate) fn is_marked(&self) -> bool {
        self.outcome() == Outcome::Worse || (!self.has_seeds() && (self.is_lost() || self.mean_is_lower()))
    }

    /// The mean of the scheduler's values.
    pub(crate) fn own(&self) -> f64 {
        let gain = self.gain.map_or(0.0, |gain| gain.mean());
        if self.judged.less_is_better() { self.tcp - gain } else { self.tcp + gain }
    }

    /// The mean gain as a part of plain TCP's value.
    pub(crate) fn part(&self) -> f64 {
        self.gain.map_or(0.0, |gain| gain.mean()) / self.tcp.max(f64::MIN_POSITIVE)
    }
}
