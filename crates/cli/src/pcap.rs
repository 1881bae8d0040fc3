//! `--pcap`: a capture of one run, as if taken on the sending host (pcapng, nanoseconds, an interface for each path).
//!
//! All interfaces have the link type Ethernet, even those of paths that count no Ethernet header, because tcpdump reads
//! no file with several link types.

use crate::output::Output;
use pathweave_lab::scenario::Scenario;
use pathweave_lab::sim::HostPacket;
use pathweave_runner::{Failure, RunPlan};
use pathweave_wire::codec::{self, ethernet_header};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes kept of each packet: all headers, at most 14 + 100, and a little of the data, which is zeros.
const SNAP_BYTES: usize = 160;
/// Exponent of the timestamps' unit, 10^-9 s.
const NANOSECONDS: u8 = 9;
// Directions of a packet (pcapng, epb_flags).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// The writer of the packets.
type PacketWriter = Writer<BufWriter<Box<dyn Write + Send>>>;

/// A capture that runs can write to from any thread.
#[derive(Clone)]
pub(crate) struct Capture(Arc<Mutex<PacketWriter>>);

struct Writer<W: Write> {
    /// Name of the file in errors.
    name: String,
    out: PcapNgWriter<W>,
    /// Buffer for the current packet, reused.
    packet: Vec<u8>,
    frame: Vec<u8>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

/// The run to capture: its scenario and its label.
///
/// # Errors
/// If more than one run is asked for. Plain TCP, which always runs beside a scheduler, does not count.
fn the_one_run(plans: &[RunPlan]) -> Result<(&Scenario, String), Failure> {
    let count = |what: &str, n: usize| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (schedulers, seeds) = plans.first().map_or((0, 0), |p| (p.schedulers(), p.seeds.len()));
    match plans {
        [plan] if schedulers == 1 && seeds == 1 => {
            let (variant, scenario) = &plan.variants[0];
            Ok((scenario, format!("{}, {}, seed {}", plan.name, variant.label(), plan.seeds[0])))
        }
        _ => Err(Failure::Input(format!(
            "--pcap: a capture is of one run; choose one scenario, one scheduler (--schedulers NAME) and --seeds 1 instead of {}, {} \
             and {}",
            count("scenario", plans.len()),
            count("scheduler", schedulers),
            count("seed", seeds)
        ))),
    }
}

impl Capture {
    /// Creates the file and writes its header.
    ///
    /// # Errors
    /// If the plans are not of one run, or the file cannot be written.
    pub(crate) fn create(output: &Output, plans: &[RunPlan]) -> Result<Self, Failure> {
        let (scenario, title) = the_one_run(plans)?;
        let writer = Writer::new(output.to_string(), BufWriter::new(output.create()?), scenario, &title);
        Ok(Capture(Arc::new(Mutex::new(writer.map_err(|e| Failure::writing(output)(io_error(e)))?))))
    }

    /// Adds a packet. Errors are reported by [`Capture::finish`].
    pub(crate) fn add(&self, packet: &HostPacket<'_>) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.error.is_none()
            && let Err(error) = writer.add(packet)
        {
            writer.error = Some(error);
        }
    }

    /// Writes what is still buffered and closes the file.
    ///
    /// # Errors
    /// If this write, or an earlier one, failed.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = writer.error.take().map_or_else(|| writer.out.get_mut().flush(), Err);
        result.map_err(Failure::writing(&writer.name))
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl<W: Write> Writer<W> {
    fn new(name: String, out: W, scenario: &Scenario, title: &str) -> Result<Self, PcapError> {
        let section = SectionHeaderBlock {
            // The same bytes on every machine.
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(title.to_owned().into()),
                SectionHeaderOption::UserApplication(concat!("pathweave ", env!("CARGO_PKG_VERSION")).into()),
            ],
            ..SectionHeaderBlock::default()
        };
        let mut out = PcapNgWriter::with_section_header(out, section)?;
        for path in &scenario.paths {
            out.write_pcapng_block(InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: SNAP_BYTES as u32,
                options: vec![
                    InterfaceDescriptionOption::IfName(path.name.clone().into()),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            })?;
        }
        Ok(Writer { name, out, packet: Vec::new(), frame: Vec::new(), error: None })
    }

    fn add(&mut self, packet: &HostPacket<'_>) -> io::Result<()> {
        codec::encode(packet.segment, packet.ecn, &mut self.packet).map_err(io::Error::other)?;
        self.frame.clear();
        self.frame.extend(ethernet_header(packet.segment.src.ip(), packet.segment.dst.ip()));
        let original_len = (self.frame.len() + self.packet.len()) as u32;
        let kept = self.packet.len().min(SNAP_BYTES - self.frame.len());
        self.frame.extend_from_slice(&self.packet[..kept]);
        let direction = if packet.sent { OUTBOUND } else { INBOUND };
        let block = EnhancedPacketBlock {
            interface_id: packet.path as u32,
            timestamp: Duration::from_nanos(packet.at.as_nanos()),
            original_len,
            data: Cow::Borrowed(&self.frame),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        self.out.write_pcapng_block(block).map(drop).map_err(io_error)
    }
}

#[cfg(test)]
#[path = "pcap_tests.rs"]
mod tests;
