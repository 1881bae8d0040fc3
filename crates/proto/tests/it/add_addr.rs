//! ADD_ADDR: the server's further addresses (RFC 8684 §3.4.1).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_wire::mptcp::MptcpOption;

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
            pair.apps[writer as usize].pending = 100_000;
            pair.open();
            pair.run_until("joined", secs(1), |p| p.usable(Client) == 2 && p.usable(Server) == 2);
            pair.run_for(secs(5));
            assert_eq!(pair.sent(Server).filter(|p| announcement(p)).count(), 1, "{writer:?} {ipv6}");
            assert_eq!(pair.sent(Client).filter(|p| echo(p)).count(), 1, "{writer:?} {ipv6}");
            assert_eq!(pair.received(writer.other()), 100_000);
        }
    }
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
    assert_eq!(pair.next_event(), None);
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
