//! Connections that differ only in their names: one of them is shown for all.

use pathweave_lab::explain::{Entry, Explanation};
use std::collections::BTreeMap;

/// A group of equal connections in words: `flow`; `2 alike: flow-1 and flow-2`; `20 alike: flow-1 to flow-20`.
pub fn alike_in_words<S: AsRef<str>>(names: &[S]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first, last] => format!("2 alike: {} and {}", first.as_ref(), last.as_ref()),
        [first, .., last] => format!("{} alike: {} to {}", names.len(), first.as_ref(), last.as_ref()),
    }
}

/// The events of one connection.
pub(crate) struct Lane<'a> {
    pub(crate) name: &'a str,
    pub(crate) entries: Vec<&'a Entry>,
}

impl Lane<'_> {
    /// Number of the connection's decisions.
    pub(crate) fn decisions(&self) -> usize {
        self.entries.iter().filter(|e| e.what.is_decision()).count()
    }
}

/// Equal connections, each with its events.
pub(crate) struct Group<'a> {
    pub(crate) lanes: Vec<Lane<'a>>,
}

impl<'a> Group<'a> {
    /// The group in words.
    pub(crate) fn text(&self) -> String {
        alike_in_words(&self.lanes.iter().map(|lane| lane.name).collect::<Vec<_>>())
    }

    /// Index of the connection that stands for the group: the first one with a decision.
    pub(crate) fn shown(&self) -> usize {
        self.lanes.iter().position(|lane| lane.decisions() > 0).unwrap_or(0)
    }
}

/// The connections of `explanation` with their events among `entries`, in groups of equal ones.
pub(crate) fn groups<'a>(explanation: &'a Explanation, entries: &'a [Entry]) -> Vec<Group<'a>> {
    let only = explanation.alike.first().and_then(|names| names.first()).map_or("", String::as_str);
    let mut of: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        of.entry(entry.connection.as_deref().unwrap_or(only)).or_default().push(entry);
    }
    let mut lane = |name: &'a String| Lane { name, entries: of.remove(name.as_str()).unwrap_or_default() };
    explanation.alike.iter().map(|names| Group { lanes: names.iter().map(&mut lane).collect() }).collect()
}

#[cfg(test)]
mod tests {
    use super::alike_in_words;

    #[test]
    fn groups_are_named_by_their_ends() {
        let names = ["flow-1", "flow-2", "flow-3"];
        let words = [0, 1, 2, 3].map(|n| alike_in_words(&names[..n]));
        assert_eq!(words, ["", "flow-1", "2 alike: flow-1 and flow-2", "3 alike: flow-1 to flow-3"]);
    }
}
