//! Facts about results, computed from the single runs without any code of the tested crate.

use super::random::{Case, PATHS};
use pathweave_lab::results::{RunResult, Status};
use std::collections::{BTreeMap, BTreeSet};

/// The 0.975 quantiles of Student's t for 1 to 3 degrees of freedom, from a printed table.
const STUDENT: [f64; 3] = [12.706, 4.303, 3.182];

/// A mapping (20 bytes) and a DATA_ACK (4 bytes more) of the payload of a segment with timestamps in 1500 bytes (RFC 8684 §3.3).
const HEADERS: f64 = (20.0 + 4.0) / (1500.0 - 40.0 - 12.0);

/// The ranking value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum By {
    Goodput,
    Completion,
    Delay,
}

/// Differences of two schedulers, seed by seed.
#[derive(Clone, Debug)]
pub(super) struct Differences {
    pub(super) all: Vec<f64>,
    /// Mean of the second scheduler over the same seeds.
    pub(super) base: f64,
}

impl Differences {
    pub(super) fn mean(&self) -> f64 {
        self.all.iter().sum::<f64>() / self.all.len() as f64
    }
    pub(super) fn margin(&self) -> f64 {
        let n = self.all.len() as f64;
        let squares: f64 = self.all.iter().map(|d| (d - self.mean()) * (d - self.mean())).sum();
        STUDENT[self.all.len() - 2] * (squares / (n - 1.0) / n).sqrt()
    }
    pub(super) fn are_zero(&self) -> bool {
        self.all.iter().all(|d| d.abs() < 1e-7)
    }
    /// Whether several seeds have the same difference.
    pub(super) fn are_the_same(&self) -> bool {
        self.all.len() > 1 && self.all.iter().all(|d| (d - self.all[0]).abs() < 1e-7)
    }
    /// Whether the difference is significant; `None` with one seed.
    pub(super) fn significant(&self) -> Option<bool> {
        match self.all.len() {
            1 => None,
            _ if self.are_the_same() => Some(!self.are_zero()),
            _ => Some(self.mean().abs() > self.margin()),
        }
    }
    pub(super) fn relative(&self) -> f64 {
        self.mean().abs() / self.base
    }
}

/// Two schedulers over the seeds that both have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    pub(super) seeds: usize,
    /// Number of seeds for which only the first has a value, and for which only the second has.
    pub(super) first: usize,
    pub(super) second: usize,
}

impl Case {
    pub(super) fn runs(&self, scheduler: &str) -> Vec<&RunResult> {
        self.results.iter().filter(|r| r.scheduler == scheduler).collect()
    }

    pub(super) fn measured(&self, scheduler: &str) -> Vec<&RunResult> {
        self.runs(scheduler).into_iter().filter(|r| r.status != Status::Failed).collect()
    }

    /// Whether two schedulers have the same packets with every seed and no failed run, so that they share a row.
    pub(super) fn is_twin(&self, a: &str, b: &str) -> bool {
        let digests = |s: &str| self.runs(s).iter().map(|r| (r.seed, r.digest.clone())).collect::<Vec<_>>();
        let whole = |s: &str| self.runs(s).len() == self.measured(s).len();
        digests(a) == digests(b) && whole(a) && whole(b)
    }

    /// The schedulers, this one among them, that have the same value with the same seeds, or the same goodput where none
    /// has a value.
    pub(super) fn equals(&self, scheduler: &str) -> Vec<&str> {
        let by_seed = |s: &str| {
            let runs = self.measured(s);
            let result = |r: &RunResult| match of(self.by(), r) {
                Some(value) => (true, value),
                None => (false, r.metrics.goodput_mbps),
            };
            let all: BTreeMap<u64, (bool, f64)> = runs.into_iter().map(|r| (r.seed, result(r))).collect();
            all
        };
        let own = by_seed(scheduler);
        let is_near = |a: &(bool, f64), b: &(bool, f64)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-7;
        let is_equal = |s: &&str| {
            let other = by_seed(s);
            own.keys().eq(other.keys()) && own.values().zip(other.values()).all(|(a, b)| is_near(a, b))
        };
        self.schedulers().into_iter().filter(is_equal).collect()
    }

    /// The difference of the mean goodput, if several seeds do not tell both apart.
    pub(super) fn goodput_is_close(&self, a: &str, b: &str) -> bool {
        let of_seed = |r: &RunResult| self.measured(b).into_iter().find(|o| o.seed == r.seed);
        let pair = |r: &&RunResult| Some(r.metrics.goodput_mbps - of_seed(r)?.metrics.goodput_mbps);
        let all: Vec<f64> = self.measured(a).iter().filter_map(pair).collect();
        all.len() > 1 && Differences { all, base: 1.0 }.significant() == Some(false)
    }

    /// The schedulers with a measurement that are not plain TCP.
    pub(super) fn schedulers(&self) -> Vec<&str> {
        let all = self.planned.schedulers.iter().map(String::as_str);
        all.filter(|s| !s.starts_with("tcp-") && !self.measured(s).is_empty()).collect()
    }

    pub(super) fn plain_tcp(&self) -> Vec<&str> {
        ["tcp-path0", "tcp-path1"].into_iter().filter(|s| !self.measured(s).is_empty()).collect()
    }

    pub(super) fn by(&self) -> By {
        let any = |by: By| self.results.iter().any(|r| r.status != Status::Failed && of(by, r).is_some());
        [By::Delay, By::Completion].into_iter().find(|by| any(*by)).unwrap_or(By::Goodput)
    }

    pub(super) fn values(&self, scheduler: &str) -> Vec<f64> {
        self.measured(scheduler).into_iter().filter_map(|r| of(self.by(), r)).collect()
    }

    pub(super) fn mean(&self, scheduler: &str) -> Option<f64> {
        let all = self.values(scheduler);
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    pub(super) fn goodput(&self, scheduler: &str) -> f64 {
        let all = self.measured(scheduler);
        all.iter().map(|r| r.metrics.goodput_mbps).sum::<f64>() / all.len() as f64
    }

    /// The seeds that have a measurement of any of these.
    fn seeds_of(&self, schedulers: &[&str]) -> BTreeSet<u64> {
        schedulers.iter().flat_map(|s| self.measured(s)).map(|r| r.seed).collect()
    }

    /// Whether the measurements of all are of one seed.
    pub(super) fn has_one_seed(&self) -> bool {
        self.seeds_of(&[self.schedulers(), self.plain_tcp()].concat()).len() == 1
    }

    /// How many seeds other schedulers have and this one does not.
    pub(super) fn lacking(&self, scheduler: &str) -> usize {
        match scheduler.starts_with("tcp-") {
            true => 0,
            false => self.seeds_of(&self.schedulers()).len() - self.measured(scheduler).len(),
        }
    }

    /// The schedulers that lack no seed.
    pub(super) fn whole(&self) -> Vec<&str> {
        self.schedulers().into_iter().filter(|s| self.lacking(s) == 0).collect()
    }

    /// Whether data arrived in a run, within the measured time or before it.
    pub(super) fn received(&self, scheduler: &str) -> bool {
        self.measured(scheduler).iter().flat_map(|r| &r.connections).any(|c| c.received_bytes > 0)
    }

    /// Fraction of the scheduler's runs without a value.
    pub(super) fn unfinished(&self, scheduler: &str) -> f64 {
        1.0 - self.values(scheduler).len() as f64 / self.measured(scheduler).len() as f64
    }

    /// Whether `a` is ranked clearly before `b`: finishes at all, has more of the seeds, finishes more often, or as often with a better mean.
    pub(super) fn is_better(&self, a: &str, b: &str) -> bool {
        let (x, y) = (self.mean(a).is_none(), self.mean(b).is_none());
        if x != y {
            return y;
        }
        let (x, y) = (self.lacking(a), self.lacking(b));
        if x != y {
            return x < y;
        }
        let (x, y) = (self.unfinished(a), self.unfinished(b));
        if (x - y).abs() > 1e-9 {
            return x < y;
        }
        match (self.mean(a), self.mean(b)) {
            (Some(x), Some(y)) if self.by() == By::Goodput => x > y + 1e-7,
            (Some(x), Some(y)) => x < y - 1e-7,
            _ => self.goodput(a) > self.goodput(b) + 1e-7,
        }
    }

    /// Plain TCP on the best path that is not a backup. With a tie, any of them may be named.
    pub(super) fn best_plain_tcp(&self) -> Vec<&str> {
        let backup = |s: &str| self.measured(s)[0].is_on_backup();
        let all = self.plain_tcp();
        let usable: Vec<&str> = all.iter().copied().filter(|s| !backup(s)).collect();
        let all = if usable.is_empty() { all } else { usable };
        all.iter().copied().filter(|a| !all.iter().any(|b| self.is_better(b, a))).collect()
    }

    pub(super) fn differences(&self, a: &str, b: &str) -> Option<Differences> {
        let other = |run: &RunResult| self.measured(b).into_iter().find(|r| r.seed == run.seed);
        let pair = |run: &&RunResult| Some((of(self.by(), run)?, of(self.by(), other(run)?)?));
        let pairs: Vec<(f64, f64)> = self.measured(a).iter().filter_map(pair).collect();
        (!pairs.is_empty()).then(|| Differences {
            all: pairs.iter().map(|(x, y)| x - y).collect(),
            base: pairs.iter().map(|(_, y)| y).sum::<f64>() / pairs.len() as f64,
        })
    }

    pub(super) fn alone(&self, a: &str, b: &str) -> Alone {
        let mut found = Alone { seeds: 0, first: 0, second: 0 };
        for run in self.measured(a) {
            let Some(other) = self.measured(b).into_iter().find(|r| r.seed == run.seed) else { continue };
            found.seeds += 1;
            match (of(self.by(), run), of(self.by(), other)) {
                (Some(_), None) => found.first += 1,
                (None, Some(_)) => found.second += 1,
                _ => {}
            }
        }
        found
    }

    /// Whether `a` is worse than `b` by the means: it finishes less often, or its mean is worse.
    pub(super) fn is_behind(&self, a: &str, b: &str) -> bool {
        let alone = self.alone(a, b);
        match alone.first.cmp(&alone.second) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                self.differences(a, b).is_some_and(|d| !d.are_zero() && (d.mean() < 0.0) == (self.by() == By::Goodput))
            }
        }
    }

    /// Whether `a` is behind `b` by more than headers take, and significantly where several seeds can tell; or finishes less often.
    pub(super) fn is_clearly_behind(&self, a: &str, b: &str) -> bool {
        let alone = self.alone(a, b);
        if alone.first != alone.second {
            return alone.first < alone.second;
        }
        // If only one of several seeds has a difference, nothing can be concluded.
        let tells = |d: &Differences| d.significant().unwrap_or(alone.seeds <= 1);
        let clear = |d: Differences| d.relative() > HEADERS && tells(&d);
        self.is_behind(a, b) && self.differences(a, b).is_some_and(clear)
    }

    /// The bytes on each path, and the path with at least 99.5 % of them.
    pub(super) fn sent(&self, scheduler: &str) -> ([u64; 2], Option<usize>) {
        let mut sent = [0, 0];
        for run in self.measured(scheduler) {
            (0..2).for_each(|p| sent[p] += run.metrics.per_path[p].sent_bytes);
        }
        let all = (sent[0] + sent[1]) as f64;
        (sent, (0..2).find(|p| all > 0.0 && sent[*p] as f64 >= 0.995 * all))
    }

    /// The scheduler of `plain TCP on wlan`, or the name itself.
    pub(super) fn named<'a>(&self, name: &'a str) -> &'a str {
        match name.strip_prefix("plain TCP on ") {
            Some(path) if path == PATHS[0] => "tcp-path0",
            Some(path) if path == PATHS[1] => "tcp-path1",
            Some(other) => panic!("no such path: {other}"),
            None => name,
        }
    }
}

/// The ranking value of a run. `None` if the run did not finish, or left more than 1 % of its messages undelivered.
fn of(by: By, run: &RunResult) -> Option<f64> {
    let (m, completed) = (&run.metrics, run.status == Status::Completed);
    match by {
        By::Goodput => Some(m.goodput_mbps),
        By::Completion => m.completion_s.filter(|_| completed),
        By::Delay => {
            let (delays, left) = (m.message_delay_ms?, m.undelivered_messages?);
            (completed && left * 100 <= left + delays.count).then_some(delays.p99)
        }
    }
}
