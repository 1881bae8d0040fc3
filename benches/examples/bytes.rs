//! Real bytes through the engine and the codec, in memory, both ends on one core: `bytes [GIGABYTES]`.
//!
//! Two subflows, IP packets of 1500 bytes, one segment a packet, TCP checksums made and checked, DSS checksums off, delayed
//! acknowledgements. Every packet is written to memory with its headers and read from there. A first run compares every
//! byte of the stream; the second one is timed.

use bytes::{Bytes, BytesMut};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::Range;
use pathweave_benches::{cpu_seconds, minrtt_and_reno};
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::codec::{MAX_HEADER_BYTES, decode_into, encode_header};
use pathweave_wire::{Payload, Segment};

/// Size of the send and receive buffers: what is on its way fits into a core's cache.
const BUFFER: u64 = 256 << 10;
/// From one end to the other.
const DELAY: Duration = Duration::from_micros(25);
/// The stream repeats these bytes; a prime number of them and more than the buffers hold, so that a segment out of place shows.
const PATTERN: usize = 262_147;

struct End {
    endpoint: Endpoint,
    /// Packets to the other end, one after the other in one piece of memory, and where each ends.
    wire: (BytesMut, Vec<usize>),
    segment: Segment,
}

struct Transfer {
    now: Instant,
    /// The client, which writes, and the server, which reads.
    ends: [End; 2],
    pattern: Bytes,
    written: u64,
    received: u64,
    /// Packets with data, and without.
    segments: u64,
    acknowledgements: u64,
    compares: bool,
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
        let mut ends = ["client", "server"].map(|name| End {
            endpoint: Endpoint::new(Random::substream(1, name)),
            wire: Default::default(),
            segment: Segment::default(),
        });
        for (i, end) in (0..).zip(&mut ends) {
            end.endpoint.set_routes([0, 1].map(|path| (address(path, i), address(path, 1 - i))));
        }
        let (from, to) = (SocketAddr::new(address(0, 0), 0), SocketAddr::new(address(0, 1), 80));
        ends[1].endpoint.listen_and_accept(to, config.clone(), &local(1)).unwrap_or_else(|e| panic!("{e}"));
        let now = Instant::ZERO;
        ends[0].endpoint.connect(now, from, to, config, &local(0)).unwrap_or_else(|e| panic!("{e}"));
        let pattern = (0..PATTERN).map(|i| (i * 7 + i / 251) as u8).collect();
        Transfer { now, ends, pattern, written: 0, received: 0, segments: 0, acknowledgements: 0, compares }
    }

    fn run(&mut self, bytes: u64) {
        self.drain(0);
        while self.received < bytes {
            for to in [1, 0] {
                self.now += DELAY;
                let (packets, mut ends) = core::mem::take(&mut self.ends[1 - to].wire);
                let packets = packets.freeze();
                let mut start = 0;
                for end in ends.drain(..) {
                    self.take(to, &packets, start..end);
                    self.drain(to);
                    start = end;
                }
                // The memory serves again, unless some of it still waits for the reader.
                let mut memory = packets.try_into_mut().unwrap_or_default();
                memory.clear();
                self.ends[1 - to].wire = (memory, ends);
                if self.ends[to].endpoint.poll_timeout().is_some_and(|t| t <= self.now) {
                    self.ends[to].endpoint.handle_timeout(self.now);
                    self.drain(to);
                }
            }
        }
    }

    /// Reads a packet and gives its segment to the engine.
    fn take(&mut self, to: usize, packets: &Bytes, packet: Range<usize>) {
        let End { endpoint, segment, .. } = &mut self.ends[to];
        let ecn = decode_into(packets, packet, segment).unwrap_or_else(|e| panic!("{e}"));
        let counted = if segment.payload.is_empty() { &mut self.acknowledgements } else { &mut self.segments };
        *counted += 1;
        endpoint.handle_segment(self.now, ecn, segment);
    }

    /// Segments leave and applications act until all is quiet.
    fn drain(&mut self, index: usize) {
        loop {
            self.ends[index].send_all(self.now);
            while self.ends[index].endpoint.poll_accept().is_some() {}
            let mut acted = false;
            while let Some((handle, event)) = self.ends[index].endpoint.poll_event() {
                match event {
                    ConnectionEvent::Connected | ConnectionEvent::Writable if index == 0 => self.write(handle),
                    ConnectionEvent::Readable => self.read(handle),
                    _ => continue,
                }
                acted = true;
            }
            if !acted {
                break;
            }
        }
    }

    fn write(&mut self, handle: ConnectionHandle) {
        loop {
            let at = (self.written % PATTERN as u64) as usize;
            let piece = self.pattern.slice(at..PATTERN.min(at + BUFFER as usize));
            let len = piece.len() as u64;
            let Ok(taken) = self.ends[0].endpoint.write(self.now, handle, Payload::Bytes(piece)) else { break };
            self.written += taken;
            if taken < len {
                break;
            }
        }
    }

    fn read(&mut self, handle: ConnectionHandle) {
        while let Ok(payload) = self.ends[1].endpoint.read(self.now, handle, u64::MAX) {
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

impl End {
    /// Puts all that the engine sends on the wire, as bytes.
    fn send_all(&mut self, now: Instant) {
        while let Some(ecn) = self.endpoint.poll_transmit_into(now, &mut self.segment) {
            let mut header = [0; MAX_HEADER_BYTES];
            let len = encode_header(&self.segment, ecn, &mut header).unwrap_or_else(|e| panic!("{e}"));
            let (memory, ends) = &mut self.wire;
            memory.extend_from_slice(&header[..len]);
            if let Payload::Bytes(bytes) = &self.segment.payload {
                memory.extend_from_slice(bytes);
            }
            ends.push(memory.len());
        }
    }
}

fn main() {
    let gigabytes = std::env::args().nth(1).map_or(4.0, |text| text.parse().unwrap_or_else(|e| panic!("{text}: {e}")));
    Transfer::new(true).run(200_000_000);
    let before = cpu_seconds();
    let mut transfer = Transfer::new(false);
    transfer.run((gigabytes * 1e9) as u64);
    let Transfer { received: bytes, segments, acknowledgements, .. } = transfer;
    print!("{bytes} bytes in {segments} segments, {acknowledgements} packets without data");
    match (before, cpu_seconds()) {
        (Some(before), Some(after)) => {
            let seconds = after - before;
            println!(", {seconds:.2} CPU s, {:.1} Gbit/s per core", bytes as f64 * 8e-9 / seconds);
        }
        _ => println!(),
    }
}
