//! The answer in a few sentences: which scheduler, by how much, whether that is significant, and when several paths are worse than one.
//! Then why a scheduler is slower: where the time of its runs went.

use crate::number::{short, spoken};
use crate::statistics::Difference;
use crate::summary::{Comparison, Standing, Summary, measured_s};
use crate::table::{indented, table};

/// The answer in plain words; `None` if no scheduler was run.
pub fn verdict(comparison: &Comparison) -> Option<String> {
    let best = comparison.best_multipath()?;
    if comparison.nothing_arrived() {
        return Some(
            "Nothing arrived: no scheduler delivered a byte, and plain TCP did not either on any path. The paths may be down, \
             or lose everything."
                .into(),
        );
    }
    let mut sentences = Vec::new();
    if best.goodput_mbps.mean == 0.0 {
        sentences.push("No scheduler delivered a byte, although plain TCP did.".into());
    } else {
        sentences.push(best_scheduler(comparison, best));
    }
    sentences.extend(as_good(comparison, best));
    sentences.extend(one_path(comparison, best));
    sentences.extend(worse_than_one(comparison));
    Some(sentences.join(" "))
}

/// The scenario's name, the answer, the ranked table, and where the time of the row to explain went: of the scheduler `why`, or of the
/// slowest one. Lines have at most `columns` characters, if `columns` is at least 80.
pub fn ranked(comparison: &Comparison, why: Option<&str>, columns: usize) -> String {
    let mut text = format!("{}\n\n", comparison.scenario);
    if let Some(answer) = verdict(comparison) {
        text.push_str(&format!("{}\n\n", wrapped(&answer, columns)));
    }
    text.push_str(&format!("{}\n", table(comparison, columns)));
    if let Some(why) = explained(comparison, why).and_then(|s| where_the_time_went(comparison, s, columns)) {
        text.push_str(&format!("{why}\n"));
    }
    text
}

/// Breaks text into lines of at most `columns` characters, unless a word is longer.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + 1 + length <= columns;
            out.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Which scheduler is best, and by how much.
fn best_scheduler(comparison: &Comparison, best: &Summary) -> String {
    let schedulers = comparison.summaries.iter().filter(|s| s.plain_tcp.is_none()).count();
    let mut text = match (schedulers, &best.same[..]) {
        (1, []) => format!("{} ", best.scheduler),
        (1, same) => format!("{}, like {}, ", best.scheduler, others(same)),
        (_, []) => format!("{} is the best scheduler here: it ", best.scheduler),
        (_, same) => format!("{} and {} are the best schedulers here: each ", best.scheduler, others(same)),
    };
    match value(comparison, best) {
        Some(x) => text.push_str(&format!("{} {x} {}", verb(comparison), unit(comparison))),
        None => text.push_str(&format!("finishes {} of {} runs", best.runs - best.unfinished(), best.runs)),
    }
    let tcp = comparison.best_plain_tcp();
    let mut said = false;
    if let (Some(tcp), Some(difference)) = (tcp, best.against_tcp) {
        let name = format!("plain TCP on {}", path(comparison, tcp));
        text.push_str(&format!(", {}", compared(comparison, tcp, &difference, &name)));
        said = true;
    } else if let Some(tcp) = tcp.filter(|t| comparison.sized && t.completion_s.is_none()) {
        text.push_str(&format!(", while plain TCP on {} does not finish", path(comparison, tcp)));
        said = true;
    }
    if let (Some(linux), Some(difference)) = (comparison.row("linux"), best.against_linux) {
        let join = if said { "; that is" } else { "," };
        text.push_str(&format!("{join} {}", compared(comparison, linux, &difference, "linux")));
    } else if best.is("linux") && schedulers > 1 {
        text.push_str("; nothing beats the scheduler of Linux here");
    }
    text + "."
}

/// The schedulers within 1 % of the best: a smaller lead is no reason to choose. The first sentence has compared with `linux`.
fn as_good(comparison: &Comparison, best: &Summary) -> Option<String> {
    let value = |s: &Summary| match comparison.sized {
        true => s.completion_s.filter(|_| s.unfinished() == 0).map(|c| c.mean),
        false => Some(s.goodput_mbps.mean),
    };
    let top = value(best).filter(|x| *x > 0.0)?;
    let near = |s: &&Summary| {
        let other = s.plain_tcp.is_none() && s.scheduler != best.scheduler;
        let said = best.against_linux.is_some() && s.is("linux") && s.same.is_empty();
        other && !said && value(s).is_some_and(|x| (x - top).abs() <= 0.01 * top)
    };
    let names: Vec<&String> =
        comparison.summaries.iter().filter(near).flat_map(|s| core::iter::once(&s.scheduler).chain(&s.same)).collect();
    let last = names.len().checked_sub(1)?;
    let listed = |names: &[&String]| names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", ");
    Some(match last {
        0 => format!("{} is within 1 % of it.", names[0]),
        1..=3 => format!("{} and {} are within 1 % of it.", listed(&names[..last]), names[last]),
        _ => format!("{} and {} more are within 1 % of it.", listed(&names[..3]), names.len() - 3),
    })
}

/// `minrtt`, `minrtt and lws`, `minrtt and 4 more`.
fn others(same: &[String]) -> String {
    match same {
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        [] => String::new(),
    }
}

/// `3.3 Mbit/s (93 %) more than NAME (significant)`.
fn compared(comparison: &Comparison, other: &Summary, difference: &Difference, name: &str) -> String {
    let amount = difference.mean().abs();
    let base = match comparison.sized {
        true => other.completion_s.map_or(0.0, |c| c.mean),
        false => other.goodput_mbps.mean,
    };
    let percent = if base > 0.0 { format!(" ({:.0} %)", amount / base * 100.0) } else { String::new() };
    let word = if difference.mean() > 0.0 { "more" } else { "less" };
    let equal = if comparison.sized { "long" } else { "much" };
    if amount == 0.0 {
        return format!("exactly as {equal} as {name}");
    }
    if difference.is_significant() == Some(false) {
        let margin = difference.estimate.margin().unwrap_or(0.0);
        return format!(
            "about as {equal} as {name} (the difference of {} ± {} {} is not significant)",
            short(difference.mean()),
            short(margin),
            unit(comparison)
        );
    }
    // Less than 1 % is no reason to choose, however certain it is.
    let level = base > 0.0 && amount < 0.01 * base;
    let settled = match difference.is_significant() {
        _ if difference.same_on_every_seed => "the same on every seed",
        Some(_) => "significant",
        None => "one seed: significance unknown",
    };
    if level {
        return format!("practically as {equal} as {name} ({} {} {word}, {settled})", spoken(amount), unit(comparison));
    }
    format!("{} {}{percent} {word} than {name} ({settled})", spoken(amount), unit(comparison))
}

/// The sentence for the case that data went over one path only.
fn one_path(comparison: &Comparison, best: &Summary) -> Option<String> {
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
fn worse_than_one(comparison: &Comparison) -> Option<String> {
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

fn path(comparison: &Comparison, tcp: &Summary) -> String {
    tcp.plain_tcp.map_or_else(|| tcp.scheduler.clone(), |p| comparison.path_name(p))
}

fn verb(comparison: &Comparison) -> &'static str {
    if comparison.sized { "takes" } else { "delivers" }
}

pub(crate) fn unit(comparison: &Comparison) -> &'static str {
    if comparison.sized { "s" } else { "Mbit/s" }
}

fn value(comparison: &Comparison, summary: &Summary) -> Option<String> {
    if !comparison.sized {
        return Some(spoken(summary.goodput_mbps.mean));
    }
    summary.completion_s.filter(|_| summary.unfinished() == 0).map(|c| spoken(c.mean))
}

pub(crate) fn number_word(n: usize) -> String {
    const WORDS: [&str; 9] = ["Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    n.checked_sub(2).and_then(|i| WORDS.get(i)).map_or_else(|| n.to_string(), |w| (*w).to_string())
}

/// Something counts as the reason only if it takes at least this fraction of the time.
const TELLING: f64 = 0.15;

/// The row to explain: the one that was asked for, otherwise the slowest scheduler.
pub fn explained<'a>(comparison: &'a Comparison, asked: Option<&str>) -> Option<&'a Summary> {
    match asked {
        Some(name) => comparison.row(name),
        None => slowest(comparison),
    }
}

/// The slowest scheduler that is worse than plain TCP on one path. If there is none, the slowest that uses several paths.
fn slowest(comparison: &Comparison) -> Option<&Summary> {
    if comparison.nothing_arrived() {
        return None;
    }
    let several = || comparison.summaries.iter().rev().filter(|s| s.plain_tcp.is_none() && s.only_path().is_none());
    several().find(|s| s.standing == Some(Standing::Worse)).or_else(|| several().next())
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

/// Where the time of a scheduler's runs went, as a block of text at most `width` columns wide; `None` if it was not measured.
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

/// A part of the time.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    pub(crate) detail: Option<String>,
}

/// The parts that add up to the measured time, in a fixed order.
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

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn sentences_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("unbreakable a", 5), "unbreakable\na");
    }
}
