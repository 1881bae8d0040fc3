//! What a connection may have kept of Multipath TCP when it falls back to plain TCP (RFC 8684 §3.7), and what becomes of it.
//!
//! | what was kept | after the fallback | test |
//! |---|---|---|
//! | the end of the peer's stream (DATA_FIN), before all has come | forgotten: a FIN ends the stream | `a_data_fin_heard_before_does_not_cut_the_stream` |
//! | the same, reached and told to the application | stays; further data is a reset | `nothing_goes_on_behind_an_end_that_was_reached` |
//! | the end of our stream, sent or acknowledged (DATA_FIN) | becomes a FIN | `our_own_end_becomes_a_fin` |
//! | mappings, and data that waits for the rest of one (checksums) | data goes on in the subflow's order | `data_that_waited_for_its_mapping_is_delivered_in_order` |
//! | data that waits for a hole of the stream | no fallback: reset | `data_beyond_a_hole_of_the_stream_is_a_reset` |
//! | data that waits for a hole of the subflow, with a mapping | checked against the subflow's order | `fallback::what_waits_with_another_place_than_plain_tcp_would_give_it_is_not_delivered` |
//! | joins: under way, planned, waiting for a name | aborted, forgotten, refused | `joins_end_with_the_fallback` |
//! | our announcements (ADD_ADDR) without an echo | not repeated | `nothing_is_announced_any_more` |
//! | the peer's announcements and removals | ignored | `signals_of_the_peer_count_no_more` |
//! | the peer's window, counted from a DATA_ACK | the window of plain TCP, which may be smaller | `the_peers_window_is_that_of_plain_tcp` |
//! | DATA_ACKs | ignored: acknowledgements of the subflow count | `signals_of_the_peer_count_no_more` |
//! | priorities (MP_PRIO), the peer's and ours | ignored; not sent | `signals_of_the_peer_count_no_more` |
//! | the keys of a fast close (MP_FASTCLOSE) | ignored; an abort is a plain reset | `signals_of_the_peer_count_no_more` |
//! | what other subflows carry again (reinjection), its timer | forgotten; plain TCP repeats by itself | `a_path_that_seemed_dark_backs_off_as_plain_tcp` |
//! | that the path is dark and probed once a second | forgotten | `a_path_that_seemed_dark_backs_off_as_plain_tcp` |
//! | an infinite mapping, an MP_FAIL to be said | said, once | `fallback::an_infinite_mapping_that_is_lost_comes_again` |

use crate::mp_join::join_syn;
use crate::pair::*;
use core::net::IpAddr;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::connection::PathMeta;
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_wire::mptcp::{AddressId, AddressIds, CapableContent, DataNumber, Dss, Key, Mapping, MptcpOption};
use pathweave_wire::{Flags, Payload, Segment, crypto};

/// An acknowledgement of `from` that says where its stream ends.
fn data_fin(pair: &Pair, from: Side, end: u64) -> Segment {
    let mut forged = pair.forge(from, 0);
    let mapping = Mapping { dsn: DataNumber::Long(pair.wire_dsn(from, end)), ssn: 0, len: 1, checksum: None };
    let data_ack = Some(DataNumber::Long(pair.wire_dsn(from.other(), 0)));
    forged.options.dss = Some(Dss { data_ack, mapping: Some(mapping), data_fin: true });
    forged
}

/// A segment of `from` with MP_FAIL, which makes the peer fall back.
fn fail(pair: &Pair, from: Side) -> Segment {
    let mut forged = pair.forge(from, 0);
    forged.options.mptcp.push(MptcpOption::Fail { dsn: pair.wire_dsn(from.other(), 0) });
    forged
}

/// Data of the client with a mapping: it begins at `at` of the stream, and `ssn` of the subflow.
fn mapped(pair: &Pair, (at, len): (u64, u64), ssn: u32) -> Segment {
    let mut forged = pair.forge(Client, 0);
    forged.seq = pair.isn(Client, 0).wrapping_add(ssn);
    forged.payload = Payload::Bytes((at..at + len).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into());
    let dsn = DataNumber::Long(pair.wire_dsn(Client, at));
    forged.options.dss = Some(Dss {
        data_ack: Some(DataNumber::Long(pair.wire_dsn(Server, 0))),
        mapping: Some(Mapping { dsn, ssn, len: len as u16, checksum: None }),
        data_fin: false,
    });
    forged
}

fn strip(pair: &mut Pair) {
    pair.script(|p| {
        p.strip();
        Fate::Pass
    });
}

fn strip_from(pair: &mut Pair, side: Side) {
    pair.script(move |p| {
        if p.from == side && !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
}

/// Both ends are plain TCP, and the client has sent so many bytes.
fn fallen_back(config: ConnectionConfig, delays: &[u64]) -> Pair {
    let mut pair = Pair::new(delays, config);
    pair.connect();
    strip_from(&mut pair, Client);
    pair.write(Client, 1000);
    pair.run_until("both are plain", secs(5), |p| !p.the(Client).is_mptcp() && !p.the(Server).is_mptcp());
    pair.run_for(secs(1));
    pair.no_script();
    pair
}

fn server_key(pair: &Pair) -> Key {
    let found = pair.sent(Server).flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
        MptcpOption::Capable(c) => match c.content {
            CapableContent::SynAck { sender } => Some(sender),
            _ => None,
        },
        _ => None,
    });
    found.expect("the server's key")
}

#[test]
fn a_data_fin_heard_before_does_not_cut_the_stream() {
    for config in on_each_host(config()) {
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.run_for(secs(1));
        let end = data_fin(&pair, Client, 1000);
        strip(&mut pair);
        pair.inject(Server, end);
        pair.write(Client, 2000);
        pair.run_until_received(Server, 2000, secs(5));
        pair.run_for(secs(1));
        assert!(!pair.the(Server).is_mptcp() && !pair.the(Server).at_end());
        pair.close(Client);
        pair.run_until("the server sees the end", secs(2), |p| p.the(Server).at_end());
        assert_eq!(pair.the(Server).error(), None);
    }
}

#[test]
fn nothing_goes_on_behind_an_end_that_was_reached() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.run_for(secs(1));
    let end = data_fin(&pair, Client, 0);
    pair.inject(Server, end);
    assert!(pair.the(Server).at_end());
    let mut more = pair.forge(Client, 0);
    more.payload = Payload::Bytes(vec![7; 500].into());
    pair.inject(Server, more);
    let failed = ConnectionEvent::Failed(ConnectionError::Reset);
    assert!(pair.happened(Server, |e| *e == failed).is_some(), "the data is not acknowledged and dropped");
    assert_eq!(pair.received(Server), 0);
}

#[test]
fn our_own_end_becomes_a_fin() {
    for acknowledged in [false, true] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        if !acknowledged {
            pair.script(|p| if p.is_data_fin() { Fate::Drop } else { Fate::Pass });
        }
        pair.close(Client);
        pair.run_for(ms(100));
        pair.no_script();
        let fail = fail(&pair, Server);
        pair.inject(Client, fail);
        assert!(!pair.the(Client).is_mptcp());
        pair.run_for(ms(100));
        assert!(pair.sent(Client).any(Packet::is_fin), "acknowledged: {acknowledged}\n{}", pair.describe());
        pair.run_until("the server sees the end", secs(2), |p| p.the(Server).at_end());
    }
}

/// The mapping covers 1000 bytes, of which 500 come with it. What follows is plain TCP's.
#[test]
fn data_that_waited_for_its_mapping_is_delivered_in_order() {
    for checksum in [false, true] {
        let mut pair = Pair::new(&[10], ConnectionConfig { checksum, ..config() });
        pair.connect();
        pair.run_for(secs(1));
        let mut first = mapped(&pair, (0, 500), 1);
        if let Some(mapping) = first.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
            (mapping.len, mapping.checksum) = (1000, checksum.then_some(0));
        }
        pair.inject(Server, first);
        assert_eq!(pair.received(Server), if checksum { 0 } else { 500 });
        let fail = fail(&pair, Client);
        pair.inject(Server, Segment { seq: pair.isn(Client, 0).wrapping_add(501), ..fail });
        assert!(!pair.the(Server).is_mptcp());
        let mut rest = mapped(&pair, (500, 900), 501);
        rest.options.dss = None;
        pair.inject(Server, rest);
        assert_eq!(pair.received(Server), 1400, "checksum: {checksum}\n{}", pair.describe());
    }
}

#[test]
fn data_beyond_a_hole_of_the_stream_is_a_reset() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.run_for(secs(1));
    let beyond = mapped(&pair, (5000, 500), 1);
    pair.inject(Server, beyond);
    assert!(pair.the(Server).is_mptcp());
    let fail = fail(&pair, Client);
    pair.inject(Server, Segment { seq: pair.isn(Client, 0).wrapping_add(501), ..fail });
    assert!(pair.sent(Server).any(Packet::is_rst));
    assert_eq!(pair.received(Server), 0);
}

/// The limit lets one join have a name; a second one waits for it.
#[test]
fn joins_end_with_the_fallback() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.listen(ConnectionConfig { max_subflows: 2, ..config() });
    pair.kill(1);
    pair.connect();
    pair.run_for(secs(1));
    pair.script(|p| if p.from == Server && p.segment.dst.port() >= 7000 { Fate::Drop } else { Fate::Pass });
    let syns = [7000, 7001].map(|port| join_syn(&pair, port));
    for syn in syns.clone() {
        pair.inject(Server, syn);
    }
    strip_from(&mut pair, Client);
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(5));
    pair.run_for(secs(1));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
    for syn in syns {
        let before = pair.driver.io.log.len();
        let third = Segment { flags: Flags::ACK, seq: syn.seq.wrapping_add(1), ..Segment::new(syn.src, syn.dst) };
        pair.inject(Server, third);
        assert!(pair.driver.io.log[before..].iter().all(Packet::is_rst));
        assert!(pair.driver.io.log.len() > before, "port {}: a reset says that nothing is there", syn.src.port());
    }
    pair.revive(1);
    let before = pair.driver.io.log.len();
    pair.command(Client, |c, now| c.add_address(now, IpAddr::from([10, 0, 9, 9]), PathMeta::default()));
    pair.run_for(secs(300));
    assert!(pair.driver.io.log[before..].iter().all(|p| !p.is_syn()), "{}", pair.describe());
    assert_eq!(pair.driver.poll_timeout(), None, "no join is planned");
}

#[test]
fn nothing_is_announced_any_more() {
    let announces =
        |p: &Packet| p.has_option(|o| matches!(o, MptcpOption::AddAddress { .. } | MptcpOption::RemoveAddress { .. }));
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect();
    // The announcement goes out with the first data, and no echo comes.
    pair.script(move |p| {
        if announces(p) || p.from == Client && !p.is_syn() {
            p.strip();
        }
        Fate::Pass
    });
    pair.write(Client, 1000);
    pair.run_until("plain", secs(5), |p| !p.the(Server).is_mptcp());
    pair.run_for(secs(1));
    pair.no_script();
    pair.clear_log();
    let address = pair.driver.io.paths[1].addresses[1];
    pair.command(Server, |c, now| {
        c.remove_address(now, address);
        c.add_address(now, address, PathMeta::default());
        assert!(!c.announce_address(address, PathMeta::default(), Some(8080)));
    });
    pair.run_for(secs(2000));
    assert!(!pair.driver.io.log.iter().any(announces), "{}", pair.describe());
}

#[test]
fn signals_of_the_peer_count_no_more() {
    let mut pair = fallen_back(config(), &[10]);
    let server = server_key(&pair);
    let keys = pair.driver.io.log.iter().flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
        MptcpOption::Capable(c) => match c.content {
            CapableContent::Ack { sender, .. } => Some(sender),
            _ => None,
        },
        _ => None,
    });
    let client = keys.expect("the client's key");
    pair.script(|p| if p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 5000);
    pair.run_for(ms(100));
    let (id, address) = (AddressId(5), IpAddr::from([10, 9, 9, 9]));
    let hmac = Some(crypto::add_address_hmac(server, client, id, address, None));
    let options = [
        MptcpOption::AddAddress { id, address, port: None, hmac },
        MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(0)) },
        MptcpOption::Priority { backup: true },
        MptcpOption::FastClose { receiver: client },
    ];
    for option in options {
        let mut forged = Segment { ack: pair.isn(Client, 0).wrapping_add(1001), ..pair.forge(Server, 0) };
        forged.options.mptcp.push(option);
        let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 6000)));
        forged.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
        let sent = pair.driver.io.log.len();
        pair.inject(Client, forged);
        assert_eq!(pair.driver.io.log.len(), sent, "{option:?} is not answered");
        let c = pair.the(Client);
        assert_eq!((c.snapshot().sending.acked_bytes, c.error()), (1000, None), "{option:?}");
        assert!(!pair.subflow(Client, 0).backup, "{option:?}");
    }
    // Ours are not said any more either.
    pair.no_script();
    pair.clear_log();
    let id = pair.subflow(Client, 0).id;
    pair.command(Client, |c, now| c.set_backup(now, id, true).expect("it lives"));
    pair.run_until_received(Server, 6000, secs(20));
    pair.command(Client, |c, now| c.abort(now));
    assert!(pair.sent(Client).any(Packet::is_rst));
    assert!(pair.sent(Client).all(|p| p.segment.options.mptcp.is_empty()), "{}", pair.describe());
}

/// Multipath TCP's window does not shrink, plain TCP's does (RFC 9293 §3.8.6).
#[test]
fn the_peers_window_is_that_of_plain_tcp() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    assert!(pair.the(Client).is_mptcp());
    let small = Segment { window: 0, ..fail(&pair, Server) };
    pair.script(|p| if p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.inject(Client, small);
    assert!(!pair.the(Client).is_mptcp());
    pair.clear_log();
    pair.write(Client, 50_000);
    pair.run_for(secs(10));
    assert_eq!(pair.data(Client).count(), 0, "the window that came with the fallback is closed\n{}", pair.describe());
}

/// The path was dark for 10 s, in which it was asked once a second. Then the peer falls back, and it is dark again.
#[test]
fn a_path_that_seemed_dark_backs_off_as_plain_tcp() {
    let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(300), ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    pair.script(|p| if p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 5000);
    pair.run_for(secs(10));
    let fail = fail(&pair, Server);
    pair.inject(Client, fail);
    assert!(!pair.the(Client).is_mptcp());
    let reinjected = pair.the(Client).snapshot().counters.reinjected_segments;
    pair.clear_log();
    pair.run_for(secs(30));
    let first = pair.data(Client).next().expect("it repeats").segment.seq;
    let times: Vec<_> = pair.data(Client).filter(|p| p.segment.seq == first).map(|p| p.at).collect();
    let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
    assert!(longest >= Some(secs(6)), "{times:?}");
    pair.no_script();
    pair.run_until_received(Server, 6000, secs(60));
    assert_eq!(pair.the(Client).snapshot().counters.reinjected_segments, reinjected);
}
