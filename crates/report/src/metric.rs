//! Metrics of runs that tables, pages and files list one after the other. Each metric has one definition here, which
//! the terminal's table, the CSV file, the page and `docs/results-format.md` use.

use crate::number::{count, kilobytes, short};
use pathweave_lab::results::Metrics;

/// A metric, with its summary over the runs of a scheduler.
pub(crate) struct Metric {
    /// The metric's key in a result, and its unit there.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the document"))]
    key: (&'static str, &'static str),
    /// Description for `docs/results-format.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the document"))]
    what: &'static str,
    /// Whether a smaller value is better.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the document"))]
    better: Better,
    /// A run's value; `None` for kinds of runs that do not have this metric.
    of: fn(&Metrics) -> Option<f64>,
    /// The summary over several runs.
    over: Over,
    /// The metric's CSV column, and the factor from the CSV's unit to the result's unit.
    pub(crate) csv: (&'static str, f64),
    /// The metric's group on the page, empty if it has none, and its name there.
    pub(crate) page: (&'static str, &'static str),
    /// The metric's title in the terminal's table, in two lines, and its explanation; `None` if that table does not
    /// show it.
    pub(crate) table: Option<(&'static str, &'static str)>,
    /// Formats a value for people.
    text: fn(f64) -> String,
}

/// Whether a smaller value of a metric is better.
#[derive(Clone, Copy)]
enum Better {
    Less,
    Neither,
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
    Metric { key: ("message_delay_ms.p50", "ms"), better: Better::Less, over: Over::Mean,
        what: "delay of messages or of a page's objects, median",
        of: |m| Some(m.message_delay_ms?.p50), csv: (DELAY_P50, 1.0),
        page: (DELAYS, "p50"), table: Some(("p50\nms", "p50: median delay")), text: short },
    Metric { key: ("message_delay_ms.p99", "ms"), better: Better::Less, over: Over::Mean,
        what: "the same, 99th percentile",
        of: |m| Some(m.message_delay_ms?.p99), csv: (DELAY_P99, 1.0),
        page: (DELAYS, "p99"), table: None, text: short },
    Metric { key: ("arrival_interval_ms.max", "ms"), better: Better::Less, over: Over::Largest,
        what: "longest time between two deliveries to the application; summed up only where there are messages or pages",
        of: |m| m.message_delay_ms.map(|_| m.arrival_interval_ms.max), csv: (LONGEST_GAP, 1.0),
        page: (DELAYS, "longest gap"), table: Some(("longest\ngap ms", "longest gap: time without a delivery")), text: short },
    Metric { key: ("out_of_order_bytes.mean", "bytes"), better: Better::Less, over: Over::Mean,
        what: "data that waits out of order, at the receiver; computed from the maximum in each 10 ms",
        of: |m| Some(m.out_of_order_bytes.mean), csv: ("out_of_order_mean_kb", 1e3),
        page: ("Out-of-order queue, KB", "mean"), table: None, text: kilobytes },
    Metric { key: ("out_of_order_bytes.p95", "bytes"), better: Better::Less, over: Over::Mean,
        what: "the same, 95th percentile",
        of: |m| Some(m.out_of_order_bytes.p95 as f64), csv: ("out_of_order_p95_kb", 1e3),
        page: ("Out-of-order queue, KB", "p95"),
        table: Some(("waits\nKB", "waits: data that arrived too early, 95th percentile")), text: kilobytes },
    Metric { key: ("out_of_order_bytes.max", "bytes"), better: Better::Less, over: Over::Largest,
        what: "the same, maximum",
        of: |m| Some(m.out_of_order_bytes.max as f64), csv: ("out_of_order_max_kb", 1e3),
        page: ("Out-of-order queue, KB", "max"), table: None, text: kilobytes },
    Metric { key: ("retransmitted_segments", "segments"), better: Better::Less, over: Over::Mean,
        what: "sent again on the same subflow (sender)",
        of: |m| Some(m.retransmitted_segments as f64), csv: ("resent_segments", 1.0),
        page: ("Segments", "resent"), table: Some(("resent\n", "resent: segments a run")), text: count },
    Metric { key: ("reinjected_segments", "segments"), better: Better::Neither, over: Over::Mean,
        what: "sent on another subflow after a timeout or on a dead path (sender)",
        of: |m| Some(m.reinjected_segments as f64), csv: ("reinjected_segments", 1.0),
        page: ("Segments", "reinjected"),
        table: Some(("rein-\njected", "reinjected: segments sent again on another path")), text: count },
    Metric { key: ("timeouts", ""), better: Better::Less, over: Over::Mean,
        what: "retransmission timeouts (sender)",
        of: |m| Some(m.timeouts as f64), csv: ("timeouts", 1.0),
        page: ("", "Timeouts"), table: None, text: count },
    Metric { key: ("head_of_line_blocked_s", "s"), better: Better::Less, over: Over::Mean,
        what: "time in which later data had arrived but earlier data was missing",
        of: |m| Some(m.head_of_line_blocked_s), csv: ("blocked_s", 1.0),
        page: ("Time, s", "blocked"), table: None, text: short },
    Metric { key: ("window_limited_s", "s"), better: Better::Neither, over: Over::Mean,
        what: "time in which the sender had data and room in a congestion window, but the receive window held it back",
        of: |m| Some(m.window_limited_s), csv: ("window_limited_s", 1.0),
        page: ("Time, s", "window-limited"),
        table: Some(("window\nfull s", "window full: the receive window held data back")), text: short },
];

impl Metric {
    /// The summary over these runs; `None` if no run has the metric.
    pub(crate) fn sum_up<'a>(&self, runs: impl Iterator<Item = &'a Metrics>) -> Option<f64> {
        let values: Vec<f64> = runs.filter_map(self.of).collect();
        match self.over {
            _ if values.is_empty() => None,
            Over::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Over::Largest => Some(values.iter().copied().fold(0.0, f64::max)),
        }
    }

    /// The value for people, or `dash` if there is none.
    pub(crate) fn shown(&self, value: Option<f64>, dash: &str) -> String {
        value.map_or_else(|| dash.to_owned(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::results::Delays;
    use std::fmt::Write;

    const BEGIN: &str = "<!-- metrics: PATHWEAVE_BLESS=1 cargo test -p pathweave-report writes them -->\n";
    const END: &str = "<!-- end of metrics -->\n";

    /// The table of metrics in `docs/results-format.md`.
    fn documented() -> String {
        let mut text = String::from(
            "| key | unit | what it is | better | CSV column | stands for the runs |\n|---|---|---|---|---|---|\n",
        );
        for Metric { key: (key, unit), what, better, over, csv: (column, scale), .. } in METRICS {
            let better = match better {
                Better::Less => "less",
                Better::Neither => "",
            };
            let over = match over {
                Over::Mean => "mean",
                Over::Largest => "largest",
            };
            let scaled = if *scale == 1.0 { String::new() } else { format!(" (÷ {scale})") };
            let _ = writeln!(text, "| `{key}` | {unit} | {what} | {better} | `{column}`{scaled} | {over} |");
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

    /// Each key in the document exists in a result.
    #[test]
    fn every_key_is_one_of_a_result() {
        let all = Metrics { message_delay_ms: Some(Delays::default()), ..Metrics::default() };
        let result = serde_json::to_value(all).expect("it is JSON");
        for metric in METRICS {
            let pointer = format!("/{}", metric.key.0.replace('.', "/"));
            assert!(result.pointer(&pointer).is_some(), "{}", metric.key.0);
        }
    }
}
