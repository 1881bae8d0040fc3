//! Receive windows: closed, small, reopened, lost updates, silly windows (RFC 9293 §3.8.6).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer, TcpConfig};
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
use pathweave_wire::{Payload, Segment};

pub(crate) fn with_buffer(bytes: u64, mptcp: bool) -> ConnectionConfig {
    ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(bytes), mptcp, ..config() }
}

/// A connection whose server does not read by itself, with all of its window used.
#[track_caller]
pub(crate) fn full(config: ConnectionConfig, delays: &[u64], len: u64) -> Pair {
    let mut pair = Pair::new(delays, config);
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.write(Client, len);
    pair.run_for(ms(900));
    pair
}

#[test]
fn no_byte_beyond_the_window_is_sent_and_a_read_opens_it() {
    for mptcp in [false, true] {
        let mut pair = full(with_buffer(30_000, mptcp), &[10, 20], 200_000);
        assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, 30_000, "{mptcp}");
        let sent = pair.data(Client).count();
        pair.run_for(secs(30));
        assert_eq!(pair.data(Client).count(), sent, "nothing but probes without data");
        assert_eq!(pair.read(Server, 30_000), 30_000);
        let at = pair.now;
        pair.run_until("the window is used again", secs(1), |p| {
            p.the(Server).snapshot().receiving.in_order_bytes == 60_000
        });
        // Announced at once; the last piece, less than a segment, waits for the override timeout (RFC 9293 §3.8.6.2.1).
        assert!(pair.now.since(at) <= ms(400), "{}", pair.now.since(at));
        let last = pair.data(Client).rev().find(|p| p.len() == 1448 || p.len() == 1424).expect("full segments");
        assert!(last.at.since(at) <= ms(100), "full segments as fast as the congestion window lets them");
    }
}

/// A peer that keeps sending into a closed window fills the buffer and the slack of its field once, however little it
/// sends at a time.
#[test]
fn a_peer_that_disregards_the_window_fills_it_once() {
    for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(with_buffer(30_000, mptcp))) {
        let (mptcp, host) = (config.mptcp, config.host);
        let mut pair = full(config, &[10], 100);
        let mut forged = pair.forge(Client, 0);
        for at in (100..1_000_000).step_by(1000) {
            if mptcp {
                let ssn = forged.seq.wrapping_sub(pair.isn(Client, 0));
                let dsn = DataNumber::Long(pair.wire_dsn(Client, at));
                let mapping = Mapping { dsn, ssn, len: 1000, checksum: None };
                forged.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
            }
            forged.payload = Payload::Bytes((at..at + 1000).map(|i| byte_at(Client, i)).collect::<Vec<u8>>().into());
            pair.inject(Server, forged.clone());
            forged.seq = forged.seq.wrapping_add(1000);
        }
        let waits = pair.the(Server).snapshot().receiving.in_order_bytes;
        assert!((30_000..=30_000 + (16 << 10)).contains(&waits), "{waits}, {mptcp}, {host:?}");
        assert_eq!(pair.the(Server).error(), None);
    }
}

/// A keep-alive is an old segment, whose window its subflow ignores: its DATA_ACK does not move the edge by the window
/// that the subflow had accepted before.
#[test]
fn a_keep_alive_with_a_closed_window_opens_nothing() {
    let mut pair = Pair::new(&[10, 20], with_buffer(10_000, true));
    pair.connect_with_subflows(2);
    pair.driver.applications.apps[1].reads = false;
    pair.write(Client, 100_000);
    // No probe has shown the closed window on the other path.
    pair.run_for(ms(100));
    let end = pair.the(Server).snapshot().receiving.in_order_bytes;
    let mut probe = pair.forge(Server, 1);
    (probe.seq, probe.window) = (probe.seq.wrapping_sub(1), 0);
    let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, end)));
    probe.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
    pair.clear_log();
    pair.inject(Client, probe);
    pair.run_for(ms(100));
    assert_eq!(pair.data(Client).count(), 0, "{}", pair.describe());
}

/// Bad-input row 31.
#[test]
fn a_lost_window_update_is_probed_for() {
    for mptcp in [false, true] {
        let mut pair = full(with_buffer(30_000, mptcp), &[10, 20], 200_000);
        pair.drop_some(2, |p| p.from == Server);
        pair.read(Server, 30_000);
        pair.run_until("the window is used again", secs(3), |p| {
            p.the(Server).snapshot().receiving.in_order_bytes == 60_000
        });
    }
}

#[test]
fn a_closed_window_may_last_for_hours() {
    for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(with_buffer(30_000, mptcp))) {
        let mut pair = full(config, &[10, 20], 100_000);
        pair.run_for(secs(7200));
        let probes = pair.sent(Client).filter(|p| p.at > at_ms(10_000)).count();
        // At most once a minute on each subflow after the first minutes.
        assert!((100..=600).contains(&probes), "{probes}");
        pair.driver.applications.apps[1].reads = true;
        pair.read(Server, 30_000);
        pair.run_until_received(Server, 100_000, secs(61));
        assert_eq!(pair.the(Client).error(), None);
    }
}

#[test]
fn a_closed_window_of_a_dead_peer_ends_in_an_error() {
    for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(with_buffer(30_000, mptcp))) {
        let (mptcp, host) = (config.mptcp, config.host);
        let mut pair = full(config, &[10, 20], 100_000);
        pair.kill(0);
        pair.kill(1);
        pair.run_for(secs(200));
        let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
        assert!(failed.is_some(), "{mptcp}, {host:?}");
    }
}

#[test]
fn a_byte_at_a_time_reader_makes_no_silly_segments() {
    for mptcp in [false, true] {
        let mut pair = full(with_buffer(14_600, mptcp), &[10], 100_000);
        pair.clear_log();
        for _ in 0..30_000 {
            pair.read(Server, 1);
            pair.run_for(pathweave_units::Duration::from_micros(100));
        }
        // A window's last bytes leave only after a full segment of the same burst, as the kernel lets them.
        let lengths: Vec<u32> = pair.data(Client).map(|p| p.len()).collect();
        let lone = lengths.windows(2).filter(|w| w[0] < 1000 && w[1] < 1000).count();
        assert!(lone <= 1, "small segments in a row: {lengths:?}");
        assert!(pair.received(Server) + 14_600 >= pair.the(Server).snapshot().receiving.in_order_bytes);
    }
}

/// A slow reader's window moves by at least a full segment, or by half of a small buffer, whatever else is acknowledged
/// meanwhile.
#[test]
fn the_right_edge_moves_by_whole_segments() {
    // The segments of Multipath TCP are as long as its options allow.
    for (buffer, mptcp, step) in [(14_600, false, 1448), (14_600, true, 1424), (2000, false, 1000)] {
        let mut pair = full(with_buffer(buffer, mptcp), &[10], 100_000);
        pair.clear_log();
        for _ in 0..20_000 {
            pair.read(Server, 1);
            pair.run_for(pathweave_units::Duration::from_micros(100));
        }
        let edge = |p: &Packet| u64::from(pair.relative_ack(p)) + u64::from(p.segment.window);
        let mut edges: Vec<u64> = pair.sent(Server).map(edge).collect();
        edges.dedup();
        assert!(edges.len() > 5, "{edges:?}");
        assert!(edges.windows(2).all(|w| w[1] == w[0] + step), "{buffer}: {edges:?}");
    }
}

/// With any scale, too: the window is rounded up to a whole step. A window of zero would never open.
#[test]
fn buffers_of_less_than_a_segment_still_work() {
    for (mptcp, least_window_shift) in [(false, 0), (false, 14), (true, 0), (true, 14)] {
        for bytes in [0, 1, 2, 100, 1000, 1447, 1449, 1523, 2000, 2900, 4000] {
            let tcp = TcpConfig { least_window_shift, ..TcpConfig::default() };
            for config in on_each_host(ConnectionConfig { tcp, ..with_buffer(bytes, mptcp) }) {
                let mut pair = Pair::new(&[10, 20], config);
                pair.connect();
                let len = (20 * bytes).clamp(20, 20_000);
                pair.send_all(Client, len);
                pair.run_until_received(Server, len, secs(300));
            }
        }
    }
}

#[test]
fn scaled_windows_are_rounded_but_kept() {
    // Windows that the scale's step does not divide.
    for bytes in [70_001, 200_003, 1_234_567, 5_000_011] {
        for mptcp in [false, true] {
            let mut pair = full(with_buffer(bytes, mptcp), &[10], 6_000_000);
            pair.run_for(secs(2));
            let got = pair.the(Server).snapshot().receiving.in_order_bytes;
            let step = 1 << pair.driver.io.log[1].segment.options.window_scale.expect("scaling");
            assert!(got <= bytes + step && got + step + 2 * 1448 >= bytes, "{got} of {bytes}, step {step}");
            pair.driver.applications.apps[1].reads = true;
            pair.read(Server, u64::MAX);
            pair.run_until_received(Server, 6_000_000, secs(20));
        }
    }
}

#[test]
fn zero_length_writes_and_reads_do_nothing() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    let sent = pair.driver.io.log.len();
    let handle = pair.driver.applications.apps[0].handle.expect("open");
    assert_eq!(
        pair.driver.endpoints[0].write(pair.now, handle, pathweave_wire::Payload::Bytes(Default::default())),
        Ok(0)
    );
    assert_eq!(pair.driver.endpoints[0].read(pair.now, handle, 0), Err(pathweave_proto::ReadError::Blocked));
    pair.run_for(secs(1));
    assert_eq!(pair.driver.io.log.iter().skip(sent).filter(|p| p.is_data()).count(), 0);
}

#[test]
fn nagle_holds_a_short_tail_only_while_a_short_segment_is_out() {
    for nagle in [true, false] {
        let tcp = TcpConfig { quick_acks: 0, ..TcpConfig::default() };
        let mut pair = Pair::new(&[10], ConnectionConfig { nagle, mptcp: false, tcp, ..config() });
        pair.connect();
        pair.run_for(ms(100));
        pair.clear_log();
        for _ in 0..5 {
            pair.write(Client, 10);
        }
        let sent: Vec<_> = pair.data(Client).map(|p| p.len()).collect();
        if nagle {
            assert_eq!(sent, [10]);
        } else {
            assert_eq!(sent, [10; 5]);
        }
        pair.run_until_received(Server, 50, ms(200));
        assert!(!nagle || pair.data(Client).map(|p| p.len()).eq([10, 40]));
    }
}

/// Bad-input row 36: "A TCP receiver SHOULD NOT shrink the window", but a sender "MUST be robust against window
/// shrinking" (RFC 9293 §3.8.6).
#[test]
fn a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10, 20], with_buffer(200_000, mptcp));
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        let end = pair.now + secs(5);
        pair.script(move |p| {
            if p.from == Server && !p.is_syn() && p.at < end {
                p.segment.window = 0;
            }
            Fate::Pass
        });
        pair.write(Client, 600_000);
        pair.run_until_received(Server, 601_000, secs(60));
        assert_eq!((pair.the(Client).error(), pair.the(Server).error()), (None, None));
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
    }
}

/// Bad-input row 36: a window of 1 GiB shrinks to nothing while data is out. The data is sent again, and each
/// retransmission is answered. The path is not dark, so it is not tried once a second: the window is probed "in the
/// standard way" (RFC 9293 §3.8.6, MUST-35), more and more seldom.
#[test]
fn a_window_that_shrinks_to_nothing_while_data_is_out_is_probed_more_and_more_seldom() {
    for delays in [&[10][..], &[10, 20]] {
        for config in on_each_host(ConnectionConfig { send_buffer: 8 << 20, ..with_buffer(1 << 30, true) }) {
            let host = config.host;
            let mut pair = Pair::new(delays, config);
            pair.connect();
            pair.write(Client, 1000);
            pair.run_for(secs(1));
            // The peer acknowledges nothing more, and says that it has no room.
            let last = pair.now;
            pair.script(move |p| {
                if p.from == Server && !p.is_syn() && p.at >= last {
                    p.segment.window = 0;
                }
                if p.from == Client && p.is_data() && p.at >= last { Fate::Drop } else { Fate::Pass }
            });
            pair.write(Client, 3_000_000);
            for _ in 0..600 {
                pair.run_for(secs(1));
                let repeated = pair.data(Client).next_back().is_some_and(|p| pair.now.since(p.at) < secs(1));
                for path in 0..delays.len() {
                    if repeated && pair.subflow(Server, path).usable {
                        let mut answer = Segment { window: 0, ..pair.forge(Server, path) };
                        let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 1000)));
                        answer.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
                        pair.inject(Client, answer);
                    }
                }
            }
            let from = pair.now - secs(300);
            let repeats = pair.data(Client).filter(|p| p.at > from).count();
            assert!(
                (5..=60 * delays.len()).contains(&repeats),
                "{repeats} in five minutes, {delays:?}, {host:?}\n{}",
                pair.describe()
            );
            assert_eq!(pair.the(Client).error(), None);
            // It opens again, and all comes.
            pair.no_script();
            pair.run_until_received(Server, 3_001_000, secs(120));
        }
    }
}

/// "The transmitting host SHOULD send the first zero-window probe when a zero window has existed for the retransmission
/// timeout period, and SHOULD increase exponentially the interval between successive probes" (RFC 9293 §3.8.6.1).
#[test]
fn a_closed_window_is_probed_after_a_timeout_and_then_more_and_more_seldom() {
    for mptcp in [false, true] {
        let mut pair = full(with_buffer(30_000, mptcp), &[10], 200_000);
        let closed = pair.sent(Server).find(|p| p.segment.window == 0).expect("the window is closed").at + ms(10);
        let rto = pair.subflow(Client, 0).rtt.smoothed.expect("measured") + pair.config.tcp.min_rto;
        pair.run_for(secs(40));
        let probes: Vec<_> = pair.sent(Client).filter(|p| p.at >= closed && p.is_pure_ack()).map(|p| p.at).collect();
        let first = probes[0].since(closed);
        assert!(first >= rto && first <= rto + ms(50), "{first} of {rto}");
        let waits: Vec<_> = probes.windows(2).map(|w| w[1].since(w[0])).collect();
        assert!(waits.len() >= 5, "{waits:?}");
        for pair in waits[1..].windows(2) {
            assert!(pair[1] >= pair[0] + pair[0].div(2), "{waits:?}");
        }
    }
}

/// A closed window is probed so often that a living peer does not count as dead, however short the close timeout is.
#[test]
fn a_closed_window_is_probed_within_the_close_timeout() {
    for (mptcp, seconds) in [(false, 5), (true, 5), (false, 20), (true, 20)] {
        for config in on_each_host(ConnectionConfig { close_timeout: secs(seconds), ..with_buffer(30_000, mptcp) }) {
            let mut pair = full(config, &[10, 20], 100_000);
            // Even if every second answer gets lost.
            let mut passes = true;
            pair.script(move |p| {
                passes ^= p.from == Server;
                if p.from == Server && !passes { Fate::Drop } else { Fate::Pass }
            });
            pair.run_for(secs(1800));
            pair.no_script();
            pair.driver.applications.apps[1].reads = true;
            pair.read(Server, u64::MAX);
            pair.run_until_received(Server, 100_000, secs(30));
        }
    }
}
