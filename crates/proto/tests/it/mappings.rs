//! Mappings that are late, missing, contradictory or out of place (RFC 8684 §3.3.1, §3.7, §3.8).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_wire::mptcp::{DataNumber, Mapping, MptcpOption, ResetReason};

/// The reset from `from` on a path, with its reason.
fn reset(pair: &Pair, from: Side, path: usize) -> Option<(ResetReason, pathweave_units::Instant)> {
    pair.sent(from).find(|p| p.is_rst() && p.path == path).map(|p| {
        let reason = p.segment.options.mptcp.iter().find_map(|o| match o {
            MptcpOption::Reset { reason, .. } => Some(*reason),
            _ => None,
        });
        (reason.expect("a reset says why"), p.at)
    })
}

/// Two subflows in use, and 200,000 bytes to send.
fn two_paths() -> Pair {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    pair
}

fn mapping(packet: &mut Packet) -> Option<&mut Mapping> {
    packet.segment.options.dss.as_mut()?.mapping.as_mut()
}

fn is_mapped_data(packet: &Packet, path: usize) -> bool {
    packet.from == Client && packet.path == path && packet.is_data()
}

/// Bad-input row 15.
#[test]
fn data_that_is_never_mapped_resets_a_subflow_that_joined() {
    let mut pair = two_paths();
    let start = pair.now;
    let mut stripped = 0;
    pair.script(move |p| {
        if is_mapped_data(p, 1) && stripped < 3 {
            stripped += 1;
            p.segment.options.dss = None;
        }
        Fate::Pass
    });
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_001, secs(5));
    pair.run_for(secs(1));
    let (reason, at) = reset(&pair, Server, 1).expect("a reset");
    assert_eq!((reason, at.since(start)), (ResetReason::Middlebox, ms(1010)));
    assert!(reset(&pair, Server, 0).is_none() && pair.the(Server).is_mptcp());
}

/// Bad-input row 15, where more than a receive window comes before the second is over.
#[test]
fn a_receive_window_of_unmapped_data_is_too_much() {
    let small = ReceiveBuffer::Fixed(30_000);
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { receive_buffer: small, ..config() });
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut forged = pair.forge(Client, 1);
    // Thirty segments of a thousand bytes are a window, and one byte more is too much.
    for len in [1000; 30].into_iter().chain([1]) {
        assert!(reset(&pair, Server, 1).is_none());
        forged.payload = pathweave_wire::Payload::Bytes(vec![1; len].into());
        pair.inject(Server, forged.clone());
        forged.seq = forged.seq.wrapping_add(len as u32);
    }
    assert_eq!(reset(&pair, Server, 1).map(|(reason, _)| reason), Some(ResetReason::Middlebox));
    assert_eq!(pair.received(Server), 1);
}

/// Every other byte has a mapping, so each byte without one waits by itself, and each mapping is kept for those before
/// it. Their memory is limited, not their number.
#[test]
fn records_of_unmapped_data_are_limited_by_the_memory_that_they_take() {
    let small = ReceiveBuffer::Fixed(60_000);
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { receive_buffer: small, ..config() });
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut forged = pair.forge(Client, 1);
    let mut sent = 0;
    while reset(&pair, Server, 1).is_none() && sent < 5000 {
        let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
        let dsn = DataNumber::Long(pair.wire_dsn(Client, 1 + sent));
        let mapping = Some(Mapping { dsn, ssn, len: 1, checksum: None }).filter(|_| sent % 2 == 1);
        forged.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping, data_fin: false });
        forged.payload = pathweave_wire::Payload::Bytes(vec![1].into());
        pair.inject(Server, forged.clone());
        forged.seq = forged.seq.wrapping_add(1);
        sent += 1;
    }
    // Twice the window and 64 KiB, at 256 bytes for each of them.
    assert!(sent.abs_diff((2 * 60_000 + (64 << 10)) / 256) <= 5, "{sent}");
}

/// Bad-input row 15.
#[test]
fn unmapped_data_on_the_first_subflow_is_plain_tcp_while_nothing_is_confirmed() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        if p.from == Server && !p.is_syn() {
            p.segment.options.dss = None;
            p.segment.options.mptcp.clear();
        }
        Fate::Pass
    });
    pair.connect();
    pair.send_all(Server, 80_000);
    pair.run_until_received(Client, 80_000, secs(5));
    pair.send_all(Client, 80_000);
    pair.run_until_received(Server, 80_000, secs(5));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
}

/// Bad-input row 16: the first segment's mapping comes with the second, which it covers too.
#[test]
fn a_mapping_that_comes_after_its_data_is_taken() {
    let mut pair = two_paths();
    let mut first: Option<Mapping> = None;
    let mut done = false;
    pair.script(move |p| {
        if is_mapped_data(p, 1) && !done {
            let own = *mapping(p).expect("mapped");
            match first {
                None => {
                    first = Some(own);
                    p.segment.options.dss = None;
                }
                Some(early) => {
                    let contiguous = early.dsn.expand(0).wrapping_add(u64::from(early.len)) == own.dsn.expand(0);
                    assert!(contiguous, "a burst is contiguous");
                    *mapping(p).expect("mapped") = Mapping { len: early.len + own.len, ..early };
                    done = true;
                }
            }
        }
        Fate::Pass
    });
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, ms(300));
    pair.run_for(secs(3));
    assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
    assert_eq!(pair.the(Client).snapshot().counters.reinjected_segments, 0);
}

/// Bad-input row 16, with the mapping on an acknowledgement without data.
#[test]
fn a_mapping_may_come_on_an_acknowledgement() {
    let mut pair = two_paths();
    let mut forged = pair.forge(Client, 1);
    forged.payload = pathweave_wire::Payload::Bytes(vec![byte_at(Client, 1), byte_at(Client, 2)].into());
    pair.inject(Server, forged.clone());
    assert_eq!(pair.received(Server), 1);
    pair.run_for(ms(900));
    let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
    let dsn = DataNumber::Long(pair.wire_dsn(Client, 1));
    let mut late = pair.forge(Client, 1);
    late.seq = forged.seq.wrapping_add(2);
    let option = Mapping { dsn, ssn, len: 2, checksum: None };
    late.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(option), data_fin: false });
    pair.inject(Server, late);
    assert_eq!(pair.received(Server), 3);
}

/// Bad-input row 16: the first mapping of a byte counts.
#[test]
fn a_mapping_that_contradicts_a_known_one_is_rejected() {
    let mut pair = two_paths();
    let mut first: Option<Mapping> = None;
    let mut done = false;
    pair.script(move |p| {
        if is_mapped_data(p, 1) && !done {
            let option = mapping(p).expect("mapped");
            match first {
                None => {
                    // It covers the next segment too.
                    first = Some(*option);
                    option.len *= 2;
                }
                Some(_) => {
                    // The second segment claims another position, further on.
                    option.dsn = DataNumber::Long(option.dsn.expand(0).wrapping_add(50_000));
                    done = true;
                }
            }
        }
        Fate::Pass
    });
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, ms(300));
    assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
}

/// Bad-input row 17.
#[test]
fn an_infinite_mapping_with_several_subflows_is_reset() {
    let mut pair = two_paths();
    let mut sent = false;
    pair.script(move |p| {
        if is_mapped_data(p, 1) && !sent {
            sent = true;
            mapping(p).expect("mapped").len = 0;
        }
        Fate::Pass
    });
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_001, secs(3));
    assert_eq!(reset(&pair, Server, 1).map(|(reason, _)| reason), Some(ResetReason::MptcpError));
    assert!(pair.the(Server).is_mptcp());
}

#[test]
fn a_mapping_of_no_bytes_on_an_acknowledgement_says_nothing() {
    let mut pair = two_paths();
    let mut forged = pair.forge(Client, 0);
    let dsn = DataNumber::Long(pair.wire_dsn(Client, 1));
    let nothing = Mapping { dsn, ssn: 2, len: 0, checksum: None };
    forged.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(nothing), data_fin: false });
    pair.inject(Server, forged);
    pair.run_for(secs(1));
    assert!(pair.the(Server).is_mptcp());
    assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2));
}

/// Bad-input row 18.
#[test]
fn data_out_of_the_window_is_dropped_and_not_acknowledged_but_comes_again() {
    for by in [1u64 << 21, 1 << 33, 1 << 62, (1u64 << 40).wrapping_neg()] {
        let mut pair = two_paths();
        let mut n = 0;
        pair.script(move |p| {
            n += u32::from(is_mapped_data(p, 1));
            if is_mapped_data(p, 1) && n == 2 {
                let option = mapping(p).expect("mapped");
                option.dsn = DataNumber::Long(option.dsn.expand(0).wrapping_add(by));
            }
            Fate::Pass
        });
        pair.write(Client, 30_000);
        pair.run_for(ms(100));
        // It was acknowledged on its subflow, so only the connection can send it again.
        assert!(pair.received(Server) < 30_001);
        assert_eq!(pair.subflow(Client, 1).window.in_flight, 0);
        assert_eq!(pair.the(Client).snapshot().sending.acked_bytes, pair.received(Server));
        pair.run_until_received(Server, 30_001, secs(2));
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
    }
}

/// Bad-input row 19.
#[test]
fn bytes_that_are_delivered_or_waiting_never_change() {
    let mut pair = two_paths();
    pair.write(Client, 20_000);
    pair.run_until_received(Server, 20_001, secs(1));
    let mut forged = pair.forge(Client, 1);
    let mut send = |pair: &mut Pair, at: u64, bytes: Vec<u8>| {
        let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
        let dsn = DataNumber::Long(pair.wire_dsn(Client, at));
        let option = Mapping { dsn, ssn, len: bytes.len() as u16, checksum: None };
        forged.options.dss =
            Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(option), data_fin: false });
        forged.payload = pathweave_wire::Payload::Bytes(bytes.clone().into());
        pair.inject(Server, forged.clone());
        forged.seq = forged.seq.wrapping_add(bytes.len() as u32);
    };
    let right = |from: u64, to: u64| (from..to).map(|i| byte_at(Client, i)).collect::<Vec<u8>>();
    let wrong = |from: u64, to: u64| (from..to).map(|i| !byte_at(Client, i)).collect::<Vec<u8>>();
    // Over delivered bytes; over waiting ones, from before, from after and across. The harness checks every byte read.
    send(&mut pair, 19_000, wrong(19_000, 20_001));
    send(&mut pair, 20_101, right(20_101, 20_201));
    send(&mut pair, 20_101, wrong(20_101, 20_201));
    let mut across = right(20_051, 20_301);
    across[50..150].copy_from_slice(&wrong(20_101, 20_201));
    send(&mut pair, 20_051, across);
    assert_eq!(pair.received(Server), 20_001);
    send(&mut pair, 20_001, [right(20_001, 20_051), wrong(20_051, 20_100)].concat());
    assert_eq!(pair.received(Server), 20_301);
}

/// Data a little beyond the window is accepted, because the window field is rounded. It takes room in the buffer, but
/// the window still opens for the data before it.
#[test]
fn data_beyond_the_window_that_is_taken_does_not_close_it_for_good() {
    let config = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(2000), ..config() };
    let mut pair = Pair::new(&[10, 20], config);
    pair.connect_with_subflows(2);
    let mut forged = pair.forge(Client, 1);
    for at in [3500u64, 4800] {
        let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
        let option = Mapping { dsn: DataNumber::Long(pair.wire_dsn(Client, at)), ssn, len: 1300, checksum: None };
        forged.options.dss =
            Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(option), data_fin: false });
        forged.payload =
            pathweave_wire::Payload::Bytes((at..at + 1300).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into());
        pair.inject(Server, forged.clone());
        forged.seq = forged.seq.wrapping_add(1300);
    }
    pair.write(Client, 20_000);
    // All forged data, and the data before it.
    pair.run_until_received(Server, 6100, secs(20));
}

/// Bad-input row 21.
#[test]
fn numbers_of_32_bits_are_taken_by_their_nearest_place() {
    for writer in [Client, Server] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.script(|p| {
            if let Some(dss) = &mut p.segment.options.dss {
                if let Some(mapping) = &mut dss.mapping {
                    mapping.dsn = DataNumber::Short(mapping.dsn.expand(0) as u32);
                }
                if let Some(ack) = &mut dss.data_ack {
                    *ack = DataNumber::Short(ack.expand(0) as u32);
                }
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 1);
        pair.run_for(ms(300));
        pair.send_all(writer, 3_000_000);
        let before = if writer == Client { 1 } else { 0 };
        pair.run_until_received(writer.other(), 3_000_000 + before, secs(10));
    }
}

/// Bad-input row 21: half of the number space away in either direction is outside of any window.
#[test]
fn a_number_half_of_32_bits_away_is_dropped() {
    for away in [(1u32 << 31) - 1, 1 << 31, (1 << 31) + 1] {
        let mut pair = two_paths();
        let mut forged = pair.forge(Client, 1);
        let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
        let dsn = DataNumber::Short((pair.wire_dsn(Client, 1) as u32).wrapping_add(away));
        let option = Mapping { dsn, ssn, len: 2, checksum: None };
        forged.options.dss =
            Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(option), data_fin: false });
        forged.payload = pathweave_wire::Payload::Bytes(vec![7, 7].into());
        pair.inject(Server, forged);
        assert_eq!((pair.received(Server), pair.the(Server).snapshot().receiving.out_of_order_bytes), (1, 0));
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 10_001, secs(2));
    }
}

/// RFC 8684 §3.3.1: a mapping "does not need to be included in every MPTCP packet, as long as the subflow sequence
/// space in that packet is covered by a mapping known at the receiver".
#[test]
fn one_mapping_may_cover_many_segments() {
    let mut pair = two_paths();
    let mut forged = pair.forge(Client, 1);
    let ssn = forged.seq.wrapping_sub(pair.isn(Client, 1));
    let option = Mapping { dsn: DataNumber::Long(pair.wire_dsn(Client, 1)), ssn, len: 10_000, checksum: None };
    forged.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(option), data_fin: false });
    for at in (1..10_001).step_by(1000) {
        let bytes: Vec<u8> = (at..at + 1000).map(|i| byte_at(Client, i)).collect();
        forged.payload = pathweave_wire::Payload::Bytes(bytes.into());
        pair.inject(Server, forged.clone());
        forged.seq = forged.seq.wrapping_add(1000);
        forged.options.dss = None;
        assert_eq!(pair.received(Server), at + 1000);
    }
}

/// The first subflow's numbers would be those of the stream so far, but another subflow is alive.
#[test]
fn an_infinite_mapping_on_the_first_of_several_subflows_is_reset() {
    let mut pair = two_paths();
    let mut sent = false;
    pair.script(move |p| {
        if is_mapped_data(p, 0) && !sent {
            sent = true;
            mapping(p).expect("mapped").len = 0;
        }
        Fate::Pass
    });
    pair.write(Client, 500);
    pair.run_until_received(Server, 501, secs(3));
    assert_eq!(reset(&pair, Server, 0).map(|(reason, _)| reason), Some(ResetReason::MptcpError));
    assert!(pair.the(Server).is_mptcp());
}

/// The mapping says that the subflow's sequence is the stream's. If that is not true, bytes would be misplaced.
#[test]
fn an_infinite_mapping_of_another_place_is_reset() {
    for (dsn, ssn, fits) in [(1000, 1001, true), (1001, 1001, false), (0, 1001, false), (1000, 1000, false)] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.write(Client, 1000);
        pair.run_until_received(Server, 1000, secs(1));
        pair.run_for(secs(1));
        let mut forged = pair.forge(Client, 0);
        let bytes = (1000..1100).map(|at| byte_at(Client, at)).collect::<Vec<u8>>();
        forged.payload = pathweave_wire::Payload::Bytes(bytes.into());
        let dsn = DataNumber::Long(pair.wire_dsn(Client, dsn));
        let mapping = Some(Mapping { dsn, ssn, len: 0, checksum: None });
        forged.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping, data_fin: false });
        pair.inject(Server, forged);
        let expected = if fits { None } else { Some(ResetReason::MptcpError) };
        assert_eq!(reset(&pair, Server, 0).map(|(reason, _)| reason), expected, "{ssn}");
        assert_eq!(pair.received(Server), if fits { 1100 } else { 1000 });
    }
}
