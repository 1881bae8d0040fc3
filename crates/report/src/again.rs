//! The instructions for repeating the runs of a page: a command to paste, the scenario's file to save, and what
//! identifies equal runs.

use crate::card::About;
use crate::document::{base64, html};
use pathweave_lab::results::RunResult;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The card with the instructions, as HTML.
pub(crate) fn card(out: &mut String, runs: &[&RunResult], about: Option<&About>) {
    let Some(first) = runs.first() else { return };
    out.push_str("<div class=\"card\"><h3>How to make these runs again</h3>");
    if let Some(again) = about.and_then(|a| a.again.as_ref()) {
        let _ = write!(
            out,
            "<p class=\"note\">Save <a class=\"file\" download=\"{0}\" href=\"data:application/toml;base64,{1}\">{0}</a>, the scenario as it was \
             run{2}",
            html(&again.file),
            base64(again.text.as_bytes()),
            beside(&again.traces),
        );
        let _ = match again.command.as_str() {
            "" => write!(out, ", and run it with the schedulers and seeds below.</p>"),
            command => write!(out, ", and run:</p><pre class=\"command\">{}</pre>", html(command)),
        };
    }
    out.push_str("<dl>");
    let mut entry = |name: &str, value: &str| {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", html(name), html(value));
    };
    if let Some(About { source, .. }) = about.filter(|a| !a.source.is_empty()) {
        entry("Scenario from", source);
    }
    entry("Version", &first.manifest.program());
    for (name, value) in &first.manifest.overrides {
        entry("Override", &format!("{name} = {value}"));
    }
    let mut parameters: BTreeMap<&str, String> = BTreeMap::new();
    for r in runs.iter().filter(|r| r.plain_tcp.is_none() && !r.manifest.scheduler_parameters.is_empty()) {
        let list = r.manifest.scheduler_parameters.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>();
        parameters.insert(&r.scheduler, list.join(", "));
    }
    for (scheduler, list) in parameters {
        entry(&format!("Parameters of {scheduler}"), &list);
    }
    out.push_str(
        "</dl><details><summary>Digests: equal runs have equal ones</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Digests\"><table><thead><tr><th class=\"who\">Scheduler</th><th>Seed</th><th>Digest</th><th>Scenario hash</th></tr></thead><tbody>",
    );
    for r in runs {
        let _ = write!(
            out,
            "<tr><th scope=\"row\" class=\"who\">{}</th><td>{}</td><td><code>{}</code></td><td><code>{}</code></td></tr>",
            html(&r.scheduler),
            r.seed,
            html(&r.digest),
            html(&r.manifest.scenario_hash)
        );
    }
    out.push_str("</tbody></table></div></details></div>\n");
}

/// The files that must be beside the scenario's file.
fn beside(traces: &[String]) -> String {
    match traces {
        [] => String::new(),
        list => format!(" (with your {} beside it)", html(&list.join(", "))),
    }
}
