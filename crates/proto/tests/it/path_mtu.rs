//! Each path has an MTU of its own, which may turn out to be smaller than expected.

use crate::pair::{Client, Fate, Pair, Says, Server, Side, config, ms, on_each_host, secs, tcp_config};
use pathweave_proto::config::{ConnectionConfig, LossRecovery, PathMtuDiscovery, TcpConfig};
use pathweave_proto::{PacketTooBig, PacketTooBigVerdict, PathMtuError};
use pathweave_units::random::Random;
use pathweave_wire::Segment;
use pathweave_wire::mptcp::Mapping;
use std::collections::BTreeMap;

/// Sets a path's MTU at both ends.
fn set_path_mtu(pair: &mut Pair, path: usize, mtu: u32) {
    let [client, server] = pair.driver.io.paths[path].addresses;
    pair.driver.endpoints[0].set_path_mtu(pair.now, client, server, mtu).expect("the path takes that much");
    pair.driver.endpoints[1].set_path_mtu(pair.now, server, client, mtu).expect("the path takes that much");
}

/// Size of the largest IP packet that one end has sent on a path.
fn largest(pair: &Pair, from: Side, path: usize) -> u32 {
    pair.sent(from).filter(|p| p.path == path).map(|p| p.segment.ip_len()).max().unwrap_or(0)
}

#[test]
fn each_path_is_filled_to_its_own_mtu() {
    type New = fn(&[u64], ConnectionConfig) -> Pair;
    for (new, least) in [(Pair::new as New, 552), (Pair::ipv6 as New, 1280)] {
        let mut pair = new(&[10, 10], config());
        set_path_mtu(&mut pair, 0, 1400);
        set_path_mtu(&mut pair, 1, least);
        pair.connect();
        pair.run_for(ms(100));
        pair.send_all(Client, 300_000);
        pair.run_until_received(Server, 300_000, secs(10));
        assert_eq!([largest(&pair, Client, 0), largest(&pair, Client, 1)], [1400, least]);
        let headers = if least == 1280 { 60 } else { 40 };
        for syn in pair.driver.io.log.iter().filter(|p| p.is_syn()) {
            let expected = [1400, least][syn.path] - headers;
            assert_eq!(syn.segment.options.mss.map(u32::from), Some(expected), "the MSS option of {:?}", syn.from);
        }
    }
}

#[test]
fn the_peers_smaller_path_mtu_binds_as_well() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[10], config);
        let [client, server] = pair.driver.io.paths[0].addresses;
        pair.driver.endpoints[1].set_path_mtu(pair.now, server, client, 1000).expect("the path takes that much");
        pair.connect();
        pair.send_all(Client, 50_000);
        pair.run_until_received(Server, 50_000, secs(10));
        assert_eq!(largest(&pair, Client, 0), 1000, "what the server's MSS option says");
    }
}

#[test]
fn an_mtu_below_every_paths_is_refused() {
    let mut pair = Pair::new(&[10], config());
    let [client, server] = pair.driver.io.paths[0].addresses;
    let (now, endpoint) = (pair.now, &mut pair.driver.endpoints[0]);
    assert_eq!(endpoint.set_path_mtu(now, client, server, 551), Err(PathMtuError::TooSmall { least: 552 }));
    let six = "fd00::1".parse().expect("an address");
    assert_eq!(endpoint.set_path_mtu(now, six, six, 1279), Err(PathMtuError::TooSmall { least: 1280 }));
    assert_eq!(endpoint.set_path_mtu(now, six, server, 1500), Err(PathMtuError::MixedFamilies));
}

/// Two ends with one path that takes packets of `mtu` bytes.
fn narrow(config: ConnectionConfig, mtu: u32, says: Says) -> Pair {
    let mut pair = Pair::new(&[10], config);
    pair.driver.io.paths[0].narrow = Some((mtu, says));
    pair
}

/// The mappings of an end's data, by the subflow number of their first byte; checks that each byte keeps its mapping.
#[track_caller]
fn mappings(pair: &Pair, from: Side) -> BTreeMap<u32, Mapping> {
    mappings_on(pair, from, 0)
}

#[track_caller]
fn mappings_on(pair: &Pair, from: Side, path: usize) -> BTreeMap<u32, Mapping> {
    let mut found = BTreeMap::new();
    for packet in pair.sent(from).filter(|p| p.is_data() && p.path == path) {
        let Some(mapping) = packet.segment.options.dss.and_then(|d| d.mapping) else { continue };
        let first = *found.entry(mapping.ssn).or_insert(mapping);
        assert_eq!(first, mapping, "a mapping is fixed");
    }
    for (a, b) in found.values().zip(found.values().skip(1)) {
        assert!(a.ssn + u32::from(a.len) <= b.ssn, "{a:?} and {b:?} overlap");
    }
    found
}

#[test]
fn what_was_too_large_goes_out_again_in_pieces_and_the_window_stays() {
    let checksums = ConnectionConfig { checksum: true, ..config() };
    for config in on_each_host(config()).into_iter().chain([checksums, tcp_config()]) {
        let mptcp = config.mptcp;
        let mut pair = narrow(config, 1300, Says::Message);
        pair.connect();
        pair.send_all(Client, 300_000);
        let cwnd = pair.subflow(Client, 0).window.cwnd;
        pair.run_until_received(Server, 300_000, secs(10));
        let subflow = pair.subflow(Client, 0);
        assert_eq!((subflow.counters.timeouts, subflow.counters.recoveries), (0, 0), "its size was no congestion");
        assert!(subflow.window.cwnd >= cwnd, "{} after {cwnd}", subflow.window.cwnd);
        assert_eq!(subflow.path_mtu, 1300);
        let before = pair.sent(Client).filter(|p| p.segment.ip_len() > 1300).map(|p| p.number).max();
        let before = before.expect("the first segments are too large");
        let later = pair.sent(Client).filter(|p| p.number > before).map(|p| p.segment.ip_len()).max();
        assert_eq!(later, Some(1300), "the path is filled");
        if mptcp {
            let mappings = mappings(&pair, Client);
            let piece = pair.sent(Client).filter(|p| p.number > before && p.is_data()).any(|p| {
                let mapping = p.segment.options.dss.and_then(|d| d.mapping);
                mapping.is_some_and(|m| p.len() < u32::from(m.len))
            });
            assert!(piece && mappings.len() > 200, "pieces carry the mapping of the segment that they were");
        }
    }
}

/// "cwnd SHOULD be reduced by the ratio of the old segment size to the new segment size" (RFC 5681 §3.1): the window
/// counts segments.
#[test]
fn a_smaller_size_leaves_the_window_its_segments() {
    let mut pair = Pair::new(&[50], tcp_config());
    pair.connect();
    let before = pair.subflow(Client, 0);
    set_path_mtu(&mut pair, 0, 700);
    let after = pair.subflow(Client, 0);
    assert_eq!((before.mss, after.mss), (1448, 648));
    assert_eq!(after.window.cwnd, before.window.cwnd);
}

/// A message about the newest data segment that an end has sent on path 0.
#[track_caller]
fn message(pair: &Pair, from: Side, mtu: u32) -> PacketTooBig {
    let last = pair.sent(from).rfind(|p| p.is_data()).expect("data was sent");
    let Segment { src: local, dst: remote, seq: sequence, .. } = last.segment;
    PacketTooBig { local, remote, sequence, mtu }
}

/// RFC 5927 §5, RFC 8201 §4: messages of a blind attacker, or of a faulty router, change nothing.
#[test]
fn messages_that_cannot_be_true_are_not_believed() {
    use PacketTooBigVerdict::{NotInFlight, NotTooBig, TooSmall, UnknownSubflow};
    for ipv6 in [false, true] {
        let mut pair = if ipv6 { Pair::ipv6(&[10], config()) } else { Pair::new(&[10], config()) };
        pair.connect();
        let stale = pair.subflow(Client, 0);
        pair.write(Client, 3000);
        let real = message(&pair, Client, 1300);
        let mut other_port = real.remote;
        other_port.set_port(81);
        for (what, forged, verdict) in [
            ("another subflow", PacketTooBig { remote: other_port, ..real }, UnknownSubflow),
            ("before what is out", PacketTooBig { sequence: real.sequence.wrapping_sub(3000), ..real }, NotInFlight),
            ("after what is out", PacketTooBig { sequence: real.sequence.wrapping_add(3000), ..real }, NotInFlight),
            ("no segment's first byte", PacketTooBig { sequence: real.sequence.wrapping_add(1), ..real }, NotInFlight),
            ("a short segment, which fits", real, NotTooBig),
            ("the size that the path has", PacketTooBig { mtu: 1500, ..real }, NotTooBig),
            ("a larger size", PacketTooBig { mtu: 9000, ..real }, NotTooBig),
        ] {
            assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &forged), verdict, "{what}");
            assert_eq!(pair.subflow(Client, 0).path_mtu, stale.path_mtu, "{what}");
        }
        let first = pair.sent(Client).find(|p| p.is_data()).map(|p| p.segment.seq).expect("data was sent");
        let tiny = PacketTooBig { mtu: 68, sequence: first, ..real };
        if ipv6 {
            assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &tiny), TooSmall);
            assert_eq!(pair.subflow(Client, 0).path_mtu, 1500);
        } else {
            assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &tiny), PacketTooBigVerdict::Taken);
            assert_eq!(pair.subflow(Client, 0).path_mtu, 552, "never less");
        }
        pair.settle();
        pair.run_until_received(Server, 3000, secs(1));
        let acknowledged = PacketTooBig { sequence: first, ..real };
        pair.run_for(ms(100));
        assert_eq!(
            pair.driver.endpoints[0].handle_packet_too_big(pair.now, &acknowledged),
            NotInFlight,
            "it has arrived"
        );
    }
}

#[test]
fn an_old_router_that_names_no_size_gets_the_next_plateau() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1424);
    for plateau in [1492, 1006, 552] {
        let real = message(&pair, Client, 0);
        let first = pair.sent(Client).find(|p| p.is_data()).expect("data was sent").segment.seq;
        let told = PacketTooBig { sequence: first, ..real };
        assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &told), PacketTooBigVerdict::Taken);
        assert_eq!(pair.subflow(Client, 0).path_mtu, plateau, "RFC 1191 §7.1");
        pair.settle();
    }
    let told = message(&pair, Client, 0);
    assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &told), PacketTooBigVerdict::NotTooBig);
}

/// RFC 5927 §7.2: segments of that size have arrived, so the message is believed only if this one does not.
#[test]
fn a_message_against_experience_waits_for_a_timeout() {
    for lost in [false, true] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 100_000, secs(5));
        pair.run_for(secs(1));
        if lost {
            pair.driver.io.paths[0].narrow = Some((1300, Says::Nothing));
        }
        pair.write(Client, 1424);
        let claim = message(&pair, Client, 1300);
        assert_eq!(pair.driver.endpoints[0].handle_packet_too_big(pair.now, &claim), PacketTooBigVerdict::Waits);
        assert_eq!(pair.subflow(Client, 0).path_mtu, 1500, "not yet");
        pair.run_until_received(Server, 101_424, secs(5));
        assert_eq!(pair.subflow(Client, 0).path_mtu, if lost { 1300 } else { 1500 });
        pair.run_for(secs(1));
        // A claim about a segment that has arrived is forgotten.
        pair.driver.io.paths[0].narrow = None;
        pair.drop_some(2, |p| p.is_data());
        pair.write(Client, 1424);
        pair.run_until_received(Server, 102_848, secs(10));
        assert_eq!(pair.subflow(Client, 0).path_mtu, if lost { 1300 } else { 1500 });
    }
}

#[test]
fn a_path_that_narrows_in_mid_stream_costs_one_timeout() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.write(Client, 200_000);
        pair.run_until_received(Server, 200_000, secs(5));
        pair.driver.io.paths[0].narrow = Some((1300, Says::Message));
        pair.write(Client, 200_000);
        pair.run_until_received(Server, 400_000, secs(5));
        assert_eq!(pair.subflow(Client, 0).path_mtu, 1300);
        assert_eq!(pair.subflow(Client, 0).counters.timeouts, 1);
    }
}

#[test]
fn a_black_hole_is_found_without_messages() {
    for (config, mtu) in [(config(), 1300), (tcp_config(), 1300), (config(), 1100), (config(), 600)] {
        let config = ConnectionConfig { close_timeout: secs(600), ..config };
        let mut pair = narrow(config, mtu, Says::Nothing);
        pair.connect();
        pair.send_all(Client, 100_000);
        pair.run_until_received(Server, 100_000, secs(40));
        let found = [1280, 1006, 552].into_iter().find(|step| *step <= mtu).expect("a step");
        assert_eq!(pair.subflow(Client, 0).path_mtu, found);
    }
}

#[test]
fn without_looking_for_black_holes_nothing_passes_one() {
    let tcp = TcpConfig { path_mtu_discovery: PathMtuDiscovery::Messages, ..TcpConfig::default() };
    let mut pair = narrow(ConnectionConfig { tcp, ..tcp_config() }, 1300, Says::Nothing);
    pair.connect();
    pair.write(Client, 100_000);
    pair.run_for(secs(30));
    assert_eq!(pair.received(Server), 0);
}

#[test]
fn a_path_that_was_dark_keeps_its_size() {
    for dark in [2, 5, 20] {
        let mut pair = Pair::new(&[10], config());
        pair.connect();
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 100_000, secs(5));
        pair.kill(0);
        pair.write(Client, 200_000);
        pair.run_for(secs(dark));
        pair.revive(0);
        pair.run_until_received(Server, 300_000, secs(60));
        assert_eq!(pair.subflow(Client, 0).path_mtu, 1500, "dark for {dark} s");
        assert_eq!(
            pair.sent(Client).rev().filter(|p| p.is_data()).take(50).map(|p| p.segment.ip_len()).max(),
            Some(1500)
        );
    }
}

#[test]
fn a_living_connection_takes_another_mtu() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    for (mtu, sent) in [(1000, 100_000), (1400, 200_000), (700, 300_000)] {
        pair.write(Client, 20_000);
        set_path_mtu(&mut pair, 0, mtu);
        let number = pair.driver.io.log.len();
        pair.write(Client, 80_000);
        pair.run_until_received(Server, sent, secs(10));
        pair.run_for(secs(1));
        let largest = pair.sent(Client).filter(|p| p.number >= number).map(|p| p.segment.ip_len()).max();
        assert_eq!(largest, Some(mtu));
    }
    mappings(&pair, Client);
}

/// A connection on a path of 1300 bytes that was thought to take 1500, and has discovered that.
fn narrowed(discovery: PathMtuDiscovery) -> Pair {
    let tcp = TcpConfig { path_mtu_discovery: discovery, ..TcpConfig::default() };
    let mut pair = narrow(ConnectionConfig { tcp, ..config() }, 1300, Says::Message);
    pair.connect();
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 300_000, secs(10));
    assert_eq!(pair.subflow(Client, 0).path_mtu, 1300);
    pair
}

#[test]
fn a_path_that_takes_more_again_is_found_by_a_probe_after_ten_minutes() {
    for (discovery, found) in [(PathMtuDiscovery::Probing, 1500), (PathMtuDiscovery::BlackHoles, 1300)] {
        let mut pair = narrowed(discovery);
        pair.driver.io.paths[0].narrow = None;
        pair.run_for(secs(500));
        pair.write(Client, 300_000);
        pair.run_until_received(Server, 600_000, secs(10));
        assert_eq!(pair.subflow(Client, 0).path_mtu, 1300, "too early");
        pair.run_for(secs(100));
        pair.write(Client, 300_000);
        pair.run_until_received(Server, 900_000, secs(10));
        assert_eq!(pair.subflow(Client, 0).path_mtu, found);
        mappings(&pair, Client);
    }
}

#[test]
fn a_probe_that_is_lost_costs_no_window_and_is_tried_again_ten_minutes_later() {
    let mut pair = narrowed(PathMtuDiscovery::Probing);
    let mut received = 300_000;
    for _ in 0..3 {
        // After 601 s the window has restarted: it grows before a probe is tried.
        pair.run_for(secs(601));
        let before = pair.subflow(Client, 0).counters;
        pair.driver.io.paths[0].narrow = Some((1300, Says::Nothing));
        pair.clear_log();
        pair.write(Client, 300_000);
        received += 300_000;
        pair.run_until_received(Server, received, secs(10));
        assert_eq!(pair.sent(Client).filter(|p| p.segment.ip_len() > 1300).count(), 1, "one probe");
        let counters = pair.subflow(Client, 0).counters;
        assert_eq!(counters.recoveries, before.recoveries, "its size was the reason, not congestion");
        assert_eq!(counters.timeouts, before.timeouts);
        assert_eq!(counters.retransmitted_segments - before.retransmitted_segments, 2, "in two pieces");
        assert_eq!(pair.subflow(Client, 0).path_mtu, 1300);
    }
}

#[test]
fn a_probe_that_is_lost_with_others_is_congestion() {
    let mut pair = narrowed(PathMtuDiscovery::Probing);
    pair.driver.io.paths[0].narrow = Some((1300, Says::Nothing));
    pair.run_for(secs(601));
    // The three segments before the probe are lost as well.
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.is_data() && p.segment.ip_len() <= 1300);
        if p.is_data() && p.segment.ip_len() <= 1300 && (2..=9).contains(&n) { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 600_000, secs(10));
    assert!(pair.sent(Client).any(|p| p.segment.ip_len() > 1300), "a probe was sent");
    assert!(pair.subflow(Client, 0).counters.recoveries > 0);
    assert_eq!(pair.subflow(Client, 0).path_mtu, 1300);
    mappings(&pair, Client);
}

/// MTUs change at random times: all bytes arrive, and each keeps its mapping.
#[test]
fn changes_of_size_at_random_times_lose_no_byte() {
    let mut believed = 0;
    for (seed, config) in (1..=10).flat_map(|seed| on_each_host(config()).into_iter().map(move |c| (seed, c))) {
        let mut random = Random::substream(seed, "sizes");
        let recovery = [LossRecovery::RackTlp, LossRecovery::Sack, LossRecovery::NewReno][seed as usize % 3];
        let tcp = TcpConfig { recovery, path_mtu_discovery: PathMtuDiscovery::Probing, ..TcpConfig::default() };
        let mut pair = Pair::new(&[10, 25], ConnectionConfig { tcp, checksum: seed % 2 == 0, nagle: true, ..config });
        let mut losses = Random::substream(seed, "losses");
        pair.script(move |_| if losses.chance(0.02) { Fate::Drop } else { Fate::Pass });
        pair.connect();
        pair.send_all(Client, 400_000);
        let mut steps = 0;
        while pair.received(Server) < 400_000 && steps < 2000 {
            pair.run_for(ms(3));
            steps += 1;
            let path = random.below(2) as usize;
            match random.below(20) {
                0 => set_path_mtu(&mut pair, path, 552 + random.below(949) as u32),
                1..=3 => {
                    let newest = pair.data(Client).rev().take(20).nth(random.below(20) as usize);
                    let Some(packet) = newest else { continue };
                    let Segment { src: local, dst: remote, seq: sequence, .. } = packet.segment;
                    let told = PacketTooBig { local, remote, sequence, mtu: random.below(1501) as u32 };
                    let verdict = pair.driver.endpoints[0].handle_packet_too_big(pair.now, &told);
                    believed += u32::from(verdict == PacketTooBigVerdict::Taken);
                    pair.settle();
                }
                _ => {}
            }
        }
        pair.run_until_received(Server, 400_000, secs(30));
        for path in 0..2 {
            mappings_on(&pair, Client, path);
        }
    }
    assert!(believed > 10, "only {believed} messages were believed");
}

/// RFC 8201 §4: "A node must not increase its estimate of the Path MTU in response to the contents of a Packet Too Big
/// message".
#[test]
fn what_a_message_says_of_a_probe_raises_nothing() {
    let mut pair = narrowed(PathMtuDiscovery::Probing);
    pair.run_for(secs(601));
    pair.driver.io.paths[0].narrow = Some((1400, Says::Message));
    pair.clear_log();
    pair.write(Client, 300_000);
    pair.run_until_received(Server, 600_000, secs(10));
    assert_eq!(pair.sent(Client).filter(|p| p.segment.ip_len() > 1300).count(), 1, "one probe, and a message about it");
    assert_eq!(pair.subflow(Client, 0).path_mtu, 1300);
}
