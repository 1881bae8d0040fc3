//! Numbers that wrap: sequence numbers beyond 4 GiB, timestamps after 49 days, data sequence numbers.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::{Connection, ConnectionEvent};
use pathweave_units::Instant;
use pathweave_wire::Payload;

/// Sends `len` virtual bytes from client to server and checks their order.
fn transfer(config: ConnectionConfig, delays: &[u64], len: u64, start: Instant) -> u64 {
    let mut pair = Pair::new(delays, config);
    pair.driver.io.virtual_payload = true;
    pair.now = start;
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    let (client, mut received, mut written) = (pair.driver.applications.apps[0].handle.expect("open"), 0, 0);
    while received < len {
        while written < len {
            let piece = (len - written).min(1 << 30) as u32;
            let taken = pair.driver.endpoints[0]
                .write(pair.now, client, Payload::Virtual { start: written, len: piece })
                .unwrap_or(0);
            written += taken;
            if taken < u64::from(piece) {
                break;
            }
        }
        pair.settle();
        pair.clear_log();
        assert!(pair.step(pair.now + secs(5)), "nothing happens at {received}\n{}", pair.describe());
        let server = pair.driver.applications.apps[1].handle.expect("open");
        while let Ok(Payload::Virtual { start, len }) = pair.driver.endpoints[1].read(pair.now, server, u64::MAX) {
            assert_eq!(start, received);
            received += u64::from(len);
        }
    }
    received
}

#[test]
fn more_than_4_gib_on_one_subflow_and_on_two() {
    for (mptcp, delays) in [(false, &[10][..]), (true, &[10, 12][..])] {
        // Segments of 64 KB, so that the test takes little time.
        let mut config = ConnectionConfig { mptcp, ..config() };
        config.tcp.mtu = 65_535;
        config.receive_buffer = ReceiveBuffer::Fixed(64 << 20);
        config.send_buffer = 64 << 20;
        let len = (4 << 30) + (600 << 20);
        assert_eq!(transfer(config, delays, len, Instant::ZERO), len);
    }
}

#[test]
fn the_timestamp_clock_may_wrap() {
    let wrap = Instant::ZERO + pathweave_units::Duration::from_millis((1 << 32) - 300);
    assert_eq!(transfer(tcp_config(), &[10], 3_000_000, wrap), 3_000_000);
    assert_eq!(transfer(config(), &[10, 30], 3_000_000, wrap), 3_000_000);
}

#[test]
fn an_idle_time_of_half_the_timestamp_clock_does_not_block() {
    // RFC 7323 §5.5: the recent timestamp is invalid after 24 days.
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    pair.run_for(secs(26 * 24 * 3600));
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(5));
}

/// The SYN's timestamp is valid from its arrival, even if the clock is older than timestamps are valid for.
#[test]
fn what_is_older_than_the_handshake_is_refused_whatever_the_clock_says() {
    for days in [0, 30] {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.run_for(secs(days * 24 * 3600));
        pair.connect();
        let mut old = pair.forge(Server, 0);
        let timestamps = old.options.timestamps.as_mut().expect("they were agreed");
        timestamps.value = timestamps.value.wrapping_sub(1);
        old.payload = Payload::Bytes(vec![7; 100].into());
        pair.inject(Client, old);
        assert_eq!(pair.received(Client), 0, "{days} days");
    }
}

#[test]
fn many_connections_with_initial_numbers_all_over_the_range() {
    // Each has its own key, so its own initial data sequence number, and its own initial sequence numbers.
    let mut pair = Pair::new(&[5, 8], config());
    let mut handles = Vec::new();
    for _ in 0..200 {
        pair.open();
        handles.push(pair.driver.applications.apps[0].handle.expect("open"));
    }
    pair.run_for(ms(100));
    for handle in &handles {
        let written = pair.driver.endpoints[0].with(*handle, |c: &mut Connection| {
            assert!(c.is_connected());
            let bytes: Vec<u8> = (0..20_000).map(|i| byte_at(Client, i)).collect();
            let taken = c.write(at_ms(100), Payload::Bytes(bytes.into()));
            c.close(at_ms(100));
            taken
        });
        assert_eq!(written, Ok(Ok(20_000)));
    }
    pair.driver.applications.apps[1].reads = false;
    let mut servers = Vec::new();
    pair.driver.applications.collect_events = true;
    pair.settle();
    pair.run_for(secs(5));
    for (handle, event) in core::mem::take(&mut pair.driver.applications.all_events) {
        if event == ConnectionEvent::Readable && !servers.contains(&handle) {
            servers.push(handle);
        }
    }
    assert_eq!(servers.len(), 200);
    for handle in &servers {
        let mut got = 0;
        while let Ok(Payload::Bytes(bytes)) = pair.driver.endpoints[1].read(pair.now, *handle, u64::MAX) {
            for byte in &bytes {
                assert_eq!(*byte, byte_at(Client, got));
                got += 1;
            }
        }
        assert_eq!(got, 20_000);
        let now = pair.now;
        assert_eq!(pair.driver.endpoints[1].close(now, *handle), Ok(()));
    }
    pair.settle();
    pair.run_for(secs(200));
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
}
