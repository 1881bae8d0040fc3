//! The cost of an attacker, or of many connections.

use crate::pair::*;
use pathweave_proto::Connection;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_wire::Payload;
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};

/// Bad-input row 35: held data is bounded, nothing that was reported is taken back, and the stream is complete.
#[test]
fn one_byte_segments_with_gaps_take_bounded_memory() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10], if mptcp { config() } else { tcp_config() });
        pair.connect();
        pair.write(Client, 1);
        pair.run_for(ms(500));
        let next = pair.forge(Client, 0);
        let ssn = next.seq.wrapping_sub(pair.isn(Client, 0));
        for n in 0..50_000u32 {
            let mut forged = next.clone();
            let offset = 2 * n + 1;
            forged.seq = forged.seq.wrapping_add(offset);
            forged.payload = Payload::Bytes(vec![byte_at(Client, 1 + u64::from(offset))].into());
            if mptcp {
                let dsn = DataNumber::Long(pair.wire_dsn(Client, 1 + u64::from(offset)));
                let mapping = Mapping { dsn, ssn: ssn.wrapping_add(offset), len: 1, checksum: None };
                forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
            }
            let now = pair.now;
            pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &forged);
            while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
        }
        // Twice a window of 1 MiB with its slack of 16 KiB, and 64 KiB more, at 257 bytes per piece.
        let held = pair.subflow(Server, 0).held_bytes;
        assert_eq!(held, (2 * (1 << 20) + 2 * (16 << 10) + (64 << 10)) / 257 + 1, "{mptcp}");
        pair.write(Client, 200_000);
        pair.run_until_received(Server, 200_001, secs(10));
        assert_eq!(pair.subflow(Server, 0).held_bytes, 0);
    }
}

/// The same at the data level: data in order on the subflow, with gaps in the stream. Dropped data was acknowledged on
/// the subflow, so the connection sends it again.
#[test]
fn gaps_at_the_data_level_take_bounded_memory() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut forged = pair.forge(Client, 1);
    for n in 0..50_000u64 {
        let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
        let at = 2 + 2 * n;
        let mapping = Mapping { dsn: DataNumber::Long(pair.wire_dsn(Client, at)), ssn, len: 1, checksum: None };
        forged.payload = Payload::Bytes(vec![byte_at(Client, at)].into());
        forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
        let now = pair.now;
        pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &forged);
        while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
        forged.seq = forged.seq.wrapping_add(1);
    }
    assert_eq!(pair.the(Server).snapshot().receiving.out_of_order_bytes, (2 * (1 << 20) + (64 << 10)) / 257 + 1);
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_001, secs(30));
}

/// Gaps on each of eight subflows and at the data level at once: together they may take twice the limit of one of them,
/// and a little more on each. Data that fills the holes is accepted nevertheless.
#[test]
fn gaps_on_all_subflows_share_what_a_connection_may_take() {
    const WINDOW: u64 = 256 << 10;
    let fixed = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(WINDOW), ..config() };
    let mut pair = Pair::new(&[10; 8], fixed);
    pair.connect_with_subflows(8);
    pair.run_for(ms(500));
    for path in 0..8 {
        let next = pair.forge(Client, path);
        let ssn = next.seq.wrapping_sub(pair.isn(Client, path));
        for n in 0..4000u32 {
            let mut forged = next.clone();
            let offset = 2 * n + 1;
            forged.seq = forged.seq.wrapping_add(offset);
            let at = 1 + u64::from(offset);
            forged.payload = Payload::Bytes(vec![byte_at(Client, at)].into());
            let dsn = DataNumber::Long(pair.wire_dsn(Client, at));
            let mapping = Mapping { dsn, ssn: ssn.wrapping_add(offset), len: 1, checksum: None };
            forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
            let now = pair.now;
            pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &forged);
            while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
        }
    }
    let waiting = pair.driver.endpoints[1].waiting_bytes();
    // The window has a slack of 16 KiB, and each place may have 64 KiB in any case.
    let one = 2 * (WINDOW + 2 * (16 << 10)) + (64 << 10);
    assert!(waiting > one, "{waiting}");
    assert!(waiting <= 2 * one + 9 * (65 << 10), "{waiting}");
    let mut all = pair.forge(Client, 0);
    all.payload = Payload::Bytes((1..8001).map(|at| byte_at(Client, at)).collect());
    let ssn = all.seq.wrapping_sub(pair.isn(Client, 0));
    let dsn = DataNumber::Long(pair.wire_dsn(Client, 1));
    all.options.dss =
        Some(Dss { data_ack: None, mapping: Some(Mapping { dsn, ssn, len: 8000, checksum: None }), data_fin: false });
    pair.inject(Server, all);
    assert_eq!(pair.received(Server), 8001);
}

/// The same segments with holes between them, in memory of their own and in blocks of 64 KiB: the same number is
/// accepted.
#[test]
fn what_is_taken_does_not_depend_on_the_blocks_that_packets_lie_in() {
    let taken = |packet_memory: u32| {
        let mut config = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(256 << 10), ..config() };
        config.tcp.packet_memory = packet_memory;
        let mut pair = Pair::new(&[10; 3], config);
        pair.connect_with_subflows(3);
        pair.run_for(ms(500));
        for path in 0..3 {
            let next = pair.forge(Client, path);
            let ssn = next.seq.wrapping_sub(pair.isn(Client, path));
            for n in 0..60u32 {
                let mut forged = next.clone();
                let offset = 2000 * n + 1000;
                forged.seq = forged.seq.wrapping_add(offset);
                let at = 1 + u64::from(offset);
                forged.payload = Payload::Bytes((at..at + 1000).map(|at| byte_at(Client, at)).collect());
                let dsn = DataNumber::Long(pair.wire_dsn(Client, at));
                let mapping = Mapping { dsn, ssn: ssn.wrapping_add(offset), len: 1000, checksum: None };
                forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
                let now = pair.now;
                pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &forged);
                while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
            }
        }
        let waiting = pair.driver.endpoints[1].waiting_bytes();
        // Three times the limit of one place, and the block that exceeded it.
        assert!(waiting <= 3 * (2 * ((256 << 10) + (16 << 10)) + (64 << 10)) + (64 << 10), "{waiting}");
        [0, 1, 2].map(|path| pair.subflow(Server, path).held_bytes)
    };
    assert_eq!(taken(2048), taken(64 << 10));
    assert_eq!(taken(2048), [60_000; 3]);
}

/// Opens `n` connections at once, sends 2,000 bytes on each, closes them; returns the endpoints' footprint when all are
/// forgotten.
fn open_and_close(pair: &mut Pair, n: usize) -> usize {
    let handles: Vec<_> = (0..n)
        .map(|_| {
            pair.driver.applications.apps[0].handle = None;
            pair.open();
            pair.driver.applications.apps[0].handle.expect("open")
        })
        .collect();
    pair.run_for(secs(1));
    let now = pair.now;
    for handle in &handles {
        let written = pair.driver.endpoints[0].with(*handle, |c: &mut Connection| {
            assert!(c.is_connected());
            let taken = c.write(now, Payload::Virtual { start: 0, len: 2000 });
            c.close(now);
            taken
        });
        assert_eq!(written, Ok(Ok(2000)));
    }
    pair.settle();
    pair.run_for(secs(1));
    let most = pair.driver.endpoints[1].connections();
    for (handle, _) in core::mem::take(&mut pair.driver.applications.all_events) {
        while pair.driver.endpoints[1].read(pair.now, handle, u64::MAX).is_ok() {}
        let now = pair.now;
        // A connection may be over by the time its events are polled.
        pair.driver.endpoints[1]
            .with(handle, |c: &mut Connection| {
                if c.at_end() {
                    assert_eq!(c.snapshot().receiving.in_order_bytes, 2000);
                    c.close(now);
                }
            })
            .ok();
    }
    pair.settle();
    pair.run_for(secs(130));
    pair.clear_log();
    most
}

/// The endpoint's tables are as large after 10,000 connections as after the first 1,000 that were open at once.
#[test]
fn ten_thousand_connections_a_thousand_at_once_leave_nothing_behind() {
    let mut pair = Pair::new(&[5, 8], config());
    pair.driver.io.virtual_payload = true;
    pair.driver.applications.apps[1].reads = false;
    pair.driver.applications.apps[0].reads = false;
    pair.driver.applications.collect_events = true;
    let mut sizes = Vec::new();
    for _ in 0..10 {
        assert_eq!(open_and_close(&mut pair, 1000), 1000);
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
        sizes.push([pair.driver.endpoints[0].footprint(), pair.driver.endpoints[1].footprint()]);
    }
    assert!(sizes.iter().all(|s| *s == sizes[0]), "{sizes:?}");
}

/// A segment of the client with a mapping whose checksum was not computed.
fn unverified(pair: &Pair, offset: u32, payload: usize, mapped: Option<(u16, bool)>) -> pathweave_wire::Segment {
    let mut forged = pair.forge(Client, 0);
    let ssn = forged.seq.wrapping_sub(pair.isn(Client, 0)).wrapping_add(offset);
    forged.seq = forged.seq.wrapping_add(offset);
    forged.payload = Payload::Bytes(vec![1; payload].into());
    let dsn = DataNumber::Long(pair.wire_dsn(Client, 1000));
    let mapping = mapped.map(|(len, _)| Mapping { dsn, ssn, len, checksum: Some(1) });
    let data_fin = mapped.is_some_and(|(_, fin)| fin);
    forged.options.dss = mapping.map(|m| Dss { data_ack: None, mapping: Some(m), data_fin });
    forged
}

/// The mapping's pieces stay in their packets until the last one has come.
#[test]
fn what_has_come_of_a_mapping_with_a_checksum_counts() {
    let mut config = ConnectionConfig { checksum: true, ..config() };
    config.tcp.packet_memory = 64 << 10;
    let mut pair = Pair::new(&[10], config);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(ms(500));
    let waits = |pair: &Pair| pair.driver.endpoints[1].waiting_bytes();
    let before = waits(&pair);
    for n in 0..50 {
        let piece = unverified(&pair, 1000 * n, 1000, (n == 0).then_some((60_000, false)));
        pair.driver.endpoints[1].handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &piece);
    }
    let waiting = waits(&pair) - before;
    assert!(waiting >= 50 * (64 << 10), "{waiting}");
}

/// All data waits for plain TCP then, so mappings are useless.
#[test]
fn after_a_wrong_checksum_no_mapping_takes_memory() {
    for (len, fin) in [(1, false), (1, true)] {
        let mut pair = Pair::new(&[10], ConnectionConfig { checksum: true, ..config() });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(ms(500));
        let wrong = unverified(&pair, 0, 1000, Some((1000, false)));
        // Far enough behind the start that a mapping may begin there.
        let mapping = |n: u32| unverified(&pair, n, 0, Some((len, fin)));
        let mappings: Vec<_> = (1..1000).map(mapping).collect();
        pair.driver.endpoints[1].handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &wrong);
        let before = pair.driver.endpoints[1].waiting_bytes();
        assert!(before >= 1000);
        for mut forged in mappings {
            forged.seq = wrong.seq.wrapping_add(1000);
            pair.driver.endpoints[1].handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &forged);
        }
        let more = unverified(&pair, 1000, 1, None);
        pair.driver.endpoints[1].handle_segment(pair.now, pathweave_wire::Ecn::NotEct, &more);
        let waiting = pair.driver.endpoints[1].waiting_bytes();
        assert!(waiting < before + 2000, "{waiting}, before {before}");
    }
}

/// Each exchange sets timers that are sooner than the next keep-alive, and the replaced ones stay in the list until
/// their time, two hours later.
#[test]
fn timers_that_sooner_ones_have_replaced_are_thrown_out() {
    let mut pair = Pair::new(&[1], ConnectionConfig { keep_alive: secs(7200), ..config() });
    pair.connect();
    let mut most = 0;
    for _ in 0..500 {
        pair.write(Client, 100);
        pair.run_for(ms(500));
        most = most.max(pair.driver.endpoints[0].footprint());
    }
    // Four for each slot, and 64; the slot, its addresses and tokens are a few more.
    assert!(most <= 4 + 64 + 10, "{most}");
}
