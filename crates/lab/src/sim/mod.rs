//! The simulator: hosts with the engine, the network between them, applications, and measurements.
//!
//! The loop is the driver's (`pathweave-driver`): `wires` is its device, `Processes` are its applications.

mod addressing;
mod app;
mod apps;
mod build;
mod contents;
mod digest;
mod error;
mod meter;
mod readings;
mod requests;
mod totals;
mod traces;
mod traffic;
mod watch;
mod wires;

use crate::scenario::{EndsWith, Scenario};
use apps::Apps;
use build::World;
use meter::{Meter, Replaced};
use pathweave_driver::{Applications, Driver, Observed};
use pathweave_netsim::LinkId;
use pathweave_proto::connection::{Kinds, Observation};
use pathweave_proto::{Connection, Endpoint, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;
use wires::{OneHost, ThroughBytes, Wires};

pub use addressing::path_of;
pub use build::{Ways, network};
pub use error::BuildError;
pub use meter::Measured;
pub use wires::{Capture, HostCapture, HostPacket};

/// One run under way.
pub struct Simulation {
    now: Instant,
    end: Instant,
    /// The connections that the run waits for, if it ends by itself.
    ends_with: Option<EndsWith>,
    driver: Driver<Observed<Wires, OneHost>, Processes>,
    watch: watch::Watch,
}

/// An observation at the sender of a measured connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The connection's index in the scenario.
    pub connection: usize,
    /// The sender's subflows, and the indices of their paths in the scenario.
    pub paths: Vec<(SubflowId, usize)>,
    /// The observation.
    pub observation: Observation,
}

impl Simulation {
    /// Builds the network, the hosts and the applications of a scenario.
    ///
    /// # Errors
    /// If a trace cannot be read, or the registry lacks an algorithm.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        registry: &pathweave_algorithms::Registry,
        files: &dyn crate::scenario::Files,
    ) -> Result<Self, BuildError> {
        let World { network, mut endpoints, routes, host_of_node, apps, middleboxes, traffic } =
            build::build(scenario, seed, registry, files)?;
        // Only receivers of measured connections are observed.
        for app in apps.list.iter().filter(|app| app.measured) {
            endpoints[app.receiver().host].note_changes();
        }
        let meter = Meter::new(scenario);
        let watch = watch::Watch::new(scenario, meter.step());
        let wires = Wires::new(network, routes, host_of_node, middleboxes, traffic);
        let io = Observed { device: wires, observer: OneHost::default() };
        Ok(Simulation {
            now: Instant::ZERO,
            end: Instant::ZERO + scenario.duration,
            ends_with: scenario.ends_with_data().then_some(scenario.ends_with),
            driver: Driver::new(endpoints, io, Processes { apps, meter, noted: None }),
            watch,
        })
    }

    /// Runs to the end and returns the measurements.
    pub fn run(mut self) -> Measured {
        self.run_until(self.end);
        self.finish()
    }

    /// Runs all that happens up to and including `until`, but not beyond the end of the run. Returns whether the run
    /// continues after that.
    pub fn run_until(&mut self, until: Instant) -> bool {
        let until = until.min(self.end);
        loop {
            let Ok(next) = self.driver.settle(self.now);
            let Driver { endpoints, applications, .. } = &mut self.driver;
            if self.ends_with.is_some_and(|ends_with| applications.apps.are_done(ends_with)) {
                return false;
            }
            match next {
                Some(next) if next <= until => {
                    applications.meter.go_on(next, endpoints, &applications.apps);
                    self.look_until(next);
                    self.now = next;
                }
                _ => {
                    self.look_until(until);
                    self.now = until;
                    return until < self.end;
                }
            }
        }
    }

    /// Makes the looks that come before `time`, at which nothing has happened yet; at the end of the run also the last
    /// one.
    #[inline]
    fn look_until(&mut self, time: Instant) {
        if self.watch.next() <= time {
            self.take_looks(time);
        }
    }

    #[inline(never)]
    fn take_looks(&mut self, time: Instant) {
        let Driver { endpoints, io, applications, .. } = &mut self.driver;
        while self.watch.next() < time || (time == self.end && self.watch.next() == time) {
            self.watch.look(endpoints, &applications.apps, &mut io.device.network);
        }
    }

    fn apps(&self) -> &[app::App] {
        &self.driver.applications.apps.list
    }

    fn connection_at(&self, end: &app::End) -> Option<&Connection> {
        self.driver.endpoints[end.host].connection(end.handle?)
    }

    /// Data segments that the measured connections' senders have sent so far, retransmissions included.
    pub fn data_segments_sent(&self) -> u64 {
        let senders = self.apps().iter().filter(|a| a.measured).map(app::App::sender);
        let connections = senders.filter_map(|s| self.connection_at(s));
        connections.flat_map(|c| c.subflows()).map(|s| s.counters.data_segments_sent).sum()
    }

    /// Data segments that the measured connections' receivers have received so far, without those that had nothing new.
    pub fn data_segments_received(&self) -> u64 {
        let counters = self.measured_ends().filter_map(|(_, receiver)| receiver).flat_map(|c| c.subflows());
        counters.map(|s| s.counters.data_segments_received - s.counters.duplicate_segments_received).sum()
    }

    /// Simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The sending and the receiving end of each measured connection. An end is `None` before it exists and after it is
    /// gone.
    pub fn measured_ends(&self) -> impl Iterator<Item = (Option<&Connection>, Option<&Connection>)> {
        let measured = self.apps().iter().filter(|a| a.measured);
        measured.map(|a| (self.connection_at(a.sender()), self.connection_at(a.receiver())))
    }

    /// Bytes that the measured connections' readers have read so far.
    pub fn received_bytes(&self) -> u64 {
        self.apps().iter().filter(|a| a.measured).map(|a| a.received).sum()
    }

    /// Number of received bytes that differ from the written ones. Only middleboxes change bytes.
    pub fn altered_bytes(&self) -> u64 {
        self.apps().iter().filter(|a| a.measured).map(|a| a.altered).sum()
    }

    /// Makes applications write real bytes instead of virtual payload, so that every byte read is compared with the
    /// written one. Call it before the first write.
    pub fn set_real_payload(&mut self) {
        self.driver.applications.apps.set_real_payload();
    }

    /// Whether every measured transfer has ended, with or without an error.
    pub fn is_done(&self) -> bool {
        self.driver.applications.apps.measured_are_done()
    }

    /// Shows every packet at every link to `capture` from now on.
    pub fn set_capture(&mut self, capture: Capture) {
        self.driver.io.device.capture = Some(capture);
    }

    /// Records these kinds of observations at the measured connections' senders from now on, for
    /// [`Simulation::poll_observation`].
    pub fn observe(&mut self, kinds: Kinds) {
        self.driver.endpoints.iter_mut().for_each(|endpoint| endpoint.observe_all(kinds));
        self.driver.applications.noted.get_or_insert_default();
    }

    /// The next recorded observation, in order of time.
    pub fn poll_observation(&mut self) -> Option<Noted> {
        self.driver.applications.noted.as_mut()?.pop_front()
    }

    /// Shows every packet that the sender of the first measured connection sends or receives to `capture` from now on.
    /// Packets come in the order in which the host sees them: sent packets before any queue. Packets that are lost or
    /// damaged on their way to the host are not shown.
    pub fn set_host_capture(&mut self, capture: HostCapture) {
        let sender = self.apps().iter().find(|a| a.measured).map(|a| a.sender().host);
        self.driver.io.observer = OneHost(sender.map(|host| (host, capture)));
    }

    /// Encodes every segment to bytes and decodes it again from now on. This checks the codec and the engine, and
    /// changes no result (ARCHITECTURE.md, contract 8).
    ///
    /// If a segment does not come back unchanged, the run panics.
    pub fn set_through_bytes(&mut self) {
        self.driver.io.device.through_bytes = Some(ThroughBytes::default());
    }

    /// The measurements up to now.
    pub fn finish(self) -> Measured {
        let replaced = Replaced::of(self.measured_ends().filter_map(|(sender, _)| sender));
        let Simulation { now, driver, watch, .. } = self;
        let Driver { endpoints, io, applications: Processes { apps, meter, .. }, .. } = driver;
        let Wires { mut network, digest, traffic, .. } = io.device;
        let links = (0..network.graph().links() as u32).map(|i| *network.link_stats(LinkId(i))).collect();
        let watched = watch.finish(now, &endpoints, &apps, &mut network);
        let mut measured = meter.finish(now, &endpoints, &apps, digest.finish());
        measured.metrics.time = watched.time;
        measured.metrics.unacknowledged_segments = watched.unacknowledged_segments;
        for (path, rtt) in measured.metrics.per_path.iter_mut().zip(watched.mean_rtt_ms) {
            path.mean_rtt_ms = rtt;
        }
        measured.series.subflows = watched.subflows;
        measured.series.scheduler = watched.scheduler;
        measured.series.links = watched.links;
        measured.links = links;
        measured.traffic = traffic.results(now);
        measured.warn_of_waiting(watched.idle_waits);
        measured.warnings.extend(replaced.warning());
        measured
    }
}

/// All applications of a run, with their measurements.
struct Processes {
    apps: Apps,
    meter: Meter,
    /// Observations of the measured senders, if any were asked for.
    noted: Option<VecDeque<Noted>>,
}

impl Applications for Processes {
    #[inline]
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        self.apps.serve(now, host, endpoint, &mut self.meter.readings)
    }

    #[inline]
    fn quiet(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) {
        self.meter.observe(now, host, endpoint, &self.apps);
        if let Some(noted) = &mut self.noted {
            self.apps.note(host, endpoint, noted);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.apps.poll_timeout()
    }

    #[inline]
    fn handle_timeout(&mut self, now: Instant, endpoints: &mut [Endpoint]) -> Option<usize> {
        self.apps.handle_timeout(now, endpoints)
    }
}
