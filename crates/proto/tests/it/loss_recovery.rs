//! Losses and their repair: RACK-TLP (RFC 8985), SACK (RFC 6675), NewReno (RFC 6582), timeouts (RFC 6298), F-RTO and
//! undo (RFC 5682, RFC 4015).

use crate::pair::*;
use pathweave_proto::config::LossRecovery::{NewReno, RackTlp, Sack};
use pathweave_proto::config::{ConnectionConfig, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_wire::mptcp::{DataNumber, Dss, MptcpOption};
use pathweave_wire::{SackBlock, Timestamps};
use std::collections::BTreeMap;

/// An open connection with a round trip of 100 ms.
#[track_caller]
fn open(config: ConnectionConfig) -> Pair {
    let mut pair = Pair::new(&[50], config);
    pair.connect();
    pair
}

/// Drops the first transmission of these data segments of the client, counted from 0.
fn lose(pair: &mut Pair, wanted: &'static [u32]) {
    let isn = pair.isn(Client, 0);
    let mut seen = std::collections::BTreeSet::new();
    pair.script(move |p| {
        if p.from != Client || !p.is_data() {
            return Fate::Pass;
        }
        let n = p.segment.seq.wrapping_sub(isn).wrapping_sub(1) / 1448;
        if seen.insert(n) && wanted.contains(&n) { Fate::Drop } else { Fate::Pass }
    });
}

const SEGMENT: u64 = 1448;

#[test]
fn any_one_segment_is_repaired_without_a_timeout() {
    for recovery in [RackTlp, Sack, NewReno] {
        for n in 0..30u32 {
            let mut pair = open(with_recovery(recovery));
            let wanted: &'static [u32] = Box::leak(Box::new([n]));
            lose(&mut pair, wanted);
            pair.write(Client, 60 * SEGMENT);
            pair.run_until_received(Server, 60 * SEGMENT, secs(2));
            pair.run_for(secs(1));
            let counters = pair.subflow(Client, 0).counters;
            assert_eq!(counters.retransmitted_segments, 1, "{recovery:?}, segment {n}\n{}", pair.describe());
            assert_eq!((counters.timeouts, counters.recoveries), (0, 1), "{recovery:?}, segment {n}");
        }
    }
}

#[test]
fn any_two_segments_are_repaired() {
    for recovery in [RackTlp, Sack, NewReno] {
        for a in 0..12u32 {
            for b in a + 1..20u32 {
                let mut pair = open(with_recovery(recovery));
                let wanted: &'static [u32] = Box::leak(Box::new([a, b]));
                lose(&mut pair, wanted);
                pair.write(Client, 40 * SEGMENT);
                pair.run_until_received(Server, 40 * SEGMENT, secs(3));
                pair.run_for(secs(1));
                let counters = pair.subflow(Client, 0).counters;
                assert!(counters.retransmitted_segments <= 4, "{recovery:?}: {a} and {b} lost: {counters:?}");
            }
        }
    }
}

#[test]
fn a_loss_halves_the_window() {
    let mut pair = open(with_recovery(RackTlp));
    lose(&mut pair, &[12]);
    pair.write(Client, 200 * SEGMENT);
    // Ten segments, then twenty with the lost one among them: the window has 20 + 2 segments when the loss is found.
    pair.run_until("recovery", secs(1), |p| p.subflow(Client, 0).counters.recoveries == 1);
    pair.run_until("recovered", secs(1), |p| p.subflow(Client, 0).counters.retransmitted_segments == 1);
    let repeated = pair.data(Client).filter(|p| pair.relative(p) == 1 + 12 * 1448).map(|p| p.at).collect::<Vec<_>>();
    assert_eq!(repeated.len(), 2);
    // Found one round trip after it was sent, plus the time that three later segments needed.
    assert_eq!(repeated[1].since(repeated[0]), ms(100));
    pair.run_for(ms(210));
    let cwnd = pair.subflow(Client, 0).window.cwnd;
    assert!((10..=13).contains(&cwnd), "{cwnd}");
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    // RFC 8985 §7.2: PTO = 2·SRTT, plus the worst delay of the acknowledgement if only one segment is in flight. The
    // retransmission timeout, here SRTT + 200 ms, is an upper limit.
    for (segments, lost, wait) in [(5u64, &[3u32, 4][..], 200), (5, &[4][..], 300), (1, &[0][..], 300)] {
        let mut pair = open(with_recovery(RackTlp));
        lose(&mut pair, lost);
        let start = pair.now;
        pair.write(Client, segments * SEGMENT);
        pair.run_until_received(Server, segments * SEGMENT, secs(2));
        let probe = pair.data(Client).filter(|p| p.at > start).find(|p| p.at > start + ms(150)).expect("a probe");
        assert_eq!(u64::from(pair.relative(probe)), 1 + (segments - 1) * SEGMENT, "the last segment");
        let repeated = probe.at;
        // The timer starts with the last acknowledgement, if there is one.
        let from = if segments > 1 { start + ms(100) } else { start };
        assert_eq!(repeated.since(from), ms(wait), "{segments} segments");
        assert_eq!(pair.subflow(Client, 0).counters.timeouts, 0);
    }
}

/// RFC 8985 §7.3: "Transmit the lowest-sequence unsent Segment", if there is one and the receive window has room for
/// it.
#[test]
fn a_probe_of_plain_tcp_carries_new_data_where_there_is_some() {
    for config in on_each_host(with_recovery(RackTlp)) {
        let mut pair = open(config);
        lose(&mut pair, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        pair.clear_log();
        pair.write(Client, 20 * SEGMENT);
        assert_eq!(pair.data(Client).count(), 10, "the window is full");
        pair.run_until("the probe", secs(1), |p| p.subflow(Client, 0).counters.loss_probes == 1);
        let probe = pair.data(Client).last().expect("sent");
        assert_eq!(u64::from(pair.relative(probe)), 1 + 10 * SEGMENT);
        pair.run_until_received(Server, 20 * SEGMENT, secs(3));
    }
}

#[test]
fn a_timeout_repeats_the_first_segment_first_even_with_new_data_waiting() {
    // RFC 5682 step 1. Everything from 1 s to 1.3 s is lost; much more data waits.
    for recovery in [RackTlp, Sack, NewReno] {
        let config = with_scheduler(with_recovery(recovery), "linux");
        let mut pair = open(config);
        pair.run_for(ms(1000) - pair.now.since(at_ms(0)));
        pair.script(|p| if p.at >= at_ms(1000) && p.at < at_ms(1300) { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 500 * SEGMENT);
        let una = pair.data(Client).next().expect("sent").segment.seq;
        pair.run_for(ms(299));
        pair.clear_log();
        pair.run_until("the timeout", secs(2), |p| p.subflow(Client, 0).counters.timeouts == 1);
        assert_eq!(pair.data(Client).next().expect("sent").segment.seq, una, "{recovery:?}");
        pair.run_until_received(Server, 500 * SEGMENT, secs(5));
        assert_eq!(pair.subflow(Client, 0).counters.timeouts, 1, "{recovery:?}");
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    for queued in [false, true] {
        let config = if queued { with_scheduler(with_recovery(Sack), "linux") } else { with_recovery(Sack) };
        let mut pair = open(config);
        pair.write(Client, 30 * SEGMENT);
        pair.run_for(secs(2));
        let before = pair.subflow(Client, 0).window.cwnd;
        // A handover: everything sent within 10 ms arrives two seconds late.
        let start = pair.now;
        pair.script(move |p| if p.at.since(start) < ms(10) { Fate::Late(secs(2)) } else { Fate::Pass });
        pair.write(Client, 100 * SEGMENT);
        pair.run_until_received(Server, 130 * SEGMENT, secs(10));
        pair.run_for(secs(3));
        let after = pair.subflow(Client, 0);
        assert!(after.counters.timeouts >= 1);
        assert_eq!(after.counters.undos, 1, "{:?}", after.counters);
        assert!(after.window.cwnd >= before.min(10), "{} {}", after.window.cwnd, before);
    }
}

#[test]
fn a_real_timeout_is_not_undone() {
    let mut pair = open(with_scheduler(tcp_config(), "linux"));
    pair.write(Client, 30 * SEGMENT);
    pair.run_for(secs(2));
    let start = pair.now;
    pair.script(move |p| if p.at.since(start) < ms(150) && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 200 * SEGMENT);
    pair.run_until_received(Server, 230 * SEGMENT, secs(10));
    assert_eq!(pair.subflow(Client, 0).counters.undos, 0);
}

#[test]
fn timeouts_double() {
    let mut pair = open(tcp_config());
    pair.write(Client, 10 * SEGMENT);
    pair.run_for(secs(1));
    pair.kill(0);
    pair.clear_log();
    pair.write(Client, SEGMENT);
    pair.run_for(secs(20));
    let times: Vec<_> = pair.data(Client).map(|p| p.at).collect();
    // The transmission, its probe, then timeouts.
    let gaps: Vec<_> = times.windows(2).skip(1).map(|w| w[1].since(w[0])).collect();
    assert!(gaps.len() >= 4);
    for w in gaps.windows(2).skip(1) {
        assert_eq!(w[1], w[0].saturating_mul(2), "{gaps:?}");
    }
}

/// If no user timeout comes first, a segment is sent again as often as the settings say, for longer than RFC 9293 asks.
#[test]
fn data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever() {
    let mut pair = open(ConnectionConfig { close_timeout: secs(100_000), ..tcp_config() });
    pair.kill(0);
    pair.clear_log();
    let start = pair.now;
    pair.write(Client, SEGMENT);
    pair.run_for(secs(2000));
    let last = pair.data(Client).last().expect("it was sent").at;
    assert!(last.since(start) > secs(100), "{:?}", last.since(start));
    let times = pair.data(Client).count();
    assert_eq!(times, 1 + 1 + 15, "the transmission, its probe, and what timeouts repeat");
}

#[test]
fn slight_reordering_repeats_nothing() {
    // RFC 8985 §6.2: a reordering window of a quarter of the smallest round trip.
    let mut pair = open(with_recovery(RackTlp));
    let mut n = 0;
    pair.script(move |p| {
        n += u32::from(p.from == Client && p.is_data());
        if p.from == Client && p.is_data() && n % 7 == 0 { Fate::Late(ms(3)) } else { Fate::Pass }
    });
    pair.write(Client, 300 * SEGMENT);
    pair.run_until_received(Server, 300 * SEGMENT, secs(5));
    let counters = pair.subflow(Client, 0).counters;
    // Before any reordering was seen, three segments above count as a loss.
    assert_eq!(counters.undos, counters.recoveries, "{counters:?}");
    assert!(counters.retransmitted_segments <= 8, "{counters:?}");
}

#[test]
fn unnecessary_recoveries_are_undone() {
    // A segment that comes 60 ms late looks lost; its D-SACK or timestamp shows that it was not.
    let mut pair = open(with_recovery(RackTlp));
    let mut done = false;
    let isn = pair.isn(Client, 0);
    pair.script(move |p| {
        if p.from == Client && p.is_data() && !done && p.segment.seq.wrapping_sub(isn) > 15 * 1448 {
            done = true;
            return Fate::Late(ms(60));
        }
        Fate::Pass
    });
    pair.write(Client, 100 * SEGMENT);
    pair.run_until_received(Server, 100 * SEGMENT, secs(5));
    pair.run_for(secs(1));
    let counters = pair.subflow(Client, 0).counters;
    assert_eq!((counters.recoveries, counters.undos), (1, 1), "{counters:?}");
}

#[test]
fn duplicated_packets_cause_nothing() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        pair.script(|p| if p.is_data() { Fate::Twice(ms(1)) } else { Fate::Pass });
        pair.write(Client, 200 * SEGMENT);
        pair.run_until_received(Server, 200 * SEGMENT, secs(5));
        let counters = pair.subflow(Client, 0).counters;
        assert_eq!(counters.timeouts, 0, "{recovery:?}");
        if recovery != NewReno {
            assert_eq!(counters.retransmitted_segments, 0, "{recovery:?}");
        }
    }
}

#[test]
fn acknowledgements_may_be_lost_by_half() {
    for recovery in [RackTlp, Sack, NewReno] {
        let mut pair = open(with_recovery(recovery));
        let mut n = 0;
        pair.script(move |p| {
            n += 1;
            if p.from == Server && n % 2 == 0 { Fate::Drop } else { Fate::Pass }
        });
        pair.write(Client, 500 * SEGMENT);
        pair.run_until_received(Server, 500 * SEGMENT, secs(5));
        let counters = pair.subflow(Client, 0).counters;
        assert!(counters.retransmitted_segments <= 1, "{recovery:?} {counters:?}");
    }
}

#[test]
fn heavy_loss_both_ways_ends_with_all_data() {
    for recovery in [RackTlp, Sack, NewReno] {
        for config in [with_recovery(recovery), ConnectionConfig { mptcp: true, ..with_recovery(recovery) }] {
            let mut pair = Pair::new(&[10, 30], config);
            let mut random = pathweave_units::random::Random::substream(7, "loss");
            pair.script(move |_| if random.chance(0.2) { Fate::Drop } else { Fate::Pass });
            pair.connect();
            pair.send_all(Client, 300 * SEGMENT);
            pair.send_all(Server, 200 * SEGMENT);
            pair.run_until("both have all", secs(600), |p| {
                p.received(Server) == 300 * SEGMENT && p.received(Client) == 200 * SEGMENT
            });
        }
    }
}

/// Pure acknowledgements of the server since `from`.
#[cfg(feature = "host-linux")]
fn acks(pair: &Pair, from: pathweave_units::Instant) -> Vec<pathweave_units::Duration> {
    let since = |p: &Packet| p.at.since(from);
    pair.driver.io.log.iter().filter(|p| p.from == Server && p.is_pure_ack() && p.at > from).map(since).collect()
}

#[cfg(feature = "host-linux")]
#[test]
fn a_linux_host_compresses_acknowledgements_of_a_hole_after_the_first_three() {
    let mut pair = open(on_linux(with_recovery(RackTlp)));
    pair.write(Client, 200 * SEGMENT);
    pair.run_until_received(Server, 200 * SEGMENT, secs(5));
    pair.run_for(secs(1));
    lose(&mut pair, &[200]);
    let start = pair.now;
    pair.write(Client, 10 * SEGMENT);
    // Nine segments beyond the hole arrive at once: three acknowledgements, and one for the other six.
    pair.run_for(ms(60));
    let times = acks(&pair, start);
    assert_eq!(times.len(), 4, "{times:?}");
    assert_eq!(times[2], ms(50));
    assert_eq!(times[3].as_micros(), 51_100, "1 ms, and the timer's slack");
    pair.run_for(secs(1));
    assert_eq!(pair.received(Server), 210 * SEGMENT);
}

#[test]
fn an_acknowledgement_that_waited_for_a_hole_is_no_sign_of_reordering() {
    let mut pair = open(with_recovery(RackTlp));
    pair.write(Client, 200 * SEGMENT);
    pair.run_until_received(Server, 200 * SEGMENT, secs(5));
    pair.run_for(secs(1));
    // Segment 200 is acknowledged together with the first SACK: its own acknowledgement was delayed.
    lose(&mut pair, &[201]);
    let start = pair.now;
    pair.write(Client, 8 * SEGMENT);
    pair.run_for(secs(1));
    let again = pair.data(Client).rfind(|p| p.at > start).expect("it is repeated").at;
    // At the third SACK, not a reordering window (25 ms) later.
    assert!(again.since(start) <= ms(102), "{again:?} after {start:?}\n{}", pair.describe());
    assert_eq!(pair.received(Server), 208 * SEGMENT);
}

/// A window that the application does not use shows nothing about the path, and does not grow (RFC 9293 §3.8.2, RFC
/// 7661 §4).
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    let before = pair.subflow(Client, 0).window.cwnd;
    for _ in 0..50 {
        pair.write(Client, 100);
        pair.run_for(ms(50));
    }
    assert_eq!(pair.subflow(Client, 0).window.cwnd, before);
    pair.write(Client, 1_000_000);
    pair.run_for(ms(200));
    assert!(pair.subflow(Client, 0).window.cwnd > before, "one that is used grows");
}

/// In slow start more than half of it must have been used, as in Linux, so that it may double within a round trip.
#[test]
fn a_window_grows_in_slow_start_where_more_than_half_of_it_is_used() {
    for (segments, grows) in [(5, false), (6, true)] {
        let mut pair = open(with_recovery(RackTlp));
        assert_eq!(pair.subflow(Client, 0).window.cwnd, 10);
        pair.write(Client, segments * 1448);
        pair.run_for(secs(1));
        assert_eq!(pair.subflow(Client, 0).window.cwnd > 10, grows, "{segments}");
    }
}

/// "TCP MUST use Karn's algorithm [KP87] for taking RTT samples" (RFC 6298 §3): without timestamps it is unknown which
/// transmission was answered.
#[test]
fn a_repeated_segment_measures_no_round_trip() {
    let tcp = TcpConfig { recovery: NewReno, timestamps: false, ..TcpConfig::default() };
    let mut pair = open(ConnectionConfig { tcp, ..tcp_config() });
    pair.write(Client, 10_000);
    pair.run_for(secs(1));
    let before = pair.subflow(Client, 0).rtt;
    // The second segment's acknowledgement waits for the first. Its echo was not agreed on and says nothing.
    let mut dropped = false;
    pair.script(move |p| {
        if p.from == Server {
            p.segment.options.timestamps = Some(Timestamps { value: 1, echo: 1 });
        }
        if p.is_data() && !core::mem::replace(&mut dropped, true) { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 2 * 1460);
    pair.run_until_received(Server, 10_000 + 2 * 1460, secs(2));
    pair.run_for(secs(1));
    assert_eq!(pair.subflow(Client, 0).counters.timeouts, 1);
    assert_eq!(pair.subflow(Client, 0).rtt, before);
}

/// "an MPTCP implementation receiving a duplicate ACK that contains an MPTCP option MUST NOT treat it as a signal of
/// congestion" (RFC 8684 §3), if only their number shows a loss. A DATA_ACK is no such option (§4).
#[test]
fn repeated_acknowledgements_with_signals_are_no_sign_of_congestion() {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum With {
        Nothing,
        Priority,
        // Another subflow may have delivered the data before it.
        OtherDataAcks,
    }
    for with in [With::Nothing, With::Priority, With::OtherDataAcks] {
        let mut pair = open(ConnectionConfig { mptcp: true, ..with_recovery(NewReno) });
        pair.write(Client, 10 * SEGMENT);
        pair.run_for(secs(1));
        pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 8 * SEGMENT);
        let mut repeated = pair.forge(Server, 0);
        if with == With::Priority {
            repeated.options.mptcp.push(MptcpOption::Priority { backup: false });
        }
        for n in 1..=5 {
            if with == With::OtherDataAcks {
                let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, (10 + n) * SEGMENT)));
                repeated.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
            }
            pair.inject(Client, repeated.clone());
        }
        assert_eq!(pair.subflow(Client, 0).counters.recoveries, u64::from(with != With::Priority));
        pair.no_script();
        pair.run_until_received(Server, 18 * SEGMENT, secs(3));
    }
}

/// Without timestamps retransmitted segments measure no round trip (Karn), so the timeout keeps doubling while the
/// stream advances. It does not grow beyond the time after which the connection is given up.
#[test]
fn a_timeout_that_doubles_while_data_arrives_ends_no_connection() {
    for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(ConnectionConfig { mptcp, ..config() })) {
        let (mptcp, host) = (config.mptcp, config.host);
        let tcp = TcpConfig { timestamps: false, recovery: NewReno, ..config.tcp };
        let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..config });
        pair.connect();
        let mut sent = BTreeMap::new();
        pair.script(move |p| {
            if p.from == Server || !p.is_data() {
                return Fate::Pass;
            }
            let times = sent.entry(p.segment.seq).or_insert(0);
            *times += 1;
            if *times < 4 { Fate::Drop } else { Fate::Pass }
        });
        pair.write(Client, 15_000);
        pair.run_for(secs(600));
        assert_eq!(pair.received(Server), 15_000, "{mptcp}, {host:?}, {}", pair.describe());
    }
}

/// An acknowledgement of a segment that was sent three times, which echoes the timestamp of the second transmission, is
/// for the second. It then shows no loss of segments sent before the third (RFC 8985 §6.2). Linux uses the shortest
/// round trip alone. Timestamps that were not agreed on say nothing.
#[test]
fn an_acknowledgement_that_echoes_an_earlier_time_makes_nothing_lost() {
    for config in on_each_host(tcp_config()) {
        let tells = config.host == Host::Rfc;
        for (timestamps, echoes_last, lost) in [(true, false, !tells), (true, true, true), (false, false, true)] {
            let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
            let mut pair = Pair::new(&[10], ConnectionConfig { tcp, ..config.clone() });
            pair.connect();
            pair.run_for(secs(1));
            let mut answer = pair.forge(Server, 0);
            pair.kill(0);
            pair.clear_log();
            let mut answers = |pair: &mut Pair, ack: u32, blocks: &[(u32, u32)], echo: u32| {
                answer.ack = ack;
                answer.options.sack =
                    blocks.iter().map(|(left, right)| SackBlock { left: *left, right: *right }).collect();
                answer.options.timestamps = Some(Timestamps { value: 1 << 30, echo });
                pair.inject(Client, answer.clone());
            };
            let sent = |pair: &Pair| pair.data(Client).cloned().collect::<Vec<Packet>>();
            let stamp = |p: &Packet| p.segment.options.timestamps.map_or(1, |t| t.value);
            let end = |p: &Packet| p.segment.seq.wrapping_add(p.len());
            pair.write(Client, 4 * 1448);
            pair.run_for(ms(20));
            // The first of four is lost, and so is its retransmission; later segments arrive.
            let first = sent(&pair);
            let (start, four) = (first[0].segment.seq, end(&first[3]));
            answers(&mut pair, start, &[(end(&first[0]), four)], stamp(&first[3]));
            pair.run_for(ms(2));
            pair.write(Client, 1000);
            pair.run_for(ms(10));
            pair.write(Client, 1000);
            let then = sent(&pair);
            assert_eq!((then.len(), then[4].segment.seq), (7, start));
            pair.run_for(ms(15));
            answers(&mut pair, start, &[(four, end(&then[5])), (end(&first[0]), four)], stamp(&then[5]));
            pair.run_for(ms(6));
            let third = sent(&pair);
            assert_eq!((third.len(), third[7].segment.seq), (8, start));
            pair.run_for(ms(22));
            answers(&mut pair, end(&then[5]), &[], stamp(if echoes_last { &third[7] } else { &then[4] }));
            pair.run_for(ms(1));
            assert_eq!(pair.data(Client).count() > 8, lost, "{:?} {timestamps} {echoes_last}", config.host);
        }
    }
}
