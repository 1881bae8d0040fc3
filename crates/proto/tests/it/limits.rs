//! Limits of an endpoint.

use crate::pair::*;
use core::net::SocketAddr;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{ConnectError, Connection, ConnectionHandle, Endpoint, EndpointLimits, ReadError, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
use pathweave_wire::{Ecn, Flags, Payload, Segment};

const WINDOW: u64 = 1 << 20;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn server_address() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 80))
}

fn settings() -> ConnectionConfig {
    ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(WINDOW), ..tcp_config() }
}

fn server(limits: EndpointLimits) -> Endpoint {
    let mut endpoint = Endpoint::new(Secrets::reproducible(Random::substream(1, "server")));
    endpoint.listen_and_accept(server_address(), settings(), &[]).expect("nobody listens");
    endpoint.set_limits(limits);
    endpoint
}

/// The segments that the server sends now.
fn answers(server: &mut Endpoint) -> Vec<Segment> {
    core::iter::from_fn(|| server.poll_transmit(Instant::ZERO, 1)).map(|t| t.segment).collect()
}

/// A client without a stack: the next segment on its connection.
fn client(server: &mut Endpoint, port: u16) -> Option<Segment> {
    let mut segment = Segment::new(at(port), server_address());
    (segment.flags, segment.window, segment.options.window_scale) = (Flags::SYN, 65_535, Some(7));
    server.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
    let answer = answers(server).pop()?;
    assert!(answer.flags.contains(Flags::SYN), "{answer:?}");
    segment.options = Default::default();
    (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
    server.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
    Some(segment)
}

/// Sends these bytes of the stream, a thousand per segment.
fn send(server: &mut Endpoint, like: &Segment, bytes: core::ops::Range<u64>) {
    for at in bytes.step_by(1000) {
        let mut segment = like.clone();
        segment.seq = 1 + at as u32;
        segment.payload = Payload::Bytes(vec![at as u8; 1000].into());
        server.handle_segment(Instant::ZERO, Ecn::NotEct, &segment);
        answers(server);
    }
}

fn read_all(server: &mut Endpoint, handle: ConnectionHandle) -> u64 {
    let mut read = 0;
    loop {
        match server.read(Instant::ZERO, handle, u64::MAX) {
            Ok(payload) => read += u64::from(payload.len()),
            Err(ReadError::Blocked) => return read,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn beyond_the_limit_of_connections_syns_get_no_answer_and_connecting_is_an_error() {
    let mut server = server(EndpointLimits { connections: 2, ..EndpointLimits::default() });
    assert!(client(&mut server, 1).is_some() && client(&mut server, 2).is_some());
    assert!(client(&mut server, 3).is_none());
    let out = server.connect(Instant::ZERO, SocketAddr::new(server_address().ip(), 0), at(9), settings(), &[]);
    assert_eq!(out, Err(ConnectError::TooManyConnections));
    assert_eq!(server.connections(), 2);
    // A connection that ends makes room.
    let first = server.poll_accept().expect("it is complete").connection;
    server.abort(Instant::ZERO, first).expect("it lives");
    assert!(answers(&mut server).iter().any(|s| s.flags.contains(Flags::RST)));
    while server.poll_event().is_some() {}
    answers(&mut server);
    assert!(client(&mut server, 3).is_some());
}

#[test]
fn connections_that_nobody_takes_are_so_many_at_most() {
    let mut server = server(EndpointLimits { unclaimed: 3, ..EndpointLimits::default() });
    let opened = (1..=10).filter(|port| client(&mut server, *port).is_some()).count();
    assert_eq!((opened, server.connections()), (3, 3));
    assert!(server.poll_accept().is_some());
    assert!(client(&mut server, 11).is_some(), "one was taken");
    assert!(client(&mut server, 12).is_none());
}

/// Nineteen stalled readers fill their windows, which together exceed the memory. A connection with less than its share
/// is served, and no bytes are lost for good.
#[test]
fn data_that_nobody_reads_takes_bounded_memory_and_leaves_the_rest_alone() {
    let limit = 4 * WINDOW;
    let mut server = server(EndpointLimits { waiting_bytes: limit, ..EndpointLimits::default() });
    let stalled: Vec<Segment> = (1..20).filter_map(|port| client(&mut server, port)).collect();
    let handles: Vec<ConnectionHandle> =
        core::iter::from_fn(|| server.poll_accept()).map(|accepted| accepted.connection).collect();
    stalled.iter().for_each(|like| send(&mut server, like, 0..1_000_000));
    assert!(server.waiting_bytes() <= 2 * limit, "{} bytes", server.waiting_bytes());
    assert!(server.dropped_for_memory() > 0);
    // A newcomer whose reader reads.
    let honest = client(&mut server, 100).expect("there is no flood of connections");
    let handle = server.poll_accept().expect("it is complete").connection;
    let mut received = 0;
    for from in (0..3_000_000).step_by(50_000) {
        send(&mut server, &honest, from..from + 50_000);
        received += read_all(&mut server, handle);
    }
    assert_eq!(received, 3_000_000);
    // The stalled readers read: dropped data comes again.
    for (like, handle) in stalled.iter().zip(&handles) {
        let mut read = read_all(&mut server, *handle);
        while read < 1_000_000 {
            send(&mut server, like, read..(read + 50_000).min(1_000_000));
            let more = read_all(&mut server, *handle);
            assert!(more > 0, "stuck at {read}");
            read += more;
        }
        assert_eq!(read, 1_000_000);
    }
    assert_eq!(server.waiting_bytes(), 0);
    assert!(handles.iter().all(|h| server.connection(*h).is_some_and(Connection::is_connected)));
}

/// A server that has memory for 20,000 bytes, and a client that has sent it more: the handle, and the client's next
/// segment in order.
fn without_memory() -> (Endpoint, ConnectionHandle, Segment) {
    let mut server = server(EndpointLimits { waiting_bytes: 20_000, ..EndpointLimits::default() });
    let mut next = client(&mut server, 1).expect("there is no flood of connections");
    let handle = server.poll_accept().expect("it is complete").connection;
    send(&mut server, &next, 0..40_000);
    let taken = server.connection(handle).expect("it lives").snapshot().receiving.in_order_bytes;
    assert!((1000..40_000).contains(&taken) && server.dropped_for_memory() > 0);
    next.seq += taken as u32;
    (server, handle, next)
}

fn at_time(seconds: u64) -> Instant {
    Instant::ZERO + secs(seconds)
}

/// "A TCP receiver MUST process the RST and URG fields of all incoming segments, even when the receive window is zero"
/// (RFC 9293 §3.4).
#[test]
fn without_memory_a_reset_counts_with_data_too() {
    let (mut server, handle, next) = without_memory();
    let payload = Payload::Bytes(vec![1; 10].into());
    server.handle_segment(at_time(10), Ecn::NotEct, &Segment { flags: Flags::RST | Flags::ACK, payload, ..next });
    let error = server.connection(handle).and_then(Connection::error);
    assert_eq!(error, Some(pathweave_proto::ConnectionError::Reset));
}

/// Only the data of a segment is dropped for lack of memory: its acknowledgement counts, and its FIN waits for the data
/// before it.
#[test]
fn without_memory_the_acknowledgement_on_data_counts() {
    let (mut server, handle, mut next) = without_memory();
    server.write(at_time(10), handle, Payload::Bytes(vec![7; 1000].into())).expect("it takes data");
    answers(&mut server);
    next.ack = next.ack.wrapping_add(1000);
    (next.flags, next.payload) = (Flags::ACK | Flags::FIN, Payload::Bytes(vec![1; 1000].into()));
    let before = server.connection(handle).expect("it lives").snapshot().receiving.in_order_bytes;
    server.handle_segment(at_time(10), Ecn::NotEct, &next);
    let after = server.connection(handle).expect("it lives").snapshot();
    assert_eq!((after.sending.acked_bytes, after.receiving.in_order_bytes), (1000, before));
    assert_eq!(read_all(&mut server, handle), before);
    server.handle_segment(at_time(10), Ecn::NotEct, &next);
    assert_eq!(server.read(at_time(10), handle, u64::MAX).map(|p| p.len()), Ok(1000));
    assert_eq!(server.read(at_time(10), handle, u64::MAX), Err(ReadError::Finished));
}

/// Data may be forged, so the answers that announce a closed window are counted as challenges (RFC 5961 §7). A segment
/// outside of the window, or one that acknowledges what was never sent, gets none of them.
#[test]
fn without_memory_forged_data_gets_ten_answers_in_five_seconds() {
    let (mut server, handle, mut next) = without_memory();
    next.payload = Payload::Bytes(vec![1; 1000].into());
    for start in [10, 16] {
        let mut told = Vec::new();
        for i in 0..100 {
            let forged = Segment { seq: next.seq + 7 * i, ..next.clone() };
            server.handle_segment(at_time(start), Ecn::NotEct, &forged);
            told.extend(answers(&mut server));
        }
        assert_eq!(told.len(), 10);
        assert!(told.iter().all(|s| (s.ack, s.window, s.payload.is_empty()) == (next.seq, 0, true)), "{told:?}");
    }
    // Reading makes room, which is announced to the peer at once, and once.
    assert!(read_all(&mut server, handle) > 0);
    let told = answers(&mut server);
    assert!(matches!(&told[..], [s] if s.window > 0 && s.ack == next.seq), "{told:?}");

    // A segment with an impossible acknowledgement is challenged and closes nothing.
    let mut server = self::server(EndpointLimits { waiting_bytes: 20_000, ..EndpointLimits::default() });
    let mut next = client(&mut server, 1).expect("there is no flood of connections");
    while server.waiting_bytes() <= 20_000 {
        let at = u64::from(next.seq - 1);
        send(&mut server, &next, at..at + 1000);
        next.seq += 1000;
    }
    (next.payload, next.ack) = (Payload::Bytes(vec![1; 1000].into()), next.ack.wrapping_add(1_000_000));
    server.handle_segment(at_time(10), Ecn::NotEct, &next);
    let told = answers(&mut server);
    assert!(matches!(&told[..], [s] if s.window > 0 && s.ack == next.seq), "{told:?}");
}

/// Repeated data needs no memory: it is acknowledged and closes no window.
#[test]
fn without_memory_what_has_come_already_closes_no_window() {
    for new in [0, 1] {
        let mut server = self::server(EndpointLimits { waiting_bytes: 20_000, ..EndpointLimits::default() });
        let mut next = client(&mut server, 1).expect("there is no flood of connections");
        while server.waiting_bytes() <= 20_000 {
            let at = u64::from(next.seq - 1);
            send(&mut server, &next, at..at + 1000);
            next.seq += 1000;
        }
        let repeated = Segment { seq: next.seq - 1000 + new, payload: Payload::Bytes(vec![1; 1000].into()), ..next };
        server.handle_segment(at_time(10), Ecn::NotEct, &repeated);
        let told = answers(&mut server);
        assert!(matches!(&told[..], [s] if (s.window == 0) == (new > 0) && s.ack == next.seq), "{told:?}");
    }
}

/// Data that waits for missing data takes all the memory. When everything before it was read, the window is announced
/// for the rest.
#[test]
fn a_peer_hears_of_room_for_what_is_missing_though_there_is_no_memory() {
    let mut server = server(EndpointLimits { waiting_bytes: 20_000, ..EndpointLimits::default() });
    let like = client(&mut server, 1).expect("there is no flood of connections");
    let handle = server.poll_accept().expect("it is complete").connection;
    send(&mut server, &like, 2000..40_000);
    send(&mut server, &like, 0..1000);
    send(&mut server, &like, 40_000..41_000);
    assert!(server.dropped_for_memory() > 0);
    assert_eq!(read_all(&mut server, handle), 1000);
    // Held data exceeds the limit, and nothing was added to it.
    assert!((20_000..24_000).contains(&server.waiting_bytes()), "{}", server.waiting_bytes());
    let told = answers(&mut server);
    assert!(told.iter().any(|s| s.window > 0), "{told:?}");
    send(&mut server, &like, 1000..2000);
    assert!(read_all(&mut server, handle) > 5000);
    assert_eq!(server.waiting_bytes(), 0);
}

/// The memory is shared by all connections: if another connection's reader makes room, the peer learns of that too.
#[test]
fn a_peer_without_room_hears_of_what_another_reader_makes() {
    let mut server = server(EndpointLimits { waiting_bytes: 100_000, ..EndpointLimits::default() });
    let clients: Vec<Segment> = (1..=2).filter_map(|port| client(&mut server, port)).collect();
    let handles: Vec<ConnectionHandle> =
        core::iter::from_fn(|| server.poll_accept()).map(|accepted| accepted.connection).collect();
    for (like, len) in [(&clients[0], 20_000), (&clients[1], 200_000), (&clients[0], 200_000)] {
        send(&mut server, like, 0..len);
    }
    let closed = |server: &mut Endpoint, like: &Segment| {
        let mut probe = like.clone();
        probe.seq = like.seq.wrapping_sub(1);
        server.handle_segment(at_time(20), Ecn::NotEct, &probe);
        answers(server).iter().all(|s| s.window == 0)
    };
    assert!(clients.iter().all(|like| closed(&mut server, like)));
    let waiting = server.waiting_bytes();
    assert!(waiting > 100_000);
    assert!(read_all(&mut server, handles[1]) > 0 && server.waiting_bytes() < 100_000);
    let told = answers(&mut server);
    for like in &clients {
        assert!(told.iter().any(|s| s.dst == like.src && s.window > 0), "{told:?}");
    }
}

/// A reader that stalls while there is no memory for longer than `close_timeout` ends nothing: the sender is told of
/// the closed window, keeps probing, and continues at once when there is room.
#[test]
fn without_memory_for_longer_than_the_close_timeout_a_connection_stays_alive() {
    for seconds in [20, 60] {
        let of = |mptcp| ConnectionConfig { mptcp, close_timeout: secs(seconds), ..config() };
        for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(of(mptcp))) {
            let (mptcp, host) = (config.mptcp, config.host);
            let mut pair = Pair::new(&[10, 20], config);
            pair.driver.endpoints[1].set_limits(EndpointLimits { waiting_bytes: 100_000, ..EndpointLimits::default() });
            pair.driver.applications.apps[1].reads = false;
            pair.connect();
            pair.write(Client, 600_000);
            pair.run_for(secs(600));
            let errors =
                (pair.connection(Client).map(Connection::error), pair.connection(Server).map(Connection::error));
            assert_eq!(errors, (Some(None), Some(None)), "{mptcp}, {host:?}");
            pair.driver.applications.apps[1].reads = true;
            pair.read(Server, u64::MAX);
            pair.run_until_received(Server, 600_000, secs(10));
        }
    }
}

/// The mapping of data that is dropped for lack of memory is dropped with it: a server that fell back because of it
/// would have no data of plain TCP.
#[test]
fn without_memory_an_infinite_mapping_waits_for_its_data() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.endpoints[1].set_limits(EndpointLimits { waiting_bytes: 20_000, ..EndpointLimits::default() });
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, 100_000);
    pair.run_for(secs(1));
    assert!(pair.driver.endpoints[1].dropped_for_memory() > 0);
    let taken = pair.the(Server).snapshot().receiving.in_order_bytes;
    let dsn = DataNumber::Long(pair.wire_dsn(Client, taken));
    let mut next = pair.forge(Client, 0);
    next.seq = pair.isn(Client, 0).wrapping_add(1 + taken as u32);
    next.payload = Payload::Bytes(vec![1; 1000].into());
    let mapping = Some(Mapping { dsn, ssn: taken as u32 + 1, len: 0, checksum: None });
    next.options.dss = Some(Dss { data_ack: None, mapping, data_fin: false });
    pair.inject(Server, next);
    assert!(pair.the(Server).is_mptcp());
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, taken);
}
