//! Connections, and what a scheduler entry changes in them.

use super::data::{Algorithm, Connection, Direction, Scenario, Workload, default_connection};
use super::document::{Entry, Value};
use super::error::{Problem, ScenarioError};
use super::keys::{IN_CONNECTION, known_keys};
use super::read::{Names, Reader};
use super::setting::CONNECTION;
use super::spec::{self, Variant};
use crate::value_parser::{Whole, Wrong};
use pathweave_algorithms::Registry;
use pathweave_proto::parameter::ParameterError;

/// Makes connections from tables.
pub(super) struct Maker<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) registry: &'a Registry,
    pub(super) variant: &'a Variant,
    /// The tables `[scheduler.NAME]`.
    pub(super) overrides: &'a [Entry],
}

impl<'a> Maker<'a> {
    /// Checks every `[scheduler.NAME]`, whether it is used or not.
    pub(super) fn check_overrides(&self) -> Result<(), ScenarioError> {
        let builtin = Registry::builtin();
        for table in self.overrides {
            let unknown = |e: ParameterError| {
                let value = table.value.shown();
                let document = self.reader.document;
                document.error(
                    Problem::UnknownKey,
                    table.key_place,
                    &format!("scheduler.{}", table.key),
                    value,
                    e.allowed,
                )
            };
            let factory = match self.registry.scheduler(&table.key) {
                Ok(factory) => factory,
                // The built-in scenarios stay valid with a smaller registry.
                Err(_) if builtin.scheduler(&table.key).is_ok() => continue,
                Err(error) => return Err(unknown(error)),
            };
            let declared = factory.parameters();
            let mut known: Vec<&str> = declared.iter().map(|p| p.name).collect();
            known.extend(CONNECTION.iter().map(|s| s.key).filter(|key| spec::can_override(key)));
            let entries = self.reader.table(self.overrides, &table.key)?.unwrap_or(&[]);
            self.reader.check_keys(entries, &known)?;
            let mut scratch = default_connection();
            scratch.engine.scheduler = Algorithm { name: table.key.clone(), given: Vec::new() };
            self.override_from_file(&mut scratch)?;
        }
        Ok(())
    }

    /// Applies `[scheduler.NAME]`.
    fn override_from_file(&self, connection: &mut Connection) -> Result<(), ScenarioError> {
        let Some(table) = self.overrides.iter().find(|e| e.key == connection.engine.scheduler.name) else {
            return Ok(());
        };
        let declared = self.registry.scheduler(&table.key).map(|factory| factory.parameters()).unwrap_or_default();
        for entry in table.value.entries() {
            if !declared.iter().any(|p| p.name == entry.key) {
                if let Some(setting) = CONNECTION.iter().find(|s| s.key == entry.key) {
                    self.reader.set(setting, connection, &entry.value)?;
                }
                continue;
            }
            let text = self.reader.text(&entry.key, &entry.value)?;
            let one = Algorithm { name: table.key.clone(), given: vec![(entry.key.clone(), text)] };
            spec::split(&one, self.registry).map_err(|e| self.reader.wrong(&entry.key, &entry.value, e.allowed))?;
            if !connection.engine.scheduler.given.iter().any(|(key, _)| *key == entry.key) {
                connection.engine.scheduler.given.extend(one.given);
            }
        }
        Ok(())
    }

    pub(super) fn connections(&self, top: &'a [Entry], scenario: &Scenario) -> Result<Vec<Connection>, ScenarioError> {
        let root = &self.reader.document.root;
        let mut tables = self.reader.tables(top, "connection")?;
        if tables.is_empty() {
            // A file without connections has one with all defaults.
            tables.push((root, &[]));
        }
        let mut connections: Vec<Connection> = Vec::new();
        let mut taken = Names::new();
        for table in &tables {
            self.reader.check_keys(table.1, &known_keys("connection"))?;
            let name = self.reader.name("connection", table, &mut taken)?;
            // A table may stand for several connections; then their names differ from the table's.
            taken.remove(&name);
            let mut connection = Connection { name, ..default_connection() };
            connection.paths = self.paths(table, scenario)?;
            self.settings(table, &mut connection)?;
            let count = self.count(table)?;
            for connection in several(connection, count) {
                if taken.insert(connection.name.clone(), taken.len()).is_some() {
                    let value = table.1.iter().find(|e| e.key == "name").map_or(table.0, |e| &e.value);
                    let allowed = format!("a name with which no connection is called {}", connection.name);
                    return Err(self.reader.wrong("name", value, allowed));
                }
                connections.push(connection);
            }
            if connections.len() > MOST_CONNECTIONS {
                let value = table.1.iter().find(|e| e.key == "count").map_or(table.0, |e| &e.value);
                let allowed = format!("at most {MOST_CONNECTIONS} connections in all");
                return Err(self.reader.wrong("count", value, allowed));
            }
        }
        if !connections.iter().any(|c| c.measured) {
            // A file without Multipath TCP measures plain TCP. Only a file can say that nothing is measured.
            let written = tables.iter().flat_map(|t| t.1).find(|e| e.key == "measured");
            match written {
                Some(entry) => {
                    return Err(self.reader.wrong("measured", &entry.value, "true for at least one connection"));
                }
                None => connections.iter_mut().for_each(|c| c.measured = true),
            }
        }
        if let Variant::PlainTcp(path) = *self.variant {
            let single = self.registry.scheduler("single").map(|factory| factory.name().to_owned());
            for connection in connections.iter_mut().filter(|c| c.measured) {
                connection.engine.mptcp = false;
                connection.paths =
                    connection.paths.get(path).or(connection.paths.last()).copied().into_iter().collect();
                if let Ok(name) = &single {
                    connection.engine.scheduler = Algorithm { name: name.clone(), given: Vec::new() };
                }
            }
        }
        Ok(connections)
    }

    /// Number of connections that a table stands for.
    fn count(&self, table: &(&'a Value, &'a [Entry])) -> Result<u16, ScenarioError> {
        let entry = table.1.iter().find(|e| e.key == "count");
        entry.map_or(Ok(1), |entry| self.reader.read::<Count>("count", &entry.value))
    }

    /// Sets the settings of one connection, in the order of rising precedence: the file's, those of its
    /// `[scheduler.NAME]`, the scheduler entry's own.
    fn settings(&self, table: &(&'a Value, &'a [Entry]), connection: &mut Connection) -> Result<(), ScenarioError> {
        let reader = self.reader;
        let mut measured = false;
        let mut written = None;
        for entry in table.1.iter().filter(|e| !IN_CONNECTION.contains(&e.key.as_str())) {
            let Some(setting) = CONNECTION.iter().find(|s| s.key == entry.key) else { continue };
            reader.set(setting, connection, &entry.value)?;
            match setting.key {
                "measured" => measured = true,
                "scheduler" => written = Some(&entry.value),
                "congestion" => {
                    let chosen = &connection.engine.congestion;
                    spec::controller(chosen, self.registry).map_err(|e| {
                        let is_unknown = spec::is_unknown_of_controller(chosen, &e.name, self.registry);
                        in_algorithm(reader, "congestion", &entry.value, (e, is_unknown))
                    })?;
                }
                _ => {}
            }
        }
        if !measured {
            connection.measured = connection.engine.mptcp;
        }
        // A mistake in the file's scheduler is reported at its place, even if another scheduler replaces it.
        let own = connection.engine.scheduler.clone();
        let at_place = |e: ParameterError| match written {
            Some(value) => {
                let is_unknown = spec::is_unknown(&own, &e.name, self.registry);
                in_algorithm(reader, "scheduler", value, (e, is_unknown))
            }
            None => reader.missing(table.0.place, "scheduler", e.allowed),
        };
        let mut split = spec::split(&own, self.registry).map_err(at_place)?;
        let entry = match self.variant {
            Variant::Scheduler(entry) if connection.measured && connection.engine.mptcp => Some(entry),
            _ => None,
        };
        if let Some(entry) = entry {
            split = spec::split(&entry.algorithm, self.registry).map_err(|e| entry.error(e, self.registry))?;
            connection.engine.scheduler.name = entry.algorithm.name.clone();
        }
        connection.engine.scheduler.given = split.parameters;
        let baseline = matches!(self.variant, Variant::PlainTcp(_)) && connection.measured;
        if !baseline {
            self.override_from_file(connection)?;
            for (key, value) in &split.settings {
                spec::apply(connection, key, value)
                    .map_err(|e| entry.map_or_else(|| at_place(e.clone()), |s| s.error(e.clone(), self.registry)))?;
            }
        }
        if let Workload::Web { .. } = connection.workload {
            let written = table.1.iter().find(|e| e.key == "direction");
            if let Some(entry) = written.filter(|_| connection.direction == Direction::Upload) {
                let allowed = "download, because the server sends a page's objects";
                return Err(reader.wrong("direction", &entry.value, allowed));
            }
            connection.direction = Direction::Download;
        }
        connection.engine.scheduler.given.sort();
        connection.engine.congestion.given.sort();
        let controller = spec::controller(&connection.engine.congestion, self.registry);
        controller.map_err(|e| reader.missing(table.0.place, "congestion", e.allowed))?;
        let (min, max) = (connection.engine.tcp.min_rto, connection.engine.tcp.max_rto);
        let rto = table.1.iter().filter(|e| e.key == "min_rto" || e.key == "max_rto");
        // Of two in the same text, the first one.
        if let Some(entry) = rto.rev().max_by_key(|e| e.value.place.origin()).filter(|_| min > max) {
            return Err(reader.conflict(&entry.key, &entry.value, format!("min_rto ({min}) up to max_rto ({max})")));
        }
        Ok(())
    }

    /// The paths that a connection names; all paths if it names none.
    fn paths(&self, table: &(&'a Value, &'a [Entry]), scenario: &Scenario) -> Result<Vec<usize>, ScenarioError> {
        let Some(entry) = table.1.iter().find(|e| e.key == "paths") else {
            let all: Vec<usize> = (0..scenario.paths.len()).collect();
            let same = |i: &usize| ends(scenario, *i) == ends(scenario, 0);
            return match all.iter().all(same) {
                true => Ok(all),
                false => {
                    Err(self.reader.missing(table.0.place, "paths", "paths that share their client and their server"))
                }
            };
        };
        let mut paths = Vec::new();
        for (name, value) in self.reader.names("paths", &entry.value)? {
            let Some(i) = scenario.paths.iter().position(|p| p.name == name) else {
                let names: Vec<_> = scenario.paths.iter().map(|p| p.name.as_str()).collect();
                return Err(self.reader.wrong("paths", value, names.join(", ")));
            };
            if paths.contains(&i) {
                return Err(self.reader.wrong("paths", value, "each path once"));
            }
            if paths.first().is_some_and(|first| ends(scenario, *first) != ends(scenario, i)) {
                return Err(self.reader.wrong("paths", value, "paths that share their client and their server"));
            }
            paths.push(i);
        }
        match paths.len() {
            0 => Err(self.reader.wrong("paths", &entry.value, "at least one path")),
            1..=32 => Ok(paths),
            _ => Err(self.reader.wrong("paths", &entry.value, "at most 32 paths")),
        }
    }
}

fn ends(scenario: &Scenario, path: usize) -> (usize, usize) {
    (scenario.paths[path].client, scenario.paths[path].server)
}

/// Most connections of a scenario. Each listens on a port of its own.
const MOST_CONNECTIONS: usize = 10_000;

/// The parser for the number of connections of a table.
pub(crate) type Count = Whole<1, 1000, u16>;

/// The connections of a table: `count` of them, times the number that load a web page together. If there are several,
/// their names have numbers.
fn several(connection: Connection, count: u16) -> Vec<Connection> {
    let of_page = match connection.workload {
        // A table with `page` is one connection of that page.
        Workload::Web { connections, .. } if connection.page.is_empty() => u16::from(connections),
        _ => 1,
    };
    let numbered = |name: &str, n: u16, of: u16| if of > 1 { format!("{name}-{}", n + 1) } else { name.to_owned() };
    let mut all = Vec::new();
    for i in 0..count {
        let name = numbered(&connection.name, i, count);
        for k in 0..of_page {
            let page = if of_page > 1 { name.clone() } else { connection.page.clone() };
            all.push(Connection { name: numbered(&name, k, of_page), page, ..connection.clone() });
        }
    }
    all
}

/// An error in an algorithm's text, at its position in the file. The second part of the pair says whether the algorithm
/// lacks that key.
fn in_algorithm(
    reader: Reader<'_>,
    key: &str,
    value: &Value,
    (error, is_unknown): (ParameterError, bool),
) -> ScenarioError {
    if error.name == key {
        let mut wrong = reader.wrong(key, value, error.allowed);
        wrong.value = error.value.into();
        return wrong;
    }
    let wrong = Wrong::in_part(error.name, error.value, error.allowed);
    reader.wrong_part(key, value, Wrong { is_unknown, ..wrong })
}
