//! The reason why a scheduler is slower: the parts of its runs' time.

use crate::comparison::{Comparison, Standing, Summary, measured_s};
use crate::number::short;
use crate::table::indented;

/// Fraction of the time from which on a part counts as the reason.
const TELLING: f64 = 0.15;

/// The row to explain: the requested one, otherwise the slowest scheduler.
pub fn explained<'a>(comparison: &'a Comparison, asked: Option<&str>) -> Option<&'a Summary> {
    match asked {
        Some(name) => comparison.row(name),
        None => slowest(comparison),
    }
}

/// The slowest scheduler that is worse than plain TCP on one path. If there is none, the slowest one that uses several
/// paths.
fn slowest(comparison: &Comparison) -> Option<&Summary> {
    if comparison.nothing_arrived() {
        return None;
    }
    let several = || comparison.multipath().rev().filter(|s| s.only_path().is_none());
    several().find(|s| s.standing() == Some(Standing::Worse)).or_else(|| several().next())
}

/// The main reason why a scheduler is slower, as a sentence; `None` if no part of the time stands out.
pub(crate) fn culprit(comparison: &Comparison, summary: &Summary) -> Option<String> {
    let time = &summary.time;
    let all = measured_s(time);
    if all <= 0.0 {
        return None;
    }
    let largest = |list: &[f64]| {
        let (path, seconds) = list.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((comparison.path_name(path), seconds))
    };
    let of = |seconds: f64| format!("{} of {} s", short(seconds), short(all));
    let candidates = [
        (
            time.window_full_s,
            largest(&time.window_full_by_path_s).filter(|(_, s)| *s > 0.0).map(|(path, seconds)| {
                format!(
                    "The receive window was full for {}, and for {} s of that the missing data was on {path}.",
                    of(time.window_full_s),
                    short(seconds)
                )
            }),
        ),
        (
            time.scheduler_waits_s,
            Some(format!("The scheduler waited for {} although it could send.", of(time.scheduler_waits_s))),
        ),
        (
            time.nagle_s,
            Some(format!(
                "Nagle's rule kept a short segment for {} (connection.nagle=false switches it off).",
                of(time.nagle_s)
            )),
        ),
        (time.pacing_s, Some(format!("Paced segments waited for their time for {}.", of(time.pacing_s)))),
        (time.no_data_s, Some(format!("There was nothing to send for {}.", of(time.no_data_s)))),
    ];
    let main = candidates.into_iter().filter(|(s, _)| *s >= TELLING * all).max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, Some(sentence))) = main {
        return Some(sentence);
    }
    let (path, seconds) = largest(&time.recovery_by_path_s)?;
    (seconds >= TELLING * all).then(|| format!("{path} was repairing losses for {}.", of(seconds)))
}

/// The parts of the time of a scheduler's runs, as text at most `width` characters wide; `None` if they were not
/// measured.
pub fn where_the_time_went(comparison: &Comparison, summary: &Summary, width: usize) -> Option<String> {
    let time = &summary.time;
    let all = measured_s(time);
    if all <= 0.0 {
        return None;
    }
    let mut text = indented(
        "",
        &format!("Where the time went with {} (seconds a run, of {}):", comparison.label(summary), short(all)),
        width,
    );
    let mut parts = shares(comparison, summary);
    parts.retain(|p| p.seconds >= 0.005 * all);
    for Part { name, seconds, detail } in parts {
        let bar = "█".repeat((seconds / all * 20.0 + 0.5) as usize);
        let line = format!("  {name:<26} {:>6}  {bar}", short(seconds));
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some(detail) = detail {
            text.push_str(&indented("      ", &detail, width));
        }
    }
    let paths = 0..comparison.paths;
    let names: Vec<String> = paths.clone().map(|p| comparison.path_name(p)).collect();
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0).max(6);
    text.push_str(&format!(
        "  {:<longest$}  {:>10}  {:>10}  {:>22}\n",
        "path", "slow start", "recovery", "blocked the receiver"
    ));
    for p in paths {
        let cell = |list: &[f64]| list.get(p).map_or("-".into(), |s| short(*s));
        text.push_str(&format!(
            "  {:<longest$}  {:>10}  {:>10}  {:>22}\n",
            names[p],
            cell(&time.slow_start_by_path_s),
            cell(&time.recovery_by_path_s),
            cell(&time.blocked_by_path_s)
        ));
    }
    Some(text)
}

/// A part of the measured time.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    pub(crate) detail: Option<String>,
}

/// The parts of the measured time, in a fixed order. They add up to it.
pub(crate) fn shares(comparison: &Comparison, summary: &Summary) -> Vec<Part> {
    let time = &summary.time;
    let holders: Vec<String> = time
        .window_full_by_path_s
        .iter()
        .enumerate()
        .filter(|(_, s)| **s >= 0.005)
        .map(|(p, s)| format!("on {} for {} s", comparison.path_name(p), short(*s)))
        .collect();
    let part = |name, seconds, detail| Part { name, seconds, detail };
    vec![
        part("congestion windows full", time.congestion_windows_full_s, None),
        part(
            "receive window full",
            time.window_full_s,
            (!holders.is_empty()).then(|| format!("the missing data was {}", holders.join(", "))),
        ),
        part("scheduler waits", time.scheduler_waits_s, None),
        part("last data on its way", time.sending_s, None),
        part("nothing to send", time.no_data_s, None),
        part("Nagle's rule", time.nagle_s, None),
        part("pacing", time.pacing_s, None),
    ]
}
