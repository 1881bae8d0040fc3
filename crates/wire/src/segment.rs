//! One TCP segment with its addresses.

use crate::{Flags, Options, Payload};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

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
    /// Where the data is that of several segments: the bytes of each of them but the last, which may be shorter. See
    /// [`Segment::parts`].
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

    /// Makes it an empty segment between two addresses again. What it has allocated it keeps.
    pub fn reset(&mut self, src: SocketAddr, dst: SocketAddr) {
        (self.src, self.dst) = (src, dst);
        (self.seq, self.ack, self.window) = (0, 0, 0);
        self.flags = Flags::NONE;
        self.options.clear();
        self.payload = Payload::EMPTY;
        self.segment_size = None;
    }

    /// The reset that answers a segment which belongs to no connection (RFC 9293 §3.10.7.1).
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

    /// Sequence numbers that the segment takes: its data, and one each for SYN and FIN.
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
