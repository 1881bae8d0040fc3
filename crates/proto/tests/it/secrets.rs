//! Ports and timestamps, with which a restarted program must not begin again.

use crate::pair::{Client, Pair, Server, config, ms, secs, tcp_config};
use core::net::SocketAddr;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{Connection, Endpoint, Secrets};
use pathweave_wire::Segment;
use std::collections::BTreeSet;

/// Starts the client's program, with these bytes of its operating system's randomness.
fn start(pair: &mut Pair, seed: u8) {
    pair.driver.endpoints[0] = Endpoint::new(Secrets::new([seed; 32]));
    pair.driver.applications.apps[0].handle = None;
    pair.open();
}

fn last_syn(pair: &Pair) -> Segment {
    pair.sent(Client).rfind(|p| p.is_syn()).expect("a SYN").segment.clone()
}

fn timestamp(segment: &Segment) -> u32 {
    segment.options.timestamps.expect("timestamps are on").value
}

/// The peer still has the earlier connection: if the new one had the same port, it would be answered with a challenge
/// (RFC 5961 §4), and the handshake would take a second.
#[test]
fn a_restarted_program_connects_at_once() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        for seed in 1..=20 {
            start(&mut pair, seed);
            pair.run_until("it is connected", ms(20), |p| p.the(Client).is_connected());
            pair.run_for(ms(20));
        }
        assert_eq!(pair.driver.endpoints[1].connections(), 20, "nothing has told the server of the ends");
    }
}

#[test]
fn timestamps_and_ports_start_elsewhere_with_each_secret_and_are_repeated_by_the_same() {
    let syn = |seed| {
        let mut pair = Pair::new(&[10], config());
        start(&mut pair, seed);
        last_syn(&pair)
    };
    let (one, again, other) = (syn(1), syn(1), syn(2));
    assert_eq!(one, again);
    assert!(timestamp(&one).abs_diff(timestamp(&other)) > 1_000_000, "{one:?} {other:?}");
    assert_ne!((one.src.port(), one.seq), (other.src.port(), other.seq));
    assert!(one.src.port() >= 49_152 && other.src.port() >= 49_152);
}

/// Sends a SYN from one of our ports; returns its sequence number and timestamp.
fn syn_from(pair: &mut Pair, port: u16) -> (u32, u32) {
    let [client, server] = pair.driver.io.paths[0].addresses;
    let (local, remote) = (SocketAddr::new(client, port), SocketAddr::new(server, 80));
    let (now, config) = (pair.now, pair.config.clone());
    let handle = pair.driver.endpoints[0].connect(now, local, remote, config, &[]).expect("the port is free");
    pair.settle();
    let syn = last_syn(pair);
    pair.driver.endpoints[0].abort(now, handle).expect("it exists");
    pair.settle();
    (syn.seq, timestamp(&syn))
}

/// Segments older than those of the connection before would be dropped as old duplicates (RFC 7323 §5.5, RFC 9293
/// §3.4.3).
#[test]
fn numbers_between_the_same_ports_only_grow() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.driver.endpoints[0] = Endpoint::new(Secrets::new([1; 32]));
    let mut last = syn_from(&mut pair, 7000);
    for _ in 0..50 {
        pair.run_for(ms(3));
        let next = syn_from(&mut pair, 7000);
        assert_eq!((next.0.wrapping_sub(last.0), next.1.wrapping_sub(last.1)), (750, 3));
        last = next;
    }
}

/// A peer that connects to us, or sees one of our connections, learns nothing of another.
#[test]
fn numbers_between_other_ports_tell_nothing() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.driver.endpoints[0] = Endpoint::new(Secrets::new([1; 32]));
    let seen: Vec<_> = (7000..7050).map(|port| syn_from(&mut pair, port)).collect();
    for numbers in [seen.iter().map(|s| s.0).collect::<Vec<_>>(), seen.iter().map(|s| s.1).collect()] {
        let steps: BTreeSet<u32> = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert_eq!(steps.len(), 49, "no two steps are the same");
        assert!(numbers.iter().any(|n| *n > 1 << 31) && numbers.iter().any(|n| *n < 1 << 31), "they lie anywhere");
    }
}

/// Echoed timestamps measure round trips of retransmissions, spurious retransmissions and the receiver's round trips.
#[test]
fn whatever_timestamps_start_with_they_measure_the_same() {
    let run = |seed: Option<u8>| {
        let mut pair = Pair::new(&[10], ConnectionConfig { send_buffer: 1 << 20, ..tcp_config() });
        match seed {
            None => pair.open(),
            Some(seed) => start(&mut pair, seed),
        }
        pair.run_until("it is connected", secs(1), |p| p.connection(Server).is_some_and(Connection::is_connected));
        pair.drop_some(3, |p| p.is_data());
        pair.send_all(Client, 1_000_000);
        pair.run_until_received(Server, 1_000_000, secs(20));
        let (client, server) = (pair.subflow(Client, 0), pair.subflow(Server, 0));
        (pair.now, client.rtt.smoothed, client.rto, client.counters, server.counters)
    };
    let plain = run(None);
    for seed in 1..=8 {
        assert_eq!(run(Some(seed)), plain);
    }
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(format!("{:?}", Secrets::new([7; 32])), "Secrets { .. }");
}
