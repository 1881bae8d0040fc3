//! Segments become bytes and are read back without an allocation, except for the list of rare options.

use pathweave_alloc_check::{Counting, allocations};
use pathweave_wire::codec::{decode, encode};
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
use pathweave_wire::{Ecn, Flags, Payload, SackBlock, Segment, Timestamps};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn data_segment(real: bool) -> Segment {
    let address = |s: &str| s.parse().expect("a socket address");
    let mut segment = Segment::new(address("10.0.1.1:49152"), address("10.0.1.2:5001"));
    segment.flags = Flags::ACK;
    segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    segment.options.sack.push(SackBlock { left: 3, right: 4 });
    let mapping = Mapping { dsn: DataNumber::Short(5), ssn: 6, len: 1380, checksum: None };
    segment.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
    segment.payload = match real {
        true => Payload::Bytes(vec![7; 1380].into()),
        false => Payload::Virtual { start: 8, len: 1380 },
    };
    segment
}

#[test]
fn a_segment_through_bytes() {
    let segments = [data_segment(true), data_segment(false)];
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
