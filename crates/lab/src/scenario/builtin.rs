//! The scenarios that come with Pathweave.

use super::Document;

/// Name and text of every built-in scenario; the first is run if none is named.
pub const BUILTIN: &[(&str, &str)] = &[
    ("wifi-lte", include_str!("../../../../scenarios/wifi-lte.toml")),
    ("wlan-3g", include_str!("../../../../scenarios/wlan-3g.toml")),
    ("wlan-wlan", include_str!("../../../../scenarios/wlan-wlan.toml")),
    ("cp-asymmetric", include_str!("../../../../scenarios/cp-asymmetric.toml")),
    ("cp-symmetric", include_str!("../../../../scenarios/cp-symmetric.toml")),
    ("ethernet-wifi", include_str!("../../../../scenarios/ethernet-wifi.toml")),
    ("rems-wifi-lte", include_str!("../../../../scenarios/rems-wifi-lte.toml")),
];

/// The built-in scenario called `name`.
pub fn builtin(name: &str) -> Option<Document> {
    let (_, text) = BUILTIN.iter().find(|(n, _)| *n == name)?;
    let document = Document::parse(&format!("{name}.toml"), text);
    Some(document.expect("a test checks the built-in scenarios"))
}
