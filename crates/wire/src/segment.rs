//! A TCP segment with its addresses, control bits and options (RFC 9293 §3.1) as typed values that know their exact
//! lengths, and a router's message about a packet that was too large.

use crate::Payload;
use crate::mptcp::{Dss, MptcpOption};
use arrayvec::ArrayVec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::{BitOr, BitOrAssign};

/// A TCP header without options, bytes.
pub const TCP_HEADER_BYTES: u32 = 20;

/// A TCP segment between two socket addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Sender's address and port.
    pub src: SocketAddr,
    /// Receiver's address and port.
    pub dst: SocketAddr,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: u32,
    /// Acknowledgement number; significant with [`Flags::ACK`].
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// The window field as on the wire, not scaled.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// Data.
    pub payload: Payload,
    /// For a super-segment, which stands for several segments: the data bytes of each of them. The last one may be
    /// shorter. `None` for a single segment. See [`Segment::parts`].
    pub segment_size: Option<u16>,
}

impl Segment {
    /// An empty segment between two addresses.
    pub fn new(src: SocketAddr, dst: SocketAddr) -> Self {
        Segment {
            src,
            dst,
            seq: 0,
            ack: 0,
            flags: Flags::NONE,
            window: 0,
            options: Options::default(),
            payload: Payload::EMPTY,
            segment_size: None,
        }
    }

    /// Turns `self` into an empty segment between two addresses and keeps the memory of its option list.
    pub fn reset(&mut self, src: SocketAddr, dst: SocketAddr) {
        (self.src, self.dst) = (src, dst);
        (self.seq, self.ack, self.window) = (0, 0, 0);
        self.flags = Flags::NONE;
        self.options.clear();
        self.payload = Payload::EMPTY;
        self.segment_size = None;
    }

    /// The reset that answers `self` if it belongs to no connection (RFC 9293 §3.10.7.1).
    pub fn resetting_answer(&self) -> Segment {
        let mut reset = Segment::new(self.dst, self.src);
        if self.flags.contains(Flags::ACK) {
            reset.flags = Flags::RST;
            reset.seq = self.ack;
        } else {
            reset.flags = Flags::RST | Flags::ACK;
            reset.ack = self.seq.wrapping_add(self.sequence_len());
        }
        reset
    }

    /// The count of sequence numbers that the segment occupies: one for each byte of data, one each for SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        self.payload.len() + u32::from(self.flags.contains(Flags::SYN)) + u32::from(self.flags.contains(Flags::FIN))
    }

    /// Length of the IP packet in bytes: IPv4 20 or IPv6 40, TCP 20, options, data.
    pub fn ip_len(&self) -> u32 {
        let ip = if self.dst.is_ipv4() { 20 } else { 40 };
        ip + TCP_HEADER_BYTES + self.options.wire_len() as u32 + self.payload.len()
    }
}

impl Default for Segment {
    fn default() -> Self {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Segment::new(nowhere, nowhere)
    }
}

/// A set of TCP control bits, in the header's order.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No bit set.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent field is significant.
    pub const URG: Flags = Flags(0x20);
    /// ECN-echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// The eight bits as on the wire.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// The flags for the eight bits on the wire.
    pub const fn from_bits(bits: u8) -> Self {
        Flags(bits)
    }
    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// The bits of `self` that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Flags) -> Self {
        Flags(self.0 & !other.0)
    }
    /// Whether any bit of `other` is set.
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut first = true;
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                if !first {
                    f.write_str("|")?;
                }
                f.write_str(name)?;
                first = false;
            }
        }
        if first { f.write_str("NONE") } else { Ok(()) }
    }
}

/// The option space of a TCP header, bytes (RFC 9293 §3.1: data offset of at most 15 words).
pub const MAX_OPTION_BYTES: usize = 40;

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The newest value received from the peer.
    pub echo: u32,
}

/// One SACK block: sequence numbers from `left` (included) to `right` (excluded) (RFC 2018 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// Sequence number after the last one of the block.
    pub right: u32,
}

/// Up to four SACK blocks, most recent first; a D-SACK (RFC 2883) comes before them.
pub type SackBlocks = ArrayVec<SackBlock, 4>;

/// All options of one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Maximum segment size; only on SYN segments.
    pub mss: Option<u16>,
    /// Window scale shift count; only on SYN segments.
    pub window_scale: Option<u8>,
    /// SACK permitted; only on SYN segments.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// The data sequence signal, which nearly every Multipath TCP segment carries.
    pub dss: Option<Dss>,
    /// All other Multipath TCP options, in wire order. The list is empty on nearly every segment, so it seldom
    /// allocates.
    pub mptcp: Vec<MptcpOption>,
}

impl Options {
    /// Removes every option.
    pub fn clear(&mut self) {
        let Options { mss, window_scale, sack_permitted, timestamps, sack, dss, mptcp } = self;
        (*mss, *window_scale, *sack_permitted) = (None, None, false);
        (*timestamps, *dss) = (None, None);
        sack.clear();
        mptcp.clear();
    }

    /// Length on the wire in bytes, padded to a multiple of four.
    ///
    /// Timestamps count 12 and SACK 4 + 8 per block: both are aligned with two NOPs, as every common stack does.
    pub fn wire_len(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        // On a SYN, SACK-permitted (2) fills the two bytes that align the timestamps.
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => len += 12,
            (true, false) => len += 4,
            (false, true) => len += 12,
            (false, false) => {}
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if !self.sack.is_empty() {
            len += 4 + 8 * self.sack.len();
        }
        if let Some(dss) = &self.dss {
            len += dss.wire_len().next_multiple_of(4);
        }
        for option in &self.mptcp {
            len += option.wire_len().next_multiple_of(4);
        }
        len
    }

    /// Bytes still free in the 40-byte option space.
    pub fn free_bytes(&self) -> usize {
        MAX_OPTION_BYTES.saturating_sub(self.wire_len())
    }

    /// The number of SACK blocks that would fit into the free bytes, at most 4 (RFC 2018 §3).
    pub fn free_sack_blocks(&self) -> usize {
        (self.free_bytes().saturating_sub(4) / 8).min(4)
    }
}

/// A router's message that a packet is too large to be forwarded: ICMPv4 "fragmentation needed" (RFC 1191), or ICMPv6
/// "packet too big" (RFC 8201).
///
/// A device that creates this value must have checked the message's checksum. It must also have checked that the
/// message quotes a TCP segment of the message's receiver.
/// [`decode_packet_too_big`](crate::codec::decode_packet_too_big) checks both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The source of the quoted packet, which is the host that gets the message.
    pub local: SocketAddr,
    /// The destination of the quoted packet.
    pub remote: SocketAddr,
    /// The TCP sequence number of the quoted packet.
    pub sequence: u32,
    /// The largest IP packet that the next link takes, bytes; 0 if the router does not say (RFC 1191 §5).
    pub mtu: u32,
}
