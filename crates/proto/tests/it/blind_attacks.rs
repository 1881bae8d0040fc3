//! Segments of a blind attacker, who does not see the connection (RFC 5961).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_wire::mptcp::{DataNumber, Key, MptcpOption};
use pathweave_wire::{Flags, Payload, Segment};

/// A connection in the middle of its life, and the next segment of its peer.
fn open() -> (Pair, Segment) {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 1000);
    pair.run_for(secs(10));
    let next = pair.forge(Client, 0);
    pair.clear_log();
    (pair, next)
}

/// Bad-input row 34: "in any 5 second window, no more than 10 challenge ACKs should be sent" (RFC 5961 §7).
#[test]
fn blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds() {
    let reset = |s: &mut Segment| {
        s.flags = Flags::RST;
        s.seq = s.seq.wrapping_add(100);
    };
    let syn = |s: &mut Segment| {
        s.flags = Flags::SYN;
        s.seq = s.seq.wrapping_add(5000);
    };
    let beyond = |s: &mut Segment| s.ack = s.ack.wrapping_add(100_000);
    let before = |s: &mut Segment| s.ack = s.ack.wrapping_sub(1 << 30);
    let outside = |s: &mut Segment| s.seq = s.seq.wrapping_add(1 << 30);
    for change in [reset as fn(&mut Segment), syn, beyond, before, outside] {
        let (mut pair, next) = open();
        let mut forged = next.clone();
        change(&mut forged);
        for _ in 0..100 {
            pair.inject(Server, forged.clone());
        }
        assert_eq!(pair.sent(Server).count(), 10);
        assert!(pair.sent(Server).all(Packet::is_pure_ack));
        // The limit is the connection's, and it recovers.
        pair.run_for(secs(6));
        pair.inject(Server, forged.clone());
        assert_eq!(pair.sent(Server).count(), 11);
        pair.write(Client, 1000);
        pair.run_until_received(Server, 2001, secs(1));
        assert_eq!((pair.usable(Client), pair.usable(Server)), (2, 2));
    }
}

/// An attacker who spreads guesses over the border of two windows gets no more answers than in one.
#[test]
fn in_any_five_seconds_there_are_ten_challenges_at_most() {
    let (mut pair, next) = open();
    let forged = Segment { flags: Flags::SYN, ..next };
    let start = pair.now;
    for (at, times) in [(0, 1), (4900, 20), (5000, 20), (9800, 20), (9950, 20), (10_800, 20)] {
        pair.run_for(ms(at).saturating_sub(pair.now.since(start)));
        for _ in 0..times {
            pair.inject(Server, forged.clone());
        }
    }
    let sent: Vec<_> = pair.sent(Server).map(|p| p.at).collect();
    assert_eq!(sent.len(), 20);
    assert!(sent.windows(11).all(|w| w[10].since(w[0]) >= secs(5)), "{sent:?}");
}

/// "SND.UNA - MAX.SND.WND" is the oldest number that a peer can still acknowledge (RFC 5961 §5.2): data beside an older
/// number comes from an attacker who had to guess.
#[test]
fn an_acknowledgement_older_than_any_window_is_challenged_and_its_data_dropped() {
    let receive_buffer = ReceiveBuffer::Fixed(30_000);
    let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer, ..tcp_config() });
    pair.connect();
    pair.write(Server, 400_000);
    pair.run_until_received(Client, 400_000, secs(20));
    pair.run_for(secs(1));
    let mut forged = pair.forge(Client, 0);
    let latest = forged.ack;
    forged.payload = Payload::Bytes(vec![byte_at(Client, 0)].into());
    pair.clear_log();
    // The window is 30,000 bytes, and the field of a SYN is at most 65,535.
    forged.ack = latest.wrapping_sub(65_537);
    pair.inject(Server, forged.clone());
    assert_eq!(pair.received(Server), 0);
    let challenges: Vec<_> = pair.sent(Server).collect();
    assert_eq!(challenges.len(), 1);
    assert_eq!((challenges[0].is_pure_ack(), challenges[0].segment.ack), (true, forged.seq));
    // An acknowledgement that was overtaken by less than a window is a peer's.
    forged.ack = latest.wrapping_sub(20_000);
    pair.inject(Server, forged);
    assert_eq!(pair.received(Server), 1);
}

/// "If an incoming segment is not acceptable, an acknowledgment should be sent in reply" (RFC 9293 §3.10.7.4), so that
/// a peer with wrong numbers learns the right ones. But two ends with wrong numbers must not answer each other for
/// ever.
#[test]
fn an_old_empty_segment_is_answered_ten_times_in_five_seconds() {
    let old = |s: &mut Segment| s.seq = s.seq.wrapping_sub(2_000_000);
    let paws = |s: &mut Segment| {
        let t = s.options.timestamps.as_mut().expect("timestamps are on");
        t.value = t.value.wrapping_sub(1_000_000);
    };
    for change in [old as fn(&mut Segment), paws] {
        let (mut pair, _) = open();
        pair.write(Client, 3_000_000);
        pair.run_for(secs(10));
        let next = pair.forge(Client, 0);
        pair.clear_log();
        let mut forged = next.clone();
        change(&mut forged);
        for _ in 0..50 {
            pair.inject(Server, forged.clone());
        }
        assert_eq!(pair.sent(Server).count(), 10);
        assert!(pair.sent(Server).all(|p| p.is_pure_ack() && p.segment.ack == next.seq));
    }
}

/// Linux answers each segment that is older than its last acknowledgement, twice a second. An end that repeats its
/// third acknowledgement after its data learns how far the peer is.
#[cfg(feature = "host-linux")]
#[test]
fn a_linux_host_answers_an_acknowledgement_that_its_data_has_overtaken_twice_a_second() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[10], on_linux(config));
        pair.connect();
        let mut third = pair.forge(Client, 0);
        pair.write(Client, 1000);
        pair.run_for(secs(2));
        third.options.timestamps = pair.forge(Client, 0).options.timestamps;
        pair.clear_log();
        for _ in 0..10 {
            pair.inject(Server, third.clone());
            pair.run_for(ms(100));
        }
        let answers: Vec<_> = pair.sent(Server).filter(|p| p.is_pure_ack()).collect();
        assert_eq!(answers.len(), 2);
        assert!(answers.iter().all(|p| p.segment.ack == third.seq.wrapping_add(1000)));
    }
}

/// A DATA_ACK of data that is written but was given to no subflow would end data that was never sent.
#[test]
fn a_data_ack_of_data_that_no_subflow_has_is_refused() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    // The peer's window is used up.
    pair.driver.applications.apps[1].reads = false;
    pair.write(Client, 3_000_000);
    pair.run_for(secs(5));
    let sent = pair.the(Client).snapshot().sending.acked_bytes;
    let mut forged = pair.sent(Server).rev().find(|p| p.is_pure_ack()).expect("sent").segment.clone();
    let dss = forged.options.dss.as_mut().expect("it acknowledges");
    dss.data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 2_500_000)));
    pair.inject(Client, forged);
    assert_eq!(pair.the(Client).snapshot().sending.acked_bytes, sent);
    pair.driver.applications.apps[1].reads = true;
    pair.read(Server, u64::MAX);
    pair.run_until_received(Server, 3_001_000, secs(20));
}

/// RFC 8684 §3.4.1: "the receiver MUST undertake standard TCP validity checks ... before acting upon it".
#[test]
fn signals_of_a_segment_that_is_not_acceptable_do_not_count() {
    let (mut pair, next) = open();
    let key = {
        let mut probe = Pair::new(&[10, 20], config());
        probe.connect_with_subflows(2);
        probe.command(Client, |c, now| c.abort(now));
        let found = probe.sent(Client).flat_map(|p| &p.segment.options.mptcp).find_map(|o| match o {
            MptcpOption::FastClose { receiver } => Some(*receiver),
            _ => None,
        });
        found.expect("equal runs have equal keys")
    };
    let outside = |s: &mut Segment| s.seq = s.seq.wrapping_add(1 << 30);
    let repeated = |s: &mut Segment| s.seq = s.seq.wrapping_sub(1000);
    let unsent = |s: &mut Segment| s.ack = s.ack.wrapping_add(100_000);
    for change in [outside as fn(&mut Segment), repeated, unsent] {
        let mut forged = next.clone();
        change(&mut forged);
        forged.options.mptcp = vec![MptcpOption::FastClose { receiver: key }, MptcpOption::Priority { backup: true }];
        pair.inject(Server, forged);
        assert_eq!(pair.the(Server).error(), None);
    }
    // The same in an acceptable segment ends the connection, because the key is right.
    let mut right = next.clone();
    right.options.mptcp = vec![MptcpOption::FastClose { receiver: Key(key.0) }];
    pair.inject(Server, right);
    assert!(pair.connection(Server).is_none_or(|c| c.error().is_some()));
}

/// An attacker who knows addresses and ports pretends that the server opens at the same time. The client answers, and
/// still takes the server's own answer. A reset in reply to the client's answer says nothing of the server.
#[test]
fn a_crossing_syn_that_nobody_sent_does_not_keep_a_client_from_connecting() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    pair.run_for(ms(1));
    let syn = &pair.driver.io.log[0].segment;
    let mut crossing = Segment::new(syn.dst, syn.src);
    (crossing.flags, crossing.seq, crossing.window) = (Flags::SYN, 0x1234_5678, 1000);
    pair.inject(Client, crossing.clone());
    let answer = pair.sent(Client).last().expect("RFC 9293 asks for an answer").segment.clone();
    assert_eq!((answer.flags, answer.ack), (Flags::SYN | Flags::ACK, 0x1234_5679));
    assert!(answer.options.mptcp.is_empty(), "it would tell our key");
    pair.inject(Client, answer.resetting_answer());
    pair.run_until("the client is connected", ms(100), |p| p.the(Client).is_connected());
    pair.write(Client, 10_000);
    pair.run_until_received(Server, 10_000, secs(1));
    assert!(pair.the(Client).is_mptcp() && pair.the(Server).is_mptcp());
    // Of any number of such SYNs, a few are answered.
    let mut pair = Pair::new(&[10], config());
    pair.open();
    for _ in 0..100 {
        pair.inject(Client, crossing.clone());
    }
    assert!(pair.sent(Client).count() <= 1 + 10);
}

/// An attacker who knows addresses and ports opens connections in the client's name, so that the server answers the
/// client's SYNs for those. Because these are answers, the client keeps asking for Multipath TCP.
#[test]
fn syns_in_a_clients_name_do_not_make_it_give_up_multipath_tcp() {
    let mut pair = Pair::new(&[10], config());
    pair.open();
    let syn = pair.driver.io.log[0].segment.clone();
    // A forged SYN precedes each of the client's SYNs.
    for at in 0..700 {
        let mut forged = Segment::new(syn.src, syn.dst);
        (forged.flags, forged.seq, forged.window) = (Flags::SYN, 0x0010_0000 * (at + 1), 1000);
        pair.inject(Server, forged);
        pair.run_for(ms(5));
    }
    assert!(!pair.the(Client).is_connected());
    pair.run_until("the client is connected", secs(8), |p| p.the(Client).is_connected());
    assert!(pair.sent(Client).filter(|p| p.is_syn()).count() > 2);
    assert!(pair.the(Client).is_mptcp());
}

/// "In all other cases, where the SEQ-field does not match and is outside the window, the receiver MUST silently
/// discard the segment" (RFC 5961 §3.2).
#[test]
fn a_reset_outside_of_the_window_is_not_answered() {
    for offset in [1u32 << 30, 0u32.wrapping_sub(1), 0u32.wrapping_sub(1 << 30)] {
        let (mut pair, next) = open();
        let mut forged = next.clone();
        forged.flags = Flags::RST;
        forged.seq = forged.seq.wrapping_add(offset);
        pair.inject(Server, forged);
        assert_eq!(pair.sent(Server).count(), 0, "{offset}");
        assert_eq!(pair.usable(Server), 2);
    }
}
