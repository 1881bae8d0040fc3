//! Compares the runs of a scheduler with the gates, and makes the table of all schedulers.

use crate::case::Kind;
use crate::watch::{Outcome, PROBE_INTERVAL};
use core::fmt::Write as _;
use pathweave_units::Duration;

/// Tolerance for timers, because runs are sampled and the engine's clock is rounded.
const SLACK: Duration = Duration::from_millis(10);
/// Default of `close_timeout`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of timeouts after which mainline Linux counts a subflow as dark (`stale_loss_cnt`).
const LINUX_STALE: f64 = 4.0;

/// The runs of one scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    scheduler: String,
    duplicates_by_design: bool,
    runs: Vec<(Kind, u64, Outcome)>,
}

/// The 99th percentile.
fn percentile_99(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 99).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

impl Summary {
    /// Summarises the runs of one scheduler, given with their kinds and seeds. `duplicates_by_design` says that the
    /// scheduler sends bytes twice on purpose.
    pub(crate) fn new(scheduler: &str, duplicates_by_design: bool, runs: Vec<(Kind, u64, Outcome)>) -> Self {
        Summary { scheduler: scheduler.into(), duplicates_by_design, runs }
    }

    fn of(&self, kind: Kind, value: impl Fn(&Outcome) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter(|(k, ..)| *k == kind).filter_map(|(.., o)| value(o)).collect()
    }

    /// The gates that do not hold, with the numbers and the runs' seeds.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        for kind in [Kind::One, Kind::Each, Kind::Sack] {
            if percentile_99(self.of(kind, |o| Some(o.stall.0))).is_some_and(|p| p > 1.0) {
                self.tell(&mut found, kind, "stalls longer than max(1 s, 3 RTO)", |o| {
                    (o.stall.0 > 1.0)
                        .then(|| format!("{:.2} s, {:.2} of the limit", o.stall.1.as_secs_f64(), o.stall.0))
                });
            }
        }
        let one = Kind::One;
        if !self.duplicates_by_design {
            self.tell(&mut found, one, "duplicates beyond one window", |o| {
                (o.duplicates > 1.0).then(|| format!("{:.2} windows", o.duplicates))
            });
        }
        for kind in Kind::ALL {
            self.tell(&mut found, kind, "ended wrong", |o| o.broken.clone());
        }
        for kind in [Kind::One, Kind::Each] {
            self.tell(&mut found, kind, "not offered within 2 round trips and a delayed acknowledgement", |o| {
                o.offered.filter(|(_, share)| *share > 1.0).map(|(n, _)| format!("{n:.1} round trips"))
            });
        }
        for kind in [Kind::One, Kind::Each, Kind::All] {
            self.tell(&mut found, kind, "not probed every second", |o| {
                o.probe.filter(|p| *p > PROBE_INTERVAL + SLACK).map(|p| p.to_string())
            });
        }
        self.tell(&mut found, Kind::All, "error after close_timeout", |o| {
            o.error.filter(|e| *e > CLOSE_TIMEOUT + SLACK).map(|e| e.to_string())
        });
        self.tell(&mut found, Kind::Linux, "dark sooner than with the kernel", |o| {
            o.stale_after.filter(|n| *n < LINUX_STALE).map(|n| format!("{n:.1} timeouts"))
        });
        found
    }

    fn tell(&self, found: &mut Vec<String>, kind: Kind, what: &str, wrong: impl Fn(&Outcome) -> Option<String>) {
        let of_kind = self.runs.iter().filter(|(k, ..)| *k == kind);
        let list: Vec<String> = of_kind.filter_map(|(_, s, o)| Some(format!("seed {s}: {}", wrong(o)?))).collect();
        if !list.is_empty() {
            found.push(format!("{}, {kind:?}: {what}: {}", self.scheduler, list.join("; ")));
        }
    }
}

/// A line for each scheduler.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let mut out = format!(
        "{:20}{:^30}{:^30}{:>11}{:>7}{:^16}{:>8}{:>7}{:^15}{:^16}{:^16}\n",
        "",
        "stall, one outage",
        "stall, an outage of each",
        "duplicates",
        "wrong",
        "back in use",
        "probes",
        "dead",
        "linux",
        "sack, one",
        "newreno, one",
    );
    let _ = write!(out, "{:20}", "scheduler");
    for _ in 0..2 {
        let _ = write!(out, "{:>7}{:>7}{:>8}{:>8}", "99%", "worst", "99% /", "worst /");
    }
    let _ = writeln!(
        out,
        "{:>11}{:>7}{:>8}{:>8}{:>8}{:>7}{:>7}{:>8}{:>8}{:>8}{:>8}{:>8}",
        "of window", "runs", "free", "data", "apart", "after", "dark", "stall", "99% /", "worst /", "99% /", "worst /",
    );
    for s in summaries {
        let _ = write!(out, "{:20}", s.scheduler);
        for kind in [Kind::One, Kind::Each] {
            let (seconds, ratios) = (s.of(kind, |o| Some(o.stall.1.as_secs_f64())), s.of(kind, |o| Some(o.stall.0)));
            for (value, width) in [
                (percentile_99(seconds.clone()), 7),
                (largest(&seconds), 7),
                (percentile_99(ratios.clone()), 8),
                (largest(&ratios), 8),
            ] {
                let _ = write!(out, "{:>width$}", shown(value, 2));
            }
        }
        let both = |value: fn(&Outcome) -> Option<f64>| [s.of(Kind::One, value), s.of(Kind::Each, value)].concat();
        let duplicates = largest(&s.of(Kind::One, |o| Some(o.duplicates)));
        let mark = if s.duplicates_by_design { "*" } else { "" };
        let wrong = s.runs.iter().filter(|(.., o)| o.broken.is_some()).count();
        let ratios = |kind| s.of(kind, |o| Some(o.stall.0));
        let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
        let _ = writeln!(
            out,
            "{:>11}{wrong:>7}{:>8}{:>8}{:>8}{:>7}{:>7}{:>8}{:>8}{:>8}{:>8}{:>8}",
            format!("{}{mark}", shown(duplicates, 2)),
            shown(largest(&both(|o| o.offered.map(|(n, _)| n))), 2),
            shown(percentile_99(both(|o| o.reuse)), 2),
            shown(largest(&both(|o| Some(o.probe?.as_secs_f64()))), 2),
            shown(largest(&s.of(Kind::All, |o| Some(o.error?.as_secs_f64()))), 1),
            shown(least(s.of(Kind::Linux, |o| o.stale_after)), 1),
            shown(percentile_99(s.of(Kind::Linux, |o| Some(o.stall.1.as_secs_f64()))), 1),
            shown(percentile_99(ratios(Kind::Sack)), 2),
            shown(largest(&ratios(Kind::Sack)), 2),
            shown(percentile_99(ratios(Kind::NewReno)), 2),
            shown(largest(&ratios(Kind::NewReno)), 2),
        );
    }
    out
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.digits$}"))
}
