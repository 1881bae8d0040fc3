//! The changes of links over time, in words and as step lines.

use crate::document::html;
use crate::number::count;
use crate::units::readable;
use pathweave_lab::scenario::{Change, Link, LinkSettings, Rate, Scenario};
use pathweave_units::Duration;
use std::fmt::Write;

/// A link's name for people: `wlan` for the direction from the client, `wlan, back` for the direction back.
pub(crate) fn direction(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((base, "down")) => format!("{base}, back"),
        Some((base, _)) => base.to_owned(),
        None => name.to_owned(),
    }
}

/// Most times at which a link changes that a card lists.
const MOST_TIMES: usize = 12;

/// Writes the changes of each link with their times. Both directions of a link are one line if they change alike.
pub(crate) fn changes(out: &mut String, scenario: &Scenario) {
    let mut lines = Vec::new();
    for pair in scenario.links.chunks(2) {
        let both = pair.iter().all(|link| link.changes == pair[0].changes);
        for link in pair.iter().take(if both { 1 } else { 2 }).filter(|link| !link.changes.is_empty()) {
            let name = if both { format!("{}, both ways", link.base_name()) } else { direction(&link.name) };
            lines.push((name, link));
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push_str("<dl class=\"facts changes\">");
    for (name, link) in lines {
        let _ = write!(out, "<dt>Changes of {}</dt><dd>{}</dd>", html(&name), html(&changes_of(link)));
        let courses = courses(link, scenario.duration);
        if !courses.is_empty() {
            let _ = write!(out, "<dd class=\"courses\">{courses}</dd>");
        }
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

/// Something that changes, as it is drawn: its name, its unit, and its value under the settings of a time.
type Quantity = (&'static str, &'static str, fn(&LinkSettings) -> Option<f64>);
const QUANTITIES: [Quantity; 3] = [
    ("Rate", "Mbit/s", |settings| match &settings.shaper {
        _ if !settings.up => Some(0.0),
        Rate::Constant(rate) | Rate::TokenBucket { rate, .. } => Some(rate.as_mbps()),
        Rate::Unlimited | Rate::Trace(_) => None,
    }),
    ("Delay", "ms", |settings| Some(1e3 * settings.delay.as_secs_f64())),
    ("Loss", "%", |settings| Some(100.0 * settings.loss.share())),
];

/// A step line for each quantity that the link changes. A rate is drawn only if it is a number at all times.
fn courses(link: &Link, duration: Duration) -> String {
    let mut settings = link.settings.clone();
    let mut times = vec![(Duration::ZERO, settings.clone())];
    for together in link.changes.chunk_by(|a, b| a.at == b.at) {
        together.iter().for_each(|change| change.change.clone().apply_to(&mut settings));
        times.push((together[0].at, settings.clone()));
    }
    let mut out = String::new();
    for (name, unit, value) in QUANTITIES {
        let steps: Option<Vec<(Duration, f64)>> = times.iter().map(|(at, s)| Some((*at, value(s)?))).collect();
        if let Some(steps) = steps.filter(|steps| steps.iter().any(|(_, v)| *v != steps[0].1)) {
            out.push_str(&course(name, unit, &steps, duration));
        }
    }
    out
}

/// A step line from zero to the largest value. Its letters are not part of the drawing, so they keep their size.
fn course(name: &str, unit: &str, steps: &[(Duration, f64)], duration: Duration) -> String {
    let most = steps.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let x = |at: Duration| 1000.0 * (at.as_secs_f64() / duration.as_secs_f64()).min(1.0);
    let y = |value: f64| 98.0 - 96.0 * value / most;
    let mut line = String::new();
    for (i, (at, value)) in steps.iter().enumerate() {
        let _ = match i {
            0 => write!(line, "M0 {:.1}", y(*value)),
            _ => write!(line, "H{:.1}V{:.1}", x(*at), y(*value)),
        };
    }
    let end = readable("delay", &duration.to_string());
    format!(
        "<figure class=\"course\"><figcaption>{name}</figcaption><div class=\"scale\"><span>{} {unit}</span><span>0</span></div>\
         <svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name} over time, {unit}\">\
         <path class=\"grid\" d=\"M0 98H1000\"/><path class=\"step\" d=\"{line}H1000\"/></svg>\
         <div class=\"ends\"><span>0 s</span><span>{end}</span></div></figure>",
        count(most)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_algorithms::Registry;
    use pathweave_lab::scenario::{Document, Variant};

    #[test]
    fn changes_are_listed_with_their_times() {
        let card = |changes: &str| {
            let text = format!(
                "format = 1\nname = \"x\"\nduration = \"99s\"\n[[path]]\nname = \"wifi\"\nrate = \"30Mbps\"\n\
                 delay = \"10ms\"\n{changes}"
            );
            let document = Document::parse("x.toml", &text).expect("it is TOML");
            written(&document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario"))
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

    fn written(scenario: &Scenario) -> String {
        let mut out = String::new();
        changes(&mut out, scenario);
        out
    }

    #[test]
    fn each_quantity_that_changes_is_a_step_line() {
        let text = "format = 1\nname = \"x\"\nduration = \"10s\"\n[[path]]\nname = \"wifi\"\nrate = \"30Mbps\"\ndelay = \"10ms\"\n\
                    [[path.change]]\nat = \"5s\"\nrate = \"15Mbps\"\n[[path.change]]\nat = \"8s\"\nup = false\n";
        let document = Document::parse("x.toml", text).expect("it is TOML");
        let card = written(&document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario"));
        assert!(card.contains("d=\"M0 2.0H500.0V50.0H800.0V98.0H1000\""), "{card}");
        assert!(
            card.contains("<span>30 Mbit/s</span>") && card.contains("<span>10 s</span>") && !card.contains("Delay")
        );
    }
}
