//! Segments become bytes and are read back without an allocation, except for the list of rare options.

use pathweave_alloc_check::{Counting, allocations};
use pathweave_wire::codec::{decode, encode};
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
use pathweave_wire::{Ecn, Flags, Payload, SackBlock, Segment, Timestamps};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn data_segment(payload: Payload) -> Segment {
    let address = |s: &str| s.parse().expect("a socket address");
    let mut segment = Segment::new(address("10.0.1.1:49152"), address("10.0.1.2:5001"));
    segment.flags = Flags::ACK;
    segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    segment.options.sack.push(SackBlock { left: 3, right: 4 });
    let mapping = Mapping { dsn: DataNumber::Short(5), ssn: 6, len: 1380, checksum: None };
    segment.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
    segment.payload = payload;
    segment
}

/// 1380 bytes in each form that data has.
fn payloads() -> [Payload; 3] {
    let bytes = Payload::Bytes(vec![7; 1380].into());
    let mut chunks = bytes.slice(0, 1001);
    assert!(chunks.try_append(&bytes.slice(1001, 379)));
    [bytes, chunks, Payload::Virtual { start: 8, len: 1380 }]
}

#[test]
fn a_segment_through_bytes() {
    let segments = payloads().map(data_segment);
    let mut buffer = Vec::with_capacity(2000);
    let before = allocations();
    for _ in 0..1000 {
        for segment in &segments {
            encode(segment, Ecn::Ect0, &mut buffer).expect("it has a form");
            let packet = decode(&buffer).expect("it is a packet");
            assert_eq!(packet.segment.options, segment.options);
            assert_eq!(packet.payload.len(), 1380);
        }
    }
    assert_eq!(allocations() - before, 0);
}

#[test]
fn a_part_of_data_shares_it() {
    for payload in payloads() {
        let before = allocations();
        for offset in 0..1000 {
            assert_eq!(payload.slice(offset, 380).slice(5, 300).clone().len(), 300);
        }
        assert_eq!(allocations() - before, 0, "{payload:?}");
    }
}
