//! The decisions of one run as a page: the stream over time, coloured by path, with strips for the times when it was
//! blocked, and reasons as tooltips.

use crate::alike::{Group, Lane, groups};
use crate::document::html;
use crate::document::{BRAND, Document, document};
use crate::number::kilobytes;
use crate::timeline::{Tally, blocked_text, by_rule, connections, happened, headline, outcome_text, verdict_text};
use pathweave_lab::explain::{DecisionEntry, Entry, Explanation, Named, SawEntry, What};
use pathweave_units::counted;
use serde::Serialize;
use std::fmt::Write;

/// Most events on one page. A browser still draws this many smoothly.
const MOST: usize = 20_000;

/// The input of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    title: String,
    paths: &'a [String],
    from: f64,
    to: f64,
    groups: Vec<GroupData>,
}

/// Equal connections.
#[derive(Serialize)]
struct GroupData {
    text: String,
    /// Index of the connection that is shown at first.
    shown: usize,
    lanes: Vec<LaneData>,
}

/// One connection.
#[derive(Serialize)]
struct LaneData {
    name: String,
    marks: Vec<Mark>,
    spans: Vec<Span>,
    /// Values at each decision: its time, the first unacknowledged byte, the end of the send window.
    window: [Vec<f64>; 3],
}

/// An event at one time.
#[derive(Serialize)]
struct Mark {
    time: f64,
    kind: MarkKind,
    /// The path that was given data.
    path: Option<usize>,
    /// The range of the data, or the position of the first unassigned byte.
    range: [u64; 2],
    /// Whether the send window was full while the peer waited for this data.
    blocks: bool,
    /// The text of the tooltip.
    text: String,
    /// The full text of the event.
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum MarkKind {
    Given,
    Repeated,
    /// The scheduler waited although some subflow had window space.
    Wait,
    /// No subflow had window space. This mark is not drawn.
    NoSpace,
}

/// A period in which data waited.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Span {
    kind: &'static str,
    from: f64,
    to: f64,
    text: String,
}

/// The page for the decisions of one run. Equal input is equal bytes.
pub fn explain_page(explanation: &Explanation) -> String {
    made(explanation, None)
}

/// The same page with a link to the report at `address`, to which the run belongs.
pub fn explain_page_of_report(explanation: &Explanation, address: &str) -> String {
    made(explanation, Some(address))
}

fn made(explanation: &Explanation, report: Option<&str>) -> String {
    let shown = &explanation.entries[..explanation.entries.len().min(MOST)];
    let cut = shown.len() < explanation.entries.len();
    let to = shown.last().filter(|_| cut).map_or_else(|| end_of(explanation, shown), |e| e.time_s);
    let groups = groups(explanation, shown).iter().map(|group| group_data(explanation, group, to)).collect();
    let data = Data { title: headline(explanation), paths: &explanation.paths, from: explanation.from_s, to, groups };
    let data = serde_json::to_string(&data).expect("plain numbers and text have a JSON form");
    let title = format!("{} on {} explained – Pathweave", explanation.scheduler, explanation.scenario);
    document(&Document {
        title: &title,
        body: &body(explanation, shown, report),
        version: &explanation.version,
        data: &data,
        script: include_str!("../assets/explain.js"),
    })
}

fn group_data(explanation: &Explanation, group: &Group<'_>, to: f64) -> GroupData {
    let lanes = group.lanes.iter().map(|Lane { name, entries }| {
        let mut marks: Vec<Mark> = entries.iter().filter_map(|e| mark(e, &explanation.paths)).collect();
        mark_blocking(&mut marks, entries);
        let full_from = explanation.blocked_before.contains(*name).then_some(explanation.from_s);
        LaneData { name: (*name).to_owned(), marks, spans: spans(entries, full_from, to), window: window(entries) }
    });
    GroupData { text: group.text(), shown: group.shown(), lanes: lanes.collect() }
}

/// End of the time axis. If the run ended long before the end of the requested period, the axis ends soon after the
/// last event.
fn end_of(explanation: &Explanation, shown: &[Entry]) -> f64 {
    let Some(last) = shown.last() else { return explanation.to_s };
    let margin = (last.time_s - explanation.from_s) * 0.02;
    if explanation.to_s - last.time_s > 5.0 * margin { last.time_s + margin } else { explanation.to_s }
}

/// Marks the data that blocked the send window, each time that the window filled up. This is the last assignment of the
/// byte that was the first unacknowledged one at that time.
fn mark_blocking(marks: &mut [Mark], entries: &[&Entry]) {
    let mut first_unacked = 0;
    for entry in entries {
        match &entry.what {
            What::Decision { saw, .. } => first_unacked = saw.first_unacked,
            What::WindowBlocked { .. } => {
                let given = |m: &&mut Mark| {
                    let data = matches!(m.kind, MarkKind::Given | MarkKind::Repeated);
                    data && m.time <= entry.time_s && (m.range[0]..m.range[1]).contains(&first_unacked)
                };
                if let Some(mark) = marks.iter_mut().rev().find(given) {
                    mark.blocks = true;
                    mark.text.push_str(&format!(
                        "\nthe send window was full while this was missing, from {:.6} s",
                        entry.time_s
                    ));
                }
            }
            _ => {}
        }
    }
}

fn body(explanation: &Explanation, shown: &[Entry], report: Option<&str>) -> String {
    let Explanation { scenario, scheduler, seed, from_s, to_s, entries, overrides, alike, .. } = explanation;
    let decisions = counted(entries.iter().filter(|e| e.what.is_decision()).count(), "decision");
    let mut out = format!(
        "{BRAND}</header>\n<noscript><p class=\"note\">The plot needs JavaScript; the table does not.</p></noscript>\n\
         <main id=\"main\">\n<section class=\"scenario\">\n<h1 class=\"name\">{} on {}</h1>\n\
         <p class=\"about\">{decisions}{} from {from_s}&nbsp;s to {to_s}&nbsp;s · seed {seed}",
        html(scheduler),
        html(scenario),
        connections(explanation).map_or(String::new(), |of| format!(" of {}", html(&of))),
    );
    for (name, value) in overrides {
        let _ = write!(out, " · <code>{} = {}</code>", html(name), html(value));
    }
    out.push_str("</p>\n");
    if let Some(address) = report {
        let _ = writeln!(
            out,
            "<p class=\"about\"><a href=\"{}\">All schedulers on {}</a></p>",
            html(address),
            html(scenario)
        );
    }
    if shown.len() < entries.len() {
        let last = shown.last().map_or(*from_s, |e| e.time_s);
        let _ = writeln!(
            out,
            "<p class=\"verdict worse\">The page shows the first {MOST} of {} entries, to {last:.3}&nbsp;s: choose a shorter span{} \
             to see the rest.</p>",
            entries.len(),
            if alike.iter().flatten().count() > 1 { ", or one connection," } else { "" },
        );
    }
    out.push_str(
        "<div class=\"card\"><h3>The stream over time</h3><p class=\"note\">Each bar is data that a subflow was given. Drag to zoom, \
         double-click to go back; point at a mark, or step with the buttons, for the reason.</p>\
         <div class=\"connections controls\" hidden></div><div class=\"plot stream\"></div><div class=\"steps\" hidden></div></div>\n\
         <div class=\"card\"><h3>Reasons</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Reasons\"><table>\n\
         <thead><tr><th>Times</th><th>Data, KB</th><th class=\"who\">Verdict</th><th class=\"who\">Rule</th></tr></thead>\n<tbody>\n",
    );
    for ((who, rule), Tally { count, bytes }) in by_rule(entries) {
        let data = if bytes > 0 { kilobytes(bytes as f64) } else { "–".into() };
        let (who, rule) = (html(&who), html(&rule));
        let _ = writeln!(
            out,
            "<tr><td>{count}</td><td>{data}</td><th scope=\"row\" class=\"who\">{who}</th><td class=\"rule\">{rule}</td></tr>"
        );
    }
    out.push_str("</tbody></table></div></div>\n</section>\n</main>\n");
    out
}

fn mark(entry: &Entry, paths: &[String]) -> Option<Mark> {
    let path = |subflow: &Named| paths.iter().position(|p| *p == subflow.path);
    let mut detail = format!("{:.6} s  ", entry.time_s);
    let widest = paths.iter().map(|p| p.chars().count()).max().unwrap_or(0);
    happened(&mut detail, &entry.what, widest);
    let of =
        |kind, path, range, text| Some(Mark { time: entry.time_s, kind, path, range, blocks: false, text, detail });
    match &entry.what {
        What::Decision { saw, verdict, reason, outcome } => {
            let mut text = format!("{:.6} s\n{}\n", entry.time_s, verdict_text(verdict));
            if let Some(outcome) = outcome_text(verdict, outcome) {
                let _ = writeln!(text, "{outcome}");
            }
            text.push_str(&reason.text);
            match outcome.given() {
                Some(given) => of(MarkKind::Given, path(&given.subflow), given.range, text),
                None if has_space(saw) => of(MarkKind::Wait, None, [next_byte(saw); 2], text),
                None => of(MarkKind::NoSpace, None, [next_byte(saw); 2], text),
            }
        }
        What::Repeated { subflow, range, reason } => {
            let text = format!("{:.6} s\nrepeated on {}\n{}", entry.time_s, subflow.path, reason.text);
            of(MarkKind::Repeated, path(subflow), *range, text)
        }
        What::WindowBlocked { .. } | What::WindowUnblocked => None,
    }
}

fn has_space(saw: &SawEntry) -> bool {
    saw.subflows.iter().any(|s| !s.stale && s.window_space_segments > 0 && s.send_buffer_space_bytes > 0)
}

fn next_byte(saw: &SawEntry) -> u64 {
    saw.first_unassigned.unwrap_or(saw.first_unacked + saw.in_flight_bytes)
}

fn window(entries: &[&Entry]) -> [Vec<f64>; 3] {
    let mut columns: [Vec<f64>; 3] = Default::default();
    for entry in entries {
        let What::Decision { saw, .. } = &entry.what else { continue };
        let end = saw.first_unacked + saw.send_window_bytes;
        for (column, value) in columns.iter_mut().zip([entry.time_s, saw.first_unacked as f64, end as f64]) {
            column.push(value);
        }
    }
    columns
}

/// Periods in which the scheduler waited although a subflow had space, and periods in which the send window was full. The
/// window is full already at `full_from`, the start of the axis.
fn spans(entries: &[&Entry], full_from: Option<f64>, to: f64) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut waits: Option<(f64, String)> = None;
    let mut full = full_from.map(|from| (from, "the send window is full".to_owned()));
    let mut close = |open: &mut Option<(f64, String)>, kind, to: f64| {
        if let Some((from, text)) = open.take()
            && to > from
        {
            spans.push(Span { kind, from, to, text });
        }
    };
    for entry in entries {
        match &entry.what {
            What::Decision { saw, verdict: DecisionEntry::Wait { .. }, reason, outcome }
                if outcome.given().is_none() =>
            {
                if has_space(saw) {
                    waits.get_or_insert_with(|| (entry.time_s, format!("the scheduler waits: {}", reason.text)));
                } else {
                    close(&mut waits, "wait", entry.time_s);
                }
            }
            What::Decision { .. } => close(&mut waits, "wait", entry.time_s),
            What::WindowBlocked { by, holders, .. } => {
                close(&mut full, "window", entry.time_s);
                full = Some((entry.time_s, blocked_text(*by, holders)));
            }
            What::WindowUnblocked => close(&mut full, "window", entry.time_s),
            What::Repeated { .. } => {}
        }
    }
    close(&mut waits, "wait", to);
    close(&mut full, "window", to);
    // A wait continues if data was assigned in between at the same time.
    spans.dedup_by(|later, earlier| {
        let same = earlier.kind == later.kind && earlier.to == later.from;
        if same {
            earlier.to = later.to;
        }
        same
    });
    spans
}
