//! UDP traffic beside the connections, and the reading of a file's `[[traffic]]`.

use super::data::{Direction, Path};
use super::document::Entry;
use super::error::ScenarioError;
use super::read::{Names, Reader, known_keys};
use super::setting::TRAFFIC;
use pathweave_units::{Bitrate, Duration};

/// A source of UDP packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The source's name.
    pub name: String,
    /// Index of the path that its packets take.
    pub path: usize,
    /// Direction of the packets: from the client to the server (upload) or back.
    pub direction: Direction,
    /// Times and sizes of the packets.
    pub pattern: TrafficPattern,
    /// Time of the first packet at the earliest.
    pub start: Duration,
    /// Time of the end; zero means the end of the run.
    pub stop: Duration,
}

/// Times at which UDP packets are sent. Sizes are bytes of UDP payload; 28 bytes of headers are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrafficPattern {
    /// At even intervals.
    Constant {
        /// Rate of the payload.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
    },
    /// At exponentially distributed intervals.
    Poisson {
        /// Mean rate of the payload.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
    },
    /// At even intervals in on-periods, and never in off-periods.
    OnOff {
        /// Mean rate of the payload, pauses included.
        rate: Bitrate,
        /// Bytes of a packet's payload.
        packet: u16,
        /// Mean length of an on-period; Pareto distributed.
        on: Duration,
        /// Mean length of an off-period; exponentially distributed.
        off: Duration,
        /// The Pareto distribution's shape, more than 1. The smaller it is, the more very long on-periods there are.
        shape: f64,
    },
}

/// Traffic with all defaults.
pub(crate) fn default_traffic() -> Traffic {
    let pattern = TrafficPattern::Constant { rate: Bitrate::from_mbps(1), packet: 1000 };
    let (start, stop) = (Duration::ZERO, Duration::ZERO);
    Traffic { name: String::new(), path: 0, direction: Direction::Upload, pattern, start, stop }
}

/// Reads the tables `[[traffic]]`.
pub(super) fn traffic(reader: Reader<'_>, top: &[Entry], paths: &[Path]) -> Result<Vec<Traffic>, ScenarioError> {
    let (mut all, mut taken): (Vec<Traffic>, Names) = Default::default();
    for table in reader.tables(top, "traffic")? {
        reader.check_keys(table.1, &known_keys("traffic"))?;
        let mut traffic = Traffic { name: reader.name("traffic", &table, &mut taken)?, ..default_traffic() };
        let find = |key: &str| table.1.iter().find(|e| e.key == key);
        let names = || paths.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        traffic.path = match find("path") {
            None if paths.len() == 1 => 0,
            None => return Err(reader.missing(table.0.place, "path", names())),
            Some(entry) => {
                let name = reader.text("path", &entry.value)?;
                let index = paths.iter().position(|p| p.name == name);
                index.ok_or_else(|| reader.wrong("path", &entry.value, names()))?
            }
        };
        if find("pattern").is_none() {
            return Err(reader.missing(table.0.place, "pattern", (TRAFFIC[1].allowed)()));
        }
        for setting in TRAFFIC {
            if let Some(entry) = find(setting.key) {
                reader.set(setting, &mut traffic, &entry.value)?;
            }
        }
        if let Some(entry) = find("stop").filter(|_| !traffic.stop.is_zero() && traffic.stop <= traffic.start) {
            let allowed = format!("a time after its start at {}, or 0s for the end of the run", traffic.start);
            return Err(reader.wrong("stop", &entry.value, allowed));
        }
        all.push(traffic);
    }
    Ok(all)
}
