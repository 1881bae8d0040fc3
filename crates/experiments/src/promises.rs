//! The promises in the sources' abstracts: a table with a row for each promise, of all experiments of a reproduction.

use crate::ablation::Tried;
use crate::claim::{Found, Judged, Verdict};
use crate::reproduction::{cell, counts, reasons};
use core::fmt::Write as _;

/// A smaller part of the source's effect is hardly that effect.
const HARDLY: f64 = 0.1;

/// The promises, in the order in which their first claims were added.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    rows: Vec<Row>,
}

/// A promise, and the findings of all claims that are about it.
#[derive(Clone, Debug, Default)]
struct Row {
    paper: String,
    promise: String,
    /// The source's numbers, each once.
    expected: Vec<String>,
    found: Vec<Found>,
    /// The relative difference between the two sides of each comparison.
    parts: Vec<f64>,
    /// Number of comparisons that support the promise with less than [`HARDLY`] of the source's effect.
    hardly: usize,
    /// The place of each claim in the experiments, and the region where the claim holds.
    places: Vec<(String, String)>,
    /// The place of each claim that does not hold everywhere, and a reason.
    reasons: Vec<(String, String)>,
}

impl Promises {
    /// Adds the promises that an experiment's claims are about. `tried`: the ablations that were tried for its claims.
    pub fn add(&mut self, paper: &str, id: &str, judged: &[Judged<'_>], tried: &[&Tried]) {
        for one in judged {
            let Some(promise) = &one.claim.promise else { continue };
            let at = self.rows.iter().position(|r| r.paper == paper && r.promise == *promise);
            let at = at.unwrap_or_else(|| {
                self.rows.push(Row { paper: paper.to_owned(), promise: promise.clone(), ..Row::default() });
                self.rows.len() - 1
            });
            self.rows[at].add(&format!("{id} {}", one.claim.id), one, tried);
        }
    }

    /// The section of the document; empty if there is no promise.
    pub fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let rows: String = self.rows.iter().map(Row::line).collect();
        format!(
            "## What the abstracts promise\n\nA row for each promise, over all claims that are about it. Our differences are of the \
             first side of a claim to the second one, the smallest and the largest over all comparisons. An ablation was run; it is \
             of the small runs.\n\n| paper | promise | the paper's number | our difference | verdict | where it holds, by experiment | \
             why |\n|---|---|---|---|---|---|---|\n{rows}\n"
        )
    }
}

impl Row {
    fn add(&mut self, place: &str, one: &Judged<'_>, tried: &[&Tried]) {
        if !one.claim.expected.is_empty() && !self.expected.contains(&one.claim.expected) {
            self.expected.push(one.claim.expected.clone());
        }
        for atom in one.atoms.iter().filter(|a| a.right != 0.0) {
            let part = (atom.left - atom.right) / atom.right.abs();
            self.parts.push(part);
            let hardly = |effect: f64| atom.supports() && part.abs() < HARDLY * effect.abs();
            self.hardly += usize::from(one.claim.effect.is_some_and(hardly));
        }
        self.found.extend(one.atoms.iter().map(|a| a.found));
        let counts = counts(one);
        let counts = if counts.is_empty() { one.verdict.word().to_owned() } else { counts };
        self.places.push((place.to_owned(), counts));
        let reasons = reasons(one, tried, Tried::sentence);
        self.reasons.extend(reasons.into_iter().map(|reason| (place.to_owned(), reason)));
    }

    fn line(&self) -> String {
        let several = self.places.len() > 1;
        let list = |items: &[(String, String)]| {
            let item =
                |(place, text): &(String, String)| if several { format!("{place}: {text}") } else { text.clone() };
            items.iter().map(|i| cell(&item(i))).collect::<Vec<_>>().join("<br>")
        };
        let mut places = list(&self.places);
        if let ([(place, _)], false) = (&self.places[..], several) {
            let _ = write!(places, " ({place})");
        }
        format!(
            "| {} | {} | {} | {} | **{}** | {places} | {} |\n",
            self.paper.to_uppercase(),
            cell(&self.promise),
            cell(&self.expected.join("; ")),
            self.effects(),
            Verdict::of(&self.found).word(),
            list(&self.reasons)
        )
    }

    /// The least and the most relative difference, and how often the difference is hardly the source's effect.
    fn effects(&self) -> String {
        let percent = |x: f64| format!("{:+.1} %", x * 100.0);
        let least = self.parts.iter().copied().min_by(f64::total_cmp);
        let most = self.parts.iter().copied().max_by(f64::total_cmp);
        let (Some(least), Some(most)) = (least, most) else { return String::new() };
        let range = if least == most { percent(least) } else { format!("{} to {}", percent(least), percent(most)) };
        match self.hardly {
            0 => range,
            n => format!("{range}; less than a tenth of the paper's in {n} of those that support it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Promises;
    use crate::ablation::{Trial, Tried};
    use crate::claim::{Verdict, verdicts};
    use crate::record::Record;
    use crate::results::Results;
    use crate::testing;
    use pathweave_lab::results::Status;

    const PLAN: &str = r#"
format = 1
name = "made-up"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "blest"]
baselines = false
seeds = 2
[[claim]]
id = "more"
promise = "an increase by 12 %"
effect = 0.12
expected = "+12 %"
says = "BLEST delivers more"
source = "the abstract"
finding = "The window never blocks."
[[claim.compare]]
left = "blest"
is = ">"
right = "minrtt"
"#;

    /// The rows if BLEST's goodput is this in each of several experiments, and minrtt's is 10.
    fn rows(goodputs: &[f64], tried: &[&Tried]) -> String {
        let mut promises = Promises::default();
        for (i, goodput) in goodputs.iter().enumerate() {
            let sweep = testing::sweep(PLAN);
            let record = |run: usize| {
                let goodput = if sweep.run(run).0.variant == 0 { 10.0 } else { *goodput };
                testing::record(&sweep, run, Status::Completed, goodput)
            };
            let records: Vec<Record> = (0..sweep.len()).map(record).collect();
            let judged = verdicts(&sweep, &Results::new(&sweep, &records)).expect("all values are there");
            promises.add("blest", &format!("fig{i}"), &judged, tried);
        }
        let text = promises.markdown();
        text.lines().filter(|l| l.starts_with("| BLEST")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_promise_has_one_row_whatever_the_number_of_experiments() {
        assert_eq!(
            rows(&[11.0, 9.0], &[]),
            "| BLEST | an increase by 12 % | +12 % | -10.0 % to +10.0 % | **partly** | fig0 more: holds<br>fig1 more: fails | \
             fig0 more: The window never blocks.<br>fig1 more: The window never blocks. |"
        );
        assert!(rows(&[10.1], &[]).contains("+1.0 %; less than a tenth of the paper's in 1 of those"));
    }

    #[test]
    fn the_reason_is_what_was_run() {
        let trial = |name, verdict, hold| Trial::new(name, verdict, hold, 1);
        let trials = vec![trial("", Verdict::Fails, 0), trial("Reno", Verdict::Holds, 1)];
        let tried = Tried { paper: "blest".into(), id: "fig0".into(), claim_id: "more".into(), trials };
        let row = rows(&[9.0], &[&tried]);
        assert!(
            row.ends_with("| fails (fig0 more) | The window never blocks.<br>Ablation: It holds with Reno. |"),
            "{row}"
        );
    }
}
