//! Errors in scenarios: the position, the text there, and what is allowed.

use super::keys::known_keys;
use core::fmt;
use core::ops::Range;
use pathweave_algorithms::{meant, names_in_words};
use std::sync::Arc;

/// Name in place of a file's in errors of overrides.
pub const SET: &str = "--set";
/// Name in place of a file's in errors of scheduler entries on the command line.
pub const SCHEDULERS: &str = "--schedulers";
/// How a list of allowed keys begins if it is of one section: `after path: 0, wlan, rate`.
pub(super) const AFTER: &str = "after ";
/// The sections of a scenario whose settings an override can name; the scenario itself has no name.
const SECTIONS: [&str; 3] = ["", "connection", "path"];
/// The key for a scheduler's name.
const SCHEDULER: &str = "scheduler";
/// Keys whose values are names, and the kind of thing that they name.
const NAMED: [(&str, &str); 3] =
    [(SCHEDULER, "scheduler"), ("congestion", "congestion controller"), ("metric", "metric")];

/// Kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text is not valid TOML; `allowed` holds the message of the parser.
    Syntax,
    /// There is no such key.
    UnknownKey,
    /// A required key is missing.
    Missing,
    /// The key does not allow this value.
    Value,
    /// The key does not allow this value together with the value of another key.
    Conflict,
}

/// A mistake in a scenario file, in an override or in a scheduler entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The kind of mistake.
    pub problem: Problem,
    /// The file's name, [`SET`] or [`SCHEDULERS`].
    pub file: Box<str>,
    /// The whole text that contains the mistake.
    pub source: Arc<str>,
    /// First and last byte (exclusive) of the mistake.
    pub span: Range<usize>,
    /// The key, with a dot before the part of a compound value; empty for syntax errors.
    pub key: Box<str>,
    /// The value as written; empty if there is none.
    pub value: Box<str>,
    /// What is allowed instead.
    pub allowed: Box<str>,
}

impl ScenarioError {
    /// Line of the mistake, from 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// Columns of the mistake in its line, in characters from 1, end exclusive. If the mistake spans several lines, the
    /// range ends with the first.
    pub fn columns(&self) -> Range<usize> {
        let before = self.before();
        let column = |text: &str| text.chars().count();
        let start = 1 + column(&before[before.rfind('\n').map_or(0, |i| i + 1)..]);
        let place = self.source.get(before.len()..self.span.end.max(before.len())).unwrap_or("");
        start..start + column(place.lines().next().unwrap_or("")).max(1)
    }

    /// The names that were probably meant: existing settings for an unknown key, or allowed names for a wrong value.
    /// `None` if no name is similar enough.
    pub fn suggestion(&self) -> Option<Suggestion> {
        let is_there = |word: &str| names_in(&self.allowed).any(|name| name == word);
        let near = |word: &str| -> Vec<String> {
            let names = meant(word, names_in(&self.allowed));
            names.into_iter().filter(|name| *name != word).map(str::to_owned).collect()
        };
        let key = || {
            // An override's key names its section first: `connection.foo`, `path.wlan.rate`.
            let words: Vec<&str> = self.key.split('.').collect();
            let first = usize::from(words.len() > 1);
            let at = (first..words.len()).find(|i| !is_there(words[*i]))?;
            let with = |name: &String| [&words[..at], &[name.as_str()], &words[at + 1..]].concat().join(".");
            let mut names: Vec<String> = near(words[at]).iter().map(with).collect();
            let is_last = at == words.len() - 1;
            if names.is_empty()
                && is_last
                && SECTIONS.iter().any(|section| known_keys(section).into_iter().all(is_there))
            {
                names = whole_names(words[at]);
                names.retain(|name| *name != *self.key);
            }
            (!names.is_empty()).then_some(Suggestion::Setting(names))
        };
        match self.problem {
            Problem::Syntax | Problem::Missing | Problem::Conflict => None,
            Problem::UnknownKey => key(),
            Problem::Value => {
                let names = self.value.split(':').next().map(near).unwrap_or_default();
                (!names.is_empty()).then_some(Suggestion::Value(names))
            }
        }
    }

    /// The key as after `--set`, with the section: `path.wlan.loss`, where the scenario has `loss`. For other mistakes, the
    /// key.
    fn whole_key(&self) -> String {
        let (first, part) = self.key.split_at(self.key.find('.').unwrap_or(self.key.len()));
        let written = self.source.split_once('=').filter(|_| *self.file == *SET).map_or("", |(key, _)| key);
        match written.rsplit('.').next() == Some(first) {
            true => format!("{written}{part}"),
            false => self.key.to_string(),
        }
    }

    /// Whether the mistake is in an option's value, which has no lines.
    fn is_on_command_line(&self) -> bool {
        self.file.starts_with("--")
    }

    /// The text up to the mistake.
    fn before(&self) -> &str {
        let mut end = self.span.start.min(self.source.len());
        while !self.source.is_char_boundary(end) {
            end -= 1;
        }
        &self.source[..end]
    }
}

/// Names that were probably meant, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suggestion {
    /// Settings in place of the key.
    Setting(Vec<String>),
    /// Names in place of the value.
    Value(Vec<String>),
}

impl fmt::Display for Suggestion {
    /// Writes "did you mean `NAME`?".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Suggestion::Setting(names) | Suggestion::Value(names)) = self;
        write!(f, "did you mean {}?", names_in_words(names).unwrap_or_default())
    }
}

/// The whole names of the settings that were probably meant by a setting's last word: `connection.receive_buffer` for
/// `receive_buffer`. Empty if several sections have the setting, or none.
fn whole_names(word: &str) -> Vec<String> {
    let keys = SECTIONS.map(known_keys);
    let whole = |word: &str| -> Vec<String> {
        let sections = SECTIONS.iter().zip(&keys).filter(|(_, keys)| keys.contains(&word));
        sections.map(|(section, _)| format!("{section}.{word}").trim_start_matches('.').to_owned()).collect()
    };
    if keys.iter().any(|keys| keys.contains(&word)) {
        return Some(whole(word)).filter(|names| names.len() == 1).unwrap_or_default();
    }
    meant(word, keys.iter().flatten().copied()).into_iter().flat_map(whole).collect()
}

/// The names in a text of allowed values: words between commas, after `one of` or a colon.
fn names_in(allowed: &str) -> impl Iterator<Item = &str> {
    let list = allowed.rsplit_once(": ").map_or(allowed, |(_, list)| list);
    let words = list.split(", ").flat_map(|part| part.split(" or "));
    let words = words.map(|word| word.trim_start_matches("or ").trim_start_matches("one of "));
    let words = words.map(|word| word.split(':').next().unwrap_or(word));
    // Numbers are not names, so no similar one is suggested.
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.contains(' '))
}

impl fmt::Display for ScenarioError {
    /// Writes `FILE:LINE: key = value: allowed: ...`, without a line for text from the command line. A mistake in a
    /// scheduler's entry has the entry in front. An unknown name is told as one: `FILE:LINE: unknown scheduler ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if !self.is_on_command_line() {
            write!(f, ":{}", self.line())?;
        } else if *self.file != *SET && *self.key != *SCHEDULER {
            write!(f, ": {}", self.source)?;
        }
        let ScenarioError { key, value, allowed, .. } = self;
        let there_are = || match allowed.strip_prefix(AFTER).and_then(|rest| rest.split_once(": ")) {
            Some((section, list)) => format!("{AFTER}{section} there are: {list}"),
            None if allowed.starts_with("no") => format!("there is {allowed}"),
            None => format!("there are: {allowed}"),
        };
        match (self.problem, self.suggestion()) {
            (Problem::Syntax, _) => write!(f, ": {allowed}"),
            (Problem::Missing, _) => write!(f, ": {key} is missing: it takes {allowed}"),
            (Problem::UnknownKey, Some(names)) => write!(f, ": unknown setting `{key}` ({names}); {}", there_are()),
            (Problem::UnknownKey, None) => write!(f, ": unknown setting `{key}`; {}", there_are()),
            (Problem::Value | Problem::Conflict, suggestion) => {
                let named = NAMED.iter().find(|(named, _)| *named == &**key);
                // A description such as "a table" has at most one word that looks like a name.
                let named = named.filter(|_| names_in(allowed).nth(1).is_some());
                match (named, &suggestion) {
                    (Some((_, what)), _) => write!(f, ": unknown {what} `{value}`; ")?,
                    (None, Some(_)) => write!(f, ": {} = {value}; ", self.whole_key())?,
                    (None, None) => write!(f, ": {} = {value}: ", self.whole_key())?,
                }
                match suggestion {
                    Some(names) => write!(f, "{names} Allowed: {allowed}"),
                    None => write!(f, "allowed: {allowed}"),
                }
            }
        }
    }
}

impl core::error::Error for ScenarioError {}
