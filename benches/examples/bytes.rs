//! Real bytes through the engine and the codec, in memory, both ends on one core: `bytes [GIGABYTES]`.
//!
//! Two subflows, IP packets of 1500 bytes, one segment a packet, TCP checksums made and checked, DSS checksums off, delayed
//! acknowledgements. Every packet is written to memory with its headers and read from there. A first run compares every
//! byte of the stream; the second one is timed.

use bytes::{Bytes, BytesMut};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_benches::{cpu_seconds, minrtt_and_reno};
use pathweave_driver::{Applications, Driver, PacketIo, Received};
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::codec::{EncodeError, MAX_HEADER_BYTES, decode_into, encode_header};
use pathweave_wire::{Ecn, Payload, Segment};
use std::collections::VecDeque;

/// Size of the send and receive buffers: what is on its way fits into a core's cache.
const BUFFER: u64 = 256 << 10;
/// From one end to the other.
const DELAY: Duration = Duration::from_micros(25);
/// The stream repeats these bytes; a prime number of them and more than the buffers hold, so that a segment out of place shows.
const PATTERN: usize = 262_147;

/// The client, which writes, and the server, which reads.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Packets to one host, one after the other in one piece of memory.
#[derive(Default)]
struct Wire {
    sent: BytesMut,
    /// Where each packet that was sent ends.
    ends: Vec<usize>,
    /// What has arrived, and how much of it was taken.
    arrived: Bytes,
    arrived_ends: VecDeque<usize>,
    taken: usize,
}

impl Wire {
    /// All that was sent arrives.
    fn deliver(&mut self) {
        // The memory of what arrived before serves again, unless some of it still waits for the reader.
        let mut memory = core::mem::take(&mut self.arrived).try_into_mut().unwrap_or_default();
        memory.clear();
        self.arrived = core::mem::replace(&mut self.sent, memory).freeze();
        self.arrived_ends.extend(self.ends.drain(..));
        self.taken = 0;
    }
}

/// A wire to each host.
#[derive(Default)]
struct Wires {
    to: [Wire; 2],
    segment: Segment,
    /// Packets with data that have arrived, and without.
    segments: u64,
    acknowledgements: u64,
}

impl PacketIo for Wires {
    type Error = EncodeError;

    fn receive(&mut self, _now: Instant) -> Result<Option<Received<'_>>, EncodeError> {
        for (host, wire) in self.to.iter_mut().enumerate() {
            let Some(end) = wire.arrived_ends.pop_front() else { continue };
            let packet = core::mem::replace(&mut wire.taken, end)..end;
            let segment = &mut self.segment;
            let ecn = decode_into(&wire.arrived, packet, segment).unwrap_or_else(|e| panic!("{e}"));
            let counted = if segment.payload.is_empty() { &mut self.acknowledgements } else { &mut self.segments };
            *counted += 1;
            return Ok(Some(Received { host, ecn, segment }));
        }
        Ok(None)
    }

    fn send(
        &mut self,
        _now: Instant,
        host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> Result<bool, EncodeError> {
        let Some(ecn) = fill(&mut self.segment) else { return Ok(false) };
        let mut header = [0; MAX_HEADER_BYTES];
        let len = encode_header(&self.segment, ecn, &mut header)?;
        let Wire { sent, ends, .. } = &mut self.to[1 - host];
        sent.extend_from_slice(&header[..len]);
        self.segment.payload.slices().for_each(|slice| sent.extend_from_slice(slice));
        ends.push(sent.len());
        Ok(true)
    }
}

/// The applications of both ends.
struct Stream {
    pattern: Bytes,
    written: u64,
    received: u64,
    compares: bool,
}

impl Applications for Stream {
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        while endpoint.poll_accept().is_some() {}
        let mut acted = false;
        while let Some((handle, event)) = endpoint.poll_event() {
            match event {
                ConnectionEvent::Connected | ConnectionEvent::Writable if host == CLIENT => {
                    self.write(now, endpoint, handle);
                }
                ConnectionEvent::Readable => self.read(now, endpoint, handle),
                _ => continue,
            }
            acted = true;
        }
        acted
    }
}

impl Stream {
    fn write(&mut self, now: Instant, endpoint: &mut Endpoint, handle: ConnectionHandle) {
        loop {
            let at = (self.written % PATTERN as u64) as usize;
            let piece = self.pattern.slice(at..PATTERN.min(at + BUFFER as usize));
            let len = piece.len() as u64;
            let Ok(taken) = endpoint.write(now, handle, Payload::Bytes(piece)) else { break };
            self.written += taken;
            if taken < len {
                break;
            }
        }
    }

    fn read(&mut self, now: Instant, endpoint: &mut Endpoint, handle: ConnectionHandle) {
        while let Ok(payload) = endpoint.read(now, handle, u64::MAX) {
            if self.compares {
                self.compare(&payload);
            }
            self.received += u64::from(payload.len());
        }
    }

    fn compare(&self, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { panic!("bytes were written") };
        let mut at = (self.received % PATTERN as u64) as usize;
        for byte in bytes {
            assert_eq!(*byte, self.pattern[at], "the stream arrives as it was written");
            at = (at + 1) % PATTERN;
        }
    }
}

struct Transfer {
    now: Instant,
    driver: Driver<Wires, Stream>,
}

fn address(path: u8, end: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, path, end + 1))
}

impl Transfer {
    fn new(compares: bool) -> Transfer {
        let (scheduler, congestion) = minrtt_and_reno();
        let config = ConnectionConfig {
            send_buffer: BUFFER,
            receive_buffer: ReceiveBuffer::Fixed(BUFFER),
            ..ConnectionConfig::new(scheduler, congestion)
        };
        let local = |end| [0, 1].map(|path| LocalAddress { address: address(path, end), meta: Default::default() });
        let mut endpoints =
            ["client", "server"].map(|name| Endpoint::new(Secrets::reproducible(Random::substream(1, name))));
        for (i, endpoint) in (0..).zip(&mut endpoints) {
            endpoint.set_routes([0, 1].map(|path| (address(path, i), address(path, 1 - i))));
        }
        let (from, to) = (SocketAddr::new(address(0, 0), 0), SocketAddr::new(address(0, 1), 80));
        endpoints[SERVER].listen_and_accept(to, config.clone(), &local(1)).unwrap_or_else(|e| panic!("{e}"));
        let now = Instant::ZERO;
        endpoints[CLIENT].connect(now, from, to, config, &local(0)).unwrap_or_else(|e| panic!("{e}"));
        let pattern = (0..PATTERN).map(|i| (i * 7 + i / 251) as u8).collect();
        let stream = Stream { pattern, written: 0, received: 0, compares };
        let mut driver = Driver::new(endpoints.into(), Wires::default(), stream);
        driver.drain(now, CLIENT).unwrap_or_else(|e| panic!("{e}"));
        Transfer { now, driver }
    }

    fn run(&mut self, bytes: u64) {
        while self.driver.applications.received < bytes {
            for host in [SERVER, CLIENT] {
                self.now += DELAY;
                // The last segment that was read shares the memory that serves again.
                self.driver.io.segment.payload = Payload::EMPTY;
                self.driver.io.to[host].deliver();
                self.driver.settle(self.now).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

fn main() {
    let gigabytes = std::env::args().nth(1).map_or(4.0, |text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}")));
    Transfer::new(true).run(200_000_000);
    let before = cpu_seconds();
    let mut transfer = Transfer::new(false);
    transfer.run((gigabytes * 1e9) as u64);
    let (bytes, wires) = (transfer.driver.applications.received, transfer.driver.io);
    let (segments, acknowledgements) = (wires.segments, wires.acknowledgements);
    print!("{bytes} bytes in {segments} segments, {acknowledgements} packets without data");
    match (before, cpu_seconds()) {
        (Some(before), Some(after)) => {
            let seconds = after - before;
            println!(", {seconds:.2} CPU s, {:.1} Gbit/s per core", bytes as f64 * 8e-9 / seconds);
        }
        _ => println!(),
    }
}
