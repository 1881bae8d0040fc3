//! A capture of a host's packets (pcapng, nanoseconds, an interface for each device). TUN packets have no Ethernet
//! header, so the file gets a made-up one: tcpdump reads no file with several interfaces of raw IP.

use crate::Interface;
use pathweave_driver::{HostPacket, Observer};
use pathweave_wire::codec::{self, ethernet_header};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Bytes kept of each packet: all headers and a little data.
const SNAP_BYTES: usize = 160;
/// Exponent of the timestamps' unit, 10^-9 s.
const NANOSECONDS: u8 = 9;
// Directions of a packet (pcapng, epb_flags).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A capture file. A super-segment is one packet in it, as in any capture on a host with offload.
pub struct Capture {
    out: PcapNgWriter<BufWriter<File>>,
    /// The host's address on each interface.
    addresses: Vec<IpAddr>,
    packet: Vec<u8>,
    frame: Vec<u8>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl Capture {
    /// Creates the file and writes its header.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, interfaces: &[Interface]) -> io::Result<Self> {
        let section = SectionHeaderBlock { endianness: Endianness::Little, ..SectionHeaderBlock::default() };
        let out = PcapNgWriter::with_section_header(BufWriter::new(File::create(path)?), section).map_err(io_error)?;
        let mut capture = Capture { out, addresses: Vec::new(), packet: Vec::new(), frame: Vec::new(), error: None };
        interfaces.iter().try_for_each(|interface| capture.add_interface(interface))?;
        Ok(capture)
    }

    /// Adds an interface whose packets are captured from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add_interface(&mut self, interface: &Interface) -> io::Result<()> {
        let description = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: SNAP_BYTES as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(interface.name.clone().into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        self.out.write_pcapng_block(description).map_err(io_error)?;
        self.addresses.push(interface.address());
        Ok(())
    }

    /// Writes what is still buffered and closes the file.
    ///
    /// # Errors
    /// If this write, or an earlier one, failed.
    pub fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or_else(|| self.out.get_mut().flush(), Err)
    }

    fn add(&mut self, packet: &HostPacket<'_>) -> io::Result<()> {
        let HostPacket { at, sent, ecn, segment, .. } = *packet;
        let own = if sent { segment.src.ip() } else { segment.dst.ip() };
        let Some(interface) = self.addresses.iter().position(|address| *address == own) else { return Ok(()) };
        codec::encode(segment, ecn, &mut self.packet).map_err(io::Error::other)?;
        self.frame.clear();
        self.frame.extend(ethernet_header(segment.src.ip(), segment.dst.ip()));
        let original_len = (self.frame.len() + self.packet.len()) as u32;
        let kept = self.packet.len().min(SNAP_BYTES - self.frame.len());
        self.frame.extend_from_slice(&self.packet[..kept]);
        let block = EnhancedPacketBlock {
            interface_id: interface as u32,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len,
            data: Cow::Borrowed(&self.frame),
            options: vec![EnhancedPacketOption::Flags(if sent { OUTBOUND } else { INBOUND })],
        };
        self.out.write_pcapng_block(block).map(drop).map_err(io_error)
    }
}

impl Observer for Capture {
    fn observe(&mut self, packet: &HostPacket<'_>) {
        if self.error.is_none()
            && let Err(error) = self.add(packet)
        {
            self.error = Some(error);
        }
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
