//! DSS checksums, and what happens after a wrong one (RFC 8684 §3.1, §3.3, §3.7).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::mptcp::{CapableContent, MpCapable, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Payload};

fn with_checksums() -> ConnectionConfig {
    ConnectionConfig { checksum: true, ..config() }
}

/// The checksum of a data segment's mapping.
fn checksum(packet: &Packet) -> Option<u16> {
    let capable = packet.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Capable(MpCapable { content: CapableContent::Ack { checksum, .. }, .. }) => Some(*checksum),
        _ => None,
    });
    capable.unwrap_or_else(|| packet.segment.options.dss.and_then(|d| d.mapping).and_then(|m| m.checksum))
}

/// A middlebox changes the first byte of a segment.
fn edit(packet: &mut Packet) {
    let mut edited = packet.segment.payload.to_vec();
    if !edited.is_empty() {
        edited[0] ^= 0x20;
        packet.segment.payload = Payload::Bytes(edited.into());
    }
}

fn fails(packet: &Packet) -> bool {
    packet.has_option(|o| matches!(o, MptcpOption::Fail { .. }))
}

#[test]
fn they_are_used_if_either_side_asks() {
    for (client, server) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut pair = Pair::new(&[10, 20], ConnectionConfig { checksum: client, ..config() });
        pair.listen(ConnectionConfig { checksum: server, ..config() });
        pair.connect();
        pair.send_all(Client, 200_000);
        pair.send_all(Server, 200_000);
        pair.run_until_received(Server, 200_000, secs(5));
        pair.run_until_received(Client, 200_000, secs(5));
        let used = client || server;
        let all = pair.driver.io.log.iter().filter(|p| p.is_data() || p.is_data_fin());
        assert!(all.clone().count() > 200 && all.clone().all(|p| checksum(p).is_some() == used));
        // The third ACK says what was agreed.
        let third = pair.driver.io.log[2].segment.options.mptcp.first();
        assert!(matches!(third, Some(MptcpOption::Capable(c)) if c.flags.checksum_required == used), "{third:?}");
        pair.run_for(secs(100));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
    }
}

#[test]
fn virtual_data_counts_as_zeros() {
    let mut pair = Pair::new(&[10, 20], with_checksums());
    pair.driver.io.virtual_payload = true;
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    let client = pair.driver.applications.apps[0].handle.expect("open");
    let all = Payload::Virtual { start: 0, len: 100_001 };
    assert_eq!(pair.driver.endpoints[0].write(pair.now, client, all), Ok(100_001));
    pair.settle();
    pair.run_until("all came", secs(2), |p| p.the(Server).snapshot().receiving.in_order_bytes == 100_001);
}

/// Bad-input row 23.
#[test]
fn a_wrong_one_with_several_subflows_resets_the_subflow_with_mp_fail_and_nothing_is_delivered() {
    for broken in [0, 1] {
        let mut pair = Pair::new(&[10, 10], with_checksums());
        pair.connect_with_subflows(2);
        let mut dsn = None;
        let seen = std::rc::Rc::new(std::cell::Cell::new(None));
        let first = seen.clone();
        pair.script(move |p| {
            if p.from == Client && p.path == broken && p.is_data() && dsn.is_none() {
                dsn = p.segment.options.dss.and_then(|d| d.mapping).map(|m| m.dsn.expand(0));
                first.set(dsn);
                edit(p);
            }
            Fate::Pass
        });
        pair.write(Client, 200_000);
        // The harness checks that no changed byte is delivered.
        pair.run_until_received(Server, 200_001, secs(5));
        let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
        assert_eq!(reset.path, broken);
        let reason = ResetReason::Middlebox;
        let expected =
            [MptcpOption::Fail { dsn: seen.get().expect("edited") }, MptcpOption::Reset { transient: false, reason }];
        assert_eq!(reset.segment.options.mptcp, expected);
        assert!(pair.the(Server).is_mptcp() && pair.the(Client).is_mptcp());
    }
}

/// Bad-input row 23: the stream continues as plain TCP, changed bytes included.
#[test]
fn a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping() {
    for lost in [None, Some(Server), Some(Client)] {
        let mut pair = Pair::new(&[10], with_checksums());
        pair.driver.applications.unchecked = true;
        pair.connect();
        pair.write(Client, 20_000);
        pair.write(Server, 20_000);
        pair.run_for(ms(500));
        let (mut edited, mut dropped) = (0, false);
        pair.script(move |p| {
            if p.from == Client && p.is_data() {
                edited += 1;
                if edited == 3 {
                    edit(p);
                }
            }
            if Some(p.from) == lost && fails(p) && !dropped {
                dropped = true;
                return Fate::Drop;
            }
            Fate::Pass
        });
        pair.send_all(Client, 100_000);
        pair.run_for(secs(3));
        assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp(), "{lost:?}");
        assert!(pair.sent(Server).any(fails) && pair.sent(Client).any(fails), "{lost:?}");
        let infinite = |p: &&Packet| p.segment.options.dss.is_some_and(|d| d.mapping.is_some_and(|m| m.len == 0));
        assert_eq!(pair.data(Client).filter(infinite).count(), 1, "{lost:?}");
        pair.send_all(Server, 50_000);
        pair.run_until("all came", secs(5), |p| p.received(Server) == 120_000 && p.received(Client) == 70_000);
        let changed = pair.driver.applications.apps[1]
            .received
            .iter()
            .enumerate()
            .filter(|(i, b)| **b != byte_at(Client, *i as u64))
            .count();
        assert_eq!(changed, 1);
        pair.run_for(secs(100));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
    }
}

/// Bad-input row 24: "the receiver MUST close the subflow with a RST", with the reason "MPTCP-specific error"
/// (RFC 8684 §3.3).
#[test]
fn one_that_is_there_or_missing_against_the_negotiation_is_a_reset() {
    for negotiated in [false, true] {
        let mut pair = Pair::new(&[10, 10], ConnectionConfig { checksum: negotiated, ..config() });
        pair.connect_with_subflows(2);
        let mut done = false;
        pair.script(move |p| {
            if p.from == Client && p.path == 1 && p.is_data() && !done {
                done = true;
                let mapping = p.segment.options.dss.as_mut().and_then(|d| d.mapping.as_mut()).expect("mapped");
                mapping.checksum = if negotiated { None } else { Some(1) };
            }
            Fate::Pass
        });
        pair.write(Client, 200_000);
        pair.run_until_received(Server, 200_001, secs(5));
        let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
        let reason = ResetReason::MptcpError;
        assert_eq!(reset.segment.options.mptcp, [MptcpOption::Reset { transient: false, reason }]);
        assert_eq!(reset.path, 1);
    }
}

/// Bad-input row 25.
#[test]
fn an_mp_fail_that_nothing_called_for_with_several_subflows_changes_nothing() {
    let mut pair = Pair::new(&[10, 10], with_checksums());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    for (to, path) in [(Server, 0), (Client, 1)] {
        let mut forged = pair.forge(to.other(), path);
        forged.options.mptcp.push(MptcpOption::Fail { dsn: pair.wire_dsn(to, 0) });
        let sent = pair.sent(to).count();
        pair.inject(to, forged);
        assert_eq!(pair.sent(to).count(), sent);
    }
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(2));
    assert!(pair.the(Server).is_mptcp() && pair.the(Client).is_mptcp());
    assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2));
}

/// A connection with one subflow. Its client has sent a window of data twice under different mappings, and a middlebox
/// has removed all of them: the server holds bytes without a position.
fn repeated_without_mappings() -> Pair {
    let mut pair = Pair::new(&[10], with_checksums());
    pair.connect();
    pair.write(Client, 2000);
    pair.run_until_received(Server, 2000, secs(1));
    pair.run_for(secs(1));
    pair.script(|p| {
        if p.from == Client && p.is_data() {
            p.segment.options.dss = None;
        }
        Fate::Pass
    });
    pair.write(Client, 3000);
    pair.run_for(secs(10));
    let end = pair.data(Client).map(|p| pair.relative(p) + p.len()).max().expect("there is data");
    assert!(end > 1 + 2000 + 3000, "something has come again: {end}");
    assert_eq!(pair.received(Server), 2000);
    pair
}

/// "In the rare case that the data is not contiguous ... the receiver MUST close the subflow with a RST with MP_FAIL"
/// (RFC 8684 §3.7). That holds for the side that finds the wrong checksum as for the side that is told.
#[test]
fn a_wrong_one_where_data_has_come_again_resets_the_subflow() {
    let mut pair = repeated_without_mappings();
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Server && p.is_data() && !edited {
            edited = true;
            edit(p);
        }
        Fate::Pass
    });
    pair.clear_log();
    pair.write(Server, 5000);
    pair.run_for(secs(5));
    let first = pair.sent(Client).find(|p| fails(p)).expect("the client says so");
    assert!(first.is_rst(), "{first:?}");
    assert_eq!((pair.received(Server), pair.received(Client)), (2000, 0));
}

#[test]
fn an_mp_fail_without_an_answer_is_said_again_but_not_on_every_acknowledgement() {
    let mut pair = Pair::new(&[10], with_checksums());
    pair.driver.applications.unchecked = true;
    pair.connect();
    pair.write(Client, 2000);
    pair.run_for(secs(1));
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Client && p.is_data() && !edited {
            edited = true;
            edit(p);
        }
        // The server is never answered.
        if p.from == Server && fails(p) { Fate::Drop } else { Fate::Pass }
    });
    pair.clear_log();
    let start = pair.now;
    for _ in 0..20 {
        pair.write(Client, 3000);
        pair.run_for(ms(20));
    }
    let said = |pair: &Pair| pair.sent(Server).filter(|p| fails(p)).map(|p| p.at.since(start)).collect::<Vec<_>>();
    let said = said(&pair);
    assert!(
        said.len() >= 2 && said.windows(2).all(|pair| pair[1] - pair[0] >= ms(20)),
        "once in a round trip: {said:?}"
    );
    assert!(pair.sent(Server).count() > said.len(), "with more acknowledgements than that");
}

/// The subflow with the wrong checksum dies before the MP_FAIL is answered: another one carries its data again and gets
/// no MP_FAIL.
#[test]
fn an_mp_fail_ends_with_its_subflow() {
    let mut pair = Pair::new(&[10, 10], with_checksums());
    pair.kill(1);
    pair.connect();
    pair.write(Client, 2000);
    pair.run_for(ms(500));
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Client && p.is_data() && !core::mem::replace(&mut edited, true) {
            edit(p);
        }
        if p.from == Server && fails(p) && p.path == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 3000);
    pair.run_until("it is said", secs(1), |p| p.sent(Server).any(fails));
    pair.kill(0);
    pair.revive(1);
    pair.run_until_received(Server, 5000, secs(60));
    assert!(!pair.sent(Server).any(|p| p.path == 1 && fails(p)));
    assert!(pair.the(Server).is_mptcp());
}

/// An unanswered join is no subflow that could replace the first one.
#[test]
fn an_mp_fail_while_an_own_join_is_unanswered_is_answered() {
    let mut pair = Pair::new(&[10, 10], with_checksums());
    pair.driver.applications.unchecked = true;
    pair.kill(1);
    pair.connect();
    pair.write(Client, 2000);
    pair.run_for(ms(500));
    assert!(pair.sent(Client).any(|p| p.path == 1 && p.is_syn()));
    let mut fail = pair.forge(Server, 0);
    fail.options.mptcp.push(MptcpOption::Fail { dsn: pair.wire_dsn(Client, 2000) });
    pair.clear_log();
    pair.inject(Client, fail);
    assert!(pair.sent(Client).any(fails));
    assert!(!pair.the(Client).is_mptcp());
}

/// A side that is asked to fall back while it holds data without mappings does not guess the data's position.
#[test]
fn an_mp_fail_while_data_waits_for_its_mapping_resets_the_subflow() {
    let mut pair = repeated_without_mappings();
    let mut fail = pair.forge(Client, 0);
    fail.options.mptcp.push(MptcpOption::Fail { dsn: pair.wire_dsn(Server, 0) });
    pair.clear_log();
    pair.inject(Server, fail);
    let reset = pair.sent(Server).find(|p| p.is_rst()).expect("a reset");
    assert!(fails(reset));
    assert_eq!(pair.received(Server), 2000);
}

/// A side that has sent MP_FAIL does not know when the peer acts on it: until then it sends nothing under a second
/// mapping.
#[test]
fn after_an_mp_fail_nothing_comes_again() {
    let mut pair = Pair::new(&[10], with_checksums());
    pair.connect();
    pair.write(Client, 2000);
    pair.write(Server, 2000);
    pair.run_for(secs(1));
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Server && p.is_data() && !edited {
            edited = true;
            edit(p);
        }
        if p.from == Client && p.is_data() {
            p.segment.options.dss = None;
            p.segment.options.mptcp.clear();
        }
        if p.from == Client && fails(p) { Fate::Drop } else { Fate::Pass }
    });
    pair.clear_log();
    pair.write(Server, 5000);
    pair.run_for(ms(100));
    assert!(pair.sent(Client).any(|p| fails(p) && !p.is_rst()));
    pair.write(Client, 3000);
    pair.run_for(secs(5));
    assert_eq!(pair.data(Client).map(|p| u64::from(p.len())).sum::<u64>(), 3000);
    assert!(pair.the(Client).is_mptcp(), "it is not answered");
}

/// A DATA_FIN without data has a checksum too, of its pseudo-header (RFC 8684 §3.3.1). If it is wrong, the stream does
/// not end.
#[test]
fn a_wrong_one_of_a_data_fin_resets_the_subflow_and_another_brings_the_end() {
    let mut pair = Pair::new(&[10, 40], with_checksums());
    pair.connect_with_subflows(2);
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let mut edited = false;
    pair.script(move |p| {
        if p.from == Client && p.is_data_fin() && !edited {
            edited = true;
            let mapping = p.segment.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut());
            let checksum = mapping.and_then(|mapping| mapping.checksum.as_mut()).expect("checksums are in use");
            *checksum ^= 1;
        }
        Fate::Pass
    });
    pair.close(Client);
    let reason = |p: &Packet| p.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::Middlebox, .. }));
    pair.run_until("a reset", ms(50), |p| p.sent(Server).any(|p| p.is_rst() && reason(p)));
    assert!(!pair.the(Server).at_end(), "it was not believed");
    pair.run_until("the end has come on the other path", secs(5), |p| p.the(Server).at_end());
}

/// "In the rare case that the data is not contiguous ... the receiver MUST close the subflow with a RST with MP_FAIL"
/// (RFC 8684 §3.7): here some of our data has gone over a subflow that is gone.
#[test]
fn an_mp_fail_after_data_on_two_subflows_resets_the_last_with_mp_fail() {
    let mut pair = Pair::new(&[10, 10], with_checksums());
    pair.connect_with_subflows(2);
    pair.write(Client, 200_000);
    pair.run_until_received(Server, 200_001, secs(5));
    pair.run_for(secs(1));
    assert!(pair.data(Client).any(|p| p.path == 1));
    let mut reset = pair.forge(Server, 1);
    reset.flags = Flags::RST | Flags::ACK;
    // The subflow is not joined again.
    reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::Prohibited });
    pair.inject(Client, reset);
    assert_eq!(pair.usable(Client), 1);
    let mut fail = pair.forge(Server, 0);
    let dsn = pair.wire_dsn(Client, 200_001);
    fail.options.mptcp.push(MptcpOption::Fail { dsn });
    pair.clear_log();
    pair.inject(Client, fail);
    let answer = pair.sent(Client).next().expect("it answers");
    assert!(answer.is_rst() && fails(answer), "{answer:?}");
}
