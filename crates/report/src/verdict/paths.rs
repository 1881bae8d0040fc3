//! Sentences about the paths that carried data, and about several paths that are worse than one.

use super::words::{all_of, amount, compared, does_not, names, number_word, one_of, plain_tcp, schedulers};
use crate::comparison::{BesideTcp, Comparison, Standing, Summary};
use crate::time_spent::culprit;
use pathweave_units::counted;

/// The sentence for the case that data went over one path only.
pub(super) fn one_path(comparison: &Comparison, best: &Summary) -> Option<String> {
    if comparison.paths < 2 {
        return None;
    }
    let path = best.only_path()?;
    let only = comparison.path_name(path);
    let every = comparison.multipath().all(|s| s.only_path() == Some(path));
    // A few packets may have tried the others.
    let alone = |row: &Summary| row.share[path] >= 1.0;
    match every {
        false if alone(best) => return Some(format!("It sent over {only} alone.")),
        false => return Some(format!("It sent over {only} almost alone.")),
        true => {}
    }
    let idle = comparison.summaries.iter().filter(|s| s.goodput_mbps.mean == 0.0).filter_map(|s| s.plain_tcp);
    let idle: Vec<String> = idle.filter(|p| *p != path).map(|p| comparison.path_name(p)).collect();
    let backups = comparison.path_info.iter().filter(|p| p.backup && p.name != only && !idle.contains(&p.name));
    let backups: Vec<String> = backups.map(|p| p.name.clone()).collect();
    let carried = match comparison.multipath().all(alone) {
        true => format!("Only {only} carried data"),
        false => format!("Hardly any data went over another path than {only}"),
    };
    let mut reasons = Vec::new();
    match &backups[..] {
        [] => {}
        [one] => reasons.push(format!("{one} is a backup")),
        backups => reasons.push(format!("{} are backups", all_of(backups))),
    }
    if !idle.is_empty() {
        reasons.push(format!("plain TCP delivers nothing on {}", all_of(&idle)));
    }
    let all_have_one = 1 + idle.len() + backups.len() == comparison.paths;
    let reasons = reasons.join(", and ");
    Some(match (all_have_one, reasons.is_empty()) {
        (true, _) => format!("{carried}: {reasons}."),
        (false, true) => format!("{carried}, with every scheduler."),
        (false, false) => format!("{carried}, with every scheduler; {reasons}."),
    })
}

/// The sentence about schedulers with which several paths are worse than one, and the reason. With a single seed, it
/// says what that seed shows.
pub(super) fn worse_than_one(comparison: &Comparison) -> Option<String> {
    let tcp = comparison.best_plain_tcp()?;
    let beside = |row: &Summary| row.beside_tcp_by_several_paths();
    let several_seeds = comparison.multipath().any(|row| beside(row).is_some_and(|b| b.seeds > 1));
    let judged: Vec<(&Summary, BesideTcp)> = comparison
        .multipath()
        .filter_map(|row| Some((row, beside(row)?)))
        .filter(|(_, b)| !several_seeds || b.seeds > 1)
        .collect();
    let worse: Vec<&(&Summary, BesideTcp)> = judged.iter().filter(|(_, b)| b.standing == Standing::Worse).collect();
    let whole = |(row, _): &&&(&Summary, BesideTcp)| row.lacking == 0;
    let all_are_whole = worse.iter().all(|row| whole(&row));
    let (worst, with_worst) = **worse.iter().rfind(whole).or(worse.last())?;
    let count = |rows: &[&Summary]| schedulers(rows.iter().copied());
    let bad = count(&worse.iter().map(|(row, _)| *row).collect::<Vec<_>>());
    let all = count(&judged.iter().map(|(row, _)| *row).collect::<Vec<_>>());
    let run = schedulers(comparison.multipath());
    let how_many = number_word(comparison.paths);
    let how_many = match several_seeds {
        true => how_many,
        false => format!("With this seed {}", how_many.to_lowercase()),
    };
    let missing = comparison.absent.iter().any(|a| a.plain_tcp.is_none());
    let mut text = match (bad == all && all == run && !missing, all) {
        (true, 1) => format!("{how_many} paths are worse than one here"),
        (true, _) => format!("{how_many} paths are worse than one here with every scheduler"),
        _ if all < run => {
            let both = if comparison.paths == 2 { "both" } else { "several" };
            match all {
                1 => format!("{how_many} paths are worse than one with the one scheduler that uses {both}"),
                _ => format!("{how_many} paths are worse than one with {bad} of the {all} schedulers that use {both}"),
            }
        }
        (_, 1) => format!("{how_many} paths are worse than one with the one scheduler measured"),
        _ => format!("{how_many} paths are worse than one with {bad} of {}", counted(all, "scheduler")),
    };
    let equals: Vec<&Summary> = worse.iter().map(|(row, _)| *row).filter(|row| row.is_equal(worst)).collect();
    let equal_names = names(equals.iter().copied());
    let is_alone = worse.iter().all(|(row, _)| row.is_equal(worst) || is_told_apart(comparison, row, worst));
    if all > 1 && (bad == 1 || equal_names.len() < bad) {
        let most = if all_are_whole && is_alone { "most of all" } else { "for example" };
        text.push_str(&format!(", {most} with {}", one_of(&equal_names)));
    }
    if with_worst.lost > with_worst.won {
        let BesideTcp { lost, seeds, .. } = with_worst;
        let does_not = does_not(comparison.judged);
        let it = if equal_names.len() > 1 { "each" } else { "it" };
        text.push_str(&format!(
            ": with {lost} of {} {it} {does_not}, and {} does",
            counted(seeds, "seed"),
            plain_tcp(comparison, tcp)
        ));
    } else if let Some(difference) = worst.against_tcp.filter(|_| all > 1) {
        // With a single scheduler, this has been said already.
        let name = plain_tcp(comparison, tcp);
        text.push_str(&format!(": {}", compared(comparison.judged, &difference, Some(&name))));
    }
    text.push('.');
    // Rows with equal values may have spent their time differently.
    if let Some(reason) = culprit(comparison, worst).filter(|_| equals.len() == 1) {
        text.push_str(&format!(" {reason}"));
    }
    Some(text)
}

/// Whether the results of two rows differ by more than chance and rounding.
fn is_told_apart(comparison: &Comparison, row: &Summary, other: &Summary) -> bool {
    if row.unfinished() * other.measured() != other.unfinished() * row.measured() {
        return true;
    }
    let (Some(a), Some(b)) = (row.value, other.value) else { return false };
    let reads_the_same = amount(comparison.judged, a.mean) == amount(comparison.judged, b.mean);
    !reads_the_same && row.value_beside(other).is_some_and(|d| d.is_significant() != Some(false))
}
