//! A scenario at a glance: a drawing of its topology, and the settings of its links and connections.

use crate::alike::alike_in_words;
use crate::document::html;
use crate::table::many_in_words;
use crate::units::readable;
use pathweave_lab::scenario::{Change, Connection, Link, Scenario};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Facts about a scenario that a page shows beside its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The scenario's name.
    pub scenario: String,
    /// One or two lines about what the scenario shows.
    pub description: String,
    /// The scenario's source.
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

/// A link's name for people: `wlan` for the direction from the client, `wlan, back` for the direction back.
fn direction(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((base, "down")) => format!("{base}, back"),
        Some((base, _)) => base.to_owned(),
        None => name.to_owned(),
    }
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

/// Most times at which a link changes that a card lists.
const MOST_TIMES: usize = 12;

/// Writes the changes of each link with their times. Both directions of a link are one line if they change alike.
fn changes(out: &mut String, scenario: &Scenario) {
    let mut lines = Vec::new();
    for pair in scenario.links.chunks(2) {
        let both = pair.iter().all(|link| link.changes == pair[0].changes);
        for link in pair.iter().take(if both { 1 } else { 2 }).filter(|link| !link.changes.is_empty()) {
            let name = if both { format!("{}, both ways", link.base_name()) } else { direction(&link.name) };
            lines.push((name, changes_of(link)));
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push_str("<dl class=\"facts changes\">");
    for (name, text) in lines {
        let _ = write!(out, "<dt>Changes of {}</dt><dd>{}</dd>", html(&name), html(&text));
    }
    out.push_str("</dl>");
}

/// The changes of a link: `at 3 s: rate 5 Mbit/s, delay 40 ms; at 6 s: down; at 8 s: up`.
fn changes_of(link: &Link) -> String {
    let time = |change: &Change| readable("delay", &change.at.to_string());
    let word = |change: &Change| match change.written() {
        Some(("up", up)) => (if up == "true" { "up" } else { "down" }).to_owned(),
        Some((key, value)) => format!("{} {}", key.replace('_', " "), readable(key, &value)),
        None => String::new(),
    };
    let times: Vec<&[Change]> = link.changes.chunk_by(|a, b| a.at == b.at).collect();
    let told = |together: &&[Change]| {
        format!("at {}: {}", time(&together[0]), together.iter().map(word).collect::<Vec<_>>().join(", "))
    };
    let mut parts: Vec<String> = times.iter().take(MOST_TIMES).map(told).collect();
    if let (true, Some(last)) = (times.len() > MOST_TIMES, link.changes.last()) {
        parts.push(format!("{} more, the last at {}", times.len() - MOST_TIMES, time(last)));
    }
    parts.join("; ")
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

/// The drawing of the topology: nodes from left to right by their distance from the first client, and the links between
/// them.
fn topology(scenario: &Scenario) -> String {
    const WIDTH: f64 = 640.0;
    let Some(first) = scenario.paths.first() else { return String::new() };
    let mut layer: Vec<Option<usize>> = vec![None; scenario.nodes.len()];
    layer[first.client] = Some(0);
    for round in 0..scenario.nodes.len() {
        for pair in scenario.links.chunks(2) {
            let ends = [pair[0].from, pair[0].to];
            for (a, b) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if layer[a] == Some(round) && layer[b].is_none() {
                    layer[b] = Some(round + 1);
                }
            }
        }
    }
    let layers = layer.iter().flatten().max().copied().unwrap_or(0).max(1);
    let mut in_layer: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, l) in layer.iter().enumerate() {
        if let Some(l) = l {
            in_layer.entry(*l).or_default().push(node);
        }
    }
    let rows = in_layer.values().map(Vec::len).max().unwrap_or(1);
    let mut between: BTreeMap<(usize, usize), Vec<&[Link]>> = BTreeMap::new();
    for pair in scenario.links.chunks(2) {
        let (a, b) = (pair[0].from, pair[0].to);
        between.entry((a.min(b), a.max(b))).or_default().push(pair);
    }
    let most = between.values().map(Vec::len).max().unwrap_or(1);
    let height = (rows as f64 * 64.0).max(most as f64 * 46.0 + 26.0);
    let place = |node: usize| {
        let l = layer[node].unwrap_or(0);
        let column = in_layer.get(&l).map_or(&[][..], Vec::as_slice);
        let at = column.iter().position(|n| *n == node).unwrap_or(0);
        let x = 52.0 + (WIDTH - 104.0) * l as f64 / layers as f64;
        (x, height * (at as f64 + 0.5) / column.len().max(1) as f64)
    };
    let mut out = format!(
        "<svg class=\"topology\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"The paths of the scenario\">"
    );
    for ((a, b), links) in &between {
        if layer[*a].is_none() || layer[*b].is_none() {
            continue;
        }
        let ((x1, y1), (x2, y2)) = (place(*a), place(*b));
        for (i, pair) in links.iter().enumerate() {
            let bend = (i as f64 - (links.len() - 1) as f64 / 2.0) * 46.0;
            let (mx, my) = ((x1 + x2) / 2.0, (y1 + y2) / 2.0);
            let path = scenario
                .paths
                .iter()
                .position(|p| p.up.iter().chain(&p.down).any(|l| scenario.links[*l].name == pair[0].name));
            let class = path.map_or(String::new(), |p| format!(" p{}", p % 4));
            let _ = write!(
                out,
                "<path class=\"link{class}\" d=\"M{x1:.0} {y1:.0}Q{mx:.0} {:.0} {x2:.0} {y2:.0}\"/>",
                my + 2.0 * bend,
            );
            for (label, (class, below)) in labels(pair).iter().zip([("halo strong", -7.0), ("halo", 16.0)]) {
                let _ = write!(
                    out,
                    "<text class=\"{class}\" x=\"{mx:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                    my + bend + below,
                    html(label),
                );
            }
        }
    }
    for (node, l) in layer.iter().enumerate() {
        if l.is_none() {
            continue;
        }
        let (x, y) = place(node);
        let name = html(&scenario.nodes[node].name);
        let wide = (name.chars().count() as f64 * 7.5 + 20.0).max(60.0);
        let _ = write!(
            out,
            "<rect class=\"node\" x=\"{:.0}\" y=\"{:.0}\" width=\"{wide:.0}\" height=\"28\" rx=\"6\"/>\
             <text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{name}</text>",
            x - wide / 2.0,
            y - 14.0,
            y + 4.5
        );
    }
    out + "</svg>"
}

/// The labels of a link: `wlan: 25 Mbit/s, 25 ms, 100 packets`, and the differences of the direction back.
fn labels(pair: &[Link]) -> Vec<String> {
    let texts: Vec<String> = pair.iter().map(link_text).collect();
    let Some((there, back)) = texts.first().zip(texts.last()) else { return Vec::new() };
    let name = pair[0].base_name();
    match there == back {
        true => vec![format!("{name}: {there}, both ways")],
        false => vec![format!("{name}: {there}"), format!("back: {back}")],
    }
}

/// The rate, delay and queue of one direction of a link: `25 Mbit/s, 25 ms, 100 packets`. A link without a rate has no
/// queue.
pub fn link_text(link: &Link) -> String {
    let rate = link.written("rate").unwrap_or_default();
    let text = match rate.split_once(":rate=").or_else(|| rate.split_once(":mean_rate=")) {
        Some((_, rest)) => readable("rate", rest.split(':').next().unwrap_or("")),
        None if link.written("trace").is_some() => "trace".into(),
        None => readable("rate", &rate),
    };
    let delay = readable("delay", &link.settings.delay.to_string());
    match link.has_rate() {
        true => format!("{text}, {delay}, {}", readable("queue", &link.written("queue").unwrap_or_default())),
        false => format!("{text}, {delay}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_algorithms::Registry;
    use pathweave_lab::scenario::{Document, Variant};

    #[test]
    fn the_drawing_shows_both_directions_with_rates_delays_and_queues() {
        let drawn = |down: &str| {
            let text = format!(
                "format = 1\nname = \"x\"\nduration = \"1s\"\n[[path]]\nname = \"wifi\"\nrate = \"30Mbps\"\ndelay = \"10ms\"\n\
                 queue = \"60packets\"\n{down}"
            );
            let document = Document::parse("x.toml", &text).expect("it is TOML");
            topology(&document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario"))
        };
        assert!(drawn("").contains(">wifi: 30 Mbit/s, 10 ms, 60 packets, both ways<"));
        let page = drawn("down = { rate = \"token-bucket:rate=90Mbps:burst=3028B\", queue = \"20packets\" }");
        assert!(page.contains(">wifi: 30 Mbit/s, 10 ms, 60 packets<"), "{page}");
        assert!(page.contains(">back: 90 Mbit/s, 10 ms, 20 packets<"), "{page}");
        assert!(drawn("down = { rate = \"unlimited\" }").contains(">back: unlimited, 10 ms<"));
    }

    #[test]
    fn changes_are_listed_with_their_times() {
        let card = |changes: &str| {
            let text = format!(
                "format = 1\nname = \"x\"\nduration = \"99s\"\n[[path]]\nname = \"wifi\"\nrate = \"30Mbps\"\n\
                 delay = \"10ms\"\n{changes}"
            );
            let document = Document::parse("x.toml", &text).expect("it is TOML");
            About::of(&document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario")).card
        };
        let change = |at: &str, what: &str| format!("[[path.change]]\nat = \"{at}\"\n{what}\n");
        let all = [
            change("3s", "rate = \"5Mbps\"\ndelay = \"40ms\""),
            change("6s", "up = false"),
            change("8500ms", "up = true"),
        ];
        let expected = "<dt>Changes of wifi, both ways</dt>\
                        <dd>at 3 s: rate 5 Mbit/s, delay 40 ms; at 6 s: down; at 8.5 s: up</dd>";
        assert!(card(&all.concat()).contains(expected), "{}", card(&all.concat()));
        let one_way = card(&change("2s", "direction = \"up\"\nloss = \"2%\""));
        assert!(one_way.contains("<dt>Changes of wifi</dt><dd>at 2 s: loss 2 %</dd>"), "{one_way}");
        let many: String = (1..=15).map(|i| change(&format!("{i}s"), &format!("rate = \"{i}Mbps\""))).collect();
        assert!(card(&many).contains("; at 12 s: rate 12 Mbit/s; 3 more, the last at 15 s</dd>"), "{}", card(&many));
        assert!(!card("").contains("Changes"));
    }

    #[test]
    fn values_are_written_for_people() {
        assert_eq!(readable("rate", "25Mbps"), "25 Mbit/s");
        assert_eq!(readable("loss", "0.01"), "1 %");
        assert_eq!(readable("loss", "0"), "none");
        assert_eq!(readable("queue", "100packets"), "100 packets");
        assert_eq!(readable("rate", "token-bucket:rate=8Mbps:burst=3028B"), "8 Mbit/s, bucket of 3028 B");
    }
}
