//! A scenario file as a tree of keys and values with their positions in the text. Values can be overridden.

use super::error::{AFTER, Problem, SET, ScenarioError};
use super::keys::known_keys;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A position: the text, the first byte in it, and the byte after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    origin: usize,
    start: usize,
    end: usize,
}

impl Place {
    /// The text of the position: 0 is the file, 1 the first override, and so on.
    pub(super) fn origin(self) -> usize {
        self.origin
    }
}

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Value {
    /// Position of the value.
    pub place: Place,
    /// The value itself.
    pub data: Data,
}

/// Kinds of values.
#[derive(Clone, Debug)]
pub enum Data {
    /// Text, a number, a truth value or a date, as text.
    Scalar(String),
    /// A list.
    List(Vec<Value>),
    /// A table, in the file's order.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Position of the key.
    pub key_place: Place,
    /// The value.
    pub value: Value,
}

impl Value {
    /// The value in the form for errors: on one line and not too long.
    pub fn shown(&self) -> String {
        match &self.data {
            Data::Scalar(text) => shown(text),
            Data::List(_) => "a list".into(),
            Data::Table(_) => "a table".into(),
        }
    }

    /// The entries of a table; empty for other values.
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list; empty for other values.
    pub fn elements(&self) -> &[Value] {
        match &self.data {
            Data::List(elements) => elements,
            _ => &[],
        }
    }

    fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.data {
            Data::Table(entries) => Some(entries),
            _ => None,
        }
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.entries_mut()?.iter_mut().find(|e| e.key == key).map(|e| &mut e.value)
    }
}

/// The first line of a text, shortened if it is long.
pub(crate) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let mut cut: String = line.chars().take(60).collect();
    if cut.len() < text.len() {
        cut.push_str("...");
    }
    cut
}

/// A scenario file with overrides, from which [`Document::scenario`] makes scenarios.
#[derive(Clone, Debug)]
pub struct Document {
    /// The text of the file, then one text for each override.
    origins: Vec<(String, Arc<str>)>,
    pub(crate) root: Value,
    overrides: Vec<(String, String)>,
}

impl Document {
    /// Reads the text of the file called `file`; the name is for errors only.
    ///
    /// # Errors
    /// If the text is not valid TOML. Keys and values are checked by [`Document::scenario`].
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let origins = vec![(file.to_owned(), Arc::from(text))];
        let parsed = DeTable::parse(text).map_err(|error| ScenarioError {
            problem: Problem::Syntax,
            file: file.into(),
            source: Arc::from(text),
            span: error.span().unwrap_or(0..0),
            key: "".into(),
            value: "".into(),
            allowed: error.message().lines().collect::<Vec<_>>().join(", ").into(),
        })?;
        let place = Place { origin: 0, start: 0, end: 0 };
        let root = Value { place, data: Data::Table(entries(parsed.get_ref())) };
        Ok(Document { origins, root, overrides: Vec::new() })
    }

    /// The scenario's name in the file, unchecked; `None` if it has none.
    pub fn name(&self) -> Option<&str> {
        self.root.entries().iter().find(|e| e.key == "name").and_then(|e| match &e.value.data {
            Data::Scalar(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The overrides so far, as written.
    pub fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }

    /// Overrides a value. `connection.KEY` applies to every connection and takes precedence over `[scheduler.NAME]`
    /// tables; `path.0.KEY`, `path.NAME.KEY` and `connection.NAME.KEY` apply to one; `path.KEY` to every path; `KEY` to
    /// the scenario itself. A key may lead into tables: `path.0.down.rate`.
    ///
    /// # Errors
    /// If there is no such path, link or connection. A wrong last key and a wrong value are found by
    /// [`Document::scenario`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ScenarioError> {
        let text: Arc<str> = format!("{key}={value}").into();
        self.origins.push((SET.to_owned(), text.clone()));
        let origin = self.origins.len() - 1;
        let key_place = Place { origin, start: 0, end: key.len() };
        let place = Place { origin, start: key.len() + 1, end: text.len() };
        let data = Data::Scalar(value.to_owned());
        let setter = Setter { key_place, value: Value { place, data } };
        let wrong = |allowed: String| ScenarioError {
            problem: Problem::UnknownKey,
            file: SET.into(),
            source: text.clone(),
            span: 0..key.len(),
            key: key.into(),
            value: value.into(),
            allowed: allowed.into(),
        };
        let mut words: Vec<&str> = key.split('.').collect();
        if words.iter().any(|word| word.is_empty()) {
            return Err(wrong("words with dots between them, such as connection.receive_buffer".into()));
        }
        match words[..] {
            [list @ ("connection" | "path" | "link"), ref rest @ ..] if !rest.is_empty() => {
                self.set_in_list(list, rest, &setter).map_err(wrong)?;
                if let ("connection", [key]) = (list, rest) {
                    self.forget_in_schedulers(key);
                }
            }
            _ => {
                let last = words.pop().unwrap_or_default();
                setter.put(&mut self.root, &words, last).map_err(wrong)?;
            }
        }
        self.overrides.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Sets `rest` in one element of `[[list]]`, given by number or name as the first word, or in all elements.
    fn set_in_list(&mut self, list: &str, rest: &[&str], setter: &Setter) -> Result<(), String> {
        if self.root.entry_mut(list).is_none() && list == "connection" {
            // A file without connections has one with all defaults.
            let place = setter.key_place;
            let element = Value { place, data: Data::Table(Vec::new()) };
            let value = Value { place, data: Data::List(vec![element]) };
            self.root.entries_mut().into_iter().for_each(|entries| {
                entries.push(Entry { key: list.into(), key_place: place, value: value.clone() });
            });
        }
        let elements = match self.root.entry_mut(list) {
            Some(Value { data: Data::List(elements), .. }) => elements,
            // Anything else is a mistake in the file, and is reported when the scenario is read.
            Some(_) => return Ok(()),
            None => return Err(format!("nothing, because there is no [[{list}]]")),
        };
        let names: Vec<Option<String>> = elements.iter().map(name_of).collect();
        let one = names
            .iter()
            .position(|name| name.as_deref() == Some(rest[0]))
            .or_else(|| rest[0].parse().ok().filter(|i| *i < elements.len()));
        if let (Some(i), [_, inner @ .., last]) = (one, rest) {
            return setter.put(&mut elements[i], inner, last);
        }
        let known = known_keys(list);
        if !known.contains(&rest[0]) {
            let mut allowed: Vec<String> = (0..elements.len()).map(|i| i.to_string()).collect();
            allowed.extend(names.into_iter().flatten());
            allowed.extend(known.into_iter().map(str::to_owned));
            return Err(format!("{AFTER}{list}: {}", allowed.join(", ")));
        }
        let Some((last, inner)) = rest.split_last() else { return Ok(()) };
        elements.iter_mut().try_for_each(|element| setter.put(element, inner, last))
    }

    /// Removes `key` from the `[scheduler.NAME]` tables.
    fn forget_in_schedulers(&mut self, key: &str) {
        let Some(tables) = self.root.entry_mut("scheduler").and_then(Value::entries_mut) else { return };
        for table in tables {
            if let Some(entries) = table.value.entries_mut() {
                entries.retain(|e| e.key != key);
            }
        }
    }

    /// The whole file as a table.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// The whole text that has a position: the file's, or `KEY=VALUE` of an override.
    pub(super) fn text_of(&self, place: Place) -> &str {
        &self.origins[place.origin].1
    }

    /// Makes an error for a position.
    pub fn error(&self, problem: Problem, place: Place, key: &str, value: String, allowed: String) -> ScenarioError {
        let (file, source) = self.origins[place.origin].clone();
        let span = place.start..place.end;
        ScenarioError {
            problem,
            file: file.into(),
            source,
            span,
            key: key.into(),
            value: value.into(),
            allowed: allowed.into(),
        }
    }

    /// Makes an error about a trace file that could not be read, at the position that names it.
    pub fn trace_error(&self, name: &str, reason: &str) -> ScenarioError {
        fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
            match &value.data {
                Data::Scalar(_) => None,
                Data::List(elements) => elements.iter().find_map(|element| find(element, name)),
                Data::Table(entries) => entries.iter().find_map(|e| match &e.value.data {
                    Data::Scalar(text) if e.key == "trace" && text == name => Some(&e.value),
                    _ => find(&e.value, name),
                }),
            }
        }
        let place = find(&self.root, name).map_or(self.root.place, |value| value.place);
        let allowed = format!("a readable file in mahimahi's format ({reason})");
        self.error(Problem::Value, place, "trace", shown(name), allowed)
    }
}

/// A value to set, with its positions.
struct Setter {
    key_place: Place,
    value: Value,
}

impl Setter {
    /// Puts the value under `key` into the table that `inner` leads to. Missing tables on the way are created.
    fn put(&self, table: &mut Value, inner: &[&str], key: &str) -> Result<(), String> {
        let Some(entries) = table.entries_mut() else { return Err("keys of tables".into()) };
        if let [first, inner @ ..] = inner {
            let is_table = |e: &Entry| e.key != *first || matches!(e.value.data, Data::Table(_));
            if !entries.iter().all(is_table) {
                return Err(format!("{first} as a whole, which is not a table"));
            }
            let i = entries.iter().position(|e| e.key == *first).unwrap_or_else(|| {
                let value = Value { place: self.value.place, data: Data::Table(Vec::new()) };
                entries.push(Entry { key: (*first).to_owned(), key_place: self.key_place, value });
                entries.len() - 1
            });
            return self.put(&mut entries[i].value, inner, key);
        }
        // A rate and a trace replace each other.
        let other = match key {
            "rate" => Some("trace"),
            "trace" => Some("rate"),
            _ => None,
        };
        entries.retain(|e| e.key != key && Some(e.key.as_str()) != other);
        entries.push(Entry { key: key.to_owned(), key_place: self.key_place, value: self.value.clone() });
        Ok(())
    }
}

/// The name of an element of a list.
pub(super) fn name_of(element: &Value) -> Option<String> {
    element.entries().iter().find(|e| e.key == "name").and_then(|e| match &e.value.data {
        Data::Scalar(text) => Some(text.clone()),
        _ => None,
    })
}

/// The entries of a parsed table, in the file's order.
fn entries(table: &DeTable<'_>) -> Vec<Entry> {
    let place = |span: core::ops::Range<usize>| Place { origin: 0, start: span.start, end: span.end };
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_place: place(key.span()),
            value: convert(value.get_ref(), place(value.span())),
        })
        .collect();
    entries.sort_by_key(|e| e.key_place.start);
    entries
}

/// The value of a parsed one.
fn convert(value: &DeValue<'_>, place: Place) -> Value {
    let data = match value {
        DeValue::String(text) => Data::Scalar(text.to_string()),
        DeValue::Integer(number) => Data::Scalar(match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(n) => n.to_string(),
            Err(_) => number.to_string(),
        }),
        // Quantities are read without exponents.
        DeValue::Float(number) => Data::Scalar(match number.as_str().parse::<f64>() {
            Ok(x) if number.as_str().contains(['e', 'E']) => x.to_string(),
            _ => number.as_str().to_owned(),
        }),
        DeValue::Boolean(truth) => Data::Scalar(truth.to_string()),
        DeValue::Datetime(date) => Data::Scalar(date.to_string()),
        DeValue::Array(list) => Data::List(
            list.iter()
                .map(|element| {
                    let span = element.span();
                    convert(element.get_ref(), Place { origin: place.origin, start: span.start, end: span.end })
                })
                .collect(),
        ),
        DeValue::Table(table) => Data::Table(entries(table)),
    };
    Value { place, data }
}
