//! Which segments change the window that a sender obeys, and what a receiver acknowledges at the window's edge (RFC
//! 9293 §3.10.7.4, §3.8.6): no acknowledged byte is ever dropped.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, FailureDetection, Pacing, ReceiveBuffer, TcpConfig};
use pathweave_units::{Bitrate, Duration};
use pathweave_wire::mptcp::{DataNumber, Dss};
use pathweave_wire::{Flags, Payload, Segment};

fn plain(buffer: u64) -> ConnectionConfig {
    ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(buffer), ..tcp_config() }
}

/// The server's window field for `bytes`.
fn field(pair: &Pair, bytes: u64) -> u16 {
    (bytes >> pair.driver.io.log[1].segment.options.window_scale.expect("scaling")) as u16
}

/// End of the data that the client has sent, relative to its SYN, among the packets of the log.
fn sent_end(pair: &Pair) -> u32 {
    pair.data(Client).map(|p| pair.relative(p) + p.len()).max().expect("there is data")
}

/// A client whose first window of data is sent and lost, after the server has sent 1000 bytes.
fn first_window_out() -> Pair {
    let mut pair = Pair::new(&[10], plain(200_000));
    pair.connect();
    pair.write(Server, 1000);
    pair.run_until_received(Client, 1000, secs(1));
    pair.run_for(secs(1));
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 150_000);
    pair
}

/// The server's acknowledgement of `more` bytes beyond its last one, from before the 1000 bytes that it sent.
fn overtaken(pair: &Pair, more: u32, window: u16) -> Segment {
    let mut late = pair.forge(Server, 0);
    late.seq = late.seq.wrapping_sub(1000);
    late.ack = late.ack.wrapping_add(more);
    late.window = window;
    late
}

/// A header's field without scaling ends at 65,535: a reader that makes more room than that has nothing to announce.
#[test]
fn without_scaling_reads_are_not_answered_by_repeated_acknowledgements() {
    let tcp = pathweave_proto::config::TcpConfig { window_scaling: false, ..Default::default() };
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..plain(1 << 20) });
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, 30_000);
    pair.run_for(secs(1));
    pair.clear_log();
    for _ in 0..30 {
        assert_eq!(pair.read(Server, 1000), 1000);
        pair.run_for(ms(10));
    }
    assert_eq!(pair.sent(Server).count(), 0, "{}", pair.describe());
}

#[test]
fn what_acknowledges_new_data_updates_the_window_also_where_a_later_segment_came_first() {
    let mut pair = first_window_out();
    // The client has seen what the server sent after this.
    let newer = pair.forge(Server, 0);
    pair.inject(Client, newer);
    let late = overtaken(&pair, 2 * 1448, field(&pair, 13_000));
    pair.inject(Client, late);
    pair.run_for(ms(100));
    // The window counts from the acknowledged byte, not from the old window's edge.
    let edge = 1 + 2 * 1448 + 13_000;
    assert!(sent_end(&pair) <= edge, "{} of {edge}", sent_end(&pair));
}

/// A window of 200,000 bytes, then one of 13,000 by a newer segment; the older one comes again.
#[test]
fn an_old_segment_does_not_bring_back_an_old_window() {
    let mut pair = Pair::new(&[10], plain(200_000));
    pair.connect();
    pair.write(Server, 1000);
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let newer = Segment { window: field(&pair, 13_000), ..pair.forge(Server, 0) };
    let edge = 1 + 1000 + 13_000;
    pair.inject(Client, newer.clone());
    // Older by its sequence number; older by its acknowledgement.
    let by_sequence = Segment { seq: newer.seq.wrapping_sub(500), window: field(&pair, 200_000), ..newer.clone() };
    let by_acknowledgement =
        Segment { ack: newer.ack.wrapping_sub(500), window: field(&pair, 200_000), ..newer.clone() };
    // A segment that is ahead in sequence, but acknowledges less than is acknowledged by now.
    let ahead = Segment { seq: newer.seq.wrapping_add(500), ..by_acknowledgement.clone() };
    pair.inject(Client, by_sequence);
    pair.inject(Client, by_acknowledgement);
    pair.inject(Client, ahead);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 150_000);
    pair.run_for(ms(100));
    assert!(sent_end(&pair) <= edge, "{} of {edge}", sent_end(&pair));
    // The next newer segment does open it.
    let opens = Segment { window: field(&pair, 100_000), ..newer };
    pair.inject(Client, opens);
    pair.run_for(ms(300));
    assert!(sent_end(&pair) > edge - 1448, "{}", sent_end(&pair));
}

/// The kernel does not take a smaller window of an acknowledgement that repeats the one before, but takes its DATA_ACK:
/// the old window then counts from there, beyond what the peer offers.
#[cfg(feature = "host-linux")]
#[test]
fn a_linux_host_counts_the_window_before_a_repetition_from_the_new_data_ack() {
    let more = 8192;
    for (config, moved) in [(config(), 0), (on_linux(config()), more)] {
        let config = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(200_000), ..config };
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 10_000);
        pair.run_for(ms(1));
        let before = pair.the(Client).snapshot().sending;
        let mut repeated = pair.forge(Server, 0);
        repeated.window -= field(&pair, more);
        let acked = pair.wire_dsn(Client, before.acked_bytes + more);
        repeated.options.dss = Some(Dss { data_ack: Some(DataNumber::Long(acked)), mapping: None, data_fin: false });
        pair.inject(Client, repeated);
        let after = pair.the(Client).snapshot().sending;
        assert_eq!(after.acked_bytes - before.acked_bytes, more);
        assert_eq!(after.window_end - before.window_end, moved);
    }
}

/// "A Window Scale option in a segment without a SYN bit MUST be ignored" (RFC 7323 §2.2).
#[test]
fn a_window_scale_outside_of_a_syn_is_ignored() {
    let mut pair = Pair::new(&[10], plain(200_000));
    pair.connect();
    let mut scaled = Segment { window: 10, ..pair.forge(Server, 0) };
    scaled.options.window_scale = Some(12);
    pair.inject(Client, scaled);
    let step = 1 << pair.driver.io.log[1].segment.options.window_scale.expect("scaling");
    assert_eq!(pair.the(Client).snapshot().sending.window_bytes, 10 * step);
}

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log the error but MUST
/// use 14" (RFC 7323 §2.3), and none is sent.
#[test]
fn no_window_is_scaled_by_more_than_14() {
    let mut pair = Pair::new(&[10], plain(1 << 40));
    pair.script(|p| {
        if p.from == Server && p.is_syn() {
            assert_eq!(p.segment.options.window_scale, Some(14));
            p.segment.options.window_scale = Some(15);
        }
        Fate::Pass
    });
    pair.connect();
    let one = Segment { window: 1, ..pair.forge(Server, 0) };
    pair.inject(Client, one);
    assert_eq!(pair.the(Client).snapshot().sending.window_bytes, 1 << 14);
}

/// "If this happens, the sender SHOULD NOT send new data, but SHOULD retransmit normally the old unacknowledged data"
/// (RFC 9293 §3.8.6). With Multipath TCP the edge never moves back (RFC 8684 §3.3.5).
#[test]
fn plain_tcp_obeys_a_window_that_shrinks() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10], ConnectionConfig { mptcp, ..plain(200_000) });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_until_received(Server, 1000, secs(1));
        pair.run_for(secs(1));
        let mut shrunk = pair.forge(Server, 0);
        shrunk.window = field(&pair, 10_000);
        if mptcp {
            let ack = pair.wire_dsn(Client, 1000);
            let data_ack = Some(pathweave_wire::mptcp::DataNumber::Long(ack));
            shrunk.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack, mapping: None, data_fin: false });
        }
        pair.inject(Client, shrunk);
        pair.kill(0);
        pair.write(Client, 100_000);
        let edge = 1 + 1000 + 10_000;
        assert_eq!(sent_end(&pair) <= edge, !mptcp, "{}, Multipath TCP: {mptcp}", sent_end(&pair));
        pair.revive(0);
        pair.run_until_received(Server, 101_000, secs(20));
    }
}

/// A window is rounded down to a unit of its field, so its edge may move back by less than a unit when a byte is
/// acknowledged (RFC 7323 §2.4). The window does not shrink by that, and nothing that was queued for it is taken back.
#[test]
fn an_edge_that_moves_back_by_less_than_a_unit_takes_nothing_back() {
    let pacing = Pacing::On { limit: Some(Bitrate::from_bps(100_000)), horizon: Duration::ZERO };
    let tcp = TcpConfig { pacing, ..plain(1 << 26).tcp };
    let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..plain(1 << 26) });
    pair.connect();
    let units = field(&pair, 8192);
    let offered = Segment { window: units, ..pair.forge(Server, 0) };
    pair.inject(Client, offered);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 100_000);
    let queued = pair.subflow(Client, 0).queue.unsent;
    assert!(queued > 0);
    let rounded = pair.forge(Server, 0);
    let rounded = Segment { ack: rounded.ack.wrapping_add(1), window: units - 1, ..rounded };
    pair.inject(Client, rounded);
    assert_eq!(pair.subflow(Client, 0).queue.unsent, queued);
}

/// Queued data, with the end of the stream, waits for the window again, even if the peer has ended its own stream.
#[test]
fn a_window_that_shrinks_below_what_is_queued_holds_it_back_with_its_fin() {
    for peer_has_ended in [false, true] {
        // Segments leave one by one, so that data and the FIN wait on the subflow.
        let pacing = Pacing::On { limit: Some(Bitrate::from_bps(100_000)), horizon: Duration::ZERO };
        let tcp = TcpConfig { pacing, ..plain(200_000).tcp };
        let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..plain(200_000) });
        pair.connect();
        pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.send_all(Client, 10_000);
        if peer_has_ended {
            pair.close(Server);
            pair.run_for(ms(15));
        }
        assert!(pair.subflow(Client, 0).queue.unsent > 0);
        let mut closed = pair.forge(Server, 0);
        closed.window = 0;
        pair.inject(Client, closed);
        assert_eq!(pair.subflow(Client, 0).queue.unsent, 0);
        let end = sent_end(&pair);
        pair.run_for(secs(30));
        assert_eq!(sent_end(&pair), end);
        pair.no_script();
        pair.run_until_received(Server, 10_000, secs(70));
        pair.run_until("the server sees the end", secs(2), |p| p.the(Server).at_end());
    }
}

/// A segment that exceeds the offered edge by more than rounding explains: only accepted data is acknowledged.
#[test]
fn what_lies_beyond_the_edge_is_cut_off_before_it_is_acknowledged() {
    for fin in [false, true] {
        let mut pair = Pair::new(&[10], plain(30_000));
        pair.driver.applications.apps[1].reads = false;
        pair.driver.applications.unchecked = true;
        pair.connect();
        pair.run_for(secs(1));
        let mut long = pair.forge(Client, 0);
        long.payload = Payload::Bytes(vec![7; 60_000].into());
        if fin {
            long.flags |= Flags::FIN;
        }
        pair.inject(Server, long);
        pair.run_for(secs(1));
        let taken = pair.the(Server).snapshot().receiving.in_order_bytes;
        assert!((30_000..60_000).contains(&taken), "{taken}");
        let acked = pair.sent(Server).map(|p| u64::from(pair.relative_ack(p))).max().expect("it answers");
        assert_eq!(acked, 1 + taken);
        assert_eq!(pair.read(Server, u64::MAX), taken);
        assert!(!pair.the(Server).at_end(), "its FIN lies beyond the edge");
    }
}

/// A sender whose peer has taken its window back "SHOULD retransmit normally the old unacknowledged data", and "SHOULD
/// NOT time out the connection if data beyond the right window edge is not acknowledged" (RFC 9293 §3.8.6).
#[test]
fn what_is_out_is_repeated_into_a_window_that_has_shrunk_and_ends_nothing() {
    let tcp = pathweave_proto::config::TcpConfig { max_retransmissions: 3, ..Default::default() };
    for answered in [true, false] {
        let config = ConnectionConfig { tcp: tcp.clone(), close_timeout: secs(100_000), ..plain(200_000) };
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        let closed = Segment { window: 0, ..pair.forge(Server, 0) };
        pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 10_000);
        let end = sent_end(&pair);
        pair.clear_log();
        for _ in 0..300 {
            pair.run_for(secs(1));
            if answered && pair.connection(Client).is_some() {
                pair.inject(Client, closed.clone());
            }
        }
        assert!(pair.data(Client).count() > 3 && sent_end(&pair) <= end);
        assert_eq!(pair.connection(Client).is_some_and(|c| c.error().is_none()), answered);
        if answered {
            pair.no_script();
            pair.run_until_received(Server, 11_000, secs(130));
        }
    }
}

/// Data that was dropped at a closed window is sent again soon after the window has opened, and not after a timeout
/// that was doubled repeatedly meanwhile.
#[test]
fn a_window_that_opens_again_ends_the_doubling_of_the_timeout() {
    let mut pair = Pair::new(&[10], plain(200_000));
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let open = pair.forge(Server, 0);
    let closed = Segment { window: 0, ..open.clone() };
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 10_000);
    for _ in 0..20 {
        pair.run_for(secs(1));
        pair.inject(Client, closed.clone());
    }
    pair.no_script();
    pair.clear_log();
    assert!(pair.subflow(Client, 0).rto >= secs(8), "{}", pair.subflow(Client, 0).rto);
    pair.inject(Client, open);
    pair.run_until_received(Server, 11_000, secs(1));
}

/// Only a window that was closed shows anything about losses: one that only grows postpones no timeout and ends no
/// doubling.
#[test]
fn a_window_that_only_grows_says_nothing_about_what_was_lost() {
    let mut pair = Pair::new(&[10], plain(200_000));
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let mut update = pair.forge(Server, 0);
    update.window = field(&pair, 20_000);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 10_000);
    pair.clear_log();
    for _ in 0..100 {
        update.window += 1;
        pair.inject(Client, update.clone());
        pair.run_for(ms(100));
    }
    let repeats = pair.data(Client).count();
    assert!((4..=8).contains(&repeats), "{repeats} in 10 s, each after twice the time");
    assert!(pair.subflow(Client, 0).rto > secs(3), "{}", pair.subflow(Client, 0).rto);
}

/// An attacker who has seen an old segment can replay it.
#[test]
fn an_old_segment_that_opens_a_window_ends_no_doubling() {
    let failure_detection = FailureDetection::Linux;
    let mut pair = Pair::new(&[10], ConnectionConfig { mptcp: true, failure_detection, ..plain(200_000) });
    pair.connect_with_subflows(1);
    pair.run_for(secs(1));
    let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 1)));
    let mut closed = pair.forge(Server, 0);
    closed.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
    closed.window = 0;
    let mut open = closed.clone();
    (open.seq, open.window) = (open.seq.wrapping_sub(1), u16::MAX);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 10_000);
    for _ in 0..20 {
        pair.run_for(secs(1));
        pair.inject(Client, closed.clone());
    }
    let rto = pair.subflow(Client, 0).rto;
    assert!(rto > secs(3), "{rto}");
    pair.inject(Client, open);
    assert_eq!(pair.subflow(Client, 0).rto, rto);
}

/// Data in flight is beyond the edge of a window that has shrunk, and its sender cannot know whether there is room for
/// it: the peer's answers keep the connection alive. If the window has room for all data in flight, or holds nothing
/// back, they show only that something is lost.
#[test]
fn answers_keep_alive_what_waits_for_a_window_that_has_shrunk_and_nothing_else() {
    for (window, lives) in [(400, true), (9996, true), (10_000, false), (100_000, false)] {
        let mut pair = Pair::new(&[10], plain(200_000));
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        let answer = Segment { window: field(&pair, window), ..pair.forge(Server, 0) };
        pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.clear_log();
        pair.write(Client, 10_000);
        for _ in 0..200 {
            pair.run_for(secs(1));
            if pair.connection(Client).is_some() {
                pair.inject(Client, answer.clone());
            }
        }
        assert_eq!(pair.connection(Client).is_some_and(|c| c.error().is_none()), lives, "{window}");
        // Nothing new is acknowledged, so the timeout keeps doubling (RFC 6298 §5.5).
        let first = pair.data(Client).next().expect("sent").segment.seq;
        let times: Vec<_> = pair.data(Client).filter(|p| p.segment.seq == first).map(|p| p.at).collect();
        let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
        assert!(longest > Some(secs(26)), "{times:?}");
    }
}

/// A FIN needs no window: a peer that answers it with a closed one and never acknowledges it keeps nothing alive.
#[test]
fn a_fin_behind_a_closed_window_is_not_repeated_for_ever() {
    let mut pair = Pair::new(&[10], plain(30_000));
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let answer = Segment { window: 0, ..pair.forge(Server, 0) };
    pair.inject(Client, answer.clone());
    pair.script(|p| if p.from == Client { Fate::Drop } else { Fate::Pass });
    pair.close(Client);
    assert!(pair.sent(Client).any(Packet::is_fin));
    for _ in 0..300 {
        pair.run_for(secs(1));
        if pair.connection(Client).is_some() {
            pair.inject(Client, answer.clone());
        }
    }
    assert_eq!(pair.driver.endpoints[0].connections(), 0, "{}", pair.describe());
}

/// A window too small to be worth a segment holds data back as a closed one does, and the time of both is counted.
#[test]
fn the_time_in_which_a_silly_window_holds_back_is_counted() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    let mut small = pair.forge(Server, 0);
    small.window = 1;
    pair.inject(Client, small);
    pair.kill(0);
    pair.write(Client, 100_000);
    pair.run_for(ms(100));
    let time = pair.the(Client).sending_time(pair.now);
    assert_eq!((time.busy, time.window_limited), (ms(100), ms(100)));
}
