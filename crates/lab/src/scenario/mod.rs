//! Scenario files: TOML, `format = 1`.
//!
//! A [`Document`] is a file's text with overrides. [`Document::scenario`] makes a [`Scenario`] of it: plain, checked
//! data for one [`Variant`] (a scheduler to try, or plain TCP on one path). Each mistake is a [`ScenarioError`] with
//! file, line, value and what is allowed. Each setting is declared once, in `setting.rs`; reading, writing, errors and
//! the JSON Schema follow from that. Values with several kinds are in `kinds/`, middleboxes in `crate::middlebox`.
//!
//! ```toml
//! format = 1
//! name = "two-paths"
//! duration = "20s"
//!
//! [[path]]
//! name = "wlan"
//! rate = "25Mbps"
//! delay = "25ms"
//! loss = "1%"
//! queue = "100packets"
//! down = { rate = "unlimited", loss = 0 }
//!
//! [[path]]
//! name = "lte"
//! trace = "lte.down"
//! delay = "40ms"
//! middlebox = ["nat:after=5s", "split:size=500B"]
//!
//! [[connection]]
//! congestion = "reno"
//! receive_buffer = "auto 128KiB..6MiB"
//! ```

mod build;
mod canonical;
mod connection;
mod data;
mod document;
mod error;
mod keys;
mod kinds;
mod link;
mod read;
mod schema;
mod setting;
mod spec;
mod traffic;
mod warnings;

#[cfg(test)]
mod tests;

pub use data::{
    Algorithm, Connection, Direction, EndsWith, Gaps, HostModel, Node, Path, PathMode, Scenario, TraceStart, Traffic,
    TrafficPattern, Workload,
};
pub use document::{Data, Document, Entry, Place, Value};
pub use error::{Problem, SCHEDULERS, SET, ScenarioError, Suggestion};
pub use keys::connection_keys;
pub use link::{Change, Link, LinkChange, LinkSettings, Rate, TraceSource};
pub use pathweave_algorithms::did_you_mean;
pub use read::Reader;
pub use schema::{reference, schema};
pub use spec::{SchedulerSpec, Variant};

/// Gives a run the files that its scenario names, because runs do no input or output of their own.
pub trait Files {
    /// The text of the file that the scenario calls `name`.
    ///
    /// # Errors
    /// The reason why the file cannot be read, for people.
    fn read(&self, name: &str) -> Result<String, String>;
}

/// No files at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _name: &str) -> Result<String, String> {
        Err("no files here".into())
    }
}

/// Name and text of every built-in scenario; the first is run if none is named.
pub const BUILTIN: &[(&str, &str)] = &[
    ("wifi-lte", include_str!("../../scenarios/wifi-lte.toml")),
    ("wlan-3g", include_str!("../../scenarios/wlan-3g.toml")),
    ("wlan-wlan", include_str!("../../scenarios/wlan-wlan.toml")),
    ("cp-asymmetric", include_str!("../../scenarios/cp-asymmetric.toml")),
    ("cp-symmetric", include_str!("../../scenarios/cp-symmetric.toml")),
    ("ethernet-wifi", include_str!("../../scenarios/ethernet-wifi.toml")),
    ("rems-wifi-lte", include_str!("../../scenarios/rems-wifi-lte.toml")),
];

/// The built-in scenario called `name`.
pub fn builtin(name: &str) -> Option<Document> {
    let (_, text) = BUILTIN.iter().find(|(n, _)| *n == name)?;
    let document = Document::parse(&format!("{name}.toml"), text);
    Some(document.expect("a test checks the built-in scenarios"))
}
