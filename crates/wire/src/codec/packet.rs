//! IP and TCP headers. They are written here and read with etherparse, which knows their many ways to be wrong.

use super::{DecodeError, EncodeError, decode_options, encode_options};
use crate::checksum::{add_sums, sum_of};
use crate::{Ecn, Flags, MAX_OPTION_BYTES, Payload, Segment};
use core::net::{IpAddr, SocketAddr};
use etherparse::{IpEcn, IpNumber, IpSlice, TcpSlice};

/// The longest headers: IPv6 40, TCP 20, options 40 bytes.
pub const MAX_HEADER_BYTES: usize = 100;

/// The longest data that any IP packet of ours has, bytes.
const MAX_PAYLOAD_BYTES: usize = 65_535;
/// What a virtual payload stands for.
static ZEROS: [u8; MAX_PAYLOAD_BYTES] = [0; MAX_PAYLOAD_BYTES];
/// RFC 1700's default time to live, which Linux has too.
const HOP_LIMIT: u8 = 64;
const PROTOCOL_TCP: u8 = 6;
/// Headers without options.
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const TCP_BYTES: usize = 20;

/// A decoded packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<'a> {
    /// Addresses, header and options; its payload is empty.
    pub segment: Segment,
    /// The IP header's ECN codepoint.
    pub ecn: Ecn,
    /// The data.
    pub payload: &'a [u8],
}

/// The payload's bytes; a virtual one is zeros.
fn bytes_of(payload: &Payload) -> Result<&[u8], EncodeError> {
    match payload {
        Payload::Virtual { len, .. } => ZEROS.get(..*len as usize).ok_or(EncodeError::Payload { len: *len }),
        Payload::Bytes(bytes) => Ok(bytes),
    }
}

/// Puts a segment's IP packet into `out`, in place of what it holds. A virtual payload becomes zeros.
///
/// # Errors
/// Where options or data are too long, or the addresses are not of one IP version.
pub fn encode(segment: &Segment, ecn: Ecn, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut header = [0; MAX_HEADER_BYTES];
    let len = encode_header(segment, ecn, &mut header)?;
    out.clear();
    out.extend_from_slice(&header[..len]);
    out.extend_from_slice(bytes_of(&segment.payload)?);
    Ok(())
}

/// Writes a segment's IP and TCP headers, with the checksums that its data gives, and returns their length.
///
/// # Errors
/// As [`encode`].
pub fn encode_header(segment: &Segment, ecn: Ecn, out: &mut [u8; MAX_HEADER_BYTES]) -> Result<usize, EncodeError> {
    let payload = bytes_of(&segment.payload)?;
    let too_long = EncodeError::Payload { len: segment.payload.len() };
    let mut options = [0; MAX_OPTION_BYTES];
    let options_len = encode_options(&segment.options, &mut options)?;
    let tcp_len = u16::try_from(TCP_BYTES + options_len + payload.len()).map_err(|_| too_long)?;
    let pseudo = add_sums(u16::from(PROTOCOL_TCP), tcp_len);
    let (ip_len, addresses) = match (segment.src.ip(), segment.dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let len = tcp_len.checked_add(IPV4_BYTES as u16).ok_or(too_long)?;
            out[0] = 0x45;
            out[1] = codepoint(ecn);
            out[2..4].copy_from_slice(&len.to_be_bytes());
            // Never to be fragmented, so its identification need not differ from others' (RFC 6864 §4).
            out[4..8].copy_from_slice(&[0, 0, 0x40, 0]);
            out[8..12].copy_from_slice(&[HOP_LIMIT, PROTOCOL_TCP, 0, 0]);
            out[12..16].copy_from_slice(&src.octets());
            out[16..20].copy_from_slice(&dst.octets());
            let checksum = !sum_of(&out[..IPV4_BYTES]);
            out[10..12].copy_from_slice(&checksum.to_be_bytes());
            (IPV4_BYTES, 12..20)
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            // Version 6, the ECN bits at the end of the traffic class, no flow label.
            out[..4].copy_from_slice(&[0x60, codepoint(ecn) << 4, 0, 0]);
            out[4..6].copy_from_slice(&tcp_len.to_be_bytes());
            out[6..8].copy_from_slice(&[PROTOCOL_TCP, HOP_LIMIT]);
            out[8..24].copy_from_slice(&src.octets());
            out[24..40].copy_from_slice(&dst.octets());
            (IPV6_BYTES, 8..40)
        }
        _ => return Err(EncodeError::Addresses),
    };
    // RFC 9293 §3.1: the pseudo-header has the addresses, the protocol and the length.
    let pseudo = add_sums(pseudo, sum_of(&out[addresses]));
    let tcp = &mut out[ip_len..];
    tcp[..2].copy_from_slice(&segment.src.port().to_be_bytes());
    tcp[2..4].copy_from_slice(&segment.dst.port().to_be_bytes());
    tcp[4..8].copy_from_slice(&segment.seq.to_be_bytes());
    tcp[8..12].copy_from_slice(&segment.ack.to_be_bytes());
    let header_len = TCP_BYTES + options_len;
    tcp[12..14].copy_from_slice(&[(header_len / 4) as u8 * 16, segment.flags.bits()]);
    tcp[14..16].copy_from_slice(&segment.window.to_be_bytes());
    tcp[16..20].fill(0);
    tcp[TCP_BYTES..header_len].copy_from_slice(&options[..options_len]);
    let checksum = !add_sums(add_sums(pseudo, sum_of(&tcp[..header_len])), sum_of(payload));
    tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
    Ok(ip_len + header_len)
}

/// Reads an IPv4 or IPv6 packet that holds a TCP segment. Bytes after the packet, as Ethernet pads short ones, are passed
/// over.
///
/// # Errors
/// Where it is none, or a checksum is wrong.
pub fn decode(bytes: &[u8]) -> Result<Packet<'_>, DecodeError> {
    let ip = IpSlice::from_slice(bytes).map_err(|_| DecodeError::Ip)?;
    let content = ip.payload();
    if content.fragmented {
        return Err(DecodeError::Fragment);
    }
    if content.ip_number != IpNumber::TCP {
        return Err(DecodeError::Protocol);
    }
    let tcp = TcpSlice::from_slice(content.payload).map_err(|_| DecodeError::Tcp)?;
    let (ecn, addresses) = match &ip {
        IpSlice::Ipv4(ip) => {
            let header = ip.header();
            if sum_of(header.slice()) != 0xffff {
                return Err(DecodeError::Checksum);
            }
            (header.ecn(), &header.slice()[12..20])
        }
        IpSlice::Ipv6(ip) => (ip.header().ecn(), &ip.header().slice()[8..40]),
    };
    // An IP packet's length has 16 bits, and IPv6's jumbograms are none of ours.
    let len = u16::try_from(content.payload.len()).map_err(|_| DecodeError::Ip)?;
    let pseudo = add_sums(sum_of(addresses), add_sums(u16::from(PROTOCOL_TCP), len));
    if add_sums(pseudo, sum_of(content.payload)) != 0xffff {
        return Err(DecodeError::Checksum);
    }
    let segment = Segment {
        src: SocketAddr::new(ip.source_addr(), tcp.source_port()),
        dst: SocketAddr::new(ip.destination_addr(), tcp.destination_port()),
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        flags: Flags::from_bits(tcp.slice()[13]),
        window: tcp.window_size(),
        options: decode_options(tcp.options()),
        payload: Payload::EMPTY,
    };
    Ok(Packet { segment, ecn: ecn_of(ecn), payload: content.payload.get(tcp.header_slice().len()..).unwrap_or(&[]) })
}

/// RFC 3168 §5.
fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn ecn_of(ecn: IpEcn) -> Ecn {
    match ecn {
        IpEcn::NotEct => Ecn::NotEct,
        IpEcn::Ect1 => Ecn::Ect1,
        IpEcn::Ect0 => Ecn::Ect0,
        IpEcn::CongestionExperienced => Ecn::Ce,
    }
}
