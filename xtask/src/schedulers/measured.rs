//! The schedulers' results on each scenario, from the committed tables.

use super::word;
use crate::run::root;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

/// Distance from the median scheduler, as a fraction, beyond which a scheduler shines or fails.
const MARGIN: f64 = 0.05;
/// Goodputs that differ by less than this count as level, whatever their intervals.
const LEVEL: f64 = 0.01;

/// One line of a table of results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) goodput: f64,
    /// The goodput as text, with the table's number of digits.
    pub(super) shown: String,
    /// Half the width of the 95 % interval.
    pub(super) margin: f64,
    /// Aggregation benefit (CP eq. 9).
    pub(super) benefit: f64,
    /// Data that waits at the receiver, KB, as text.
    pub(super) out_of_order: String,
}

/// The results on one scenario, the best first.
pub(super) struct Results {
    pub(super) scenario: String,
    pub(super) about: String,
    pub(super) lines: Vec<Line>,
}

/// The committed results of a scenario; `None` if it is not in docs/results/.
pub(super) fn results(scenario: &Value) -> Option<Results> {
    let name = word(scenario, "name");
    let text = fs::read_to_string(root().join(format!("docs/results/{name}.csv"))).ok()?;
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next()?.split(',').collect();
    let lines = lines.filter_map(|l| line(&heading, l)).collect();
    Some(Results { scenario: name.into(), about: word(scenario, "summary").into(), lines })
}

/// A line such as `wlan-3g,cp,,,20,0,0,6.61,0.06,...` under its heading.
fn line(heading: &[&str], text: &str) -> Option<Line> {
    let fields: Vec<&str> = text.split(',').collect();
    let field = |name: &str| heading.iter().position(|h| *h == name).and_then(|i| fields.get(i)).copied();
    let number = |name: &str| field(name)?.parse::<f64>().ok();
    let goodput = number("goodput_mbps")?;
    Some(Line {
        name: field("scheduler")?.to_owned(),
        goodput,
        shown: if goodput < 9.995 { format!("{goodput:.2}") } else { format!("{goodput:.1}") },
        margin: number("goodput_ci95_mbps").unwrap_or(0.0),
        benefit: number("aggregation_benefit")?,
        out_of_order: format!("{:.0}", number("out_of_order_mean_kb")?),
    })
}

impl Results {
    pub(super) fn multipath(&self) -> impl Iterator<Item = &Line> + Clone {
        self.lines.iter().filter(|l| !l.name.starts_with("tcp-path") && l.name != "single")
    }

    pub(super) fn median(&self) -> f64 {
        let mut all: Vec<f64> = self.multipath().map(|l| l.goodput).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    fn median_out_of_order(&self) -> String {
        let mut all: Vec<&str> = self.multipath().map(|l| l.out_of_order.as_str()).collect();
        let size = |text: &str| text.parse().unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| size(a).total_cmp(&size(b)));
        all.get(all.len() / 2).map_or_else(String::new, |text| (*text).to_owned())
    }

    pub(super) fn best_path(&self) -> f64 {
        self.lines.iter().filter(|l| l.name.starts_with("tcp-path")).map(|l| l.goodput).fold(0.0, f64::max)
    }
}

impl Results {
    /// The schedulers to take, and those to avoid; `None` if there are none. A scheduler that is level with the best is never among those to
    /// avoid. If the best delivers less than plain TCP, the advice says so.
    pub(super) fn advice(&self) -> Option<(String, String)> {
        let first = self.multipath().next()?;
        let reach = (first.goodput - first.margin).min(first.goodput * (1.0 - LEVEL));
        let is_level = move |l: &&Line| l.goodput + l.margin >= reach;
        let best = best_names(self.multipath().filter(is_level), self.multipath().count());
        let none = if first.goodput < self.best_path() { "none reaches plain TCP; " } else { "" };
        let fails = |l: &&Line| self.place(&l.name).is_some_and(|p| p.fails());
        let avoid = names(self.multipath().filter(|l| fails(l) && !is_level(l)));
        Some((format!("{none}{best}"), avoid))
    }
}

/// A scheduler's result on a scenario.
pub(super) struct Place<'a> {
    line: &'a Line,
    /// Rank among the schedulers for several paths; `None` for `single`.
    rank: Option<usize>,
    /// Goodput relative to the median scheduler.
    against: f64,
}

impl Place<'_> {
    pub(super) fn fails(&self) -> bool {
        self.line.benefit < 0.0 || self.against <= -MARGIN
    }

    pub(super) fn shines(&self) -> bool {
        !self.fails() && self.against >= MARGIN
    }
}

impl Results {
    pub(super) fn place(&self, name: &str) -> Option<Place<'_>> {
        let line = self.lines.iter().find(|l| l.name == name)?;
        let median = self.median();
        let against = if median > 0.0 { line.goodput / median - 1.0 } else { 0.0 };
        Some(Place { line, rank: self.multipath().position(|l| l.name == name), against })
    }
}

pub(super) fn measured(out: &mut String, name: &str, results: &[Results]) {
    let mut table = String::new();
    let (mut shines, mut fails) = (Vec::new(), Vec::new());
    for r in results {
        let Some(place) = r.place(name) else { continue };
        let (l, against) = (place.line, signed(place.against * 100.0, 0));
        let rank = place.rank.map_or("–".into(), |rank| format!("{} of {}", rank + 1, r.multipath().count()));
        let _ = writeln!(
            table,
            "| [{0}](../results/{0}.txt) | {1} ± {2:.2} | {rank} | {against} % | {3} | {4} | {5} |",
            r.scenario,
            l.shown,
            l.margin,
            signed(l.benefit, 2),
            l.out_of_order,
            r.median_out_of_order()
        );
        let found = format!(
            "* **{}** ({}): {} Mbit/s, {against} % against the median scheduler's {:.2}",
            r.scenario,
            r.about,
            l.shown,
            r.median()
        );
        if l.benefit < 0.0 {
            fails.push(format!("{found}; less than plain TCP on the best path, which has {:.2}", r.best_path()));
        } else if place.fails() {
            fails.push(found);
        } else if place.shines() {
            shines.push(found);
        }
    }
    for (heading, places) in [("When it shines", &shines), ("When it fails", &fails)] {
        let list = if table.is_empty() {
            "Not measured yet: it is in none of the tables of [the results](../results/).".into()
        } else if places.is_empty() {
            "On none of the built-in scenarios.".into()
        } else {
            places.join("\n")
        };
        let _ = write!(out, "\n## {heading}\n\n{list}\n");
    }
    if table.is_empty() {
        return;
    }
    out.push_str(
        "\n## Measured\n\n| scenario | goodput, Mbit/s | rank | against the median | benefit (CP eq. 9) | out of order, KB | median of \
         that |\n|---|---|---|---|---|---|---|\n",
    );
    out.push_str(&table);
    out.push_str(
        "\nMeans over the seeds with their 95 % interval. Benefit: 0 is plain TCP on the best path, 1 the sum of all paths. Out of order: \
         data that waits at the receiver for earlier data, on average over time. At least 5 % above the median of all schedulers is shining, \
         5 % below or less than one path is failing, significant or not. In all scenarios but wifi-lte, `linux` has a \
         Linux host and every other scheduler an RFC host, so that its row there is of both.\n",
    );
}

fn signed(x: f64, places: usize) -> String {
    let text = format!("{:.places$}", x.abs());
    let sign = if text.trim_matches(['0', '.']).is_empty() {
        "±"
    } else if x < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

/// Names of the schedulers, each with its goodput.
pub(super) fn names<'a>(lines: impl Iterator<Item = &'a Line> + Clone) -> String {
    let all: Vec<String> = lines.map(|l| format!("[{0}]({0}.md) {1}", l.name, l.shown)).collect();
    if all.is_empty() { "–".into() } else { all.join(", ") }
}

/// Names of the best of `count` schedulers. If most of them are level, the text says that there is no choice to make.
pub(super) fn best_names<'a>(lines: impl Iterator<Item = &'a Line> + Clone, count: usize) -> String {
    let level = lines.clone().count();
    if 2 * level > count { format!("{level} of {count} are level, as {}", names(lines.take(2))) } else { names(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(lines: &[(&str, f64, f64)]) -> Results {
        let best = lines.iter().filter(|l| l.0.starts_with("tcp")).map(|l| l.1).fold(0.0, f64::max);
        let line = |(name, goodput, margin): &(&str, f64, f64)| Line {
            name: (*name).into(),
            goodput: *goodput,
            shown: format!("{goodput:.2}"),
            margin: *margin,
            benefit: goodput / best - 1.0,
            out_of_order: "0".into(),
        };
        Results { scenario: "s".into(), about: String::new(), lines: lines.iter().map(line).collect() }
    }

    #[test]
    fn what_is_level_with_the_best_is_not_to_be_avoided() {
        let level = results(&[("tcp-path0", 2.78, 0.05), ("a", 2.67, 0.05), ("b", 2.66, 0.05), ("c", 2.08, 0.09)]);
        let (best, avoid) = level.advice().expect("there are schedulers");
        assert_eq!(best, "none reaches plain TCP; 2 of 3 are level, as [a](a.md) 2.67, [b](b.md) 2.66");
        assert_eq!(avoid, "[c](c.md) 2.08");
        let apart = results(&[("a", 3.0, 0.05), ("tcp-path0", 2.78, 0.05), ("b", 2.66, 0.05), ("c", 2.5, 0.05)]);
        assert_eq!(apart.advice(), Some(("[a](a.md) 3.00".into(), "[b](b.md) 2.66, [c](c.md) 2.50".into())));
    }

    #[test]
    fn lines_of_results() {
        let cp = Line {
            name: "cp".into(),
            goodput: 6.61,
            shown: "6.61".into(),
            margin: 0.06,
            benefit: 1.14,
            out_of_order: "1658".into(),
        };
        let heading = [
            "scenario",
            "scheduler",
            "goodput_mbps",
            "goodput_ci95_mbps",
            "aggregation_benefit",
            "out_of_order_mean_kb",
        ];
        assert_eq!(line(&heading, "wlan-3g,cp,6.61,0.06,1.14,1657.9"), Some(cp));
        assert_eq!(
            line(&heading, "wlan-3g,tcp-path0,2.68,,-0.25,2.6").map(|l| (l.margin, l.benefit)),
            Some((0.0, -0.25))
        );
        assert_eq!(line(&heading, "wlan-3g,cp,,,,"), None);
    }
}
