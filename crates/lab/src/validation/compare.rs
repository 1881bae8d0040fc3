//! Compares Linux's runs of a scenario with ours.

use super::reference::{Mode, Reference};
use super::run::OurRun;
use crate::scenario::Direction;
use serde_json::{Value, json};

/// Median and quartiles (with linear interpolation between ranks).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quartiles {
    /// First quartile.
    pub first: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub third: f64,
}

impl Quartiles {
    /// Summarises `values`; all zero if it is empty.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| -> f64 {
            let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
            let rank = share * last as f64;
            let (low, high) = (sorted[rank as usize], sorted[(rank as usize + 1).min(last)]);
            low + (high - low) * (rank - (rank as usize) as f64)
        };
        Quartiles { first: at(0.25), median: at(0.5), third: at(0.75) }
    }
    /// Third quartile minus first quartile.
    pub fn range(&self) -> f64 {
        self.third - self.first
    }
}

/// The smallest and the largest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)))
}

/// The class of a scenario. Each class has limits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Whether the server sends.
    pub download: bool,
    /// Whether the rate of a path in use changes.
    pub steps: bool,
    /// Whether the scenarios of the class have MPTCP and not plain TCP.
    pub mptcp: bool,
    /// Number of paths in use.
    pub paths: usize,
    /// Whether a path in use has random loss.
    pub random_loss: bool,
    /// Whether a run sends a fixed amount of data, instead of sending for a fixed time.
    pub sized: bool,
}

impl Class {
    /// Whether more than two paths are in use, or a rate changes.
    pub fn is_beyond_two_steady_paths(&self) -> bool {
        self.paths > 2 || self.steps
    }
}

impl core::fmt::Display for Class {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let word = |yes: bool, one: &'static str, other: &'static str| if yes { one } else { other };
        write!(
            f,
            "{}{}{}, {}{}, {}",
            word(self.mptcp, "MPTCP", "TCP"),
            word(self.download, ", download", ""),
            if self.paths > 2 { format!(", {} paths", self.paths) } else { String::new() },
            word(self.steps, "rates change, ", ""),
            word(self.random_loss, "random loss", "no loss"),
            word(self.sized, "sized", "timed")
        )
    }
}

/// A scenario with Linux's results and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The scenario with Linux's runs.
    pub reference: Reference,
    /// The scenario's class.
    pub class: Class,
    /// Linux's completion time in seconds if the scenario is a sized transfer, otherwise its goodput in 10⁶ bit/s.
    pub linux: Quartiles,
    /// Our results, in the same unit.
    pub ours: Quartiles,
    /// Bytes of whole frames at the receiver in the measured time, by path: the median of Linux's runs.
    pub linux_frames: Vec<f64>,
    /// The same for our runs.
    pub our_frames: Vec<f64>,
    /// Our runs, by seed.
    pub runs: Vec<OurRun>,
}

impl Comparison {
    /// Compares our runs with Linux's.
    pub fn new(reference: &Reference, mut runs: Vec<OurRun>) -> Self {
        runs.sort_by_key(|r| r.seed);
        let paths = 0..reference.setup.paths.len();
        let frames =
            |of: &dyn Fn(usize) -> Vec<f64>| paths.clone().map(|path| Quartiles::of(of(path)).median).collect();
        Comparison {
            class: Class {
                download: reference.setup.direction == Direction::Download,
                steps: reference.setup.has_steps(),
                mptcp: reference.setup.mode == Mode::Mptcp,
                paths: reference.setup.used_paths().len(),
                random_loss: reference.setup.has_random_loss(),
                sized: reference.setup.is_sized(),
            },
            linux: Quartiles::of(reference.runs.iter().map(|r| r.value)),
            ours: Quartiles::of(runs.iter().map(|r| r.value)),
            linux_frames: frames(&|path| reference.runs.iter().map(|r| r.frame_bytes[path]).collect()),
            our_frames: frames(&|path| runs.iter().map(|r| r.frame_bytes[path]).collect()),
            reference: reference.clone(),
            runs,
        }
    }

    /// Relative difference of our median to Linux's.
    pub fn difference(&self) -> f64 {
        (self.ours.median - self.linux.median) / self.linux.median
    }

    /// The difference between the largest and the smallest of Linux's runs, as a share of their median.
    pub fn linux_spread(&self) -> f64 {
        let (least, most) = range(self.reference.runs.iter().map(|r| r.value));
        (most - least) / self.linux.median
    }

    /// Whether Linux's own runs differ by more than 20 % although no loss is random. Medians of a few such runs say
    /// little. So with three or four paths, or changing rates, the ranges of both sides' runs are compared instead.
    pub fn is_scattered(&self) -> bool {
        !self.class.random_loss && self.linux_spread() > 0.20
    }

    /// Smallest and largest value of Linux's runs, and of ours.
    pub fn ranges(&self) -> [(f64, f64); 2] {
        [range(self.reference.runs.iter().map(|r| r.value)), range(self.runs.iter().map(|r| r.value))]
    }

    /// Whether the ranges of Linux's runs and ours have a value in common.
    pub fn ranges_overlap(&self) -> bool {
        let [(linux_least, linux_most), (least, most)] = self.ranges();
        least <= linux_most && linux_least <= most
    }

    /// Whether the medians differ by at most 5 %, or by at most the spread of Linux's middle half.
    pub fn is_within_spread(&self) -> bool {
        let apart = (self.ours.median - self.linux.median).abs();
        apart <= (0.05 * self.linux.median).max(self.linux.range())
    }

    /// Goodput for a value; sized runs have completion times as values.
    pub(crate) fn goodput(&self, value: f64) -> f64 {
        if self.class.sized { 1.0 / value } else { value }
    }

    /// Number of our runs that did not complete.
    pub fn incomplete(&self) -> usize {
        self.runs.iter().filter(|r| r.problem.is_some()).count()
    }

    /// One line of results: medians and Linux's interquartile range, in seconds for a fixed amount of data, otherwise
    /// in Mbit/s.
    pub fn json(&self) -> Value {
        json!({
            "id": self.reference.id,
            "unit": if self.class.sized { "s" } else { "Mbit/s" },
            "linux_median": self.linux.median,
            "ours_median": self.ours.median,
            "difference": self.difference(),
            "linux_iqr": self.linux.range(),
        })
    }
}
