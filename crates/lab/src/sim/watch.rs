//! Samples a run in regular steps: the use of the senders' time, and their subflows and links over time.
//!
//! Nothing changes between two events, so a sample at any time shows the state after the event before it.

use super::app::App;
use super::apps::Apps;
use crate::results::{LinkSeries, QuantitySeries, SubflowSeries, TimeSpent};
use crate::scenario::{LinkChange, Scenario};
use pathweave_netsim::trace::OPPORTUNITY_BYTES;
use pathweave_netsim::{LinkId, Network, Packet, Shaper};
use pathweave_proto::connection::{Progress, SubflowSnapshot};
use pathweave_proto::scheduler::Phase;
use pathweave_proto::{Connection, DataSeq, Endpoint, SubflowId};
use pathweave_units::{Duration, Instant};

/// Time between two samples of the senders: short enough to measure a tenth of a second, and long enough to cost only a
/// few hundredths of a run's time.
const LOOK: Duration = Duration::from_millis(2);
/// Most samples of a run. A longer run has fewer per second.
const MOST_LOOKS: u64 = 1_000_000;

/// A link that carries the measured data.
struct Link {
    id: LinkId,
    series: LinkSeries,
    /// Times at which its rate is set anew, so that a trace starts afresh.
    changes: Vec<Instant>,
}

/// The samples.
pub(super) struct Watched {
    pub(super) time: TimeSpent,
    pub(super) idle_waits: f64,
    pub(super) unacknowledged_segments: f64,
    pub(super) mean_rtt_ms: Vec<f64>,
    pub(super) subflows: Vec<SubflowSeries>,
    pub(super) scheduler: Vec<QuantitySeries>,
    pub(super) links: Vec<LinkSeries>,
}

/// Looks at a run in regular steps.
pub(super) struct Watch {
    measure_from: Instant,
    look: Duration,
    step: Duration,
    next_look: Instant,
    next_step: Instant,
    last_step: Instant,
    paths: usize,
    time: TimeSpent,
    /// Part of the scheduler's waits in which less than a quarter of the windows was in use, seconds. The scheduler did
    /// not wait for a better path, whose window would be full, so the paths were idle.
    idle_waits: f64,
    /// Number of samples, and the sum of the segments in flight.
    looks: u64,
    in_flight: u64,
    /// For each path, the number of samples of a subflow with a round-trip time, and the sum of these times, ms.
    rtt: Vec<(u64, f64)>,
    /// The connection's index in the scenario, and its series.
    subflows: Vec<(usize, SubflowSeries)>,
    /// The connection's index in the scenario, and its series.
    scheduler: Vec<(usize, QuantitySeries)>,
    links: Vec<Link>,
}

impl Watch {
    pub(super) fn new(scenario: &Scenario, step: Duration) -> Self {
        let paths = scenario.paths.len();
        let zeros = || vec![0.0; paths];
        let time = TimeSpent {
            window_full_by_path_s: zeros(),
            blocked_by_path_s: zeros(),
            slow_start_by_path_s: zeros(),
            recovery_by_path_s: zeros(),
            ..TimeSpent::default()
        };
        let look = LOOK.max(scenario.duration.div(MOST_LOOKS));
        let mut subflows = Vec::new();
        let mut links: Vec<Link> = Vec::new();
        for (i, connection) in scenario.connections.iter().enumerate().filter(|(_, c)| c.measured) {
            for &path in &connection.paths {
                let series = SubflowSeries { connection: connection.name.clone(), path, ..SubflowSeries::default() };
                subflows.push((i, series));
                for &link in scenario.paths[path].links(connection.direction).0 {
                    add_link(&mut links, scenario, link, path);
                }
            }
        }
        let (next_look, next_step) = (Instant::ZERO + look, Instant::ZERO + step);
        let measure_from = Instant::ZERO + scenario.measure_from;
        Watch {
            measure_from,
            look,
            step,
            next_look,
            next_step,
            last_step: Instant::ZERO,
            paths,
            time,
            idle_waits: 0.0,
            looks: 0,
            in_flight: 0,
            rtt: vec![(0, 0.0); paths],
            subflows,
            scheduler: Vec::new(),
            links,
        }
    }

    /// Time of the next look.
    pub(super) fn next(&self) -> Instant {
        self.next_look.min(self.next_step)
    }

    /// Takes the sample at [`Watch::next`]'s time.
    pub(super) fn look<P: Packet + Clone>(&mut self, endpoints: &[Endpoint], apps: &Apps, network: &mut Network<P>) {
        let now = self.next();
        if now == self.next_look {
            self.next_look += self.look;
            if now > self.measure_from {
                self.count(endpoints, apps);
            }
        }
        if now == self.next_step {
            self.next_step += self.step;
            self.sample(now, endpoints, apps, network);
        }
    }

    /// Completes the last step, if the run ends within it.
    pub(super) fn finish<P: Packet + Clone>(
        mut self,
        end: Instant,
        endpoints: &[Endpoint],
        apps: &Apps,
        network: &mut Network<P>,
    ) -> Watched {
        if end > self.last_step {
            self.sample(end, endpoints, apps, network);
        }
        Watched {
            time: self.time,
            idle_waits: self.idle_waits,
            unacknowledged_segments: if self.looks > 0 { self.in_flight as f64 / self.looks as f64 } else { 0.0 },
            mean_rtt_ms: self.rtt.iter().map(|(n, sum)| if *n > 0 { sum / *n as f64 } else { 0.0 }).collect(),
            subflows: self.subflows.into_iter().map(|s| s.1).collect(),
            scheduler: self.scheduler.into_iter().map(|s| s.1).collect(),
            links: self.links.into_iter().map(|l| l.series).collect(),
        }
    }

    /// Adds the time since the last look to the present activities of the senders.
    fn count(&mut self, endpoints: &[Endpoint], apps: &Apps) {
        let seconds = self.look.as_secs_f64();
        self.looks += 1;
        for app in apps.list.iter().filter(|a| a.measured && a.finished.is_none()) {
            let end = |e: &super::app::End| endpoints[e.host].connection(e.handle?);
            let Some(sender) = end(app.sender()) else {
                self.time.no_data_s += seconds;
                continue;
            };
            let path_of_holder = |at: DataSeq| {
                let id = sender.holder_of(at)?;
                app.path_of_subflow(sender, id).filter(|p| *p < self.paths)
            };
            match sender.progress(app.has_more()) {
                Progress::NoData if sender.snapshot().sending.is_acked() => self.time.no_data_s += seconds,
                Progress::SendBufferFull => self.time.send_buffer_s += seconds,
                Progress::NoData => self.time.sending_s += seconds,
                Progress::CongestionWindowsFull => self.time.congestion_windows_full_s += seconds,
                Progress::ShortSegmentWaits => self.time.nagle_s += seconds,
                Progress::Paced => self.time.pacing_s += seconds,
                Progress::SchedulerWaits => {
                    self.time.scheduler_waits_s += seconds;
                    let windows: u32 = sender.sending_subflows().map(|s| s.window.cwnd).sum();
                    if sender.sending_subflows().map(|s| s.window.in_flight).sum::<u32>() < windows / 4 {
                        self.idle_waits += seconds;
                    }
                }
                Progress::WindowFull => {
                    let head = path_of_holder(DataSeq(sender.snapshot().sending.acked_bytes));
                    self.time.window_full_s += seconds;
                    if let Some(path) = head {
                        self.time.window_full_by_path_s[path] += seconds;
                    }
                }
            }
            let receiving = end(app.receiver()).map(|c| c.receiving()).filter(|r| r.waiting_bytes() > 0);
            if let Some(path) = receiving.and_then(|r| path_of_holder(DataSeq(r.in_order_bytes))) {
                self.time.blocked_by_path_s[path] += seconds;
            }
            for subflow in sender.sending_subflows() {
                let Some(path) = app.path_of_subflow(sender, subflow.id).filter(|p| *p < self.paths) else {
                    continue;
                };
                self.in_flight += u64::from(subflow.window.in_flight);
                if let Some(srtt) = subflow.smoothed_rtt {
                    let (looks, sum) = &mut self.rtt[path];
                    *looks += 1;
                    *sum += srtt.as_secs_f64() * 1e3;
                }
                match subflow.window.phase {
                    // A subflow that has sent no data is not counted as in slow start.
                    Phase::SlowStart if subflow.sent_bytes == 0 => {}
                    Phase::SlowStart => self.time.slow_start_by_path_s[path] += seconds,
                    Phase::Recovery | Phase::Loss => self.time.recovery_by_path_s[path] += seconds,
                    Phase::Avoidance => {}
                }
            }
        }
    }

    /// Number of the step that ends at this time, from 1.
    fn step_number(&self, now: Instant) -> usize {
        now.as_nanos().div_ceil(self.step.as_nanos().max(1)) as usize
    }

    /// Adds a value to each series.
    fn sample<P: Packet + Clone>(
        &mut self,
        now: Instant,
        endpoints: &[Endpoint],
        apps: &Apps,
        network: &mut Network<P>,
    ) {
        for (connection, series) in &mut self.subflows {
            let app = &apps.list[*connection];
            let sender = app.sender();
            let sender = sender.handle.and_then(|h| endpoints[sender.host].connection(h));
            let of_path = |s: &SubflowSnapshot| !s.closed && app.path_of(s.local, s.remote) == Some(series.path);
            let subflow = sender.and_then(|c| c.subflows().filter(of_path).last());
            series.cwnd_segments.push(subflow.map_or(0, |s| s.window.cwnd));
            series.in_flight_segments.push(subflow.map_or(0, |s| s.window.in_flight));
            let srtt = subflow.and_then(|s| s.rtt.smoothed).map_or(0.0, |t| t.as_secs_f64() * 1e3);
            series.srtt_ms.push((srtt * 1e3).round() / 1e3);
        }
        let step = self.step_number(now);
        for (index, app) in apps.list.iter().enumerate().filter(|(_, a)| a.measured) {
            let sender = app.sender().handle.and_then(|h| endpoints[app.sender().host].connection(h));
            if let Some(sender) = sender {
                sample_scheduler(&mut self.scheduler, index, app, sender, step);
            }
        }
        let from = core::mem::replace(&mut self.last_step, now);
        for link in &mut self.links {
            network.advance(now, link.id);
            link.series.queue_bytes.push(network.link_queue(link.id).1);
            let config = network.link_config(link.id);
            let mbps = match &config.shaper {
                _ if !config.up => 0.0,
                Shaper::Unlimited => continue,
                Shaper::Constant(rate) | Shaper::TokenBucket { rate, .. } => rate.as_bps() as f64 / 1e6,
                Shaper::Trace(trace) => {
                    let start = link.changes.iter().rev().find(|t| **t <= from).copied().unwrap_or(Instant::ZERO);
                    let bytes = trace.opportunities(from.since(start), now.since(start)) * OPPORTUNITY_BYTES;
                    bytes as f64 * 8.0 / now.since(from).as_secs_f64().max(1e-9) / 1e6
                }
            };
            // A link whose rate was unlimited until now has zeros for the steps before.
            link.series.capacity_mbps.resize(link.series.queue_bytes.len() - 1, 0.0);
            link.series.capacity_mbps.push((mbps * 1e4).round() / 1e4);
        }
    }
}

fn add_link(links: &mut Vec<Link>, scenario: &Scenario, index: usize, path: usize) {
    let id = LinkId(index as u32);
    if let Some(known) = links.iter_mut().find(|l| l.id == id) {
        if !known.series.paths.contains(&path) {
            known.series.paths.push(path);
        }
        return;
    }
    let link = &scenario.links[index];
    let rate = link.changes.iter().filter(|c| matches!(c.change, LinkChange::Shaper(_)));
    let changes = rate.map(|c| Instant::ZERO + c.at).collect();
    links.push(Link {
        id,
        series: LinkSeries { link: link.name.clone(), paths: vec![path], ..LinkSeries::default() },
        changes,
    });
}

/// Adds the internal values of a connection's scheduler to the series, for the step with this number from 1.
fn sample_scheduler(all: &mut Vec<(usize, QuantitySeries)>, index: usize, app: &App, sender: &Connection, step: usize) {
    let path_of = |id: SubflowId| app.path_of_subflow(sender, id);
    sender.scheduler_quantities(&mut |quantity| {
        let path = quantity.subflow.and_then(path_of);
        // A subflow that is gone has no path.
        if quantity.subflow.is_some() && path.is_none() {
            return;
        }
        let is_it = |s: &(usize, QuantitySeries)| s.0 == index && s.1.path == path && s.1.name == quantity.name;
        let at = all.iter().position(is_it).unwrap_or_else(|| {
            let (connection, name) = (app.name.clone(), quantity.name.to_owned());
            all.push((index, QuantitySeries { connection, name, path, values: Vec::new() }));
            all.len() - 1
        });
        let values = &mut all[at].1.values;
        values.resize(step.saturating_sub(1), None);
        values.push(Some(quantity.value).filter(|v| v.is_finite()));
    });
}
