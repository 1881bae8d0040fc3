//! A scenario at a glance: a drawing of its topology, and the settings of its links and connections.

use crate::alike::alike_in_words;
use crate::document::html;
use crate::link_changes::{changes, direction};
use crate::table::many_in_words;
use crate::topology::topology;
use crate::units::readable;
use pathweave_lab::scenario::{Connection, Link, Scenario};
use std::fmt::Write;

/// Facts about a scenario that a page shows beside its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The scenario's name.
    pub scenario: String,
    /// One or two lines about what the scenario shows.
    pub description: String,
    /// The source of the scenario's values, such as a paper and its section.
    pub source: String,
    /// The call of `pathweave explain` for the scenario, without the scheduler and the seed; empty if unknown.
    pub command: String,
    /// The explanation page that is written beside the page, if there is one.
    pub explanation: Option<ExplanationLink>,
    /// The instructions for repeating the runs, if a command can do that.
    pub again: Option<Again>,
    /// The scenario's card, as HTML.
    card: String,
    /// Names of the scenario's connections, in groups of equal ones.
    alike: Vec<Vec<String>>,
}

/// A command that repeats the runs from a file that the page holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// The command, for a shell; empty if there is none.
    pub command: String,
    /// The scenario's file name in the command.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// Traces that the file names. The page does not hold them.
    pub traces: Vec<String>,
}

/// A page of `pathweave explain` beside the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplanationLink {
    /// The scheduler that the page explains.
    pub scheduler: String,
    /// The page's address, relative to the report.
    pub href: String,
    /// The seed and the period that the page shows, for people.
    pub shows: String,
}

impl About {
    /// The facts that the scenario itself states.
    pub fn of(scenario: &Scenario) -> Self {
        About {
            scenario: scenario.name.clone(),
            description: scenario.description.clone(),
            source: scenario.source.clone(),
            card: card(scenario),
            alike: scenario.alike().into_iter().map(|group| names(group).map(str::to_owned).collect()).collect(),
            ..About::default()
        }
    }

    /// The scenario's card, as HTML; empty if nothing is known about it.
    pub(crate) fn card(&self) -> &str {
        &self.card
    }

    /// Names of the scenario's connections, in groups of equal ones; none if nothing is known about them.
    pub(crate) fn alike(&self) -> &[Vec<String>] {
        &self.alike
    }
}

fn names(group: &[Connection]) -> impl Iterator<Item = &str> {
    group.iter().map(|c| c.name.as_str())
}

fn card(scenario: &Scenario) -> String {
    let mut out = String::from("<div class=\"card setup\"><h3>The scenario</h3>");
    out.push_str(&topology(scenario));
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Links\"><table class=\"links\"><thead><tr><th class=\"who\">Link</th>\
         <th class=\"who\">Rate</th><th>Delay</th><th>Loss</th><th>Queue</th><th class=\"who\">And</th></tr></thead><tbody>",
    );
    let measured: Vec<_> = scenario.connections.iter().filter(|c| c.measured).collect();
    for link in scenario.links.iter().filter(|l| shapes(l)) {
        let text = |key: &str| html(&readable(key, &link.written(key).unwrap_or_default()));
        let _ = write!(
            out,
            "<tr><th scope=\"row\" class=\"who\">{}</th><td class=\"rule\" data-name=\"Rate\">{}</td><td data-name=\"Delay\">{}</td>\
             <td data-name=\"Loss\">{}</td><td data-name=\"Queue\">{}</td><td class=\"rule\" data-name=\"And\">{}</td></tr>",
            html(&direction(&link.name)),
            text("rate"),
            text("delay"),
            text("loss"),
            text("queue"),
            html(&others(link)),
        );
    }
    out.push_str("</tbody></table></div>");
    changes(&mut out, scenario);
    // A network that programs use has links alone.
    if scenario.connections.is_empty() {
        out.push_str("</div>\n");
        return out;
    }
    out.push_str("<dl class=\"facts\">");
    let mut fact = |name: &str, value: String| {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", html(name), html(&value));
    };
    for group in scenario.alike() {
        let (kind, kinds) =
            if group[0].measured { ("Connection", "Connections") } else { ("Cross traffic", "Cross traffic") };
        let name = match group {
            [one] if one.measured && measured.len() == 1 => kind.to_owned(),
            [one] => format!("{kind} {}", one.name),
            _ => kinds.to_owned(),
        };
        let alike = match group {
            [_] => String::new(),
            several => format!("{}; each ", alike_in_words(&names(several).collect::<Vec<_>>())),
        };
        fact(&name, alike + &connection_facts(&group[0], scenario));
    }
    let from = match scenario.measure_from.is_zero() {
        true => String::new(),
        false => format!(", measured from {} on", readable("delay", &scenario.measure_from.to_string())),
    };
    let length = if scenario.ends_with_data() { "until all has arrived, at most " } else { "" };
    fact("Length", format!("{length}{}{from}", readable("delay", &scenario.duration.to_string())));
    let backups: Vec<&str> = (0..scenario.paths.len())
        .filter(|p| {
            measured
                .iter()
                .any(|c| c.paths.iter().position(|x| x == p).is_some_and(|i| c.is_backup(i, &scenario.paths)))
        })
        .map(|p| scenario.paths[p].name.as_str())
        .collect();
    if !backups.is_empty() {
        fact("Backup", backups.join(", "));
    }
    out.push_str("</dl></div>\n");
    out
}

/// Whether a link has a line in the table. A link that only delays packets, as most links back to the client do, has
/// none.
fn shapes(link: &Link) -> bool {
    link.written("rate").is_some_and(|r| r != "unlimited") || !others(link).is_empty() || loses(link)
}

fn loses(link: &Link) -> bool {
    link.written("loss").is_some_and(|l| l != "0")
}

/// The text for a link's other effects on packets.
fn others(link: &Link) -> String {
    let mut parts = Vec::new();
    for (key, word, usual) in [
        ("jitter", "jitter", "none"),
        ("reorder", "reordering", "none"),
        ("duplicate", "duplicates", "0"),
        ("corrupt", "damages", "0"),
    ] {
        if let Some(value) = link.written(key).filter(|v| v != usual) {
            parts.push(format!("{word} {}", readable(key, &value)));
        }
    }
    if !link.changes.is_empty() {
        parts.push("changes over time".into());
    }
    parts.join(", ")
}

fn connection_facts(connection: &Connection, scenario: &Scenario) -> String {
    let text = |key: &str| readable(key, &connection.written(key).unwrap_or_default());
    let mut parts = vec![
        format!("{} {}", text("workload"), text("direction")),
        format!("congestion control {}", text("congestion")),
        format!("receive buffer {}", text("receive_buffer")),
        format!("send buffer {}", text("send_buffer")),
        many_in_words(connection.host),
    ];
    if !connection.engine.mptcp {
        parts.insert(0, "plain TCP".into());
    }
    if connection.paths.len() < scenario.paths.len() {
        let names: Vec<_> = connection.paths.iter().map(|p| scenario.paths[*p].name.as_str()).collect();
        parts.push(format!("over {}", names.join(", ")));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn values_are_written_for_people() {
        assert_eq!(readable("rate", "25Mbps"), "25 Mbit/s");
        assert_eq!(readable("loss", "0.01"), "1 %");
        assert_eq!(readable("loss", "0"), "none");
        assert_eq!(readable("queue", "100packets"), "100 packets");
        assert_eq!(readable("rate", "token-bucket:rate=8Mbps:burst=3028B"), "8 Mbit/s, bucket of 3028 B");
    }
}
