//! RACK and tail loss probes (RFC 8985): when segments are found lost, and what a probe may do.

use crate::pair::*;
use pathweave_proto::config::LossRecovery::{NewReno, Sack};
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_proto::congestion::Window;
use pathweave_proto::scheduler::Phase;
use pathweave_wire::mptcp::{DataNumber, Dss};

const SEGMENT: u64 = 1448;

/// An open connection with a round trip of 100 ms and a window of ten segments.
#[track_caller]
fn open() -> Pair {
    let mut pair = Pair::new(&[50], tcp_config());
    pair.connect();
    pair.clear_log();
    pair
}

/// Sets the fate of the first transmission of each data segment of the client, by its number from 0 on.
fn first_transmissions(pair: &mut Pair, mut fate: impl FnMut(u32) -> Fate + 'static) {
    let isn = pair.isn(Client, 0);
    let mut seen = std::collections::BTreeSet::new();
    pair.script(move |p| {
        let n = p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / SEGMENT as u32;
        if p.from == Client && p.is_data() && seen.insert(n) { fate(n) } else { Fate::Pass }
    });
}

/// Times between the first transmission of a data segment of the client and its retransmissions.
fn repeated_after(pair: &Pair, n: u64) -> Vec<u64> {
    let sent: Vec<_> =
        pair.data(Client).filter(|p| u64::from(pair.relative(p)) == 1 + n * SEGMENT).map(|p| p.at).collect();
    sent[1..].iter().map(|at| at.since(sent[0]).as_micros() / 1000).collect()
}

#[test]
fn a_loss_that_few_later_segments_tell_of_is_found_a_quarter_of_a_round_trip_later() {
    let mut pair = open();
    first_transmissions(&mut pair, |n| if n == 1 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 3 * SEGMENT);
    pair.run_for(secs(1));
    assert_eq!(repeated_after(&pair, 1), [125]);
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.loss_probes, counters.timeouts), (0, 0));
}

/// The lost segment and the one that shows the loss were sent 20 ms apart, neither at a round time.
#[test]
fn how_long_ago_a_segment_was_sent_is_known_to_less_than_a_quarter_of_a_round_trip() {
    let mut pair = open();
    pair.run_for(ms(37));
    first_transmissions(&mut pair, |n| if n == 1 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 2 * SEGMENT);
    pair.run_for(ms(20));
    pair.write(Client, SEGMENT);
    pair.run_for(secs(1));
    assert_eq!(repeated_after(&pair, 1), [125]);
}

/// Two lost segments were sent 10 ms apart. The reordering timer runs for the later one (RFC 8985 §6.2 step 5; Linux
/// does the same), not for the segment that showed the loss, which was sent another 10 ms later.
#[test]
fn the_reordering_timer_runs_for_the_last_that_may_be_lost() {
    let mut pair = open();
    first_transmissions(&mut pair, |n| if n == 1 || n == 2 { Fate::Drop } else { Fate::Pass });
    for segments in [2, 1, 1] {
        pair.write(Client, segments * SEGMENT);
        pair.run_for(ms(10));
    }
    pair.run_for(secs(1));
    assert_eq!(repeated_after(&pair, 1), [135]);
}

#[test]
fn in_recovery_nothing_waits_for_what_may_only_be_late() {
    let mut pair = open();
    // Segments 30 and 31 leave in answer to the first duplicates of the loss of 10, before 10 is retransmitted, which
    // shows their loss.
    first_transmissions(&mut pair, |n| match n {
        10 | 30 => Fate::Drop,
        31 => Fate::Late(ms(2)),
        _ => Fate::Pass,
    });
    pair.write(Client, 32 * SEGMENT);
    pair.run_for(secs(1));
    assert_eq!((repeated_after(&pair, 10), repeated_after(&pair, 30)), (vec![100], vec![100]), "{}", pair.describe());
}

#[test]
fn what_the_peer_has_twice_makes_the_reordering_window_wider() {
    let mut pair = open();
    // More than the quarter of a round trip that RACK waits at first.
    first_transmissions(&mut pair, |n| if n % 40 == 20 { Fate::Late(ms(40)) } else { Fate::Pass });
    pair.write(Client, 400 * SEGMENT);
    pair.run_until_received(Server, 400 * SEGMENT, secs(20));
    pair.run_for(secs(1));
    let first = pair.subflow(Client, 0).counters.retransmitted_segments;
    assert!(first > 0);
    pair.write(Client, 400 * SEGMENT);
    pair.run_until_received(Server, 800 * SEGMENT, secs(20));
    assert_eq!(pair.subflow(Client, 0).counters.retransmitted_segments, first);
}

#[test]
fn the_reordering_window_is_wider_for_sixteen_recoveries() {
    for (losses, wider) in [(15, true), (16, false)] {
        let mut pair = open();
        // Some are later than the quarter of a round trip that RACK waits at first. Then one of each hundred is lost.
        first_transmissions(&mut pair, move |n| match n {
            0..400 if n % 40 == 20 => Fate::Late(ms(40)),
            400.. if n % 100 == 10 && n < 400 + 100 * losses => Fate::Drop,
            400.. if n % 100 == 10 => Fate::Late(ms(40)),
            _ => Fate::Pass,
        });
        let mut written = 0;
        let mut write = |pair: &mut Pair, segments: u64| {
            written += segments * SEGMENT;
            pair.write(Client, segments * SEGMENT);
            pair.run_until_received(Server, written, secs(20));
            pair.run_for(secs(1));
            pair.subflow(Client, 0).counters
        };
        let before = write(&mut pair, 400);
        let mut after = before;
        for _ in 0..losses {
            after = write(&mut pair, 100);
        }
        assert_eq!(after.retransmitted_segments - before.retransmitted_segments, u64::from(losses));
        assert_eq!((after.recoveries - before.recoveries, after.timeouts), (u64::from(losses), 0));
        let late = write(&mut pair, 100);
        assert_eq!(late.retransmitted_segments == after.retransmitted_segments, wider, "{losses}");
    }
}

#[test]
fn a_loss_that_a_probe_repaired_halves_the_window() {
    let mut pair = open();
    first_transmissions(&mut pair, |n| if n == 4 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 5 * SEGMENT);
    pair.run_for(secs(1));
    // Only an acknowledgement beyond the probe shows that the probe was needed.
    pair.write(Client, SEGMENT);
    pair.run_for(secs(1));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.loss_probes, counters.timeouts), (1, 0));
    let window = pair.subflow(Client, 0).window;
    assert_eq!((window.cwnd, window.ssthresh), (5, 5));
}

/// On this subflow the receiver acknowledges data of others. That is no second answer to the probe.
#[test]
fn an_acknowledgement_with_another_data_ack_does_not_say_that_a_probe_was_needless() {
    for other in [false, true] {
        let mut pair = Pair::new(&[50], ConnectionConfig { mptcp: true, ..tcp_config() });
        pair.connect();
        let mut seen = 0;
        pair.script(move |p| {
            seen += u32::from(p.is_data());
            if p.is_data() && seen == 5 { Fate::Drop } else { Fate::Pass }
        });
        let segment = u64::from(pair.subflow(Client, 0).mss);
        pair.write(Client, 5 * segment);
        pair.run_for(secs(1));
        pair.write(Client, segment);
        let mut answer = pair.forge(Server, 0);
        let said = pair.wire_dsn(Client, (5 + u64::from(other)) * segment);
        answer.options.dss = Some(Dss { data_ack: Some(DataNumber::Long(said)), mapping: None, data_fin: false });
        pair.inject(Client, answer);
        pair.run_for(secs(1));
        let counters = pair.subflow(Client, 0).counters;
        assert_eq!((counters.loss_probes, counters.timeouts), (1, 0), "{}", pair.describe());
        let reduced = pair.subflow(Client, 0).window.ssthresh != Window::NO_THRESHOLD;
        assert_eq!(reduced, other, "{}", pair.describe());
    }
}

#[test]
fn a_probe_of_what_had_arrived_leaves_the_window() {
    let mut pair = open();
    pair.write(Client, 5 * SEGMENT);
    pair.run_for(ms(40));
    // The acknowledgements are lost; that of the probe says that its data came twice.
    let until = pair.now + ms(50);
    pair.script(move |p| if p.from == Server && p.at < until { Fate::Drop } else { Fate::Pass });
    pair.run_for(secs(1));
    pair.write(Client, SEGMENT);
    pair.run_for(secs(1));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.loss_probes, counters.timeouts), (1, 0), "{}", pair.describe());
    assert_eq!(pair.subflow(Client, 0).window.ssthresh, Window::NO_THRESHOLD);
}

#[test]
fn there_is_one_probe_at_a_time() {
    for config in on_each_host(tcp_config()) {
        let mut pair = Pair::new(&[50], config);
        pair.connect();
        pair.kill(0);
        pair.write(Client, SEGMENT);
        pair.run_until("the probe", secs(1), |p| p.subflow(Client, 0).counters.loss_probes == 1);
        pair.write(Client, SEGMENT);
        pair.run_for(secs(2));
        assert_eq!(pair.subflow(Client, 0).counters.loss_probes, 1);
    }
}

/// "When the PTO timer expires, the sender MUST check ... the sender has obtained an RTT measurement since the last
/// loss probe transmission" (RFC 8985 §7.3): without timestamps a probe that repeats data measures none.
#[test]
fn after_a_probe_a_round_trip_is_measured_before_the_next() {
    let tcp = TcpConfig { timestamps: false, ..TcpConfig::default() };
    let mut pair = Pair::new(&[50], ConnectionConfig { tcp, ..tcp_config() });
    pair.connect();
    // An acknowledgement beyond the second segment ends the probe's episode.
    for (probes, timeouts) in [(1, 0), (1, 1), (1, 2)] {
        pair.drop_some(1, Packet::is_data);
        pair.write(Client, 1000);
        pair.run_for(secs(2));
        let counters = pair.subflow(Client, 0).counters;
        assert_eq!((counters.loss_probes, counters.timeouts), (probes, timeouts), "{}", pair.describe());
    }
    // A segment that is sent once measures a round trip.
    pair.write(Client, 1000);
    pair.run_for(secs(2));
    pair.drop_some(1, Packet::is_data);
    pair.write(Client, 1000);
    pair.run_for(secs(2));
    assert_eq!(pair.subflow(Client, 0).counters.loss_probes, 2);
}

#[test]
fn nothing_is_probed_in_recovery() {
    let mut pair = open();
    first_transmissions(&mut pair, |n| if n == 10 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 100 * SEGMENT);
    pair.run_until("recovery", secs(1), |p| p.subflow(Client, 0).window.phase == Phase::Recovery);
    pair.run_for(ms(20));
    pair.kill(0);
    pair.run_for(secs(5));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!(counters.loss_probes, 0);
    assert!(counters.timeouts > 0);
}

#[test]
fn without_sack_from_the_peer_duplicates_are_counted_and_nothing_is_probed() {
    let mut pair = Pair::new(&[50], tcp_config());
    let tcp = TcpConfig { recovery: NewReno, ..TcpConfig::default() };
    pair.listen(ConnectionConfig { tcp, ..tcp_config() });
    pair.connect();
    first_transmissions(&mut pair, |n| if n == 3 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 60 * SEGMENT);
    pair.run_until_received(Server, 60 * SEGMENT, secs(2));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.recoveries, counters.timeouts, counters.loss_probes), (1, 0, 0));
    pair.run_for(secs(1));
    pair.kill(0);
    pair.write(Client, SEGMENT);
    pair.run_for(secs(2));
    assert_eq!(pair.subflow(Client, 0).counters.loss_probes, 0);
}

#[test]
fn without_a_round_trip_a_probe_goes_out_after_a_second() {
    let mut pair = Pair::new(&[50], tcp_config());
    pair.drop_some(1, Packet::is_syn);
    pair.connect();
    assert_eq!(pair.subflow(Client, 0).rtt.smoothed, None);
    pair.drop_some(1, Packet::is_data);
    pair.clear_log();
    pair.write(Client, SEGMENT);
    pair.run_for(secs(2));
    assert_eq!(repeated_after(&pair, 0), [1000]);
}

#[test]
fn who_counts_sacks_sends_no_probe() {
    let mut pair = Pair::new(&[50], with_recovery(Sack));
    pair.connect();
    first_transmissions(&mut pair, |n| if n == 4 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 5 * SEGMENT);
    pair.run_for(secs(2));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.loss_probes, counters.timeouts), (0, 1));
}

/// The timeout's episode ends the probe's: later acknowledgements do not lower the threshold again.
#[test]
fn a_timeout_forgets_the_probe_before_it() {
    let mut pair = open();
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 10 * SEGMENT);
    pair.run_until("a timeout", secs(2), |p| p.subflow(Client, 0).counters.timeouts == 1);
    assert_eq!(pair.subflow(Client, 0).counters.loss_probes, 1);
    pair.no_script();
    pair.run_until_received(Server, 10 * SEGMENT, secs(5));
    pair.run_for(secs(1));
    pair.write(Client, SEGMENT);
    pair.run_for(secs(1));
    assert_eq!(pair.subflow(Client, 0).window.ssthresh, 5);
}

#[test]
fn a_retransmission_that_is_lost_goes_out_again_without_a_timeout() {
    let mut pair = open();
    let isn = pair.isn(Client, 0);
    let mut left = 2;
    pair.script(move |p| {
        let n = p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / SEGMENT as u32;
        if p.from == Client && p.is_data() && n == 10 && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Pass
    });
    pair.write(Client, 200 * SEGMENT);
    pair.run_until_received(Server, 200 * SEGMENT, secs(5));
    assert_eq!(repeated_after(&pair, 10).len(), 2, "{}", pair.describe());
    assert_eq!(pair.subflow(Client, 0).counters.timeouts, 0);
}
