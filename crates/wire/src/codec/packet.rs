//! IP and TCP headers, with etherparse.

use super::{DecodeError, EncodeError, decode_options, encode_options};
use crate::checksum::sum_of;
use crate::{Ecn, Flags, MAX_OPTION_BYTES, Payload, Segment};
use core::net::{IpAddr, SocketAddr};
use etherparse::{IpEcn, IpNumber, IpSlice, Ipv4Header, Ipv6Header, TcpHeader, TcpSlice};

/// The longest headers: IPv6 40, TCP 20, options 40 bytes.
pub const MAX_HEADER_BYTES: usize = 100;

/// The longest data that any IP packet of ours has, bytes.
const MAX_PAYLOAD_BYTES: usize = 65_535;
/// What a virtual payload stands for.
static ZEROS: [u8; MAX_PAYLOAD_BYTES] = [0; MAX_PAYLOAD_BYTES];
/// RFC 1700's default time to live, which Linux has too.
const HOP_LIMIT: u8 = 64;

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
    let mut tcp = tcp_header(segment)?;
    let tcp_len = tcp.header_len() + payload.len();
    let ip_len = match (segment.src.ip(), segment.dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let len = u16::try_from(tcp_len).map_err(|_| too_long)?;
            let mut ip =
                Ipv4Header::new(len, HOP_LIMIT, IpNumber::TCP, src.octets(), dst.octets()).map_err(|_| too_long)?;
            ip.ecn = codepoint(ecn);
            // Never to be fragmented, so its identification need not differ from others' (RFC 6864 §4).
            ip.dont_fragment = true;
            ip.header_checksum = ip.calc_header_checksum();
            tcp.checksum = tcp.calc_checksum_ipv4_raw(src.octets(), dst.octets(), payload).map_err(|_| too_long)?;
            put(&ip.to_bytes(), out)
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut ip = Ipv6Header {
                next_header: IpNumber::TCP,
                hop_limit: HOP_LIMIT,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv6Header::default()
            };
            ip.set_payload_length(tcp_len).map_err(|_| too_long)?;
            ip.set_ecn(codepoint(ecn));
            tcp.checksum = tcp.calc_checksum_ipv6_raw(src.octets(), dst.octets(), payload).map_err(|_| too_long)?;
            put(&ip.to_bytes(), out)
        }
        _ => return Err(EncodeError::Addresses),
    };
    Ok(ip_len + put(&tcp.to_bytes(), &mut out[ip_len..]))
}

fn put(header: &[u8], out: &mut [u8]) -> usize {
    out[..header.len()].copy_from_slice(header);
    header.len()
}

/// All but the checksum.
fn tcp_header(segment: &Segment) -> Result<TcpHeader, EncodeError> {
    let mut options = [0; MAX_OPTION_BYTES];
    let len = encode_options(&segment.options, &mut options)?;
    let mut tcp = TcpHeader::new(segment.src.port(), segment.dst.port(), segment.seq, segment.window);
    tcp.acknowledgment_number = segment.ack;
    let set = |flag| segment.flags.contains(flag);
    tcp.fin = set(Flags::FIN);
    tcp.syn = set(Flags::SYN);
    tcp.rst = set(Flags::RST);
    tcp.psh = set(Flags::PSH);
    tcp.ack = set(Flags::ACK);
    tcp.urg = set(Flags::URG);
    tcp.ece = set(Flags::ECE);
    tcp.cwr = set(Flags::CWR);
    tcp.set_options_raw(&options[..len]).map_err(|_| EncodeError::Options { len })?;
    Ok(tcp)
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
    let (ecn, expected) = match &ip {
        IpSlice::Ipv4(ip) => {
            let header = ip.header();
            if sum_of(header.slice()) != 0xffff {
                return Err(DecodeError::Checksum);
            }
            (header.ecn(), tcp.calc_checksum_ipv4(header.source(), header.destination()))
        }
        IpSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.ecn(), tcp.calc_checksum_ipv6(header.source(), header.destination()))
        }
    };
    if !expected.is_ok_and(|sum| same_sum(sum, tcp.checksum())) {
        return Err(DecodeError::Checksum);
    }
    let segment = Segment {
        src: SocketAddr::new(ip.source_addr(), tcp.source_port()),
        dst: SocketAddr::new(ip.destination_addr(), tcp.destination_port()),
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        flags: flags_of(&tcp),
        window: tcp.window_size(),
        options: decode_options(tcp.options()),
        payload: Payload::EMPTY,
    };
    Ok(Packet { segment, ecn: ecn_of(ecn), payload: content.payload.get(tcp.header_slice().len()..).unwrap_or(&[]) })
}

/// In ones' complement, 0 and 0xffff are one number.
fn same_sum(a: u16, b: u16) -> bool {
    a == b || (a ^ b == 0xffff && (a == 0 || b == 0))
}

fn flags_of(tcp: &TcpSlice<'_>) -> Flags {
    let mut flags = Flags::NONE;
    for (set, flag) in [
        (tcp.fin(), Flags::FIN),
        (tcp.syn(), Flags::SYN),
        (tcp.rst(), Flags::RST),
        (tcp.psh(), Flags::PSH),
        (tcp.ack(), Flags::ACK),
        (tcp.urg(), Flags::URG),
        (tcp.ece(), Flags::ECE),
        (tcp.cwr(), Flags::CWR),
    ] {
        if set {
            flags |= flag;
        }
    }
    flags
}

fn codepoint(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ce => IpEcn::CongestionExperienced,
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
