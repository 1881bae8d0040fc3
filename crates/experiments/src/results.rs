//! The values of a sweep's runs, by scenario, point, variant and seed.

use crate::plan::What;
use crate::record::Record;
use crate::runs::Sweep;
use pathweave_lab::benefit::{aggregation_benefit, is_backup, without_backups};
use pathweave_lab::results::Status;
use pathweave_report::{Estimate, Judged, RunEnd};
use std::collections::BTreeMap;

/// One cell's runs, by seed.
type Seeds = BTreeMap<u64, Measured>;

/// The measurements of a run.
#[derive(Clone, Debug)]
struct Measured {
    status: Status,
    metrics: BTreeMap<String, f64>,
}

impl Measured {
    fn end(&self) -> RunEnd {
        let metric = |name: &str| self.metrics.get(name).copied();
        RunEnd {
            status: self.status,
            goodput_mbps: metric("goodput_mbps").unwrap_or(0.0),
            completion_s: metric("completion_s"),
            delay_p99_ms: metric("message_delay_p99_ms"),
            undelivered_part: metric("undelivered_part"),
        }
    }
}

/// The measured values of a sweep's runs. Failed runs have no values.
#[derive(Clone, Debug)]
pub struct Results {
    /// The cells by scenario, point and variant.
    cells: BTreeMap<(usize, usize, usize), Seeds>,
    /// Sentences about the runs that did not complete.
    pub problems: Vec<String>,
    /// Number of failures among the runs that did not complete. Plain TCP that stalls is a result and does not count.
    pub failures: usize,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that the sweep has when complete.
    pub planned: usize,
    /// The variants that have planned runs, but no run yet.
    pub not_begun: Vec<String>,
    /// The variants with failed runs, and the number of these runs.
    pub failed: Vec<(String, usize)>,
    /// The variants with stalled runs, and the number of these runs. Plain TCP with which no byte arrived is not
    /// listed, because its path was dead.
    pub stalled: Vec<(String, usize)>,
}

impl Results {
    /// Reads the records, which may be in any order.
    pub fn new(sweep: &Sweep, records: &[Record]) -> Self {
        let mut sorted: Vec<&Record> = records.iter().collect();
        sorted.sort_by_key(|r| r.run);
        let of = |r: &&Record| sweep.run(r.run).0.variant;
        let is_plain_tcp = |v: usize| matches!(sweep.variants[v].run, What::PlainTcp(_));
        let counted = |counts: &dyn Fn(&Record) -> bool| {
            let with = |v: usize| sorted.iter().filter(|r| of(r) == v && counts(r)).count();
            let named = (0..sweep.variants.len()).map(|v| (sweep.variants[v].name.clone(), with(v)));
            named.filter(|(_, n)| *n > 0).collect()
        };
        let is_dead = |r: &Record| r.metrics.get("goodput_mbps").is_none_or(|goodput| *goodput == 0.0);
        let planned = |v: &usize| sweep.cells.iter().any(|c| c.variant == *v);
        let has_run = |v: &usize| sorted.iter().any(|r| of(r) == *v);
        let not_begun = (0..sweep.variants.len()).filter(|v| planned(v) && !has_run(v));
        let mut results = Results {
            cells: BTreeMap::new(),
            problems: Vec::new(),
            failures: 0,
            runs: records.len(),
            planned: sweep.len(),
            not_begun: not_begun.map(|v| sweep.variants[v].name.clone()).collect(),
            failed: counted(&|r| r.status == Status::Failed),
            stalled: counted(&|r| r.status == Status::Stalled && !(is_plain_tcp(of(&r)) && is_dead(r))),
        };
        for record in sorted.iter().copied() {
            let (cell, seed) = sweep.run(record.run);
            if record.status != Status::Completed {
                results.failures += usize::from(record.status == Status::Failed || !is_plain_tcp(cell.variant));
                let how = record.status.word();
                let names = sweep.plan.parameters.iter().map(|p| p.name.as_str());
                let values = names.zip(sweep.plan.shown(cell.point, &|_| false));
                let point: String = values.map(|(name, value)| format!(", {name} {value}")).collect();
                let reason = record.reason.as_deref().unwrap_or("no reason given");
                let (scenario, variant) = (sweep.scenario_name(cell.scenario), &record.variant);
                results.problems.push(format!("{scenario}{point}, {variant}, seed {seed}: {how}: {reason}"));
            }
            if record.status != Status::Failed {
                let key = (cell.scenario, cell.point, cell.variant);
                let measured = Measured { status: record.status, metrics: record.metrics.clone() };
                results.cells.entry(key).or_default().insert(seed, measured);
            }
        }
        results.fill_benefits(sweep);
        results
    }

    /// Computes the aggregation benefit of each run from plain TCP on every path, with the same scenario, point and
    /// seed.
    fn fill_benefits(&mut self, sweep: &Sweep) {
        let baselines: BTreeMap<usize, usize> = sweep
            .variants
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(i, v)| match v.run {
                What::PlainTcp(path) => Some((path, i)),
                What::Scheduler(_) => None,
            })
            .collect();
        for cell in &sweep.cells {
            let used: Vec<usize> =
                (0..cell.data.paths.len()).filter(|path| !is_backup(&cell.data, &cell.run, *path)).collect();
            for seed in 1..=sweep.plan.seeds {
                let single =
                    |path: &usize| self.value(cell.scenario, cell.point, *baselines.get(path)?, "goodput_mbps", seed);
                let Some(singles) = used.iter().map(single).collect::<Option<Vec<f64>>>() else { continue };
                let key = (cell.scenario, cell.point, cell.variant);
                let Some(run) = self.cells.get_mut(&key).and_then(|seeds| seeds.get_mut(&seed)) else { continue };
                let metrics = &mut run.metrics;
                let goodput = metrics.get("goodput_mbps").copied().unwrap_or(0.0);
                if let Some(benefit) = aggregation_benefit(goodput, &singles) {
                    metrics.insert("aggregation_benefit".to_owned(), benefit);
                }
            }
        }
    }

    /// Sentences about runs whose goodput exceeds the bound by more than `tolerance`, a fraction of the bound. There
    /// should be none.
    pub fn over_bound(&self, sweep: &Sweep, tolerance: f64) -> Vec<String> {
        let mut over = Vec::new();
        for ((scenario, point, variant), seeds) in &self.cells {
            for (seed, Measured { metrics, .. }) in seeds {
                let (Some(goodput), Some(bound)) = (metrics.get("goodput_mbps"), metrics.get("bound_mbps")) else {
                    continue;
                };
                let share = goodput / bound.max(f64::MIN_POSITIVE);
                if share <= 1.0 + tolerance {
                    continue;
                }
                let names =
                    sweep.plan.parameters.iter().map(|p| p.name.as_str()).zip(sweep.plan.shown(*point, &|_| false));
                let point: String = names.map(|(name, value)| format!(", {name} {value}")).collect();
                let (scenario, variant) = (sweep.scenario_name(*scenario), &sweep.variants[*variant].name);
                over.push(format!("{scenario}{point}, {variant}, seed {seed}: {share:.4} of the bound"));
            }
        }
        over
    }

    fn value(&self, scenario: usize, point: usize, variant: usize, metric: &str, seed: u64) -> Option<f64> {
        self.cells.get(&(scenario, point, variant))?.get(&seed)?.metrics.get(metric).copied()
    }

    /// A metric's values by seed; empty if there are none.
    pub fn by_seed(&self, scenario: usize, point: usize, variant: usize, metric: &str) -> Vec<(u64, f64)> {
        let seeds = self.cells.get(&(scenario, point, variant)).into_iter().flatten();
        seeds.filter_map(|(seed, run)| Some((*seed, *run.metrics.get(metric)?))).collect()
    }

    /// The value that ranks the variants at a point, as in a comparison of the point's runs.
    pub fn judged(&self, scenario: usize, point: usize) -> Judged {
        let here = self.cells.range((scenario, point, 0)..(scenario, point + 1, 0));
        Judged::of_ends(here.flat_map(|(_, seeds)| seeds.values().map(Measured::end)))
    }

    /// The ranking values of a variant's runs, by seed. A run without a value did not finish, or did not deliver the
    /// offered data.
    pub fn ranked_by_seed(&self, (scenario, point, variant): (usize, usize, usize)) -> Vec<(u64, Option<f64>)> {
        let judged = self.judged(scenario, point);
        let seeds = self.cells.get(&(scenario, point, variant)).into_iter().flatten();
        seeds.map(|(seed, run)| (*seed, judged.value_of(run.end()))).collect()
    }

    /// Plain TCP on its best path at a point. A backup counts only if all measured paths are backups.
    pub(crate) fn best_plain_tcp(&self, sweep: &Sweep, scenario: usize, point: usize) -> Option<usize> {
        let is_measured = |v: &usize| self.cells.contains_key(&(scenario, point, *v));
        let is_on_backup = |v: &usize| sweep.is_on_backup((scenario, point, *v));
        let among = without_backups(sweep.plain_tcp().filter(is_measured), is_on_backup);
        self.best(scenario, point, among.into_iter()).map(|(best, _)| best)
    }

    /// The best of some variants at a point, and the mean of its values. The best variant has the most runs with a
    /// value, and the best mean among those with as many.
    pub fn best(
        &self,
        scenario: usize,
        point: usize,
        among: impl Iterator<Item = usize>,
    ) -> Option<(usize, Option<f64>)> {
        let less_is_better = self.judged(scenario, point).less_is_better();
        let rank = |variant: usize| {
            let runs = self.ranked_by_seed((scenario, point, variant));
            let values: Vec<f64> = runs.iter().filter_map(|(_, value)| *value).collect();
            let mean = Estimate::of(&values).map(|estimate| estimate.mean);
            let finished = values.len() as f64 / runs.len() as f64;
            let good = mean.map_or(f64::NEG_INFINITY, |mean| if less_is_better { -mean } else { mean });
            (!runs.is_empty()).then_some((variant, mean, finished, good))
        };
        let better = |a: &(usize, Option<f64>, f64, f64), b: &(usize, Option<f64>, f64, f64)| {
            a.2.total_cmp(&b.2).then(a.3.total_cmp(&b.3))
        };
        among.filter_map(rank).max_by(better).map(|(variant, mean, ..)| (variant, mean))
    }

    /// A metric's summary over the seeds.
    pub fn estimate(&self, scenario: usize, point: usize, variant: usize, metric: &str) -> Option<Estimate> {
        let values: Vec<f64> =
            self.by_seed(scenario, point, variant, metric).into_iter().map(|(_, value)| value).collect();
        Estimate::of(&values)
    }
}
