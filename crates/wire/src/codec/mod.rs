//! Turns segments into IP packets and back: IPv4 or IPv6, TCP, and every option of RFC 8684 §3. It also reads the ICMP
//! messages about packets that were too large.
//!
//! Decoding never panics: any bytes give a value, or an error that says which header is wrong. An option that is
//! malformed or unknown leaves no trace. Neither direction allocates per segment or copies data without need:
//! [`encode`] fills the caller's buffer, [`decode`] borrows the data, [`decode_into`] shares it. The exception is the
//! list of Multipath TCP options other than the data sequence signal, which may allocate.
//!
//! If the device computes checksums, or if packets never leave the machine, use [`encode_header_partial`] and
//! [`decode_unverified_into`], which do not read the data.
//!
//! A packet can say more than a [`Segment`](crate::Segment) holds. Decoding drops reserved bits, the order and padding
//! of options, the urgent pointer, and everything in the IP header but addresses and ECN. Encoding writes one fixed
//! form.

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

/// The option No-Operation, which pads.
const NOP: u8 = 1;

/// Why a segment cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// Its options take more than 40 bytes (RFC 9293 §3.1).
    Options {
        /// Length of the options, bytes.
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

/// Why a packet cannot be decoded as a TCP segment or as an ICMP message about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The IP header is cut off or contradicts itself.
    Ip,
    /// The packet is a fragment.
    Fragment,
    /// The packet does not carry TCP, or, for [`decode_packet_too_big`], not ICMP.
    Protocol,
    /// The TCP header is cut off or contradicts itself.
    Tcp,
    /// The checksum of the IPv4 header, of the TCP segment or of the ICMP message is wrong.
    Checksum,
    /// The ICMP message is cut off.
    Icmp,
    /// The ICMP message is not about a packet that was too large.
    OtherMessage,
    /// The ICMP message does not quote a TCP segment that the message's receiver sent, or quotes too little of it.
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
            DecodeError::OtherMessage => "the ICMP message is not about a packet's size",
            DecodeError::Quote => "the ICMP message quotes no TCP segment of its receiver",
        })
    }
}

impl core::error::Error for DecodeError {}

/// Reads the fields of an option one after the other. A read returns `None` if the option is too short.
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
    /// `value` if all bytes of the option have been read.
    fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

/// Writes into the option space of a header. The caller has checked that everything fits.
struct Writer<'a> {
    out: &'a mut [u8; crate::MAX_OPTION_BYTES],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Pads with NOPs to a multiple of four bytes.
    fn pad(&mut self) {
        while !self.len.is_multiple_of(4) {
            self.put(&[NOP]);
        }
    }
}
