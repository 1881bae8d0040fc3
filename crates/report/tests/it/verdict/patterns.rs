//! Patterns of sentences.

use super::oracle::By;
use super::random::Case;
use regex::Regex;
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static REGEXES: RefCell<BTreeMap<String, Regex>> = const { RefCell::new(BTreeMap::new()) };
}

/// A compiled pattern, from a cache.
pub(super) fn regex(pattern: &str) -> Regex {
    let make = || Regex::new(pattern).expect("a pattern");
    REGEXES.with(|known| known.borrow_mut().entry(pattern.to_owned()).or_insert_with(make).clone())
}

/// A match of a pattern.
pub(super) struct Said {
    groups: Vec<String>,
    names: Vec<(String, String)>,
    rest: String,
}

impl Said {
    /// The text of a group; empty if the group is absent.
    pub(super) fn get(&self, group: usize) -> &str {
        &self.groups[group]
    }
    pub(super) fn number(&self, group: usize) -> usize {
        self.groups[group].parse().expect("a number")
    }
    pub(super) fn named(&self, name: &str) -> &str {
        self.names.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text)
    }
    /// The text after the match.
    pub(super) fn rest(&self) -> &str {
        &self.rest
    }
}

/// The match of a pattern in a text, if there is one.
pub(super) fn fits(pattern: &str, text: &str) -> Option<Said> {
    let regex = regex(pattern);
    let found = regex.captures(text)?;
    let group = |i: usize| found.get(i).map_or("", |m| m.as_str()).to_owned();
    let names = regex.capture_names().flatten();
    Some(Said {
        groups: (0..found.len()).map(group).collect(),
        names: names.map(|n| (n.to_owned(), found.name(n).map_or("", |m| m.as_str()).to_owned())).collect(),
        rest: text[found.get(0).map_or(0, |m| m.end())..].to_owned(),
    })
}

/// Parses `a, b and 3 more`: the names, and the number of the others.
pub(super) fn listed(text: &str) -> (Vec<String>, usize) {
    let mut names: Vec<String> = text.split(", ").flat_map(|part| part.split(" and ")).map(str::to_owned).collect();
    names.retain(|name| !name.is_empty());
    let more = names.last().and_then(|last| last.strip_suffix(" more")?.parse().ok());
    if more.is_some() {
        names.pop();
    }
    (names, more.unwrap_or(0))
}

/// The predicate of the best scheduler.
pub(super) enum Value {
    /// The verb, and the amount as number and unit.
    Amount(&'static str, (String, String)),
    Runs(usize, usize),
}

/// The predicate at the start of a text, and the text after it.
pub(super) fn value(text: &str) -> Option<(Value, String)> {
    for word in ["delivers", "takes", "has a delay of"] {
        let after = if word == "has a delay of" { " at the 99th percentile" } else { "" };
        let pattern = format!("^{word} (under 0\\.01|[0-9.]+) (Mbit/s|ms|s){after}");
        if let Some(said) = fits(&pattern, text) {
            let amount = (said.get(1).to_owned(), said.get(2).to_owned());
            return Some((Value::Amount(word, amount), said.rest().to_owned()));
        }
    }
    let said = fits("^(?:finishes|delivers what is offered) in ([0-9]+) of ([0-9]+) runs?", text)?;
    Some((Value::Runs(said.number(1), said.number(2)), said.rest().to_owned()))
}

/// Whether a number, rounded to as many digits as `text` has, is written as `text`.
pub(super) fn rounds_to(text: &str, x: f64) -> bool {
    if text == "under 0.01" {
        return x > 0.0 && x < 0.01;
    }
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5 / (0..digits).fold(1.0, |power, _| power * 10.0);
    text.parse::<f64>().is_ok_and(|shown| (shown - x).abs() <= half + 1e-6)
}

impl Case {
    /// Whether a value is written as this number and unit. Values below a second are in milliseconds.
    pub(super) fn shows(&self, (number, unit): &(String, String), x: f64) -> bool {
        match (self.by(), unit.as_str()) {
            (By::Goodput, "Mbit/s") | (By::Completion, "s") => rounds_to(number, x),
            (By::Delay, "ms") => x < 1000.0 && rounds_to(number, x),
            (By::Delay, "s") => x > 999.0 && rounds_to(number, x / 1e3),
            _ => false,
        }
    }
}
