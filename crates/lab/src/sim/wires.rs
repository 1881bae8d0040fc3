//! The device of the hosts: the network, the middleboxes at its ends, and the observers of packets.
//!
//! Segments in flight wait in a pool; links move small handles to them. [`ThroughBytes`] is the debug switch of
//! ARCHITECTURE.md, contract 8: every segment is encoded to bytes and decoded before it leaves its host.

use super::addressing::{addresses, path_of};
use super::digest::Digest;
use super::traffic::Sources;
use crate::middlebox::{Direction, Middleboxes, Passing};
use core::convert::Infallible;
use core::net::{IpAddr, SocketAddr};
use pathweave_driver::{HostPacket as Seen, Observer, PacketIo, Received};
use pathweave_netsim::{NetEvent, Network, Pool, RouteId, Tagged, Tap};
use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_wire::{Ecn, Payload, Segment, codec};

/// A callback for every packet at every link, as a capture would show it.
pub type Capture = Box<dyn FnMut(&Tap, &Segment)>;

/// A packet that a host sends or receives.
#[derive(Clone, Copy, Debug)]
pub struct HostPacket<'a> {
    /// Time of the packet.
    pub at: Instant,
    /// Index of the packet's path in the scenario.
    pub path: usize,
    /// Whether the host sends the packet; otherwise the host receives it.
    pub sent: bool,
    /// The packet.
    pub segment: &'a Segment,
    /// The packet's ECN codepoint.
    pub ecn: Ecn,
}

/// A callback for the packets of one host, as a capture on it would show them.
pub type HostCapture = Box<dyn FnMut(&HostPacket<'_>)>;

/// The capture on one host with the host's index, if there is one.
#[derive(Default)]
pub(super) struct OneHost(pub(super) Option<(usize, HostCapture)>);

impl Observer for OneHost {
    #[inline]
    fn observe(&mut self, packet: &Seen<'_>) {
        let Some((_, capture)) = self.0.as_mut().filter(|(host, _)| *host == packet.host) else { return };
        let Seen { at, sent, ecn, segment, .. } = *packet;
        let own = if sent { segment.src } else { segment.dst };
        if let Some(path) = path_of(own.ip()) {
            capture(&HostPacket { at, path, sent, segment, ecn });
        }
    }
}

/// A host's routes, one for each of its paths: from one of the path's addresses to the other.
#[derive(Clone, Default)]
pub(super) struct Routes {
    /// The routes by path.
    list: Vec<Option<((IpAddr, IpAddr), RouteId)>>,
}

impl Routes {
    pub(super) fn add(&mut self, path: usize, addresses: (IpAddr, IpAddr), route: RouteId) {
        if self.list.len() <= path {
            self.list.resize(path + 1, None);
        }
        self.list[path] = Some((addresses, route));
    }

    /// The pairs of source and destination that have a route.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> + '_ {
        self.list.iter().flatten().map(|(addresses, _)| *addresses)
    }

    #[inline]
    fn get(&self, source: IpAddr, destination: IpAddr) -> Option<RouteId> {
        let (addresses, route) = (*self.list.get(path_of(source)?)?)?;
        (addresses == (source, destination)).then_some(route)
    }
}

/// The network, and everything between it and the hosts' engines.
pub(super) struct Wires {
    pub(super) network: Network<Tagged<u32>>,
    pool: Pool<Segment>,
    /// Routes by host.
    routes: Vec<Routes>,
    /// The host on each node of the network.
    host_of_node: Vec<Option<usize>>,
    /// The middleboxes of all paths; `None` if no path has any.
    middleboxes: Option<Middleboxes>,
    /// UDP packets beside the hosts' own.
    pub(super) traffic: Sources,
    /// Whether middleboxes have acted by themselves, which ends the packets' turn.
    middleboxes_acted: bool,
    /// The segment that has left a middlebox towards its host.
    from_middlebox: Segment,
    pub(super) digest: Digest,
    pub(super) capture: Option<Capture>,
    pub(super) through_bytes: Option<ThroughBytes>,
}

impl Wires {
    pub(super) fn new(
        network: Network<Tagged<u32>>,
        routes: Vec<Routes>,
        host_of_node: Vec<Option<usize>>,
        middleboxes: Option<Middleboxes>,
        traffic: Sources,
    ) -> Self {
        Wires {
            network,
            pool: Pool::default(),
            routes,
            host_of_node,
            middleboxes,
            traffic,
            middleboxes_acted: false,
            from_middlebox: Segment::default(),
            digest: Digest::default(),
            capture: None,
            through_bytes: None,
        }
    }

    /// Shows an event to the capture. Returns whether it is of UDP traffic, which captures of segments do not show.
    #[inline]
    fn record(&mut self, event: &NetEvent<Tagged<u32>>) -> bool {
        if let Some(packet) = self.traffic.packet(event.packet().tag) {
            self.digest.record(event.tap(), packet, event.packet().ecn);
            return true;
        }
        let segment = self.pool.get(event.packet().tag);
        self.digest.record(event.tap(), segment, event.packet().ecn);
        if let Some(capture) = &mut self.capture {
            capture(event.tap(), segment);
        }
        false
    }

    /// Sends the segments that have left middleboxes towards a server.
    fn send_past_middleboxes(&mut self, now: Instant) {
        while let Some(Passing { segment, ecn, .. }) = self.middleboxes.as_mut().and_then(Middleboxes::poll_up) {
            let (source, destination) = (segment.src.ip(), segment.dst.ip());
            let Some(route) = self.routes.iter().find_map(|r| r.get(source, destination)) else { continue };
            let (slot, place) = self.pool.free_slot();
            *place = segment;
            let len_bytes = place.ip_len();
            let handle = self.pool.fill(slot, len_bytes, ecn);
            self.network.send(now, route, handle);
        }
    }

    /// The host with the first of these addresses, if it can reach the other address from there.
    fn host_between(&self, own: IpAddr, remote: IpAddr) -> Option<usize> {
        self.routes.iter().position(|routes| routes.get(own, remote).is_some())
    }

    /// The next segment that has left middleboxes towards its host.
    fn receive_past_middleboxes(&mut self) -> Option<(usize, Ecn)> {
        loop {
            let Passing { segment, ecn, .. } = self.middleboxes.as_mut()?.poll_down()?;
            if let Some(host) = self.host_between(segment.dst.ip(), segment.src.ip()) {
                self.from_middlebox = segment;
                return Some((host, ecn));
            }
        }
    }

    /// Lets middleboxes do everything that is due by themselves. Returns whether anything was due.
    fn run_middleboxes(&mut self, now: Instant) -> bool {
        let Some(middleboxes) = &mut self.middleboxes else { return false };
        let due = !self.middleboxes_acted && middleboxes.poll_timeout().is_some_and(|t| t <= now);
        if due {
            middleboxes.handle_timeout(now);
            self.send_past_middleboxes(now);
        }
        self.middleboxes_acted = due;
        due
    }

    /// Sends the due UDP packets. Returns whether any was due.
    fn send_traffic(&mut self, now: Instant) -> bool {
        let mut sent = false;
        while let Some((route, packet)) = self.traffic.poll(now) {
            self.network.send(now, route, packet);
            sent = true;
        }
        sent
    }
}

impl PacketIo for Wires {
    type Error = Infallible;

    fn receive(&mut self, now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        loop {
            if let Some((host, ecn)) = self.receive_past_middleboxes() {
                return Ok(Some(Received { host, ecn, segment: &self.from_middlebox }));
            }
            let event = if self.middleboxes_acted { None } else { self.network.poll(now) };
            let Some(event) = event else {
                match self.run_middleboxes(now) || self.send_traffic(now) {
                    true => continue,
                    false => return Ok(None),
                }
            };
            if self.record(&event) {
                if let NetEvent::Delivered { packet, .. } = event
                    && !packet.corrupted
                {
                    self.traffic.delivered(packet.tag);
                }
                continue;
            }
            match event {
                NetEvent::Delivered { node, packet, .. } => {
                    // A damaged packet fails its checksum at the receiver.
                    let host = self.host_of_node[node.index()].filter(|_| !packet.corrupted);
                    let Some(host) = host else {
                        self.pool.release(packet.tag);
                        continue;
                    };
                    let (ecn, dst) = (packet.ecn, self.pool.get(packet.tag).dst);
                    let Some((middleboxes, path)) = on_the_way(&mut self.middleboxes, dst) else {
                        return Ok(Some(Received { host, ecn, segment: self.pool.take(packet.tag) }));
                    };
                    let segment = self.pool.take(packet.tag).clone();
                    middleboxes.pass(now, path, Passing { direction: Direction::Down, segment, ecn });
                    self.send_past_middleboxes(now);
                }
                NetEvent::Dropped { packet, .. } => self.pool.release(packet.tag),
                NetEvent::Duplicated { packet, .. } => self.pool.share(packet.tag),
                NetEvent::Forwarded { .. } => {}
            }
        }
    }

    #[inline]
    fn receive_packet_too_big(&mut self, _now: Instant) -> Option<(usize, PacketTooBig)> {
        loop {
            let message = self.middleboxes.as_mut()?.poll_message()?;
            if let Some(host) = self.host_between(message.local.ip(), message.remote.ip()) {
                return Some((host, message));
            }
        }
    }

    #[inline]
    fn send(
        &mut self,
        now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        let routes = &self.routes[host];
        let (slot, segment) = self.pool.free_slot();
        let Some(ecn) = fill(segment) else { return Ok(false) };
        let Some(route) = routes.get(segment.src.ip(), segment.dst.ip()) else { return Ok(true) };
        if let Some(codec) = &mut self.through_bytes {
            codec.pass(segment, ecn);
        }
        if let Some((middleboxes, path)) = on_the_way(&mut self.middleboxes, segment.src) {
            let passing = Passing { direction: Direction::Up, segment: core::mem::take(segment), ecn };
            middleboxes.pass(now, path, passing);
            self.send_past_middleboxes(now);
            return Ok(true);
        }
        let len_bytes = segment.ip_len();
        let handle = self.pool.fill(slot, len_bytes, ecn);
        self.network.send(now, route, handle);
        Ok(true)
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        let or_never = |time: Option<Instant>| time.unwrap_or(Instant::FAR_FUTURE);
        let middleboxes = self.middleboxes.as_ref().and_then(Middleboxes::poll_timeout);
        let others = or_never(middleboxes).min(or_never(self.traffic.poll_timeout()));
        let next = or_never(self.network.poll_timeout()).min(others);
        (next < Instant::FAR_FUTURE).then_some(next)
    }
}

/// The middleboxes of a packet that leaves or reaches this address, and their path; `None` unless it is the address of
/// a path's client.
#[inline]
fn on_the_way(middleboxes: &mut Option<Middleboxes>, address: SocketAddr) -> Option<(&mut Middleboxes, usize)> {
    let middleboxes = middleboxes.as_mut()?;
    let path = path_of(address.ip())?;
    let is_client = addresses(path).0 == address.ip();
    (is_client && middleboxes.are_on(path)).then_some((middleboxes, path))
}

/// The codec between a host and the network.
#[derive(Default)]
pub(super) struct ThroughBytes {
    buffer: Vec<u8>,
}

impl ThroughBytes {
    /// Encodes and decodes a segment. Only a virtual payload stays as it is, because bytes cannot say which part of a
    /// stream they are.
    ///
    /// # Panics
    /// If the segment does not come back unchanged: the engine has built a segment that no wire can carry.
    pub(super) fn pass(&mut self, segment: &mut Segment, ecn: Ecn) {
        if let Err(error) = codec::encode(segment, ecn, &mut self.buffer) {
            panic!("a segment has a form in bytes: {error}: {segment:?}");
        }
        assert_eq!(self.buffer.len(), segment.ip_len() as usize, "a segment is as long as it says: {segment:?}");
        let packet = match codec::decode(&self.buffer) {
            Ok(packet) => packet,
            Err(error) => panic!("a segment's bytes can be read: {error}: {segment:?}"),
        };
        assert_eq!(packet.payload.len(), segment.payload.len() as usize, "all data comes through: {segment:?}");
        let payload = match &segment.payload {
            Payload::Virtual { .. } => segment.payload.clone(),
            _ => Payload::Bytes(packet.payload.to_vec().into()),
        };
        let read = Segment { payload, ..packet.segment };
        assert_eq!((&read, packet.ecn), (&*segment, ecn), "a segment is read as it was written");
        *segment = read;
    }
}
