//! REMOVE_ADDR (RFC 8684 §3.4.2), and addresses that come and go.

use crate::mp_join::join;
use crate::pair::*;
use core::net::{IpAddr, Ipv4Addr};
use pathweave_proto::LocalAddress;
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_proto::connection::PathMeta;
use pathweave_units::Duration;
use pathweave_wire::Flags;
use pathweave_wire::mptcp::{AddressId, AddressIds, MpJoin, MptcpOption, ResetReason};

fn removal(packet: &Packet) -> bool {
    packet.has_option(|o| matches!(o, MptcpOption::RemoveAddress { .. }))
}

#[test]
fn the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order() {
    for owner in [Client, Server] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.connect_with_subflows(2);
        pair.write(Client, 500_000);
        pair.run_for(ms(60));
        let address = pair.driver.io.paths[1].addresses[owner as usize];
        pair.command(owner, |c, now| c.remove_address(now, address));
        pair.run_until_received(Server, 500_001, secs(5));
        pair.run_for(secs(100));
        let removed = pair.sent(owner).find(|p| removal(p)).expect("a removal");
        assert_eq!(removed.path, 0, "it goes over a path that stays");
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
        assert_eq!((pair.usable(Client), pair.usable(Server)), (1, 1), "{owner:?}");
        let joins = pair.sent(Client).filter(|p| p.is_syn() && p.path == 1).count();
        assert_eq!(joins, 1, "nobody joins it again");
        pair.write(Client, 1000);
        pair.run_until_received(Server, 501_001, secs(1));
    }
}

/// The removal is not announced on a subflow that is about to end, even if that is the first one.
#[test]
fn the_address_of_the_first_subflow_is_removed_over_another() {
    for owner in [Client, Server] {
        for dead in [false, true] {
            let mut pair = Pair::new(&[10, 10], config());
            pair.connect_with_subflows(2);
            pair.write(Client, 500_000);
            pair.run_for(ms(60));
            if dead {
                pair.kill(0);
            }
            let address = pair.driver.io.paths[0].addresses[owner as usize];
            pair.command(owner, |c, now| c.remove_address(now, address));
            pair.run_until_received(Server, 500_001, secs(5));
            let removed: Vec<_> = pair.sent(owner).filter(|p| removal(p)).map(|p| p.path).collect();
            assert_eq!(removed, [1], "{owner:?}, {dead}");
        }
    }
}

#[test]
fn an_address_that_comes_later_is_announced_and_joined() {
    let mut pair = Pair::new(&[10, 20], config());
    let only_first = |pair: &Pair, side| pair.local_addresses(side)[..1].to_vec();
    let server = only_first(&pair, Server);
    let before = pair.listener.take().expect("the pair listens");
    pair.driver.endpoints[1].unlisten(before).expect("it listens");
    let anywhere = (core::net::Ipv6Addr::UNSPECIFIED, PORT).into();
    pair.listener =
        Some(pair.driver.endpoints[1].listen_and_accept(anywhere, config(), &server).expect("nobody listens"));
    let (client, remote) = (pair.driver.io.paths[0].addresses[0], pair.driver.io.paths[0].addresses[1]);
    let local = core::net::SocketAddr::new(client, 0);
    let addresses = pair.local_addresses(Client);
    let to = core::net::SocketAddr::new(remote, PORT);
    let opened = pair.driver.endpoints[0].connect(pair.now, local, to, config(), &addresses);
    pair.driver.applications.apps[0].handle = Some(opened.expect("the settings are right"));
    pair.settle();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    assert_eq!(pair.usable(Client), 1);
    let address = pair.driver.io.paths[1].addresses[1];
    pair.command(Server, |c, now| c.add_address(now, address, PathMeta::default()));
    pair.run_until("joined", secs(2), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
}

/// The first subflow of a joined path has ended but is in TIME-WAIT: the returning address is joined nevertheless, even
/// if the limit has no room for both.
#[test]
fn an_address_that_goes_and_comes_back_is_joined_again_at_once() {
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { max_subflows: 2, ..config() });
    pair.connect_with_subflows(2);
    let address = pair.driver.io.paths[1].addresses[0];
    pair.command(Client, |c, now| c.remove_address(now, address));
    pair.run_for(secs(2));
    assert_eq!(pair.usable(Client), 1);
    // Nothing is sent, and no timer has been polled.
    pair.command(Client, |c, now| c.add_address(now, address, PathMeta::default()));
    pair.run_until("joined again", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
}

/// Bad-input row 28.
#[test]
fn a_removal_of_an_unknown_address_is_ignored() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut forged = pair.forge(Server, 0);
    forged.options.mptcp.push(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(77)) });
    let sent = pair.driver.io.log.len();
    pair.inject(Client, forged);
    pair.run_for(secs(10));
    assert_eq!(pair.driver.io.log.len(), sent);
    assert_eq!(pair.usable(Client), 2);
}

/// Bad-input row 28, as a flood: each removal of an address makes us probe every subflow there. The probes have the limit
/// of announcements.
#[test]
fn a_flood_of_removals_is_answered_as_seldom_as_one_of_announcements() {
    let mut pair = Pair::new(&[10], ConnectionConfig { path_manager: PathManager::NDiffPorts(8), ..config() });
    pair.connect_with_subflows(8);
    pair.run_for(ms(500));
    // Each is answered before the next one comes, or all come at once.
    for apart in [ms(25), Duration::ZERO] {
        pair.run_for(secs(2));
        let (start, before) = (pair.now, pair.sent(Client).count());
        let mut removals = 0;
        while removals < 100 && pair.now.since(start) < ms(900) {
            let mut forged = pair.forge(Server, 0);
            forged.options.mptcp.push(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(0)) });
            pair.inject(Client, forged);
            pair.run_for(apart);
            removals += 1;
        }
        let sent = pair.sent(Client).count() - before;
        assert!((8..=32).contains(&sent), "{sent} packets for {removals} removals");
        assert_eq!(pair.usable(Client), 8);
    }
}

/// A removal that is repeated before the answer to its probe can arrive does not count as another unanswered probe.
#[test]
fn a_removal_that_comes_three_times_at_once_ends_no_path_that_answers() {
    let mut pair = Pair::new(&[10, 200], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    for _ in 0..5 {
        let mut forged = pair.forge(Server, 0);
        forged.options.mptcp.push(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(1)) });
        pair.inject(Client, forged);
    }
    let probes = pair.sent(Client).filter(|p| p.at == pair.now && p.path == 1).count();
    assert_eq!(probes, 1, "{}", pair.describe());
    pair.run_for(secs(20));
    assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2));
}

/// Bad-input row 28: "The receipt of REMOVE_ADDR SHOULD first trigger the sending of a TCP keepalive on the path, and
/// if a response is received, the path SHOULD NOT be removed" (RFC 8684 §3.4.2).
#[test]
fn a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset() {
    for answers in [true, false] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.connect_with_subflows(2);
        pair.run_for(ms(500));
        let mut forged = pair.forge(Server, 0);
        let ids = AddressIds::new(&[AddressId(0), AddressId(1)]).expect("two");
        forged.options.mptcp.push(MptcpOption::RemoveAddress { ids });
        if !answers {
            pair.kill(1);
        }
        let sent = pair.driver.io.log.len();
        pair.inject(Client, forged);
        let probes = pair.driver.io.log.iter().skip(sent).filter(|p| p.from == Client && p.is_pure_ack()).count();
        assert_eq!(probes, 2, "each path is probed at once");
        pair.run_for(secs(20));
        // Both addresses take no new joins; a path that answers stays, even as the last one.
        assert_eq!(pair.usable(Client), if answers { 2 } else { 1 });
        let resets: Vec<_> = pair.sent(Client).filter(|p| p.is_rst()).collect();
        assert_eq!(resets.len(), usize::from(!answers));
        assert!(resets.iter().all(|p| p.path == 1
            && p.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::Unspecified, .. }))));
        let joins = pair.sent(Client).filter(|p| p.is_syn() && p.path == 1).count();
        assert_eq!(joins, 1);
        pair.write(Client, 1000);
        pair.run_until_received(Server, 1001, secs(1));
    }
}

/// A subflow from the first address continues if it answers, but once it is gone that address is not joined again.
#[test]
fn the_initial_address_is_not_joined_again_after_its_removal() {
    for removed in [false, true] {
        let mut pair = Pair::new(&[10, 10], config());
        pair.connect_with_subflows(2);
        pair.run_for(ms(500));
        if removed {
            let mut forged = pair.forge(Server, 1);
            forged.options.mptcp.push(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(0)) });
            pair.inject(Client, forged);
            pair.run_for(secs(1));
            assert_eq!(pair.usable(Client), 2, "it answers");
        }
        let mut reset = pair.forge(Server, 0);
        reset.flags = Flags::RST;
        pair.clear_log();
        pair.inject(Client, reset);
        pair.run_for(secs(10));
        let initial = pair.driver.io.paths[0].addresses[1];
        let joins = pair.sent(Client).filter(|p| p.is_syn() && p.segment.dst.ip() == initial).count();
        assert_eq!(joins == 0, removed, "{joins} joins");
    }
}

/// "The Address ID MUST uniquely identify the address for the sender of the option", and "A host wishing to replace an
/// existing Address ID MUST first remove the existing one" (RFC 8684 §3.4.1).
#[test]
fn the_settings_decide_whether_a_peers_removals_count() {
    for accepted in [true, false] {
        let mut pair = Pair::new(&[10, 10], ConnectionConfig { accept_removals: accepted, ..config() });
        pair.connect_with_subflows(2);
        pair.run_for(ms(500));
        let mut forged = pair.forge(Server, 1);
        forged.options.mptcp.push(MptcpOption::RemoveAddress { ids: AddressIds::one(AddressId(0)) });
        let mut reset = pair.forge(Server, 0);
        reset.flags = Flags::RST;
        pair.clear_log();
        pair.inject(Client, forged);
        let probes = pair.sent(Client).filter(|p| p.is_pure_ack()).count();
        assert_eq!(probes, usize::from(accepted));
        pair.inject(Client, reset);
        pair.run_for(secs(10));
        let initial = pair.driver.io.paths[0].addresses[1];
        let joins = pair.sent(Client).filter(|p| p.is_syn() && p.segment.dst.ip() == initial).count();
        assert_eq!(joins > 0, !accepted, "{joins} joins");
    }
}

#[test]
fn addresses_have_numbers_of_their_own() {
    let mut pair = Pair::new(&[10, 10, 10, 10], config());
    pair.connect_with_subflows(4);
    let addresses = pair.local_addresses(Server);
    for n in 0..6 {
        let [gone, new] = [addresses[1 + n % 3].address, addresses[1 + (n + 2) % 3].address];
        pair.command(Server, |c, now| c.remove_address(now, gone));
        let other = IpAddr::V4(Ipv4Addr::new(10, 9, 9, n as u8));
        pair.command(Server, |c, now| c.add_address(now, other, PathMeta::default()));
        pair.command(Server, |c, now| c.add_address(now, new, PathMeta::default()));
        pair.run_for(secs(1));
    }
    let mut known = std::collections::BTreeMap::new();
    let mut announced = 0;
    for option in pair.sent(Server).flat_map(|p| &p.segment.options.mptcp) {
        match option {
            MptcpOption::AddAddress { id, address, hmac: Some(_), .. } => {
                announced += 1;
                assert_eq!(known.entry(*id).or_insert(*address), address);
                assert_ne!(*id, AddressId(0), "that is the first subflow's");
            }
            MptcpOption::RemoveAddress { ids } => ids.as_slice().iter().for_each(|id| {
                known.remove(id);
            }),
            _ => {}
        }
    }
    assert!(announced > 10, "{announced}");
}

/// The identifier 0 belongs to the first subflow's address, even if that is not on the list of usable addresses, and no
/// two addresses share an identifier, however many there are.
#[test]
fn the_number_0_is_the_first_subflows_also_where_that_is_not_listed() {
    let mut pair = Pair::new(&[10, 10, 10], config());
    let mut addresses = pair.local_addresses(Client)[1..].to_vec();
    let far = |n: u16| IpAddr::V4(Ipv4Addr::new(10, 99, (n >> 8) as u8, n as u8));
    addresses.extend((0..400).map(|n| LocalAddress { address: far(n), meta: PathMeta::default() }));
    pair.open_with(&addresses);
    pair.write(Client, 1);
    pair.run_until("joined", secs(1), |p| p.usable(Client) == 3);
    let joins: Vec<MpJoin> = pair.sent(Client).filter(|p| p.is_syn()).filter_map(join).collect();
    let id = |join: &MpJoin| match join {
        MpJoin::Syn { address_id, .. } => address_id.0,
        other => unreachable!("a SYN's: {other:?}"),
    };
    let mut ids: Vec<u8> = joins.iter().map(id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() == joins.len() && ids[0] > 0, "{joins:?}");
}

/// "Even if an address is not in use by an MPTCP connection, if it has been previously announced, an implementation
/// SHOULD announce its removal" (RFC 8684 §3.4.2).
#[test]
fn an_address_that_nobody_joined_is_removed_too() {
    let none = pathweave_proto::config::ConnectionConfig { max_subflows: 1, ..config() };
    let mut pair = Pair::new(&[10, 10], none);
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    assert_eq!(pair.usable(Server), 1);
    let address = pair.driver.io.paths[1].addresses[1];
    pair.command(Server, |c, now| c.remove_address(now, address));
    pair.run_for(secs(1));
    assert_eq!(pair.sent(Server).filter(|p| removal(p)).count(), 1);
}
