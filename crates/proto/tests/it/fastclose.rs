//! MP_FASTCLOSE and resets (RFC 8684 §3.5, §3.6; RFC 5961).

use crate::pair::*;
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_wire::mptcp::{CapableContent, Key, MptcpOption};
use pathweave_wire::{Flags, Segment};

fn failure(pair: &Pair, side: Side) -> Option<ConnectionError> {
    pair.driver.applications.apps[side as usize].events.iter().find_map(|(_, e)| match e {
        ConnectionEvent::Failed(error) => Some(*error),
        _ => None,
    })
}

/// Bad-input row 26.
#[test]
fn it_carries_the_receivers_key_and_ends_all_subflows() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.command(Client, |c, now| c.abort(now));
    let resets: Vec<_> = pair.sent(Client).filter(|p| p.is_rst()).collect();
    assert_eq!(resets.len(), 2);
    assert!(resets.iter().any(|p| p.has_option(|o| matches!(o, MptcpOption::FastClose { .. }))));
    pair.run_for(ms(30));
    assert_eq!(failure(&pair, Client), Some(ConnectionError::Aborted));
    assert_eq!(failure(&pair, Server), Some(ConnectionError::Reset));
    assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
    assert_eq!(
        pair.driver.applications.apps[1].events.iter().filter(|(_, e)| matches!(e, ConnectionEvent::Failed(_))).count(),
        1
    );
}

/// Bad-input row 26, with the option on an acknowledgement: "Host B answers on the same subflow with a TCP RST and
/// tears down all subflows also through sending TCP RST signals" (RFC 8684 §3.5).
#[test]
fn on_an_acknowledgement_it_is_answered_by_resets() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let key = pair.driver.io.log.iter().flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
        MptcpOption::Capable(c) => match c.content {
            CapableContent::SynAck { sender } => Some(sender),
            _ => None,
        },
        _ => None,
    });
    let mut forged = pair.forge(Client, 0);
    forged.options.mptcp.push(MptcpOption::FastClose { receiver: key.expect("the server's key") });
    pair.inject(Server, forged);
    assert_eq!(failure(&pair, Server), Some(ConnectionError::Reset));
    let paths: Vec<usize> = pair.sent(Server).filter(|p| p.is_rst()).map(|p| p.path).collect();
    assert_eq!(paths, [0, 1]);
    assert_eq!(pair.driver.endpoints[1].connections(), 0);
}

/// Bad-input row 26.
#[test]
fn a_wrong_key_is_ignored() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    let like = pair.sent(Client).rev().find(|p| p.path == 0).expect("sent").segment.clone();
    let mut forged = Segment::new(like.src, like.dst);
    forged.flags = Flags::ACK;
    (forged.seq, forged.ack, forged.window) = (like.seq, like.ack, like.window);
    forged.options.timestamps = like.options.timestamps;
    forged.options.mptcp.push(MptcpOption::FastClose { receiver: Key(1) });
    pair.inject(Server, forged);
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_001, secs(1));
    assert_eq!(failure(&pair, Server), None);
}

#[test]
fn a_lost_fast_close_is_answered_by_resets_later() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.drop_some(2, |p| p.is_rst());
    pair.command(Client, |c, now| c.abort(now));
    pair.write(Server, 1000);
    pair.run_until("the server learns", secs(2), |p| failure(p, Server) == Some(ConnectionError::Reset));
    assert_eq!(pair.driver.endpoints[1].connections(), 0);
}

#[test]
fn resets_count_only_at_the_exact_number() {
    // RFC 5961 §3.2: elsewhere in the window a challenge is the answer, outside of it there is none.
    for (offset, challenged) in [(1u32, true), (1000, true), (0x4000_0000, false), (u32::MAX, false)] {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(ms(500));
        let like = pair.data(Client).next_back().expect("sent").segment.clone();
        let mut reset = Segment::new(like.src, like.dst);
        reset.flags = Flags::RST;
        reset.seq = like.seq.wrapping_add(1000).wrapping_add(offset);
        pair.clear_log();
        pair.inject(Server, reset);
        assert_eq!(pair.sent(Server).count(), usize::from(challenged), "offset {offset}");
        assert_eq!(failure(&pair, Server), None);
        pair.write(Client, 1000);
        pair.run_until_received(Server, 2000, secs(1));
    }
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(ms(500));
    let syn = pair.driver.io.log[0].segment.clone();
    pair.clear_log();
    let mut later = syn.clone();
    later.seq = later.seq.wrapping_add(5000);
    pair.inject(Server, later);
    assert_eq!(pair.sent(Server).filter(|p| p.is_pure_ack()).count(), 1);
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(1));
}
