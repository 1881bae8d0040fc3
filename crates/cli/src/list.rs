//! `pathweave list`.

use crate::args::{ListOptions, Listed};
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{BUILTIN, Variant, builtin};
use pathweave_proto::parameter::{Described, Parameter};
use pathweave_runner::Failure;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A thing that can be listed.
#[derive(Serialize)]
struct Item {
    name: String,
    source: String,
    summary: String,
    parameters: Vec<ParameterItem>,
}

impl Item {
    fn of(algorithm: &dyn Described) -> Self {
        Item {
            name: algorithm.name().into(),
            source: algorithm.source().into(),
            summary: algorithm.summary().into(),
            parameters: algorithm.parameters().iter().map(ParameterItem::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct ParameterItem {
    name: String,
    r#type: &'static str,
    unit: String,
    default: String,
    allowed: String,
    description: String,
    source: String,
}

impl ParameterItem {
    fn of(p: &Parameter<'_>) -> Self {
        ParameterItem {
            name: p.name.into(),
            r#type: p.kind.name(),
            unit: p.unit.into(),
            default: p.default.into(),
            allowed: p.kind.to_string(),
            description: p.description.into(),
            source: p.source.into(),
        }
    }
}

/// Writes the list to standard output.
pub(crate) fn list(options: &ListOptions, registry: &Registry) -> Result<u8, Failure> {
    let items = items(options.what, registry);
    let text = match options.json {
        true => serde_json::to_string_pretty(&items).expect("plain text has a JSON form") + "\n",
        false => text(&items),
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(0)
}

fn items(what: Listed, registry: &Registry) -> Vec<Item> {
    match what {
        Listed::Schedulers => registry.schedulers().iter().map(|factory| Item::of(factory.as_ref())).collect(),
        Listed::Controllers => registry.controllers().iter().map(|factory| Item::of(factory.as_ref())).collect(),
        Listed::Scenarios => {
            // Built-in scenarios name built-in algorithms, so they need the built-in registry.
            let registry = Registry::builtin();
            let read = |name: &str| builtin(name)?.scenario(&registry, &Variant::AsWritten).ok();
            let of = |(name, _): &(&str, &str)| {
                let scenario = read(name);
                Item {
                    name: (*name).into(),
                    source: scenario.as_ref().map(|s| s.source.clone()).unwrap_or_default(),
                    summary: scenario.map(|s| s.description).unwrap_or_default(),
                    parameters: Vec::new(),
                }
            };
            BUILTIN.iter().map(of).collect()
        }
    }
}

fn text(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        let _ = writeln!(text, "{}\n    {}\n    from: {}", item.name, item.summary, item.source);
        for p in &item.parameters {
            let unit = if p.unit.is_empty() || p.unit == p.r#type { String::new() } else { format!(", {}", p.unit) };
            let _ = writeln!(text, "    {} = {} ({}{unit}): {}", p.name, p.default, p.allowed, p.description);
        }
    }
    text
}
