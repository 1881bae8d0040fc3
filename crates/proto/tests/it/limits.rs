//! What an endpoint takes on at most.

use crate::pair::*;
use core::net::SocketAddr;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{ConnectError, Connection, ConnectionHandle, Endpoint, EndpointLimits, ReadError, Secrets};
use pathweave_units::Instant;
use pathweave_units::random::Random;
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

/// What the server sends now.
fn answers(server: &mut Endpoint) -> Vec<Segment> {
    core::iter::from_fn(|| server.poll_transmit(Instant::ZERO, 1)).map(|t| t.segment).collect()
}

/// A client without a stack: what it would send next on its connection.
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

/// Sends these bytes of the stream, a thousand in each segment.
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
    // One that ends makes room.
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

/// Nineteen readers that have stalled fill their windows, which is more than there is memory for in all. Whoever has less than a share of it is
/// served, and nobody's bytes are lost for good.
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
    // The stalled ones read: what was dropped comes again.
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
