//! How a file's `[[traffic]]` is read.

use super::data::{Path, Traffic, default_traffic};
use super::document::Entry;
use super::error::ScenarioError;
use super::keys::known_keys;
use super::read::{Names, Reader};
use super::setting::TRAFFIC;

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
            return Err(reader.conflict("stop", &entry.value, allowed));
        }
        all.push(traffic);
    }
    Ok(all)
}
