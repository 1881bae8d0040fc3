//! Reads the values of a plan's tables.

use super::Override;
use pathweave_lab::metric;
use pathweave_lab::scenario::{Data, Entry, Reader, ScenarioError, Value};

pub(super) type Result<T> = core::result::Result<T, ScenarioError>;

/// A reader of a plan's values.
#[derive(Clone, Copy)]
pub(super) struct Read<'a> {
    pub(super) reader: Reader<'a>,
}

impl<'a> Read<'a> {
    pub(super) fn find<'e>(&self, table: &'e [Entry], key: &str) -> Option<&'e Entry> {
        table.iter().find(|e| e.key == key)
    }

    pub(super) fn missing(&self, key: &str, allowed: impl Into<String>) -> ScenarioError {
        self.reader.missing(self.reader.document.root().place, key, allowed)
    }

    pub(super) fn text(&self, table: &[Entry], key: &str) -> Result<Option<String>> {
        self.find(table, key).map(|e| self.reader.text(key, &e.value)).transpose()
    }

    pub(super) fn number(&self, table: &[Entry], key: &str) -> Result<Option<f64>> {
        let Some(entry) = self.find(table, key) else { return Ok(None) };
        let text = self.reader.text(key, &entry.value)?;
        let number = text.parse::<f64>().ok().filter(|x| x.is_finite());
        number.map(Some).ok_or_else(|| self.reader.wrong(key, &entry.value, "a number"))
    }

    /// A fraction, written as `2%` or `0.02`.
    pub(super) fn share(&self, table: &[Entry], key: &str) -> Result<Option<f64>> {
        let Some(entry) = self.find(table, key) else { return Ok(None) };
        let text = self.reader.text(key, &entry.value)?;
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|x| x / 100.0),
            None => text.parse().ok(),
        };
        let share = share.filter(|x: &f64| (0.0..=1.0).contains(x));
        share.map(Some).ok_or_else(|| self.reader.wrong(key, &entry.value, "a share such as 2% or 0.02"))
    }

    pub(super) fn count(&self, table: &[Entry], key: &str) -> Result<Option<u64>> {
        let Some(entry) = self.find(table, key) else { return Ok(None) };
        let text = self.reader.text(key, &entry.value)?;
        let count = text.parse::<u32>().ok().filter(|n| *n > 0);
        count.map(|n| Some(n.into())).ok_or_else(|| self.reader.wrong(key, &entry.value, "a whole number from 1"))
    }

    pub(super) fn truth(&self, table: &[Entry], key: &str) -> Result<Option<bool>> {
        self.choice(table, key, &[("true", true), ("false", false)])
    }

    pub(super) fn choice<T: Copy>(&self, table: &[Entry], key: &str, all: &[(&str, T)]) -> Result<Option<T>> {
        let Some(entry) = self.find(table, key) else { return Ok(None) };
        let text = self.reader.text(key, &entry.value)?;
        match all.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
                Err(self.reader.wrong(key, &entry.value, words.join(", ")))
            }
        }
    }

    /// A list of values as text; a single value is a list of one.
    pub(super) fn list<'e>(&self, table: &'e [Entry], key: &str) -> Result<Vec<(String, &'e Value)>> {
        match self.find(table, key).map(|e| &e.value) {
            None => Ok(Vec::new()),
            Some(list @ Value { data: Data::List(_), .. }) => {
                list.elements().iter().map(|value| Ok((self.reader.text(key, value)?, value))).collect()
            }
            Some(value) => Ok(vec![(self.reader.text(key, value)?, value)]),
        }
    }

    pub(super) fn metric(&self, key: &str, name: &str, value: &Value) -> Result<String> {
        match metric::unit(name) {
            Some(_) => Ok(name.to_owned()),
            None => Err(self.reader.wrong(key, value, metric::allowed())),
        }
    }

    /// The settings of a table, whose keys may be written with dots in quotes or without.
    pub(super) fn overrides(&self, table: &[Entry], key: &str) -> Result<Vec<Override>> {
        let mut all = Vec::new();
        if let Some(entries) = self.reader.table(table, key)? {
            self.flatten(entries, "", &mut all)?;
        }
        Ok(all)
    }

    fn flatten(&self, entries: &[Entry], before: &str, all: &mut Vec<Override>) -> Result<()> {
        for entry in entries {
            let key = format!("{before}{}", entry.key);
            match &entry.value.data {
                Data::Table(inner) => self.flatten(inner, &format!("{key}."), all)?,
                _ => {
                    let value = self.reader.text(&key, &entry.value)?;
                    all.push(Override { key, value, place: entry.value.place });
                }
            }
        }
        Ok(())
    }
}
