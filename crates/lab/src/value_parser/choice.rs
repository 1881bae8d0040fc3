//! Values that come in kinds with parts, as tables: what the JSON Schema and the reference of scenario files say of them.

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

/// One kind of a value: `name:part=value`, or `{ kind = "name", part = "value" }`.
pub(crate) struct Kind {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is, in a sentence without its full stop.
    pub(crate) about: &'static str,
    /// Its parts.
    pub(crate) parts: &'static [Part],
}

/// A part of a kind.
pub(crate) struct Part {
    /// Its key.
    pub(crate) key: &'static str,
    /// What it is, with its default where it has one.
    pub(crate) about: &'static str,
    /// It may be left out.
    pub(crate) optional: bool,
    /// JSON Schema of its values.
    pub(crate) schema: fn() -> Schema,
}

/// A part that must be there.
pub(crate) const fn needs(key: &'static str, about: &'static str, schema: fn() -> Schema) -> Part {
    Part { key, about, optional: false, schema }
}

/// A part that may be left out.
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
