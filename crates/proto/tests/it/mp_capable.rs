//! MP_CAPABLE: keys, the first data, fallback to plain TCP (RFC 8684 §3.1, §3.7).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_wire::crypto;
use pathweave_wire::mptcp::{
    AddressId, CapableContent, CapableFlags, MpCapable, MpJoin, MptcpOption, ResetReason, Token,
};

fn capable(packet: &Packet) -> Option<CapableContent> {
    packet.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Capable(c) => Some(c.content),
        _ => None,
    })
}

#[test]
fn keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 5_000);
    pair.run_until_received(Server, 5_000, secs(1));
    assert_eq!(capable(&pair.driver.io.log[0]), Some(CapableContent::Syn));
    let Some(CapableContent::SynAck { sender: server }) = capable(&pair.driver.io.log[1]) else {
        panic!("{:?}", pair.driver.io.log[1])
    };
    let Some(CapableContent::Ack { sender, receiver, data_len: None, .. }) = capable(&pair.driver.io.log[2]) else {
        panic!("{:?}", pair.driver.io.log[2])
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
    // The third ACK and the first data are lost; later segments have only a data sequence signal.
    let mut pair = Pair::new(&[10], config());
    pair.script(|p| {
        let lost = p.from == Client && !p.is_syn() && capable(p).is_some() && p.at < at_ms(100);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    pair.driver.applications.apps[0].pending = 50_000;
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
    assert!(
        pair.driver
            .io
            .log
            .iter()
            .skip(1)
            .all(|p| p.segment.options.mptcp.is_empty() && p.segment.options.dss.is_none())
    );
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
    assert!(pair.sent(Server).all(|p| p.segment.options.mptcp.is_empty()), "the SYN/ACK has no option either");
}

#[test]
fn nothing_is_announced_on_plain_tcp() {
    let plain = ConnectionConfig { mptcp: false, ..config() };
    let mut pair = Pair::new(&[10, 20], plain);
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_for(secs(1));
    assert!(pair.driver.io.log.iter().all(|p| p.segment.options.mptcp.is_empty()));
}

/// Changes the client's SYN on the way; returns whether the connection is Multipath TCP after data has come.
#[track_caller]
fn with_syn(change: fn(&mut CapableFlags)) -> bool {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(move |p| {
        for o in &mut p.segment.options.mptcp {
            if let MptcpOption::Capable(c) = o
                && c.content == CapableContent::Syn
            {
                change(&mut c.flags);
            }
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    let answer = pair.driver.io.log[1].segment.options.mptcp.first();
    match answer {
        Some(MptcpOption::Capable(c)) => assert_eq!(c.flags.version, 1),
        None => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(pair.the(Client).is_mptcp(), answer.is_some());
    assert_eq!(pair.the(Server).is_mptcp(), answer.is_some());
    answer.is_some()
}

/// Bad-input row 5.
#[test]
fn version_0_is_plain_tcp_and_a_higher_version_is_answered_with_ours() {
    assert!(!with_syn(|f| f.version = 0));
    assert!(with_syn(|f| f.version = 2));
    assert!(with_syn(|f| f.version = 15));
}

/// Bad-input row 6.
#[test]
fn the_extensibility_flag_or_no_algorithm_is_plain_tcp() {
    assert!(!with_syn(|f| f.extensibility = true));
    assert!(!with_syn(|f| f.hmac_sha256 = false));
}

/// Bad-input rows 5 and 6, on the SYN/ACK.
#[test]
fn an_answer_of_another_version_or_without_the_algorithm_is_plain_tcp() {
    for change in [
        |f: &mut CapableFlags| f.version = 0,
        |f: &mut CapableFlags| f.version = 2,
        |f: &mut CapableFlags| f.extensibility = true,
        |f: &mut CapableFlags| f.hmac_sha256 = false,
    ] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.script(move |p| {
            for o in &mut p.segment.options.mptcp {
                if let MptcpOption::Capable(c) = o
                    && matches!(c.content, CapableContent::SynAck { .. })
                {
                    change(&mut c.flags);
                }
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 50_000);
        pair.run_until_received(Server, 50_000, secs(2));
        assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
    }
}

/// Bad-input row 4.
#[test]
fn a_syn_that_also_joins_is_plain_tcp() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        if p.is_syn() && p.from == Client {
            let join = MpJoin::Syn { backup: false, address_id: AddressId(0), token: Token(1), nonce: 1 };
            p.segment.options.mptcp.push(MptcpOption::Join(join));
        }
        Fate::Pass
    });
    pair.connect();
    assert_eq!(pair.driver.io.log[1].segment.options.mptcp, []);
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
}

/// Bad-input row 9.
#[test]
fn an_echoed_key_that_is_not_the_servers_is_plain_tcp_and_its_token_is_forgotten() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        for o in &mut p.segment.options.mptcp {
            if let MptcpOption::Capable(MpCapable { content: CapableContent::Ack { receiver, .. }, .. }) = o {
                receiver.0 ^= 1;
            }
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 50_000);
    pair.run_until_received(Server, 50_000, secs(2));
    assert!(!pair.the(Client).is_mptcp() && !pair.the(Server).is_mptcp());
    let Some(CapableContent::SynAck { sender }) = capable(&pair.driver.io.log[1]) else {
        panic!("{:?}", pair.driver.io.log[1])
    };
    let mut syn = pair.driver.io.log[0].segment.clone();
    syn.src.set_port(1);
    let join = MpJoin::Syn { backup: false, address_id: AddressId(1), token: crypto::token(sender), nonce: 1 };
    syn.options.mptcp = vec![MptcpOption::Join(join)];
    pair.inject(Server, syn);
    let reset = pair.sent(Server).next_back().expect("an answer");
    assert!(
        reset.is_rst() && reset.has_option(|o| matches!(o, MptcpOption::Reset { reason: ResetReason::MptcpError, .. }))
    );
}

/// A forged acknowledgement far outside of the window looks like one that a middlebox has changed. It has no effect.
#[test]
fn a_segment_that_is_not_acceptable_ends_no_handshake() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.run_for(ms(15));
    // The server has answered; without options this would be the third ACK of plain TCP.
    let mut forged = pair.driver.io.log[0].segment.clone();
    forged.flags = pathweave_wire::Flags::ACK;
    forged.options = Default::default();
    forged.seq = forged.seq.wrapping_add(1 << 30);
    forged.ack = pair.driver.io.log[1].segment.seq.wrapping_add(1);
    pair.inject(Server, forged);
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(2));
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
}

/// "It is expected that a sender will eventually fall back to single-path TCP ... in order to work around middleboxes
/// that may drop packets with unknown options" (RFC 8684 §3.1).
#[test]
fn a_syn_that_is_dropped_twice_goes_out_as_plain_tcps() {
    let mut pair = Pair::new(&[10], config());
    pair.script(|p| if p.has_option(|o| matches!(o, MptcpOption::Capable(_))) { Fate::Drop } else { Fate::Pass });
    pair.connect();
    let with_option: Vec<bool> = pair.sent(Client).filter(|p| p.is_syn()).map(|p| p.has_option(|_| true)).collect();
    assert_eq!(with_option, [true, true, false]);
    assert!(!pair.the(Client).is_mptcp());
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(1));
}

/// Bad-input row 14.
#[test]
fn a_flood_of_syns_takes_bounded_memory_and_a_legitimate_one_succeeds() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.endpoints[1].set_half_open_limit(256);
    pair.connect();
    let like = pair.driver.io.log[0].segment.clone();
    let mut most = 0;
    for n in 0..10_000u32 {
        // 5 in each ms: 100 in a round trip.
        if n.is_multiple_of(5) {
            pair.run_for(ms(1));
            pair.clear_log();
        }
        if n == 5_000 {
            pair.driver.applications.apps = Default::default();
            pair.driver.applications.apps[1].reads = true;
            pair.open();
        }
        let mut syn = like.clone();
        syn.src.set_port(10_000 + (n % 50_000) as u16);
        syn.seq = n;
        let now = pair.now;
        pair.driver.endpoints[1].handle_segment(now, pathweave_wire::Ecn::NotEct, &syn);
        while pair.driver.endpoints[1].poll_transmit(now, 1).is_some() {}
        most = most.max(pair.driver.endpoints[1].connections());
    }
    assert_eq!(most, 256 + 2, "so many wait, and two are open");
    pair.write(Client, 10_000);
    pair.run_until("the legitimate one is open", secs(1), |p| p.the(Client).snapshot().sending.acked_bytes == 10_000);
    pair.run_for(secs(300));
    assert_eq!(pair.driver.endpoints[1].connections(), 2, "the others are given up");
}
