//! MP_JOIN: further subflows (RFC 8684 §3.2).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_wire::mptcp::{MpJoin, MptcpOption};

fn join(packet: &Packet) -> Option<MpJoin> {
    packet.segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Join(j) => Some(*j),
        _ => None,
    })
}

#[test]
fn four_segments_join_a_subflow() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let joins: Vec<_> = pair.log.iter().filter(|p| p.path == 1).collect();
    assert!(matches!(join(joins[0]), Some(MpJoin::Syn { .. })));
    assert!(matches!(join(joins[1]), Some(MpJoin::SynAck { .. })));
    assert!(matches!(join(joins[2]), Some(MpJoin::Ack { .. })));
    // The fourth ACK: data from the client only after it (RFC 8684 §3.2).
    assert!(joins[3].is_pure_ack() && joins[3].from == Server && join(joins[3]).is_none());
    // The server announces its address at 30 ms, once the third ACK is there: that proves the peer at 40 ms.
    let times: Vec<_> = joins.iter().take(4).map(|p| p.at).collect();
    assert_eq!(times, [at_ms(40), at_ms(60), at_ms(80), at_ms(100)]);
}

#[test]
fn the_joiner_sends_no_data_before_the_fourth_ack() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.apps[0].pending = 2_000_000;
    pair.connect();
    pair.run_until_received(Server, 2_000_000, secs(10));
    let fourth = pair.sent(Server).filter(|p| p.path == 1).nth(1).expect("there is a fourth ACK").at;
    let data = pair.data(Client).find(|p| p.path == 1).expect("the second path carries data").at;
    assert_eq!(data, fourth + ms(20));
}

#[test]
fn any_one_segment_of_the_join_may_be_lost() {
    for n in 0..4 {
        let mut pair = Pair::new(&[10, 20], config());
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
    // All is written and closed at once: the transfer still uses both paths.
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect();
    pair.send_all(Client, 3_000_000);
    pair.run_until_received(Server, 3_000_000, secs(10));
    assert!(pair.data(Client).any(|p| p.path == 1));
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

#[test]
fn an_unknown_token_is_refused_with_a_reason() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        for o in &mut p.segment.options.mptcp {
            if let MptcpOption::Join(MpJoin::Syn { token, .. }) = o {
                token.0 ^= 1;
            }
        }
        Fate::Pass
    });
    pair.connect();
    pair.write(Client, 10_000);
    pair.run_for(secs(1));
    let reset = pair.sent(Server).find(|p| p.is_rst() && p.path == 1).expect("a reset");
    assert!(reset.has_option(|o| matches!(o, MptcpOption::Reset { .. })));
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 20_000, secs(1));
}

#[test]
fn a_wrong_hmac_resets_only_that_subflow() {
    for spoiled in [1, 2] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.script(move |p| {
            for o in &mut p.segment.options.mptcp {
                match o {
                    MptcpOption::Join(MpJoin::SynAck { hmac, .. }) if spoiled == 1 => *hmac ^= 1,
                    MptcpOption::Join(MpJoin::Ack { hmac }) if spoiled == 2 => hmac[0] ^= 1,
                    _ => {}
                }
            }
            Fate::Pass
        });
        pair.connect();
        pair.write(Client, 10_000);
        pair.run_for(secs(2));
        assert!(pair.log.iter().any(|p| p.is_rst() && p.path == 1));
        assert_eq!((pair.usable(Client), pair.usable(Server)), (1, 1));
        pair.write(Client, 10_000);
        pair.run_until_received(Server, 20_000, secs(1));
    }
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
