//! Reads and writes IP and TCP headers. IPv4 headers without options are read here; etherparse reads all other IP
//! headers, because it knows their many ways to be wrong.

use super::options::read_options;
use super::{DecodeError, EncodeError, encode_options};
use crate::checksum::{fold, swapped_sum, swapped_sum_of_words};
use crate::{Ecn, Flags, MAX_OPTION_BYTES, Payload, Segment};
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::Range;
use etherparse::{IpNumber, IpSlice};

/// The longest headers: IPv6 40, TCP 20, options 40 bytes.
pub const MAX_HEADER_BYTES: usize = 100;

/// No IP packet has more data than this, bytes.
const MAX_PAYLOAD_BYTES: usize = 65_535;
/// The bytes of virtual payloads.
static ZEROS: [u8; MAX_PAYLOAD_BYTES] = [0; MAX_PAYLOAD_BYTES];
/// RFC 1700's default time to live, which Linux has too.
const HOP_LIMIT: u8 = 64;
pub(super) const PROTOCOL_TCP: u8 = 6;
/// Lengths of headers without options, bytes.
pub(super) const IPV4_BYTES: usize = 20;
pub(super) const IPV6_BYTES: usize = 40;
const TCP_BYTES: usize = 20;
/// Offset of the checksum in a TCP header, bytes.
const CHECKSUM_OFFSET: u16 = 16;
/// The first octet of an IPv4 header without options: version 4, length 5 words.
const PLAIN_IPV4: u8 = 0x45;

/// A decoded packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<'a> {
    /// Addresses, header and options, with an empty payload.
    pub segment: Segment,
    /// The IP header's ECN codepoint.
    pub ecn: Ecn,
    /// The data.
    pub payload: &'a [u8],
}

/// The payload's bytes; zeros for a virtual payload.
fn slices_of(payload: &Payload) -> Result<impl Iterator<Item = &[u8]>, EncodeError> {
    let zeros = match payload {
        Payload::Virtual { len, .. } => Some(ZEROS.get(..*len as usize).ok_or(EncodeError::Payload { len: *len })?),
        _ => None,
    };
    Ok(zeros.into_iter().chain(payload.slices()))
}

/// The payload's part of a checksum; 0 for a virtual payload, whose bytes are zeros.
fn payload_sum(payload: &Payload) -> u64 {
    match payload {
        Payload::Virtual { .. } => 0,
        Payload::Bytes(bytes) => swapped_sum(bytes),
        Payload::Chunks(chunks) => {
            let (mut sum, mut at) = (0, 0);
            for slice in chunks.slices() {
                let part = fold(swapped_sum(slice));
                // After an odd number of bytes, each byte falls into the other half of its word (RFC 1071 §2 B).
                sum += u64::from(if at % 2 == 1 { part.swap_bytes() } else { part });
                at += slice.len();
            }
            sum
        }
    }
}

/// Replaces the content of `out` by a segment's IP packet. A virtual payload becomes zeros.
///
/// A super-segment becomes one packet of up to 64 KiB. Its [`Segment::segment_size`] is not part of the packet: the
/// caller tells it to the device that splits the packet.
///
/// # Errors
/// If options or data are too long, or if the addresses are of different IP versions.
pub fn encode(segment: &Segment, ecn: Ecn, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut header = [0; MAX_HEADER_BYTES];
    let len = encode_header(segment, ecn, &mut header)?;
    out.clear();
    out.extend_from_slice(&header[..len]);
    slices_of(&segment.payload)?.for_each(|slice| out.extend_from_slice(slice));
    Ok(())
}

/// Writes a segment's IP and TCP headers with complete checksums, and returns their length together.
///
/// # Errors
/// As for [`encode`].
pub fn encode_header(segment: &Segment, ecn: Ecn, out: &mut [u8; MAX_HEADER_BYTES]) -> Result<usize, EncodeError> {
    let (ip_len, tcp_len) = write_header::<true>(segment, ecn, out)?;
    Ok(ip_len + tcp_len)
}

/// Like [`encode_header`], for devices that complete the TCP checksum: the data is not read, and the checksum's field
/// holds the folded sum of the pseudo-header alone. The IPv4 header's checksum is complete.
///
/// The pseudo-header of a super-segment has the length of all its data, as virtio-net and Linux's TUN devices expect.
/// The device that splits the super-segment corrects it.
///
/// # Errors
/// As for [`encode`].
pub fn encode_header_partial(
    segment: &Segment,
    ecn: Ecn,
    out: &mut [u8; MAX_HEADER_BYTES],
) -> Result<PartialHeader, EncodeError> {
    let (ip_len, tcp_len) = write_header::<false>(segment, ecn, out)?;
    Ok(PartialHeader { len: ip_len + tcp_len, csum_start: ip_len as u16, csum_offset: CHECKSUM_OFFSET })
}

/// Where a device finds the headers whose TCP checksum it completes: the fields that go with
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM` of virtio 1.2 §5.1.6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialHeader {
    /// Length of the headers, bytes.
    pub len: usize,
    /// Offset of the TCP header from the start of the packet, bytes: the device sums from there to the packet's end.
    pub csum_start: u16,
    /// Offset from `csum_start` at which the device writes the checksum, bytes.
    pub csum_offset: u16,
}

/// Writes both headers and returns the length of each. The checksum's field holds the TCP checksum if `COMPLETE` is
/// true, otherwise the pseudo-header's sum.
#[inline(always)]
fn write_header<const COMPLETE: bool>(
    segment: &Segment,
    ecn: Ecn,
    out: &mut [u8; MAX_HEADER_BYTES],
) -> Result<(usize, usize), EncodeError> {
    let payload_len = segment.payload.len();
    let too_long = EncodeError::Payload { len: payload_len };
    let addresses = (segment.src.ip(), segment.dst.ip());
    let ip_len = match addresses {
        (IpAddr::V4(_), IpAddr::V4(_)) => IPV4_BYTES,
        (IpAddr::V6(_), IpAddr::V6(_)) => IPV6_BYTES,
        _ => return Err(EncodeError::Addresses),
    };
    let (ip, tcp) = out.split_at_mut(ip_len);
    // The rest of the option space stays zero, which adds nothing to a sum. So the whole space is summed and copied
    // without looking at the length.
    let mut options = [0; MAX_OPTION_BYTES];
    let options_len = encode_options(&segment.options, &mut options)?;
    let header_len = TCP_BYTES + options_len;
    let tcp_len = u16::try_from(header_len + payload_len as usize).map_err(|_| too_long)?;
    // RFC 9293 §3.1: the pseudo-header has the addresses, the protocol and the length.
    let mut sum = pseudo_sum(PROTOCOL_TCP, tcp_len);
    match addresses {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let [l0, l1] = tcp_len.checked_add(IPV4_BYTES as u16).ok_or(too_long)?.to_be_bytes();
            let mut words = [
                [PLAIN_IPV4, ecn as u8, l0, l1],
                // "Don't fragment" is set, so the identification need not be unique (RFC 6864 §4).
                [0, 0, 0x40, 0],
                [HOP_LIMIT, PROTOCOL_TCP, 0, 0],
                src.octets(),
                dst.octets(),
            ];
            sum += swapped_sum_of_words(&words[3..]);
            let [c0, c1] = (!fold(swapped_sum_of_words(&words))).to_le_bytes();
            words[2] = [HOP_LIMIT, PROTOCOL_TCP, c0, c1];
            ip.copy_from_slice(words.as_flattened());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let [l0, l1] = tcp_len.to_be_bytes();
            // Version 6, the ECN bits at the end of the traffic class, no flow label.
            ip[..8].copy_from_slice(&[0x60, (ecn as u8) << 4, 0, 0, l0, l1, PROTOCOL_TCP, HOP_LIMIT]);
            ip[8..24].copy_from_slice(&src.octets());
            ip[24..].copy_from_slice(&dst.octets());
            sum += swapped_sum(&ip[8..]);
        }
        _ => return Err(EncodeError::Addresses),
    }
    let ([s0, s1], [d0, d1]) = (segment.src.port().to_be_bytes(), segment.dst.port().to_be_bytes());
    let [w0, w1] = segment.window.to_be_bytes();
    let mut words = [
        [s0, s1, d0, d1],
        segment.seq.to_be_bytes(),
        segment.ack.to_be_bytes(),
        [(header_len / 4) as u8 * 16, segment.flags.bits(), w0, w1],
        [0; 4],
    ];
    //= RFC 9293 §3.1 (MUST-2): "The sender MUST generate it"
    //= tests: codec::whole_packets
    let [c0, c1] = if COMPLETE {
        sum += swapped_sum_of_words(&words) + swapped_sum_of_words(options.as_chunks().0);
        !fold(sum + payload_sum(&segment.payload))
    } else {
        fold(sum)
    }
    .to_le_bytes();
    words[4] = [c0, c1, 0, 0];
    tcp[..TCP_BYTES].copy_from_slice(words.as_flattened());
    tcp[TCP_BYTES..TCP_BYTES + MAX_OPTION_BYTES].copy_from_slice(&options);
    Ok((ip_len, header_len))
}

/// The addresses' part of a checksum.
pub(super) fn addresses_sum(src: IpAddr, dst: IpAddr) -> u64 {
    let sum = |address| match address {
        IpAddr::V4(address) => swapped_sum_of_words(&[address.octets()]),
        IpAddr::V6(address) => swapped_sum(&address.octets()),
    };
    sum(src) + sum(dst)
}

/// The part of a checksum that the pseudo-header adds apart from its addresses: protocol and length.
pub(super) fn pseudo_sum(protocol: u8, len: u16) -> u64 {
    swapped_sum_of_words(&[[0, protocol, 0, 0], u32::from(len).to_be_bytes()])
}

/// Reads an IPv4 or IPv6 packet that holds a TCP segment. Bytes after the packet are ignored, because Ethernet pads
/// short packets.
///
/// # Errors
/// If the bytes are not a TCP packet, or a checksum is wrong.
pub fn decode(bytes: &[u8]) -> Result<Packet<'_>, DecodeError> {
    let mut segment = Segment::default();
    let (ecn, payload) = read::<true>(bytes, &mut segment)?;
    Ok(Packet { segment, ecn, payload })
}

/// Reads the packet at the range `packet` of `memory` into `segment`, and returns its ECN codepoint.
///
/// Like [`decode`], but the data shares `memory`, which may hold many packets, and the previous content of `segment` is
/// replaced.
///
/// # Errors
/// As for [`decode`]; then the segment is unchanged.
///
/// # Panics
/// If the range `packet` exceeds the memory.
pub fn decode_into(memory: &Bytes, packet: Range<usize>, segment: &mut Segment) -> Result<Ecn, DecodeError> {
    let (ecn, payload) = read::<true>(&memory[packet], segment)?;
    share(memory, payload, segment);
    Ok(ecn)
}

/// Like [`decode_into`], but does not verify the TCP checksum. The IPv4 header's checksum is verified.
///
/// Only for packets that the device vouches for: it has verified the checksum (`VIRTIO_NET_HDR_F_DATA_VALID`), or the
/// packet comes from this machine and its checksum was never completed (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
///
/// # Errors
/// As for [`decode`]; then the segment is unchanged.
///
/// # Panics
/// If the range `packet` exceeds the memory.
pub fn decode_unverified_into(memory: &Bytes, packet: Range<usize>, segment: &mut Segment) -> Result<Ecn, DecodeError> {
    let (ecn, payload) = read::<false>(&memory[packet], segment)?;
    share(memory, payload, segment);
    Ok(ecn)
}

/// Makes `payload`, which is a part of `memory`, the segment's data without copying it.
fn share(memory: &Bytes, payload: &[u8], segment: &mut Segment) {
    segment.payload = if payload.is_empty() { Payload::EMPTY } else { Payload::Bytes(memory.slice_ref(payload)) };
}

/// Reads everything but the data into `segment`; returns the ECN codepoint and the data. If `VERIFY` is true, the TCP
/// checksum must be right.
fn read<'a, const VERIFY: bool>(bytes: &'a [u8], segment: &mut Segment) -> Result<(Ecn, &'a [u8]), DecodeError> {
    let Ip { src, dst, ecn, content } = match read_plain_ipv4(bytes) {
        Some(ip) => ip,
        None => read_any_ip(bytes, IpNumber::TCP)?,
    };
    let words = content.as_chunks().0.first_chunk().ok_or(DecodeError::Tcp)?;
    let [[s0, s1, d0, d1], seq, ack, [offset, flags, w0, w1], _] = *words;
    let header_len = usize::from(offset >> 4) * 4;
    let (header, payload) = content.split_at_checked(header_len).ok_or(DecodeError::Tcp)?;
    let options = header.get(TCP_BYTES..).ok_or(DecodeError::Tcp)?;
    // Lengths have 16 bits; IPv6's jumbograms are not supported.
    let len = u16::try_from(content.len()).map_err(|_| DecodeError::Ip)?;
    //= RFC 9293 §3.1 (MUST-3): "the receiver MUST check it"
    //= tests: codec::a_changed_bit_is_noticed_or_is_outside_of_what_is_summed
    if VERIFY && fold(addresses_sum(src, dst) + pseudo_sum(PROTOCOL_TCP, len) + swapped_sum(content)) != 0xffff {
        return Err(DecodeError::Checksum);
    }
    segment.src = SocketAddr::new(src, u16::from_be_bytes([s0, s1]));
    segment.dst = SocketAddr::new(dst, u16::from_be_bytes([d0, d1]));
    segment.seq = u32::from_be_bytes(seq);
    segment.ack = u32::from_be_bytes(ack);
    segment.flags = Flags::from_bits(flags);
    segment.window = u16::from_be_bytes([w0, w1]);
    segment.segment_size = None;
    //= RFC 9293 §3.1 (MUST-5): "A TCP implementation MUST be able to receive a TCP Option in any segment"
    //= tests: codec::values_come_back
    read_options(options, &mut segment.options);
    Ok((ecn, payload))
}

/// The fields of an IP header that are used, and the packet's content.
#[derive(Debug, PartialEq)]
pub(super) struct Ip<'a> {
    pub(super) src: IpAddr,
    pub(super) dst: IpAddr,
    ecn: Ecn,
    pub(super) content: &'a [u8],
}

/// Reads a whole IPv4 packet without IP options that holds TCP, as nearly all packets do. `None` for any other packet,
/// or if anything is wrong; then [`read_any_ip`] finds out what.
pub(super) fn read_plain_ipv4(bytes: &[u8]) -> Option<Ip<'_>> {
    let words = bytes.as_chunks().0.first_chunk()?;
    let [[version, traffic_class, l0, l1], [_, _, f0, f1], [_, protocol, _, _], src, dst] = *words;
    let content = bytes.get(IPV4_BYTES..usize::from(u16::from_be_bytes([l0, l1])))?;
    // "More fragments" and the fragment's offset must be 0; "don't fragment" and the reserved bit do not matter.
    let is_whole = (f0 & 0x3f) | f1 == 0;
    let is_right = fold(swapped_sum_of_words(words)) == 0xffff;
    (version == PLAIN_IPV4 && protocol == PROTOCOL_TCP && is_whole && is_right).then_some(Ip {
        src: Ipv4Addr::from_octets(src).into(),
        dst: Ipv4Addr::from_octets(dst).into(),
        ecn: Ecn::from_traffic_class(traffic_class),
        content,
    })
}

/// Reads any IP header, with its options or extensions, whose content is of `protocol`.
pub(super) fn read_any_ip(bytes: &[u8], protocol: IpNumber) -> Result<Ip<'_>, DecodeError> {
    //= RFC 9293 §3.9.2 (MUST-50): "When received options are passed up to TCP from the IP layer, a TCP implementation MUST ignore
    //= options that it does not understand"
    //= tests: ip_options::options_of_the_ip_header_are_passed_over
    let ip = IpSlice::from_slice(bytes).map_err(|_| DecodeError::Ip)?;
    let content = ip.payload();
    if content.fragmented {
        return Err(DecodeError::Fragment);
    }
    if content.ip_number != protocol {
        return Err(DecodeError::Protocol);
    }
    let ecn = match &ip {
        IpSlice::Ipv4(ip) if fold(swapped_sum(ip.header().slice())) != 0xffff => return Err(DecodeError::Checksum),
        IpSlice::Ipv4(ip) => ip.header().ecn(),
        IpSlice::Ipv6(ip) => ip.header().ecn(),
    };
    Ok(Ip {
        src: ip.source_addr(),
        dst: ip.destination_addr(),
        ecn: Ecn::from_traffic_class(ecn.value()),
        content: content.payload,
    })
}
