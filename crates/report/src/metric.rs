//! The form in which tables, pages and files show the metrics of runs one after the other. It applies to the terminal's
//! table, the CSV file, the page and `docs/results-format.md`. Names, units, meanings and definitions are those of
//! `pathweave_lab::metric`.

use crate::number::{count, kilobytes, short};
use pathweave_lab::metric::{self, InResult, LONGEST_GAP as GAP};
use pathweave_lab::results::Metrics;

/// A metric, with its summary over the runs of a scheduler.
pub(crate) struct Metric {
    /// The name of the lab's metric.
    name: &'static str,
    /// The summary over several runs.
    over: Over,
    /// Its column in a CSV file.
    pub(crate) csv: &'static str,
    /// The metric's group on the page, empty if it has none, and its name there.
    pub(crate) page: (&'static str, &'static str),
    /// The metric's title in the terminal's table, in two lines, and its explanation; `None` if that table does not
    /// show it.
    pub(crate) table: Option<(&'static str, &'static str)>,
    /// The value for people, from the result's unit.
    text: fn(f64) -> String,
}

/// The summary of a metric over several runs.
#[derive(Clone, Copy)]
enum Over {
    Mean,
    Largest,
}

/// The page's group for delays of messages.
pub(crate) const DELAYS: &str = "Delay, ms";
/// Names of CSV columns that other modules use.
pub(crate) const DELAY_P50: &str = "delay_p50_ms";
pub(crate) const DELAY_P99: &str = "delay_p99_ms";
pub(crate) const LONGEST_GAP: &str = "longest_gap_ms";

/// All metrics, in the order of columns. The terminal's table has the most important ones first, because it leaves out
/// columns from the end.
#[rustfmt::skip]
pub(crate) const METRICS: &[Metric] = &[
    Metric { name: "message_delay_p50_ms", over: Over::Mean,
        csv: DELAY_P50,
        page: (DELAYS, "p50"), table: Some(("p50\nms", "p50: median delay")), text: short },
    Metric { name: "message_delay_p99_ms", over: Over::Mean,
        csv: DELAY_P99,
        page: (DELAYS, "p99"), table: None, text: short },
    Metric { name: GAP.name, over: Over::Largest,
        csv: LONGEST_GAP,
        page: (DELAYS, "longest gap"), table: Some(("longest\ngap ms", "longest gap: time without a delivery")), text: short },
    Metric { name: "out_of_order_mean_kb", over: Over::Mean,
        csv: "out_of_order_mean_kb",
        page: ("Out-of-order queue, KB", "mean"), table: None, text: kilobytes },
    Metric { name: "out_of_order_p95_kb", over: Over::Mean,
        csv: "out_of_order_p95_kb",
        page: ("Out-of-order queue, KB", "p95"),
        table: Some(("waits\nKB", "waits: data that arrived too early, 95th percentile")), text: kilobytes },
    Metric { name: "out_of_order_max_kb", over: Over::Largest,
        csv: "out_of_order_max_kb",
        page: ("Out-of-order queue, KB", "max"), table: None, text: kilobytes },
    Metric { name: "retransmitted_segments", over: Over::Mean,
        csv: "resent_segments",
        page: ("Segments", "resent"), table: Some(("resent\n", "resent: segments a run")), text: count },
    Metric { name: "reinjected_segments", over: Over::Mean,
        csv: "reinjected_segments",
        page: ("Segments", "reinjected"),
        table: Some(("rein-\njected", "reinjected: segments sent again on another path")), text: count },
    Metric { name: "timeouts", over: Over::Mean,
        csv: "timeouts",
        page: ("", "Timeouts"), table: None, text: count },
    Metric { name: "head_of_line_blocked_s", over: Over::Mean,
        csv: "blocked_s",
        page: ("Time, s", "blocked"), table: None, text: short },
    Metric { name: "window_limited_s", over: Over::Mean,
        csv: "window_limited_s",
        page: ("Time, s", "window-limited"),
        table: Some(("window\nfull s", "window full: the receive window held data back")), text: short },
];

impl Metric {
    /// The lab's metric of this name, as a number of a result.
    fn in_result(&self) -> Option<InResult> {
        let mut all = metric::METRICS.iter().chain([&GAP]);
        all.find(|m| m.name == self.name)?.in_result()
    }

    /// The summary of these runs, in the result's unit; `None` if no run has a value.
    pub(crate) fn sum_up<'a>(&self, runs: impl Iterator<Item = &'a Metrics>) -> Option<f64> {
        let values: Vec<f64> = runs.filter_map(self.in_result()?.of).collect();
        match self.over {
            _ if values.is_empty() => None,
            Over::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Over::Largest => Some(values.iter().copied().fold(0.0, f64::max)),
        }
    }

    /// The value of the metric's column in a CSV file.
    pub(crate) fn in_csv(&self, value: f64) -> f64 {
        value / self.in_result().map_or(1.0, |r| r.per)
    }

    /// The value for people, or `dash` if there is none.
    pub(crate) fn shown(&self, value: Option<f64>, dash: &str) -> String {
        value.map_or_else(|| dash.to_owned(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::metric::Better;
    use std::fmt::Write;

    const BEGIN: &str = "<!-- metrics: PATHWEAVE_BLESS=1 cargo test -p pathweave-report writes them -->\n";
    const END: &str = "<!-- end of metrics -->\n";

    /// The table of metrics in `docs/results-format.md`.
    fn documented() -> String {
        let mut text = String::from(
            "| key | unit | what it is | better | CSV column | stands for the runs |\n|---|---|---|---|---|---|\n",
        );
        for shown in METRICS {
            let Metric { name, over, csv, .. } = shown;
            let lab = metric::METRICS.iter().chain([&GAP]).find(|m| m.name == *name).expect("the lab has the metric");
            let InResult { key, unit, per, .. } = shown.in_result().expect("results have the metric");
            let better = match lab.better {
                Better::More => "more",
                Better::Less => "less",
                Better::Neither => "",
            };
            let over = match over {
                Over::Mean => "mean",
                Over::Largest => "largest",
            };
            let scaled = if per == 1.0 { String::new() } else { format!(" (÷ {per})") };
            let _ = writeln!(text, "| `{key}` | {unit} | {} | {better} | `{csv}`{scaled} | {over} |", lab.about);
        }
        text
    }

    /// Compares the document with the definitions. With `PATHWEAVE_BLESS` set, the file is written instead.
    #[test]
    fn the_documents_table_is_that_of_the_definitions() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results-format.md");
        let text = std::fs::read_to_string(path).expect("it is there");
        let (before, rest) = text.split_once(BEGIN).expect("it has the table's beginning");
        let (table, after) = rest.split_once(END).expect("it has the table's end");
        if std::env::var_os("PATHWEAVE_BLESS").is_some() {
            let text = format!("{before}{BEGIN}\n{}\n{END}{after}", documented());
            std::fs::write(path, text).expect("it can be written");
            return;
        }
        assert!(
            table.trim() == documented().trim(),
            "docs/results-format.md is old: run the tests once with PATHWEAVE_BLESS=1"
        );
    }
}
