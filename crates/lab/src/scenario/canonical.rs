//! The canonical text of a scenario: every setting written out, in long form. Reading it gives the same scenario, and
//! equal scenarios have equal texts.

use super::Files;
use super::data::{Connection, Path, Scenario, Traffic};
use super::link::{Change, Link, LinkChange, LinkSettings, Rate, TraceSource, default_link};
use super::setting::{CONNECTION, LINK, PATH, SCENARIO, Setting, TRACE, TRAFFIC, change_of};
use crate::middlebox::MiddleboxParser;
use crate::value_parser::ValueParser;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_128;

impl Scenario {
    /// A scenario file with every setting, defaults included.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("format = 1\n");
        write_settings(&mut out, SCENARIO, self);
        for node in &self.nodes {
            let _ = writeln!(out, "\n[[node]]\nname = {}", quoted(&node.name));
        }
        for pair in self.links.chunks(2) {
            write_link(&mut out, pair, self);
        }
        for path in &self.paths {
            let links: Vec<String> = path.up.iter().map(|i| quoted(self.links[*i].base_name())).collect();
            let _ = writeln!(out, "\n[[path]]\nname = {}\nlinks = [{}]", quoted(&path.name), links.join(", "));
            if !path.middleboxes.is_empty() {
                let list: Vec<String> = path.middleboxes.iter().map(|m| quoted(&MiddleboxParser::write(m))).collect();
                let _ = writeln!(out, "middlebox = [{}]", list.join(", "));
            }
            write_settings::<Path>(&mut out, PATH, path);
        }
        for connection in &self.connections {
            let paths: Vec<String> = connection.paths.iter().map(|i| quoted(&self.paths[*i].name)).collect();
            let _ =
                writeln!(out, "\n[[connection]]\nname = {}\npaths = [{}]", quoted(&connection.name), paths.join(", "));
            write_settings::<Connection>(&mut out, CONNECTION, connection);
        }
        for traffic in &self.traffic {
            let path = quoted(&self.paths[traffic.path].name);
            let _ = writeln!(out, "\n[[traffic]]\nname = {}\npath = {path}", quoted(&traffic.name));
            write_settings::<Traffic>(&mut out, TRAFFIC, traffic);
        }
        out
    }

    /// The names of the trace files that a run reads, each once.
    pub fn trace_files(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for link in &self.links {
            for rate in link.rates() {
                if let Rate::Trace(TraceSource::File(name)) = rate
                    && !names.contains(&name.as_str())
                {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Hash of everything that a result depends on except the seed, 32 hexadecimal digits. Trace files count with their
    /// contents and not with their names. Description and source do not count.
    ///
    /// # Errors
    /// The name of a trace file that cannot be read, and the reason.
    pub fn hash(&self, files: &dyn Files) -> Result<String, (String, String)> {
        let mut scenario = Scenario { description: "-".into(), source: "-".into(), ..self.clone() };
        let replace = |rate: &mut Rate| -> Result<(), (String, String)> {
            if let Rate::Trace(TraceSource::File(name)) = rate {
                let text = files.read(name).map_err(|reason| (name.clone(), reason))?;
                *name = format!("{:032x}", xxh3_128(text.as_bytes()));
            }
            Ok(())
        };
        for link in &mut scenario.links {
            replace(&mut link.settings.shaper)?;
            for change in &mut link.changes {
                if let LinkChange::Shaper(rate) = &mut change.change {
                    replace(rate)?;
                }
            }
        }
        Ok(format!("{:032x}", xxh3_128(scenario.to_toml().as_bytes())))
    }
}

impl Link {
    /// The setting `key` at the start of the run, as a file would write it. `None` if there is no such setting, or for
    /// `trace` if a rate is set. If a trace is set, both `rate` and `trace` give it.
    pub fn written(&self, key: &str) -> Option<String> {
        let rate = &self.settings.shaper;
        let setting = match key {
            "trace" => Some(&TRACE).filter(|_| matches!(rate, Rate::Trace(_))),
            _ => LINK.iter().find(|s| s.key == key),
        };
        (written(setting?, rate).get)(&self.settings)
    }
}

impl Connection {
    /// The setting `key` as a file would write it.
    pub fn written(&self, key: &str) -> Option<String> {
        CONNECTION.iter().find(|s| s.key == key).and_then(|s| (s.get)(self))
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// A setting's value in TOML, if it has a written form.
fn value_of<T>(setting: &Setting<T>, target: &T) -> Option<String> {
    let text = (setting.get)(target)?;
    // A schema takes long to make, and most values are no numbers.
    if text.parse::<bool>().is_err() && text.parse::<f64>().is_err() {
        return Some(quoted(&text));
    }
    let schema = (setting.schema)();
    let kind = schema.get("type").and_then(|kind| kind.as_str());
    Some(match kind {
        Some("boolean" | "integer" | "number") => text,
        _ => quoted(&text),
    })
}

fn write_settings<T>(out: &mut String, settings: &[Setting<T>], target: &T) {
    for setting in settings {
        if let Some(value) = value_of(setting, target).filter(|value| value != "\"\"") {
            let _ = writeln!(out, "{} = {value}", setting.key);
        }
    }
}

/// The setting that a link's rate is written as: `rate` or `trace`.
fn written(setting: &'static Setting<LinkSettings>, rate: &Rate) -> &'static Setting<LinkSettings> {
    match rate {
        Rate::Trace(_) if setting.key == "rate" => &TRACE,
        _ => setting,
    }
}

fn write_link(out: &mut String, pair: &[Link], scenario: &Scenario) {
    let [up, ..] = pair else { return };
    let ends = [up.from, up.to].map(|node| quoted(&scenario.nodes[node].name));
    let _ = writeln!(out, "\n[[link]]\nname = {}\nbetween = [{}]", quoted(up.base_name()), ends.join(", "));
    for (direction, link) in ["up", "down"].into_iter().zip(pair) {
        let _ = writeln!(out, "\n[link.{direction}]");
        for setting in LINK {
            let setting = written(setting, &link.settings.shaper);
            if let Some(value) = value_of(setting, &link.settings) {
                let _ = writeln!(out, "{} = {value}", setting.key);
            }
        }
    }
    for (direction, link) in ["up", "down"].into_iter().zip(pair) {
        for change in &link.changes {
            write_change(out, direction, change);
        }
    }
}

fn write_change(out: &mut String, direction: &str, change: &Change) {
    let _ = writeln!(out, "\n[[link.change]]\nat = \"{}\"\ndirection = \"{direction}\"", change.at);
    if let LinkChange::Up(up) = change.change {
        let _ = writeln!(out, "up = {up}");
    } else if let Some((setting, settings)) = changed(change) {
        let _ = writeln!(out, "{} = {}", setting.key, value_of(setting, &settings).unwrap_or_default());
    }
}

/// The setting that a change sets, and settings with the new value.
fn changed(change: &Change) -> Option<(&'static Setting<LinkSettings>, LinkSettings)> {
    let mut settings = default_link();
    change.change.clone().apply_to(&mut settings);
    let same = |setting: &&Setting<LinkSettings>| {
        change_of(setting.key, &settings)
            .is_some_and(|c| core::mem::discriminant(&c) == core::mem::discriminant(&change.change))
    };
    let setting = LINK.iter().find(same).map(|setting| written(setting, &settings.shaper))?;
    Some((setting, settings))
}

impl Change {
    /// The name of the setting and its new value, as a file would write them.
    pub fn written(&self) -> Option<(&'static str, String)> {
        if let LinkChange::Up(up) = self.change {
            return Some(("up", up.to_string()));
        }
        let (setting, settings) = changed(self)?;
        Some((setting.key, (setting.get)(&settings)?))
    }
}
