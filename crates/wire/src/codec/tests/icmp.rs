//! Tests of messages about packets that were too large. The bytes and their checksums were computed by a program in
//! another language.

use super::super::{DecodeError, decode, decode_packet_too_big};
use crate::PacketTooBig;
use crate::checksum::{fold, swapped_sum};
use proptest::prelude::*;

/// The router 203.0.113.1 tells 192.0.2.10 that the next link takes 1400 bytes. It quotes 28 bytes, as RFC 792
/// requires.
const V4: &str = "45c0 0038 1234 0000 f801 b1c4 cb007101 c000020a \
                  03 04 df4f 0000 0578 \
                  4500 05dc 0000 4000 3906 4fd7 c000020a c6336407 \
                  c000 01bb 1a2b3c4d";
/// The same message from a router older than RFC 1191, which does not name the size.
const V4_OLD: &str = "45c0 0038 1234 0000 f801 b1c4 cb007101 c000020a \
                      03 04 e4c7 0000 0000 \
                      4500 05dc 0000 4000 3906 4fd7 c000020a c6336407 \
                      c000 01bb 1a2b3c4d";
/// The router 2001:db8:1::1 tells 2001:db8::10 that the next link takes 1280 bytes. It quotes the whole header and six
/// bytes of data.
const V6: &str = "60000000 004a 3a 3f 20010db8000100000000000000000001 20010db8000000000000000000000010 \
                  02 00 4b70 00000500 \
                  60000000 05b4 06 3c 20010db8000000000000000000000010 20010db8ffff00000000000000000007 \
                  c001 01bb fffffff0 00000007 5010 01f5 abcd 0000 474554202f20";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    digits.chunks(2).map(byte).collect()
}

/// The bytes with these changes and a corrected checksum of the message.
fn changed(hex: &str, changes: &[(usize, u8)]) -> Vec<u8> {
    let mut packet = bytes(hex);
    let start = if packet[0] >> 4 == 6 { 40 } else { 20 };
    let at = start + 2;
    let before = u64::from(fold(swapped_sum(&packet[start..])));
    changes.iter().for_each(|(at, value)| packet[*at] = *value);
    packet[at..at + 2].fill(0);
    let sum = before + u64::from(!fold(swapped_sum(&packet[start..])));
    packet[at..at + 2].copy_from_slice(&fold(sum).to_le_bytes());
    packet
}

fn error(packet: &[u8]) -> DecodeError {
    decode_packet_too_big(packet).expect_err("it is no message")
}

#[test]
fn a_router_names_the_size() {
    let address = |text: &str| text.parse().expect("a socket address");
    let expected = PacketTooBig {
        local: address("192.0.2.10:49152"),
        remote: address("198.51.100.7:443"),
        sequence: 0x1a2b_3c4d,
        mtu: 1400,
    };
    assert_eq!(decode_packet_too_big(&bytes(V4)), Ok(expected));
    assert_eq!(decode_packet_too_big(&bytes(V4_OLD)), Ok(PacketTooBig { mtu: 0, ..expected }));
    let expected = PacketTooBig {
        local: address("[2001:db8::10]:49153"),
        remote: address("[2001:db8:ffff::7]:443"),
        sequence: 0xffff_fff0,
        mtu: 1280,
    };
    assert_eq!(decode_packet_too_big(&bytes(V6)), Ok(expected));
    for message in [V4, V4_OLD, V6] {
        assert_eq!(decode(&bytes(message)), Err(DecodeError::Protocol), "it is no segment");
        // Ethernet pads short packets.
        assert_eq!(
            decode_packet_too_big(&[bytes(message), vec![0; 7]].concat()),
            decode_packet_too_big(&bytes(message))
        );
    }
}

/// Quoted IPv4 options, and a time to live of 0, do not matter.
#[test]
fn a_quoted_header_may_be_longer() {
    let mut packet = bytes(V4);
    packet[28] = 0x46;
    packet.splice(48..48, [1, 1, 1, 0]);
    packet[3] += 4;
    packet[10..12].fill(0);
    let sum = !fold(swapped_sum(&packet[..20]));
    packet[10..12].copy_from_slice(&sum.to_le_bytes());
    packet[22..24].fill(0);
    let sum = !fold(swapped_sum(&packet[20..]));
    packet[22..24].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(decode_packet_too_big(&packet), decode_packet_too_big(&bytes(V4)));
}

/// The code of an IPv6 message has no meaning (RFC 4443 §3.2). Other messages are ignored, among them source quench
/// (type 4).
#[test]
fn other_messages_are_not_meant() {
    assert_eq!(error(&changed(V4, &[(20, 11)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V4, &[(20, 4)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V4, &[(20, 4), (21, 0)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V4, &[(21, 1)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V4, &[(20, 2), (21, 0)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V6, &[(40, 3)])), DecodeError::OtherMessage);
    assert_eq!(error(&changed(V6, &[(40, 3), (41, 4)])), DecodeError::OtherMessage);
    assert_eq!(decode_packet_too_big(&changed(V6, &[(41, 9)])), decode_packet_too_big(&bytes(V6)));
}

#[test]
fn what_quotes_no_segment_of_the_receiver_is_an_error() {
    // UDP, another version, a header that is too short, a later fragment, a packet from another host.
    for change in [(28 + 9, 17), (28, 0x65), (28, 0x44), (28 + 7, 1), (28 + 15, 11)] {
        assert_eq!(error(&changed(V4, &[change])), DecodeError::Quote, "{change:?}");
    }
    for change in [(48 + 6, 17), (48 + 6, 0), (48, 0x45), (48 + 23, 11)] {
        assert_eq!(error(&changed(V6, &[change])), DecodeError::Quote, "{change:?}");
    }
}

#[test]
fn what_is_no_message_is_an_error() {
    let segment =
        bytes("4500 0028 0000 4000 4006 24ce 0a000101 0a000102 03e8 0050 00000001 00000002 5018 0003 0000 0000");
    assert_eq!(error(&segment), DecodeError::Protocol);
    assert_eq!(error(&[]), DecodeError::Ip);
    assert_eq!(error(&bytes(V4)[..55]), DecodeError::Ip, "cut off");
    assert_eq!(error(&bytes(V6)[..113]), DecodeError::Ip);
    let mut wrong = bytes(V4);
    wrong[30] ^= 1;
    assert_eq!(error(&wrong), DecodeError::Checksum);
    let mut wrong = bytes(V6);
    // The sender's address is part of the pseudo-header.
    wrong[20] ^= 1;
    assert_eq!(error(&wrong), DecodeError::Checksum);
    let mut fragment = bytes(V4);
    (fragment[6], fragment[10]) = (0x20, fragment[10] - 0x20);
    assert_eq!(error(&fragment), DecodeError::Fragment);
    // ICMPv6 in IPv4, and ICMPv4 in IPv6.
    let mut other = bytes(V4);
    (other[9], other[11]) = (58, other[11] - 57);
    assert_eq!(error(&other), DecodeError::Protocol);
    let mut other = bytes(V6);
    other[6] = 1;
    assert_eq!(error(&other), DecodeError::Protocol);
}

/// A message that is cut off is an error at every length.
#[test]
fn a_message_that_ends_too_early_is_an_error() {
    let whole = bytes(V4);
    for len in 20..56 {
        let mut packet = whole[..len].to_vec();
        packet[3] = len as u8;
        packet[10..12].fill(0);
        let sum = !fold(swapped_sum(&packet[..20]));
        packet[10..12].copy_from_slice(&sum.to_le_bytes());
        if len >= 24 {
            packet[22..24].fill(0);
            let sum = !fold(swapped_sum(&packet[20..]));
            packet[22..24].copy_from_slice(&sum.to_le_bytes());
        }
        let expected = if len < 28 { DecodeError::Icmp } else { DecodeError::Quote };
        assert_eq!(error(&packet), expected, "{len} bytes");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        prop_assert!(decode_packet_too_big(&bytes).is_err());
    }

    /// A change of any bit is noticed: in all of an IPv4 packet, and in an IPv6 packet's addresses, length, protocol
    /// and content.
    #[test]
    fn a_changed_bit_is_noticed(which in 0..3usize, at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut packet = bytes([V4, V4_OLD, V6][which]);
        let at = at.index(packet.len());
        packet[at] ^= 1 << bit;
        if which < 2 || at >= 8 {
            prop_assert!(decode_packet_too_big(&packet).is_err());
        }
    }
}
