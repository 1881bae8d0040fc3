//! Real bytes through the engine and the codec, in memory, both ends on one core.
//!
//! Two subflows, segments for IP packets of 1500 bytes, TCP checksums computed and checked, DSS checksums off, delayed
//! acknowledgements. Every packet is written to memory with its headers and read from there. A packet has one segment,
//! or up to 64 KiB of segments that leave and arrive as one, as through a device with segmentation offload.

use crate::minrtt_and_reno;
use bytes::{Bytes, BytesMut};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_driver::{Applications, Driver, PacketIo, Received};
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::codec::{EncodeError, MAX_HEADER_BYTES, decode_into, encode_header};
use pathweave_wire::{Ecn, Payload, Segment};
use std::collections::VecDeque;

/// Size of the send and receive buffers, so small that the data in flight fits into a core's cache.
const BUFFER: u64 = 256 << 10;
/// Delay from one end to the other.
const DELAY: Duration = Duration::from_micros(25);
/// Length of the pattern that the stream repeats: a prime number and more than the buffers hold, so that a misplaced
/// segment shows.
const PATTERN: usize = 262_147;

/// The client, which writes, and the server, which reads.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Settings of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferSetup {
    /// Most segments that leave as one: 1, or the 64 that a packet has room for.
    pub max_segments: usize,
    /// Whether the device cuts packets into segments that arrive one by one, and copies options unchanged.
    pub cuts: bool,
    /// Size of the application's writes.
    pub write_bytes: usize,
    /// Whether DSS checksums are in use.
    pub checksums: bool,
    /// Whether every byte of the stream is compared with the written one.
    pub compares: bool,
}

impl TransferSetup {
    /// One segment in each packet, and writes of 256 KiB.
    pub fn one_by_one() -> TransferSetup {
        TransferSetup { max_segments: 1, cuts: false, write_bytes: PATTERN, checksums: false, compares: false }
    }

    /// Up to 64 KiB of segments that leave and arrive as one packet.
    pub fn several_as_one() -> TransferSetup {
        TransferSetup { max_segments: 64, ..TransferSetup::one_by_one() }
    }
}

/// Packets to one host, one after the other in one block of memory.
#[derive(Default)]
struct Wire {
    sent: BytesMut,
    /// The end of each sent packet, and the segment size that a device reports beside it.
    ends: Vec<(usize, Option<u16>)>,
    /// Packets that have arrived, and how much of them was handled.
    arrived: Bytes,
    arrived_ends: VecDeque<(usize, Option<u16>)>,
    taken: usize,
}

impl Wire {
    fn put(&mut self, segment: &Segment, ecn: Ecn) -> Result<(), EncodeError> {
        let mut header = [0; MAX_HEADER_BYTES];
        let len = encode_header(segment, ecn, &mut header)?;
        self.sent.extend_from_slice(&header[..len]);
        segment.payload.slices().for_each(|slice| self.sent.extend_from_slice(slice));
        self.ends.push((self.sent.len(), segment.segment_size));
        Ok(())
    }

    /// Delivers everything that was sent.
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
    cuts: bool,
    segment: Segment,
    /// Data segments that have arrived, and the packets that contained them.
    segments: u64,
    packets: u64,
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
            if !segment.payload.is_empty() {
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
        let wire = &mut self.to[1 - host];
        if !self.cuts || self.segment.segment_size.is_none() {
            return wire.put(&self.segment, ecn).map(|()| true);
        }
        for mut part in self.segment.parts() {
            // A network card knows nothing of mappings: each part names the whole one.
            part.options.dss = self.segment.options.dss;
            wire.put(&part, ecn)?;
        }
        Ok(true)
    }

    fn max_segments(&self) -> usize {
        self.max_segments
    }
}

/// The applications of both ends.
struct Stream {
    pattern: Bytes,
    write_bytes: usize,
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
            let mut at = (self.written % PATTERN as u64) as usize;
            let mut pieces = [const { Bytes::new() }; 4];
            for piece in &mut pieces {
                let end = PATTERN.min(at + self.write_bytes);
                *piece = self.pattern.slice(at..end);
                at = end % PATTERN;
            }
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

/// A transfer under way.
pub struct Transfer {
    now: Instant,
    driver: Driver<Wires, Stream>,
}

fn address(path: u8, end: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, path, end + 1))
}

impl Transfer {
    /// Opens the connection.
    pub fn new(setup: TransferSetup) -> Transfer {
        let TransferSetup { max_segments, cuts, write_bytes, checksums, compares } = setup;
        let (scheduler, congestion) = minrtt_and_reno();
        let config = ConnectionConfig {
            checksum: checksums,
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
        let stream = Stream { pattern, write_bytes, written: 0, received: 0, compares };
        let mut driver = Driver::new(endpoints.into(), Wires { max_segments, cuts, ..Wires::default() }, stream);
        driver.drain(now, CLIENT).unwrap_or_else(|e| panic!("{e}"));
        Transfer { now, driver }
    }

    /// Continues until this many bytes have been received in all.
    pub fn run_until_received(&mut self, bytes: u64) {
        while self.received() < bytes {
            self.receive();
            self.send();
        }
    }

    /// Delivers packets to the receiver, which reads and acknowledges the data.
    pub fn receive(&mut self) {
        self.turn(SERVER);
    }

    /// Delivers the acknowledgements; the sender then writes and sends more.
    pub fn send(&mut self) {
        self.turn(CLIENT);
    }

    fn turn(&mut self, host: usize) {
        self.now += DELAY;
        // The last segment that was read shares the memory that serves again.
        self.driver.io.segment.payload = Payload::EMPTY;
        self.driver.io.to[host].deliver();
        self.driver.settle(self.now).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Bytes that have been received.
    pub fn received(&self) -> u64 {
        self.driver.applications.received
    }

    /// Segments with data that have arrived, and the packets that they were in.
    pub fn segments_and_packets(&self) -> (u64, u64) {
        (self.driver.io.segments, self.driver.io.packets)
    }
}
