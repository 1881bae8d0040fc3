//! The simulator: hosts with the engine, the network between them, applications, and what is measured.

mod app;
mod build;
mod contents;
mod digest;
mod hosts;
mod meter;
mod middlebox;
mod pool;
mod through_bytes;
mod totals;
mod watch;

use crate::scenario::Scenario;
use build::World;
use core::net::SocketAddr;
use hosts::Host;
use meter::Meter;
use middlebox::{Direction, Middleboxes, Passing};
use pathweave_netsim::{LinkId, NetEvent, Network, Tap};
use pathweave_proto::connection::Trace;
use pathweave_proto::{Connection, SubflowId};
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Segment};
use pool::{Handle, Pool};
use std::collections::VecDeque;
use through_bytes::ThroughBytes;

pub use build::BuildError;
pub(crate) use build::path_of;
pub use meter::Measured;

/// One run under way.
pub struct Simulation {
    now: Instant,
    end: Instant,
    ends_with_data: bool,
    network: Network<Handle>,
    pool: Pool,
    hosts: Vec<Host>,
    /// The host that lives on each node of the network.
    host_of_node: Vec<Option<usize>>,
    apps: app::Apps,
    /// Of all paths; nothing where no path has one.
    middleboxes: Option<Middleboxes>,
    meter: Meter,
    watch: watch::Watch,
    digest: digest::Digest,
    capture: Option<Capture>,
    /// The recorded decisions of the measured senders; none unless [`Simulation::trace_decisions`] was called.
    trace: Option<VecDeque<Traced>>,
    host_capture: Option<(usize, HostCapture)>,
    /// Hosts that took packets at this instant; their applications have not run yet.
    touched: Vec<usize>,
    through_bytes: Option<ThroughBytes>,
}

/// A recorded decision of a measured connection's sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// The connection's index in the scenario.
    pub connection: usize,
    /// Its subflows and the paths that they take, indices into the scenario's.
    pub paths: Vec<(SubflowId, usize)>,
    /// What was recorded.
    pub entry: Trace,
}

/// Sees every packet at every link, as a capture would.
pub type Capture = Box<dyn FnMut(&Tap, &Segment)>;

/// A packet that a host sends or receives.
#[derive(Clone, Copy, Debug)]
pub struct HostPacket<'a> {
    /// When.
    pub at: Instant,
    /// Index of its path in the scenario.
    pub path: usize,
    /// The host sends it; otherwise it receives it.
    pub sent: bool,
    /// The packet.
    pub segment: &'a Segment,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// Sees what one host sends and receives, as a capture on it would.
pub type HostCapture = Box<dyn FnMut(&HostPacket<'_>)>;

impl Simulation {
    /// Builds the network, the hosts and the applications of a scenario.
    ///
    /// # Errors
    /// Where a trace cannot be read, or the registry lacks an algorithm.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        registry: &pathweave_algorithms::Registry,
        files: &dyn crate::scenario::Files,
    ) -> Result<Self, BuildError> {
        let World { network, hosts, host_of_node, apps, middleboxes } = build::build(scenario, seed, registry, files)?;
        let meter = Meter::new(scenario);
        Ok(Simulation {
            watch: watch::Watch::new(scenario, meter.step()),
            meter,
            now: Instant::ZERO,
            end: Instant::ZERO + scenario.duration,
            ends_with_data: scenario.ends_with_data(),
            network,
            pool: Pool::default(),
            hosts,
            host_of_node,
            apps,
            middleboxes,
            digest: digest::Digest::default(),
            capture: None,
            trace: None,
            host_capture: None,
            through_bytes: None,
            touched: Vec::new(),
        })
    }

    /// Runs to the end and returns what was measured.
    pub fn run(mut self) -> Measured {
        self.run_until(self.end);
        self.finish()
    }

    /// Runs all that happens up to and including `until`, and no further than the end of the run. The answer is whether
    /// the run goes on after it.
    pub fn run_until(&mut self, until: Instant) -> bool {
        let until = until.min(self.end);
        loop {
            self.settle();
            if self.ends_with_data && self.apps.measured_are_done() {
                return false;
            }
            match self.next_event() {
                Some(next) if next <= until => {
                    self.meter.go_on(next, &self.hosts, &self.apps);
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

    /// Takes the looks that come before `time`, at which nothing has happened yet; at the end of the run the last one too.
    fn look_until(&mut self, time: Instant) {
        while self.watch.next() < time || (time == self.end && self.watch.next() == time) {
            self.watch.look(&self.hosts, &self.apps, &mut self.network);
        }
    }

    /// Data segments that the measured connections' senders have sent so far, repeated ones included.
    pub fn data_segments_sent(&self) -> u64 {
        let senders = self.apps.list.iter().filter(|a| a.measured).map(app::App::sender);
        let connections = senders.filter_map(|s| self.hosts[s.host].endpoint.connection(s.handle?));
        connections.flat_map(|c| c.subflows()).map(|s| s.counters.data_segments_sent).sum()
    }

    /// Data segments that the measured connections' receivers have received so far, without those that brought nothing
    /// new.
    pub fn data_segments_received(&self) -> u64 {
        let counters = self.measured_ends().filter_map(|(_, receiver)| receiver).flat_map(|c| c.subflows());
        counters.map(|s| s.counters.data_segments_received - s.counters.duplicate_segments_received).sum()
    }

    /// Simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The sending and the receiving end of each measured connection, where they exist (any more).
    pub fn measured_ends(&self) -> impl Iterator<Item = (Option<&Connection>, Option<&Connection>)> {
        let end = |e: &app::End| self.hosts[e.host].endpoint.connection(e.handle?);
        self.apps.list.iter().filter(|a| a.measured).map(move |a| (end(a.sender()), end(a.receiver())))
    }

    /// Bytes that the measured connections' readers have read so far.
    pub fn received_bytes(&self) -> u64 {
        self.apps.list.iter().filter(|a| a.measured).map(|a| a.received).sum()
    }

    /// How many of them are not what was written: changed on the way, which only middleboxes do.
    pub fn altered_bytes(&self) -> u64 {
        self.apps.list.iter().filter(|a| a.measured).map(|a| a.altered).sum()
    }

    /// Applications write real bytes instead of virtual payload from now on, so that every byte read is compared with what
    /// was written. To be called before the first is written.
    pub fn set_real_payload(&mut self) {
        self.apps.set_real_payload();
    }

    /// Whether every measured transfer has ended, well or badly.
    pub fn is_done(&self) -> bool {
        self.apps.measured_are_done()
    }

    /// Shows every packet at every link to `capture` from now on.
    pub fn set_capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Records the decisions of the measured connections' senders from now on, for [`Simulation::poll_trace`].
    pub fn trace_decisions(&mut self) {
        self.trace.get_or_insert_default();
        self.apps.trace_decisions(&mut self.hosts);
    }

    /// The next recorded decision; each connection's come in the order of time.
    pub fn poll_trace(&mut self) -> Option<Traced> {
        self.trace.as_mut()?.pop_front()
    }

    /// Shows every packet that the sender of the first measured connection sends or receives to `capture` from now on.
    /// Packets are shown in the order in which the host sees them: before any queue when it sends, and not at all when they
    /// are lost or damaged on their way to it.
    pub fn set_host_capture(&mut self, capture: HostCapture) {
        let sender = self.apps.list.iter().find(|a| a.measured).map(|a| a.sender().host);
        self.host_capture = sender.map(|host| (host, capture));
    }

    /// Passes every segment through its bytes from now on: a check of the codec and of the engine, which changes no result
    /// (ARCHITECTURE.md, contract 8).
    ///
    /// Segments that do not come back as they were make the run panic.
    pub fn set_through_bytes(&mut self) {
        self.through_bytes = Some(ThroughBytes::default());
    }

    /// When something happens next.
    fn next_event(&self) -> Option<Instant> {
        let hosts = self.hosts.iter().filter_map(Host::poll_timeout);
        let middleboxes = self.middleboxes.as_ref().and_then(Middleboxes::poll_timeout);
        hosts.chain(self.network.poll_timeout()).chain(middleboxes).chain(self.apps.poll_timeout()).min()
    }

    /// Everything that happens now, in a fixed order: the network, what middleboxes do by themselves, each host's timers,
    /// the applications.
    fn settle(&mut self) {
        loop {
            let mut idle = true;
            while let Some(event) = self.network.poll(self.now) {
                idle = false;
                self.take_network_event(event);
            }
            let is_due = |m: &&mut Middleboxes| m.poll_timeout().is_some_and(|t| t <= self.now);
            if let Some(middleboxes) = self.middleboxes.as_mut().filter(is_due) {
                idle = false;
                middleboxes.handle_timeout(self.now);
                self.take_from_middleboxes();
            }
            // An application runs after all packets of its instant, as after a kernel's interrupt.
            while let Some(host) = self.touched.pop() {
                self.drain(host);
            }
            for i in 0..self.hosts.len() {
                if self.hosts[i].poll_timeout().is_some_and(|t| t <= self.now) {
                    idle = false;
                    self.hosts[i].endpoint.handle_timeout(self.now);
                    self.drain(i);
                }
            }
            for i in self.apps.due(self.now) {
                idle = false;
                let host = self.apps.start_or_write(self.now, i, &mut self.hosts);
                self.drain(host);
            }
            if idle {
                break;
            }
        }
    }

    fn take_network_event(&mut self, event: NetEvent<Handle>) {
        let segment = self.pool.get(event.packet().tag);
        self.digest.record(event.tap(), segment, event.packet().ecn);
        if let Some(capture) = &mut self.capture {
            capture(event.tap(), segment);
        }
        match event {
            NetEvent::Delivered { node, packet, .. } => {
                let segment = self.pool.take(packet.tag);
                // A damaged packet fails its checksum at the receiver.
                if !packet.corrupted
                    && let Some(host) = self.host_of_node[node.index()]
                {
                    let ecn = packet.ecn;
                    if let Some((middleboxes, path)) = on_the_way(&mut self.middleboxes, segment.dst) {
                        let passing = Passing { direction: Direction::Down, segment: segment.clone(), ecn };
                        middleboxes.pass(self.now, path, passing);
                        return self.take_from_middleboxes();
                    }
                    show_at_host(&mut self.host_capture, host, self.now, false, segment, ecn);
                    self.hosts[host].endpoint.handle_segment(self.now, ecn, segment);
                    self.after_packet(host);
                }
            }
            NetEvent::Dropped { packet, .. } => self.pool.release(packet.tag),
            NetEvent::Duplicated { packet, .. } => self.pool.share(packet.tag),
            NetEvent::Forwarded { .. } => {}
        }
    }

    /// A host has taken a packet: its segments leave, its applications act after all packets of this instant.
    fn after_packet(&mut self, host: usize) {
        self.send_all(host);
        if !self.touched.contains(&host) {
            self.touched.push(host);
        }
    }

    /// Lets a host's segments leave and its applications act, until it is quiet. What the engine sends at once leaves
    /// before the applications read, as in a kernel.
    fn drain(&mut self, index: usize) {
        loop {
            let sent = self.send_all(index);
            let acted = self.apps.serve(self.now, index, &mut self.hosts[index], &mut self.meter);
            if !acted && !sent {
                break;
            }
        }
        self.meter.observe(self.now, index, &self.hosts[index], &self.apps);
        if let Some(trace) = &mut self.trace {
            self.apps.collect_trace(index, &mut self.hosts[index], trace);
        }
    }

    fn send_all(&mut self, index: usize) -> bool {
        let mut sent = false;
        let host = &mut self.hosts[index];
        loop {
            let (slot, segment) = self.pool.next();
            let Some(ecn) = host.endpoint.poll_transmit_into(self.now, segment) else { break };
            sent = true;
            let Some(&route) = host.routes.get(&(segment.src.ip(), segment.dst.ip())) else {
                continue;
            };
            if let Some(codec) = &mut self.through_bytes {
                codec.pass(segment, ecn);
            }
            show_at_host(&mut self.host_capture, index, self.now, true, segment, ecn);
            if let Some((middleboxes, path)) = on_the_way(&mut self.middleboxes, segment.src) {
                let passing = Passing { direction: Direction::Up, segment: core::mem::take(segment), ecn };
                middleboxes.pass(self.now, path, passing);
                continue;
            }
            let handle = self.pool.fill(slot, ecn);
            self.network.send(self.now, route, handle);
        }
        self.send_past_middleboxes();
        sent
    }

    /// Sends on what has left middleboxes towards a server.
    fn send_past_middleboxes(&mut self) {
        while let Some(Passing { segment, ecn, .. }) = self.middleboxes.as_mut().and_then(Middleboxes::poll_up) {
            let addresses = (segment.src.ip(), segment.dst.ip());
            let Some(route) = self.hosts.iter().find_map(|h| h.routes.get(&addresses).copied()) else { continue };
            let (slot, place) = self.pool.next();
            *place = segment;
            let handle = self.pool.fill(slot, ecn);
            self.network.send(self.now, route, handle);
        }
    }

    /// Takes on what has left middleboxes, in either direction.
    fn take_from_middleboxes(&mut self) {
        self.send_past_middleboxes();
        while let Some(passing) = self.middleboxes.as_mut().and_then(Middleboxes::poll_down) {
            let Passing { mut segment, ecn, .. } = passing;
            let addresses = (segment.dst.ip(), segment.src.ip());
            let Some(host) = self.hosts.iter().position(|h| h.routes.contains_key(&addresses)) else { continue };
            show_at_host(&mut self.host_capture, host, self.now, false, &segment, ecn);
            self.hosts[host].endpoint.handle_segment(self.now, ecn, &mut segment);
            self.after_packet(host);
        }
    }

    /// What was measured up to now.
    pub fn finish(mut self) -> Measured {
        let digest = self.digest.finish();
        let links = (0..self.network.graph().links() as u32).map(|i| *self.network.link_stats(LinkId(i))).collect();
        let watched = self.watch.finish(self.now, &self.hosts, &self.apps, &mut self.network);
        let mut measured = self.meter.finish(self.now, &self.hosts, &self.apps, digest);
        measured.metrics.time = watched.time;
        measured.series.subflows = watched.subflows;
        measured.series.links = watched.links;
        measured.links = links;
        measured.warn_of_waiting(watched.idle_waits);
        measured
    }
}

/// The middleboxes, and the path that they are on, of a packet that leaves or reaches this address: where it is the address
/// of a path's client.
fn on_the_way(middleboxes: &mut Option<Middleboxes>, address: SocketAddr) -> Option<(&mut Middleboxes, usize)> {
    let middleboxes = middleboxes.as_mut()?;
    let path = build::path_of(address.ip())?;
    let is_client = build::addresses(path).0 == address.ip();
    (is_client && middleboxes.are_on(path)).then_some((middleboxes, path))
}

/// Shows a packet of host number `host` to the capture, where it is on this host.
fn show_at_host(
    capture: &mut Option<(usize, HostCapture)>,
    host: usize,
    at: Instant,
    sent: bool,
    segment: &Segment,
    ecn: Ecn,
) {
    let Some((_, capture)) = capture.as_mut().filter(|(h, _)| *h == host) else { return };
    let own = if sent { segment.src } else { segment.dst };
    if let Some(path) = build::path_of(own.ip()) {
        capture(&HostPacket { at, path, sent, segment, ecn });
    }
}
