//! A JSON Schema of scenario files for editors, and a reference in Markdown with each setting's default, allowed values
//! and an example. Both are made from the tables that read the files.

use super::connection::Count;
use super::data::{Path, Scenario, default_connection, default_traffic};
use super::document::Document;
use super::link::default_link;
use super::setting::{CONNECTION, LINK, PATH, SCENARIO, Setting, TRACE, TRAFFIC};
use crate::middlebox::MiddleboxParser;
use crate::value_parser::compound::Kind;
use crate::value_parser::{Bool, Name, PositiveTime, Time, ValueParser};
use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The schema of `format = 1`, as committed in `scenarios/schema.json`. It does not cover names of the registry and
/// relations between values.
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

/// Adds a name to these properties.
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

/// The settings of one direction.
fn direction() -> Map<String, Value> {
    let mut properties = properties(LINK);
    properties.insert(TRACE.key.into(), property(&TRACE));
    properties
}

/// The settings of both directions, of a single one, and changes.
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
    let mut every = PositiveTime::schema();
    every.insert("description".into(), "Repeats the change this often until the end of the run".into());
    change.insert("every".into(), every.to_value());
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

const INTRODUCTION: &str = include_str!("reference/introduction.md");
const NETWORK: &str = include_str!("reference/network.md");
const HOSTS: &str = include_str!("reference/hosts.md");
const OVERRIDES: &str = include_str!("reference/overrides.md");

/// The text of `docs/scenarios.md`.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    heading(&mut out, "The scenario itself", "These are at the top of the file.");
    table(&mut out, SCENARIO, &|s| match s.key {
        "name" => "(required)".into(),
        "duration" => "(required, unless all measured workloads end by themselves: then 600s)".into(),
        _ => default_of(s, &empty_scenario()),
    });
    out.push_str(NETWORK);
    heading(
        &mut out,
        "Settings of a link",
        "In `[[path]]` or `[[link]]` they apply to both directions, in its `up` and `down` to one direction, and in \
         `[[path.change]]` and `[[link.change]]` from some time on.",
    );
    let link = default_link();
    table(&mut out, LINK, &|s| default_of(s, &link));
    table(&mut out, core::slice::from_ref(&TRACE), &|_| "(none)".into());
    kinds(&mut out, LINK);
    kinds(&mut out, core::slice::from_ref(&TRACE));
    heading(&mut out, "Settings of a path", "In `[[path]]`, in either form. Some schedulers look at them.");
    let path = Path {
        name: String::new(),
        client: 0,
        server: 0,
        up: Vec::new(),
        down: Vec::new(),
        cost: 0.0,
        quota: None,
        priority: 0,
        backup: false,
        middleboxes: Vec::new(),
    };
    table(&mut out, PATH, &|s| default_of(s, &path));
    let text = "\n### `middlebox`\n\nMiddleboxes change segments at the client's end of the path. Give one, or a list that begins next to the client.\n\n";
    out.push_str(text);
    kind_list(&mut out, MiddleboxParser::kinds(), MiddleboxParser::examples());
    heading(
        &mut out,
        "Connections",
        "Each `[[connection]]` opens one connection; a file without any has one with all defaults. `name` is its name. `paths` lists \
         the paths that it may use (by default all); it connects on the first of them. `count = 20` makes twenty connections of one \
         table, called `NAME-1` to `NAME-20`; a web page makes as many as load it together.",
    );
    let connection = default_connection();
    table(&mut out, CONNECTION, &|s| default_of(s, &connection));
    kinds(&mut out, CONNECTION);
    heading(
        &mut out,
        "UDP traffic",
        "Each `[[traffic]]` sends UDP packets over a path, which take room from the connections; nobody answers them. `name` is its \
         name, `path` the name of its path. Each has random numbers of its own. For traffic over a part of a path's links, \
         declare a further path over these links, which no connection names. Middleboxes and captures do not see them. TCP \
         traffic is a `[[connection]]` with `mptcp = false` and `measured = false`.",
    );
    let traffic = default_traffic();
    table(&mut out, TRAFFIC, &|s| if s.key == "pattern" { "(required)".into() } else { default_of(s, &traffic) });
    kinds(&mut out, TRAFFIC);
    out.push_str(HOSTS);
    out.push_str(OVERRIDES);
    out
}

fn empty_scenario() -> Scenario {
    let text = "format = 1\nname = \"x\"\nduration = \"1s\"\n[[path]]\nrate = \"1Mbps\"\n";
    let document = Document::parse("reference", text).expect("the text is TOML");
    let registry = pathweave_algorithms::Registry::builtin();
    let scenario = document.scenario(&registry, &super::Variant::AsWritten).expect("the text is a scenario");
    Scenario { name: String::new(), ..scenario }
}

fn heading(out: &mut String, title: &str, text: &str) {
    let _ = write!(out, "\n## {title}\n\n{text}\n");
}

fn default_of<T>(setting: &Setting<T>, value: &T) -> String {
    match (setting.get)(value) {
        Some(text) if !text.is_empty() => format!("`{text}`"),
        _ => "(none)".into(),
    }
}

fn table<T>(out: &mut String, settings: &[Setting<T>], default: &dyn Fn(&Setting<T>) -> String) {
    out.push_str("\n| setting | what it is | default | what it takes | example |\n|---|---|---|---|---|\n");
    for s in settings {
        let example = (s.examples)().first().map_or_else(|| default(s), |e| format!("`{e}`"));
        let cells = [format!("`{}`", s.key), s.about.to_owned(), default(s), (s.allowed)(), example];
        let _ = writeln!(out, "| {} |", cells.map(|c| c.replace('|', "\\|")).join(" | "));
    }
}

/// Settings whose values have kinds, each with its kinds.
fn kinds<T>(out: &mut String, settings: &[Setting<T>]) {
    for s in settings.iter().filter(|s| !(s.kinds)().is_empty()) {
        let _ = write!(out, "\n### `{}`\n\n{}.\n\n", s.key, s.about);
        kind_list(out, (s.kinds)(), (s.examples)());
    }
}

fn kind_list(out: &mut String, kinds: &[Kind], examples: &[&str]) {
    let written: Vec<String> = examples.iter().map(|e| format!("`{e}`")).collect();
    let _ = write!(out, "Written as {}.\n\n", written.join(", "));
    for kind in kinds {
        let _ = writeln!(out, "- `{}`: {}", kind.name, kind.about);
        for part in kind.parts {
            let needed = if part.optional { "" } else { " (needed)" };
            let _ = writeln!(out, "  - `{}`{needed}: {}", part.key, part.about);
        }
    }
}
