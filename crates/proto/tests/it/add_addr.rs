//! ADD_ADDR: the server's further addresses (RFC 8684 §3.4.1).

use crate::pair::*;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_proto::connection::PathMeta;
use pathweave_units::Instant;
use pathweave_wire::mptcp::{AddressId, AddressIds, CapableContent, Key, MpJoin, MptcpOption};
use pathweave_wire::{Segment, crypto};
use std::collections::BTreeSet;

/// Only announced addresses are joined.
fn config_by_announcement() -> ConnectionConfig {
    ConnectionConfig { join_initial_address: false, ..config() }
}

fn announcement(packet: &Packet) -> bool {
    packet.has_option(|o| matches!(o, MptcpOption::AddAddress { hmac: Some(_), .. }))
}

fn echo(packet: &Packet) -> bool {
    packet.has_option(|o| matches!(o, MptcpOption::AddAddress { hmac: None, .. }))
}

#[test]
fn an_announced_address_is_echoed_and_joined_whoever_sends() {
    for writer in [Client, Server] {
        for ipv6 in [false, true] {
            let new = if ipv6 { Pair::ipv6 } else { Pair::new };
            let mut pair = new(&[10, 20], config_by_announcement());
            pair.driver.applications.apps[writer as usize].pending = 100_000;
            pair.open();
            pair.run_until("joined", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
            pair.run_for(secs(5));
            assert_eq!(pair.sent(Server).filter(|p| announcement(p)).count(), 1, "{writer:?} {ipv6}");
            assert_eq!(pair.sent(Client).filter(|p| echo(p)).count(), 1, "{writer:?} {ipv6}");
            assert_eq!(pair.received(writer.other()), 100_000);
        }
    }
}

/// The kernel's path manager announces one address at a time: the next one when the one before is echoed, or when a
/// subflow has joined. Announcements and echoes are on the first subflow, also if a join on another one releases them.
#[cfg(feature = "host-linux")]
#[test]
fn a_linux_host_announces_the_next_address_after_an_echo_or_a_join() {
    // The third segment of the handshake arrives at 30 ms, and an echo 20 ms after its announcement. The join over a
    // path of 2 ms is complete 16 ms after the announcement, before the echo.
    for (delays, times) in [([10, 20, 30, 40], [30, 50, 70]), ([10, 2, 30, 40], [30, 46, 50])] {
        let mut pair = Pair::new(&delays, on_linux(config_by_announcement()));
        pair.connect();
        pair.run_until("joined", secs(1), |p| p.usable(Client) == 4);
        let announced: Vec<_> = pair.sent(Server).filter(|p| announcement(p)).map(|p| p.at).collect();
        assert_eq!(announced, times.map(at_ms), "{delays:?}");
        let on_others = |side| pair.sent(side).filter(|p| p.path > 0 && (announcement(p) || echo(p))).count();
        assert_eq!((on_others(Server), on_others(Client)), (0, 0), "{delays:?}");
    }
}

/// An address that is removed before its announcement is echoed does not hold up those that wait behind it.
#[cfg(feature = "host-linux")]
#[test]
fn a_linux_host_announces_the_next_address_if_the_one_before_is_removed() {
    let mut pair = Pair::new(&[10, 20, 30], on_linux(config_by_announcement()));
    pair.script(|p| if p.path == 0 && announcement(p) { Fate::Drop } else { Fate::Pass });
    pair.connect();
    let announced = |pair: &Pair| pair.sent(Server).filter(|p| announcement(p)).count();
    pair.run_until("announced", secs(1), |p| announced(p) == 1);
    pair.no_script();
    let address = pair.driver.io.paths[1].addresses[1];
    pair.command(Server, |c, now| c.remove_address(now, address));
    // Before any announcement is repeated.
    pair.run_for(ms(100));
    assert_eq!(announced(&pair), 2);
}

/// A server behind a load balancer: its first address may not be joined (RFC 8684 §3.1, the flag C), and it announces
/// its own.
#[test]
fn the_address_of_a_server_whose_first_may_not_be_joined_is_joined() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.listen(ConnectionConfig { protect_initial_address: true, ..config_by_announcement() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until("joined", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
}

/// Announcements of one family do not affect the other: addresses of the first address's family join that one.
#[test]
fn with_announcements_of_ipv6_only_an_address_of_ipv4_joins_the_first_one() {
    let mut pair = Pair::mixed(&[10, 20, 30], config());
    let [first, second, third] = [0, 1, 2].map(|i| pair.driver.io.paths[i].addresses);
    pair.driver.endpoints[0].set_routes([(first[0], first[1]), (second[0], second[1]), (third[0], first[1])]);
    let mut servers = pair.local_addresses(Server);
    servers.truncate(2);
    let listener = pair.listener.take().expect("it listens");
    pair.driver.endpoints[1].unlisten(listener).expect("it listens");
    let anywhere = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
    pair.driver.endpoints[1].listen_and_accept(anywhere, config(), &servers).expect("nobody listens");
    pair.driver.io.paths[2].addresses = [third[0], first[1]];
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let joins = pair.sent(Client).filter(|p| p.is_syn() && p.has_option(|o| matches!(o, MptcpOption::Join(_))));
    let joins: BTreeSet<_> = joins.map(|p| (p.segment.src.ip(), p.segment.dst.ip())).collect();
    assert_eq!(joins, BTreeSet::from([(second[0], second[1]), (third[0], first[1])]));
}

#[test]
fn a_lost_announcement_is_repeated() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.drop_some(2, announcement);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until("joined", secs(5), |p| p.usable(Client) == 2);
}

#[test]
fn without_an_echo_announcing_ends() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.script(|p| if announcement(p) { Fate::Drop } else { Fate::Pass });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(2000));
    let n = pair.sent(Server).filter(|p| announcement(p)).count();
    assert_eq!(n, 8);
    assert_eq!(pair.driver.poll_timeout(), None);
}

#[test]
fn an_announcement_that_comes_twice_does_no_harm() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.script(|p| if announcement(p) { Fate::Twice(ms(100)) } else { Fate::Pass });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(2));
    assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2));
}

/// Bad-input row 27.
#[test]
fn a_wrong_hmac_is_ignored_without_an_echo() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.script(|p| {
        for o in &mut p.segment.options.mptcp {
            if let MptcpOption::AddAddress { hmac: Some(hmac), .. } = o {
                *hmac ^= 1;
            }
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(5));
    assert_eq!(pair.usable(Client), 1);
    assert!(!pair.sent(Client).any(echo));
}

#[test]
fn a_full_mesh_joins_every_pair_that_has_a_route() {
    let mut pair = Pair::new(&[10, 20, 30], ConnectionConfig { path_manager: PathManager::FullMesh, ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until("joined", secs(2), |p| p.usable(Client) == 3 && p.usable(Server) == 3);
}

/// The keys of client and server.
fn keys(pair: &Pair) -> (Key, Key) {
    let found = pair.driver.io.log.iter().flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
        MptcpOption::Capable(c) => match c.content {
            CapableContent::Ack { sender, receiver, .. } => Some((sender, receiver)),
            _ => None,
        },
        _ => None,
    });
    found.expect("the keys were sent")
}

/// An announcement of the server with a right HMAC.
fn announce(pair: &Pair, id: u8, address: IpAddr) -> Segment {
    let (client, server) = keys(pair);
    let hmac = Some(crypto::add_address_hmac(server, client, AddressId(id), address, None));
    let mut segment = pair.forge(Server, 0);
    segment.options.mptcp.push(MptcpOption::AddAddress { id: AddressId(id), address, port: None, hmac });
    segment
}

/// Either side may announce, with a port of its own. The engine's servers open no joins; the peer here does.
#[test]
fn a_client_announces_too_and_with_a_port() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let address = IpAddr::from([10, 7, 7, 7]);
    let mut told = false;
    pair.command(Client, |c, _| told = c.announce_address(address, PathMeta::default(), Some(8080)));
    assert!(told);
    pair.run_for(secs(1));
    let announced = pair.sent(Client).find(|p| announcement(p)).expect("an announcement").segment.options.mptcp.clone();
    let (client, server) = keys(&pair);
    let Some(MptcpOption::AddAddress { id, port, hmac, .. }) = announced.first().copied() else {
        panic!("{announced:?}")
    };
    assert_eq!(port, Some(8080));
    assert_eq!(hmac, Some(crypto::add_address_hmac(client, server, id, address, port)));
    assert_eq!(pair.sent(Server).filter(|p| echo(p)).count(), 1);
    assert_eq!(pair.sent(Client).filter(|p| announcement(p)).count(), 1, "it was echoed");
    // A join to that address and port is answered, a join to another port is not.
    for (to, taken) in [(8080, true), (8081, false)] {
        let mut syn = pair.sent(Client).rfind(|p| p.is_syn()).expect("a SYN").segment.clone();
        (syn.src, syn.dst) =
            (core::net::SocketAddr::from(([10, 9, 9, 9], to)), core::net::SocketAddr::new(address, to));
        let join = MpJoin::Syn { backup: false, address_id: AddressId(3), token: crypto::token(client), nonce: 5 };
        syn.options.mptcp = vec![MptcpOption::Join(join)];
        let now = pair.now;
        pair.driver.endpoints[0].handle_segment(now, pathweave_wire::Ecn::NotEct, &syn);
        let answer = pair.driver.endpoints[0].poll_transmit(now, 1).expect("an answer").segment;
        assert_eq!(answer.flags.contains(pathweave_wire::Flags::SYN), taken, "port {to}");
    }
}

/// Bad-input row 27.
#[test]
fn addresses_that_nobody_else_has_are_ignored_without_an_echo() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let own = pair.driver.io.paths[0].addresses[0].to_string();
    let nobody =
        ["127.0.0.1", "224.0.0.5", "0.0.0.0", "0.1.2.3", "255.255.255.255", "240.0.0.1", "::1", "ff02::1", "::"];
    let translated =
        ["::ffff:10.0.0.9", "::9.9.9.9", "100::1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:db8::1", "198.18.0.1"];
    let on_its_link = ["169.254.169.254", "fe80::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", own.as_str()];
    for address in nobody.into_iter().chain(translated).chain(on_its_link) {
        let forged = announce(&pair, 5, address.parse().expect("an address"));
        let sent = pair.driver.io.log.len();
        pair.inject(Client, forged);
        pair.run_for(secs(1));
        assert_eq!(pair.driver.io.log.len(), sent, "{address}");
    }
    // The announcement of an ordinary address is echoed.
    let forged = announce(&pair, 5, "10.9.9.9".parse().expect("an address"));
    pair.inject(Client, forged);
    assert!(pair.sent(Client).next_back().is_some_and(echo));
}

/// Linux's `add_addr_accepted`: addresses beyond the limit are echoed and not used.
#[test]
fn so_many_announced_addresses_are_used_as_the_settings_say() {
    for accepted in [0, 2] {
        let limited = ConnectionConfig {
            accepted_addresses: accepted,
            path_manager: PathManager::FullMesh,
            ..config_by_announcement()
        };
        let mut pair = Pair::new(&[10, 20, 30, 40], limited);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(30));
        assert_eq!(pair.sent(Client).filter(|p| echo(p)).count(), 3);
        assert_eq!((pair.usable(Client), pair.usable(Server)), (1 + usize::from(accepted), 1 + usize::from(accepted)));
    }
}

/// Bad-input row 27: a server announces and removes one address after the other, none of them its own.
#[test]
fn a_peer_cannot_have_syns_sent_wherever_and_as_often_as_it_likes() {
    let mesh = ConnectionConfig { path_manager: PathManager::FullMesh, ..config_by_announcement() };
    let mut pair = Pair::new(&[10], mesh);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let victim = |n: u32| IpAddr::from([172, 16, (n >> 8) as u8, n as u8]);
    let local = pair.driver.io.paths[0].addresses[0];
    pair.add_dark_addresses(local, (0..6000).map(victim));
    let start = pair.now;
    let mut n = 0;
    while pair.now.since(start) < secs(600) {
        let id = 1 + (n % 200) as u8;
        let forged = announce(&pair, id, victim(n));
        pair.inject(Client, forged);
        pair.run_for(ms(50));
        // Each stays for half a second.
        if let Some(old) = n.checked_sub(10) {
            let mut removal = pair.forge(Server, 0);
            let ids = AddressIds::one(AddressId(1 + (old % 200) as u8));
            removal.options.mptcp.push(MptcpOption::RemoveAddress { ids });
            pair.inject(Client, removal);
        }
        pair.run_for(ms(50));
        n += 1;
    }
    let syns = |from: u64| pair.sent(Client).filter(|p| p.path > 0 && p.is_syn() && p.at >= start + secs(from)).count();
    let hosts: BTreeSet<_> = pair.sent(Client).filter(|p| p.path > 0).map(|p| p.path).collect();
    // Eight addresses at once, then one in 10 s; 128 SYNs at once, then one in 8 s, and the retransmissions of those
    // under way when the budget ran out.
    assert!(hosts.len() <= 8 + 60, "{} hosts", hosts.len());
    assert!(syns(0) <= 128 + 7 * 7 + 75, "{} SYNs", syns(0));
    assert!(syns(300) <= 38 + 7, "{} SYNs in the last five minutes", syns(300));
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 11_000, secs(1));
}

/// An address that does not answer for an hour; when it does, it is joined.
#[test]
fn an_announced_address_that_stays_dark_is_asked_less_and_less_but_for_ever() {
    let mut pair = Pair::new(&[10, 20], config_by_announcement());
    pair.kill(1);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(100));
    let in_first = pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count();
    assert!((90..=110).contains(&in_first), "{in_first} SYNs");
    pair.run_for(secs(3500));
    let in_all = pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count();
    assert!(in_all <= 128 + 7 + 450, "{in_all} SYNs in an hour");
    pair.revive(1);
    pair.run_until("the second path is joined", secs(70), |p| p.usable(Client) == 2);
}

/// Some paths of a full mesh are dark from the start. Together they are tried as often as a single one.
#[test]
fn paths_that_are_dark_from_the_start_share_128_syns_with_a_full_mesh() {
    let mesh = ConnectionConfig { path_manager: PathManager::FullMesh, ..config_by_announcement() };
    let mut pair = Pair::new(&[10, 10, 10, 10], mesh);
    let [clients, servers] =
        [0, 1].map(|side| (0..4).map(|i| pair.driver.io.paths[i].addresses[side]).collect::<Vec<_>>());
    let dark: Vec<IpAddr> = vec![servers[1]];
    for local in [clients[2], clients[3], clients[0]] {
        pair.add_dark_addresses(local, dark.iter().copied());
    }
    pair.connect();
    pair.write(Client, 1000);
    let syns = |pair: &Pair, from, to| {
        let of = |p: &&Packet| p.path > 3 && p.is_syn() && p.at >= from && p.at < to;
        pair.sent(Client).filter(of).count()
    };
    pair.run_for(secs(10));
    assert!(pair.usable(Client) >= 4, "the other paths are joined");
    pair.run_for(secs(590));
    let start = Instant::ZERO;
    let all = syns(&pair, start, pair.now);
    // The first joins of three paths are free, at seven SYNs each.
    assert!((100..=3 * 7 + 128 + 3 * 7 + 75).contains(&all), "{all} SYNs in ten minutes");
    assert!(syns(&pair, start + secs(300), pair.now) <= 38 + 3 * 7);
    // A path that has answered once is tried again and again.
    let before = pair.now;
    pair.kill(2);
    pair.write(Client, 100_000);
    pair.run_for(secs(300));
    let asked = pair.sent(Client).filter(|p| p.path == 2 && p.at > before + secs(200)).count();
    assert!(asked >= 90, "{asked} in 100 s");
}

/// Bad-input row 27: "flood": 32 announcements a second are accepted, and as many are remembered.
#[test]
fn a_flood_of_announcements_is_capped_and_rate_limited() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let echoes = |pair: &Pair| pair.sent(Client).filter(|p| echo(p)).count();
    for second in 1..=3 {
        for n in 0..200u8 {
            let forged = announce(&pair, n, IpAddr::from([10, 9, second as u8, n]));
            pair.inject(Client, forged);
        }
        assert_eq!(echoes(&pair), 32 * second);
        pair.run_for(secs(2));
    }
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 11_000, secs(1));
}

/// Bad-input row 30: an option that does not fit into the 40 bytes waits for another segment. The harness checks that
/// no header is longer.
#[test]
fn signals_that_do_not_fit_wait_for_a_segment_with_room() {
    let config = ConnectionConfig { checksum: true, ..config() };
    let mut pair = Pair::ipv6(&[10, 20], config);
    // Losses both ways: acknowledgements carry SACK blocks beside data sequence signals and timestamps.
    let mut n = 0u32;
    pair.script(move |p| {
        n += 1;
        if p.is_data() && n.is_multiple_of(7) { Fate::Drop } else { Fate::Pass }
    });
    pair.driver.applications.apps[0].pending = 300_000;
    pair.driver.applications.apps[1].pending = 300_000;
    pair.connect();
    pair.run_until("joined", secs(3), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
    let id = pair.subflow(Server, 0).id;
    for i in 0..10u16 {
        pair.command(Server, |c, now| c.set_backup(now, id, i % 2 == 1).expect("it lives"));
        let further = IpAddr::from([0xfd00, 0, 0, 77, 0, 0, 0, i + 1]);
        pair.command(Server, |c, now| c.add_address(now, further, PathMeta::default()));
        pair.run_for(ms(30));
    }
    pair.close(Client);
    pair.run_until("all came", secs(60), |p| p.received(Server) == 300_000 && p.received(Client) == 300_000);
    pair.run_for(secs(5));
    let announced: BTreeSet<IpAddr> = pair
        .sent(Server)
        .flat_map(|p| &p.segment.options.mptcp)
        .filter_map(|o| match o {
            MptcpOption::AddAddress { address, hmac: Some(_), .. } => Some(*address),
            _ => None,
        })
        .collect();
    assert_eq!(announced.len(), 11);
    let priorities = pair.sent(Server).filter(|p| p.has_option(|o| matches!(o, MptcpOption::Priority { .. }))).count();
    assert!(priorities >= 2, "{priorities}");
    assert!(pair.driver.io.log.iter().any(|p| p.segment.options.wire_len() == 40));
}

/// "If the port number is different, the receiving host SHOULD try to set up a new subflow to this new address/port
/// combination" (RFC 8684 §3.4.1).
#[test]
fn another_port_of_an_announced_address_is_joined_too() {
    let path_manager = PathManager::FullMesh;
    let mut pair = Pair::new(&[10, 20], ConnectionConfig { path_manager, ..config_by_announcement() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(5));
    let address = pair.driver.io.paths[1].addresses[1];
    pair.command(Server, |c, _| assert!(c.announce_address(address, PathMeta::default(), Some(8080))));
    pair.run_for(secs(5));
    let join = |p: &&Packet| p.is_syn() && p.has_option(|o| matches!(o, MptcpOption::Join(_)));
    let joined: BTreeSet<_> = pair.sent(Client).filter(join).map(|p| p.segment.dst).collect();
    assert_eq!(joined, BTreeSet::from([SocketAddr::new(address, PORT), SocketAddr::new(address, 8080)]));
}

/// An announcement acknowledges data without a data sequence signal, because it has room for its own option only. It is
/// no answer of plain TCP: if the DATA_ACK is lost, the data is sent again.
#[test]
fn an_announcement_that_acknowledges_data_is_no_plain_answer() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    pair.run_for(secs(1));
    pair.script(|p| if p.from == Server { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(1));
    pair.run_for(ms(100));
    let mut announcement = pair.sent(Server).next_back().expect("it acknowledges").segment.clone();
    announcement.options.dss = None;
    let (id, address) = (AddressId(9), IpAddr::from([10, 9, 9, 9]));
    announcement.options.mptcp.push(MptcpOption::AddAddress { id, address, port: None, hmac: Some(1) });
    pair.no_script();
    pair.inject(Client, announcement);
    pair.run_for(secs(5));
    let acked = pair.the(Client).snapshot().sending.acked_bytes;
    assert_eq!(acked, 2000, "{}", pair.describe());
}
