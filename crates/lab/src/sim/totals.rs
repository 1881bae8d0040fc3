//! The engine's counts for the measured connections up to some time. The difference between the counts at the start and
//! the end of the measured time gives the data sent and received in between.

use super::app::App;
use super::apps::Apps;
use crate::results::Metrics;
use pathweave_proto::connection::ConnectionCounters;
use pathweave_proto::{Connection, ConnectionHandle, Endpoint};

/// Counts since the start of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Counts of each connection of the scenario, including those that are not measured.
    pub(super) apps: Vec<AppTotals>,
    /// Counts of each path.
    pub(super) paths: Vec<PathTotals>,
    /// The sender's counters. All other fields are zero.
    pub(super) counters: Metrics,
}

/// Counts of one connection's receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AppTotals {
    measured: bool,
    /// Bytes read.
    read: u64,
    /// Bytes that have arrived but wait for earlier ones.
    waiting: u64,
}

/// Counts of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathTotals {
    /// New bytes received from the path's subflow.
    pub(super) first: u64,
    /// Bytes that wait on the subflow behind one of its own holes.
    pub(super) waiting: u64,
    /// Data bytes sent, retransmissions included.
    pub(super) sent: u64,
}

impl Totals {
    /// The counts of all measured connections.
    pub(super) fn of(endpoints: &[Endpoint], apps: &Apps, paths: usize) -> Self {
        let mut totals = Totals { apps: Vec::with_capacity(apps.list.len()), ..Totals::nothing(0, paths) };
        for app in &apps.list {
            totals.add_receiver(app, endpoints);
            if app.measured {
                totals.add_sender(app, endpoints);
            }
        }
        totals
    }

    /// Counts of zero.
    pub(super) fn nothing(apps: usize, paths: usize) -> Self {
        Totals {
            apps: vec![AppTotals::default(); apps],
            paths: vec![PathTotals::default(); paths],
            counters: Metrics::default(),
        }
    }

    fn add_receiver(&mut self, app: &App, endpoints: &[Endpoint]) {
        let receiver = app.receiver();
        let found = connection(endpoints, receiver.host, receiver.handle);
        let waiting = found.map_or(0, |c| c.receiving().waiting_bytes());
        self.apps.push(AppTotals { measured: app.measured, read: app.received, waiting });
        let Some(connection) = found.filter(|_| app.measured) else { return };
        for subflow in connection.subflows() {
            if let Some(path) = app.path_of(subflow.local, subflow.remote).and_then(|p| self.paths.get_mut(p)) {
                path.first += subflow.first_bytes;
                path.waiting += subflow.held_bytes;
            }
        }
    }

    fn add_sender(&mut self, app: &App, endpoints: &[Endpoint]) {
        let sender = app.sender();
        let Some(connection) = connection(endpoints, sender.host, sender.handle) else { return };
        let ConnectionCounters {
            reinjected_segments,
            opportunistic_retransmissions,
            penalisations,
            window_limited,
            ..
        } = connection.snapshot().counters;
        let counters = &mut self.counters;
        counters.reinjected_segments += reinjected_segments;
        counters.opportunistic_retransmissions += opportunistic_retransmissions;
        counters.penalisations += penalisations;
        counters.window_limited_s += window_limited.as_secs_f64();
        for subflow in connection.subflows() {
            counters.retransmitted_segments += subflow.counters.retransmitted_segments;
            counters.timeouts += subflow.counters.timeouts;
            if let Some(path) = app.path_of(subflow.local, subflow.remote).and_then(|p| self.paths.get_mut(p)) {
                path.sent += subflow.counters.data_bytes_sent;
            }
        }
    }

    /// Bytes of data that arrived after `before` and were read by the measured connections' readers.
    pub(super) fn read_since(&self, before: &Totals) -> u64 {
        let pairs = self.apps.iter().zip(&before.apps);
        pairs.filter(|(now, _)| now.measured).map(|(now, then)| now.read_since(then)).sum()
    }

    /// The sender's counters since `before`.
    pub(super) fn counters_since(&self, before: &Totals) -> Metrics {
        let (now, then) = (&self.counters, &before.counters);
        Metrics {
            reinjected_segments: now.reinjected_segments - then.reinjected_segments,
            opportunistic_retransmissions: now.opportunistic_retransmissions - then.opportunistic_retransmissions,
            penalisations: now.penalisations - then.penalisations,
            window_limited_s: now.window_limited_s - then.window_limited_s,
            retransmitted_segments: now.retransmitted_segments - then.retransmitted_segments,
            timeouts: now.timeouts - then.timeouts,
            ..Metrics::default()
        }
    }
}

impl AppTotals {
    /// Bytes read that arrived after `before`. Data that waited at that time had arrived before it.
    pub(super) fn read_since(&self, before: &AppTotals) -> u64 {
        self.read.saturating_sub(before.read + before.waiting)
    }
}

impl PathTotals {
    /// New bytes that arrived over the path after `before` and were received from its subflow.
    pub(super) fn first_since(&self, before: &PathTotals) -> u64 {
        self.first.saturating_sub(before.first + before.waiting)
    }
}

fn connection(endpoints: &[Endpoint], host: usize, handle: Option<ConnectionHandle>) -> Option<&Connection> {
    endpoints[host].connection(handle?)
}
