//! Which paths carried data, and whether several are worse than one.

use super::words::{compared, number_word, path};
use crate::comparison::{Comparison, Standing, Summary};
use crate::time_spent::culprit;

/// The sentence for the case that data went over one path only.
pub(super) fn one_path(comparison: &Comparison, best: &Summary) -> Option<String> {
    if comparison.paths < 2 {
        return None;
    }
    let multipath: Vec<_> = comparison.summaries.iter().filter(|s| s.plain_tcp.is_none()).collect();
    let same = |s: &&Summary| s.only_path() == best.only_path();
    let only = comparison.path_name(best.only_path()?);
    if !multipath.iter().all(same) {
        return Some(format!("It sent over {only} alone."));
    }
    let idle: Vec<String> = comparison
        .summaries
        .iter()
        .filter(|s| s.goodput_mbps.mean == 0.0)
        .filter_map(|s| s.plain_tcp)
        .map(|p| comparison.path_name(p))
        .collect();
    let backups: Vec<&str> = comparison.path_info.iter().filter(|p| p.backup).map(|p| p.name.as_str()).collect();
    Some(match (&idle[..], &backups[..]) {
        ([], []) => format!("Only {only} carried data, with every scheduler."),
        ([], backups) => format!("Only {only} carried data: {} a backup.", is(backups)),
        (idle, _) => format!("Only {only} carried data: plain TCP delivers nothing on {}.", idle.join(" and ")),
    })
}

fn is(names: &[&str]) -> String {
    match names {
        [one] => format!("{one} is"),
        several => format!("{} are each", several.join(" and ")),
    }
}

/// Whether several paths are worse than one, with which schedulers, and why.
pub(super) fn worse_than_one(comparison: &Comparison) -> Option<String> {
    let judged: Vec<_> = comparison.summaries.iter().filter(|s| s.standing.is_some()).collect();
    let worse: Vec<_> = judged.iter().filter(|s| s.standing == Some(Standing::Worse)).collect();
    let tcp = comparison.best_plain_tcp()?;
    let worst = worse.last()?;
    let schedulers = |list: &[&&Summary]| list.iter().map(|s| 1 + s.same.len()).sum::<usize>();
    let (bad, all) = (schedulers(&worse), schedulers(&judged.iter().collect::<Vec<_>>()));
    let how_many = number_word(comparison.paths);
    let multipath: Vec<_> = comparison.summaries.iter().filter(|s| s.plain_tcp.is_none()).collect();
    let run = schedulers(&multipath.iter().collect::<Vec<_>>());
    let mut text = match (bad == all && all == run, all) {
        (true, 1) => format!("{how_many} paths are worse than one here"),
        (true, _) => format!("{how_many} paths are worse than one here with every scheduler"),
        _ if all < run => {
            let both = if comparison.paths == 2 { "both" } else { "several" };
            format!("{how_many} paths are worse than one with {bad} of the {all} schedulers that use {both}")
        }
        _ => format!("{how_many} paths are worse than one with {bad} of {all} schedulers"),
    };
    if all > 1 {
        text.push_str(&format!(", most of all with {}", worst.scheduler));
    }
    match worst.against_tcp {
        _ if comparison.sized && worst.unfinished() > 0 => {
            text.push_str(&format!(": {} of {} runs do not finish", worst.unfinished(), worst.runs));
        }
        // With a single scheduler, this has been said already.
        Some(difference) if all > 1 => {
            let name = format!("plain TCP on {}", path(comparison, tcp));
            text.push_str(&format!(": {}", compared(comparison, tcp, &difference, &name)));
        }
        _ => {}
    }
    text.push('.');
    if let Some(reason) = culprit(comparison, worst) {
        text.push_str(&format!(" {reason}"));
    }
    Some(text)
}
