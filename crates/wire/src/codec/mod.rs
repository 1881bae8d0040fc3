//! Segments to bytes and back: IPv4 or IPv6, TCP, and every option of RFC 8684 §3; and, from bytes, the ICMP messages about packets
//! that were too large.
//!
//! Decoding is total: whatever the bytes are, it gives a value or says which header is wrong, and an option that is
//! malformed or unknown leaves no trace. Neither direction copies data that it need not or allocates per segment:
//! [`encode`] fills a buffer of the caller's, [`decode`] borrows the data, [`decode_into`] shares it; only Multipath TCP options other than the
//! data sequence signal are kept in a list.
//!
//! A device that computes checksums, or passes packets on that never left the machine, wants [`encode_header_partial`] and
//! [`decode_unverified_into`], which do not look at the data.
//!
//! Bytes hold more forms than values do. What is not kept: reserved bits, the order of options and their padding, the
//! urgent pointer, and of the IP header everything but addresses and ECN. Encoding always writes one form.

mod ethernet;
mod icmp;
mod mptcp;
mod options;
mod packet;

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod tests;

pub use ethernet::{ETHERNET_BYTES, ethernet_header};
pub use icmp::decode_packet_too_big;
pub use options::{decode_options, encode_options};
pub use packet::{
    MAX_HEADER_BYTES, Packet, PartialHeader, decode, decode_into, decode_unverified_into, encode, encode_header,
    encode_header_partial,
};

/// Why a segment has no form in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// Its options take more than 40 bytes (RFC 9293 §3.1).
    Options {
        /// What they take, bytes.
        len: usize,
    },
    /// Its data does not fit an IP packet.
    Payload {
        /// Length of the data, bytes.
        len: u32,
    },
    /// Its two addresses are of different IP versions.
    Addresses,
}

impl core::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            EncodeError::Options { len } => write!(f, "options of {len} bytes: a TCP header has room for 40"),
            EncodeError::Payload { len } => write!(f, "data of {len} bytes: an IP packet has 65535 in all"),
            EncodeError::Addresses => f.write_str("an IPv4 and an IPv6 address in one segment"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Why bytes are no segment, or no message about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The IP header is cut off or contradicts itself.
    Ip,
    /// A fragment of a packet.
    Fragment,
    /// Not TCP, or not ICMP where a message is read.
    Protocol,
    /// The TCP header is cut off or contradicts itself.
    Tcp,
    /// The checksum of the IPv4 header, of the TCP segment or of the ICMP message is wrong.
    Checksum,
    /// The ICMP message is cut off.
    Icmp,
    /// An ICMP message of another kind.
    OtherMessage,
    /// What the ICMP message quotes is no TCP segment of the message's receiver, or is cut off.
    Quote,
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            DecodeError::Ip => "no IP header",
            DecodeError::Fragment => "a fragment",
            DecodeError::Protocol => "the packet carries another protocol",
            DecodeError::Tcp => "the TCP header is cut short or malformed",
            DecodeError::Checksum => "a wrong checksum",
            DecodeError::Icmp => "the ICMP message is cut short",
            DecodeError::OtherMessage => "the ICMP message is about something else than a packet's size",
            DecodeError::Quote => "the ICMP message quotes no TCP segment of its receiver",
        })
    }
}

impl core::error::Error for DecodeError {}

/// Takes fields off the front of an option; `None` if the option is too short.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
    fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_be_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }
    /// `value`, where nothing is left.
    fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

/// Fills the option space. Its user has checked that everything fits.
struct Writer<'a> {
    out: &'a mut [u8; crate::MAX_OPTION_BYTES],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Fills up to a whole word.
    fn pad(&mut self) {
        while !self.len.is_multiple_of(4) {
            self.put(&[options::NOP]);
        }
    }
}
