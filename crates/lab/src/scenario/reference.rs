//! The reference of scenario files, in Markdown: every setting with its default, what it takes and an example, from the tables that
//! read them.

use super::connection::default_connection;
use super::data::{Path, Scenario};
use super::document::Document;
use super::link::default_link;
use super::setting::{CONNECTION, LINK, PATH, SCENARIO, Setting, TRACE, TRAFFIC};
use super::traffic::default_traffic;
use crate::middlebox::MiddleboxParser;
use crate::value_parser::ValueParser;
use crate::value_parser::choice::Kind;
use std::fmt::Write as _;

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
