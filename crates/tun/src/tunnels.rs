//! TUN devices as the device of one host.

use crate::memory::Memory;
use crate::steering::{Away, TakenUpBy};
use crate::vnet::Vnet;
use crate::{Device, Interface};
use bytes::Bytes;
use pathweave_driver::{PacketIo, Received};
use pathweave_units::Instant;
use pathweave_wire::codec::{decode_into, decode_unverified_into};
use pathweave_wire::{Ecn, Segment};
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets that are read over all devices before applications act.
const BATCH_PACKETS: usize = 64;
/// Packets that are written before others are read. A kernel behind a device takes each one up, and answers it, while it is written: those
/// answers wait meanwhile, and more than the device's queue has room for are lost.
const WRITE_PACKETS: usize = 64;
/// Memory of a batch, bytes: for super-segments, and for packets of 1500 bytes.
const BLOCK_WITH_OFFLOAD: usize = 512 << 10;
const BLOCK_WITHOUT: usize = 128 << 10;
/// Segments in a packet of 64 KiB, at least of 1 KiB each. The engine also counts bytes.
const MAX_SEGMENTS: usize = 64;

/// What passed, and what did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets that were read, super-segments as one.
    pub received: u64,
    /// Packets that were none of ours: not TCP, damaged, or to an address that is not ours.
    pub ignored: u64,
    /// Packets that were written, super-segments as one.
    pub sent: u64,
    /// Packets that the device did not take.
    pub lost: u64,
}

/// A packet in the batch's memory.
struct Arrived {
    place: Range<usize>,
    header: Vnet,
}

/// The TUN devices of one host, one for each of its addresses.
pub struct Tunnels {
    devices: Vec<(Interface, Device)>,
    wants_offload: bool,
    /// The processor that takes up what is written without offload, and whether it does so for a device.
    taken_up_by: Option<TakenUpBy>,
    is_steered: bool,
    /// The device that is read first, in turn.
    first: usize,
    memory: Memory,
    batch: Bytes,
    arrived: Vec<Arrived>,
    /// How many of `arrived` were taken.
    taken: usize,
    /// A batch was handed out, and the applications' turn has not come since.
    handed_out: bool,
    /// Packets that were written since others were read.
    written: usize,
    /// More may wait to be written.
    holds_back: bool,
    segment: Segment,
    /// Decoded, and no part of the one before.
    next: Option<(Ecn, Segment)>,
    /// What passed.
    pub counters: Counters,
}

impl Tunnels {
    /// Makes the devices and waits until they are up.
    ///
    /// # Errors
    /// Where one cannot be made or set up.
    pub fn create(interfaces: &[Interface], wants_offload: bool) -> io::Result<Self> {
        let taken_up_by = TakenUpBy::choose();
        let mut is_steered = false;
        let mut devices = Vec::new();
        for interface in interfaces {
            let device = make(interface, wants_offload)?;
            is_steered |= steer(taken_up_by, &device, interface);
            devices.push((interface.clone(), device));
        }
        let most = devices.iter().map(|(_, device)| device.most_bytes()).max().unwrap_or(0);
        let offload = devices.iter().any(|(_, device)| device.has_offload());
        let block = if offload { BLOCK_WITH_OFFLOAD } else { BLOCK_WITHOUT };
        Ok(Tunnels {
            devices,
            wants_offload,
            taken_up_by,
            is_steered,
            first: 0,
            memory: Memory::new(block.max(4 * most)),
            batch: Bytes::new(),
            arrived: Vec::with_capacity(BATCH_PACKETS),
            taken: 0,
            handed_out: false,
            written: 0,
            holds_back: false,
            segment: Segment::default(),
            next: None,
            counters: Counters::default(),
        })
    }

    /// What a packet's data keeps alive while it waits for its reader: for
    /// [`TcpConfig::packet_memory`](pathweave_proto::config::TcpConfig::packet_memory) of the connections that run over these devices.
    pub fn packet_memory(&self) -> u32 {
        u32::try_from(self.memory.block_bytes()).unwrap_or(u32::MAX)
    }

    /// One more address with its device.
    ///
    /// # Errors
    /// Where it cannot be made or set up.
    pub fn add(&mut self, interface: &Interface) -> io::Result<()> {
        let device = make(interface, self.wants_offload)?;
        self.is_steered |= steer(self.taken_up_by, &device, interface);
        self.devices.push((interface.clone(), device));
        Ok(())
    }

    /// An address and its device are gone; packets from there are lost.
    pub fn remove(&mut self, address: IpAddr) {
        self.devices.retain(|(interface, _)| interface.address() != address);
    }

    /// Our addresses and the devices behind them.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.devices.iter().map(|(interface, _)| interface)
    }

    /// Whether every device gives and takes super-segments.
    pub fn has_offload(&self) -> bool {
        self.devices.iter().all(|(_, device)| device.has_offload())
    }

    /// Keeps this thread away from the processor that takes up what it writes, if there is one.
    pub(crate) fn stay_away(&self) -> Option<Away> {
        self.taken_up_by.filter(|_| self.is_steered)?.stay_away()
    }

    /// What to wait for.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.devices.iter().map(|(_, device)| device.as_fd())
    }

    /// Packets were read last time, so there may be more.
    pub(crate) fn may_have_more(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// The host has more to send than is written before others are read.
    pub(crate) fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Reads a batch.
    fn read(&mut self) -> io::Result<()> {
        self.written = 0;
        self.arrived.clear();
        self.taken = 0;
        self.first = (self.first + 1) % self.devices.len().max(1);
        let mut is_gone = None;
        'devices: for i in 0..self.devices.len() {
            let (_, device) = &self.devices[(self.first + i) % self.devices.len()];
            loop {
                if self.arrived.len() == BATCH_PACKETS || self.memory.room() < device.most_bytes() {
                    break 'devices;
                }
                let filling = self.memory.filling();
                let start = filling.len() + device.prefix();
                let header = match device.read(filling) {
                    Ok(Some(header)) => header,
                    Ok(None) => break,
                    Err(error) if Device::is_gone(&error) => {
                        is_gone = Some((self.first + i) % self.devices.len());
                        break;
                    }
                    Err(error) => return Err(error),
                };
                let end = filling.len();
                self.arrived.push(Arrived { place: start.min(end)..end, header });
            }
        }
        // Another program has removed this device. Its path is dark from now on; the other paths go on.
        if let Some(index) = is_gone {
            self.devices.remove(index);
        }
        self.counters.received += self.arrived.len() as u64;
        if !self.arrived.is_empty() {
            self.batch = self.memory.take();
        }
        Ok(())
    }

    /// Decodes the next packet that is for us.
    fn decode(&mut self) -> Option<Ecn> {
        while let Some(Arrived { place, header }) = self.arrived.get(self.taken) {
            self.taken += 1;
            let (batch, place, segment) = (&self.batch, place.clone(), &mut self.segment);
            let decoded = match header.is_verified() {
                true => decode_unverified_into(batch, place, segment),
                false => decode_into(batch, place, segment),
            };
            let interface = self.devices.iter().map(|(interface, _)| interface).find(|i| i.ours == segment.dst.ip());
            match (decoded, interface) {
                (Ok(ecn), Some(interface)) => {
                    segment.dst.set_ip(interface.address());
                    segment.segment_size = header.segment_size();
                    return Some(ecn);
                }
                _ => self.counters.ignored += 1,
            }
        }
        None
    }

    /// Puts the next packet into `segment`, together with those right behind it that it can be joined with.
    fn join(&mut self) -> Option<Ecn> {
        let ecn = match self.next.take() {
            Some((ecn, segment)) => {
                self.segment = segment;
                ecn
            }
            None => self.decode()?,
        };
        if self.segment.payload.is_empty() || self.taken == self.arrived.len() {
            return Some(ecn);
        }
        let mut joined = std::mem::take(&mut self.segment);
        while let Some(next) = self.decode() {
            if next != ecn || !joined.try_join(&self.segment) {
                self.next = Some((next, std::mem::take(&mut self.segment)));
                break;
            }
        }
        self.segment = joined;
        Some(ecn)
    }
}

/// A device that is up and set up.
fn make(interface: &Interface, offload: bool) -> io::Result<Device> {
    let device = Device::create(&interface.name, interface.mtu, offload)?;
    // An address of IPv6 that is set before that leaves no route.
    device.wait_until_up()?;
    interface.configure()?;
    Ok(device)
}

/// Lets that processor take up what is written to a device without offload. A super-segment is worth what taking it up costs: there the other
/// processor's caches would be colder for nothing. Where it cannot be had, this is slower, and that is all.
fn steer(taken_up_by: Option<TakenUpBy>, device: &Device, interface: &Interface) -> bool {
    !device.has_offload() && taken_up_by.is_some_and(|by| by.steer(device, &interface.name).unwrap_or(false))
}

impl PacketIo for Tunnels {
    type Error = io::Error;

    fn receive(&mut self, _now: Instant) -> io::Result<Option<Received<'_>>> {
        if self.next.is_none() && self.taken == self.arrived.len() {
            if std::mem::take(&mut self.handed_out) {
                return Ok(None);
            }
            self.batch = Bytes::new();
            self.read()?;
        }
        let received = self.join();
        self.handed_out = received.is_some();
        Ok(received.map(|ecn| Received { host: 0, ecn, segment: &self.segment }))
    }

    fn send(
        &mut self,
        _now: Instant,
        _host: usize,
        fill: impl FnOnce(&mut Segment) -> Option<Ecn>,
    ) -> io::Result<bool> {
        self.holds_back = self.written == WRITE_PACKETS;
        if self.holds_back {
            return Ok(false);
        }
        // A packet that waits to be handed out is in `next`, so this place is free.
        let Some(ecn) = fill(&mut self.segment) else { return Ok(false) };
        self.written += 1;
        let from = self.segment.src.ip();
        let taken = match self.devices.iter().find(|(interface, _)| interface.address() == from) {
            Some((interface, device)) => {
                self.segment.src.set_ip(interface.ours);
                device.write(&self.segment, ecn)?
            }
            None => false,
        };
        // What was sent is the connection's to keep.
        self.segment.payload = pathweave_wire::Payload::EMPTY;
        match taken {
            true => self.counters.sent += 1,
            false => self.counters.lost += 1,
        }
        Ok(true)
    }

    fn max_segments(&self) -> usize {
        if self.has_offload() { MAX_SEGMENTS } else { 1 }
    }
}

impl std::fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnels")
            .field("devices", &self.devices)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
