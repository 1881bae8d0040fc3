//! The reason why a scheduler is slower: the parts of its runs' time.

use crate::comparison::{Comparison, Judged, Summary, by_results, measured_s};
use crate::number::short;
use crate::table::indented;
use pathweave_lab::results::TimeSpent;

/// The least fraction of the time that counts as a reason.
const TELLING: f64 = 0.15;

/// The meaning of the column of that name. `page.js` and the playground's `results.js` have the same sentences.
const BLOCKED: &str = "blocked the receiver: later data had arrived and waited for a byte on this path. With several paths \
                       this is usual, often for most of the time. It delays data, but costs goodput only while the receive \
                       window is full.";

/// The row to explain: the requested one, otherwise the slowest scheduler that uses several paths.
pub fn explained<'a>(comparison: &'a Comparison, asked: Option<&str>) -> Option<&'a Summary> {
    match asked {
        Some(name) => comparison.row(name),
        None => slowest(comparison),
    }
}

/// The scheduler with the worst results of those that use several paths. One that lacks seeds of others counts too, with
/// the seeds that it has.
fn slowest(comparison: &Comparison) -> Option<&Summary> {
    if comparison.nothing_arrived() {
        return None;
    }
    let several = comparison.multipath().filter(|row| row.only_path().is_none());
    several.max_by(|a, b| by_results(a, b, comparison.judged.less_is_better()))
}

/// The main reason why a scheduler is behind plain TCP, as a sentence; `None` if no part of the time stands out. A part
/// of the time is a reason only if its share exceeds that of plain TCP by at least [`TELLING`], and by at least the
/// relative loss of goodput or completion time.
pub(crate) fn culprit(comparison: &Comparison, summary: &Summary) -> Option<String> {
    let time = &summary.time;
    let all = measured_s(time);
    if all <= 0.0 {
        return None;
    }
    let more_than = |tcp: Option<&Summary>, part: &dyn Fn(&TimeSpent) -> f64| {
        let of = |time: &TimeSpent| part(time) / measured_s(time).max(f64::MIN_POSITIVE);
        of(time) - tcp.map_or(0.0, |row| of(&row.time))
    };
    let least = TELLING.max(missing_part(comparison, summary));
    let largest = |list: &[f64]| {
        let (path, seconds) = list.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((comparison.path_name(path), seconds))
    };
    let added_up = match summary.connections {
        0 | 1 => String::new(),
        count => format!(" ({count} connections added up)"),
    };
    let of = |seconds: f64| format!("{} of {} s{added_up}", short(seconds), short(all));
    type Of = fn(&TimeSpent) -> f64;
    let candidates: [(Of, Option<String>); 5] = [
        (
            |t| t.window_full_s,
            largest(&time.window_full_by_path_s).filter(|(_, s)| *s > 0.0).map(|(path, seconds)| {
                format!(
                    "The receive window was full for {}, and for {} s of that the missing data was on {path}.",
                    of(time.window_full_s),
                    short(seconds)
                )
            }),
        ),
        (
            |t| t.scheduler_waits_s,
            Some(format!("The scheduler waited for {} although it could send.", of(time.scheduler_waits_s))),
        ),
        (
            |t| t.nagle_s,
            Some(format!(
                "Nagle's rule kept a short segment for {} (connection.nagle=false switches it off).",
                of(time.nagle_s)
            )),
        ),
        (|t| t.pacing_s, Some(format!("Paced segments waited for their time for {}.", of(time.pacing_s)))),
        (
            |t| t.send_buffer_s,
            Some(format!("The send buffer (connection.send_buffer) was full for {}.", of(time.send_buffer_s))),
        ),
    ];
    let tcp = comparison.best_plain_tcp();
    let candidates = candidates.into_iter().map(|(part, sentence)| (more_than(tcp, &part), sentence));
    let main = candidates.filter(|(more, _)| *more >= least).max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, Some(sentence))) = main {
        return Some(sentence);
    }
    // Plain TCP repairs the losses of the same path too.
    let repairs = |path: usize| {
        let tcp = comparison.summaries.iter().find(|row| row.plain_tcp == Some(path))?;
        let part = |time: &TimeSpent| time.recovery_by_path_s.get(path).copied().unwrap_or(0.0);
        Some((more_than(Some(tcp), &part), path, part(time)))
    };
    let (more, path, seconds) = (0..comparison.paths).filter_map(repairs).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (more >= least).then(|| format!("{} was repairing losses for {}.", comparison.path_name(path), of(seconds)))
}

/// The part of the goodput, or of the completion time, by which a scheduler is behind plain TCP. It is 0 for delays,
/// because a delay does not tell how all of the time was spent.
fn missing_part(comparison: &Comparison, summary: &Summary) -> f64 {
    let Some(difference) = summary.against_tcp else { return 0.0 };
    let (more, tcp) = (difference.mean(), difference.reference_mean);
    match comparison.judged {
        Judged::Goodput => -more / tcp.max(f64::MIN_POSITIVE),
        Judged::Completion => more / (tcp + more).max(f64::MIN_POSITIVE),
        Judged::Delay => 0.0,
    }
}

/// The parts of the time of a scheduler's runs, as text at most `width` characters wide; `None` if they were not
/// measured.
pub fn where_the_time_went(comparison: &Comparison, summary: &Summary, width: usize) -> Option<String> {
    let time = &summary.time;
    let all = measured_s(time);
    if all <= 0.0 {
        return None;
    }
    let added_up = match summary.connections {
        0 | 1 => String::new(),
        count => format!("{count} connections added up, "),
    };
    let name = comparison.label(summary);
    let heading = format!("Where the time went with {name} (seconds a run, {added_up}of {}):", short(all));
    let mut text = indented("", &heading, width);
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
    if time.blocked_by_path_s.iter().any(|s| *s >= 0.005 * all) {
        text.push_str(&indented("  ", BLOCKED, width));
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
        part("send buffer full", time.send_buffer_s, None),
    ]
}
