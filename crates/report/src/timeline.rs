//! The decisions of one run as lines of text.

use crate::alike::groups;
use crate::number::{bytes, short};
use pathweave_lab::explain::{
    DecisionEntry, DecisionOutcome, Entry, Explanation, GivenEntry, Limit, Named, SawEntry, What,
};
use pathweave_units::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The timeline as text: each decision with its reason, the scheduler's input, and how the connection carried it out.
pub fn timeline(explanation: &Explanation) -> String {
    let mut out = format!("{}\n", headline(explanation));
    let widest = explanation.paths.iter().map(|p| p.chars().count()).max().unwrap_or(0);
    let groups = groups(explanation, &explanation.entries);
    let mut shown: Vec<&Entry> = Vec::new();
    for group in &groups {
        let lane = &group.lanes[group.shown()];
        shown.extend(&lane.entries);
        if group.lanes.len() > 1 {
            let decisions = counted(lane.decisions(), "decision");
            let _ = writeln!(out, "{}; shown here: {}, {decisions}", group.text(), lane.name);
        }
    }
    out.push('\n');
    // The sort is stable, so events of one connection keep their order.
    shown.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    for entry in &shown {
        let _ = write!(out, "{:.6} s  ", entry.time_s);
        if let Some(connection) = entry.connection.as_ref().filter(|_| groups.len() > 1) {
            let _ = write!(out, "{connection}: ");
        }
        happened(&mut out, &entry.what, widest);
    }
    let _ = write!(out, "\n{}", by_rule_text(&shown));
    out
}

/// A line that says which run and period are shown.
pub(crate) fn headline(explanation: &Explanation) -> String {
    let Explanation { scenario, scheduler, seed, from_s, to_s, entries, .. } = explanation;
    let decisions = counted(entries.iter().filter(|e| e.what.is_decision()).count(), "decision");
    let of = connections(explanation).map_or(String::new(), |of| format!(" of {of}"));
    format!("{scheduler} on {scenario}, seed {seed}, {from_s} s to {to_s} s: {decisions}{of}")
}

/// The connections whose decisions were recorded: `flow-3`, `20 connections`; `None` if the scenario measures only one.
pub(crate) fn connections(explanation: &Explanation) -> Option<String> {
    let Explanation { connections, alike, .. } = explanation;
    let shown: Vec<&String> = alike.iter().flatten().collect();
    match shown[..] {
        _ if *connections < 2 => None,
        [one] => Some(one.clone()),
        _ => Some(counted(shown.len(), "connection")),
    }
}

const INDENT: &str = "            ";

/// Writes an entry of the timeline.
pub(crate) fn happened(out: &mut String, what: &What, widest: usize) {
    match what {
        What::Decision { saw, verdict, reason, outcome } => {
            let _ = writeln!(out, "{}", verdict_text(verdict));
            if let Some(text) = outcome_text(verdict, outcome) {
                let _ = writeln!(out, "{INDENT}{text}");
            }
            let _ = writeln!(out, "{INDENT}because {}", reason.text);
            saw_text(out, saw, widest);
        }
        What::Repeated { subflow, range, reason } => {
            let _ = writeln!(out, "repeated on {}: {}\n{INDENT}because {}", subflow.path, data(*range), reason.text);
        }
        What::WindowBlocked { by, holders, .. } => {
            let _ = writeln!(out, "{}", blocked_text(*by, holders));
        }
        What::WindowUnblocked => {
            let _ = writeln!(out, "there is room again");
        }
    }
}

/// The text for a full window or buffer, with the paths that carry its first byte.
pub(crate) fn blocked_text(by: Limit, holders: &[Named]) -> String {
    let full = match by {
        Limit::SendWindow => "the send window is full",
        Limit::SendBuffer => "the send buffer is full",
    };
    let paths: Vec<&str> = holders.iter().map(|h| h.path.as_str()).collect();
    match paths[..] {
        [] => full.to_owned(),
        _ => format!("{full}; the first unacknowledged byte is on {}", paths.join(" and ")),
    }
}

/// The text for a scheduler's decision.
pub(crate) fn verdict_text(verdict: &DecisionEntry) -> String {
    match verdict {
        DecisionEntry::Assign { subflow, range, queue } => {
            let how = if *queue { "queue on" } else { "assign to" };
            format!("{how} {}: {}", subflow.path, data(*range))
        }
        DecisionEntry::Wait { for_subflow, until_s } => {
            let whom = for_subflow.as_ref().map_or(String::new(), |s| format!(" for {}", s.path));
            let until = until_s.map_or(String::new(), |t| format!(" until {t:.6} s at the latest"));
            format!("wait{whom}{until}")
        }
    }
}

/// The text for what the connection did, if that differs from the decision.
pub(crate) fn outcome_text(verdict: &DecisionEntry, outcome: &DecisionOutcome) -> Option<String> {
    let given = |g: &GivenEntry| format!("{} on {}", data(g.range), g.subflow.path);
    match outcome {
        DecisionOutcome::Assigned(g) => {
            let whole = matches!(verdict, DecisionEntry::Assign { range, .. } if *range == g.range);
            let by = g.clipped_by.map_or(String::new(), |by| format!(", clipped by the {by}"));
            (!whole).then(|| format!("carried out: {}{by}", data(g.range)))
        }
        DecisionOutcome::HeldBack { by } => Some(format!("held back: {by} keeps a short segment")),
        DecisionOutcome::Delegated => Some("when all packets of this instant have been taken".into()),
        DecisionOutcome::Waiting => None,
        DecisionOutcome::Replaced { why, by } => {
            let by = by.as_ref().map_or("nothing".into(), given);
            Some(format!("not carried out: {why}; the default gave {by}"))
        }
    }
}

fn saw_text(out: &mut String, saw: &SawEntry, widest: usize) {
    for s in &saw.subflows {
        let srtt = s.srtt_ms.map_or("   –   ".into(), |ms| format!("{} ms", short(ms)));
        let state = match (s.stale, s.backup) {
            (true, _) => ", dark",
            (_, true) => ", backup",
            _ => "",
        };
        let _ = writeln!(
            out,
            "{INDENT}{:widest$}  srtt {srtt:>8}  cwnd {:>3}  in flight {:>3}  unsent {:>3}  space {:>3}  queued {}{state}",
            s.name.path,
            s.cwnd_segments,
            s.in_flight_segments,
            s.unsent_segments,
            s.window_space_segments,
            bytes(s.queued_bytes),
        );
    }
    let next = saw.first_unassigned.map_or("nothing unassigned".into(), |seq| {
        format!("next byte {}, {} unassigned", grouped(seq), bytes(saw.unassigned_bytes))
    });
    let _ = writeln!(
        out,
        "{INDENT}send window {} free of {}, {} in flight, {next}",
        bytes(saw.send_window_free_bytes),
        bytes(saw.send_window_bytes),
        bytes(saw.in_flight_bytes),
    );
}

/// The text for a range of the stream: `DSN 1,234,567 to 1,237,400 (2.83 KB)`.
pub(crate) fn data([start, end]: [u64; 2]) -> String {
    format!("DSN {} to {} ({})", grouped(start), grouped(end), bytes(end.saturating_sub(start)))
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Counts of the decisions with one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of decisions.
    pub(crate) count: usize,
    /// Bytes given to a subflow.
    pub(crate) bytes: u64,
}

/// The counts by verdict and reason, the most frequent first.
pub(crate) fn by_rule<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<((String, String), Tally)> {
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for entry in entries {
        let (who, rule, moved) = match &entry.what {
            What::Decision { verdict, reason, outcome, .. } => {
                let who = match verdict {
                    DecisionEntry::Assign { subflow, .. } => subflow.path.clone(),
                    DecisionEntry::Wait { for_subflow: Some(s), .. } => format!("wait for {}", s.path),
                    DecisionEntry::Wait { .. } => "wait".into(),
                };
                let moved = outcome.given().map_or(0, |g| g.range[1] - g.range[0]);
                (who, plain_rule(&reason.rule), moved)
            }
            What::Repeated { subflow, range, reason } => {
                (format!("repeated on {}", subflow.path), plain_rule(&reason.rule), range[1] - range[0])
            }
            What::WindowBlocked { .. } | What::WindowUnblocked => continue,
        };
        let tally = tallies.entry((who, rule)).or_default();
        tally.count += 1;
        tally.bytes += moved;
    }
    let mut all: Vec<_> = tallies.into_iter().collect();
    all.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.count));
    all
}

/// A reason with `…` in place of each term in braces.
fn plain_rule(rule: &str) -> String {
    let mut out = String::new();
    for (i, part) in rule.split(['{', '}']).enumerate() {
        let word = if i % 2 == 1 { "…" } else { part };
        out.push_str(word);
    }
    out
}

/// The counts of a run's decisions as text: after a headline, a line for each decision and reason, the most frequent
/// first.
pub fn reasons(explanation: &Explanation) -> String {
    format!("{}\n{}", headline(explanation), by_rule_text(&explanation.entries.iter().collect::<Vec<_>>()))
}

fn by_rule_text(entries: &[&Entry]) -> String {
    let mut out = String::new();
    for ((who, rule), Tally { count, bytes: moved }) in by_rule(entries.iter().copied()) {
        let data = if moved > 0 { format!(", {}", bytes(moved)) } else { String::new() };
        let _ = writeln!(out, "{count:>6} × {who}{data}: {rule}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(data([1000, 3800]), "DSN 1,000 to 3,800 (2.80 KB)");
    }

    #[test]
    fn rules_are_told_without_their_numbers() {
        assert_eq!(plain_rule("X·λ = {x_bytes} > {free_bytes} free"), "X·λ = … > … free");
    }
}
