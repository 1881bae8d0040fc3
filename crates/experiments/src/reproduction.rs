//! What a reproduction says: each claim with its verdict, as text, as a line of JSON and as a document.

use crate::ablation::Tried;
use crate::claim::{Atom, Judged, Verdict};
use crate::metric;
use crate::plan::Plan;
use core::fmt::Write as _;
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
    /// Where it comes from.
    pub source: &'a str,
    /// `holds`, `partly` or `fails`.
    pub verdict: &'static str,
    /// Every comparison.
    pub measured: Vec<AtomLine<'a>>,
    /// What the paper says in numbers; empty where it says none.
    pub expected: &'a str,
    /// How many seeds.
    pub seeds: u64,
    /// If the paper leaves values open: with how many of `open_of` combinations the claim holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_holds: Option<usize>,
    /// The number of combinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_of: Option<usize>,
}

/// A comparison within a line.
#[derive(Clone, Debug, Serialize)]
pub struct AtomLine<'a> {
    /// Where.
    pub at: &'a str,
    /// What is compared.
    pub compare: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// The left mean.
    pub left: f64,
    /// The right mean.
    pub right: f64,
    /// The 95 % interval of left minus right over the seeds.
    pub interval: Option<(f64, f64)>,
    /// Whether it holds.
    pub holds: bool,
}

impl<'a> ClaimLine<'a> {
    /// Of a claim.
    pub fn new(paper: &'a str, id: &'a str, plan: &'a Plan, judged: &'a Judged<'a>) -> Self {
        let atom = |a: &'a Atom| AtomLine {
            at: &a.at,
            compare: &a.what,
            metric: &a.metric,
            left: a.left,
            right: a.right,
            interval: a.difference.bounds(),
            holds: a.holds,
        };
        ClaimLine {
            paper,
            id,
            claim_id: &judged.claim.id,
            claim: &judged.claim.says,
            source: &judged.claim.source,
            verdict: judged.verdict.word(),
            measured: judged.atoms.iter().map(atom).collect(),
            expected: &judged.claim.expected,
            seeds: plan.seeds,
            open_holds: judged.open.map(|(holds, _)| holds),
            open_of: judged.open.map(|(_, of)| of),
        }
    }

    /// As a line.
    ///
    /// # Panics
    /// Never: text and numbers have a JSON form.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("text and numbers have a JSON form") + "\n"
    }
}

/// How many comparisons hold, and with how many of the values that the source leaves open.
pub fn counts(judged: &Judged<'_>) -> String {
    let hold = judged.atoms.iter().filter(|a| a.holds).count();
    let mut text = match judged.atoms.len() {
        1 => String::new(),
        all => format!("{hold} of {all} comparisons hold"),
    };
    if let Some((k, n)) = judged.open {
        let space = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{space}it holds for {k} of {} that the source leaves open", counted(n, "value"));
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
        let _ = writeln!(out, "  {:6} {}: {}", one.verdict.word(), one.claim.id, one.claim.says);
        let counted = counts(one);
        if !counted.is_empty() {
            let _ = writeln!(out, "         {counted}");
        }
        // Those that do not hold say more.
        let mut atoms: Vec<&Atom> = one.atoms.iter().collect();
        atoms.sort_by_key(|a| a.holds);
        for atom in atoms.iter().take(SHOWN) {
            let mark = if atom.holds { "holds" } else { "fails" };
            let _ = writeln!(out, "         {mark}  {}", words(atom));
        }
        if atoms.len() > SHOWN {
            let _ = writeln!(out, "         and {} more", atoms.len() - SHOWN);
        }
    }
    out
}

/// An experiment's part of the document. `figures` are the pictures' files, with their titles; `tried` is what was tried for its claims that fail.
pub fn markdown(
    name: &str,
    plan: &Plan,
    judged: &[Judged<'_>],
    figures: &[(String, String)],
    tried: &[&Tried],
) -> String {
    let mut out = format!("### {name}\n\n{}. {}. Source: {}.\n", plan.title, counted(plan.seeds, "seed"), plan.source);
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
        if !one.claim.finding.is_empty() {
            let _ = write!(claim, "<br>*{}*", one.claim.finding);
        }
        let ablation = tried.iter().find(|t| t.claim_id == one.claim.id).filter(|_| one.verdict == Verdict::Fails);
        if let Some(tried) = ablation {
            let _ = write!(claim, "<br>*Ablation: {}*", tried.words());
        }
        let expected = if one.claim.expected.is_empty() { "–" } else { &one.claim.expected };
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(
            out,
            "| **{}** | {} | {} | {} |",
            one.verdict.word(),
            cell(&claim),
            cell(&measured.join("; ")),
            cell(expected)
        );
    }
    out
}
