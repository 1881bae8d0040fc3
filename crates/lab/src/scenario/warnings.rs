//! Warnings about a scenario that is allowed but hardly intended.

use super::data::{Direction, Scenario};
use super::document::{Data, Document, Entry, Value, name_of};
use super::keys::known_keys;
use super::link::{Link, Rate};

/// The tables of a path or link with the settings of one direction.
const DIRECTIONS: [&str; 2] = ["up", "down"];

impl Document {
    /// Sentences about overrides of a path or link that do not reach the direction of the measured data, because the file
    /// has a value of its own for that direction, and about overrides of the scheduler of measured connections, which each
    /// run gives its own. `scenario` is what the document gives.
    pub fn overrides_without_effect(&self, scenario: &Scenario) -> Vec<String> {
        let used = scenario.used_links();
        let mut all = self.schedulers_without_effect(scenario);
        for list in ["link", "path"] {
            let elements = self.elements(list);
            for (number, element) in elements.iter().enumerate() {
                let up = match list {
                    "link" => 2 * number,
                    // The settings of a path that names links are the links'.
                    _ if entry(element, "links").is_some() => continue,
                    _ => scenario.paths[number].up[0],
                };
                let used = [used.contains(&up), used.contains(&(up + 1))];
                let name = name_of(element).unwrap_or_else(|| number.to_string());
                let overridden = element.entries().iter().filter(|e| e.value.place.origin() > 0);
                all.extend(overridden.filter_map(|e| self.unheard(e, element, used, &format!("{list}.{name}"))));
            }
        }
        all
    }

    /// The tables of a list of the file.
    fn elements(&self, list: &str) -> &[Value] {
        self.root.entries().iter().find(|e| e.key == list).map_or(&[], |e| e.value.elements())
    }

    /// Sentences about overrides of the scheduler of measured connections, each once.
    fn schedulers_without_effect(&self, scenario: &Scenario) -> Vec<String> {
        let mut all = Vec::new();
        let mut first = 0;
        for element in self.elements("connection") {
            let made = scenario.connections.get(first);
            first += entry(element, "count").and_then(|count| count.shown().parse().ok()).unwrap_or(1);
            let own = entry(element, "scheduler").filter(|own| own.place.origin() > 0);
            let Some(own) = own.filter(|_| made.is_some_and(|c| c.measured && c.engine.mptcp)) else { continue };
            let text = format!(
                "{} does not reach the measured data: each run has a scheduler of its own. Name schedulers by --schedulers, \
                 --scheduler of explain, or schedulers of a plan",
                self.override_of(own)
            );
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }

    /// The setting that an override names.
    fn override_of(&self, value: &Value) -> &str {
        let whole = self.text_of(value.place);
        whole.split_once('=').map_or(whole, |(key, _)| key)
    }

    /// The sentence about an override in a path or link whose directions are used as `used` says; `None` if it reaches the
    /// data, or if another override has set the direction.
    fn unheard(&self, overridden: &Entry, element: &Value, used: [bool; 2], place: &str) -> Option<String> {
        if !known_keys("direction").contains(&overridden.key.as_str()) {
            return None;
        }
        let mut found = None;
        for (direction, _) in DIRECTIONS.into_iter().zip(used).filter(|(_, used)| *used) {
            let own = entry(element, direction).and_then(|table| same_setting(table, &overridden.key))?;
            if own.value.place.origin() > 0 || own.value.shown() == overridden.value.shown() {
                return None;
            }
            found.get_or_insert((direction, own));
        }
        let (direction, own) = found?;
        let to = if direction == "up" { "server" } else { "client" };
        let key = self.override_of(&overridden.value);
        let value = match &own.value.data {
            Data::Scalar(_) => format!(" = {}", own.value.shown()),
            _ => String::new(),
        };
        Some(format!(
            "{key} does not reach the data, which goes to the {to}: the scenario has {place}.{direction}.{}{value} for that \
             direction. Set {place}.{direction}.{} too",
            own.key, overridden.key
        ))
    }
}

/// The value of a table under `key`.
fn entry<'a>(table: &'a Value, key: &str) -> Option<&'a Value> {
    table.entries().iter().find(|e| e.key == key).map(|e| &e.value)
}

/// The entry of a table that has the setting `key`. A rate and a trace replace each other.
fn same_setting<'a>(table: &'a Value, key: &str) -> Option<&'a Entry> {
    let is_rate = |key: &str| key == "rate" || key == "trace";
    table.entries().iter().find(|e| e.key == key || (is_rate(&e.key) && is_rate(key)))
}

impl Scenario {
    /// The links that data of the measured connections goes over, by number.
    fn used_links(&self) -> Vec<usize> {
        let measured = self.connections.iter().filter(|c| c.measured);
        let links = measured.flat_map(|c| {
            c.paths.iter().flat_map(|path| match c.direction {
                Direction::Upload => &self.paths[*path].up,
                Direction::Download => &self.paths[*path].down,
            })
        });
        links.copied().collect()
    }

    /// Sentences about settings that have no effect, and about data that no rate limits.
    pub fn warnings(&self) -> Vec<String> {
        let late = self.links.chunks(2).filter_map(|both| self.late_changes(both));
        late.chain(self.late_starts()).chain(self.unlimited_data()).collect()
    }

    /// Connections that start at the run's end or later.
    fn late_starts(&self) -> impl Iterator<Item = String> + '_ {
        let late = self.connections.iter().filter(|c| c.start >= self.duration);
        late.map(|c| {
            format!("{} starts at {}, but the run ends at {}: it sends nothing", c.name, c.start, self.duration)
        })
    }

    /// A warning about changes of a link at the run's end or later.
    fn late_changes(&self, both: &[Link]) -> Option<String> {
        let times = both.iter().flat_map(|link| link.changes.iter().map(|change| change.at));
        let first = times.filter(|at| *at >= self.duration).min()?;
        let end = self.duration;
        Some(format!(
            "{} changes at {first}, but the run ends at {end}: what changes from then on has no effect",
            both[0].base_name()
        ))
    }

    /// Warnings about measured connections that send data over a direction without a rate.
    fn unlimited_data(&self) -> Vec<String> {
        let mut all = Vec::new();
        for connection in self.connections.iter().filter(|c| c.measured) {
            let (word, key) = match connection.direction {
                Direction::Upload => ("to the server", "up"),
                Direction::Download => ("to the client", "down"),
            };
            for path in connection.paths.iter().map(|i| &self.paths[*i]) {
                let links = if connection.direction == Direction::Upload { &path.up } else { &path.down };
                if links.iter().any(|i| self.links[*i].has_rate()) {
                    continue;
                }
                let text = format!(
                    "the data goes {word}, and no rate limits {} that way (--set path.{}.{key}.rate=10Mbps gives it one)",
                    path.name, path.name
                );
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        all
    }
}

impl Link {
    /// Whether the link's rate is limited at any time.
    pub fn has_rate(&self) -> bool {
        self.rates().any(|rate| *rate != Rate::Unlimited)
    }

    /// The link's name without the direction.
    pub fn base_name(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(base, _)| base)
    }
}
