//! The metrics that plans can name. Each is a number for one run.
//!
//! Metrics of the results (`docs/results-format.md`) keep their names. The others are derived here from a run's series
//! and scenario.

use pathweave_lab::bound::{data_per_frame, goodput_bound_mbps};
use pathweave_lab::results::RunResult;
use pathweave_lab::scenario::{Rate, Scenario};
use pathweave_proto::config::ReceiveBuffer;
use std::collections::BTreeMap;

/// Number of paths, and of competitors, that have metrics of their own.
const PATHS: usize = 4;
const COMPETITORS: usize = 4;

/// A metric: its name, its unit, its description.
type About = (&'static str, &'static str, &'static str);

/// The metrics of the whole run.
const METRICS: &[About] = &[
    ("goodput_mbps", "Mbit/s", "data delivered in order to the application"),
    (
        "aggregation_benefit",
        "",
        "0: plain TCP on the best path; 1: all paths added up; -1: nothing (CP eq. 9, DPSAF eq. 14)",
    ),
    ("completion_s", "s", "from the start of the connection to the delivery of its last byte"),
    (
        "flow_completion_s",
        "s",
        "from a flow's start to the delivery of its last byte: mean of the measured connections",
    ),
    ("competitors_completion_s", "s", "the same of the connections that are not measured"),
    ("completion_lead_s", "s", "competitors' completion, less the measured flows'"),
    (
        "message_delay_ms",
        "ms",
        "from a message's writing, or an object's request, to the delivery of its last byte: mean",
    ),
    ("message_delay_p50_ms", "ms", "its median"),
    ("message_delay_p95_ms", "ms", "its 95th percentile"),
    ("message_delay_p99_ms", "ms", "its 99th percentile"),
    ("arrival_interval_ms", "ms", "time between two deliveries of in-order data: mean (CP §4.2)"),
    ("retransmitted_segments", "segments", "sent again on the same subflow"),
    ("reinjected_segments", "segments", "sent on another subflow after a timeout or on a dead path"),
    ("opportunistic_retransmissions", "segments", "sent by opportunistic retransmission (pr)"),
    (
        "duplicate_share",
        "",
        "data sent on one more path, as a part of what was delivered, where all that was written was delivered",
    ),
    ("price_per_gb", "", "what all that was sent costs, by the paths' costs, for each gigabyte that was delivered"),
    ("penalisations", "", "windows halved by penalisation (pr)"),
    ("timeouts", "", "retransmission timeouts"),
    ("head_of_line_blocked_s", "s", "time in which later data had arrived and earlier data was missing"),
    ("window_limited_s", "s", "time in which only the receive window held data back"),
    ("out_of_order_mean_kb", "KB", "data that waits out of order: mean of the maximum in each 10 ms"),
    ("out_of_order_p95_kb", "KB", "its 95th percentile"),
    ("out_of_order_max_kb", "KB", "its maximum"),
    (
        "out_of_order_packets",
        "packets",
        "data that waits out of order, in full segments: mean of what is there each 100 ms (DPSAF §IV)",
    ),
    ("lambda", "", "BLEST's correction factor: mean over the measured time"),
    ("lambda_end", "", "BLEST's correction factor at the end"),
    ("fairness", "", "Jain's index over the goodput of all connections"),
    (
        "in_flight_segments",
        "segments",
        "segments in flight on all subflows together: mean over the measured time (REMS §6)",
    ),
    ("rtt_difference_ms", "ms", "difference of the mean smoothed round-trip times of two subflows (CP Fig. 6)"),
    (
        "acceptable_rtt_difference_ms",
        "ms",
        "receive buffer over the rate of the path with the shortest delay (CP Fig. 6)",
    ),
    ("competitors_mbps", "Mbit/s", "mean goodput of the connections that are not measured"),
    ("bound_mbps", "Mbit/s", "what no scheduler can exceed, where that is known"),
    ("bound_share", "", "goodput, divided by the bound"),
];

/// The metrics of path P, whose names begin with `pathP_`.
const BY_PATH: &[About] = &[
    ("goodput_mbps", "Mbit/s", "the path's part of the goodput"),
    ("share", "", "the path's part of the bytes sent"),
    ("srtt_ms", "ms", "mean smoothed round-trip time of its subflow"),
    ("pauses", "", "pauses of its subflow up to the end (CP Fig. 18)"),
    ("guard_s", "s", "mean guard time of its subflow (CP eq. 8)"),
];

/// The metrics of competitor N, whose names begin with `competitorN_`.
const BY_COMPETITOR: &[About] = &[("mbps", "Mbit/s", "goodput of the N-th connection that is not measured")];

/// The unit of a metric, empty for a plain number. `None` if there is no such metric.
pub fn unit(name: &str) -> Option<&'static str> {
    about(name).map(|(_, unit, _)| unit)
}

/// The description of a metric.
pub fn meaning(name: &str) -> Option<&'static str> {
    about(name).map(|(_, _, meaning)| meaning)
}

fn about(name: &str) -> Option<About> {
    let of_one = |whose: &str, count: usize, metrics: &'static [About]| {
        let (one, rest) = name.strip_prefix(whose)?.split_once('_')?;
        one.parse::<usize>().ok().filter(|one| *one < count)?;
        metrics.iter().find(|(n, ..)| *n == rest)
    };
    let found = METRICS.iter().find(|(n, ..)| *n == name).or_else(|| of_one("path", PATHS, BY_PATH));
    found.or_else(|| of_one("competitor", COMPETITORS, BY_COMPETITOR)).copied()
}

/// The names of all metrics, for errors.
pub(crate) fn allowed() -> String {
    let plain = METRICS.iter().map(|(name, ..)| (*name).to_owned());
    let by_path = BY_PATH.iter().map(|(name, ..)| format!("path0_{name}"));
    let by_competitor = BY_COMPETITOR.iter().map(|(name, ..)| format!("competitor0_{name}"));
    plain.chain(by_path).chain(by_competitor).collect::<Vec<_>>().join(", ")
}

/// All metrics of a run except `aggregation_benefit`, which needs other runs and is added later.
pub(crate) fn all(run: &RunResult, scenario: &Scenario) -> BTreeMap<String, f64> {
    let m = &run.metrics;
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            all.insert(name.to_owned(), value);
        }
    };
    let bound = goodput_bound_mbps(scenario);
    put("goodput_mbps", Some(m.goodput_mbps));
    put("completion_s", m.completion_s);
    put("retransmitted_segments", Some(m.retransmitted_segments as f64));
    put("reinjected_segments", Some(m.reinjected_segments as f64));
    put("opportunistic_retransmissions", Some(m.opportunistic_retransmissions as f64));
    put("penalisations", Some(m.penalisations as f64));
    put("timeouts", Some(m.timeouts as f64));
    put("head_of_line_blocked_s", Some(m.head_of_line_blocked_s));
    put("window_limited_s", Some(m.window_limited_s));
    put("out_of_order_mean_kb", Some(m.out_of_order_bytes.mean / 1e3));
    put("out_of_order_p95_kb", Some(m.out_of_order_bytes.p95 as f64 / 1e3));
    put("out_of_order_max_kb", Some(m.out_of_order_bytes.max as f64 / 1e3));
    put("out_of_order_packets", segment_data(scenario).map(|bytes| m.out_of_order_bytes.looked_at / bytes));
    put("fairness", m.fairness);
    put("bound_mbps", bound);
    put("bound_share", bound.filter(|b| *b > 0.0).map(|b| m.goodput_mbps / b));
    let others: Vec<f64> = run.connections.iter().filter(|c| !c.measured).map(|c| c.goodput_mbps).collect();
    put("competitors_mbps", mean(others.iter().copied()));
    for (i, mbps) in others.iter().enumerate().take(COMPETITORS) {
        put(&format!("competitor{i}_mbps"), Some(*mbps));
    }
    let (flows, competitors) = (flow_completion(run, true), flow_completion(run, false));
    put("flow_completion_s", flows);
    put("competitors_completion_s", competitors);
    put("completion_lead_s", competitors.zip(flows).map(|(theirs, ours)| theirs - ours));
    put("message_delay_ms", m.message_delay_ms.map(|d| d.mean));
    put("message_delay_p50_ms", m.message_delay_ms.map(|d| d.p50));
    put("message_delay_p95_ms", m.message_delay_ms.map(|d| d.p95));
    put("message_delay_p99_ms", m.message_delay_ms.map(|d| d.p99));
    put("arrival_interval_ms", Some(m.arrival_interval_ms.mean));
    put("in_flight_segments", Some(m.unacknowledged_segments));
    put("rtt_difference_ms", rtt_difference(run));
    put("acceptable_rtt_difference_ms", acceptable_rtt_difference(scenario));
    let from = scenario.measure_from.as_secs_f64();
    let lambda = carried_along(run, "lambda", None, from);
    put("lambda_end", lambda.as_ref().and_then(|v| v.last().copied()));
    put("lambda", lambda.and_then(|v| mean(v.into_iter())));
    let sent: u64 = m.per_path.iter().map(|p| p.sent_bytes).sum();
    put("duplicate_share", duplicate_share(run, scenario, sent));
    put("price_per_gb", price(run, scenario));
    for (i, path) in m.per_path.iter().enumerate().take(PATHS) {
        put(&format!("path{i}_goodput_mbps"), Some(path.goodput_mbps));
        put(&format!("path{i}_share"), (sent > 0).then(|| path.sent_bytes as f64 / sent as f64));
        put(&format!("path{i}_srtt_ms"), rtt(run, i));
        put(&format!("path{i}_pauses"), carried_along(run, "pauses", Some(i), from).and_then(|v| v.last().copied()));
        put(
            &format!("path{i}_guard_s"),
            carried_along(run, "guard_s", Some(i), from).and_then(|v| mean(v.into_iter())),
        );
    }
    all
}

/// Bytes of data in a full segment.
fn segment_data(scenario: &Scenario) -> Option<f64> {
    let connection = scenario.connections.iter().find(|c| c.measured)?;
    Some(data_per_frame(connection))
}

/// Fraction of bytes sent on more than one subflow: the sent bytes minus the delivered ones and minus those
/// retransmitted on the same subflow. Each retransmission counts as a full segment.
fn duplicate_share(run: &RunResult, scenario: &Scenario, sent: u64) -> Option<f64> {
    run.metrics.completion_s?;
    let delivered: u64 = run.connections.iter().filter(|c| c.measured).map(|c| c.received_bytes).sum();
    let again = run.metrics.retransmitted_segments as f64 * segment_data(scenario)?;
    (delivered > 0).then(|| ((sent as f64 - again) / delivered as f64 - 1.0).max(0.0))
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

/// The scheduler's observed value with this name, at the end of each step after `from`.
fn carried_along(run: &RunResult, name: &str, path: Option<usize>, from: f64) -> Option<Vec<f64>> {
    let series = run.series.scheduler.iter().find(|s| s.name == name && s.path == path)?;
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
    use super::{BY_COMPETITOR, BY_PATH, METRICS, unit};

    #[test]
    fn each_is_documented_as_it_is_here() {
        let document = include_str!("../../../docs/experiments.md");
        let plain = METRICS.iter().map(|(name, unit, about)| (name.to_string(), unit, about));
        let by_path = BY_PATH.iter().map(|(name, unit, about)| (format!("pathP_{name}"), unit, about));
        let by_competitor =
            BY_COMPETITOR.iter().map(|(name, unit, about)| (format!("competitorN_{name}"), unit, about));
        for (name, unit, about) in plain.chain(by_path).chain(by_competitor) {
            let line = format!("| `{name}` | {unit} | {about} |");
            assert!(document.contains(&line), "docs/experiments.md lacks: {line}");
        }
    }

    #[test]
    fn paths_and_competitors_are_numbered() {
        assert_eq!(unit("path0_goodput_mbps"), Some("Mbit/s"));
        assert_eq!(unit("competitor1_mbps"), Some("Mbit/s"));
        assert_eq!((unit("path9_goodput_mbps"), unit("path0_speed"), unit("speed")), (None, None, None));
    }
}
