//! The TUN devices of one host as a single device.

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

/// Most packets read over all devices before the applications have their turn.
const BATCH_PACKETS: usize = 64;
/// Most packets written before the devices are read again. The kernel handles each packet during the write, and answers
/// it. These answers wait in the device's queue, which drops what does not fit.
const WRITE_PACKETS: usize = 64;
/// Size of a block of memory, bytes: with super-segments, and for packets of 1500 bytes.
const BLOCK_WITH_OFFLOAD: usize = 512 << 10;
const BLOCK_WITHOUT: usize = 128 << 10;
/// Most segments in a packet of 64 KiB, if each has at least 1 KiB. The engine also limits the bytes.
const MAX_SEGMENTS: usize = 64;

/// Counts of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets read; a super-segment counts as one.
    pub received: u64,
    /// Packets that were ignored: not TCP, damaged, or to another address.
    pub ignored: u64,
    /// Packets written; a super-segment counts as one.
    pub sent: u64,
    /// Packets that the device did not accept.
    pub lost: u64,
}

/// Position of a packet in the batch's memory.
struct Arrived {
    place: Range<usize>,
    header: Vnet,
}

/// The TUN devices of one host, one for each of its addresses.
pub struct Tunnels {
    devices: Vec<(Interface, Device)>,
    wants_offload: bool,
    /// The processor that handles written packets without offload, and whether it does so for a device.
    taken_up_by: Option<TakenUpBy>,
    is_steered: bool,
    /// Index of the device that is read first; it changes in turn.
    first: usize,
    memory: Memory,
    batch: Bytes,
    arrived: Vec<Arrived>,
    /// Number of packets in `arrived` that were handed out.
    taken: usize,
    /// Whether a batch was handed out since the applications' last turn.
    handed_out: bool,
    /// Packets written since the last read.
    written: usize,
    /// Whether more packets may wait to be written.
    holds_back: bool,
    segment: Segment,
    /// The next segment, decoded, if it could not be joined to the previous one.
    next: Option<(Ecn, Segment)>,
    /// Counts of packets on all devices.
    pub counters: Counters,
}

impl Tunnels {
    /// Makes the devices and waits until they are up.
    ///
    /// # Errors
    /// If a device cannot be made or set up.
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

    /// Bytes that a packet's data keeps alive until the application has read it. Set
    /// [`TcpConfig::packet_memory`](pathweave_proto::config::TcpConfig::packet_memory) to this for connections over
    /// these devices.
    pub fn packet_memory(&self) -> u32 {
        u32::try_from(self.memory.block_bytes()).unwrap_or(u32::MAX)
    }

    /// Adds an address with its device.
    ///
    /// # Errors
    /// If the device cannot be made or set up.
    pub fn add(&mut self, interface: &Interface) -> io::Result<()> {
        let device = make(interface, self.wants_offload)?;
        self.is_steered |= steer(self.taken_up_by, &device, interface);
        self.devices.push((interface.clone(), device));
        Ok(())
    }

    /// Removes an address and its device. Packets from that address are lost.
    pub fn remove(&mut self, address: IpAddr) {
        self.devices.retain(|(interface, _)| interface.address() != address);
    }

    /// The host's addresses and their devices.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.devices.iter().map(|(interface, _)| interface)
    }

    /// Whether super-segments pass between kernel and engine on every device.
    pub fn has_offload(&self) -> bool {
        self.devices.iter().all(|(_, device)| device.has_offload())
    }

    /// Keeps this thread off the processor that handles its written packets, if there is one.
    pub(crate) fn stay_away(&self) -> Option<Away> {
        self.taken_up_by.filter(|_| self.is_steered)?.stay_away()
    }

    /// Descriptors that become readable when packets arrive.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.devices.iter().map(|(_, device)| device.as_fd())
    }

    /// Whether the last read returned packets, so that more may wait.
    pub(crate) fn may_have_more(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether writing stopped at [`WRITE_PACKETS`] with more left to send.
    pub(crate) fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Reads a batch of packets.
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

    /// Decodes the next packet addressed to this host.
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

    /// Puts the next packet into `segment`, joined with the packets right behind it if possible.
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

/// Makes a device, sets it up and waits until it is up.
fn make(interface: &Interface, offload: bool) -> io::Result<Device> {
    let device = Device::create(&interface.name, interface.mtu, offload)?;
    // An address of IPv6 that is set before that leaves no route.
    device.wait_until_up()?;
    interface.configure()?;
    Ok(device)
}

/// Makes the processor handle packets written to a device without offload. With offload it would not pay: handling a
/// super-segment costs more in the colder caches of the other processor. If steering is not possible, the device is
/// only slower.
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
        // The connection keeps the sent data.
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
