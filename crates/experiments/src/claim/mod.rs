//! Whether claims hold: each is made of atomic comparisons over the seeds.

mod region;

use crate::plan::{Claim, Comparison, Over, Plan, Relation, Sample, Side, other_point};
use crate::results::Results;
use crate::runs::Sweep;
use pathweave_report::{Difference, quantile_of};
use pathweave_units::counted;
use std::collections::{BTreeMap, BTreeSet};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every comparison supports the claim.
    Holds,
    /// Some comparisons support the claim, and others do not.
    Partly,
    /// No comparison supports or contradicts the claim, and none is a tie.
    Undecided,
    /// No comparison supports the claim, and at least one contradicts it or is a tie.
    Fails,
}

impl Verdict {
    /// All verdicts, in the order in which tables have them.
    pub const ALL: [Verdict; 4] = [Verdict::Holds, Verdict::Partly, Verdict::Undecided, Verdict::Fails];

    /// The verdict as a word: `holds`, `partly`, `undecided`, `fails`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Partly => "partly",
            Verdict::Undecided => "undecided",
            Verdict::Fails => "fails",
        }
    }

    /// The verdict on what these comparisons have found.
    pub fn of(found: &[Found]) -> Self {
        let count = |one| found.iter().filter(|f| **f == one).count();
        let (supported, undecided) = (count(Found::Supported), count(Found::Undecided));
        match found.len() {
            all if supported == all => Verdict::Holds,
            _ if supported > 0 => Verdict::Partly,
            all if undecided == all => Verdict::Undecided,
            _ => Verdict::Fails,
        }
    }
}

/// The finding of one comparison about its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The whole 95 % interval is where the claim puts it.
    Supported,
    /// The whole 95 % interval is elsewhere.
    Contradicted,
    /// The 95 % interval has values where the claim puts them and values elsewhere. Or there is no interval, because
    /// there is one seed.
    Undecided,
    /// Both sides are equal with every seed, and the claim says that they differ.
    Tie,
}

impl Found {
    /// All findings, in the order in which sentences name them.
    pub const ALL: [Found; 4] = [Found::Supported, Found::Contradicted, Found::Undecided, Found::Tie];

    /// The finding as a word: `supported`, `contradicted`, `undecided`, `tie`.
    pub fn word(self) -> &'static str {
        match self {
            Found::Supported => "supported",
            Found::Contradicted => "contradicted",
            Found::Undecided => "undecided",
            Found::Tie => "tie",
        }
    }

    /// `margin` is absolute, in the metric's unit.
    fn of(difference: &Difference, relation: Relation, margin: f64) -> Self {
        let Some((low, high)) = difference.bounds() else { return Found::Undecided };
        let equal = (low, high) == (0.0, 0.0);
        let (supported, contradicted) = match relation {
            Relation::Below => (high < 0.0, low > 0.0),
            Relation::Above => (low > 0.0, high < 0.0),
            Relation::AtMost => (high <= margin, low > margin),
            Relation::AtLeast => (low >= -margin, high < -margin),
            Relation::Equal => (low >= -margin && high <= margin, low > margin || high < -margin),
        };
        match (supported, contradicted) {
            (true, _) => Found::Supported,
            (_, true) => Found::Contradicted,
            _ if equal => Found::Tie,
            _ => Found::Undecided,
        }
    }
}

/// The result of one comparison at one point.
#[derive(Clone, Debug)]
pub struct Atom {
    /// The point: the scenario if there are several, and the values of the parameters.
    pub at: String,
    /// The compared sides, such as `minrtt < tcp-path0`.
    pub what: String,
    /// The metric of the left side.
    pub metric: String,
    /// The left side's mean.
    pub left: f64,
    /// The right side's mean, after its factor.
    pub right: f64,
    /// Left minus right, seed by seed or point by point.
    pub difference: Difference,
    /// The finding about the claim.
    pub found: Found,
    /// The index of the scenario.
    pub scenario: usize,
    /// For each parameter of the plan the index of its value; `None` if the comparison is over several of its values.
    pub values: Vec<Option<usize>>,
}

impl Atom {
    /// Whether the comparison supports the claim.
    pub fn supports(&self) -> bool {
        self.found == Found::Supported
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The verdict.
    pub verdict: Verdict,
    /// The claim's comparisons.
    pub atoms: Vec<Atom>,
    /// If the claim holds partly: the region where it holds, described by the parameter that tells most.
    pub region: Option<String>,
    /// If the source leaves values open: the number of their combinations for which all comparisons support the claim,
    /// and the number of all combinations.
    pub open: Option<(usize, usize)>,
}

impl Judged<'_> {
    /// Whether ablations look for the cause: the source's claim fails, or is of the abstract and does not hold everywhere.
    pub fn wants_ablation(&self) -> bool {
        let promise = self.claim.promise.is_some() && self.verdict != Verdict::Holds;
        !self.claim.ours && (promise || self.verdict == Verdict::Fails)
    }

    /// Number of comparisons with this finding.
    pub fn count(&self, found: Found) -> usize {
        self.atoms.iter().filter(|a| a.found == found).count()
    }
}

/// Decides every claim of the plan.
///
/// # Errors
/// The claim that is about no point, or whose values are missing.
pub fn verdicts<'a>(sweep: &'a Sweep, results: &Results) -> Result<Vec<Judged<'a>>, String> {
    sweep.plan.claims.iter().map(|claim| judge(sweep, results, claim)).collect()
}

/// Decides one claim.
///
/// # Errors
/// If it is about no point, or its values are missing.
pub fn judge<'a>(sweep: &'a Sweep, results: &Results, claim: &'a Claim) -> Result<Judged<'a>, String> {
    let mut atoms = Vec::new();
    // By the open scenario and the values of the open parameters: how many comparisons hold, of how many.
    let mut combinations: BTreeMap<Vec<usize>, (usize, usize)> = BTreeMap::new();
    for comparison in &claim.comparisons {
        for (open, atom) in atoms_of(sweep, results, comparison)? {
            let count = combinations.entry(open).or_default();
            count.0 += usize::from(atom.supports());
            count.1 += 1;
            atoms.push(atom);
        }
    }
    if atoms.is_empty() {
        return Err(format!("the claim {} is about no point of the plan, or its values are missing", claim.id));
    }
    let plan = &sweep.plan;
    let is_open = plan.parameters.iter().any(|p| p.open) || plan.scenarios.iter().any(|s| s.open);
    let open = is_open.then(|| {
        let whole = combinations.values().filter(|(hold, all)| hold == all).count();
        (whole, combinations.len())
    });
    let verdict = Verdict::of(&atoms.iter().map(|a| a.found).collect::<Vec<_>>());
    let region = (verdict == Verdict::Partly).then(|| region::of(plan, &atoms)).flatten();
    Ok(Judged { claim, verdict, atoms, region, open })
}

/// The open scenario and the values of the open parameters, and the points of both sides.
type Group = (Vec<usize>, Vec<(usize, usize)>);

/// The comparison at each place that it is about, with the open scenario and the values of the open parameters there.
fn atoms_of(sweep: &Sweep, results: &Results, comparison: &Comparison) -> Result<Vec<(Vec<usize>, Atom)>, String> {
    let plan = &sweep.plan;
    let mut atoms = Vec::new();
    for scenario in 0..plan.scenarios.len() {
        if !comparison.is_in(scenario) {
            continue;
        }
        let points = (0..plan.points.len()).filter(|p| comparison.is_about(plan, *p));
        let mut pairs: BTreeSet<(Vec<usize>, usize, usize)> = BTreeSet::new();
        for point in points {
            let side = |side| other_point(plan, point, side);
            if let (Some(left), Some(right)) = (side(&comparison.left), side(&comparison.right)) {
                pairs.insert((open_values(plan, scenario, point), left, right));
            }
        }
        let groups: Vec<Group> = match comparison.over {
            None => pairs.into_iter().map(|(open, left, right)| (open, vec![(left, right)])).collect(),
            Some(_) => {
                let mut by_open: BTreeMap<Vec<usize>, Vec<(usize, usize)>> = BTreeMap::new();
                for (open, left, right) in pairs {
                    by_open.entry(open).or_default().push((left, right));
                }
                by_open.into_iter().collect()
            }
        };
        for (open, points) in groups {
            if let Some(atom) = atom(sweep, results, comparison, scenario, &points) {
                atoms.push((open, atom));
            }
        }
    }
    Ok(atoms)
}

fn open_values(plan: &Plan, scenario: usize, point: usize) -> Vec<usize> {
    let own = plan.scenarios[scenario].open.then_some(scenario);
    let open = plan.points[point].iter().zip(&plan.parameters).filter(|(_, p)| p.open);
    own.into_iter().chain(open.map(|(value, _)| *value)).collect()
}

fn atom(
    sweep: &Sweep,
    results: &Results,
    comparison: &Comparison,
    scenario: usize,
    points: &[(usize, usize)],
) -> Option<Atom> {
    let left = values(results, &comparison.left, scenario, points.iter().map(|p| p.0), comparison)?;
    let right = values(results, &comparison.right, scenario, points.iter().map(|p| p.1), comparison)?;
    let pairs: Vec<(f64, f64)> = match (left, right) {
        (Values::Sample(left), Values::Sample(right)) => {
            left.into_iter().filter_map(|(member, l)| Some((l, *right.get(&member)?))).collect()
        }
        (Values::Sample(left), Values::Constant(right)) => left.into_values().map(|l| (l, right)).collect(),
        (Values::Constant(left), Values::Sample(right)) => right.into_values().map(|r| (left, r)).collect(),
        (Values::Constant(_), Values::Constant(_)) => return None,
    };
    let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(l, r)| (l, r * comparison.factor)).collect();
    let difference = Difference::of(&pairs)?;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let (left, right) = (mean(|p| p.0), mean(|p| p.1));
    let found = Found::of(&difference, comparison.relation, comparison.margin * right.abs());
    let metric = [&comparison.left, &comparison.right].into_iter().find_map(|side| match side {
        Side::Measured { metric, .. } => Some(metric.clone()),
        Side::Constant(_) => None,
    })?;
    let at = place(sweep, scenario, points, comparison);
    let values = values_of(&sweep.plan, points, comparison);
    Some(Atom { at, what: comparison.words(sweep), metric, left, right, difference, found, scenario, values })
}

/// A side's values.
enum Values {
    /// By the sample's members: the seed, or the place of the point.
    Sample(BTreeMap<u64, f64>),
    Constant(f64),
}

fn values(
    results: &Results,
    side: &Side,
    scenario: usize,
    points: impl Iterator<Item = usize>,
    comparison: &Comparison,
) -> Option<Values> {
    let Side::Measured { variant, metric, scenario: own, .. } = side else {
        let Side::Constant(number) = side else { return None };
        return Some(Values::Constant(*number));
    };
    let mut members: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (place, point) in (0..).zip(points) {
        for (seed, value) in results.by_seed(own.unwrap_or(scenario), point, *variant, metric) {
            let member = if comparison.sample == Sample::Points { place } else { seed };
            members.entry(member).or_default().push(value);
        }
    }
    let together = |(member, values): (u64, Vec<f64>)| (member, together(&values, comparison.over));
    Some(Values::Sample(members.into_iter().map(together).collect()))
}

fn together(values: &[f64], over: Option<Over>) -> f64 {
    let share = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(**v)).count() as f64 / values.len() as f64;
    match over {
        None | Some(Over::Mean) => values.iter().sum::<f64>() / values.len() as f64,
        Some(Over::Median) => quantile_of(values, 0.5),
        Some(Over::Least) => values.iter().copied().fold(f64::INFINITY, f64::min),
        Some(Over::Most) => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Some(Over::ShareBelow(limit)) => share(&|v| v < limit),
        Some(Over::ShareAbove(limit)) => share(&|v| v > limit),
    }
}

/// For each parameter the index of its value, if all points have the same one and no side replaces it.
fn values_of(plan: &Plan, points: &[(usize, usize)], comparison: &Comparison) -> Vec<Option<usize>> {
    let value = |parameter: usize| {
        let mut values = points.iter().map(|(left, _)| plan.points[*left][parameter]);
        let first = values.next()?;
        (!comparison.replaces(parameter) && values.all(|v| v == first)).then_some(first)
    };
    (0..plan.parameters.len()).map(value).collect()
}

/// Scenario and point in words, without the parameters that a side replaces.
fn place(sweep: &Sweep, scenario: usize, points: &[(usize, usize)], comparison: &Comparison) -> String {
    let plan = &sweep.plan;
    let replaced = |parameter: usize| comparison.replaces(parameter);
    let mut words = Vec::new();
    if plan.scenarios.len() > 1 {
        words.push(sweep.scenario_name(scenario).to_owned());
    }
    match points {
        [(left, _)] => {
            let values = plan.shown(*left, &replaced);
            for (i, parameter) in plan.parameters.iter().enumerate().filter(|(i, _)| !replaced(*i)) {
                words.push(format!("{} {}", parameter.name, values[i]));
            }
        }
        many => words.push(counted(many.len(), "point")),
    }
    words.join(", ")
}

impl Comparison {
    /// The compared sides, such as `minrtt < 0.9 · tcp-path0`.
    pub fn words(&self, sweep: &Sweep) -> String {
        let side = |side: &Side| match side {
            Side::Constant(number) => number.to_string(),
            Side::Measured { variant, metric, scenario, at } => {
                let mut text = sweep.variants[*variant].name.clone();
                let mut add = |more: String| text.push_str(&format!(" ({more})"));
                if self.metrics_differ() {
                    add(metric.clone());
                }
                if let Some(scenario) = scenario {
                    add(sweep.scenario_name(*scenario).to_owned());
                }
                for (parameter, value) in at {
                    add(format!("{} {value}", sweep.plan.parameters[*parameter].name));
                }
                text
            }
        };
        let relation = match self.relation {
            Relation::Below => "<",
            Relation::Above => ">",
            Relation::AtMost => "≤",
            Relation::AtLeast => "≥",
            Relation::Equal => "=",
        };
        let factor = if self.factor == 1.0 { String::new() } else { format!("{} · ", self.factor) };
        let margin = if self.margin == 0.0 { String::new() } else { format!(" ± {} %", round(self.margin * 100.0)) };
        format!("{} {relation} {factor}{}{margin}", side(&self.left), side(&self.right))
    }

    /// Whether a side has a value of its own for this parameter.
    fn replaces(&self, parameter: usize) -> bool {
        [&self.left, &self.right].into_iter().any(|side| match side {
            Side::Measured { at, .. } => at.iter().any(|(p, _)| *p == parameter),
            Side::Constant(_) => false,
        })
    }

    fn metrics_differ(&self) -> bool {
        matches!((&self.left, &self.right), (Side::Measured { metric: a, .. }, Side::Measured { metric: b, .. }) if a != b)
    }
}

/// Without the last digits of a binary fraction.
fn round(x: f64) -> f64 {
    libm::round(x * 1e6) / 1e6
}

#[cfg(test)]
mod tests;
