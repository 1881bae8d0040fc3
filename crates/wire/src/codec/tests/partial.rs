//! Tests of checksums that a device completes, or has verified.

use super::super::arbitrary::{ecn, segment};
use super::super::{
    DecodeError, EncodeError, MAX_HEADER_BYTES, PartialHeader, decode_into, decode_unverified_into, encode,
    encode_header_partial,
};
use super::hello;
use crate::{Ecn, Payload, Segment};
use bytes::Bytes;
use proptest::prelude::*;

/// The packet as a device gets it, with a partial checksum.
fn partial(segment: &Segment, ecn: Ecn) -> (Vec<u8>, PartialHeader) {
    let mut header = [0; MAX_HEADER_BYTES];
    let partial = encode_header_partial(segment, ecn, &mut header).expect("it has a form");
    ([&header[..partial.len], &segment.payload.to_vec()].concat(), partial)
}

/// Completes the checksum as a device does: adds up the big-endian words from `csum_start` to the end.
fn complete(packet: &mut [u8], partial: PartialHeader) {
    let (start, offset) = (usize::from(partial.csum_start), usize::from(partial.csum_offset));
    let mut sum = 0u32;
    for word in packet[start..].chunks(2) {
        sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[start + offset..start + offset + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The expected sums were computed by a program in another language.
#[test]
fn the_field_holds_the_sum_of_the_pseudo_header() {
    let (packet, header) = partial(&hello("10.0.1.1:1000", "10.0.1.2:80"), Ecn::Ect0);
    assert_eq!(header, PartialHeader { len: 40, csum_start: 20, csum_offset: 16 });
    // 0a00 + 0101 + 0a00 + 0102 + 0006 + 001f
    assert_eq!(packet[36..38], [0x16, 0x28]);
    let (packet, header) = partial(&hello("[2001:db8::1]:1000", "[2001:db8::2]:80"), Ecn::Ce);
    assert_eq!(header, PartialHeader { len: 60, csum_start: 40, csum_offset: 16 });
    // 2 * (2001 + 0db8) + 0001 + 0002 + 0006 + 001f
    assert_eq!(packet[56..58], [0x5b, 0x9a]);
}

#[test]
fn a_super_segments_sum_has_its_whole_length() {
    let mut segment = hello("10.0.1.1:1000", "10.0.1.2:80");
    segment.payload = Payload::Bytes(vec![3; 60_000].into());
    segment.segment_size = Some(1448);
    let (mut packet, header) = partial(&segment, Ecn::NotEct);
    complete(&mut packet, header);
    let mut expected = Vec::new();
    encode(&segment, Ecn::NotEct, &mut expected).expect("it has a form");
    assert_eq!(packet, expected);
}

#[test]
fn what_has_no_form_has_no_partial_one() {
    let mut header = [0; MAX_HEADER_BYTES];
    let mut long = hello("10.0.1.1:1000", "10.0.1.2:80");
    long.payload = Payload::Virtual { start: 0, len: 65_496 };
    assert_eq!(encode_header_partial(&long, Ecn::NotEct, &mut header), Err(EncodeError::Payload { len: 65_496 }));
    let mixed = hello("10.0.1.1:1", "[2001:db8::2]:2");
    assert_eq!(encode_header_partial(&mixed, Ecn::NotEct, &mut header), Err(EncodeError::Addresses));
}

/// Only the TCP checksum is left unverified.
#[test]
fn headers_are_checked_all_the_same() {
    let (good, _) = partial(&hello("10.0.1.1:1", "10.0.1.2:2"), Ecn::NotEct);
    let read = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        decode_unverified_into(&Bytes::from(packet), 0..good.len(), &mut Segment::default())
    };
    assert_eq!(read(8, 63), Err(DecodeError::Checksum), "the IPv4 header's");
    assert_eq!(read(9, 17), Err(DecodeError::Protocol));
    assert_eq!(read(32, 0x40), Err(DecodeError::Tcp));
    assert_eq!(read(32, 0xf0), Err(DecodeError::Tcp));
    assert_eq!(read(36, 0xff), Ok(Ecn::NotEct));
}

proptest! {
    #[test]
    fn completed_it_is_the_packet(segment in segment(), ecn in ecn()) {
        let (mut packet, header) = partial(&segment, ecn);
        let mut expected = Vec::new();
        encode(&segment, ecn, &mut expected).expect("it has a form");
        complete(&mut packet, header);
        prop_assert_eq!(&packet, &expected);
    }

    /// A packet with a partial checksum is read like one with a complete checksum, but only without verification.
    #[test]
    fn it_is_read_without_verification(segment in segment(), ecn in ecn(), before in 0usize..9) {
        let (packet, _) = partial(&segment, ecn);
        let place = before..before + packet.len();
        let memory = Bytes::from([vec![1; before], packet].concat());
        let (mut unverified, mut whole) = (Segment::default(), Segment::default());
        prop_assert_eq!(decode_unverified_into(&memory, place.clone(), &mut unverified), Ok(ecn));
        let mut complete = Vec::new();
        encode(&segment, ecn, &mut complete).expect("it has a form");
        if complete != memory[place.clone()] {
            prop_assert_eq!(decode_into(&memory, place, &mut whole), Err(DecodeError::Checksum));
        }
        let len = complete.len();
        prop_assert_eq!(decode_into(&complete.into(), 0..len, &mut whole), Ok(ecn));
        prop_assert_eq!(unverified, whole);
    }
}
