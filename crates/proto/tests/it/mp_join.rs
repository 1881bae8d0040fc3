//! MP_JOIN: further subflows (RFC 8684 §3.2).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, FailureDetection, PathManager};
use pathweave_wire::mptcp::{AddressId, CapableContent, MpJoin, MptcpOption, ResetReason};
use pathweave_wire::{Segment, crypto};

pub(crate) fn join(packet: &Packet) -> Option<MpJoin> {
    packet.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Join(j) => Some(*j),
        _ => None,
    })
}

#[test]
fn four_segments_join_a_subflow() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let joins: Vec<_> = pair.driver.io.log.iter().filter(|p| p.path == 1).collect();
    assert!(matches!(join(joins[0]), Some(MpJoin::Syn { .. })));
    assert!(matches!(join(joins[1]), Some(MpJoin::SynAck { .. })));
    assert!(matches!(join(joins[2]), Some(MpJoin::Ack { .. })));
    // The client sends data only after the fourth ACK (RFC 8684 §3.2).
    assert!(joins[3].is_pure_ack() && joins[3].from == Server && join(joins[3]).is_none());
    // The server announces its address at 30 ms, after the third ACK; at 40 ms the announcement proves the peer.
    let times: Vec<_> = joins.iter().take(4).map(|p| p.at).collect();
    assert_eq!(times, [at_ms(40), at_ms(60), at_ms(80), at_ms(100)]);
}

#[test]
fn the_joiner_sends_no_data_before_the_fourth_ack() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.driver.applications.apps[0].pending = 2_000_000;
    pair.connect();
    pair.run_until_received(Server, 2_000_000, secs(10));
    let fourth = pair.sent(Server).filter(|p| p.path == 1).nth(1).expect("there is a fourth ACK").at;
    let data = pair.data(Client).find(|p| p.path == 1).expect("the second path carries data").at;
    assert_eq!(data, fourth + ms(20));
}

#[test]
fn any_one_segment_of_the_join_may_be_lost() {
    for (n, config) in (0..4).flat_map(|n| on_each_host(config()).into_iter().map(move |config| (n, config))) {
        let mut pair = Pair::new(&[10, 20], config);
        let mut seen = 0;
        pair.script(move |p| {
            if p.path != 1 {
                return Fate::Pass;
            }
            seen += 1;
            if seen == n + 1 { Fate::Drop } else { Fate::Pass }
        });
        pair.connect();
        pair.write(Client, 1);
        pair.run_until(&format!("joined without segment {n}"), secs(4), |p| {
            p.usable(Client) == 2 && p.usable(Server) == 2
        });
    }
}

#[test]
fn a_join_works_while_the_connection_is_closing_its_first_direction() {
    // All data is written and the stream closed at once: the transfer still uses both paths.
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect();
    pair.send_all(Client, 3_000_000);
    pair.run_until_received(Server, 3_000_000, secs(10));
    assert!(pair.data(Client).any(|p| p.path == 1));
}

/// The client has written `len` bytes and closed, as the kernel does, before the answer to its join comes.
fn closed_before_the_join(len: u64) -> Pair {
    let config = ConnectionConfig { failure_detection: FailureDetection::Linux, ..config() };
    let mut pair = Pair::new(&[20, 60], config);
    pair.connect();
    pair.run_until("the client joins", secs(1), |p| p.sent(Client).any(|p| p.path == 1));
    pair.write(Client, len);
    pair.close(Client);
    pair.run_until_received(Server, len, secs(10));
    pair.run_for(secs(1));
    assert!(pair.sent(Server).any(|p| p.path == 1 && p.is_syn()), "the join was answered");
    assert_eq!(pair.usable(Client), 1);
    assert!(!pair.data(Client).any(|p| p.path == 1));
    pair
}

#[test]
fn as_the_kernel_a_join_answered_after_the_close_is_reset_and_all_data_under_way_sent_again() {
    let pair = closed_before_the_join(200_000);
    let reset = pair.sent(Client).find(|p| p.path == 1 && p.is_rst()).expect("a reset");
    assert_eq!(reason(&pair, Client), ResetReason::MptcpError);
    // On one subflow a byte's position in the stream is its position in the subflow, unless bytes before it were sent
    // twice.
    let behind = |p: &&Packet| {
        let mapping = p.segment.options.dss.and_then(|d| d.mapping);
        mapping.is_some_and(|m| pair.wire_dsn(Client, u64::from(m.ssn) - 1) > m.dsn.expand(pair.idsn(Client)))
    };
    assert!(!pair.data(Client).filter(|p| p.at < reset.at).any(|p| behind(&p)));
    let again = pair.data(Client).filter(behind).count();
    assert!(again > 10, "{again} segments");
}

#[test]
fn as_the_kernel_the_data_fin_ends_joins_that_are_not_answered() {
    let pair = closed_before_the_join(1000);
    let reset = pair.sent(Client).find(|p| p.path == 1 && p.is_rst()).expect("a reset");
    assert!(!reset.has_option(|_| true), "the answer finds nothing");
    assert_eq!(pair.data(Client).filter(|p| p.len() > 0).count(), 1);
}

#[test]
fn a_client_that_only_receives_joins_too() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect();
    pair.close(Client);
    pair.send_all(Server, 3_000_000);
    pair.run_until_received(Client, 3_000_000, secs(10));
    assert!(pair.data(Server).any(|p| p.path == 1));
}

#[test]
fn a_path_that_is_dead_at_the_start_is_joined_within_seconds_of_its_return() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.kill(1);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(100));
    pair.revive(1);
    pair.run_until("the second path is joined", secs(5), |p| p.usable(Client) == 2);
    let tries = pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count();
    assert!(tries <= 110, "{tries} SYNs in 100 s");
}

#[test]
fn a_refused_join_is_not_tried_again_at_once() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.listen(ConnectionConfig { max_subflows: 1, ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(60));
    let tries = pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count();
    assert!((2..=30).contains(&tries), "{tries} SYNs in 60 s");
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(1));
}

/// The reason of the last reset on path 1.
#[track_caller]
fn reason(pair: &Pair, from: Side) -> ResetReason {
    let reset = pair.sent(from).rev().find(|p| p.is_rst() && p.path == 1).expect("a reset");
    let reason = reset.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Reset { reason, .. } => Some(*reason),
        _ => None,
    });
    reason.expect("a reset says why")
}

/// Changes the options of joins, and checks that only the join fails.
#[track_caller]
fn refused(refuses: Side, change: impl Fn(&mut MpJoin) -> bool + 'static) {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(move |p| {
        p.segment.options.mptcp.retain_mut(|o| match o {
            MptcpOption::Join(join) => change(join),
            _ => true,
        });
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_for(secs(2));
    assert_eq!(reason(&pair, refuses), ResetReason::MptcpError);
    assert_eq!((pair.usable(Client), pair.usable(Server)), (1, 1));
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 20_000, secs(1));
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
}

/// Bad-input row 11: "send RST (analogous to TCP's behavior on an unknown port)" (RFC 8684 §3.8).
#[test]
fn an_unknown_token_is_refused() {
    refused(Server, |join| {
        if let MpJoin::Syn { token, .. } = join {
            token.0 ^= 1;
        }
        true
    });
}

/// Bad-input row 11.
#[test]
fn a_wrong_hmac_is_refused() {
    refused(Client, |join| {
        if let MpJoin::SynAck { hmac, .. } = join {
            *hmac ^= 1;
        }
        true
    });
    refused(Server, |join| {
        if let MpJoin::Ack { hmac } = join {
            hmac[19] ^= 1;
        }
        true
    });
}

/// Bad-input row 11.
#[test]
fn an_answer_without_mp_join_is_refused() {
    refused(Client, |join| !matches!(join, MpJoin::SynAck { .. }));
    refused(Server, |join| !matches!(join, MpJoin::Ack { .. }));
}

/// A SYN with MP_JOIN for the server's connection, from another port.
pub(crate) fn join_syn(pair: &Pair, port: u16) -> Segment {
    let keys = pair.driver.io.log.iter().flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
        MptcpOption::Capable(c) => match c.content {
            CapableContent::SynAck { sender } => Some(sender),
            _ => None,
        },
        _ => None,
    });
    let mut syn = pair.driver.io.log[0].segment.clone();
    syn.src.set_port(port);
    let token = crypto::token(keys.expect("the server's key"));
    let join = MpJoin::Syn { backup: false, address_id: AddressId(9), token, nonce: u32::from(port) };
    syn.options.mptcp = vec![MptcpOption::Join(join)];
    syn
}

/// The reason with which a SYN is refused, if it is.
#[track_caller]
fn answer(pair: &mut Pair, syn: Segment) -> Option<ResetReason> {
    pair.inject(Server, syn);
    let answer = pair.sent(Server).next_back().expect("an answer");
    answer.is_rst().then(|| match answer.segment.options.mptcp[..] {
        [MptcpOption::Reset { reason, .. }] => reason,
        ref other => panic!("{other:?}"),
    })
}

/// Bad-input row 12.
#[test]
fn a_join_over_the_limit_is_refused() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.listen(ConnectionConfig { max_subflows: 2, ..config() });
    pair.connect_with_subflows(2);
    let syn = join_syn(&pair, 7000);
    assert_eq!(answer(&mut pair, syn), Some(ResetReason::Prohibited));
}

/// Bad-input row 12.
#[test]
fn a_join_before_the_connection_is_established_is_refused() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.run_for(ms(15));
    let syn = join_syn(&pair, 7000);
    assert_eq!(answer(&mut pair, syn), Some(ResetReason::MptcpError));
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(1));
    assert!(pair.the(Server).is_mptcp());
}

/// Bad-input row 12: "the sender of this option will not accept additional MPTCP subflows to the source address and
/// port" (RFC 8684 §3.1).
#[test]
fn a_join_of_the_initial_address_despite_the_c_flag_is_refused_and_none_is_tried() {
    for c_flag in [false, true] {
        let mut pair = Pair::new(&[10, 20], ConnectionConfig { path_manager: PathManager::NDiffPorts(2), ..config() });
        pair.listen(ConnectionConfig { protect_initial_address: c_flag, ..config() });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        let joins = pair.sent(Client).filter(|p| p.is_syn() && join(p).is_some()).count();
        assert_eq!(joins, usize::from(!c_flag));
        let syn = join_syn(&pair, 7000);
        assert_eq!(answer(&mut pair, syn), c_flag.then_some(ResetReason::Prohibited));
        // Another address may be joined.
        let mut other = join_syn(&pair, 7001);
        other.dst.set_ip(pair.driver.io.paths[1].addresses[1]);
        other.src.set_ip(pair.driver.io.paths[1].addresses[0]);
        assert_eq!(answer(&mut pair, other), None);
    }
}

/// Further addresses are paired with the announced ones, wherever the first subflow's address is in the list.
#[test]
fn with_the_c_flag_no_further_address_waits_for_the_initial_one() {
    for reversed in [false, true] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.listen(ConnectionConfig { protect_initial_address: true, ..config() });
        let mut addresses = pair.local_addresses(Client);
        if reversed {
            addresses.reverse();
        }
        pair.open_with(&addresses);
        pair.run_for(secs(1));
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2), "{reversed}");
    }
}

/// Bad-input row 12.
#[test]
fn a_join_to_a_port_that_was_not_announced_is_refused() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    for port in [81, 1, 49_152] {
        let mut syn = join_syn(&pair, 7000);
        syn.dst.set_port(port);
        assert_eq!(answer(&mut pair, syn), Some(ResetReason::Prohibited));
    }
}

/// Bad-input row 13.
#[test]
fn a_third_ack_that_comes_again_changes_nothing() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let third =
        pair.driver.io.log.iter().find(|p| matches!(join(p), Some(MpJoin::Ack { .. }))).expect("sent").segment.clone();
    for spoil in [false, true] {
        let mut again = third.clone();
        if let (true, Some(MptcpOption::Join(MpJoin::Ack { hmac }))) = (spoil, again.options.mptcp.first_mut()) {
            hmac[0] ^= 1;
        }
        for _ in 0..5 {
            let sent = pair.sent(Server).count();
            pair.inject(Server, again.clone());
            assert_eq!(pair.sent(Server).skip(sent).filter(|p| p.is_pure_ack()).count(), 1);
        }
        assert_eq!(pair.the(Server).subflows().count(), 2);
    }
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(2));
    assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
}

/// Bad-input row 14.
#[test]
fn a_flood_of_joins_takes_bounded_memory_and_the_peers_own_succeeds() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.listen(ConnectionConfig { max_subflows: 2, ..config() });
    pair.kill(1);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(ms(500));
    let flood = join_syn(&pair, 1);
    pair.revive(1);
    let mut joined = None;
    for n in 0..6000u32 {
        // One in each ms, 40 in the round trip of the peer's own join, which is tried again within a second.
        pair.run_for(ms(1));
        let mut syn = flood.clone();
        syn.src.set_port(1000 + n as u16);
        let now = pair.now;
        pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &syn);
        while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
        assert!(pair.the(Server).subflows().count() <= 2);
        if pair.usable(Client) == 2 && pair.usable(Server) == 2 {
            joined.get_or_insert(n);
        }
    }
    assert!(joined.is_some_and(|n| n <= 2000), "{joined:?}\n{}", pair.describe());
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 101_000, secs(2));
}

#[test]
fn subflows_from_other_ports_over_one_path() {
    let mut pair = Pair::new(&[10], ConnectionConfig { path_manager: PathManager::NDiffPorts(3), ..config() });
    pair.connect();
    pair.write(Client, 1);
    pair.run_until("three subflows", secs(1), |p| p.usable(Client) == 3 && p.usable(Server) == 3);
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 1_000_001, secs(10));
}

/// The flag B of a SYN/ACK says what the server asks for; it does not repeat the client's flag.
#[test]
fn the_answer_to_a_join_asks_for_a_backup_only_where_its_own_side_wants_one() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        for option in &mut p.segment.options.mptcp {
            if let MptcpOption::Join(MpJoin::Syn { backup, .. }) = option {
                *backup = true;
            }
        }
        Fate::Pass
    });
    pair.connect_with_subflows(2);
    let answer = pair.sent(Server).find_map(join).expect("an answer");
    assert!(matches!(answer, MpJoin::SynAck { backup: false, .. }), "{answer:?}");
    assert!(pair.subflow(Server, 1).backup, "the server obeys all the same");
    assert!(!pair.subflow(Client, 1).backup);
}

/// "Host A ... MUST NOT send data until it has received the fourth ACK" (RFC 8684 §3.2). A repeated SYN/ACK is not
/// that.
#[test]
fn a_repeated_answer_is_no_fourth_ack() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        for option in &mut p.segment.options.mptcp {
            if let MptcpOption::Join(MpJoin::SynAck { backup, .. }) = option {
                *backup = true;
            }
        }
        if p.path == 1 && p.from == Server && !p.is_syn() { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until("the third ACK", secs(1), |p| p.sent(Client).any(|p| p.path == 1 && !p.is_syn()));
    let answer = pair.sent(Server).find(|p| p.path == 1).expect("it answered").segment.clone();
    pair.inject(Client, answer);
    assert_eq!(pair.usable(Client), 1);
    pair.no_script();
    pair.run_until("joined", secs(5), |p| p.usable(Client) == 2);
    assert!(pair.subflow(Client, 1).backup, "the server has asked for it");
}

#[test]
fn a_lost_subflow_is_joined_again() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    // A middlebox resets the second subflow in both directions.
    for (to, from) in [(Server, Client), (Client, Server)] {
        let mut last = pair.sent(from).rev().find(|p| p.path == 1).expect("it was used").segment.clone();
        last.flags = pathweave_wire::Flags::RST;
        last.options = Default::default();
        last.seq = last.seq.wrapping_add(0);
        pair.inject(to, last);
    }
    assert_eq!((pair.usable(Client), pair.usable(Server)), (1, 1));
    pair.write(Client, 1000);
    pair.run_until("it is back", secs(5), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 1_001_001, secs(10));
}

/// Data that came before a failure can still be read, so the connection exists, but it takes no further subflow.
#[test]
fn a_join_to_a_connection_that_has_failed_is_refused() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.driver.applications.apps[1].reads = false;
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let syn = join_syn(&pair, 7000);
    pair.command(Client, |c, now| c.abort(now));
    pair.run_for(ms(100));
    assert!(pair.the(Server).error().is_some());
    assert_eq!(answer(&mut pair, syn), Some(ResetReason::MptcpError));
}

/// If an added address makes a client look for subflows, it starts none before the peer has shown that it speaks
/// Multipath TCP ("new subflows MUST NOT be established ... until a DSS option has been successfully received", RFC
/// 8684 §3.1), none after both directions have ended, and none after a failure.
#[test]
fn no_subflow_is_opened_before_the_peer_has_shown_itself_nor_after_the_end() {
    let config = ConnectionConfig { path_manager: PathManager::NDiffPorts(2), ..config() };
    let joins_now = |pair: &mut Pair| {
        let before = pair.sent(Client).filter(|p| p.is_syn()).count();
        let address = core::net::IpAddr::from([10, 0, 9, 1]);
        pair.command(Client, |c, now| c.add_address(now, address, Default::default()));
        pair.run_for(secs(3));
        pair.sent(Client).filter(|p| p.is_syn()).count() - before
    };
    let mut unconfirmed = Pair::new(&[10], config.clone());
    unconfirmed.connect();
    assert_eq!(joins_now(&mut unconfirmed), 0);
    unconfirmed.write(Client, 1);
    unconfirmed.run_until("it joins", secs(1), |p| p.usable(Client) == 2);

    let mut ended = Pair::new(&[10], ConnectionConfig { single_path: true, ..config.clone() });
    ended.connect();
    ended.send_all(Client, 1000);
    ended.run_for(secs(1));
    ended.close(Server);
    ended.run_for(secs(1));
    assert!(ended.the(Client).error().is_none() && ended.usable(Client) == 0);
    assert_eq!(joins_now(&mut ended), 0);

    let mut failed = Pair::new(&[10], config);
    failed.connect_with_subflows(2);
    failed.driver.applications.apps[0].reads = false;
    failed.write(Server, 1000);
    failed.run_for(secs(1));
    failed.command(Server, |c, now| c.abort(now));
    failed.run_for(secs(1));
    assert!(failed.the(Client).error().is_some());
    assert_eq!(joins_now(&mut failed), 0);
}
