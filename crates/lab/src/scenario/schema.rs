//! The JSON Schema of scenario files, for editors.

use super::connection::Count;
use super::setting::{CONNECTION, LINK, PATH, SCENARIO, Setting, TRACE, TRAFFIC};
use crate::middlebox::MiddleboxParser;
use crate::value_parser::{Bool, Name, Time, ValueParser};
use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

/// The schema of `format = 1`, as committed in `scenarios/schema.json`. Registered names and relations between values
/// are beyond it.
pub fn schema() -> Schema {
    let mut top = properties(SCENARIO);
    top.insert("format".into(), json!({ "const": 1, "description": "The format's version" }));
    top.insert("node".into(), list("Hosts and routers of [[link]]s", &object(named(Map::new()), &["name"])));
    top.insert("link".into(), list("Links of paths in long form", &link()));
    top.insert("path".into(), list("Paths from client to server", &path()));
    top.insert("connection".into(), list("Connections; without any, there is one with all defaults", &connection()));
    top.insert("traffic".into(), list("UDP packets beside the connections", &traffic()));
    let overrides = json!({ "type": "object", "additionalProperties": { "type": "object" },
        "description": "What is different for a scheduler: its parameters, and settings of the connections that use it" });
    top.insert("scheduler".into(), overrides);
    let mut schema =
        json_schema!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Pathweave scenario" });
    let rest = object(top, &["format", "name", "path"]);
    for (key, value) in rest.as_object().into_iter().flatten() {
        schema.insert(key.clone(), value.clone());
    }
    schema
}

/// A setting's schema with its description.
fn property<T>(setting: &Setting<T>) -> Value {
    let mut schema = (setting.schema)();
    schema.insert("description".into(), setting.about.into());
    schema.to_value()
}

fn properties<T>(settings: &[Setting<T>]) -> Map<String, Value> {
    settings.iter().map(|setting| (setting.key.to_owned(), property(setting))).collect()
}

/// With a name.
fn named(mut properties: Map<String, Value>) -> Map<String, Value> {
    properties.insert("name".into(), Name::schema().to_value());
    properties
}

fn object(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn list(description: &str, item: &Value) -> Value {
    json!({ "type": "array", "items": item, "description": description })
}

fn names(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

/// Settings of one direction.
fn direction() -> Map<String, Value> {
    let mut properties = properties(LINK);
    properties.insert(TRACE.key.into(), property(&TRACE));
    properties
}

/// Settings of both directions, what differs in one, and changes.
fn both_directions() -> Map<String, Value> {
    let mut all = direction();
    for (key, description) in
        [("up", "What differs on the way from the client"), ("down", "What differs on the way back")]
    {
        let mut table = object(direction(), &[]);
        table["description"] = description.into();
        all.insert(key.into(), table);
    }
    let mut change = direction();
    change.insert("at".into(), Time::schema().to_value());
    change.insert("direction".into(), json!({ "enum": ["both", "up", "down"] }));
    change.insert("up".into(), Bool::schema().to_value());
    all.insert("change".into(), list("Changes over time", &object(change, &["at"])));
    all
}

fn link() -> Value {
    let mut properties = named(both_directions());
    properties.insert("between".into(), names("Two nodes; up is from the first to the second"));
    object(properties, &["between"])
}

fn path() -> Value {
    let mut all = named(both_directions());
    all.extend(properties(PATH));
    all.insert("links".into(), names("Long form: links from the client to the server"));
    let about = format!(
        "Middleboxes at the client's end of the path, beginning next to the client: {}",
        MiddleboxParser::allowed()
    );
    let middlebox = json!({ "oneOf": [
        MiddleboxParser::schema().to_value(),
        { "type": "array", "items": MiddleboxParser::schema().to_value() },
    ], "description": about });
    all.insert("middlebox".into(), middlebox);
    object(all, &[])
}

fn connection() -> Value {
    let mut all = named(properties(CONNECTION));
    all.insert("paths".into(), names("The paths that it may use (default: all); it connects on the first"));
    let mut count = Count::schema();
    count.insert("description".into(), "How many such connections there are (default: 1)".into());
    all.insert("count".into(), count.to_value());
    object(all, &[])
}

fn traffic() -> Value {
    let mut all = named(properties(TRAFFIC));
    all.insert("path".into(), json!({ "type": "string", "description": "The path that the packets take" }));
    object(all, &["pattern"])
}
