//! The parts of sentences: amounts, differences, names.

use crate::comparison::{Comparison, Summary};
use crate::number::{short, spoken};
use crate::statistics::Difference;

/// `minrtt`, `minrtt and lws`, `minrtt and 4 more`.
pub(super) fn others(same: &[String]) -> String {
    match same {
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        [] => String::new(),
    }
}

/// `3.3 Mbit/s (93 %) more than NAME (significant)`.
pub(super) fn compared(comparison: &Comparison, other: &Summary, difference: &Difference, name: &str) -> String {
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

pub(super) fn path(comparison: &Comparison, tcp: &Summary) -> String {
    tcp.plain_tcp.map_or_else(|| tcp.scheduler.clone(), |p| comparison.path_name(p))
}

pub(super) fn verb(comparison: &Comparison) -> &'static str {
    if comparison.sized { "takes" } else { "delivers" }
}

pub(crate) fn unit(comparison: &Comparison) -> &'static str {
    if comparison.sized { "s" } else { "Mbit/s" }
}

pub(super) fn value(comparison: &Comparison, summary: &Summary) -> Option<String> {
    if !comparison.sized {
        return Some(spoken(summary.goodput_mbps.mean));
    }
    summary.completion_s.filter(|_| summary.unfinished() == 0).map(|c| spoken(c.mean))
}

pub(crate) fn number_word(n: usize) -> String {
    const WORDS: [&str; 9] = ["Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    n.checked_sub(2).and_then(|i| WORDS.get(i)).map_or_else(|| n.to_string(), |w| (*w).to_string())
}
