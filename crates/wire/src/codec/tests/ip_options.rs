//! Tests of packets with options in the IP header.

use super::*;

/// "When received options are passed up to TCP from the IP layer, a TCP implementation MUST ignore options that it does
/// not understand" (RFC 9293 §3.9.2).
#[test]
fn options_of_the_ip_header_are_passed_over() {
    let mut plain = Vec::new();
    let segment = hello("10.0.1.1:1000", "10.0.1.2:80");
    encode(&segment, Ecn::NotEct, &mut plain).expect("it has a form");
    // Record route, a timestamp, a source route, an unknown option.
    for option in
        [[7, 7, 4, 0, 0, 0, 0, 0], [68, 8, 5, 0, 0, 0, 0, 0], [131, 7, 8, 1, 2, 3, 4, 0], [222, 8, 1, 2, 3, 4, 5, 6]]
    {
        let mut bytes = [&plain[..20], &option, &plain[20..]].concat();
        bytes[0] = 0x47;
        bytes[3] += 8;
        bytes[10..12].fill(0);
        let sum = !crate::checksum::fold(crate::checksum::swapped_sum(&bytes[..28]));
        bytes[10..12].copy_from_slice(&sum.to_le_bytes());
        let read = decode(&bytes).expect("it holds a segment");
        assert_eq!(
            (read.segment, read.payload),
            (Segment { payload: Payload::EMPTY, ..segment.clone() }, &b"hello world"[..]),
            "{option:?}"
        );
    }
}
