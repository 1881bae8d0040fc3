//! The drawing of a scenario's nodes and links.

use crate::document::html;
use crate::units::readable;
use pathweave_lab::scenario::{Link, Scenario};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The drawing of the topology: nodes from left to right by their distance from the first client, and the links between
/// them.
pub(crate) fn topology(scenario: &Scenario) -> String {
    const WIDTH: f64 = 640.0;
    /// Distance of two lines of a label.
    const LINE: f64 = 17.0;
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
    let height = (rows as f64 * 64.0).max(most as f64 * 46.0 + 36.0);
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
            let labels = labels(pair);
            // Outside of the bend, so that no label lies on its own curve.
            let places = match labels.len() {
                _ if bend == 0.0 => [-7.0, 18.0],
                2 if bend < 0.0 => [-7.0 - LINE, -7.0],
                _ if bend < 0.0 => [-7.0, 0.0],
                _ => [18.0, 18.0 + LINE],
            };
            for (label, (class, below)) in labels.iter().zip(["halo strong", "halo"].into_iter().zip(places)) {
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
    fn labels_of_parallel_links_lie_outside_of_their_bends() {
        let path = |name: &str| {
            format!(
                "[[path]]\nname = \"{name}\"\nrate = \"30Mbps\"\ndelay = \"10ms\"\nqueue = \"60packets\"\n\
                 down = {{ rate = \"unlimited\" }}\n"
            )
        };
        let text = format!("format = 1\nname = \"x\"\nduration = \"1s\"\n{}{}", path("wifi"), path("lte"));
        let document = Document::parse("x.toml", &text).expect("it is TOML");
        let drawn = topology(&document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario"));
        let height = |label: &str| -> f64 {
            let before = drawn.split(label).next().and_then(|text| text.rsplit("y=\"").next());
            before.and_then(|text| text.split('"').next()?.parse().ok()).expect("the label has a place")
        };
        // 128 high: the curves pass the middle at 41 and 87.
        let places = ["wifi: 30", "back: unlimited, 10 ms</text><path"].map(height);
        assert_eq!((places, height("lte: 30")), ([17.0, 34.0], 105.0), "{drawn}");
    }
}
