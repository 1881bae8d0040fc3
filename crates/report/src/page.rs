//! One HTML file that shows all results and needs nothing from outside.
//!
//! The tables, the verdicts and the manifest are plain HTML; a script draws the plots from the embedded data.

use crate::again;
use crate::card::About;
use crate::comparison::{Comparison, Judged, Standing, Summary};
use crate::data::Data;
use crate::document::html;
use crate::document::{BRAND, Document, document};
use crate::metric::{DELAYS, METRICS};
use crate::number::{short, signed};
use crate::table::{absence, percentages, shortcomings};
use crate::verdict::{Tone, Verdict, verdict};
use pathweave_lab::results::{RunResult, Status};
use pathweave_units::counted;
use std::fmt::Write;

const PAGE_JS: &str = include_str!("../assets/page.js");

/// The page of any number of comparisons, with a section for each. `results` are their runs. `about` has facts about
/// some of the scenarios. `why` names the row whose time is explained first. Equal input gives equal bytes.
pub fn page(comparisons: &[Comparison], results: &[RunResult], about: &[About], why: Option<&str>) -> String {
    let data = serde_json::to_string(&Data::of(results, comparisons, about, why))
        .expect("plain numbers and text have a JSON form");
    let title = match comparisons {
        [one] => format!("{} – Pathweave", one.scenario),
        many => format!("{} – Pathweave", counted(many.len(), "scenario")),
    };
    let mut out = String::new();
    header(&mut out, comparisons);
    out.push_str("<main id=\"main\">\n");
    for (i, comparison) in comparisons.iter().enumerate() {
        let about = about.iter().find(|a| a.scenario == comparison.scenario);
        section(&mut out, i, comparison, results, about);
    }
    if comparisons.is_empty() {
        out.push_str("<p>There are no runs.</p>\n");
    }
    out.push_str("</main>\n");
    let version = results.first().map(|r| r.manifest.program()).unwrap_or_default();
    document(&Document { title: &title, body: &out, version: &version, data: &data, script: PAGE_JS })
}

fn header(out: &mut String, comparisons: &[Comparison]) {
    out.push_str(BRAND);
    if comparisons.len() > 1 {
        out.push_str("<nav aria-label=\"Scenarios\"><ul>");
        for (i, c) in comparisons.iter().enumerate() {
            let _ = write!(out, "<li><a href=\"#s{i}\">{}</a></li>", html(&c.scenario));
        }
        out.push_str("</ul></nav>");
    }
    out.push_str(
        "</header>\n<noscript><p class=\"note\">The plots need JavaScript; the text and the tables do not.</p></noscript>\n",
    );
}

fn section(out: &mut String, i: usize, comparison: &Comparison, results: &[RunResult], about: Option<&About>) {
    let runs: Vec<&RunResult> = results.iter().filter(|r| r.scenario == comparison.scenario).collect();
    let level = if i == 0 { "h1" } else { "h2" };
    let _ = write!(
        out,
        "<section id=\"s{i}\" class=\"scenario\" aria-labelledby=\"s{i}-name\">\n<{level} id=\"s{i}-name\" class=\"name\">{}</{level}>\n",
        html(&comparison.scenario)
    );
    if let Some(About { description, .. }) = about.filter(|a| !a.description.is_empty()) {
        let _ = writeln!(out, "<p class=\"description\">{}</p>", html(description));
    }
    let _ = writeln!(out, "<p class=\"about\">{}</p>", facts(comparison, &runs));
    answer(out, comparison);
    if comparison.summaries.is_empty() {
        problems(out, &runs);
        out.push_str("</section>\n");
        return;
    }
    let what = comparison.judged.title();
    let better = if comparison.judged.less_is_better() { "Shorter is better." } else { "Longer is better." };
    let delay = match comparison.judged {
        Judged::Delay => {
            " A delay is the time from when a message is due, or an object is asked for, to its last byte."
        }
        Judged::Goodput | Judged::Completion => "",
    };
    let no_interval = if comparison.seeds.len() == 1 { ", which one seed does not have" } else { "" };
    let shares = if comparison.paths > 1 { " Beside each bar: the share of the bytes sent on each path." } else { "" };
    let _ = writeln!(
        out,
        "<div class=\"card\"><h3>{what}</h3><p class=\"note\">Mean over the seeds, and the difference to the reference, each with its \
         95&nbsp;% interval{no_interval}. {better}{delay}{shares} Choose a row to see why it is as it is.</p>\
         <div class=\"filter\" data-scenario=\"{i}\" hidden></div><div class=\"plot ranking\" data-scenario=\"{i}\"></div></div>"
    );
    out.push_str("<div class=\"pair\">");
    out.push_str(about.map_or("", About::card));
    let _ = writeln!(
        out,
        "<div class=\"card\"><h3>Where the time went</h3><div class=\"plot why\" data-scenario=\"{i}\"></div></div></div>\n\
         <div class=\"controls\" data-scenario=\"{i}\" hidden></div>\n\
         <div class=\"pair even\"><div class=\"card\"><h3>Delivered over time</h3><div class=\"plot time\" data-scenario=\"{i}\" \
         data-kind=\"goodput\"></div></div>\n\
         <div class=\"card\"><h3>Data that arrived too early</h3><p class=\"note\">It waits at the receiver for what is missing.</p>\
         <div class=\"plot time\" data-scenario=\"{i}\" data-kind=\"queue\"></div></div></div>\n\
         <div class=\"card\"><h3>Subflows over time</h3><div class=\"plot subflows\" data-scenario=\"{i}\"></div></div>"
    );
    let _ = write!(
        out,
        "<div class=\"card\"><div class=\"tools\" data-scenario=\"{i}\" data-export=\"table\"><h3>All numbers</h3></div>"
    );
    numbers(out, comparison);
    out.push_str("</div>\n");
    problems(out, &runs);
    again::card(out, &runs, about);
    out.push_str("</section>\n");
}

/// Writes the missing runs, in red, and the verdict. Each has its first sentence large and the others below it.
fn answer(out: &mut String, comparison: &Comparison) {
    let Some(Verdict { missing, answer, tone }) = verdict(comparison) else { return };
    banner(out, "verdict worse", &missing);
    let class = match tone {
        Tone::Good => "verdict",
        Tone::Open => "verdict open",
        Tone::Bad => "verdict worse",
    };
    banner(out, class, &answer);
}

fn banner(out: &mut String, class: &str, sentences: &[String]) {
    let units =
        |text: &str| html(text).replace(" Mbit/s", "&nbsp;Mbit/s").replace(" %", "&nbsp;%").replace(" s)", "&nbsp;s)");
    let text = sentences.join(" ");
    if text.is_empty() {
        return;
    }
    let (first, rest) = text.split_once(". ").map_or((text.as_str(), ""), |(first, rest)| (first, rest));
    let stop = if first.ends_with('.') { "" } else { "." };
    let _ = write!(out, "<div class=\"{class}\"><p>{}{stop}</p>", units(first));
    if !rest.is_empty() {
        let _ = write!(out, "<p class=\"more\">{}</p>", units(rest));
    }
    out.push_str("</div>\n");
}

fn facts(comparison: &Comparison, runs: &[&RunResult]) -> String {
    let mut congestion: Vec<&str> = runs.iter().map(|r| r.congestion.as_str()).collect();
    congestion.sort_unstable();
    congestion.dedup();
    let schedulers = comparison.summaries.iter().filter(|s| s.plain_tcp.is_none());
    let mut text = format!(
        "{} · {} · {} · congestion control {}",
        counted(comparison.paths, "path"),
        counted(schedulers.map(|s| 1 + s.same.len()).sum::<usize>(), "scheduler"),
        counted(comparison.seeds.len(), "seed"),
        html(&congestion.join(", "))
    );
    if let Some(note) = comparison.host_note() {
        let _ = write!(text, " · {note}");
    }
    let overrides = runs.first().map(|r| &r.manifest.overrides).filter(|o| !o.is_empty());
    for (name, value) in overrides.into_iter().flatten() {
        let _ = write!(text, " · <code>{} = {}</code>", html(name), html(value));
    }
    text
}

/// A column of the table: its group, name and unit, and the function that makes its text.
struct Column {
    group: &'static str,
    name: &'static str,
    unit: &'static str,
    text: Box<dyn Fn(&Summary) -> String>,
}

fn columns(comparison: &Comparison) -> Vec<Column> {
    let mut all = Vec::new();
    let mut add = |group, name, unit, text: fn(&Summary) -> String| {
        all.push(Column { group, name, unit, text: Box::new(text) });
    };
    if comparison.summaries.iter().any(|s| s.completion_s.is_some()) {
        add("", "Completion", "s", |s| s.completion_s.map_or("–".into(), |c| short(c.mean)));
    }
    add("", "Goodput", "Mbit/s", |s| short(s.goodput_mbps.mean));
    add("", "Median", "Mbit/s", |s| short(s.goodput_mbps.median));
    add("", "Against reference", comparison.judged.unit(), |s| {
        s.against.map_or("–".into(), |d| match d.same_on_every_seed {
            true => format!("{} <small>always</small>", signed(d.mean())),
            false => format!(
                "{}{}",
                signed(d.mean()),
                d.estimate.margin().map_or(String::new(), |m| format!(" <small>±&nbsp;{}</small>", short(m)))
            ),
        })
    });
    add("", "Benefit", "", |s| s.benefit.map_or("–".into(), |b| signed(b.mean)));
    if comparison.paths > 1 {
        add("", "Share", "%", |s| {
            percentages(&s.share).iter().map(u32::to_string).collect::<Vec<_>>().join("&thinsp;/&thinsp;")
        });
    }
    let known = |i: usize| comparison.summaries.iter().any(|s| s.metrics[i].is_some());
    let metrics = METRICS.iter().enumerate().filter(|(i, _)| known(*i)).map(|(i, metric)| {
        let (group, name) = metric.page;
        Column { group, name, unit: "", text: Box::new(move |s: &Summary| metric.shown(s.metrics[i], "–")) }
    });
    // The ranking value comes first.
    let (delays, others): (Vec<_>, Vec<_>) = metrics.partition(|c| c.group == DELAYS);
    all.splice(0..0, delays);
    all.extend(others);
    all
}

fn numbers(out: &mut String, comparison: &Comparison) {
    let columns = columns(comparison);
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All numbers\"><table class=\"numbers\">\n\
         <thead><tr><th rowspan=\"2\">#</th><th rowspan=\"2\" class=\"who\">Scheduler</th>",
    );
    for (i, Column { group, name, unit, .. }) in columns.iter().enumerate() {
        if group.is_empty() {
            let _ = write!(out, "<th rowspan=\"2\">{name} <small>{unit}</small></th>");
        } else if i == 0 || columns[i - 1].group != *group {
            let members = columns.iter().filter(|c| c.group == *group).count();
            let _ = write!(out, "<th colspan=\"{members}\" scope=\"colgroup\" class=\"group\">{group}</th>");
        }
    }
    out.push_str("</tr>\n<tr>");
    for column in columns.iter().filter(|c| !c.group.is_empty()) {
        let _ = write!(out, "<th>{}</th>", column.name);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (rank, summary) in comparison.summaries.iter().enumerate() {
        let class = if summary.plain_tcp.is_some() { " class=\"tcp\"" } else { "" };
        let _ = write!(
            out,
            "<tr{class}><td>{}</td><th scope=\"row\" class=\"who\">{}{}</th>",
            rank + 1,
            html(&comparison.marked_label(summary)),
            badges(comparison, summary)
        );
        for column in &columns {
            let bad = column.name == "Benefit" && summary.standing() == Some(Standing::Worse);
            let class = if bad { " class=\"bad\" title=\"worse than one path\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", (column.text)(summary));
        }
        out.push_str("</tr>\n");
    }
    for absent in &comparison.absent {
        let how = absence(absent);
        let _ = writeln!(
            out,
            "<tr><td>–</td><th scope=\"row\" class=\"who\">{} <span class=\"badge bad\">{how}</span></th>{}</tr>",
            html(&comparison.absent_label(absent)),
            "<td>–</td>".repeat(columns.len())
        );
    }
    out.push_str(
        "</tbody></table></div>\n<p class=\"note\">Counts and times are means a run. Aggregation benefit: 0 is plain TCP on \
         the path that is best with the seed, 1 is all paths added up, -1 is nothing. Blocked: later data was there and earlier data missing. Window-limited: the \
         receive window held data back. Out of order: means over the seeds of mean and 95th percentile, and the largest maximum. \
         1 KB is 1000 bytes.</p>",
    );
}

fn badges(comparison: &Comparison, summary: &Summary) -> String {
    let mut text = String::new();
    if !summary.same.is_empty() {
        let _ = write!(text, "<small>= {}</small>", html(&summary.same.join(", ")));
    }
    for shortcoming in shortcomings(comparison, summary) {
        let _ = write!(text, " <span class=\"badge bad\">{shortcoming}</span>");
    }
    text
}

fn problems(out: &mut String, runs: &[&RunResult]) {
    let bad: Vec<_> = runs.iter().filter(|r| r.status != Status::Completed).collect();
    if bad.is_empty() {
        return;
    }
    out.push_str("<div class=\"card\"><h3>Runs that did not complete</h3><ul>");
    for r in bad {
        let how = r.status.word();
        let reason = r.reason.as_deref().unwrap_or("no reason given");
        let _ = write!(out, "<li>{}, seed {}: {how}: {}</li>", html(&r.scheduler), r.seed, html(reason));
    }
    out.push_str("</ul></div>\n");
}
