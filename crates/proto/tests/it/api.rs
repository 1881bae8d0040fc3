//! Results of the application's commands.

use crate::pair::{Client, Fate, Pair, Server, config, ms, secs, tcp_config};
use core::net::SocketAddr;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectError, ConnectionError, ConnectionEvent, ReadError, UnknownConnection, WriteError};
use pathweave_wire::Payload;

fn bytes(len: usize) -> Payload {
    Payload::Bytes(vec![0; len].into())
}

#[test]
fn a_full_send_buffer_blocks_and_room_is_told() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], ConnectionConfig { send_buffer: 10_000, ..config });
        pair.connect();
        let (handle, now) = (pair.driver.applications.apps[0].handle.expect("it is open"), pair.now);
        assert_eq!(pair.the(Client).writable(), 10_000);
        assert_eq!(pair.driver.endpoints[0].write(now, handle, bytes(8000)), Ok(8000));
        assert_eq!(pair.driver.endpoints[0].write(now, handle, bytes(8000)), Ok(2000));
        assert_eq!(pair.driver.endpoints[0].write(now, handle, bytes(8000)), Err(WriteError::Blocked));
        assert_eq!(pair.driver.endpoints[0].write(now, handle, bytes(0)), Ok(0));
        assert_eq!(pair.the(Client).writable(), 0);
        pair.driver.applications.unchecked = true;
        pair.run_until("there is room", secs(1), |p| p.happened(Client, |e| *e == ConnectionEvent::Writable).is_some());
        assert_eq!(pair.driver.endpoints[0].write(pair.now, handle, bytes(1)), Ok(1));
    }
}

#[test]
fn who_has_closed_writes_nothing_more_and_reads_on() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.driver.applications.apps[0].reads = false;
        pair.connect();
        pair.write(Client, 1000);
        pair.close(Client);
        let client = pair.driver.applications.apps[0].handle.expect("it is open");
        assert_eq!(pair.driver.endpoints[0].write(pair.now, client, bytes(1)), Err(WriteError::Closed));
        assert_eq!(pair.the(Client).writable(), 0);
        assert_eq!(pair.driver.endpoints[0].read(pair.now, client, 10), Err(ReadError::Blocked));
        pair.run_for(secs(1));
        pair.send_all(Server, 10);
        pair.run_for(ms(15));
        assert_eq!(pair.driver.endpoints[0].read(pair.now, client, 6).map(|p| p.len()), Ok(6));
        assert_eq!(pair.driver.endpoints[0].read(pair.now, client, 6).map(|p| p.len()), Ok(4));
        assert_eq!(pair.driver.endpoints[0].read(pair.now, client, 6), Err(ReadError::Finished));
        pair.run_for(secs(100));
        assert_eq!(pair.driver.endpoints[0].read(pair.now, client, 6), Err(ReadError::UnknownConnection), "it is over");
    }
}

#[test]
fn a_failure_is_told_by_every_command() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.driver.applications.apps[1].reads = false;
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.command(Client, |c, now| c.abort(now));
        pair.run_for(secs(1));
        let server = pair.driver.applications.apps[1].handle.expect("it was accepted");
        let reset = ConnectionError::Reset;
        assert_eq!(pair.driver.endpoints[1].write(pair.now, server, bytes(1)), Err(WriteError::Failed(reset)));
        assert_eq!(
            pair.driver.endpoints[1].read(pair.now, server, u64::MAX).map(|p| p.len()),
            Ok(1000),
            "it came before"
        );
        assert_eq!(pair.driver.endpoints[1].read(pair.now, server, 1), Err(ReadError::Failed(reset)));
    }
}

#[test]
fn a_connection_that_is_gone_is_unknown() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    let client = pair.driver.applications.apps[0].handle.expect("it is open");
    pair.command(Client, |c, now| c.abort(now));
    let (now, host) = (pair.now, &mut pair.driver.endpoints[0]);
    assert!(host.connection(client).is_none());
    assert_eq!(host.write(now, client, bytes(1)), Err(WriteError::UnknownConnection));
    assert_eq!(host.write_message(now, client, bytes(1)), Err(WriteError::UnknownConnection));
    assert_eq!(host.read(now, client, 1), Err(ReadError::UnknownConnection));
    assert_eq!(host.close(now, client), Err(UnknownConnection));
    assert_eq!(host.abort(now, client), Err(UnknownConnection));
    assert_eq!(host.with(client, |_| ()), Err(UnknownConnection));
}

/// "If the state is SYN-SENT ... If the RST bit is set ... signal to the user "error: connection reset"" (RFC 9293
/// §3.10.7.3): a refused connection, a broken one and silence are different errors.
#[test]
fn a_refused_connection_is_told_from_one_that_breaks_and_from_silence() {
    for config in [tcp_config(), config()] {
        let failed = |pair: &Pair, error| pair.happened(Client, |e| *e == ConnectionEvent::Failed(error)).is_some();
        let mut pair = Pair::new(&[10], config.clone());
        pair.script(|p| {
            p.segment.dst.set_port(81);
            Fate::Pass
        });
        pair.open();
        // The answer comes from a port without a listener.
        pair.script(|p| {
            p.segment.src.set_port(80);
            Fate::Pass
        });
        pair.run_for(secs(1));
        assert!(failed(&pair, ConnectionError::Refused), "{:?}", pair.driver.applications.apps[0].events);

        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.run_for(secs(1));
        let mut reset = pair.forge(Server, 0);
        reset.flags = pathweave_wire::Flags::RST;
        pair.inject(Client, reset);
        pair.run_for(secs(100));
        assert!(!failed(&pair, ConnectionError::Refused), "{:?}", pair.driver.applications.apps[0].events);
    }
}

#[test]
fn addresses_are_those_of_the_first_subflow() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let at = |path: usize, host: usize, port| SocketAddr::new(pair.driver.io.paths[path].addresses[host], port);
    assert_eq!(pair.the(Client).local_address(), at(0, 0, 49_152));
    assert_eq!(pair.the(Client).remote_address(), at(0, 1, 80));
    assert_eq!(pair.the(Server).local_address(), at(0, 1, 80));
    assert_eq!(pair.the(Server).remote_address(), at(0, 0, 49_152));
}

/// "A TCP implementation MUST reject as an error a local OPEN call for an invalid remote IP address (e.g., a broadcast
/// or multicast address)" (RFC 9293 §3.9.1.1).
#[test]
fn nobody_connects_to_an_address_that_is_not_one_hosts() {
    let mut pair = Pair::new(&[10], config());
    for remote in ["224.0.0.1:80", "255.255.255.255:80", "0.0.0.0:80", "[ff02::1]:80", "[::]:80", "10.0.1.2:0"] {
        let local = if remote.starts_with('[') { "[fd00::1]:0" } else { "10.0.1.1:0" };
        let [local, remote] = [local, remote].map(|a| a.parse::<SocketAddr>().expect("an address"));
        let out = pair.driver.endpoints[0].connect(pair.now, local, remote, config(), &[]);
        assert_eq!(out.err(), Some(ConnectError::InvalidRemote), "{remote}");
    }
    pair.settle();
    assert!(pair.driver.io.log.is_empty());
}
