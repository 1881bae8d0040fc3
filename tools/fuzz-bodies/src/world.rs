//! Two hosts with two paths between them, whose wires are lists that a fuzz input can tamper with.
//!
//! The input also decides when a segment arrives and when time passes, so the two parts of a driver's round are called
//! separately.

use core::convert::Infallible;
use core::net::{IpAddr, SocketAddr};
use pathweave_driver::{Applications, Driver, PacketIo, Received};
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_proto::{Connection, ConnectionHandle, Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Payload, Segment};
use std::collections::VecDeque;

/// Paths between the hosts.
pub(crate) const PATHS: u8 = 2;
/// The server's port.
pub(crate) const PORT: u16 = 5001;
/// The most segments on a wire: more are lost.
const WIRE: usize = 1000;
/// More segments than this after one event, or more timers at one time, count as an endless loop.
const SPIN: usize = 5000;
/// No more bytes than this can be read at one time, because no more are ever sent.
const MOST_READ: u32 = 10_000_000;

/// The address of a path's end.
pub(crate) fn address(path: u8, server: bool) -> IpAddr {
    IpAddr::from([10, 0, path % PATHS + 1, if server { 2 } else { 1 }])
}

/// The wires between the hosts.
#[derive(Default)]
pub(crate) struct Wires {
    /// The segments on their way to each host.
    to: [VecDeque<(Ecn, Segment)>; 2],
    /// The host and the segment that arrives next.
    arriving: Option<(usize, Ecn, Segment)>,
    place: Segment,
    /// The last segment that each host has sent.
    last_sent: [Option<Segment>; 2],
    /// Segments sent since the last event.
    sent: usize,
    /// The number of segments that a host may hand over as one.
    max_segments: usize,
}

impl PacketIo for Wires {
    type Error = Infallible;

    fn receive(&mut self, _now: Instant) -> Result<Option<Received<'_>>, Infallible> {
        let Some((host, ecn, segment)) = self.arriving.take() else { return Ok(None) };
        self.place = segment;
        Ok(Some(Received { host, ecn, segment: &self.place }))
    }

    fn send(
        &mut self,
        _now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, Infallible> {
        let Some(ecn) = fill(&mut self.place) else { return Ok(false) };
        self.sent += 1;
        assert!(self.sent < SPIN, "an endpoint sends without end");
        let len = self.place.options.wire_len();
        assert!(len <= 40, "options of {len} bytes: {:?}", self.place);
        self.last_sent[host] = Some(self.place.clone());
        let wire = &mut self.to[1 - host];
        if wire.len() < WIRE {
            wire.push_back((ecn, self.place.clone()));
        }
        Ok(true)
    }

    fn max_segments(&self) -> usize {
        self.max_segments.max(1)
    }
}

/// The applications. They do only what the input says.
pub(crate) struct Programs {
    handles: [Option<ConnectionHandle>; 2],
}

impl Applications for Programs {
    fn serve(&mut self, _now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        while let Some(accepted) = endpoint.poll_accept() {
            self.handles[host].get_or_insert(accepted.connection);
        }
        let mut events = 0;
        while endpoint.poll_event().is_some() {
            events += 1;
            assert!(events < SPIN, "events without end");
        }
        false
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    /// Host 0 is the client, host 1 the server.
    driver: Driver<Wires, Programs>,
    pub(crate) written: [u64; 2],
    pub(crate) read: [u64; 2],
    /// Whether data was read that differs from what was written.
    pub(crate) damaged: bool,
    bytes: bool,
}

/// Byte `at` of each stream.
fn byte(at: u64) -> u8 {
    (at % 251) as u8
}

/// `len` bytes of a stream.
pub(crate) fn payload(start: u64, len: u32, bytes: bool) -> Payload {
    match bytes {
        true => Payload::Bytes((start..start + u64::from(len)).map(byte).collect::<Vec<u8>>().into()),
        false => Payload::Virtual { start, len },
    }
}

impl World {
    /// Two hosts, after the client has begun to connect. With `bytes`, payloads are real bytes.
    pub(crate) fn new(config: ConnectionConfig, server: ConnectionConfig, bytes: bool) -> Self {
        let host = |server: bool| {
            let mut end =
                Endpoint::new(Secrets::reproducible(Random::substream(1, if server { "server" } else { "client" })));
            end.set_routes((0..PATHS).map(|p| (address(p, server), address(p, !server))));
            end
        };
        let local = |server| {
            (0..PATHS)
                .map(|p| LocalAddress { address: address(p, server), meta: Default::default() })
                .collect::<Vec<_>>()
        };
        let mut ends = [host(false), host(true)];
        let (from, to) = (SocketAddr::new(address(0, false), 0), SocketAddr::new(address(0, true), PORT));
        ends[1].listen_and_accept(to, server, &local(true)).expect("nobody else listens");
        let handle = ends[0].connect(Instant::ZERO, from, to, config, &local(false)).expect("the parameters are right");
        let programs = Programs { handles: [Some(handle), None] };
        let mut world = World {
            now: Instant::ZERO,
            driver: Driver::new(ends.into(), Wires::default(), programs),
            written: [0; 2],
            read: [0; 2],
            damaged: false,
            bytes,
        };
        world.drain(0);
        world
    }

    /// Lets a host send after a command, and handles its events.
    fn drain(&mut self, i: usize) {
        self.driver.io.sent = 0;
        let Ok(()) = self.driver.drain(self.now, i);
    }

    pub(crate) fn deliver(&mut self, to: usize, ecn: Ecn, segment: Segment) {
        self.driver.io.arriving = Some((to, ecn, segment));
        self.driver.io.sent = 0;
        let Ok(()) = self.driver.handle_packets(self.now);
    }

    /// Sets the number of segments that may leave as one.
    pub(crate) fn set_max_segments(&mut self, most: usize) {
        self.driver.io.max_segments = most;
    }

    /// The segments on their way to a host.
    pub(crate) fn wire(&mut self, to: usize) -> &mut VecDeque<(Ecn, Segment)> {
        &mut self.driver.io.to[to]
    }

    /// The last segment that an end has sent.
    pub(crate) fn last_sent(&self, from: usize) -> Option<&Segment> {
        self.driver.io.last_sent[from].as_ref()
    }

    /// Delivers the oldest segment on its way to `to`. Returns whether there was one.
    pub(crate) fn pass(&mut self, to: usize) -> bool {
        let Some((ecn, segment)) = self.wire(to).pop_front() else { return false };
        self.deliver(to, ecn, segment);
        true
    }

    /// Delivers the `count` + 1 oldest segments on their way to `to`, or all if there are fewer.
    pub(crate) fn pass_some(&mut self, to: usize, count: u8) {
        (0..=count).take_while(|_| self.pass(to)).for_each(drop);
    }

    /// Moves the oldest segment on its way to `to` behind all others.
    pub(crate) fn delay(&mut self, to: usize) {
        let wire = self.wire(to);
        let first = wire.pop_front();
        wire.extend(first);
    }

    /// Delivers a copy of the oldest segment on its way to `to`.
    pub(crate) fn duplicate(&mut self, to: usize) {
        if let Some((ecn, segment)) = self.wire(to).front().cloned() {
            self.deliver(to, ecn, segment);
        }
    }

    /// Advances the time. Every timer until then runs at its own time.
    pub(crate) fn advance(&mut self, by: Duration) {
        let until = self.now + by;
        let mut at_one_time = 0;
        while let Some(next) = self.next_timer().filter(|t| *t <= until) {
            at_one_time = if next > self.now { 0 } else { at_one_time + 1 };
            assert!(at_one_time < SPIN, "timers of one time without end");
            self.now = self.now.max(next);
            self.driver.io.sent = 0;
            let Ok(()) = self.driver.handle_timeout(self.now);
        }
        self.now = until;
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.driver.poll_timeout()
    }

    pub(crate) fn write(&mut self, i: usize, len: u32) {
        let Some(handle) = self.handle(i) else { return };
        let payload = payload(self.written[i], len, self.bytes);
        self.written[i] += self.driver.endpoints[i].write(self.now, handle, payload).unwrap_or(0);
        self.drain(i);
    }

    pub(crate) fn read(&mut self, i: usize, max: u64) {
        let Some(handle) = self.handle(i) else { return };
        let mut all = 0;
        while let Ok(got) = self.driver.endpoints[i].read(self.now, handle, max) {
            all += got.len();
            assert!(!got.is_empty() && all < MOST_READ, "reads without end");
            self.damaged |= got != payload(self.read[i], got.len(), self.bytes);
            self.read[i] += u64::from(got.len());
        }
        self.drain(i);
    }

    pub(crate) fn command(&mut self, i: usize, command: impl FnOnce(&mut Connection, Instant)) {
        let (Some(handle), now) = (self.handle(i), self.now) else { return };
        self.driver.endpoints[i].with(handle, |c| command(c, now)).ok();
        self.drain(i);
    }

    /// An end's connection, once there is one.
    pub(crate) fn handle(&self, i: usize) -> Option<ConnectionHandle> {
        self.driver.applications.handles[i]
    }

    pub(crate) fn connection(&self, i: usize) -> Option<&Connection> {
        self.driver.endpoints[i].connection(self.handle(i)?)
    }

    /// Delivers all segments, advances the time while none is on its way, and reads, until `until` or until nothing
    /// more happens.
    pub(crate) fn settle(&mut self, until: Instant) {
        loop {
            let moved = self.pass(0) | self.pass(1);
            self.read(0, u64::MAX);
            self.read(1, u64::MAX);
            match self.next_timer() {
                _ if moved => {}
                Some(next) if next <= until => self.advance(next.since(self.now)),
                _ => return,
            }
        }
    }
}

/// The path manager with this number.
pub(crate) fn path_manager(n: u8) -> PathManager {
    match n % 3 {
        0 => PathManager::Default,
        1 => PathManager::FullMesh,
        _ => PathManager::NDiffPorts(3),
    }
}
