//! Reads the sections of a document's tree, their keys, and the links and paths of the network.

use super::data::{Node, Path, TIME_LIMIT};
use super::document::{Data, Document, Entry, Place, Value, name_of, shown};
use super::error::{Problem, ScenarioError};
use super::keys::{IN_PATH, known_keys};
use super::link::{Change, Link, LinkChange, LinkSettings, default_link};
use super::setting::{LINK, PATH, Setting, TRACE, change_of};
use crate::middlebox::{Middlebox, MiddleboxParser};
use crate::value_parser::{Bool, Name, PositiveTime, Time, ValueParser, Wrong};
use pathweave_units::Duration;
use std::collections::BTreeMap;

type Result<T> = core::result::Result<T, ScenarioError>;

/// Most times that one table repeats a change (`every`).
const MOST_REPEATS: u64 = 10_000;

/// The names of elements and their numbers.
pub(crate) type Names = BTreeMap<String, usize>;

/// Helpers that read a document's values and make its errors. Other files of the same form are read with it too.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The document.
    pub document: &'a Document,
}

impl<'a> Reader<'a> {
    /// The error for a `value` that `key` does not take.
    pub fn wrong(&self, key: &str, value: &Value, allowed: impl Into<String>) -> ScenarioError {
        self.document.error(Problem::Value, value.place, key, value.shown(), allowed.into())
    }

    /// The error for a missing `key`.
    pub fn missing(&self, place: Place, key: &str, allowed: impl Into<String>) -> ScenarioError {
        self.document.error(Problem::Missing, place, key, String::new(), allowed.into())
    }

    /// Checks that every key of a table is one of these.
    ///
    /// # Errors
    /// At the first key that is not.
    pub fn check_keys(&self, table: &[Entry], known: &[&str]) -> Result<()> {
        let Some(entry) = table.iter().find(|e| !known.contains(&e.key.as_str())) else { return Ok(()) };
        Err(self.unknown(entry, known))
    }

    /// The error for a key that is not one of these.
    pub(crate) fn unknown(&self, entry: &Entry, known: &[&str]) -> ScenarioError {
        let value = entry.value.shown();
        self.document.error(Problem::UnknownKey, entry.key_place, &entry.key, value, known.join(", "))
    }

    /// A value of the form `F`.
    pub(crate) fn read<F: ValueParser>(&self, key: &str, value: &Value) -> Result<F::Value> {
        let text = self.text(key, value)?;
        F::read(&text).map_err(|wrong| self.wrong_part(key, value, wrong))
    }

    /// Reads the value of a setting and stores it.
    pub(crate) fn set<T>(&self, setting: &Setting<T>, target: &mut T, value: &Value) -> Result<()> {
        let text = self.text(setting.key, value)?;
        (setting.set)(target, &text).map_err(|wrong| self.wrong_part(setting.key, value, wrong))
    }

    /// An error about `value`, which another setting's value does not allow.
    pub(crate) fn conflict(&self, key: &str, value: &Value, allowed: String) -> ScenarioError {
        self.document.error(Problem::Conflict, value.place, key, value.shown(), allowed)
    }

    /// An error about `value`, or about the part of it that is wrong.
    pub(crate) fn wrong_part(&self, key: &str, value: &Value, wrong: Wrong) -> ScenarioError {
        let Wrong { part: Some((part, text)), is_unknown, allowed } = wrong else {
            return self.wrong(key, value, wrong.allowed);
        };
        let entry = value.entries().iter().find(|e| e.key == part);
        let place = entry.map_or(value.place, |e| e.value.place);
        let problem = if is_unknown { Problem::UnknownKey } else { Problem::Value };
        self.document.error(problem, place, &format!("{key}.{part}"), shown(&text), allowed)
    }

    /// The text of a value. A table `{ kind = "name", key = "value" }` becomes `name:key=value`.
    ///
    /// # Errors
    /// If it is a list, or a table without a kind.
    pub fn text(&self, key: &str, value: &Value) -> Result<String> {
        let entries = match &value.data {
            Data::Scalar(text) => return Ok(text.clone()),
            Data::List(_) => return Err(self.wrong(key, value, "one value")),
            Data::Table(entries) => entries,
        };
        let mut kind = None;
        let mut parts = String::new();
        for entry in entries {
            match &entry.value.data {
                Data::Scalar(text) if entry.key == "kind" => kind = Some(text),
                Data::Scalar(text) if !text.contains(':') && !entry.key.contains([':', '=']) => {
                    parts.push_str(&format!(":{}={text}", entry.key));
                }
                _ => {
                    return Err(self.wrong(&format!("{key}.{}", entry.key), &entry.value, "one value without a colon"));
                }
            }
        }
        let kind = kind.ok_or_else(|| self.missing(value.place, &format!("{key}.kind"), "the kind's name"))?;
        Ok(kind.clone() + &parts)
    }

    /// The tables of `[[key]]`; empty if there are none.
    ///
    /// # Errors
    /// If the value is something else.
    pub fn tables(&self, within: &'a [Entry], key: &str) -> Result<Vec<(&'a Value, &'a [Entry])>> {
        let Some(entry) = within.iter().find(|e| e.key == key) else { return Ok(Vec::new()) };
        let Data::List(list) = &entry.value.data else {
            return Err(self.wrong(key, &entry.value, format!("tables, each with the heading [[{key}]]")));
        };
        let table = |value: &'a Value| match &value.data {
            Data::Table(entries) => Ok((value, entries.as_slice())),
            _ => Err(self.wrong(key, value, format!("tables, each with the heading [[{key}]]"))),
        };
        list.iter().map(table).collect()
    }

    /// The table `key`, if there is one.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn table(&self, within: &'a [Entry], key: &str) -> Result<Option<&'a [Entry]>> {
        let Some(entry) = within.iter().find(|e| e.key == key) else { return Ok(None) };
        match &entry.value.data {
            Data::Table(entries) => Ok(Some(entries)),
            _ => Err(self.wrong(key, &entry.value, "a table")),
        }
    }

    /// The names in a list.
    pub(crate) fn names(&self, key: &str, value: &'a Value) -> Result<Vec<(&'a str, &'a Value)>> {
        let name = |value: &'a Value| match &value.data {
            Data::Scalar(text) => Ok((text.as_str(), value)),
            _ => Err(self.wrong(key, value, "a list of names such as [\"wlan\", \"lte\"]")),
        };
        match &value.data {
            Data::List(list) => list.iter().map(name).collect(),
            // An override cannot be a list.
            Data::Scalar(text) => Ok(text.split(',').map(|word| (word.trim(), value)).collect()),
            Data::Table(_) => Err(self.wrong(key, value, "a list of names such as [\"wlan\", \"lte\"]")),
        }
    }

    /// The name of a new element, given or made up. It is added to the names of the others.
    pub(crate) fn name(&self, what: &str, table: &(&'a Value, &'a [Entry]), names: &mut Names) -> Result<String> {
        let index = names.len();
        let Some(entry) = table.1.iter().find(|e| e.key == "name") else {
            let made = format!("{what}{index}");
            if names.insert(made.clone(), index).is_some() {
                return Err(self.missing(table.0.place, "name", format!("a name, because {made} is already taken")));
            }
            return Ok(made);
        };
        let name = self.read::<Name>("name", &entry.value)?;
        if names.insert(name.clone(), index).is_some() {
            return Err(self.wrong("name", &entry.value, format!("a name that no other {what} has")));
        }
        Ok(name)
    }

    /// The links and paths of the file.
    pub(crate) fn network(&self, top: &'a [Entry]) -> Result<Network> {
        let mut network = Network::default();
        let paths = self.tables(top, "path")?;
        let mut nodes = Names::new();
        if paths.iter().any(|(_, table)| !table.iter().any(|e| e.key == "links")) {
            network.nodes = ["client", "server"].map(|name| Node { name: name.into() }).into();
            nodes.extend([("client".to_owned(), 0), ("server".to_owned(), 1)]);
        }
        for table in self.tables(top, "node")? {
            self.check_keys(table.1, &["name"])?;
            let name = self.name("node", &table, &mut nodes)?;
            network.nodes.push(Node { name });
        }
        let (mut links, mut taken) = (Names::new(), Names::new());
        for table in self.tables(top, "link")? {
            self.check_keys(table.1, &known_keys("link"))?;
            let name = self.name("link", &table, &mut links)?;
            let ends = self.ends(&table, &network.nodes, &nodes)?;
            self.both_directions(&name, table.1, ends, &mut network)?;
        }
        for table in paths {
            let path = self.path(&table, &mut network, &mut links, &mut taken)?;
            network.paths.push(path);
        }
        if network.paths.is_empty() {
            return Err(self.missing(self.document.root.place, "path", "at least one table [[path]]"));
        }
        Ok(network)
    }

    /// Reads `between = ["a", "b"]`.
    fn ends(&self, table: &(&'a Value, &'a [Entry]), nodes: &[Node], names: &Names) -> Result<(usize, usize)> {
        let two = "two nodes such as [\"client\", \"router\"]";
        let Some(entry) = table.1.iter().find(|e| e.key == "between") else {
            return Err(self.missing(table.0.place, "between", two));
        };
        let index = |(name, value): &(&str, &Value)| {
            let all = || nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>().join(", ");
            names.get(*name).copied().ok_or_else(|| self.wrong("between", value, all()))
        };
        match &self.names("between", &entry.value)?[..] {
            [a, b] if a.0 != b.0 => Ok((index(a)?, index(b)?)),
            _ => Err(self.wrong("between", &entry.value, two)),
        }
    }

    fn path(
        &self,
        table: &(&'a Value, &'a [Entry]),
        network: &mut Network,
        links: &mut Names,
        taken: &mut Names,
    ) -> Result<Path> {
        self.check_keys(table.1, &known_keys("path"))?;
        let name = self.name("path", table, taken)?;
        let mut path = Path {
            name,
            client: 0,
            server: 1,
            up: vec![],
            down: vec![],
            cost: 0.0,
            quota: None,
            priority: 0,
            backup: false,
            middleboxes: vec![],
        };
        for setting in PATH {
            if let Some(entry) = table.1.iter().find(|e| e.key == setting.key) {
                self.set(setting, &mut path, &entry.value)?;
            }
        }
        if let Some(entry) = table.1.iter().find(|e| e.key == "middlebox") {
            path.middleboxes = self.middleboxes(&entry.value)?;
        }
        if let Some(entry) = table.1.iter().find(|e| e.key == "links") {
            let of_link = known_keys("direction");
            let extra = |e: &&Entry| of_link.contains(&e.key.as_str()) || IN_PATH[3..].contains(&e.key.as_str());
            if let Some(extra) = table.1.iter().find(extra) {
                let at = |(link, _): (&str, &Value)| self.in_link(link, &extra.key);
                let there: Vec<String> = self.names("links", &entry.value)?.into_iter().map(at).collect();
                let allowed = format!(
                    "name, middlebox, links, cost, quota, priority, backup, because this path has links by name; set {}",
                    there.join(" and ")
                );
                return Err(self.document.error(
                    Problem::UnknownKey,
                    extra.key_place,
                    &extra.key,
                    extra.value.shown(),
                    allowed,
                ));
            }
            self.route(&entry.value, network, links, &mut path)?;
        } else {
            if links.insert(path.name.clone(), links.len()).is_some() {
                let value = table.1.iter().find(|e| e.key == "name").map_or(table.0, |e| &e.value);
                return Err(self.wrong("name", value, "a name that no link has"));
            }
            path.up = vec![network.links.len()];
            path.down = vec![network.links.len() + 1];
            self.both_directions(&path.name, table.1, (0, 1), network)?;
        }
        Ok(path)
    }

    /// The whole name of a link's setting, or its names in both directions if the link's directions have it.
    fn in_link(&self, link: &str, key: &str) -> String {
        let tables = self.tables(self.document.root.entries(), "link").unwrap_or_default();
        let table = tables.into_iter().find(|(value, _)| name_of(value).as_deref() == Some(link));
        let (_, entries) = table.unwrap_or((&self.document.root, &[]));
        let has_it =
            |e: &&Entry| ["up", "down"].contains(&e.key.as_str()) && e.value.entries().iter().any(|e| e.key == key);
        let own: Vec<String> = entries.iter().filter(has_it).map(|e| format!("link.{link}.{}.{key}", e.key)).collect();
        if own.is_empty() { format!("link.{link}.{key}") } else { own.join(" and ") }
    }

    /// Reads `middlebox = ["isn", "split:size=500B"]`, from the client to the server. A single middlebox needs no list.
    fn middleboxes(&self, value: &'a Value) -> Result<Vec<Middlebox>> {
        match &value.data {
            Data::List(list) => list.iter().map(|value| self.read::<MiddleboxParser>("middlebox", value)).collect(),
            Data::Table(_) => Ok(vec![self.read::<MiddleboxParser>("middlebox", value)?]),
            // An override cannot be a list.
            Data::Scalar(text) => {
                let one = |word: &str| MiddleboxParser::read(word).map_err(|w| self.wrong_part("middlebox", value, w));
                text.split(',').map(|word| one(word.trim())).collect()
            }
        }
    }

    /// Reads `links = ["a", "b"]`, from the client to the server. Each link must begin where the one before ends.
    fn route(&self, value: &'a Value, network: &Network, names: &Names, path: &mut Path) -> Result<()> {
        let words = self.names("links", value)?;
        let mut at: Option<usize> = None;
        for (i, (word, place)) in words.iter().enumerate() {
            let Some(index) = names.get(*word).copied() else {
                let all: Vec<&str> = network.links.iter().step_by(2).map(Link::base_name).collect();
                let known = if all.is_empty() { "there is no [[link]]".into() } else { all.join(", ") };
                return Err(self.wrong("links", place, known));
            };
            let (up, down) = (2 * index, 2 * index + 1);
            let link = &network.links[up];
            // The direction of the first link follows from the second link. A single link is used as it is written.
            let next = words.get(i + 1).and_then(|(word, _)| names.get(*word));
            let start = at.unwrap_or_else(|| match next.map(|next| &network.links[2 * next]) {
                Some(next) if [next.from, next.to].contains(&link.from) && ![next.from, next.to].contains(&link.to) => {
                    link.to
                }
                _ => link.from,
            });
            let (there, back, end) = match start {
                s if s == link.from => (up, down, link.to),
                s if s == link.to => (down, up, link.from),
                s => {
                    return Err(self.wrong("links", place, format!("a link that begins at {}", network.nodes[s].name)));
                }
            };
            if path.up.contains(&there) || path.up.contains(&back) {
                return Err(self.wrong("links", place, "each link once"));
            }
            if at.is_none() {
                path.client = start;
            }
            at = Some(end);
            path.up.push(there);
            path.down.insert(0, back);
        }
        path.server = at.ok_or_else(|| self.wrong("links", value, "at least one link"))?;
        if path.server == path.client {
            return Err(self.wrong("links", value, "links from a client to another node"));
        }
        Ok(())
    }

    /// Adds the links `NAME.up` and `NAME.down`.
    fn both_directions(
        &self,
        name: &str,
        table: &'a [Entry],
        ends: (usize, usize),
        network: &mut Network,
    ) -> Result<()> {
        let mut both = [default_link(), default_link()];
        for settings in &mut both {
            self.link_settings(table, settings)?;
        }
        for (key, settings) in ["up", "down"].into_iter().zip(&mut both) {
            if let Some(table) = self.table(table, key)? {
                self.check_keys(table, &known_keys("direction"))?;
                self.link_settings(table, settings)?;
            }
        }
        let [mut up, mut down] = [Vec::new(), Vec::new()];
        for change in self.tables(table, "change")? {
            let (to_up, to_down, changes) = self.changes(&change)?;
            up.extend(changes.iter().filter(|_| to_up).cloned());
            down.extend(changes.iter().filter(|_| to_down).cloned());
        }
        for (direction, settings, mut changes) in
            both.into_iter().zip([up, down]).zip(["up", "down"]).map(|((s, c), d)| (d, s, c))
        {
            changes.sort_by_key(|change: &Change| change.at);
            let (from, to) = if direction == "up" { ends } else { (ends.1, ends.0) };
            network.links.push(Link { name: format!("{name}.{direction}"), from, to, settings, changes });
        }
        Ok(())
    }

    /// Reads the settings of a link in a table, and ignores other keys.
    fn link_settings(&self, table: &'a [Entry], settings: &mut LinkSettings) -> Result<()> {
        let mut shaped = false;
        for entry in table {
            let Some(setting) = LINK.iter().chain([&TRACE]).find(|s| s.key == entry.key) else { continue };
            if matches!(setting.key, "rate" | "trace") {
                if shaped {
                    return Err(self.wrong(setting.key, &entry.value, "either rate or trace"));
                }
                shaped = true;
            }
            self.set(setting, settings, &entry.value)?;
        }
        Ok(())
    }

    /// Reads `[[path.change]]`: whether it applies to each direction, and the changes.
    fn changes(&self, table: &(&'a Value, &'a [Entry])) -> Result<(bool, bool, Vec<Change>)> {
        self.check_keys(table.1, &known_keys("change"))?;
        let mut at: Option<Duration> = None;
        let mut every = None;
        let mut to = (true, true);
        let mut settings = default_link();
        let mut changed = Vec::new();
        for entry in table.1 {
            match entry.key.as_str() {
                "at" => at = Some(self.read::<Time>("at", &entry.value)?),
                "every" => every = Some((self.read::<PositiveTime>("every", &entry.value)?, &entry.value)),
                "direction" => {
                    to = match self.text("direction", &entry.value)?.as_str() {
                        "both" => (true, true),
                        "up" => (true, false),
                        "down" => (false, true),
                        _ => return Err(self.wrong("direction", &entry.value, "both, up, down")),
                    };
                }
                "up" => settings.up = self.read::<Bool>("up", &entry.value)?,
                _ => {}
            }
        }
        let at = at.ok_or_else(|| self.missing(table.0.place, "at", Time::allowed()))?;
        self.link_settings(table.1, &mut settings)?;
        for at in self.times(at, every)? {
            let change = |entry: &Entry| change_of(&entry.key, &settings);
            changed.extend(table.1.iter().filter_map(change).map(|change: LinkChange| Change { at, change }));
        }
        Ok((to.0, to.1, changed))
    }

    /// The times of a change that begins at `first`: this time and, with `every`, each later one within the run.
    fn times(&self, first: Duration, every: Option<(Duration, &'a Value)>) -> Result<Vec<Duration>> {
        let Some((every, value)) = every else { return Ok(vec![first]) };
        let duration = self.document.root.entries().iter().find(|e| e.key == "duration");
        let end = duration.map_or(Ok(TIME_LIMIT), |entry| self.read::<PositiveTime>("duration", &entry.value))?;
        let more = end.saturating_sub(first).as_nanos().saturating_sub(1) / every.as_nanos();
        if more >= MOST_REPEATS {
            let allowed = format!("a time that is contained at most {MOST_REPEATS} times in the run of {end}");
            return Err(self.conflict("every", value, allowed));
        }
        Ok((0..=more).map(|i| first + every.saturating_mul(i)).collect())
    }
}

/// The links and paths that were read.
#[derive(Default)]
pub(crate) struct Network {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) paths: Vec<Path>,
}
