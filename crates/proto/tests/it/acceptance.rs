//! Which segments are accepted (RFC 9293 §3.10.7, RFC 7323 §4.3 and §5). Each check of a segment's numbers has a test
//! that fails without it.

use crate::pair::*;
use pathweave_proto::ConnectionEvent;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_wire::{Flags, Payload, SackBlock, Segment, Timestamps};

/// A plain TCP connection in the middle of its life, and the next segment of its client.
fn open() -> (Pair, Segment) {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    pair.run_for(secs(10));
    let next = pair.forge(Client, 0);
    pair.clear_log();
    (pair, next)
}

fn stamped(segment: &Segment, later: i32) -> Segment {
    let mut out = segment.clone();
    let t = out.options.timestamps.expect("timestamps are in use");
    out.options.timestamps = Some(Timestamps { value: t.value.wrapping_add(later as u32), ..t });
    out
}

fn bytes(pair: &Pair, at: u64, len: u64) -> Payload {
    let _ = pair;
    Payload::Bytes((at..at + len).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into())
}

/// PAWS: "If SEG.TSval < TS.Recent ... Send an acknowledgment in reply ... and drop the segment" (RFC 7323 §5.3 R1).
#[test]
fn a_segment_with_an_older_timestamp_is_dropped_and_answered() {
    let (mut pair, next) = open();
    let mut old = stamped(&next, -1000);
    old.payload = Payload::Bytes(vec![1; 100].into());
    pair.inject(Server, old);
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1000);
    assert_eq!(pair.sent(Server).filter(|p| p.is_pure_ack()).count(), 1);
    // The same segment with the newest timestamp is accepted.
    let mut new = next.clone();
    new.payload = bytes(&pair, 1000, 100);
    pair.inject(Server, new);
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1100);
}

/// "the TSopt MUST be sent in every non-<RST> segment for the duration of the connection" (RFC 7323 §3.2), and in none
/// if the SYN had none.
#[test]
fn timestamps_are_in_every_segment_or_in_none() {
    for offered in [true, false] {
        let tcp = pathweave_proto::config::TcpConfig { timestamps: offered, ..Default::default() };
        let server = tcp_config();
        let mut pair = Pair::new(&[10], pathweave_proto::config::ConnectionConfig { tcp, ..tcp_config() });
        pair.listen(server);
        pair.connect();
        pair.drop_some(1, Packet::is_data);
        pair.send_all(Client, 50_000);
        pair.send_all(Server, 50_000);
        pair.run_for(secs(10));
        assert_eq!((pair.received(Server), pair.received(Client)), (50_000, 50_000));
        for packet in &pair.driver.io.log {
            assert_eq!(packet.segment.options.timestamps.is_some(), offered, "{:?}", packet.segment);
        }
    }
}

/// "A TCP MUST NOT abort a TCP connection because any segment lacks an expected TSopt" (RFC 7323 §3.2).
#[test]
fn segments_that_lack_their_timestamps_end_nothing() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.script(|p| {
        p.segment.options.timestamps = None;
        Fate::Pass
    });
    pair.write(Client, 100_000);
    pair.write(Server, 100_000);
    pair.run_until_received(Server, 100_000, secs(5));
    pair.run_until_received(Client, 100_000, secs(5));
}

/// "The connection state MUST be maintained so that ... TS.Recent" comes only of segments that pass every check: one
/// forged segment must not make the peer's own segments look old (RFC 7323 §4.3, §5.3).
#[test]
fn only_acceptable_segments_in_order_set_the_timestamp_that_others_are_held_against() {
    let far = 1_000_000;
    let unsent = |s: &mut Segment| s.ack = s.ack.wrapping_add(100_000);
    let long_acked = |s: &mut Segment| s.ack = s.ack.wrapping_sub(1 << 30);
    let before_the_window = |s: &mut Segment| s.seq = s.seq.wrapping_sub(900);
    let out_of_order = |s: &mut Segment| {
        s.seq = s.seq.wrapping_add(500);
        s.payload = Payload::Bytes(vec![1; 10].into());
    };
    let without_ack = |s: &mut Segment| s.flags = Flags::NONE;
    let reset = |s: &mut Segment| {
        s.flags = Flags::RST;
        s.seq = s.seq.wrapping_add(100);
    };
    let changes = [unsent, long_acked, before_the_window, out_of_order, without_ack, reset];
    for (i, change) in changes.into_iter().enumerate() {
        let change: fn(&mut Segment) = change;
        let (mut pair, next) = open();
        let mut forged = stamped(&next, far);
        change(&mut forged);
        pair.inject(Server, forged);
        pair.run_for(ms(1));
        pair.driver.applications.unchecked = true;
        let mut honest = next.clone();
        honest.payload = bytes(&pair, 1000, 600);
        pair.inject(Server, honest);
        assert!(pair.the(Server).snapshot().receiving.in_order_bytes >= 1600, "row {i}");
    }
    // An acceptable segment in order does set it: later ones with the old timestamp are older.
    let (mut pair, next) = open();
    pair.inject(Server, stamped(&next, far));
    let mut honest = next.clone();
    honest.payload = bytes(&pair, 1000, 600);
    pair.inject(Server, honest);
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1000);
}

/// RFC 9293 §3.10.7.4: "If the ACK acks something not yet sent, then send an ACK, drop the segment, and return".
#[test]
fn data_beside_an_impossible_acknowledgement_is_dropped() {
    for wrong in [1u32, 100_000, 0u32.wrapping_sub(1 << 30)] {
        let (mut pair, next) = open();
        let mut forged = next.clone();
        forged.ack = forged.ack.wrapping_add(wrong);
        forged.payload = bytes(&pair, 1000, 100);
        pair.inject(Server, forged);
        assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1000, "{wrong}");
    }
    // An acknowledgement that the peer may have sent earlier is still accepted.
    let (mut pair, next) = open();
    pair.write(Server, 5000);
    pair.run_until_received(Client, 5000, secs(1));
    let mut late = next.clone();
    late.payload = bytes(&pair, 1000, 100);
    pair.inject(Server, late);
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 1100);
}

/// "If the RST bit is set ... If the ACK was acceptable, then signal to the user 'error: connection reset' ...
/// Otherwise (no ACK), drop the segment" (RFC 9293 §3.10.7.3).
#[test]
fn in_syn_sent_only_a_reset_that_acknowledges_the_syn_counts() {
    for config in [tcp_config(), config()] {
        for (flags, ack, ends) in [
            (Flags::RST, 1, false),
            (Flags::RST | Flags::ACK, 0, false),
            (Flags::RST | Flags::ACK, 2, false),
            (Flags::RST | Flags::ACK, 1, true),
        ] {
            let mut pair = Pair::new(&[10], config.clone());
            pair.script(|p| if p.number == 0 { Fate::Drop } else { Fate::Pass });
            pair.open();
            let syn = pair.driver.io.log[0].segment.clone();
            let mut reset = Segment::new(syn.dst, syn.src);
            (reset.flags, reset.ack) = (flags, syn.seq.wrapping_add(ack));
            pair.inject(Client, reset);
            let failed = pair.happened(Client, |e| matches!(e, ConnectionEvent::Failed(_)));
            assert_eq!(failed.is_some(), ends, "{flags:?} {ack}");
            if !ends {
                pair.run_until("both ends are connected", secs(5), |p| {
                    p.connection(Client).is_some_and(|c| c.is_connected()) && p.connection(Server).is_some()
                });
            }
        }
    }
}

/// In SYN-RECEIVED a reset counts only at the exact number (RFC 5961 §3.2), whatever it acknowledges.
#[test]
fn in_syn_received_only_a_reset_at_the_exact_number_counts() {
    for config in [tcp_config(), config()] {
        for (offset, ends) in [(1, true), (0, false), (2, false), (1000, false)] {
            let mut pair = Pair::new(&[10], config.clone());
            // The third ACK is delayed by a second.
            pair.script(|p| if p.number == 2 { Fate::Late(secs(1)) } else { Fate::Pass });
            pair.open();
            pair.run_for(ms(25));
            assert_eq!(pair.driver.endpoints[1].connections(), 1);
            let syn = pair.driver.io.log[0].segment.clone();
            let mut reset = Segment::new(syn.src, syn.dst);
            (reset.flags, reset.seq) = (Flags::RST, syn.seq.wrapping_add(offset));
            pair.inject(Server, reset);
            assert_eq!(pair.driver.endpoints[1].connections() == 0, ends, "{offset}");
        }
    }
}

/// "and if the RST bit is not set" (RFC 7323 §5.3 R1): a reset counts by its number, whatever its timestamp.
#[test]
fn a_reset_with_an_older_timestamp_counts() {
    let (mut pair, next) = open();
    let mut reset = stamped(&next, -1000);
    reset.flags = Flags::RST;
    pair.inject(Server, reset);
    assert!(pair.happened(Server, |e| matches!(e, ConnectionEvent::Failed(_))).is_some());
}

/// In SYN-RECEIVED a segment without options that TCP does not accept says nothing about Multipath TCP: it is not the
/// third ACK of plain TCP.
#[test]
fn in_syn_received_only_an_acceptable_segment_makes_the_connection_plain_tcp() {
    let forged = [
        (Flags::ACK, 1, 0),
        (Flags::ACK, 1, 100_000),
        (Flags::ACK, 0, 1),
        (Flags::ACK, 1_000_000_000, 1),
        (Flags::NONE, 1, 1),
        (Flags::ACK, 1, 1),
    ];
    for (flags, seq, ack) in forged {
        let mut pair = Pair::new(&[10], config());
        pair.script(|p| if p.number == 2 { Fate::Late(secs(1)) } else { Fate::Pass });
        pair.open();
        pair.run_for(ms(25));
        let (syn, answer) = (pair.driver.io.log[0].segment.clone(), pair.driver.io.log[1].segment.clone());
        let mut blind = Segment::new(syn.src, syn.dst);
        (blind.flags, blind.window) = (flags, 1000);
        (blind.seq, blind.ack) = (syn.seq.wrapping_add(seq), answer.seq.wrapping_add(ack));
        pair.inject(Server, blind);
        pair.write(Client, 1000);
        pair.run_until_received(Server, 1000, secs(5));
        let acceptable = (flags, seq, ack) == (Flags::ACK, 1, 1);
        assert_eq!(pair.the(Server).is_mptcp(), !acceptable, "{flags:?} {seq} {ack}");
    }
}

/// "If the SYN bit is set, irrespective of the sequence number, TCP MUST send an ACK" (RFC 5961 §4.2): in SYN-RECEIVED
/// only the peer's own SYN causes the SYN/ACK again.
#[test]
fn in_syn_received_only_the_same_syn_brings_the_answer_again() {
    for (offset, repeats) in [(0, true), (1, false), (5000, false)] {
        let mut pair = Pair::new(&[10], tcp_config());
        pair.script(|p| if p.number == 2 { Fate::Late(secs(1)) } else { Fate::Pass });
        pair.open();
        pair.run_for(ms(25));
        let mut syn = pair.driver.io.log[0].segment.clone();
        syn.seq = syn.seq.wrapping_add(offset);
        pair.clear_log();
        pair.inject(Server, syn);
        assert_eq!(pair.sent(Server).any(Packet::is_syn), repeats, "{offset}");
    }
}

/// An acknowledgement that data has overtaken is no probe and needs no answer.
#[test]
fn an_acknowledgement_that_was_overtaken_is_not_answered() {
    let (mut pair, next) = open();
    let mut late = next.clone();
    late.seq = late.seq.wrapping_sub(500);
    pair.inject(Server, late);
    pair.run_for(secs(1));
    assert_eq!(pair.sent(Server).count(), 0);
}

/// An older one can only be a probe, or of a sender that is lost.
#[test]
fn an_acknowledgement_counts_as_overtaken_by_64_kib_at_most() {
    for (behind, answers) in [(65_536, 0), (65_537, 1)] {
        let receive_buffer = ReceiveBuffer::Fixed(30_000);
        let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer, ..tcp_config() });
        pair.connect();
        pair.write(Client, 100_000);
        pair.run_for(secs(5));
        let mut late = pair.forge(Client, 0);
        late.seq = pair.sent(Server).next_back().expect("it acknowledges").segment.ack.wrapping_sub(behind);
        pair.clear_log();
        pair.inject(Server, late);
        assert_eq!(pair.sent(Server).count(), answers, "{behind}");
    }
}

/// "TCP implementations SHOULD allow a received RST segment to include data" (RFC 9293 §3.5.3), and "MUST process the
/// RST and URG fields of all incoming segments, even when the receive window is zero" (§3.4).
#[test]
fn a_reset_counts_with_data_and_where_the_window_is_closed() {
    for (closed, data) in [(false, 100), (true, 0), (true, 100)] {
        let receive_buffer = ReceiveBuffer::Fixed(30_000);
        let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer, ..tcp_config() });
        pair.driver.applications.apps[1].reads = !closed;
        pair.connect();
        pair.write(Client, if closed { 100_000 } else { 1000 });
        pair.run_for(secs(5));
        let receiving = pair.the(Server).snapshot().receiving;
        assert_eq!(receiving.window_end == receiving.in_order_bytes, closed);
        let mut reset = pair.forge(Client, 0);
        reset.flags = Flags::RST;
        reset.seq = pair.sent(Server).next_back().expect("it acknowledges").segment.ack;
        reset.payload = Payload::Bytes(vec![1; data].into());
        pair.inject(Server, reset);
        assert!(pair.happened(Server, |e| matches!(e, ConnectionEvent::Failed(_))).is_some(), "{closed}, {data}");
    }
}

/// Data with an older timestamp that has arrived already may have been repeated needlessly: the answer says which bytes
/// (RFC 2883 §4).
#[test]
fn what_is_dropped_for_its_timestamp_is_reported_where_it_is_here() {
    let (mut pair, next) = open();
    let mut old = stamped(&next, -1000);
    old.seq = old.seq.wrapping_sub(900);
    old.payload = bytes(&pair, 100, 200);
    pair.inject(Server, old.clone());
    let answer = pair.sent(Server).next().expect("it is answered");
    let expected = SackBlock { left: old.seq, right: old.seq.wrapping_add(200) };
    assert_eq!(answer.segment.options.sack.first(), Some(&expected));
}
