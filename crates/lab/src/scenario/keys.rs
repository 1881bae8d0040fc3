//! The keys that each table of a scenario file may have.

use super::setting::{CONNECTION, LINK, PATH, SCENARIO, Setting, TRACE, TRAFFIC};

/// Keys at the top of the file, beside the settings.
pub(crate) const TOP: &[&str] = &["format", "node", "link", "path", "connection", "traffic", "scheduler"];
/// Keys of `[[path]]` beside the settings of paths and links.
pub(crate) const IN_PATH: &[&str] = &["name", "middlebox", "links", "up", "down", "change"];
/// Keys of `[[link]]` beside the settings of links.
pub(crate) const IN_LINK: &[&str] = &["name", "between", "up", "down", "change"];
/// Keys of `[[path.change]]` and `[[link.change]]` beside the settings of links.
pub(crate) const IN_CHANGE: &[&str] = &["at", "every", "direction", "up"];
/// Keys of `[[connection]]` beside the settings of connections.
pub(crate) const IN_CONNECTION: &[&str] = &["name", "paths", "count"];
/// Keys of `[[traffic]]` beside the settings of traffic.
pub(crate) const IN_TRAFFIC: &[&str] = &["name", "path"];

fn keys_of<T>(settings: &[Setting<T>]) -> impl Iterator<Item = &'static str> {
    settings.iter().map(|s| s.key)
}

/// All keys that an element of `[[list]]` may have.
pub(crate) fn known_keys(list: &str) -> Vec<&'static str> {
    let link = || keys_of(LINK).chain([TRACE.key]);
    match list {
        "" => keys_of(SCENARIO).chain(TOP.iter().copied()).collect(),
        "path" => ["name"].into_iter().chain(link()).chain(keys_of(PATH)).chain(IN_PATH[1..].iter().copied()).collect(),
        "link" => IN_LINK[..2].iter().copied().chain(link()).chain(IN_LINK[2..].iter().copied()).collect(),
        "direction" => link().collect(),
        "change" => IN_CHANGE.iter().copied().chain(link()).collect(),
        "traffic" => IN_TRAFFIC.iter().copied().chain(keys_of(TRAFFIC)).collect(),
        "connection" => IN_CONNECTION.iter().copied().chain(keys_of(CONNECTION)).collect(),
        _ => vec!["name"],
    }
}

/// All keys that `[[connection]]` may have.
pub fn connection_keys() -> Vec<&'static str> {
    known_keys("connection")
}
