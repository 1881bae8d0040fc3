//! What a reproduction says: each claim with its verdict, as text, as a line of JSON and as a document.

use crate::ablation::Tried;
use crate::claim::{Atom, Found, Judged};
use crate::plan::Plan;
use core::fmt::Write as _;
use pathweave_lab::metric;
use pathweave_report::short;
use pathweave_units::counted;
use serde::Serialize;

/// How many comparisons of a claim the text shows.
const SHOWN: usize = 6;

/// A claim as a line of JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimLine<'a> {
    /// The paper's short name, which is the experiment's folder.
    pub paper: &'a str,
    /// The experiment: the file's name.
    pub id: &'a str,
    /// The claim's name within the experiment.
    pub claim_id: &'a str,
    /// The sentence.
    pub claim: &'a str,
    /// The place in the source.
    pub source: &'a str,
    /// `holds`, `partly`, `undecided` or `fails`.
    pub verdict: &'static str,
    /// If the claim holds partly: the region where it holds, described by the parameter that tells most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<&'a str>,
    /// Every comparison.
    pub measured: Vec<AtomLine<'a>>,
    /// The paper's own numbers; empty if it has none.
    pub expected: &'a str,
    /// Number of seeds.
    pub seeds: u64,
    /// If the paper leaves values open: the number of their combinations for which the claim holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_holds: Option<usize>,
    /// The number of all combinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_of: Option<usize>,
}

/// A comparison within a line.
#[derive(Clone, Debug, Serialize)]
pub struct AtomLine<'a> {
    /// The point: the scenario if there are several, and the values of the parameters.
    pub at: &'a str,
    /// The compared sides.
    pub compare: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// The left mean.
    pub left: f64,
    /// The right mean.
    pub right: f64,
    /// The 95 % interval of left minus right over the seeds.
    pub interval: Option<(f64, f64)>,
    /// `supported`, `contradicted`, `undecided` or `tie`.
    pub found: &'static str,
}

impl<'a> ClaimLine<'a> {
    /// Makes the line of a judged claim.
    pub fn new(paper: &'a str, id: &'a str, plan: &'a Plan, judged: &'a Judged<'a>) -> Self {
        let atom = |a: &'a Atom| AtomLine {
            at: &a.at,
            compare: &a.what,
            metric: &a.metric,
            left: a.left,
            right: a.right,
            interval: a.difference.bounds(),
            found: a.found.word(),
        };
        ClaimLine {
            paper,
            id,
            claim_id: &judged.claim.id,
            claim: &judged.claim.says,
            source: &judged.claim.source,
            verdict: judged.verdict.word(),
            region: judged.region.as_deref(),
            measured: judged.atoms.iter().map(atom).collect(),
            expected: &judged.claim.expected,
            seeds: plan.seeds,
            open_holds: judged.open.map(|(holds, _)| holds),
            open_of: judged.open.map(|(_, of)| of),
        }
    }

    /// The claim as one line of JSON.
    ///
    /// # Panics
    /// Never: text and numbers have a JSON form.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("text and numbers have a JSON form") + "\n"
    }
}

/// A summary of the comparisons: their findings, the region where the claim holds, and the number of open values for
/// which it holds: `17 of 24 supported, 3 contradicted, 4 undecided; by window: 256KiB always, 16MiB never; it holds
/// for 1 of 2 values that ...`.
pub fn counts(judged: &Judged<'_>) -> String {
    let mut parts = Vec::new();
    if judged.atoms.len() > 1 {
        parts.push(tally(judged));
    }
    parts.extend(judged.region.clone());
    if let Some((k, n)) = judged.open {
        parts.push(format!("it holds for {k} of {} that the source leaves open", counted(n, "value")));
    }
    parts.join("; ")
}

fn tally(judged: &Judged<'_>) -> String {
    let words = |found: Found| match (judged.count(found), found) {
        (0, _) => None,
        (1, Found::Tie) => Some("1 tie".into()),
        (n, Found::Tie) => Some(format!("{n} ties")),
        (n, other) => Some(format!("{n} {}", other.word())),
    };
    let [supported, others @ ..] = Found::ALL;
    let mut text = format!("{} of {} {}", judged.count(supported), judged.atoms.len(), supported.word());
    for words in others.into_iter().filter_map(words) {
        let _ = write!(text, ", {words}");
    }
    text
}

/// One comparison in words: `buffer 40: minrtt < tcp-path0: 2.61 against 7.64 Mbit/s (-5.03 ±0.10)`.
pub fn words(atom: &Atom) -> String {
    let unit = metric::unit(&atom.metric).filter(|u| !u.is_empty()).map_or(String::new(), |u| format!(" {u}"));
    let place = if atom.at.is_empty() { String::new() } else { format!("{}: ", atom.at) };
    let half = atom.difference.bounds().map_or(String::new(), |(low, high)| {
        if low == high { ", the same with every seed".into() } else { format!(" ±{}", short((high - low) / 2.0)) }
    });
    let (left, right, mean) = (precise(atom.left), precise(atom.right), precise(atom.difference.mean()));
    format!("{place}{}: {left} against {right}{unit} ({mean}{half})", atom.what)
}

/// Three digits, also of small numbers.
fn precise(x: f64) -> String {
    if x != 0.0 && x.abs() < 0.1 { format!("{x:.4}") } else { short(x) }
}

/// The claims of an experiment for a terminal.
pub fn text(name: &str, plan: &Plan, judged: &[Judged<'_>]) -> String {
    let mut out = format!("{name}: {}\n", plan.title);
    for one in judged {
        let _ = writeln!(out, "  {:9}  {}: {}", one.verdict.word(), one.claim.id, one.claim.says);
        let counted = counts(one);
        if !counted.is_empty() {
            let _ = writeln!(out, "             {counted}");
        }
        // Those that contradict the claim say most.
        let mut atoms: Vec<&Atom> = one.atoms.iter().collect();
        atoms.sort_by_key(|a| {
            [Found::Contradicted, Found::Undecided, Found::Tie].iter().position(|f| *f == a.found).unwrap_or(3)
        });
        for atom in atoms.iter().take(SHOWN) {
            let _ = writeln!(out, "             {:12}  {}", atom.found.word(), words(atom));
        }
        if atoms.len() > SHOWN {
            let _ = writeln!(out, "             and {} more", atoms.len() - SHOWN);
        }
    }
    out
}

/// The reasons why a claim does not hold everywhere: the plan's finding, and the claim's ablations in the words of
/// `words`.
pub(crate) fn reasons(judged: &Judged<'_>, tried: &[&Tried], words: fn(&Tried) -> String) -> Vec<String> {
    let finding = Some(judged.claim.finding.clone()).filter(|finding| !finding.is_empty());
    let ablation = tried.iter().find(|t| t.claim_id == judged.claim.id).filter(|_| judged.wants_ablation());
    finding.into_iter().chain(ablation.map(|tried| format!("Ablation: {}", words(tried)))).collect()
}

/// Text within a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// An experiment's part of the document. `calibrations`: sentences about the difference between its baseline and the
/// source's; `figures`: the pictures' files, with their titles; `tried`: the ablations that were tried for claims that
/// do not hold everywhere.
pub fn markdown(
    name: &str,
    plan: &Plan,
    judged: &[Judged<'_>],
    calibrations: &[String],
    figures: &[(String, String)],
    tried: &[&Tried],
) -> String {
    let mut out = format!("### {name}\n\n{}. {}. Source: {}.\n", plan.title, counted(plan.seeds, "seed"), plan.source);
    if !calibrations.is_empty() {
        let _ = write!(out, "\n{}\n", calibrations.join(" "));
    }
    for (title, file) in figures {
        let _ = write!(out, "\n![{title}]({file})\n\n{title}\n");
    }
    if !judged.is_empty() {
        out.push_str("\n| verdict | claim | measured | expected |\n|---|---|---|---|\n");
    }
    for one in judged {
        let mut measured = vec![counts(one)];
        // The comparison with the least and the one with the largest difference say how far it goes.
        let by = |a: &&Atom, b: &&Atom| {
            let part = |a: &Atom| a.difference.mean() / a.right.abs().max(1e-9);
            part(a).total_cmp(&part(b))
        };
        let ends = [one.atoms.iter().min_by(by), one.atoms.iter().max_by(by)];
        measured.extend(ends.into_iter().flatten().map(words));
        measured.dedup();
        measured.retain(|m| !m.is_empty());
        let mut claim = format!("{} ({})", one.claim.says, one.claim.source);
        for reason in reasons(one, tried, Tried::words) {
            let _ = write!(claim, "<br>*{reason}*");
        }
        let expected = if one.claim.expected.is_empty() { "–" } else { &one.claim.expected };
        let _ = writeln!(
            out,
            "| **{}**{} | {} | {} | {} |",
            one.verdict.word(),
            if one.claim.ours { " (ours)" } else { "" },
            cell(&claim),
            cell(&measured.join("; ")),
            cell(expected)
        );
    }
    out
}
