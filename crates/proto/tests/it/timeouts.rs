//! The retransmission timer (RFC 6298), and the round trips that set it.

use crate::pair::*;
use pathweave_proto::config::LossRecovery::{NewReno, RackTlp, Sack};
use pathweave_proto::config::{ConnectionConfig, LossRecovery, TcpConfig};

const SEGMENT: u64 = 1448;

/// An open connection with a round trip of 100 ms and a window of ten segments.
#[track_caller]
fn open(recovery: LossRecovery) -> Pair {
    let tcp = TcpConfig { recovery, ..TcpConfig::default() };
    let mut pair = Pair::new(&[50], ConnectionConfig { tcp, ..tcp_config() });
    pair.connect();
    pair.clear_log();
    pair
}

/// The first of ten segments is lost, and so is its repetition; the last six come 200 ms late. On Linux their
/// acknowledgements restart the timer, because they were sent before the repetition (`tcp_clean_rtx_queue`).
#[cfg(feature = "host-linux")]
#[test]
fn on_linux_late_data_that_was_sent_before_a_repetition_restarts_the_timer() {
    for (config, restarts) in [(tcp_config(), false), (on_linux(tcp_config()), true)] {
        let mut pair = Pair::new(&[50], config);
        pair.connect();
        pair.clear_log();
        let isn = pair.isn(Client, 0);
        let (mut first, mut others) = (0, 0);
        pair.script(move |p| {
            if p.from == Server || !p.is_data() {
                return Fate::Pass;
            }
            if p.segment.seq == isn.wrapping_add(1) {
                first += 1;
                return if first <= 2 { Fate::Drop } else { Fate::Pass };
            }
            others += 1;
            if others <= 3 { Fate::Pass } else { Fate::Late(ms(200)) }
        });
        pair.write(Client, 10 * SEGMENT);
        pair.run_for(secs(2));
        let sent = pair.data(Client).filter(|p| pair.relative(p) == 1);
        let times: Vec<_> = sent.map(|p| p.at.since(at_ms(150)).as_micros() / 1000).collect();
        let &[0, 100..=130, again] = times.as_slice() else { panic!("{times:?}") };
        // The late acknowledgements come at 300 ms. A timeout is a round trip and 200 ms.
        assert_eq!(again >= 600, restarts, "{times:?}");
    }
}

/// "a segment is never retransmitted too early, i.e., less than one RTO after the previous transmission of that
/// segment" (§5).
#[test]
fn the_timer_repeats_nothing_sooner_than_a_timeout_after_it_was_last_sent() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(recovery);
        let isn = pair.isn(Client, 0);
        let mut left = 2;
        pair.script(move |p| {
            let is_tenth =
                p.from == Client && p.is_data() && p.segment.seq == isn.wrapping_add(1 + 10 * SEGMENT as u32);
            if is_tenth && left > 0 {
                left -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        pair.write(Client, 16 * SEGMENT);
        pair.run_for(secs(2));
        let sent = pair.data(Client).filter(|p| u64::from(pair.relative(p)) == 1 + 10 * SEGMENT);
        let times: Vec<_> = sent.map(|p| p.at.since(at_ms(100)).as_micros() / 1000).collect();
        // The handshake's 100 ms later: its place in the second flight, the third duplicate, and a timeout of 300 ms
        // later.
        assert_eq!(times, [150, 250, 550], "{recovery:?}");
        assert_eq!(pair.subflow(Client, 0).counters.timeouts, 1, "{recovery:?}");
    }
}

#[test]
fn no_timer_runs_when_all_is_acknowledged() {
    let mut pair = open(RackTlp);
    pair.write(Client, 20 * SEGMENT);
    assert!(pair.driver.endpoints[0].poll_timeout().is_some());
    pair.run_for(ms(300));
    assert_eq!(pair.subflow(Client, 0).window.unacked, 0);
    // The endpoint may wake at a time that was postponed since.
    assert_eq!(pair.the(Client).poll_timeout(), None, "at {}", pair.now);
}

/// §5.4, §5.6: the earliest segment is retransmitted, after twice the time each time.
#[test]
fn each_timeout_repeats_the_earliest_segment() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(recovery);
        pair.kill(0);
        pair.write(Client, 5 * SEGMENT);
        pair.run_until("four timeouts", secs(20), |p| p.subflow(Client, 0).counters.timeouts == 4);
        let first: Vec<_> = pair.data(Client).filter(|p| pair.relative(p) == 1).map(|p| p.at).collect();
        assert_eq!(first.len(), 5, "{recovery:?}: {}", pair.describe());
        let later = pair.data(Client).skip(5).filter(|p| pair.relative(p) != 1).count();
        // A probe takes the last one.
        assert_eq!(later, usize::from(recovery == RackTlp), "{recovery:?}");
    }
}

/// "A TCP implementation MUST take at least one RTT measurement per RTT" (§3).
#[test]
fn each_round_trip_is_measured() {
    for timestamps in [false, true] {
        let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
        let mut pair = Pair::new(&[50], ConnectionConfig { tcp, ..tcp_config() });
        pair.connect();
        for late in 1..5 {
            pair.script(move |p| if p.from == Client { Fate::Late(ms(10 * late)) } else { Fate::Pass });
            pair.write(Client, 4 * SEGMENT);
            pair.run_for(secs(1));
            let latest = pair.subflow(Client, 0).rtt.latest.expect("measured");
            assert!(latest >= ms(100 + 10 * late), "{latest} after {late}");
        }
    }
}

/// "only if the segment advances the left edge of the send window" (RFC 7323 §4.1).
#[test]
fn what_is_received_beyond_a_hole_measures_no_round_trip() {
    let mut pair = open(RackTlp);
    let isn = pair.isn(Client, 0);
    let mut sent = 0;
    pair.script(move |p| {
        let n = p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / SEGMENT as u32;
        sent += u32::from(p.from == Client && p.is_data());
        match n {
            0 if p.from == Client && p.is_data() && sent == 1 => Fate::Drop,
            1..4 if p.from == Client && p.is_data() && sent < 5 => Fate::Late(ms(70)),
            _ => Fate::Pass,
        }
    });
    pair.write(Client, 4 * SEGMENT);
    pair.run_for(secs(2));
    assert_eq!(pair.received(Server), 4 * SEGMENT);
    assert!(pair.subflow(Client, 0).rtt.max < Some(ms(110)), "{:?}", pair.subflow(Client, 0).rtt);
}
