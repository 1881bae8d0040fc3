//! Measurements of a run, at the receivers of the measured connections.

use super::app::App;
use super::apps::Apps;
use super::readings::{Looks, MaxSteps, Readings, SAMPLE, delays, distribution};
use super::totals::Totals;
use crate::results::{ConnectionResult, Metrics, PathMetrics, STARTS_AFTER_THE_END, Series, Status, TrafficResult};
use crate::scenario::Scenario;
use pathweave_netsim::LinkStats;
use pathweave_proto::connection::ScheduleError;
use pathweave_proto::{Connection, Endpoint};
use pathweave_units::{Duration, Instant};

/// Most entries of samples and series. A longer run has longer steps.
const MAX_STEPS: u64 = 100_000;

/// The measurements of a finished run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// End of the run.
    pub status: Status,
    /// The reason why the run did not complete.
    pub reason: Option<String>,
    /// Hash of everything that a capture of all links would show.
    pub digest: String,
    /// The metrics.
    pub metrics: Metrics,
    /// Values over time.
    pub series: Series,
    /// Results of every connection.
    pub connections: Vec<ConnectionResult>,
    /// Results of the sources of UDP packets.
    pub traffic: Vec<TrafficResult>,
    /// Warnings about the scheduler.
    pub warnings: Vec<String>,
    /// Counters of each link of the scenario.
    pub links: Vec<LinkStats>,
}

impl Measured {
    /// Adds a warning about a scheduler that leaves the paths idle most of the time although it could send.
    pub(super) fn warn_of_waiting(&mut self, idle_s: f64) {
        let all = self.metrics.time.total_s();
        if idle_s > all / 2.0 {
            let text = format!(
                "the scheduler waited for {idle_s:.1} of {all:.1} s although there was data to send and room in the receive \
                 window, while more than three quarters of the congestion windows were unused"
            );
            self.warnings.push(text);
        }
    }
}

/// Decisions of the schedulers of some connections that could not be carried out.
#[derive(Default)]
pub(super) struct Replaced {
    decisions: u64,
    invalid: u64,
    /// The error of the last one of a connection.
    error: Option<ScheduleError>,
}

impl Replaced {
    pub(super) fn of<'a>(connections: impl Iterator<Item = &'a Connection>) -> Self {
        connections.fold(Replaced::default(), |all, connection| {
            let snapshot = connection.snapshot();
            Replaced {
                decisions: all.decisions + snapshot.counters.decisions,
                invalid: all.invalid + snapshot.counters.invalid_decisions,
                error: snapshot.schedule_error.or(all.error),
            }
        })
    }

    /// The sentence about them, if there are any.
    pub(super) fn warning(&self) -> Option<String> {
        let (Replaced { decisions, invalid, .. }, error) = (self, self.error?);
        Some(format!(
            "{invalid} of {decisions} decisions of the scheduler could not be carried out (the last one: {error}); the default, \
             the lowest round-trip time, decided there"
        ))
    }
}

pub(super) struct Meter {
    /// Deliveries to the readers.
    pub(super) readings: Readings,
    paths: usize,
    /// Totals at the start of the measured time; `None` before it.
    before: Option<Totals>,
    path_steps: Vec<Vec<u64>>,
    /// Data by connection of the scenario and by subflow.
    brought: Vec<Vec<Brought>>,
    out_of_order: MaxSteps,
    out_of_order_series: MaxSteps,
    out_of_order_looks: Looks,
    blocked_since: Option<Instant>,
    blocked: Duration,
    /// Data at the receiver of each connection of the scenario; `None` before it exists and after it is gone.
    waiting: Vec<Option<Waiting>>,
    /// Number of these receivers on each host, and all their data.
    hosts: Vec<(usize, Waiting)>,
    /// The host last looked at, and the data on it.
    last_seen: Option<(usize, Waiting)>,
}

/// Bytes at the receivers of measured connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waiting {
    /// Bytes that have arrived in order.
    in_order: u64,
    /// Bytes that wait for earlier ones of the stream.
    out_of_order: u64,
    /// Bytes that wait for earlier ones of their subflow.
    held: u64,
}

impl Waiting {
    fn of(connection: &Connection) -> Self {
        let receiving = connection.receiving();
        Waiting {
            in_order: receiving.in_order_bytes,
            out_of_order: receiving.out_of_order_bytes,
            held: receiving.held_bytes,
        }
    }

    /// Replaces the part `before` by `now`.
    fn replace(&mut self, before: Waiting, now: Waiting) {
        self.in_order = self.in_order - before.in_order + now.in_order;
        self.out_of_order = self.out_of_order - before.out_of_order + now.out_of_order;
        self.held = self.held - before.held + now.held;
    }
}

/// Data that a subflow of a measured connection has delivered so far.
#[derive(Clone, Copy, Debug, Default)]
struct Brought {
    /// Data bytes that arrived on it first.
    bytes: u64,
    path: Option<usize>,
}

impl Meter {
    pub(super) fn new(scenario: &Scenario) -> Self {
        // All paths, also those that the connection does not use: every result then has the same shape.
        let paths = scenario.paths.len();
        let step = scenario.series_step.max(scenario.duration.div(MAX_STEPS)).max(Duration::from_micros(1));
        Meter {
            readings: Readings::new(Instant::ZERO + scenario.measure_from, step),
            paths,
            before: (scenario.measure_from == Duration::ZERO)
                .then(|| Totals::nothing(scenario.connections.len(), paths)),
            path_steps: vec![Vec::new(); paths],
            brought: vec![Vec::new(); scenario.connections.len()],
            out_of_order: MaxSteps::new(SAMPLE.max(scenario.duration.div(MAX_STEPS))),
            out_of_order_series: MaxSteps::new(step),
            out_of_order_looks: Looks::new(Instant::ZERO + scenario.measure_from),
            blocked_since: None,
            blocked: Duration::ZERO,
            waiting: vec![None; scenario.connections.len()],
            hosts: Vec::new(),
            last_seen: None,
        }
    }

    /// Length of a step of the series.
    pub(super) fn step(&self) -> Duration {
        self.readings.step
    }

    /// Called before time advances to `next`. Starts the measured time before anything happens in it.
    pub(super) fn go_on(&mut self, next: Instant, endpoints: &[Endpoint], apps: &Apps) {
        if self.before.is_none() && next >= self.readings.measure_from {
            self.before = Some(Totals::of(endpoints, apps, self.paths));
        }
    }

    /// Called after each change on a host: notes how much data waits there for earlier data.
    pub(super) fn observe(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint, apps: &Apps) {
        if self.hosts.len() <= host {
            self.hosts.resize(host + 1, (0, Waiting::default()));
        }
        while let Some(handle) = endpoint.poll_changed() {
            let Some(index) = apps.with_connection(host, handle) else { continue };
            let app = &apps.list[index];
            if !app.measured || app.receiver().host != host || app.receiver().handle != Some(handle) {
                continue;
            }
            let mut waiting = None;
            if let Some(connection) = endpoint.connection(handle) {
                self.note_arrivals(now, index, app, connection);
                waiting = Some(Waiting::of(connection));
            }
            let before = core::mem::replace(&mut self.waiting[index], waiting);
            let (receivers, all) = &mut self.hosts[host];
            *receivers = *receivers - usize::from(before.is_some()) + usize::from(waiting.is_some());
            all.replace(before.unwrap_or_default(), waiting.unwrap_or_default());
        }
        let (receivers, all) = self.hosts[host];
        // Nothing has arrived since the last sample, so the measured values have not changed.
        let seen_now = (host, all);
        if receivers == 0 || self.last_seen == Some(seen_now) {
            return;
        }
        self.last_seen = Some(seen_now);
        let held = all.held + all.out_of_order;
        self.out_of_order.set(now, held);
        self.out_of_order_series.set(now, held);
        self.out_of_order_looks.set(now, held);
        match (held > 0, self.blocked_since) {
            (true, None) => self.blocked_since = Some(now),
            (false, Some(since)) => {
                self.blocked_since = None;
                self.blocked += now.since(since.max(self.readings.measure_from));
            }
            _ => {}
        }
    }

    /// Adds new data of a measured connection to the paths over which it arrived. `index` is the connection's index in
    /// the scenario.
    fn note_arrivals(&mut self, now: Instant, index: usize, app: &App, connection: &Connection) {
        let seen = &mut self.brought[index];
        for (id, bytes) in connection.first_bytes() {
            if seen.len() <= id.index() {
                seen.resize(id.index() + 1, Brought::default());
            }
            let subflow = &mut seen[id.index()];
            if bytes == subflow.bytes {
                continue;
            }
            // These are its first bytes, or its name was another subflow's before.
            if subflow.bytes == 0 || bytes < subflow.bytes {
                *subflow = Brought { bytes: 0, path: app.path_of_subflow(connection, id) };
            }
            let new = bytes - core::mem::replace(&mut subflow.bytes, bytes);
            if let Some(steps) = subflow.path.and_then(|path| self.path_steps.get_mut(path)) {
                Readings::add(steps, now, self.readings.step, new);
            }
        }
    }

    pub(super) fn finish(mut self, end: Instant, endpoints: &[Endpoint], apps: &Apps, digest: String) -> Measured {
        if let Some(since) = self.blocked_since {
            self.blocked += end.since(since.max(self.readings.measure_from));
        }
        let measured: Vec<&App> = apps.list.iter().filter(|a| a.measured).collect();
        let from = measured.iter().map(|a| a.start).min().unwrap_or(Instant::ZERO).max(self.readings.measure_from);
        let seconds = end.since(from).as_secs_f64();
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 };
        let total = Totals::of(endpoints, apps, self.paths);
        // A run that ended before its measured time has no values.
        let before = self.before.take().unwrap_or_else(|| total.clone());
        let mut metrics = total.counters_since(&before);
        metrics.goodput_mbps = mbps(total.read_since(&before));
        // Data that still waits out of order at the end is not goodput, so the parts count only what was delivered.
        let arrived = total.paths.iter().zip(&before.paths).map(|(now, then)| now.first_since(then));
        let all: u64 = arrived.clone().sum();
        let part = |bytes: u64| if all > 0 { bytes as f64 / all as f64 } else { 0.0 };
        metrics.per_path = arrived
            .zip(total.paths.iter().zip(&before.paths))
            .map(|(bytes, (now, then))| PathMetrics {
                sent_bytes: now.sent - then.sent,
                goodput_mbps: metrics.goodput_mbps * part(bytes),
                ..PathMetrics::default()
            })
            .collect();
        let delivered = total.apps.iter().zip(&before.apps).map(|(now, then)| now.read_since(then));
        let connections: Vec<_> = (apps.list.iter().zip(delivered))
            .map(|(app, bytes)| connection_result(app, end, self.readings.measure_from, bytes, endpoints))
            .collect();
        metrics.fairness = jain(&connections.iter().map(|c| c.goodput_mbps).collect::<Vec<_>>());
        metrics.head_of_line_blocked_s = self.blocked.as_secs_f64();
        if measured.iter().all(|a| a.finished.is_some()) && !measured.is_empty() {
            let last = measured.iter().filter_map(|a| a.finished.map(|f| f.since(a.start))).max();
            metrics.completion_s = last.map(Duration::as_secs_f64);
        }
        measured.iter().filter_map(|a| a.waits_since()).for_each(|since| self.readings.deliveries.wait(end, since));
        metrics.arrival_interval_ms = self.readings.deliveries.intervals_ms();
        metrics.message_delay_ms = delays(self.readings.messages);
        if !measured.is_empty() {
            metrics.undelivered_messages =
                measured.iter().map(|a| a.undelivered(self.readings.measure_from, end)).sum();
        }
        let samples = self.out_of_order.finish(end);
        let skip = (self.readings.measure_from.as_nanos() / SAMPLE.as_nanos()) as usize;
        metrics.out_of_order_bytes = distribution(samples.get(skip.min(samples.len())..).unwrap_or(&[]));
        metrics.out_of_order_bytes.looked_at = self.out_of_order_looks.mean(end);
        let (status, reason) = outcome(&measured, end);
        let steps = end.as_nanos().div_ceil(self.readings.step.as_nanos()) as usize;
        let rate = |steps_bytes: &[u64]| -> Vec<f64> {
            let mbps = |b: u64| b as f64 * 8.0 / self.readings.step.as_secs_f64() / 1e6;
            (0..steps).map(|i| mbps(steps_bytes.get(i).copied().unwrap_or(0))).collect()
        };
        let series = Series {
            step_s: self.readings.step.as_secs_f64(),
            goodput_mbps: rate(&self.readings.delivered_steps),
            per_path_mbps: self.path_steps.iter().map(|s| rate(s)).collect(),
            out_of_order_bytes: self.out_of_order_series.finish(end),
            ..Series::default()
        };
        Measured { status, reason, digest, metrics, series, connections, ..Measured::default() }
    }
}

/// The result of one connection, which delivered `bytes` within the measured time.
fn connection_result(
    app: &App,
    end: Instant,
    measure_from: Instant,
    bytes: u64,
    endpoints: &[Endpoint],
) -> ConnectionResult {
    let seconds = app.finished.unwrap_or(end).since(app.start.max(measure_from)).as_secs_f64();
    let sender = app.sender();
    let connection = sender.handle.and_then(|h| endpoints[sender.host].connection(h));
    ConnectionResult {
        name: app.name.clone(),
        measured: app.measured,
        mptcp: connection.is_some_and(|c| c.is_mptcp()),
        goodput_mbps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 },
        received_bytes: app.received,
        completion_s: app.finished.map(|f| f.since(app.start).as_secs_f64()),
        error: app.error.map(|e| e.to_string()),
    }
}

/// Jain's fairness index; `None` for fewer than two connections, or if none of them gets anything.
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

fn outcome(measured: &[&App], end: Instant) -> (Status, Option<String>) {
    if measured.iter().any(|a| a.corrupted) {
        return (Status::Failed, Some("the stream arrived out of order, which is a defect of the engine".into()));
    }
    if let Some(error) = measured.iter().find_map(|a| a.error) {
        return (Status::Failed, Some(error.to_string()));
    }
    if !measured.is_empty() && measured.iter().all(|a| a.start >= end) {
        return (Status::Stalled, Some(STARTS_AFTER_THE_END.into()));
    }
    if measured.iter().any(|a| a.received == 0 && a.has_work()) {
        return (Status::Stalled, Some("no data arrived at all".into()));
    }
    if measured.iter().any(|a| a.ends() && a.finished.is_none()) {
        return (Status::Stalled, Some("the time was up before all data had arrived".into()));
    }
    (Status::Completed, None)
}
