//! Parts of sentences: amounts, differences, names.

use crate::comparison::{Comparison, Judged, Summary};
use crate::number::{short, spoken};
use crate::statistics::Difference;

/// Most names in a list; the others are counted.
const NAMES: usize = 3;

/// A value with its unit: `31.5 Mbit/s`, `2.5 s`, `348 ms`.
pub(super) fn amount(judged: Judged, x: f64) -> String {
    let (x, unit) = scaled(judged, x, x);
    match spoken(x).as_str() {
        "0.00" if x != 0.0 => format!("under 0.01 {unit}"),
        text => format!("{text} {unit}"),
    }
}

/// The number and the unit of a value. Milliseconds become seconds if `largest` is at least one second.
fn scaled(judged: Judged, x: f64, largest: f64) -> (f64, &'static str) {
    match judged {
        Judged::Delay if largest.abs() >= 999.5 => (x / 1e3, "s"),
        _ => (x, judged.unit()),
    }
}

/// The predicate for a value: `delivers 31.5 Mbit/s`, `takes 2.5 s`, `has a delay of 348 ms at the 99th percentile`.
pub(super) fn does(judged: Judged, x: f64) -> String {
    let amount = amount(judged, x);
    match judged {
        Judged::Goodput => format!("delivers {amount}"),
        Judged::Completion => format!("takes {amount}"),
        Judged::Delay => format!("has a delay of {amount} at the 99th percentile"),
    }
}

/// The predicate of a run that has a value: `finishes`.
pub(super) fn finishes(judged: Judged) -> &'static str {
    if judged == Judged::Delay { "delivers what is offered" } else { "finishes" }
}

/// The predicate of a run that has no value: `does not finish`.
pub(super) fn does_not(judged: Judged) -> &'static str {
    if judged == Judged::Delay { "does not deliver what is offered" } else { "does not finish" }
}

/// A difference in words: `0.42 Mbit/s (5 %) more than NAME (significant)`. Without `name`, the words `than NAME` are
/// left out, for a second comparison with the same row.
pub(super) fn compared(judged: Judged, difference: &Difference, name: Option<&str>) -> String {
    let equal = if judged == Judged::Goodput { "much" } else { "long" };
    let (than, one_seed) = (name.map_or(String::new(), |n| format!(" than {n}")), difference.estimate.count == 1);
    let name = name.unwrap_or("it");
    let mean = difference.mean();
    if difference.is_equal {
        let with = if one_seed { "with this seed" } else { "with every seed" };
        return format!("exactly as {equal} as {name} {with}");
    }
    if difference.is_significant() == Some(false) {
        let margin = difference.estimate.margin().unwrap_or(0.0);
        let largest = mean.abs().max(margin);
        let ((mean, unit), (margin, _)) = (scaled(judged, mean, largest), scaled(judged, margin, largest));
        return format!("not significantly more or less{than} ({} ± {} {unit})", short(mean), short(margin));
    }
    let settled = match difference.is_significant() {
        _ if difference.same_on_every_seed => "the same with every seed",
        Some(_) => "significant",
        None => "one seed: significance unknown",
    };
    let word = if mean > 0.0 { "more" } else { "less" };
    let (by, base) = (amount(judged, mean.abs()), difference.reference_mean);
    // Less than 1 % is no reason to choose, however certain it is.
    if is_level(difference) {
        return format!("practically as {equal} as {name} ({by} {word}, {settled})");
    }
    let percent = if base > 0.0 { format!(" ({:.0} %)", mean.abs() / base * 100.0) } else { String::new() };
    format!("{by}{percent} {word}{than} ({settled})")
}

/// Whether a difference is at most 1 %.
pub(super) fn is_level(difference: &Difference) -> bool {
    difference.is_equal || difference.mean().abs() <= 0.01 * difference.reference_mean
}

/// Number of schedulers in these rows.
pub(super) fn schedulers<'a>(rows: impl Iterator<Item = &'a Summary>) -> usize {
    rows.map(|s| 1 + s.same.len()).sum()
}

/// The names in a row: `minrtt`, `minrtt and lws`, `minrtt and 4 more`.
pub(super) fn with_same(summary: &Summary) -> String {
    one_of(&names([summary]))
}

/// The names of the schedulers in these rows.
pub(super) fn names<'a>(rows: impl IntoIterator<Item = &'a Summary>) -> Vec<String> {
    rows.into_iter().flat_map(|row| core::iter::once(&row.scheduler).chain(&row.same)).cloned().collect()
}

/// The first name, and the number of the others: `minrtt`, `minrtt and lws`, `minrtt and 4 more`.
pub(super) fn one_of(names: &[String]) -> String {
    match names {
        [first, _, _, ..] => format!("{first} and {} more", names.len() - 1),
        _ => all_of(names),
    }
}

/// All names: `a`, `a and b`, `a, b and c`.
pub(super) fn all_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The first three names, and the number of the others.
pub(super) fn first_of(names: &[String]) -> String {
    match names.len() {
        0..=4 => all_of(names),
        n => format!("{} and {} more", names[..NAMES].join(", "), n - NAMES),
    }
}

/// `No scheduler`, or `None of the 2 that ran` if others have no measurement. With one seed, `With this seed no
/// scheduler`.
pub(super) fn no_scheduler(comparison: &Comparison, one_seed: bool) -> String {
    let nobody = nobody(comparison);
    if one_seed { with_this_seed(true, nobody) } else { nobody.replacen('n', "N", 1) }
}

/// `no scheduler`, or `none of the 2 that ran` if others have no measurement.
pub(super) fn nobody(comparison: &Comparison) -> String {
    let mut absent = comparison.absent.iter().filter(|a| a.plain_tcp.is_none()).peekable();
    let missing = absent.peek().is_some();
    let measured = if absent.any(|a| a.failed > 0) { "measured" } else { "that ran" };
    match schedulers(comparison.multipath()) {
        _ if !missing => "no scheduler".into(),
        1 => format!("no scheduler {measured}"),
        n => format!("none of the {n} {measured}"),
    }
}

/// Begins a statement about a single seed with `With this seed`.
pub(super) fn with_this_seed(one_seed: bool, text: String) -> String {
    if one_seed { format!("With this seed {text}") } else { text }
}

/// The verb: `is`, or `are` for several.
pub(super) fn is(several: usize) -> &'static str {
    if several == 1 { "is" } else { "are" }
}

/// The name of a row of plain TCP: `plain TCP on wifi`.
pub(super) fn plain_tcp(comparison: &Comparison, tcp: &Summary) -> String {
    let path = tcp.plain_tcp.map_or_else(|| tcp.scheduler.clone(), |p| comparison.path_name(p));
    format!("plain TCP on {path}")
}

/// The host of a row, if that of the row which is compared with it is another: ` on a Linux host`. The difference is
/// then that of the hosts too.
pub(super) fn on_host(row: &Summary, compared: &Summary) -> String {
    if row.host == compared.host { String::new() } else { format!(" on {}", row.host.in_words()) }
}

/// A number at the start of a sentence.
pub(super) fn number_word(n: usize) -> String {
    const WORDS: [&str; 9] = ["Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];
    n.checked_sub(2).and_then(|i| WORDS.get(i)).map_or_else(|| n.to_string(), |w| (*w).to_string())
}
