//! A wrong scenario: where, what stands there, and what is allowed.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

/// The name that stands for a file in errors of overrides.
pub const SET: &str = "--set";
/// The name that stands for a file in errors of scheduler entries of the command line.
pub const SCHEDULERS: &str = "--schedulers";

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text is not valid TOML; `allowed` holds the message of the parser.
    Syntax,
    /// No such key.
    UnknownKey,
    /// A key that is needed is not there.
    Missing,
    /// The key does not take this value.
    Value,
}

/// A wrong place in a scenario file, in an override or in a scheduler entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// What is wrong.
    pub problem: Problem,
    /// The file's name, [`SET`] or [`SCHEDULERS`].
    pub file: Box<str>,
    /// The whole text that the span points into.
    pub source: Arc<str>,
    /// First and last byte (exclusive) of the wrong place.
    pub span: Range<usize>,
    /// The key, with a dot before the part of a compound value; empty for errors of syntax.
    pub key: Box<str>,
    /// The value as written; empty where there is none.
    pub value: Box<str>,
    /// What is allowed instead.
    pub allowed: Box<str>,
}

impl ScenarioError {
    /// Line of the wrong place, from 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// Columns of the wrong place in its line, in characters from 1, end exclusive. A place that goes on in further
    /// lines ends with its first.
    pub fn columns(&self) -> Range<usize> {
        let before = self.before();
        let column = |text: &str| text.chars().count();
        let start = 1 + column(&before[before.rfind('\n').map_or(0, |i| i + 1)..]);
        let place = self.source.get(before.len()..self.span.end.max(before.len())).unwrap_or("");
        start..start + column(place.lines().next().unwrap_or("")).max(1)
    }

    /// The text up to the wrong place.
    fn before(&self) -> &str {
        let mut end = self.span.start.min(self.source.len());
        while !self.source.is_char_boundary(end) {
            end -= 1;
        }
        &self.source[..end]
    }
}

impl fmt::Display for ScenarioError {
    /// `FILE:LINE: key = value: allowed: ...`; without a line for the command line's own words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if !self.file.starts_with("--") {
            write!(f, ":{}", self.line())?;
        }
        let ScenarioError { key, value, allowed, .. } = self;
        match self.problem {
            Problem::Syntax => write!(f, ": {allowed}"),
            Problem::UnknownKey => write!(f, ": {key} is not a setting here; there are: {allowed}"),
            Problem::Missing => write!(f, ": {key} is missing: it takes {allowed}"),
            Problem::Value => write!(f, ": {key} = {value}: allowed: {allowed}"),
        }
    }
}

impl core::error::Error for ScenarioError {}
