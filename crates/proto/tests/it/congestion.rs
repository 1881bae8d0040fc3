//! How much a sender puts into the network: the first window, the window after losses and timeouts, and the segments
//! that leave during repair (RFC 5681, RFC 6675).

use crate::pair::*;
use pathweave_proto::config::LossRecovery::{NewReno, RackTlp, Sack};
use pathweave_proto::config::{ConnectionConfig, LossRecovery, TcpConfig};
use pathweave_proto::congestion::Window;
use pathweave_proto::scheduler::Phase;
use pathweave_wire::Segment;

const SEGMENT: u64 = 1448;

/// An open connection with a round trip of 100 ms and a window of ten segments.
#[track_caller]
fn open(config: ConnectionConfig) -> Pair {
    let mut pair = Pair::new(&[50], config);
    pair.connect();
    pair.clear_log();
    pair
}

/// Number of a data segment of the client, from 0 on.
fn number(pair: &Pair, packet: &Packet) -> u64 {
    (u64::from(pair.relative(packet)) - 1) / SEGMENT
}

/// Drops the first transmission of these data segments of the client.
fn lose(pair: &mut Pair, mut wanted: Vec<u32>) {
    let isn = pair.isn(Client, 0);
    pair.script(move |p| {
        let n = p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / SEGMENT as u32;
        let found = wanted.iter().position(|w| p.from == Client && p.is_data() && *w == n);
        found.map_or(Fate::Pass, |i| {
            wanted.swap_remove(i);
            Fate::Drop
        })
    });
}

fn window(pair: &Pair) -> Window {
    let state = pair.subflow(Client, 0).window;
    Window { cwnd: state.cwnd, ssthresh: state.ssthresh }
}

/// From now on no data of the client arrives.
fn silence(pair: &mut Pair) {
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
}

#[test]
fn no_more_is_out_than_the_first_window_and_the_handshake_adds_nothing_to_it() {
    for config in [tcp_config(), config()] {
        let mut pair = open(config);
        assert_eq!(window(&pair), Window { cwnd: 10, ssthresh: Window::NO_THRESHOLD });
        pair.write(Client, 40 * SEGMENT);
        assert_eq!(pair.data(Client).count(), 10);
        pair.run_for(ms(99));
        assert_eq!(pair.data(Client).count(), 10);
    }
}

/// One lost SYN may be chance, several are none (RFC 6928 §2).
#[test]
fn after_a_handshake_that_was_lost_twice_the_first_window_is_one_segment() {
    for (lost, expected) in [(0, 10), (1, 10), (2, 1)] {
        let mut pair = Pair::new(&[50], tcp_config());
        pair.drop_some(lost, Packet::is_syn);
        pair.connect();
        pair.write(Client, 40 * SEGMENT);
        assert_eq!(pair.data(Client).count(), expected, "{lost} SYNs lost");
    }
}

#[test]
fn the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        lose(&mut pair, vec![0]);
        pair.write(Client, 40 * SEGMENT);
        pair.run_for(ms(100));
        let sent: Vec<u64> = pair.data(Client).map(|p| number(&pair, p)).collect();
        assert_eq!(sent[10..13], [10, 11, 0], "{recovery:?}: {sent:?}");
        // These two segments do not count towards the threshold.
        assert_eq!(window(&pair).ssthresh, 5, "{recovery:?}");
    }
}

/// A client whose first window is sent and lost, and an acknowledgement without news.
fn first_window_lost(recovery: LossRecovery) -> (Pair, Segment) {
    let mut pair = open(with_recovery(recovery));
    pair.write(Server, 10);
    pair.run_for(secs(1));
    silence(&mut pair);
    let repeated = pair.forge(Server, 0);
    pair.clear_log();
    pair.write(Client, 40 * SEGMENT);
    (pair, repeated)
}

#[test]
fn duplicates_that_sack_nothing_new_let_nothing_out() {
    for recovery in [RackTlp, Sack] {
        let (mut pair, repeated) = first_window_lost(recovery);
        (0..5).for_each(|_| pair.inject(Client, repeated.clone()));
        assert_eq!(pair.data(Client).count(), 10, "{recovery:?}");
        assert_eq!(pair.subflow(Client, 0).counters.recoveries, 0, "{recovery:?}");
    }
}

#[test]
fn duplicates_before_and_after_new_data_was_acknowledged_do_not_add_up() {
    for (before, recovers) in [(2, false), (3, true)] {
        let (mut pair, repeated) = first_window_lost(NewReno);
        let mut next = repeated.clone();
        next.ack = next.ack.wrapping_add(SEGMENT as u32);
        (0..before).for_each(|_| pair.inject(Client, repeated.clone()));
        // The first of these has news.
        (0..3).for_each(|_| pair.inject(Client, next.clone()));
        assert_eq!(pair.subflow(Client, 0).counters.recoveries > 0, recovers, "{}", pair.describe());
    }
}

#[test]
fn a_timeout_leaves_a_window_of_one_segment_and_further_ones_leave_the_threshold() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        silence(&mut pair);
        pair.write(Client, 40 * SEGMENT);
        for timeouts in 1..4 {
            pair.run_until("a timeout", secs(5), |p| p.subflow(Client, 0).counters.timeouts == timeouts);
            assert_eq!(window(&pair), Window { cwnd: 1, ssthresh: 5 }, "{recovery:?}, timeout {timeouts}");
        }
        pair.no_script();
        // The segments of the first window are repaired before another episode begins.
        pair.run_until("an answer", secs(5), |p| p.the(Client).snapshot().sending.acked_bytes > 0);
        assert_eq!(pair.subflow(Client, 0).window.phase, Phase::Loss, "{recovery:?}");
        pair.run_until_received(Server, 40 * SEGMENT, secs(5));
        assert_eq!(pair.subflow(Client, 0).counters.recoveries, 0, "{recovery:?}");
    }
}

#[test]
fn what_was_sent_less_than_a_round_trip_ago_is_not_lost_with_a_timeout() {
    let mut pair = open(with_recovery(RackTlp));
    pair.write(Client, SEGMENT);
    pair.run_for(secs(1));
    silence(&mut pair);
    pair.write(Client, SEGMENT);
    pair.run_until("its probe", secs(1), |p| p.subflow(Client, 0).counters.loss_probes == 1);
    pair.run_for(ms(250));
    pair.write(Client, 5 * SEGMENT);
    pair.run_until("the timeout", ms(99), |p| p.subflow(Client, 0).counters.timeouts == 1);
    // The five are still in flight, and the window has room for the lost one.
    assert_eq!(window(&pair).cwnd, 6);
}

#[test]
fn at_most_half_of_what_was_out_leaves_in_a_round_trip_until_losses_are_repaired() {
    for (recovery, prr) in [(RackTlp, true), (Sack, true), (NewReno, true), (RackTlp, false), (Sack, false)] {
        let config = with_recovery(recovery);
        let mut pair = open(ConnectionConfig { tcp: TcpConfig { prr, ..config.tcp }, ..config });
        lose(&mut pair, vec![12, 14]);
        pair.write(Client, 300 * SEGMENT);
        pair.run_until("recovery", secs(1), |p| p.subflow(Client, 0).counters.recoveries == 1);
        pair.run_for(ms(99));
        let sent: Vec<u64> = pair.data(Client).map(|p| number(&pair, p)).collect();
        let first = sent.iter().rposition(|n| *n == 12).expect("it goes out again");
        // Everything in front of it is acknowledged, and nothing behind it.
        let out = sent[..first].iter().max().expect("sent") + 1 - 12;
        let after = (sent.len() - first) as u64;
        assert!(after <= out / 2 + 1, "{recovery:?}, {prr}: {after} of {out}");
        pair.run_until_received(Server, 300 * SEGMENT, secs(5));
    }
}

#[test]
fn losses_in_two_windows_lower_the_threshold_twice() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        lose(&mut pair, vec![12, 80]);
        pair.write(Client, 300 * SEGMENT);
        let mut thresholds = Vec::new();
        for n in 1..3 {
            pair.run_until("recovery", secs(2), |p| p.subflow(Client, 0).counters.recoveries == n);
            thresholds.push(window(&pair).ssthresh);
        }
        assert!(thresholds[0] <= 11 && thresholds[1] < thresholds[0], "{recovery:?}: {thresholds:?}");
    }
}

#[test]
fn when_losses_are_repaired_the_window_is_the_threshold_and_grows_by_a_segment_each_round() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        lose(&mut pair, vec![12]);
        pair.write(Client, 300 * SEGMENT);
        pair.run_until("recovery", secs(1), |p| p.subflow(Client, 0).window.phase == Phase::Recovery);
        pair.run_until("its end", secs(1), |p| p.subflow(Client, 0).window.phase != Phase::Recovery);
        let (after, threshold) = (window(&pair).cwnd, window(&pair).ssthresh);
        // Growth by the last acknowledgements of the episode counts already.
        assert!(after <= threshold + 2, "{recovery:?}: {after} above {threshold}");
        pair.run_for(ms(300));
        assert!(window(&pair).cwnd <= after + 4, "{recovery:?}: {} after {after}", window(&pair).cwnd);
    }
}
