//! Values with parts: `name:key=value:key=value`, as schedulers are written, or in a file `{ kind = "name", key =
//! "value" }`. [`Kind`] and [`Part`] describe them for the JSON Schema and the reference of scenario files.

use super::{ValueParser, Wrong};
use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

/// The value of a part without one, in errors.
const NOTHING: &str = "nothing";

/// A value with parts that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Compound {
    /// The word before the first colon.
    pub(crate) name: String,
    given: Vec<(String, String)>,
    asked: Vec<&'static str>,
}

impl Compound {
    /// Splits the text.
    pub(crate) fn parse(text: &str) -> Result<Self, Wrong> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default().trim().to_owned();
        let mut given: Vec<(String, String)> = Vec::new();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(Wrong::in_part(word.trim(), NOTHING, "key=value between colons"));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if given.iter().any(|(k, _)| *k == key) {
                return Err(Wrong::in_part(key, value, "each key once"));
            }
            given.push((key, value));
        }
        Ok(Compound { name, given, asked: Vec::new() })
    }

    /// The part called `key`, if it is given.
    pub(crate) fn optional<F: ValueParser>(&mut self, key: &'static str) -> Result<Option<F::Value>, Wrong> {
        self.asked.push(key);
        let Some(i) = self.given.iter().position(|(k, _)| k == key) else { return Ok(None) };
        let (key, text) = self.given.remove(i);
        F::read(&text).map(Some).map_err(|wrong| Wrong::in_part(key, text, wrong.allowed))
    }

    /// The part called `key`.
    pub(crate) fn required<F: ValueParser>(&mut self, key: &'static str) -> Result<F::Value, Wrong> {
        let missing = || Wrong::in_part(key, NOTHING, F::allowed());
        self.optional::<F>(key)?.ok_or_else(missing)
    }

    /// Checks that no other part is given.
    pub(crate) fn finish(self) -> Result<(), Wrong> {
        let Some((key, value)) = self.given.into_iter().next() else { return Ok(()) };
        let allowed = if self.asked.is_empty() { "nothing after the name".into() } else { self.asked.join(", ") };
        Err(Wrong { is_unknown: true, ..Wrong::in_part(key, value, allowed) })
    }

    /// The parts as written.
    pub(crate) fn into_given(self) -> Vec<(String, String)> {
        self.given
    }
}

/// Declares a parser whose text has a name and parts: `compound!(ValueParser: Type, "allowed", |compound| value,
/// |value| text, examples, kinds)`. Further schemas describe values in other forms than a text and a table with a kind.
macro_rules! compound {
    ($(#[$doc:meta])* $parser:ident: $type:ty, $allowed:expr, $read:expr, $write:expr, $examples:expr, $kinds:expr $(, $plain:expr)*) => {
        $(#[$doc])*
        pub(crate) struct $parser;

        impl $crate::value_parser::ValueParser for $parser {
            type Value = $type;
            fn allowed() -> String {
                $allowed.into()
            }
            fn parse(text: &str) -> Option<$type> {
                Self::read(text).ok()
            }
            fn read(text: &str) -> Result<$type, $crate::value_parser::Wrong> {
                let read: fn(&mut $crate::value_parser::compound::Compound) -> Result<Option<$type>, $crate::value_parser::Wrong> = $read;
                let wrong = || $crate::value_parser::Wrong::new(Self::allowed());
                let mut compound = $crate::value_parser::compound::Compound::parse(text).map_err(|of_part| {
                    let name = text.split(':').next().unwrap_or_default().trim();
                    // Parts of a kind that does not exist mean nothing.
                    if Self::kinds().iter().any(|kind| kind.name == name) { of_part } else { wrong() }
                })?;
                let Some(value) = read(&mut compound)? else { return Err(wrong()) };
                compound.finish()?;
                Ok(value)
            }
            fn write(value: &$type) -> String {
                let write: fn(&$type) -> String = $write;
                write(value)
            }
            fn schema() -> schemars::Schema {
                $crate::value_parser::compound::one_of(&[$($plain),*], Self::examples(), Self::kinds())
            }
            fn examples() -> &'static [&'static str] {
                &$examples
            }
            fn kinds() -> &'static [$crate::value_parser::compound::Kind] {
                const { &$kinds }
            }
        }
    };
}
pub(crate) use compound;

/// One kind of a value: `name:part=value`, or `{ kind = "name", part = "value" }`.
pub(crate) struct Kind {
    /// The kind's name.
    pub(crate) name: &'static str,
    /// A description, as a sentence without its full stop.
    pub(crate) about: &'static str,
    /// The kind's parts.
    pub(crate) parts: &'static [Part],
}

/// A part of a kind.
pub(crate) struct Part {
    /// The part's key.
    pub(crate) key: &'static str,
    /// A description, with the default if there is one.
    pub(crate) about: &'static str,
    /// Whether the part may be left out.
    pub(crate) optional: bool,
    /// JSON Schema of the part's values.
    pub(crate) schema: fn() -> Schema,
}

/// A required part.
pub(crate) const fn needs(key: &'static str, about: &'static str, schema: fn() -> Schema) -> Part {
    Part { key, about, optional: false, schema }
}

/// An optional part.
pub(crate) const fn takes(key: &'static str, about: &'static str, schema: fn() -> Schema) -> Part {
    Part { key, about, optional: true, schema }
}

/// The schema of a value that is `plain`, or a table of one of these kinds.
pub(crate) fn one_of(plain: &[Value], examples: &[&str], kinds: &[Kind]) -> Schema {
    let mut all: Vec<Value> = plain.to_vec();
    all.push(json!({ "type": "string", "examples": examples }));
    for Kind { name, about, parts } in kinds {
        let mut properties = Map::new();
        properties.insert("kind".into(), json!({ "const": name, "description": about }));
        for part in *parts {
            let mut schema = (part.schema)();
            schema.insert("description".into(), part.about.into());
            properties.insert(part.key.into(), schema.to_value());
        }
        let needed = parts.iter().filter(|p| !p.optional).map(|p| p.key);
        let required: Vec<&str> = ["kind"].into_iter().chain(needed).collect();
        all.push(json!({ "type": "object", "title": name, "additionalProperties": false, "properties": properties, "required": required }));
    }
    json_schema!({ "oneOf": all })
}
