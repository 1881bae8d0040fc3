//! Ablations: single changed settings, tried for a claim that does not hold everywhere.
//!
//! A plan names settings of its own to try; those of `ablations.toml` are tried for every plan. Only the runs that the
//! claim needs are made.

use crate::claim::Verdict;
use crate::plan::{Ablation, Claim, Plan, Side, other_point};
use crate::runs::Sweep;
use pathweave_lab::scenario::{Document, ScenarioError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The settings that were tried for a claim that does not hold everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The paper's short name.
    pub paper: String,
    /// The experiment.
    pub id: String,
    /// The claim's name within the experiment.
    pub claim_id: String,
    /// The trials in order, the first one without any change. Either the last one makes the claim hold, or none does.
    pub trials: Vec<Trial>,
}

/// A changed setting, and the claim's verdict with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The setting, for people; empty for the trial without a change.
    pub name: String,
    /// `holds`, `partly`, `undecided` or `fails`.
    pub verdict: String,
    /// Number of comparisons that hold.
    pub hold: usize,
    /// Number of all comparisons.
    pub of: usize,
}

/// Reads the settings from a file of ablations.
///
/// # Errors
/// At the first key or value that is not allowed.
pub fn list(file: &str, text: &str) -> Result<Vec<Ablation>, ScenarioError> {
    Plan::ablations(&Document::parse(file, text)?)
}

/// The cells that these claims use: scenario, point and variant.
pub fn needs(sweep: &Sweep, claims: &[&Claim]) -> BTreeSet<(usize, usize, usize)> {
    let plan = &sweep.plan;
    let mut needed = BTreeSet::new();
    for comparison in claims.iter().flat_map(|c| &c.comparisons) {
        for scenario in (0..plan.scenarios.len()).filter(|s| comparison.is_in(*s)) {
            for point in (0..plan.points.len()).filter(|p| comparison.is_about(plan, *p)) {
                for side in [&comparison.left, &comparison.right] {
                    let Side::Measured { variant, scenario: own, .. } = side else { continue };
                    if let Some(point) = other_point(plan, point, side) {
                        needed.insert((own.unwrap_or(scenario), point, *variant));
                    }
                }
            }
        }
    }
    // The aggregation benefit is computed from plain TCP.
    let benefits = claims.iter().flat_map(|c| &c.comparisons).flat_map(|c| [&c.left, &c.right]);
    if benefits.into_iter().any(|s| matches!(s, Side::Measured { metric, .. } if metric == "aggregation_benefit")) {
        let places: BTreeSet<(usize, usize)> = needed.iter().map(|(s, p, _)| (*s, *p)).collect();
        for (scenario, point) in places {
            needed.extend(sweep.plain_tcp().map(|variant| (scenario, point, variant)));
        }
    }
    needed
}

impl Trial {
    /// A trial with the counts of a judged claim.
    pub fn new(name: &str, verdict: Verdict, hold: usize, of: usize) -> Self {
        Trial { name: name.to_owned(), verdict: verdict.word().to_owned(), hold, of }
    }

    fn holds(&self) -> bool {
        self.verdict == Verdict::Holds.word()
    }
}

impl Tried {
    /// The trials in a sentence or two.
    pub fn words(&self) -> String {
        let changed: Vec<&Trial> = self.trials.iter().filter(|t| !t.name.is_empty()).collect();
        if self.trials.first().is_some_and(|t| t.name.is_empty() && t.holds()) {
            return "In the small runs, which ablations are made with, it holds as it is.".into();
        }
        if let Some(trial) = changed.last().filter(|t| t.holds()) {
            return match changed.len() {
                1 => format!("It holds with {}.", trial.name),
                2 => format!("It holds with {} (one other setting was tried before).", trial.name),
                n => format!("It holds with {} ({} other settings were tried before).", trial.name, n - 1),
            };
        }
        let list = |trials: Vec<String>| if trials.is_empty() { "none".into() } else { trials.join(", ") };
        let partly = changed.iter().filter(|t| t.hold > 0);
        let partly = list(partly.map(|t| format!("{} ({} of {})", t.name, t.hold, t.of)).collect());
        let not = list(changed.iter().filter(|t| t.hold == 0).map(|t| t.name.clone()).collect());
        format!(
            "No single setting was found that makes it hold. Some comparisons hold with: {partly}. None with: {not}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Trial, Tried};
    use crate::claim::Verdict;

    fn words(trials: &[(&str, Verdict, usize)]) -> String {
        let trials = trials.iter().map(|(name, verdict, hold)| Trial::new(name, *verdict, *hold, 4)).collect();
        Tried { paper: "cp".into(), id: "fig5".into(), claim_id: "c".into(), trials }.words()
    }

    #[test]
    fn the_setting_that_flips_is_named_and_otherwise_all_are() {
        let fails = ("", Verdict::Fails, 0);
        assert_eq!(
            words(&[fails, ("pr", Verdict::Fails, 0), ("Reno", Verdict::Holds, 4)]),
            "It holds with Reno (one other setting was tried before)."
        );
        assert_eq!(
            words(&[("", Verdict::Holds, 4)]),
            "In the small runs, which ablations are made with, it holds as it is."
        );
        assert_eq!(
            words(&[fails, ("pr", Verdict::Partly, 2), ("Reno", Verdict::Fails, 0)]),
            "No single setting was found that makes it hold. Some comparisons hold with: pr (2 of 4). None with: Reno."
        );
    }
}
