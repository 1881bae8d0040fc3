//! MP_CAPABLE: keys, the first data, fallback to plain TCP (RFC 8684 §3.1, §3.7).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::mptcp::{CapableContent, MptcpOption};

fn capable(packet: &Packet) -> Option<CapableContent> {
    packet.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Capable(c) => Some(c.content),
        _ => None,
    })
}

fn strip(packet: &mut Packet) {
    packet.segment.options.mptcp.clear();
    packet.segment.options.dss = None;
}

#[test]
fn keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 5_000);
    pair.run_until_received(Server, 5_000, secs(1));
    assert_eq!(capable(&pair.log[0]), Some(CapableContent::Syn));
    let Some(CapableContent::SynAck { sender: server }) = capable(&pair.log[1]) else { panic!("{:?}", pair.log[1]) };
    let Some(CapableContent::Ack { sender, receiver, data_len: None, .. }) = capable(&pair.log[2]) else {
        panic!("{:?}", pair.log[2])
    };
    assert_eq!(receiver, server);
    let first = pair.data(Client).next().expect("data was sent");
    let Some(CapableContent::Ack { sender: s, receiver: r, data_len: Some(len), .. }) = capable(first) else {
        panic!("{first:?}")
    };
    assert_eq!((s, r, u32::from(len)), (sender, receiver, first.len()));
    assert!(pair.data(Client).skip(1).all(|p| capable(p).is_none() && p.segment.options.dss.is_some()));
}

#[test]
fn a_repeated_first_segment_maps_to_the_same_place() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.drop_some(2, |p| p.from == Client && p.is_data());
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(5));
    assert!(pair.the(Server).is_mptcp());
}

#[test]
fn a_server_without_the_third_ack_takes_data_only_with_the_keys() {
    // The third ACK and the first data are lost; what follows has only a data sequence signal.
    let mut pair = Pair::new(&[10], config());
    pair.script(|p| {
        let lost = p.from == Client && !p.is_syn() && capable(p).is_some() && p.at < at_ms(100);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    pair.apps[0].pending = 50_000;
    pair.open();
    pair.run_until_received(Server, 50_000, secs(5));
    assert!(pair.the(Server).is_mptcp() && pair.the(Client).is_mptcp());
}

#[test]
fn a_server_that_does_not_speak_it_gets_plain_tcp() {
    let mut pair = Pair::new(&[10], config());
    pair.listen(tcp_config());
    pair.connect();
    pair.send_all(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(5));
    assert!(!pair.the(Client).is_mptcp());
    assert!(pair.log.iter().skip(1).all(|p| p.segment.options.mptcp.is_empty() && p.segment.options.dss.is_none()));
    assert_eq!(pair.data(Client).map(|p| p.len()).max(), Some(1448));
}

#[test]
fn a_client_that_does_not_speak_it_gets_plain_tcp() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.listen(config());
    pair.connect();
    pair.send_all(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(5));
    assert!(!pair.the(Server).is_mptcp());
}

/// A middlebox strips Multipath TCP's options from packets that `rule` says yes to; plain TCP must be left.
#[track_caller]
fn falls_back(rule: fn(&Packet) -> bool) {
    for writer in [Client, Server] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.apps[writer as usize].pending = 80_000;
        pair.apps[writer as usize].close_after_writing = true;
        pair.script(move |p| {
            if rule(p) {
                strip(p);
            }
            Fate::Pass
        });
        pair.open();
        pair.run_until_received(writer.other(), 80_000, secs(10));
        assert!(!pair.the(Client).is_mptcp(), "the client falls back where {writer:?} writes");
        assert!(!pair.the(Server).is_mptcp(), "the server falls back where {writer:?} writes");
        pair.close(writer.other());
        pair.run_for(secs(100));
        assert_eq!((pair.hosts[0].connections(), pair.hosts[1].connections()), (0, 0));
    }
}

#[test]
fn options_stripped_from_the_syn() {
    falls_back(|p| p.is_syn() && p.from == Client);
}

#[test]
fn options_stripped_from_the_syn_ack() {
    falls_back(|p| p.is_syn() && p.from == Server);
}

#[test]
fn options_stripped_from_all_but_syns() {
    falls_back(|p| !p.is_syn());
}

#[test]
fn options_stripped_from_what_the_client_sends_after_its_syn() {
    falls_back(|p| !p.is_syn() && p.from == Client);
}

#[test]
fn nothing_is_announced_on_plain_tcp() {
    let plain = ConnectionConfig { mptcp: false, ..config() };
    let mut pair = Pair::new(&[10, 20], plain);
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_for(secs(1));
    assert!(pair.log.iter().all(|p| p.segment.options.mptcp.is_empty()));
}
