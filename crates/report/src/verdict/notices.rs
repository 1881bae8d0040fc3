//! Notices about a comparison: runs that were never made, runs that failed, and messages that were never delivered.

use super::words::{all_of, does_not, first_of};
use crate::comparison::{Absent, Comparison, Judged};
use pathweave_units::counted;

/// Most characters that are quoted of a failed run's reason.
const LONGEST_REASON: usize = 160;

/// Sentences for a comparison that was stopped: the number of finished runs, the schedulers that never ran, and those
/// that lack seeds.
pub(super) fn stopped(comparison: &Comparison) -> Option<String> {
    let Comparison { finished, planned, .. } = comparison;
    if !comparison.is_stopped() {
        return None;
    }
    let are = if *planned == 1 { "is" } else { "are" };
    let mut text = format!("Stopped early: {finished} of {} {are} finished.", counted(planned, "run"));
    let never: Vec<String> =
        (comparison.absent.iter().filter(|a| a.failed == 0)).map(|a| comparison.absent_label(a)).collect();
    if !never.is_empty() {
        text += &format!(" Never run: {}.", all_of(&never));
    }
    for (finished, planned, names) in lacking(comparison) {
        text += &format!(" With {finished} of {} only: {}.", counted(planned, "seed"), all_of(&names));
    }
    Some(text)
}

/// The schedulers with some, but not all, runs finished, grouped by these two numbers.
fn lacking(comparison: &Comparison) -> Vec<(usize, usize, Vec<String>)> {
    let mut groups: Vec<(usize, usize, Vec<String>)> = Vec::new();
    let mut add = |finished: usize, planned: usize, name: String| {
        if finished == 0 || finished >= planned {
            return;
        }
        match groups.iter_mut().find(|(f, p, _)| (*f, *p) == (finished, planned)) {
            Some((.., names)) => names.push(name),
            None => groups.push((finished, planned, vec![name])),
        }
    };
    for row in &comparison.summaries {
        add(row.runs, row.planned, comparison.label(row));
        row.same.iter().for_each(|name| add(row.runs, row.planned, name.clone()));
    }
    for absent in &comparison.absent {
        add(absent.failed, absent.planned, comparison.absent_label(absent));
    }
    groups.sort_by_key(|(finished, ..)| std::cmp::Reverse(*finished));
    groups
}

/// A sentence for each scheduler, and for plain TCP on each path, with failed runs.
pub(super) fn failed(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    for row in comparison.summaries.iter().filter(|row| row.failed > 0) {
        let left = row.measured();
        all.push(format!(
            "{} failed in {} of {}: {}. Its numbers are of the other {}{}.",
            comparison.label(row),
            row.failed,
            counted(row.runs, "run"),
            reason(row.failure.as_deref()),
            if left == 1 { "one".to_owned() } else { left.to_string() },
            if row.lacking > 0 { ", and it is not called the best" } else { "" },
        ));
    }
    for absent in comparison.absent.iter().filter(|absent| absent.failed > 0) {
        let Absent { failed, failure, .. } = absent;
        all.push(format!(
            "{} failed in {failed} of {}: {}. It is left out.",
            comparison.absent_label(absent),
            counted(failed, "run"),
            reason(failure.as_deref()),
        ));
    }
    all
}

/// The reason of a failure, in one line without a full stop at its end. For a Python exception, this is the last line,
/// which has the exception itself.
pub(crate) fn reason(text: Option<&str>) -> String {
    let text = text.unwrap_or("no reason given").trim();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = match text.split_once(": Traceback ") {
        Some(_) => lines.next_back(),
        None => lines.next(),
    };
    let line = line.unwrap_or_default().trim_end_matches('.');
    match line.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// A notice that no run delivers everything it should, so that the ranking is by goodput; `None` if some run does.
pub(super) fn none_delivers(comparison: &Comparison) -> Option<String> {
    if comparison.judged != Judged::Goodput {
        return None;
    }
    if comparison.has_messages {
        return Some("No run delivers what is offered, so goodput decides.".into());
    }
    let runs: usize = comparison.summaries.iter().map(|row| row.measured() * (1 + row.same.len())).sum();
    let stalled = comparison.summaries.iter().all(|row| row.stalled == row.measured());
    stalled.then(|| format!("No transfer finished: {runs} of {} stalled, so goodput decides.", counted(runs, "run")))
}

/// For messages and pages, a notice that names the schedulers with undelivered messages. It stands before all delays.
pub(super) fn undelivered(comparison: &Comparison) -> Option<String> {
    if comparison.judged != Judged::Delay || comparison.best_multipath().is_none_or(|best| best.value.is_none()) {
        return None;
    }
    let short = comparison.multipath().filter(|row| row.unfinished() > 0);
    let names: Vec<String> = short.flat_map(|row| core::iter::once(&row.scheduler).chain(&row.same)).cloned().collect();
    let does_not = match names.len() {
        0 => return None,
        1 => does_not(comparison.judged),
        _ => "do not deliver what is offered",
    };
    Some(format!("{} {does_not} in every run.", first_of(&names)))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_REASON, reason};

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(reason(None), "no reason given");
        assert_eq!(reason(Some("the window is negative.\n  left: 1")), "the window is negative");
        let python = "the scheduler mine failed: Traceback (most recent call last):\n  File \"a.py\", line 3, in decide\nKeyError: 'x'";
        assert_eq!(reason(Some(python)), "KeyError: 'x'");
        assert_eq!(reason(Some(&"é".repeat(500))).chars().count(), LONGEST_REASON + 1);
    }
}
