//! Exact limits: the window of a segment (RFC 9293 §3.10.7.4, RFC 5961 §3.2), the age of a timestamp (RFC 7323 §5.5),
//! and bytes that come twice.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_units::Duration;
use pathweave_wire::{Flags, Payload, Segment, Timestamps};

/// Bytes beyond the offered edge that are still accepted, because the window field is rounded.
const SLACK: u64 = 1 << 14;

fn bytes(from: u64, len: u64) -> Payload {
    Payload::Bytes((from..from + len).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into())
}

/// A plain connection that has received 1000 bytes, the next segment of its client, and the number of bytes from there
/// on that are accepted.
fn open() -> (Pair, Segment, u64) {
    let receive_buffer = ReceiveBuffer::Fixed(30_000);
    let mut pair = Pair::new(&[10], ConnectionConfig { receive_buffer, ..tcp_config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1000, secs(1));
    pair.run_for(secs(10));
    let receiving = pair.the(Server).snapshot().receiving;
    let next = pair.forge(Client, 0);
    pair.clear_log();
    (pair, next, receiving.window_end - 1000 + SLACK)
}

/// "yet is within the current receive window (RCV.NXT < SEG.SEQ < RCV.NXT+RCV.WND)" (RFC 5961 §3.2).
#[test]
fn a_reset_is_challenged_up_to_the_edge_of_the_window() {
    let (_, _, room) = open();
    for (offset, challenged) in [(1, true), (room - 1, true), (room, false), (room + 1, false), (1 << 20, false)] {
        let (mut pair, next, _) = open();
        pair.inject(Server, Segment { flags: Flags::RST, seq: next.seq.wrapping_add(offset as u32), ..next });
        assert_eq!(pair.sent(Server).count(), usize::from(challenged), "{offset} of {room}");
        assert_eq!(pair.usable(Server), 1);
    }
}

/// Data must begin before the edge, and data beyond it is cut off. Data that is not accepted is answered.
#[test]
fn data_is_taken_up_to_the_edge_of_the_window() {
    let (_, _, room) = open();
    for (offset, taken) in [(1, 100), (room - 1, 1), (room, 0), (room + 1, 0), (1 << 20, 0)] {
        let (mut pair, next, _) = open();
        let payload = bytes(1000 + offset, 100);
        pair.inject(Server, Segment { seq: next.seq.wrapping_add(offset as u32), payload, ..next });
        assert_eq!(pair.subflow(Server, 0).held_bytes, taken, "{offset} of {room}");
        assert_eq!(pair.sent(Server).filter(|p| p.is_pure_ack()).count(), 1, "{offset} of {room}");
    }
}

/// A segment without data may be exactly at the edge, as the acknowledgement of a side that has filled the window is.
#[test]
fn an_acknowledgement_counts_up_to_the_edge_of_the_window() {
    for (beyond, counts) in [(0, true), (1, false), (1 << 20, false)] {
        let (mut pair, next, _) = open();
        pair.kill(0);
        pair.write(Server, 1000);
        pair.clear_log();
        let room = pair.the(Server).snapshot().receiving.window_end - 1000 + SLACK;
        let (seq, ack) = (next.seq.wrapping_add((room + beyond) as u32), next.ack.wrapping_add(1000));
        pair.inject(Server, Segment { seq, ack, ..next });
        assert_eq!(pair.the(Server).snapshot().sending.acked_bytes == 1000, counts, "{beyond}");
        assert_eq!(pair.sent(Server).filter(|p| p.is_pure_ack()).count(), usize::from(!counts), "{beyond}");
    }
}

/// A FIN takes a number as a byte does: either it is the last one with room, or it is cut off with the data beyond.
#[test]
fn a_fin_is_taken_up_to_the_edge_of_the_window() {
    let (_, _, room) = open();
    for (len, taken, ends) in [(room - 1, room - 1, true), (room, room, false), (room + 100, room, false)] {
        let (mut pair, next, _) = open();
        pair.inject(Server, Segment { flags: Flags::ACK | Flags::FIN, payload: bytes(1000, len), ..next });
        assert_eq!((pair.received(Server), pair.the(Server).at_end()), (1000 + taken, ends), "{len} of {room}");
    }
}

/// "TS.Recent is valid" for 24 days (RFC 7323 §5.5).
#[test]
fn an_older_timestamp_counts_for_nothing_after_24_days() {
    let days = secs(24 * 24 * 3600);
    for (idle, taken) in [(days.saturating_sub(Duration::from_nanos(1)), 0), (days, 100)] {
        let (mut pair, next, _) = open();
        pair.inject(Server, next.clone());
        pair.run_for(idle);
        let mut old = Segment { payload: bytes(1000, 100), ..next };
        let t = old.options.timestamps.expect("timestamps are in use");
        old.options.timestamps = Some(Timestamps { value: t.value.wrapping_sub(1), ..t });
        pair.inject(Server, old);
        assert_eq!(pair.received(Server), 1000 + taken, "{idle}");
    }
}

/// Waiting data has been acknowledged by SACK: other bytes that come in its place, before or after the hole is filled,
/// do not replace it.
#[test]
fn bytes_that_wait_are_not_replaced_by_others() {
    // Another piece around the waiting one, and a piece that fills the hole and everything behind it.
    for around in [false, true] {
        let (mut pair, next, _) = open();
        let at = |offset: u64| next.seq.wrapping_add(offset as u32);
        pair.inject(Server, Segment { seq: at(500), payload: bytes(1500, 100), ..next.clone() });
        let mut wrong = vec![0xa5; 1000];
        let start = if around { 300 } else { 0 };
        for (i, byte) in wrong.iter_mut().enumerate().take(500 - start) {
            *byte = byte_at(Client, 1000 + (start + i) as u64);
        }
        for (i, byte) in wrong.iter_mut().enumerate().skip(600 - start) {
            *byte = byte_at(Client, 1000 + (start + i) as u64);
        }
        pair.inject(Server, Segment { seq: at(start as u64), payload: Payload::Bytes(wrong.into()), ..next.clone() });
        if around {
            pair.inject(Server, Segment { payload: bytes(1000, 300), ..next.clone() });
        }
        // The programs compare each byte with the one that was sent.
        assert_eq!(pair.received(Server), if around { 1600 } else { 2000 });
    }
}
