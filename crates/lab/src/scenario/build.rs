//! Builds a scenario that is ready to run from a document.

use super::connection::Maker;
use super::data::{EndsWith, Scenario, TIME_LIMIT, TraceStart};
use super::document::{Document, Entry};
use super::error::{Problem, ScenarioError};
use super::keys::known_keys;
use super::link::Rate;
use super::read::{Network, Reader};
use super::setting::SCENARIO;
use super::spec::Variant;
use super::traffic;
use crate::value_parser::{PositiveTime, ValueParser};
use pathweave_algorithms::Registry;
use pathweave_units::Duration;

impl Document {
    /// The scenario of one variant, with every override applied and every value checked.
    ///
    /// # Errors
    /// At the first key or value that is not allowed.
    pub fn scenario(&self, registry: &Registry, variant: &Variant) -> Result<Scenario, ScenarioError> {
        let reader = Reader { document: self };
        let top = self.root.entries();
        reader.check_keys(top, &known_keys(""))?;
        match top.iter().find(|e| e.key == "format") {
            Some(entry) if reader.text("format", &entry.value)? == "1" => {}
            Some(entry) => return Err(reader.wrong("format", &entry.value, "1")),
            None => return Err(reader.missing(self.root.place, "format", "1")),
        }
        let Network { nodes, links, paths } = reader.network(top)?;
        let mut scenario = Scenario {
            name: String::new(),
            description: String::new(),
            source: String::new(),
            duration: TIME_LIMIT,
            ends_with: EndsWith::default(),
            measure_from: Duration::ZERO,
            series_step: Duration::from_millis(100),
            trace_start: TraceStart::default(),
            nodes,
            links,
            paths,
            connections: Vec::new(),
            traffic: Vec::new(),
        };
        for entry in top {
            if let Some(setting) = SCENARIO.iter().find(|s| s.key == entry.key) {
                reader.set(setting, &mut scenario, &entry.value)?;
            }
        }
        if scenario.name.is_empty() {
            return Err(reader.missing(self.root.place, "name", "the scenario's name"));
        }
        let maker = Maker { reader, registry, variant, overrides: reader.table(top, "scheduler")?.unwrap_or(&[]) };
        maker.check_overrides()?;
        scenario.connections = maker.connections(top, &scenario)?;
        scenario.traffic = traffic::traffic(reader, top, &scenario.paths)?;
        check_bursts(reader, top, &scenario)?;
        let given = |key: &str| top.iter().find(|e| e.key == key);
        if given("duration").is_none() && !scenario.ends_with_data() {
            return Err(reader.missing(self.root.place, "duration", PositiveTime::allowed()));
        }
        if let Some(entry) = given("measure_from").filter(|_| scenario.measure_from >= scenario.duration) {
            return Err(nothing_measured(reader, &scenario, entry, given("duration")));
        }
        Ok(scenario)
    }
}

/// The error for a scenario that ends before its metrics begin. Of both settings, the one that was written last is at
/// fault: an override rather than a value of the file.
fn nothing_measured(
    reader: Reader<'_>,
    scenario: &Scenario,
    measure_from: &Entry,
    duration: Option<&Entry>,
) -> ScenarioError {
    let Scenario { measure_from: from, duration: end, .. } = scenario;
    let (key, value, allowed) =
        match duration.filter(|entry| entry.value.place.origin() > measure_from.value.place.origin()) {
            Some(entry) => {
                let allowed =
                    format!("more than measure_from, which is {from} in this scenario; measure_from can be set too");
                ("duration", &entry.value, allowed)
            }
            None => ("measure_from", &measure_from.value, format!("a time before the end at {end} (duration)")),
        };
    reader.conflict(key, value, allowed)
}

/// Checks that token buckets hold a full packet. Smaller ones would drop all full packets.
fn check_bursts(reader: Reader<'_>, top: &[Entry], scenario: &Scenario) -> Result<(), ScenarioError> {
    for (i, connection) in scenario.connections.iter().enumerate() {
        let links = |path: &usize| scenario.paths[*path].up.iter().chain(&scenario.paths[*path].down);
        for link in connection.paths.iter().flat_map(links).map(|l| &scenario.links[*l]) {
            for rate in link.rates() {
                let overhead = link.settings.overhead_bytes.unsigned_abs();
                let needed = u64::from(connection.engine.tcp.mtu) + u64::from(overhead);
                let Rate::TokenBucket { burst_bytes: burst, .. } = rate else { continue };
                if *burst >= needed {
                    continue;
                }
                let table = top.iter().find(|e| e.key == "connection").map(|e| &e.value);
                let element = table.and_then(|t| t.elements().get(i));
                let mtu = element.and_then(|t| t.entries().iter().find(|e| e.key == "mtu"));
                let name = &link.name;
                let allowed = format!(
                    "at most {}, or a larger bucket on {name}: a packet of {} bytes and {} bytes of overhead do not fit into its \
                     burst of {burst} bytes and would all be dropped",
                    burst.saturating_sub(overhead.into()),
                    connection.engine.tcp.mtu,
                    overhead,
                );
                let (place, value) = match mtu {
                    Some(entry) => (entry.value.place, entry.value.shown()),
                    None => (reader.document.root.place, connection.engine.tcp.mtu.to_string()),
                };
                return Err(reader.document.error(Problem::Conflict, place, "mtu", value, allowed));
            }
        }
    }
    Ok(())
}
