//! The memory that a server's connections take while nothing happens: when they are open, and when they only wait for
//! old segments.

use core::net::{IpAddr, SocketAddr};
use pathweave_algorithms::Registry;
use pathweave_alloc_check::{Counting, allocated_bytes, allocations};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionHandle, Endpoint, EndpointLimits, Secrets};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{CapableContent, CapableFlags, DataNumber, Dss, Key, MpCapable, MptcpOption};
use pathweave_wire::{Ecn, Flags, Payload, Segment, Timestamps};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CONNECTIONS: u32 = 5_000;
/// Most memory of an open connection, bytes: 100,000 in 400 MB.
const MOST_IDLE: i64 = 4_000;
/// Most memory of a connection that only waits for old segments, bytes.
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

/// Opens a connection with Multipath TCP from a client without a stack, whose request is read. Returns the connection
/// and the client's next segment.
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

/// Makes the server answer with this many bytes; each burst is acknowledged.
fn answer(server: &mut Endpoint, now: Instant, handle: ConnectionHandle, segment: &mut Segment, bytes: u32) {
    let acked = |server: &Endpoint| server.connection(handle).expect("it lives").snapshot().sending.acked_bytes;
    let end = acked(server) + u64::from(bytes);
    server.write(now, handle, Payload::Bytes(vec![2; bytes as usize].into())).expect("there is room");
    while acked(server) < end {
        let sent = drain(server, now);
        let last = sent.iter().rfind(|s| !s.payload.is_empty()).expect("a part of the answer");
        let mapping = last.options.dss.and_then(|dss| dss.mapping).expect("it is mapped");
        let data_ack = mapping.dsn.expand(0).wrapping_add(u64::from(mapping.len));
        segment.ack = last.seq.wrapping_add(last.payload.len());
        segment.options.dss = Some(Dss { data_ack: Some(DataNumber::Long(data_ack)), mapping: None, data_fin: false });
        server.handle_segment(now, Ecn::NotEct, segment);
    }
    drain(server, now);
}

/// Lets the endpoint's timers run until none is left. Returns the time of the last one.
fn rest(server: &mut Endpoint, mut now: Instant) -> Instant {
    while let Some(next) = server.poll_timeout() {
        assert!(next >= now, "it has missed {next:?}");
        now = next;
        server.handle_timeout(now);
        assert_eq!(drain(server, now), []);
    }
    now
}

fn bytes_for_each(open: impl Fn(&mut Endpoint, Instant, u32)) -> i64 {
    let (mut server, now) = (server(true), Instant::from_secs(1));
    open(&mut server, now, 0);
    rest(&mut server, now);
    let before = allocated_bytes();
    let now = Instant::from_secs(10);
    (1..=CONNECTIONS).for_each(|number| open(&mut server, now, number));
    assert!(rest(&mut server, now) <= now + Duration::from_secs(2), "a connection that rests wants nothing");
    assert_eq!(server.connections(), CONNECTIONS as usize + 1);
    (allocated_bytes() - before) / i64::from(CONNECTIONS)
}

#[test]
fn an_idle_connection_takes_at_most_four_kilobytes() {
    for bytes in [0, 10, 1000, 8000] {
        let each = bytes_for_each(|server, now, number| {
            let (handle, mut segment) = open(server, now, number);
            if bytes > 0 {
                answer(server, now, handle, &mut segment, bytes);
            }
        });
        println!("{each} bytes for each idle connection after an answer of {bytes}: {} MB for 100,000", each / 10);
        assert!(each <= MOST_IDLE, "{each} bytes for each idle connection after an answer of {bytes}");
    }
}

/// Allocations while one connection answers six times, with pauses of `apart` between the answers.
fn allocations_of_answers(apart: Duration) -> u64 {
    let (mut server, mut now) = (server(true), Instant::from_secs(1));
    let (handle, mut segment) = open(&mut server, now, 0);
    let mut answer_next = |times: u32| {
        let before = allocations();
        for _ in 0..times {
            answer(&mut server, now, handle, &mut segment, 1000);
            let end = now + apart;
            while let Some(next) = server.poll_timeout().filter(|next| *next <= end) {
                server.handle_timeout(next);
                drain(&mut server, next);
            }
            now = end;
        }
        allocations() - before
    };
    answer_next(3);
    answer_next(6)
}

#[test]
fn one_that_is_used_every_few_seconds_does_not_rest() {
    let dense = allocations_of_answers(Duration::from_millis(100));
    for (seconds, rests) in [(2, false), (3, false), (10, true)] {
        let sparse = allocations_of_answers(Duration::from_secs(seconds));
        println!("{sparse} allocations with {seconds} s between answers, {dense} with a tenth of one");
        assert_eq!(sparse > dense, rests, "{sparse} allocations with {seconds} s between answers, {dense} without");
    }
}

#[test]
fn nobody_is_woken_for_one_that_is_gone() {
    let (mut server, now) = (server(true), Instant::from_secs(1));
    let clients: Vec<_> = (0..3).map(|number| open(&mut server, now, number)).collect();
    let now = rest(&mut server, now);
    for (_, segment) in &clients {
        server.handle_segment(now, Ecn::NotEct, segment);
        drain(&mut server, now);
    }
    // The second and the third go first.
    for (handle, _) in clients.into_iter().rev() {
        assert_eq!(server.poll_timeout(), Some(now + Duration::from_secs(1)), "then one may come to rest");
        server.abort(now, handle).expect("it lives");
        drain(&mut server, now);
    }
    assert_eq!((server.connections(), server.poll_timeout()), (0, None));
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
