//! The metrics of a run: each has its name, unit, meaning and definition here. Plans name them, and tables, pages, files and documents
//! take from here what they show.
//!
//! Most are numbers of a result (`docs/results-format.md`). The others are derived from a run's series and from its scenario.

use self::Better::{Less, More, Neither};
use crate::bound::{data_per_frame, goodput_bound_mbps};
use crate::results::{Metrics, RunResult};
use crate::scenario::{Rate, Scenario};
use pathweave_proto::config::ReceiveBuffer;
use std::collections::BTreeMap;

/// Number of paths, and of competitors, that have metrics of their own.
const PATHS: usize = 4;
const COMPETITORS: usize = 4;

/// A metric of a run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name in plans.
    pub name: &'static str,
    /// The unit, empty for a plain number.
    pub unit: &'static str,
    /// The meaning, in words.
    pub about: &'static str,
    /// Whether more or less of it is better.
    pub better: Better,
    of: Of,
}

/// Whether a larger or a smaller value of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A larger value.
    More,
    /// A smaller value.
    Less,
    /// Neither: the metric describes the run.
    Neither,
}

/// The definition of a metric.
#[derive(Clone, Copy, Debug)]
enum Of {
    Result(InResult),
    Run(fn(&RunResult, &Scenario) -> Option<f64>),
    /// The metric also needs other runs of the sweep.
    Sweep,
}

/// A metric as a number of a result.
#[derive(Clone, Copy, Debug)]
pub struct InResult {
    /// The key below `metrics`, with a dot between the parts.
    pub key: &'static str,
    /// The unit of the number in the result.
    pub unit: &'static str,
    /// How many of the result's units make one unit of the metric: 1000 for a result in bytes and a metric in KB.
    pub per: f64,
    /// The number; `None` if runs of this kind have none.
    pub of: fn(&Metrics) -> Option<f64>,
}

/// A metric of each path, or of each competitor: name behind the number, direction, unit, meaning and definition.
type Numbered = (&'static str, Better, &'static str, &'static str, fn(&RunResult, &Scenario, usize) -> Option<f64>);

const fn plain(
    name: &'static str,
    better: Better,
    unit: &'static str,
    about: &'static str,
    key: &'static str,
    of: fn(&Metrics) -> Option<f64>,
) -> Metric {
    Metric { name, unit, about, better, of: Of::Result(InResult { key, unit, per: 1.0, of }) }
}

const fn kilobytes(
    name: &'static str,
    better: Better,
    about: &'static str,
    key: &'static str,
    of: fn(&Metrics) -> Option<f64>,
) -> Metric {
    Metric { name, unit: "KB", about, better, of: Of::Result(InResult { key, unit: "bytes", per: 1e3, of }) }
}

const fn derived(
    name: &'static str,
    better: Better,
    unit: &'static str,
    about: &'static str,
    of: fn(&RunResult, &Scenario) -> Option<f64>,
) -> Metric {
    Metric { name, unit, about, better, of: Of::Run(of) }
}

/// The metrics of the whole run.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    plain("goodput_mbps", More, "Mbit/s", "data delivered in order to the application",
        "goodput_mbps", |m| Some(m.goodput_mbps)),
    Metric { name: "aggregation_benefit", unit: "", better: More, of: Of::Sweep,
        about: "0: plain TCP on the best path; 1: all paths added up; -1: nothing (CP eq. 9, DPSAF eq. 14)" },
    plain("completion_s", Less, "s", "from the start of the connection to the delivery of its last byte",
        "completion_s", |m| m.completion_s),
    derived("flow_completion_s", Less, "s", "from a flow's start to the delivery of its last byte: mean of the measured connections",
        |run, _| flow_completion(run, true)),
    derived("competitors_completion_s", Neither, "s", "the same of the connections that are not measured",
        |run, _| flow_completion(run, false)),
    derived("completion_lead_s", More, "s", "competitors' completion, less the measured flows'",
        |run, _| flow_completion(run, false).zip(flow_completion(run, true)).map(|(theirs, ours)| theirs - ours)),
    plain("message_delay_ms", Less, "ms", "from a message's writing, or an object's request, to the delivery of its last byte: mean",
        "message_delay_ms.mean", |m| m.message_delay_ms.map(|d| d.mean)),
    plain("message_delay_p50_ms", Less, "ms", "delay of messages or of a page's objects: median",
        "message_delay_ms.p50", |m| m.message_delay_ms.map(|d| d.p50)),
    plain("message_delay_p95_ms", Less, "ms", "delay of messages or of a page's objects: 95th percentile",
        "message_delay_ms.p95", |m| m.message_delay_ms.map(|d| d.p95)),
    plain("message_delay_p99_ms", Less, "ms", "delay of messages or of a page's objects: 99th percentile",
        "message_delay_ms.p99", |m| m.message_delay_ms.map(|d| d.p99)),
    derived("undelivered_part", Less, "", "messages, or objects of pages, that were due and did not arrive, as a part of all",
        |run, _| run.metrics.undelivered_part()),
    plain("arrival_interval_ms", Less, "ms", "time between two deliveries of in-order data: mean (CP §4.2)",
        "arrival_interval_ms.mean", |m| Some(m.arrival_interval_ms.mean)),
    plain("retransmitted_segments", Less, "segments", "sent again on the same subflow",
        "retransmitted_segments", |m| Some(m.retransmitted_segments as f64)),
    plain("reinjected_segments", Neither, "segments", "sent on another subflow after a timeout or on a dead path",
        "reinjected_segments", |m| Some(m.reinjected_segments as f64)),
    plain("opportunistic_retransmissions", Neither, "segments", "sent by opportunistic retransmission (pr)",
        "opportunistic_retransmissions", |m| Some(m.opportunistic_retransmissions as f64)),
    derived("duplicate_share", Less, "",
        "data sent on one more path, as a part of what was delivered, where all that was written was delivered", duplicate_share),
    derived("price_per_gb", Less, "", "what all that was sent costs, by the paths' costs, for each gigabyte that was delivered", price),
    plain("penalisations", Neither, "", "windows halved by penalisation (pr)", "penalisations", |m| Some(m.penalisations as f64)),
    plain("timeouts", Less, "", "retransmission timeouts", "timeouts", |m| Some(m.timeouts as f64)),
    plain("head_of_line_blocked_s", Less, "s", "time in which later data had arrived and earlier data was missing",
        "head_of_line_blocked_s", |m| Some(m.head_of_line_blocked_s)),
    plain("window_limited_s", Neither, "s", "time in which there was data and room in a congestion window, and only the receive window held data back",
        "window_limited_s", |m| Some(m.window_limited_s)),
    kilobytes("out_of_order_mean_kb", Less, "data that waits out of order at the receiver: mean of the maximum in each 10 ms",
        "out_of_order_bytes.mean", |m| Some(m.out_of_order_bytes.mean)),
    kilobytes("out_of_order_p95_kb", Less, "data that waits out of order: 95th percentile",
        "out_of_order_bytes.p95", |m| Some(m.out_of_order_bytes.p95 as f64)),
    kilobytes("out_of_order_max_kb", Less, "data that waits out of order: maximum",
        "out_of_order_bytes.max", |m| Some(m.out_of_order_bytes.max as f64)),
    derived("out_of_order_packets", Less, "packets",
        "data that waits out of order, in full segments: mean of what is there each 100 ms (DPSAF §IV)",
        |run, scenario| segment_data(scenario).map(|bytes| run.metrics.out_of_order_bytes.looked_at / bytes)),
    derived("lambda", Neither, "", "BLEST's correction factor: mean over the measured time",
        |run, scenario| mean(carried_along(run, "lambda", None, scenario)?.into_iter())),
    derived("lambda_end", Neither, "", "BLEST's correction factor at the end",
        |run, scenario| carried_along(run, "lambda", None, scenario)?.last().copied()),
    plain("fairness", More, "", "Jain's index over the goodput of all connections", "fairness", |m| m.fairness),
    plain("in_flight_segments", Neither, "segments", "segments in flight on all subflows together: mean over the measured time (REMS §6)",
        "unacknowledged_segments", |m| Some(m.unacknowledged_segments)),
    derived("rtt_difference_ms", Neither, "ms", "difference of the mean smoothed round-trip times of two subflows (CP Fig. 6)",
        |run, _| rtt_difference(run)),
    derived("acceptable_rtt_difference_ms", Neither, "ms", "receive buffer over the rate of the path with the shortest delay (CP Fig. 6)",
        |_, scenario| acceptable_rtt_difference(scenario)),
    derived("competitors_mbps", Neither, "Mbit/s", "mean goodput of the connections that are not measured",
        |run, _| mean(competitors(run))),
    derived("bound_mbps", Neither, "Mbit/s", "what no scheduler can exceed, where that is known",
        |_, scenario| goodput_bound_mbps(scenario)),
    derived("bound_share", More, "", "goodput, divided by the bound",
        |run, scenario| goodput_bound_mbps(scenario).filter(|b| *b > 0.0).map(|b| run.metrics.goodput_mbps / b)),
];

/// Longest time without a delivery, in runs with messages or pages. Plans cannot name it.
pub const LONGEST_GAP: Metric = plain(
    "longest_gap_ms",
    Less,
    "ms",
    "longest time without a delivery while the application waited for data; summed up only where there are messages or pages",
    "arrival_interval_ms.max",
    |m| m.message_delay_ms.map(|_| m.arrival_interval_ms.max),
);

/// The metrics of path P, whose names begin with `pathP_`.
#[rustfmt::skip]
const BY_PATH: &[Numbered] = &[
    ("goodput_mbps", Neither, "Mbit/s", "the path's part of the goodput",
        |run, _, path| Some(run.metrics.per_path.get(path)?.goodput_mbps)),
    ("share", Neither, "", "the path's part of the bytes sent", |run, _, path| {
        let sent = sent_bytes(run);
        (sent > 0).then_some(run.metrics.per_path.get(path)?.sent_bytes as f64 / sent as f64)
    }),
    ("srtt_ms", Less, "ms", "mean smoothed round-trip time of its subflow", |run, _, path| rtt(run, path)),
    ("pauses", Neither, "", "pauses of its subflow up to the end (CP Fig. 18)",
        |run, scenario, path| carried_along(run, "pauses", Some(path), scenario)?.last().copied()),
    ("guard_s", Neither, "s", "mean guard time of its subflow (CP eq. 8)",
        |run, scenario, path| mean(carried_along(run, "guard_s", Some(path), scenario)?.into_iter())),
];

/// The metrics of competitor N, whose names begin with `competitorN_`.
const BY_COMPETITOR: &[Numbered] =
    &[("mbps", Neither, "Mbit/s", "goodput of the N-th connection that is not measured", |run, _, n| {
        competitors(run).nth(n)
    })];

impl Metric {
    /// The metric as a number of a result; `None` if it is derived.
    pub fn in_result(&self) -> Option<InResult> {
        match self.of {
            Of::Result(in_result) => Some(in_result),
            Of::Run(_) | Of::Sweep => None,
        }
    }

    fn of(&self, run: &RunResult, scenario: &Scenario) -> Option<f64> {
        match self.of {
            Of::Result(InResult { per, of, .. }) => Some(of(&run.metrics)? / per),
            Of::Run(of) => of(run, scenario),
            Of::Sweep => None,
        }
    }
}

/// The unit of a metric, empty for a plain number. `None` if there is no such metric.
pub fn unit(name: &str) -> Option<&'static str> {
    unit_and_better(name).map(|(unit, _)| unit)
}

/// Whether more or less of a metric is better. `None` if there is no such metric.
pub fn better(name: &str) -> Option<Better> {
    unit_and_better(name).map(|(_, better)| better)
}

fn unit_and_better(name: &str) -> Option<(&'static str, Better)> {
    let of_one = |whose: &str, count: usize, metrics: &[Numbered]| {
        let (one, rest) = name.strip_prefix(whose)?.split_once('_')?;
        one.parse::<usize>().ok().filter(|one| *one < count)?;
        metrics.iter().find(|(n, ..)| *n == rest).map(|(_, better, unit, ..)| (*unit, *better))
    };
    let found = METRICS.iter().find(|m| m.name == name).map(|m| (m.unit, m.better));
    found.or_else(|| of_one("path", PATHS, BY_PATH)).or_else(|| of_one("competitor", COMPETITORS, BY_COMPETITOR))
}

/// The names of all metrics, for errors.
pub fn allowed() -> String {
    let plain = METRICS.iter().map(|m| m.name.to_owned());
    let by_path = BY_PATH.iter().map(|(name, ..)| format!("path0_{name}"));
    let by_competitor = BY_COMPETITOR.iter().map(|(name, ..)| format!("competitor0_{name}"));
    plain.chain(by_path).chain(by_competitor).collect::<Vec<_>>().join(", ")
}

/// All metrics of a run except `aggregation_benefit`, which needs other runs and is added later.
pub fn all(run: &RunResult, scenario: &Scenario) -> BTreeMap<String, f64> {
    let plain = METRICS.iter().map(|m| (m.name.to_owned(), m.of(run, scenario)));
    let of_each = |whose: &'static str, count: usize, metrics: &'static [Numbered]| {
        (0..count).flat_map(move |i| {
            metrics.iter().map(move |(name, _, _, _, of)| (format!("{whose}{i}_{name}"), of(run, scenario, i)))
        })
    };
    let numbered = of_each("path", PATHS, BY_PATH).chain(of_each("competitor", COMPETITORS, BY_COMPETITOR));
    let finite = |(name, value): (String, Option<f64>)| Some((name, value.filter(|v| v.is_finite())?));
    plain.chain(numbered).filter_map(finite).collect()
}

/// The goodput of each connection that is not measured, Mbit/s.
fn competitors(run: &RunResult) -> impl Iterator<Item = f64> {
    run.connections.iter().filter(|c| !c.measured).map(|c| c.goodput_mbps)
}

/// Data bytes that the measured connections sent on all paths.
fn sent_bytes(run: &RunResult) -> u64 {
    run.metrics.per_path.iter().map(|p| p.sent_bytes).sum()
}

/// Bytes of data in a full segment.
fn segment_data(scenario: &Scenario) -> Option<f64> {
    let connection = scenario.connections.iter().find(|c| c.measured)?;
    Some(data_per_frame(connection))
}

/// Fraction of bytes sent on more than one subflow: the sent bytes minus the delivered ones and minus those
/// retransmitted on the same subflow. Each retransmission counts as a full segment.
fn duplicate_share(run: &RunResult, scenario: &Scenario) -> Option<f64> {
    run.metrics.completion_s?;
    let delivered: u64 = run.connections.iter().filter(|c| c.measured).map(|c| c.received_bytes).sum();
    let again = run.metrics.retransmitted_segments as f64 * segment_data(scenario)?;
    (delivered > 0).then(|| ((sent_bytes(run) as f64 - again) / delivered as f64 - 1.0).max(0.0))
}

/// Price of the sent data for each gigabyte delivered.
fn price(run: &RunResult, scenario: &Scenario) -> Option<f64> {
    let paid: f64 = run.metrics.per_path.iter().zip(&scenario.paths).map(|(m, p)| m.sent_bytes as f64 * p.cost).sum();
    let delivered: u64 = run.connections.iter().filter(|c| c.measured).map(|c| c.received_bytes).sum();
    (delivered > 0).then(|| paid / delivered as f64)
}

/// The mean; `None` if there are no values.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), x| (sum + x, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Mean completion time of all measured flows, or of all others. `None` unless all of them have ended.
fn flow_completion(run: &RunResult, measured: bool) -> Option<f64> {
    let flows = run.connections.iter().filter(|c| c.measured == measured).map(|c| c.completion_s);
    let flows: Option<Vec<f64>> = flows.collect();
    mean(flows?.into_iter())
}

/// Difference between the mean round-trip times of two subflows, as CP §4.1.1 defines it.
fn rtt_difference(run: &RunResult) -> Option<f64> {
    Some((rtt(run, 0)? - rtt(run, 1)?).abs())
}

fn rtt(run: &RunResult, path: usize) -> Option<f64> {
    run.metrics.per_path.get(path).map(|p| p.mean_rtt_ms).filter(|rtt| *rtt > 0.0)
}

/// The scheduler's internal value of this name at the end of each step of the measured time.
fn carried_along(run: &RunResult, name: &str, path: Option<usize>, scenario: &Scenario) -> Option<Vec<f64>> {
    let series = run.series.scheduler.iter().find(|s| s.name == name && s.path == path)?;
    let from = scenario.measure_from.as_secs_f64();
    let first = if run.series.step_s > 0.0 { (from / run.series.step_s) as usize } else { 0 };
    Some(series.values.iter().skip(first).copied().flatten().collect())
}

fn acceptable_rtt_difference(scenario: &Scenario) -> Option<f64> {
    let connection = scenario.connections.iter().find(|c| c.measured)?;
    let buffer = match connection.engine.receive_buffer {
        ReceiveBuffer::Fixed(bytes) | ReceiveBuffer::Auto { max: bytes, .. } => bytes,
    };
    let link = |path: &usize| {
        let (links, _) = scenario.paths[*path].links(connection.direction);
        links.iter().map(|i| &scenario.links[*i].settings).min_by_key(|s| rate(&s.shaper).unwrap_or(u64::MAX))
    };
    let fastest = connection.paths.iter().filter_map(link).min_by_key(|s| s.delay.as_nanos())?;
    let rate = rate(&fastest.shaper)?;
    Some(buffer as f64 * 8.0 / rate as f64 * 1e3)
}

fn rate(rate: &Rate) -> Option<u64> {
    match rate {
        Rate::Constant(rate) | Rate::TokenBucket { rate, .. } => Some(rate.as_bps()).filter(|r| *r > 0),
        Rate::Unlimited | Rate::Trace(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{BY_COMPETITOR, BY_PATH, Better, LONGEST_GAP, METRICS, unit};
    use crate::results::{Delays, Metrics};

    #[test]
    fn each_is_documented_as_it_is_here() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiments.md");
        let document = std::fs::read_to_string(path).expect("it is in the repository");
        let plain = METRICS.iter().map(|m| (m.name.to_string(), m.better, &m.unit, &m.about));
        let by_path =
            BY_PATH.iter().map(|(name, better, unit, about, _)| (format!("pathP_{name}"), *better, unit, about));
        let by_competitor = BY_COMPETITOR
            .iter()
            .map(|(name, better, unit, about, _)| (format!("competitorN_{name}"), *better, unit, about));
        for (name, better, unit, about) in plain.chain(by_path).chain(by_competitor) {
            let better = match better {
                Better::More => "more",
                Better::Less => "less",
                Better::Neither => "",
            };
            let line = format!("| `{name}` | {unit} | {about} | {better} |");
            assert!(document.contains(&line), "docs/experiments.md lacks: {line}");
        }
    }

    #[test]
    fn every_key_is_one_of_a_result() {
        let all = Metrics { message_delay_ms: Some(Delays::default()), ..Metrics::default() };
        let result = serde_json::to_value(all).expect("it is JSON");
        for key in METRICS.iter().chain([&LONGEST_GAP]).filter_map(|m| m.in_result()).map(|r| r.key) {
            let pointer = format!("/{}", key.replace('.', "/"));
            assert!(result.pointer(&pointer).is_some(), "{key}");
        }
    }

    #[test]
    fn paths_and_competitors_are_numbered() {
        assert_eq!(unit("path0_goodput_mbps"), Some("Mbit/s"));
        assert_eq!(unit("competitor1_mbps"), Some("Mbit/s"));
        assert_eq!((unit("path9_goodput_mbps"), unit("path0_speed"), unit("speed")), (None, None, None));
    }
}
