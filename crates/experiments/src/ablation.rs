//! Ablations: changes that are tried for a claim that does not hold everywhere, one by one and then two together.
//!
//! A plan names settings of its own to try; those of `ablations.toml` are tried for every plan. Only the runs that the
//! claim needs are made.

use crate::claim::Verdict;
use crate::plan::{Ablation, Claim, Plan, Side, other_point};
use crate::runs::Sweep;
use pathweave_lab::scenario::{Document, ScenarioError};
use pathweave_units::counted;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
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

/// Most pairs of changes that are tried.
const PAIRS: usize = 3;
/// A change nearly makes a claim hold if at least this part of its comparisons hold.
const NEARLY: f64 = 0.75;

impl Tried {
    /// Whether the last change makes the claim hold.
    pub fn holds(&self) -> bool {
        self.trials.last().is_some_and(Trial::holds)
    }

    /// The changes to try together, if one alone nearly makes the claim hold: that one, with each of the next best ones
    /// that help too.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let as_it_is = self.trials.first().map_or(0, |t| t.hold);
        let mut helping: Vec<&Trial> = self.changed().filter(|t| t.hold > as_it_is).collect();
        // Equally good ones stay in the order of the trials.
        helping.sort_by_key(|t| Reverse(t.hold));
        let [best, others @ ..] = &helping[..] else { return Vec::new() };
        if (best.hold as f64) < NEARLY * best.of as f64 {
            return Vec::new();
        }
        others.iter().take(PAIRS).map(|other| (best.name.clone(), other.name.clone())).collect()
    }

    fn changed(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|t| !t.name.is_empty())
    }

    /// The result of the trials, in one sentence.
    pub fn sentence(&self) -> String {
        let changed: Vec<&Trial> = self.changed().collect();
        if self.trials.first().is_some_and(|t| t.name.is_empty() && t.holds()) {
            return "In the small runs, which ablations are made with, it holds as it is.".into();
        }
        if let Some(trial) = changed.last().filter(|t| t.holds()) {
            return match changed.len() {
                1 => format!("It holds with {}.", trial.name),
                2 => format!("It holds with {} (one other change was tried before).", trial.name),
                n => format!("It holds with {} ({} other changes were tried before).", trial.name, n - 1),
            };
        }
        let (as_it_is, of) = self.trials.first().map_or((0, 0), |t| (t.hold, t.of));
        let best = changed.iter().max_by_key(|t| (t.hold, Reverse(t.name.as_str()))).filter(|t| t.hold > as_it_is);
        let nearest = best.map_or("none helps".into(), |t| {
            let equal = changed.iter().filter(|o| o.hold == t.hold).count() - 1;
            let equal =
                if equal > 0 { format!(", and as many with {}", counted(equal, "other")) } else { String::new() };
            format!("most comparisons hold with {} ({} of {}{equal})", t.name, t.hold, t.of)
        });
        let none = match changed.len() {
            1 => "The one change that was tried does not make it hold".to_owned(),
            n => format!("None of {n} changes makes it hold"),
        };
        format!("{none}: in small runs {as_it_is} of {of} comparisons hold as it is, and {nearest}.")
    }

    /// The trials in a sentence or two, with all that was tried.
    pub fn words(&self) -> String {
        let none = self.trials.iter().all(|t| !t.holds());
        if !none {
            return self.sentence();
        }
        let list = |trials: Vec<String>| if trials.is_empty() { "none".into() } else { trials.join(", ") };
        let partly = self.changed().filter(|t| t.hold > 0);
        let partly = list(partly.map(|t| format!("{} ({} of {})", t.name, t.hold, t.of)).collect());
        let not = list(self.changed().filter(|t| t.hold == 0).map(|t| t.name.clone()).collect());
        format!("{} Some comparisons hold with: {partly}. None with: {not}.", self.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::{Trial, Tried};
    use crate::claim::Verdict;

    fn tried(trials: &[(&str, Verdict, usize)]) -> Tried {
        let trials = trials.iter().map(|(name, verdict, hold)| Trial::new(name, *verdict, *hold, 4)).collect();
        Tried { paper: "cp".into(), id: "fig5".into(), claim_id: "c".into(), trials }
    }

    #[test]
    fn the_change_that_flips_is_named_and_otherwise_all_are() {
        let fails = ("", Verdict::Fails, 0);
        assert_eq!(
            tried(&[fails, ("pr", Verdict::Fails, 0), ("Reno", Verdict::Holds, 4)]).words(),
            "It holds with Reno (one other change was tried before)."
        );
        assert_eq!(
            tried(&[("", Verdict::Holds, 4)]).words(),
            "In the small runs, which ablations are made with, it holds as it is."
        );
        let none = tried(&[fails, ("pr", Verdict::Partly, 2), ("Reno", Verdict::Fails, 0)]);
        assert_eq!(
            none.sentence(),
            "None of 2 changes makes it hold: in small runs 0 of 4 comparisons hold as it is, and most comparisons hold with pr (2 of 4)."
        );
        let one = tried(&[fails, ("pr", Verdict::Fails, 0)]);
        assert_eq!(
            one.sentence(),
            "The one change that was tried does not make it hold: in small runs 0 of 4 comparisons hold as it is, and none helps."
        );
        assert!(
            none.words().ends_with(" Some comparisons hold with: pr (2 of 4). None with: Reno."),
            "{}",
            none.words()
        );
    }

    #[test]
    fn two_changes_are_tried_together_if_one_alone_nearly_flips_the_claim() {
        let partly = |name, hold| (name, Verdict::Partly, hold);
        let near = tried(&[partly("", 1), partly("pr", 2), partly("Reno", 3), partly("LIA", 1), partly("δ", 2)]);
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(near.pairs(), [pair("Reno", "pr"), pair("Reno", "δ")]);
        let far = tried(&[partly("", 1), partly("pr", 2), partly("Reno", 2)]);
        assert!(far.pairs().is_empty(), "two of four is not nearly four");
    }
}
