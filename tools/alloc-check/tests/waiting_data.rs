//! How much memory waiting data takes, whatever a peer sends: at most a few times the window that was offered,
//! including the blocks that its packets lie in.

use bytes::Bytes;
use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_alloc_check::{Counting, allocated_bytes};
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer, TcpConfig};
use pathweave_proto::{Endpoint, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::{Ecn, Flags, Payload, Segment};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WINDOW: u64 = 256 << 10;
/// What the device reads packets into, as with receive offload.
const BLOCK: usize = 64 << 10;
/// Twice the window and 64 KiB are charged; what is not charged is small. Lists grow by doubling.
const MOST: i64 = 5 * WINDOW as i64;

/// A server whose reader has stalled, and the next segment of its peer.
fn stalled() -> (Endpoint, Segment) {
    let registry = Registry::builtin();
    let config = ConnectionConfig {
        mptcp: false,
        receive_buffer: ReceiveBuffer::Fixed(WINDOW),
        tcp: TcpConfig { packet_memory: BLOCK as u32, ..TcpConfig::default() },
        ..ConnectionConfig::new(
            registry.choose_scheduler("minrtt", &[]).expect("it is built in"),
            registry.choose_controller("reno", &[]).expect("it is built in"),
        )
    };
    let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
    let (client, server) = (address("10.0.0.1:5000"), address("10.0.0.2:80"));
    let mut endpoint = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
    endpoint.listen_and_accept(server, config, &[]).expect("nobody listens");
    let mut segment = Segment::new(client, server);
    (segment.flags, segment.window, segment.options.window_scale) = (Flags::SYN, 65_535, Some(7));
    endpoint.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
    let answer = endpoint.poll_transmit(Instant::ZERO, 1).expect("a SYN/ACK").segment;
    segment.options = Default::default();
    (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
    endpoint.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
    assert!(endpoint.poll_accept().is_some());
    (endpoint, segment)
}

/// How much the endpoint keeps when segments of this many bytes have come, with or without gaps between them, each in a
/// block of its own or next to each other.
#[track_caller]
fn stays_bounded(len: usize, gap: u32, alone: bool) {
    let (mut endpoint, mut segment) = stalled();
    let before = allocated_bytes();
    segment.seq = segment.seq.wrapping_add(gap);
    let (mut block, mut used, mut sent) = (Bytes::new(), BLOCK, 0);
    while sent < WINDOW - 2 * len as u64 {
        if alone || used + len > BLOCK {
            (block, used) = (Bytes::from(vec![7; BLOCK]), 0);
        }
        segment.payload = Payload::Bytes(block.slice(used..used + len));
        used += len;
        endpoint.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
        while endpoint.poll_transmit(Instant::ZERO, 1).is_some() {}
        segment.seq = segment.seq.wrapping_add(len as u32 + gap);
        sent += len as u64 + u64::from(gap);
    }
    drop((segment, block));
    let taken = allocated_bytes() - before;
    println!("{len} bytes, gaps of {gap}, alone: {alone}: {taken} bytes of memory");
    assert!(taken < MOST, "{len} bytes, gaps of {gap}, alone: {alone}: {taken} bytes behind a window of {WINDOW}");
}

#[test]
fn segments_of_one_byte() {
    for alone in [false, true] {
        stays_bounded(1, 0, alone);
        stays_bounded(1, 1, alone);
    }
}

#[test]
fn segments_of_which_each_keeps_a_block_alive() {
    for len in [255, 256, 600, 1448] {
        stays_bounded(len, 0, true);
        stays_bounded(len, 1, true);
    }
}

/// Data that fills its blocks is shared: nothing that an honest peer sends is copied.
#[test]
fn full_segments_are_shared() {
    stays_bounded(1448, 0, false);
}
