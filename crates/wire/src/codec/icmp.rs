//! Reads the ICMP messages that a packet was too large for a link: type 3 code 4 of ICMPv4 (RFC 792, RFC 1191 §4), type
//! 2 of ICMPv6 (RFC 4443 §3.2).
//!
//! Such a message quotes the beginning of the packet that was too large. The first eight bytes of the quoted TCP header
//! are needed: the ports, and the sequence number, which an attacker who does not see the traffic cannot know (RFC 5927
//! §4.1). The rest of the quote is not checked, because routers change the time to live and cut the quote off.

use super::DecodeError;
use super::packet::{IPV4_BYTES, IPV6_BYTES, Ip, PROTOCOL_TCP, addresses_sum, pseudo_sum, read_any_ip};
use crate::PacketTooBig;
use crate::checksum::{fold, swapped_sum};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use etherparse::IpNumber;

const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
const PACKET_TOO_BIG: u8 = 2;

/// Reads an IPv4 or IPv6 packet that holds a message about a TCP segment which the message's receiver sent.
///
/// A device calls this if [`decode`](super::decode) or [`decode_into`](super::decode_into) returns
/// [`DecodeError::Protocol`], and gives the result to `Endpoint::handle_packet_too_big`, which decides whether to
/// believe it.
///
/// # Errors
/// If the packet does not hold such a message, or a checksum is wrong.
//= RFC 9293 §3.9.2.2 (MUST-55): "TCP implementations MUST silently discard any received ICMP Source Quench messages"
//= tests: icmp::other_messages_are_not_meant
pub fn decode_packet_too_big(bytes: &[u8]) -> Result<PacketTooBig, DecodeError> {
    let is_ipv6 = bytes.first().is_some_and(|first| first >> 4 == 6);
    let number = if is_ipv6 { IpNumber::IPV6_ICMP } else { IpNumber::ICMP };
    let Ip { src, dst, content, .. } = read_any_ip(bytes, number)?;
    let len = u16::try_from(content.len()).map_err(|_| DecodeError::Ip)?;
    // Only ICMPv6's checksum includes a pseudo-header (RFC 4443 §2.3).
    let pseudo = if is_ipv6 { addresses_sum(src, dst) + pseudo_sum(number.0, len) } else { 0 };
    let (header, quoted) = content.split_first_chunk().ok_or(DecodeError::Icmp)?;
    if fold(pseudo + swapped_sum(content)) != 0xffff {
        return Err(DecodeError::Checksum);
    }
    let [kind, code, _, _, m0, m1, m2, m3] = *header;
    // ICMPv4 has 16 bits for the size. The code of an ICMPv6 message has no meaning.
    let mtu = match is_ipv6 {
        true if kind == PACKET_TOO_BIG => u32::from_be_bytes([m0, m1, m2, m3]),
        false if [kind, code] == FRAGMENTATION_NEEDED => u32::from(u16::from_be_bytes([m2, m3])),
        _ => return Err(DecodeError::OtherMessage),
    };
    let quote = if is_ipv6 { read_ipv6_quote(quoted) } else { read_ipv4_quote(quoted) };
    let Quote { local, remote, sequence } = quote.ok_or(DecodeError::Quote)?;
    // Routers send the message to the source of the packet, so any other quote is forged.
    if local.ip() != dst {
        return Err(DecodeError::Quote);
    }
    Ok(PacketTooBig { local, remote, sequence, mtu })
}

/// The fields of the quoted segment that identify it.
struct Quote {
    local: SocketAddr,
    remote: SocketAddr,
    sequence: u32,
}

/// Reads a quoted IPv4 packet; `None` unless it is TCP, and whole or a first fragment.
fn read_ipv4_quote(bytes: &[u8]) -> Option<Quote> {
    let words = bytes.as_chunks().0.first_chunk()?;
    let [[version, _, _, _], [_, _, f0, f1], [_, protocol, _, _], src, dst] = *words;
    let header_len = usize::from(version & 0xf) * 4;
    let is_first = (f0 & 0x1f) | f1 == 0;
    let is_tcp = version >> 4 == 4 && header_len >= IPV4_BYTES && is_first && protocol == PROTOCOL_TCP;
    let tcp = bytes.get(header_len..).filter(|_| is_tcp)?;
    read_tcp_quote(Ipv4Addr::from_octets(src).into(), Ipv4Addr::from_octets(dst).into(), tcp)
}

/// Reads a quoted IPv6 packet; `None` unless TCP follows the IPv6 header without extensions, as in all our packets.
fn read_ipv6_quote(bytes: &[u8]) -> Option<Quote> {
    let (header, tcp) = bytes.split_first_chunk::<IPV6_BYTES>()?;
    let ([version, _, _, _, _, _, next_header, _], addresses) = header.split_first_chunk()?;
    let (src, dst) = addresses.split_first_chunk::<16>()?;
    let is_tcp = version >> 4 == 6 && *next_header == PROTOCOL_TCP;
    let dst = dst.first_chunk::<16>().filter(|_| is_tcp)?;
    read_tcp_quote(Ipv6Addr::from_octets(*src).into(), Ipv6Addr::from_octets(*dst).into(), tcp)
}

/// Reads the first eight bytes of a quoted TCP header.
fn read_tcp_quote(src: IpAddr, dst: IpAddr, tcp: &[u8]) -> Option<Quote> {
    let [s0, s1, d0, d1, q0, q1, q2, q3] = *tcp.first_chunk()?;
    Some(Quote {
        local: SocketAddr::new(src, u16::from_be_bytes([s0, s1])),
        remote: SocketAddr::new(dst, u16::from_be_bytes([d0, d1])),
        sequence: u32::from_be_bytes([q0, q1, q2, q3]),
    })
}
