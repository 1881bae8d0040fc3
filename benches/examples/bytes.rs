//! Real bytes through the engine and the codec, in memory, both ends on one core: `bytes [GIGABYTES [ROUNDS]]`.
//!
//! Two subflows, segments for IP packets of 1500 bytes, TCP checksums made and checked, DSS checksums off, delayed
//! acknowledgements. Every packet is written to memory with its headers and read from there: one segment in each, or
//! up to 64 KiB of segments that leave and arrive as one, as through a device with segmentation offload. A first run of each compares every
//! byte of the stream; then both are timed in turn.

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

/// Segments that leave as one: as many as a packet has room for.
const SEVERAL: usize = 64;

/// The client, which writes, and the server, which reads.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Packets to one host, one after the other in one piece of memory.
#[derive(Default)]
struct Wire {
    sent: BytesMut,
    /// Where each packet that was sent ends, and what a device says beside it: the size of the segments that it stands for.
    ends: Vec<(usize, Option<u16>)>,
    /// What has arrived, and how much of it was taken.
    arrived: Bytes,
    arrived_ends: VecDeque<(usize, Option<u16>)>,
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
    max_segments: usize,
    segment: Segment,
    /// Segments with data that have arrived, the packets that they were in, and packets without data.
    segments: u64,
    packets: u64,
    acknowledgements: u64,
}

impl PacketIo for Wires {
    type Error = EncodeError;

    fn receive(&mut self, _now: Instant) -> Result<Option<Received<'_>>, EncodeError> {
        for (host, wire) in self.to.iter_mut().enumerate() {
            let Some((end, segment_size)) = wire.arrived_ends.pop_front() else { continue };
            let packet = core::mem::replace(&mut wire.taken, end)..end;
            let segment = &mut self.segment;
            let ecn = decode_into(&wire.arrived, packet, segment).unwrap_or_else(|e| panic!("{e}"));
            segment.segment_size = segment_size;
            if segment.payload.is_empty() {
                self.acknowledgements += 1;
            } else {
                self.packets += 1;
                self.segments += u64::from(segment.part_count());
            }
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
        ends.push((sent.len(), self.segment.segment_size));
        Ok(true)
    }

    fn max_segments(&self) -> usize {
        self.max_segments
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
            let mut pieces = [self.pattern.slice(at..), self.pattern.clone()];
            let Ok(taken) = endpoint.write_chunks(now, handle, &mut pieces) else { break };
            self.written += taken.bytes;
            if taken.chunks < pieces.len() {
                break;
            }
        }
    }

    fn read(&mut self, now: Instant, endpoint: &mut Endpoint, handle: ConnectionHandle) {
        let mut chunks = [const { Bytes::new() }; 64];
        while let Ok(read) = endpoint.read_chunks(now, handle, u64::MAX, &mut chunks) {
            for chunk in &mut chunks[..read.chunks] {
                if self.compares {
                    self.compare(chunk);
                }
                self.received += chunk.len() as u64;
                // The memory of the packets serves again.
                *chunk = Bytes::new();
            }
        }
    }

    fn compare(&self, bytes: &Bytes) {
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
    fn new(max_segments: usize, compares: bool) -> Transfer {
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
        let mut driver = Driver::new(endpoints.into(), Wires { max_segments, ..Wires::default() }, stream);
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

/// Moves so many bytes; the answer is the rate in Gbit/s per core, where the system says how long it took.
fn measure(name: &str, max_segments: usize, bytes: u64) -> Option<f64> {
    let before = cpu_seconds();
    let mut transfer = Transfer::new(max_segments, false);
    transfer.run(bytes);
    let (bytes, wires) = (transfer.driver.applications.received, transfer.driver.io);
    let Wires { segments, packets, acknowledgements, .. } = wires;
    let rate = before.zip(cpu_seconds()).map(|(before, after)| bytes as f64 * 8e-9 / (after - before));
    print!("{name}: {bytes} bytes in {segments} segments, {packets} packets with data, {acknowledgements} without");
    println!("{}", rate.map_or(String::new(), |rate| format!(", {rate:.1} Gbit/s per core")));
    rate
}

fn main() {
    let argument = |n: usize, otherwise: f64| {
        std::env::args().nth(n).map_or(otherwise, |text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}")))
    };
    let (bytes, rounds) = ((argument(1, 4.0) * 1e9) as u64, argument(2, 5.0) as usize);
    for most in [1, SEVERAL] {
        Transfer::new(most, true).run(200_000_000);
    }
    let mut ratios: Vec<f64> = Vec::new();
    for _ in 0..rounds {
        let rates = (measure("one by one", 1, bytes), measure("several as one", SEVERAL, bytes));
        ratios.extend(rates.0.zip(rates.1).map(|(one, several)| several / one));
    }
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(ratios.len() / 2) {
        println!("several as one are {median:.2} times as fast (median of {} rounds)", ratios.len());
    }
}
