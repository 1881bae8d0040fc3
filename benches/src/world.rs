//! Connections from one host to another over the same paths, which send without end. Segments wait in a pool, so that
//! links move small handles.

use core::convert::Infallible;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_algorithms::Registry;
use pathweave_driver::{Applications, Driver, PacketIo, Received};
use pathweave_netsim as net;
use pathweave_netsim::{LinkConfig, LinkRandom, NetEvent, Network, QueueLimit, RouteId};
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::scheduler::ChosenScheduler;
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Bitrate, Duration, Instant};
use pathweave_wire::{Ecn, Payload, Segment};

/// Most bytes of one write.
const WRITE_BYTES: u32 = 1 << 30;
/// The port of the first connection.
const FIRST_PORT: u16 = 5001;

/// The connections and paths to run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Whether connections use Multipath TCP with a subflow on each path, instead of plain TCP on the first path.
    pub mptcp: bool,
    /// Number of paths, which all connections share.
    pub paths: u8,
    /// Number of connections.
    pub connections: u16,
    /// Rate of each path, both ways.
    pub rate: Bitrate,
    /// Delay of each path, one way.
    pub delay: Duration,
    /// Queue of each path, packets.
    pub queue: u32,
    /// Send and receive buffer of each connection, bytes.
    pub buffer: u64,
}

impl Setup {
    /// One flow with SACK and delayed acknowledgements over 100 Mbit/s, 10 ms and a queue of 100 packets, the usual
    /// work for comparing simulators.
    pub fn tcp() -> Setup {
        Setup {
            mptcp: false,
            paths: 1,
            connections: 1,
            rate: Bitrate::from_bps(100_000_000),
            delay: Duration::from_millis(10),
            queue: 100,
            buffer: 4 << 20,
        }
    }

    /// The same with two such paths and a subflow on each.
    pub fn mptcp() -> Setup {
        Setup { mptcp: true, paths: 2, ..Setup::tcp() }
    }

    fn config(&self) -> ConnectionConfig {
        let (scheduler, congestion) = minrtt_and_reno();
        ConnectionConfig {
            mptcp: self.mptcp,
            send_buffer: self.buffer,
            receive_buffer: ReceiveBuffer::Fixed(self.buffer),
            ..ConnectionConfig::new(scheduler, congestion)
        }
    }
}

/// The scheduler and the controller of all these measurements.
pub fn minrtt_and_reno() -> (ChosenScheduler, ChosenController) {
    let registry = Registry::builtin();
    let scheduler = registry.choose_scheduler("minrtt", &[]).expect("minrtt is built in");
    (scheduler, registry.choose_controller("reno", &[]).expect("reno is built in"))
}

/// A running simulation. Host 0 is the client, which writes; host 1 is the server, which reads at once.
pub struct World {
    now: Instant,
    driver: Driver<Wires, Bulk>,
}

/// The network, and the segments that are on their way.
struct Wires {
    network: Network<Handle>,
    pool: Pool,
    /// The route to the peer that starts at each path's address, by host and path.
    routes: [Vec<RouteId>; 2],
}

impl PacketIo for Wires {
    type Error = Infallible;

    #[inline]
    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        while let Some(event) = self.network.poll(now) {
            match event {
                NetEvent::Delivered { node, packet, .. } => {
                    let segment = self.pool.take(packet);
                    return Ok(Some(Received { host: node.index(), ecn: Ecn::NotEct, segment }));
                }
                NetEvent::Dropped { packet, .. } => self.pool.release(packet),
                NetEvent::Forwarded { .. } | NetEvent::Duplicated { .. } => {}
            }
        }
        Ok(None)
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        let routes = &self.routes[host];
        let (slot, segment) = self.pool.next();
        if fill(segment).is_none() {
            return Ok(false);
        }
        let route = routes[path_of(segment.src.ip())];
        let bytes = segment.ip_len();
        self.network.send(now, route, self.pool.fill(slot, bytes));
        Ok(true)
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.network.poll_timeout()
    }
}

/// The applications: writers fill their send buffers, readers read everything.
#[derive(Default)]
struct Bulk {
    servers: Vec<ConnectionHandle>,
    received_bytes: u64,
}

impl Applications for Bulk {
    #[inline]
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        while let Some(accepted) = endpoint.poll_accept() {
            self.servers.push(accepted.connection);
        }
        let mut acted = false;
        while let Some((handle, event)) = endpoint.poll_event() {
            acted = true;
            match event {
                ConnectionEvent::Connected | ConnectionEvent::Writable if host == 0 => write(endpoint, now, handle),
                ConnectionEvent::Readable => {
                    while let Ok(payload) = endpoint.read(now, handle, u64::MAX) {
                        self.received_bytes += u64::from(payload.len());
                    }
                }
                _ => {}
            }
        }
        acted
    }
}

/// The addresses of a path's two ends: 10.0.P.1 and 10.0.P.2.
fn addresses(path: u8) -> [IpAddr; 2] {
    [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 0, path, host)))
}

fn path_of(address: IpAddr) -> usize {
    match address {
        IpAddr::V4(v4) => usize::from(v4.octets()[2]),
        IpAddr::V6(_) => unreachable!("every path has IPv4 addresses"),
    }
}

impl World {
    /// Builds the simulation. Every connection opens at time zero.
    pub fn new(setup: &Setup) -> World {
        let mut network = Network::new();
        let ends = [network.add_node(), network.add_node()];
        let mut routes = [Vec::new(), Vec::new()];
        let link = LinkConfig::constant(setup.rate, setup.delay, QueueLimit::Packets(setup.queue));
        for path in 0..setup.paths {
            for (from, to) in [(0, 1), (1, 0)] {
                let random = LinkRandom::new(1, &format!("{path} from {from}"));
                let link = network.add_link(ends[from], ends[to], link.clone(), random).expect("both nodes are there");
                routes[from].push(network.add_route(&[link]).expect("the link is there"));
            }
        }
        let mut endpoints =
            ["client", "server"].map(|name| Endpoint::new(Secrets::reproducible(Random::substream(1, name))));
        for (i, endpoint) in endpoints.iter_mut().enumerate() {
            endpoint.set_routes((0..setup.paths).map(|path| (addresses(path)[i], addresses(path)[1 - i])));
        }
        let locals = |end: usize| -> Vec<LocalAddress> {
            let local = |path| LocalAddress { address: addresses(path)[end], meta: Default::default() };
            (0..setup.paths).map(local).collect()
        };
        let now = Instant::ZERO;
        let config = setup.config();
        for i in 0..setup.connections {
            let port = FIRST_PORT + i;
            let [local, remote] = addresses(0);
            let (local, remote) = (SocketAddr::new(local, 0), SocketAddr::new(remote, port));
            let listening = endpoints[1].listen_and_accept(remote, config.clone(), &locals(1));
            listening.expect("every connection has a port of its own");
            let opened = endpoints[0].connect(now, local, remote, config.clone(), &locals(0));
            opened.expect("every parameter has its default");
        }
        let wires = Wires { network, pool: Pool::default(), routes };
        let mut driver = Driver::new(endpoints.into(), wires, Bulk::default());
        let Ok(()) = driver.drain(now, 0);
        World { now, driver }
    }

    /// Runs everything that happens up to and including `end`.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            let Ok(next) = self.driver.settle(self.now);
            match next {
                Some(next) if next <= end => self.now = next,
                _ => break,
            }
        }
        self.now = self.now.max(end);
    }

    /// Runs a little beyond the time at which this many data segments have arrived. Returns the number that have
    /// arrived then.
    pub fn run_until_received(&mut self, segments: u64) -> u64 {
        loop {
            let received = self.data_segments_received();
            if received >= segments {
                return received;
            }
            self.run_until(self.now + Duration::from_millis(100));
        }
    }

    /// Data segments that the servers have received, without those that had nothing new.
    pub fn data_segments_received(&self) -> u64 {
        let servers =
            self.driver.applications.servers.iter().filter_map(|handle| self.driver.endpoints[1].connection(*handle));
        let subflows = servers.flat_map(|connection| connection.subflows());
        subflows.map(|s| s.counters.data_segments_received - s.counters.duplicate_segments_received).sum()
    }

    /// Bytes that the readers have read.
    pub fn received_bytes(&self) -> u64 {
        self.driver.applications.received_bytes
    }
}

/// Fills a connection's send buffer.
fn write(endpoint: &mut Endpoint, now: Instant, handle: ConnectionHandle) {
    let Some(start) = endpoint.connection(handle).map(|c| c.snapshot().sending.written_bytes) else { return };
    // A full send buffer has room again later.
    endpoint.write(now, handle, Payload::Virtual { start, len: WRITE_BYTES }).ok();
}

/// A packet as the network sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    slot: u32,
    bytes: u32,
}

impl net::Packet for Handle {
    fn len_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> net::Ecn {
        net::Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn set_corrupted(&mut self) {}
}

/// A pool of segments whose slots are reused.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl Pool {
    /// A free slot with its old content; [`Pool::fill`] takes the slot.
    pub(crate) fn next(&mut self) -> (u32, &mut Segment) {
        let slot = match self.free.last() {
            Some(slot) => *slot,
            None => {
                let slot = self.segments.len() as u32;
                self.segments.push(Segment::default());
                self.free.push(slot);
                slot
            }
        };
        (slot, &mut self.segments[slot as usize])
    }

    /// Marks the slot that [`Pool::next`] returned as used.
    pub(crate) fn fill(&mut self, slot: u32, bytes: u32) -> Handle {
        self.free.pop();
        Handle { slot, bytes }
    }

    /// The segment, which its slot forgets.
    pub(crate) fn take(&mut self, handle: Handle) -> &Segment {
        self.release(handle);
        &self.segments[handle.slot as usize]
    }

    /// Forgets the segment.
    pub(crate) fn release(&mut self, handle: Handle) {
        self.free.push(handle.slot);
    }
}
