//! Real bytes from one end to the other: where the engine keeps lists of pieces, it reuses them.

use pathweave_alloc_check::{Counting, allocations};
use pathweave_benches::{Transfer, TransferSetup};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Once all buffers have their final size, the device allocates once or twice for each batch of about a hundred
/// segments, and nothing is allocated for a segment.
#[track_caller]
fn nothing_per_segment(what: &str, setup: TransferSetup) {
    Transfer::new(TransferSetup { compares: true, ..setup }).run_until_received(5_000_000);
    let mut transfer = Transfer::new(setup);
    transfer.run_until_received(20_000_000);
    let before = (allocations(), transfer.segments_and_packets());
    transfer.run_until_received(60_000_000);
    let (segments, packets) = transfer.segments_and_packets();
    let (allocations, segments, packets) = (allocations() - before.0, segments - before.1.0, packets - before.1.1);
    println!("{what}: {allocations} allocations, {segments} segments in {packets} packets");
    assert!(segments > 20_000, "{what}: only {segments} segments");
    assert!(allocations * 50 < segments, "{what}: {allocations} allocations, {segments} segments");
}

#[test]
fn one_by_one() {
    nothing_per_segment("one by one", TransferSetup::one_by_one());
    nothing_per_segment("with checksums", TransferSetup { checksums: true, ..TransferSetup::one_by_one() });
}

/// Nearly every segment spans two pieces or more.
#[test]
fn segments_that_span_several_writes() {
    for write_bytes in [1000, 5000] {
        for setup in [TransferSetup::one_by_one(), TransferSetup::several_as_one()] {
            nothing_per_segment(&format!("pieces of {write_bytes}"), TransferSetup { write_bytes, ..setup });
        }
        let checksums = TransferSetup { checksums: true, write_bytes, ..TransferSetup::one_by_one() };
        nothing_per_segment(&format!("pieces of {write_bytes} with checksums"), checksums);
    }
}

/// A network card that cuts segments repeats one mapping in each.
#[test]
fn one_mapping_in_many_segments() {
    let setup = TransferSetup { cuts: true, ..TransferSetup::several_as_one() };
    nothing_per_segment("cut by the device", setup);
    nothing_per_segment("cut, of small pieces", TransferSetup { write_bytes: 5000, ..setup });
}
