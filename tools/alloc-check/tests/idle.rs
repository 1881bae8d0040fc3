//! What connections take of memory while nothing happens, at a server's end: when they are open, and when they only wait for old segments.

use core::net::{IpAddr, SocketAddr};
use pathweave_algorithms::Registry;
use pathweave_alloc_check::{Counting, allocated_bytes};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionHandle, Endpoint, EndpointLimits, Secrets};
use pathweave_units::Instant;
use pathweave_wire::mptcp::{CapableContent, CapableFlags, DataNumber, Dss, Key, MpCapable, MptcpOption};
use pathweave_wire::{Ecn, Flags, Payload, Segment, Timestamps};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CONNECTIONS: u32 = 5_000;
/// What an open connection may take, bytes: 100,000 in 400 MB.
const MOST_IDLE: i64 = 4_000;
/// The same of one that has sent something: the lists of what it sends stay for what it sends next.
const MOST_ANSWERED: i64 = 5_150;
/// What is left of one that waits for old segments, bytes.
const MOST_WAITING: i64 = 400;

fn server(mptcp: bool) -> Endpoint {
    let registry = Registry::builtin();
    let new = ConnectionConfig::new(
        registry.choose_scheduler("minrtt", &[]).expect("it is built in"),
        registry.choose_controller("reno", &[]).expect("it is built in"),
    );
    let config = ConnectionConfig { mptcp, ..new };
    let mut server = Endpoint::new(Secrets::new([5; 32]));
    server.set_limits(EndpointLimits { unclaimed: 1 << 20, ..EndpointLimits::default() });
    server.listen_and_accept(SocketAddr::from(([10, 0, 0, 2], 80)), config, &[]).expect("nobody listens");
    server
}

fn drain(server: &mut Endpoint, now: Instant) -> Vec<Segment> {
    let sent = core::iter::from_fn(|| server.poll_transmit(now, 1)).map(|t| t.segment).collect();
    while server.poll_event().is_some() {}
    sent
}

/// A client without a stack opens a connection with Multipath TCP, and sends a request that is read. Its next segment.
fn open(server: &mut Endpoint, now: Instant, number: u32) -> (ConnectionHandle, Segment) {
    let from = SocketAddr::new(IpAddr::from([10, 1, (number >> 8) as u8, number as u8]), 5000);
    let mut segment = Segment::new(from, SocketAddr::from(([10, 0, 0, 2], 80)));
    (segment.flags, segment.window, segment.options.window_scale) = (Flags::SYN, 65_535, Some(7));
    segment.options.timestamps = Some(Timestamps { value: 50, echo: 0 });
    segment.options.sack_permitted = true;
    let capable = |content| MptcpOption::Capable(MpCapable { flags: CapableFlags::default(), content });
    segment.options.mptcp.push(capable(CapableContent::Syn));
    server.handle_segment(now, Ecn::NotEct, &segment);
    let answer = drain(server, now).pop().expect("a SYN/ACK");
    let Some(MptcpOption::Capable(MpCapable { content: CapableContent::SynAck { sender: receiver }, .. })) =
        answer.options.mptcp.first().copied()
    else {
        panic!("{answer:?}")
    };
    segment.options = Default::default();
    (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
    segment.options.timestamps = answer.options.timestamps.map(|t| Timestamps { value: 50, echo: t.value });
    let content = CapableContent::Ack { sender: Key(u64::from(number)), receiver, data_len: Some(100), checksum: None };
    segment.options.mptcp.push(capable(content));
    segment.payload = Payload::Bytes(vec![1; 100].into());
    server.handle_segment(now, Ecn::NotEct, &segment);
    let handle = server.poll_accept().expect("it is open").connection;
    while server.read(now, handle, u64::MAX).is_ok() {}
    drain(server, now);
    segment.options.mptcp.clear();
    segment.payload = Payload::EMPTY;
    segment.seq = 101;
    (handle, segment)
}

/// The same, and the server's answer is acknowledged.
fn open_and_answer(server: &mut Endpoint, now: Instant, number: u32) {
    let (handle, mut segment) = open(server, now, number);
    server.write(now, handle, Payload::Bytes(vec![2; 1000].into())).expect("there is room");
    let sent = drain(server, now);
    let answer = sent.iter().find(|s| !s.payload.is_empty()).expect("the answer");
    let mapping = answer.options.dss.and_then(|dss| dss.mapping).expect("it is mapped");
    let end = mapping.dsn.expand(0).wrapping_add(1000);
    segment.ack = segment.ack.wrapping_add(1000);
    segment.options.dss = Some(Dss { data_ack: Some(DataNumber::Long(end)), mapping: None, data_fin: false });
    server.handle_segment(now, Ecn::NotEct, &segment);
    drain(server, now);
    let sending = server.connection(handle).expect("it lives").snapshot().sending;
    assert_eq!(sending.acked_bytes, 1000, "{segment:?}");
}

fn bytes_for_each(open: impl Fn(&mut Endpoint, Instant, u32)) -> i64 {
    let (mut server, now) = (server(true), Instant::from_secs(1));
    open(&mut server, now, 0);
    let before = allocated_bytes();
    (1..=CONNECTIONS).for_each(|number| open(&mut server, now, number));
    assert_eq!(server.connections(), CONNECTIONS as usize + 1);
    (allocated_bytes() - before) / i64::from(CONNECTIONS)
}

#[test]
fn an_idle_connection_takes_at_most_four_kilobytes() {
    let each = bytes_for_each(|server, now, number| {
        open(server, now, number);
    });
    println!("{each} bytes for each idle connection: {} MB for 100,000", each / 10);
    assert!(each <= MOST_IDLE, "{each} bytes for each idle connection");
    let each = bytes_for_each(open_and_answer);
    println!("{each} bytes for each that has answered: {} MB for 100,000", each / 10);
    assert!(each <= MOST_ANSWERED, "{each} bytes for each connection that has answered");
}

/// Opens a connection of plain TCP, which the server closes first.
fn open_and_close(server: &mut Endpoint, now: Instant, number: u32) {
    let from = SocketAddr::new(IpAddr::from([10, 1, (number >> 8) as u8, number as u8]), 5000);
    let mut segment = Segment::new(from, SocketAddr::from(([10, 0, 0, 2], 80)));
    (segment.flags, segment.window) = (Flags::SYN, 65_535);
    server.handle_segment(now, Ecn::NotEct, &segment);
    let answer = drain(server, now).pop().expect("a SYN/ACK");
    (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
    server.handle_segment(now, Ecn::NotEct, &segment);
    let handle = server.poll_accept().expect("it is open").connection;
    server.close(now, handle).expect("it lives");
    drain(server, now);
    (segment.flags, segment.ack) = (Flags::ACK | Flags::FIN, segment.ack.wrapping_add(1));
    server.handle_segment(now, Ecn::NotEct, &segment);
    drain(server, now);
}

#[test]
fn a_connection_in_time_wait_takes_less_than_half_a_kilobyte() {
    let (mut server, now) = (server(false), Instant::from_secs(1));
    // The newest thousand are kept whole.
    (0..2 * CONNECTIONS).for_each(|number| open_and_close(&mut server, now, number));
    let before = allocated_bytes();
    (2 * CONNECTIONS..4 * CONNECTIONS).for_each(|number| open_and_close(&mut server, now, number));
    let each = (allocated_bytes() - before) / i64::from(2 * CONNECTIONS);
    assert!((50..=MOST_WAITING).contains(&each), "{each} bytes for each connection in TIME-WAIT");
    println!("{each} bytes for each connection in TIME-WAIT: {} MB for 100,000", each / 10);
}
