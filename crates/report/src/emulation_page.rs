//! The traffic of an emulated network as a page: rate, delay, queue and drops of each path and direction over time.

use crate::card::About;
use crate::document::html;
use crate::document::{BRAND, Document, document};
use crate::number::short;
use pathweave_units::counted;
use serde::Serialize;
use std::fmt::Write;

/// The traffic between two hosts on an emulated network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emulation {
    /// Facts about the scenario.
    pub about: About,
    /// Seed of losses, jitter and generated traces.
    pub seed: u64,
    /// The client's command.
    pub command: String,
    /// Duration of the emulation, seconds.
    pub seconds: f64,
    /// A sentence about how well the packets' departure times were kept.
    pub accuracy: String,
    /// Whether the accuracy is so low that the page warns of it.
    pub is_inaccurate: bool,
    /// Other warnings, a sentence each.
    pub warnings: Vec<String>,
    /// Version of Pathweave.
    pub version: String,
    /// Length of a step of the series, seconds.
    pub step: f64,
    /// All paths.
    pub paths: Vec<EmulatedPath>,
}

/// A path of an emulated network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EmulatedPath {
    /// Name of the path.
    pub name: String,
    /// The direction from the client, and the direction from the server.
    pub ways: [EmulatedWay; 2],
}

/// One direction of a path. The series have one value per step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EmulatedWay {
    /// Packets delivered at the path's end.
    pub packets: u64,
    /// Bytes of the delivered packets.
    pub bytes: u64,
    /// Packets dropped at a full queue or by CoDel.
    pub dropped_by_queue: u64,
    /// Packets lost for any other reason.
    pub lost: u64,
    /// Rate, 10⁶ bit/s.
    pub rate: Vec<f64>,
    /// Mean delay, ms; `None` if no packet was delivered in the step.
    pub delay: Vec<Option<f64>>,
    /// Longest delay, ms; `None` if no packet was delivered in the step.
    pub longest: Vec<Option<f64>>,
    /// Data in the direction's queues at the end of the step, KB.
    pub queue: Vec<f64>,
    /// Packets dropped or lost.
    pub dropped: Vec<u64>,
}

/// The input of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    name: &'a str,
    step: f64,
    paths: &'a [EmulatedPath],
}

const WAYS: [&str; 2] = ["From the client to the server", "From the server to the client"];

/// The page. Equal input gives equal bytes.
pub fn emulation_page(emulation: &Emulation) -> String {
    let Emulation { about, step, paths, version, .. } = emulation;
    let data = serde_json::to_string(&Data { name: &about.scenario, step: *step, paths })
        .expect("plain numbers and text have a JSON form");
    let title = format!("{} emulated – Pathweave", about.scenario);
    let script = include_str!("../assets/emulate.js");
    document(&Document { title: &title, body: &body(emulation), version, data: &data, script })
}

fn body(emulation: &Emulation) -> String {
    let Emulation { about, seed, command, seconds, accuracy, is_inaccurate, warnings, paths, .. } = emulation;
    let mut out = format!(
        "{BRAND}</header>\n<noscript><p class=\"note\">The plots need JavaScript; the table does not.</p></noscript>\n\
         <main id=\"main\">\n<section class=\"scenario\">\n<h1 class=\"name\">{} emulated</h1>\n",
        html(&about.scenario)
    );
    if !about.description.is_empty() {
        let _ = writeln!(out, "<p class=\"description\">{}</p>", html(&about.description));
    }
    let _ = writeln!(
        out,
        "<p class=\"about\">{} · {}&nbsp;s in real time · seed {seed} · <code>{}</code></p>",
        counted(paths.len(), "path"),
        short(*seconds),
        html(command)
    );
    let class = if *is_inaccurate || !warnings.is_empty() { "verdict worse" } else { "verdict" };
    let sentences: String =
        warnings.iter().chain([accuracy]).map(|sentence| format!("<p>{}</p>", html(sentence))).collect();
    let _ = write!(out, "<div class=\"{class}\">{sentences}</div>\n{}", about.card());
    out.push_str("<div class=\"controls\"></div>\n");
    for (way, title) in WAYS.iter().enumerate() {
        let _ = writeln!(
            out,
            "<div class=\"card\"><h3>{title}</h3><p class=\"note\">Rates are of IP packets that arrive. Thin lines: the longest delay of a step.</p>\
             <div class=\"plot\" data-way=\"{way}\"></div></div>"
        );
    }
    table(&mut out, paths, *seconds);
    out.push_str("</section>\n</main>\n");
    out
}

fn table(out: &mut String, paths: &[EmulatedPath], seconds: f64) {
    out.push_str(
        "<div class=\"card\"><div class=\"tools\"><h3>All numbers</h3></div><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"All numbers\"><table class=\"numbers\">\n<thead><tr><th class=\"who\">Path</th><th class=\"who\">Direction</th>\
         <th>Packets</th><th>Bytes</th><th>Mbit/s</th><th>Dropped by queue</th><th>Lost</th></tr></thead>\n<tbody>\n",
    );
    for (path, (way, title)) in paths.iter().flat_map(|path| path.ways.iter().zip(WAYS).map(move |way| (path, way))) {
        let EmulatedWay { packets, bytes, dropped_by_queue, lost, .. } = way;
        let rate = if seconds > 0.0 { *bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\" class=\"who\">{}</th><td class=\"words\">{title}</td><td>{packets}</td><td>{bytes}</td><td>{}</td>\
             <td>{dropped_by_queue}</td><td>{lost}</td></tr>",
            html(&path.name),
            short(rate)
        );
    }
    out.push_str("</tbody></table></div></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_and_series_are_on_the_page_and_nothing_is_markup_by_accident() {
        let way = EmulatedWay {
            packets: 12_345,
            bytes: 2_500_000,
            dropped_by_queue: 77,
            lost: 3,
            rate: vec![1.25, 2.5],
            delay: vec![None, Some(10.25)],
            ..EmulatedWay::default()
        };
        let path = EmulatedPath { name: "a<b".into(), ways: [way, EmulatedWay::default()] };
        let page = emulation_page(&Emulation {
            command: "sh -c 'a && b'".into(),
            accuracy: "All packets were in time.".into(),
            warnings: vec!["a<b carried 3 MB, and no rate limits it that way.".into()],
            seconds: 2.0,
            step: 0.5,
            paths: vec![path],
            ..Emulation::default()
        });
        for part in [
            "<td>12345</td><td>2500000</td><td>10.0</td><td>77</td><td>3</td>",
            "\"rate\":[1.25,2.5],\"delay\":[null,10.25]",
            "a&lt;b",
            "a\\u003cb",
            "sh -c &#39;a &amp;&amp; b&#39;",
            "<div class=\"verdict worse\"><p>a&lt;b carried 3 MB, and no rate limits it that way.</p><p>All packets were in time.</p>",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("a<b"));
    }
}
