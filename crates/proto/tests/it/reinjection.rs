//! A path that goes dark: other paths carry its data, and it is used again when it answers.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, FailureDetection, ReceiveBuffer};
use pathweave_proto::connection::PathHealth;
use pathweave_wire::mptcp::DataNumber;

/// A connection over two paths with data in flight on both.
#[track_caller]
fn busy(config: ConnectionConfig) -> Pair {
    let mut pair = Pair::new(&[10, 20], config);
    pair.connect_with_subflows(2);
    pair.write(Client, 3_000_000);
    pair.run_until("both paths are in use", secs(1), |p| {
        [0, 1].iter().all(|i| p.subflow(Client, *i).window.in_flight > 1)
    });
    pair
}

#[test]
fn a_dead_path_stalls_the_stream_at_most_a_second() {
    for config in on_each_host(config()) {
        for dead in [0, 1] {
            let mut pair = busy(config.clone());
            pair.kill(dead);
            pair.run_until_received(Server, 3_000_001, secs(5));
            assert!(pair.the(Client).snapshot().counters.reinjected_segments > 0);
        }
    }
}

#[test]
fn small_windows_do_not_stop_reinjection() {
    // The last piece of the window is shorter than a segment; it must not wait for more window.
    for buffer in [3000, 5000, 6500, 10_000, 20_001] {
        for dead in [0, 1] {
            let config = ConnectionConfig { receive_buffer: ReceiveBuffer::Fixed(buffer), ..config() };
            for config in on_each_host(config) {
                let mut pair = Pair::new(&[10, 20], config);
                pair.connect_with_subflows(2);
                pair.write(Client, 4_000_000);
                pair.run_for(ms(333));
                pair.kill(dead);
                let before = pair.received(Server);
                pair.run_until("the stream goes on", secs(2), |p| p.received(Server) > before + 50_000);
            }
        }
    }
}

#[test]
fn a_dark_path_is_probed_every_second_and_used_again() {
    let mut pair = busy(config());
    pair.kill(1);
    pair.run_until_received(Server, 3_000_001, secs(5));
    pair.clear_log();
    pair.run_for(secs(30));
    let probes: Vec<_> = pair.data(Client).filter(|p| p.path == 1).map(|p| p.at).collect();
    assert!(probes.windows(2).all(|w| w[1].since(w[0]) <= ms(1001)), "{probes:?}");
    assert!(probes.len() >= 29);
    pair.revive(1);
    pair.run_until("the path is used again", secs(2), |p| p.subflow(Client, 1).health != PathHealth::Stale);
    pair.kill(0);
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 4_000_001, secs(3));
}

#[test]
fn both_paths_dark_in_turn() {
    let mut pair = busy(config());
    for round in 0..6 {
        let dead = round % 2;
        pair.kill(dead);
        pair.run_for(ms(1700));
        pair.revive(dead);
        pair.write(Client, 200_000);
        pair.run_for(ms(300));
    }
    pair.run_until_received(Server, 3_000_001 + 6 * 200_000, secs(10));
}

#[test]
fn both_paths_dark_at_once_and_one_returns() {
    for back in [0, 1] {
        let mut pair = busy(config());
        pair.kill(0);
        pair.kill(1);
        pair.run_for(secs(10));
        pair.revive(back);
        pair.run_until_received(Server, 3_000_001, secs(8));
    }
}

#[test]
fn what_was_reinjected_may_be_lost_again() {
    let mut pair = busy(config());
    pair.kill(1);
    let mut n = 0;
    pair.script(move |p| {
        if p.from == Client && p.is_data() && p.path == 0 {
            n += 1;
            if n % 3 == 0 {
                return Fate::Drop;
            }
        }
        Fate::Pass
    });
    pair.run_until_received(Server, 3_000_001, secs(120));
}

#[test]
fn a_path_that_dies_after_its_data_arrived_has_that_data_known_by_the_other_path() {
    // Every acknowledgement on the second path is lost, so its data is acknowledged only by the first one's DATA_ACK.
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.script(|p| if p.from == Server && p.path == 1 { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 2_000_000);
    pair.run_until_received(Server, 2_000_001, secs(10));
    // Retransmissions on the second path always carry the same bytes (the harness checks that).
    pair.run_for(secs(5));
    assert!(pair.data(Client).rev().take_while(|p| p.at > pair.now - ms(1500)).any(|p| p.path == 1));
}

#[test]
fn detection_as_slow_as_the_kernel_s_still_ends_with_all_data() {
    for dead in [0, 1] {
        let mut pair = busy(ConnectionConfig { failure_detection: FailureDetection::Linux, ..config() });
        pair.kill(dead);
        // Four connection-level timeouts, each doubled with the subflow's own, before the path is given up.
        pair.run_until_received(Server, 3_000_001, secs(60));
        assert_eq!(pair.the(Client).error(), None);
        pair.revive(dead);
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 3_100_001, secs(60));
    }
}

/// The other path has been dark for long, and the kernel's connection-level timer takes as long as its timeout. Data
/// that the peer has dropped at the data level is still sent again before the connection is given up.
#[test]
fn data_that_vanishes_beside_a_path_that_was_dark_for_long_comes_again_in_time() {
    let mut pair = busy(ConnectionConfig { failure_detection: FailureDetection::Linux, ..config() });
    pair.kill(1);
    pair.run_until_received(Server, 3_000_001, secs(60));
    pair.run_for(secs(150));
    let mut moved = false;
    pair.script(move |p| {
        if p.path == 1 {
            return Fate::Drop;
        }
        let dss = p.segment.options.dss.as_mut();
        if let Some(mapping) = dss.and_then(|dss| dss.mapping.as_mut()).filter(|m| m.len > 0 && !moved) {
            moved = true;
            mapping.dsn = DataNumber::Long(mapping.dsn.expand(0).wrapping_add(1 << 33));
        }
        Fate::Pass
    });
    pair.write(Client, 1000);
    pair.run_until_received(Server, 3_001_001, secs(40));
}

/// One path retransmits data in vain, and the peer has dropped at the data level what the other path delivered: the
/// other path sends it again.
#[test]
fn what_one_path_repeats_and_the_other_brought_in_vain_is_brought_again() {
    let mut pair = Pair::new(&[10, 10], ConnectionConfig { failure_detection: FailureDetection::Linux, ..config() });
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    let mut moved = false;
    pair.script(move |p| {
        if p.from == Client && p.is_data() && p.path == 0 {
            return Fate::Drop;
        }
        let dss = p.segment.options.dss.as_mut();
        if let Some(mapping) = dss.and_then(|dss| dss.mapping.as_mut()).filter(|m| m.len > 0 && !moved) {
            moved = true;
            mapping.dsn = DataNumber::Long(mapping.dsn.expand(0).wrapping_add(1 << 33));
        }
        Fate::Pass
    });
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1001, ms(1400));
    assert!(pair.data(Client).filter(|p| p.path == 1).count() == 2 && pair.subflow(Client, 0).counters.timeouts < 4);
}

#[test]
fn the_stream_goes_on_before_the_timeout_where_another_path_has_room() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 40_000);
    pair.run_until_received(Server, 40_001, secs(1));
    pair.kill(0);
    pair.write(Client, 8_000);
    pair.run_until_received(Server, 48_001, ms(200));
    assert_eq!(pair.subflow(Client, 0).counters.timeouts, 0);
}

#[test]
fn a_dark_path_is_not_given_up_for_its_probes() {
    let mut pair = busy(config());
    pair.kill(1);
    pair.run_until_received(Server, 3_000_001, secs(5));
    // More probes than doubled timeouts would be allowed.
    pair.run_for(secs(40));
    assert!(!pair.subflow(Client, 1).closed && pair.subflow(Client, 1).counters.timeouts > 30);
    pair.revive(1);
    pair.run_until("the path is used again", ms(1100), |p| p.subflow(Client, 1).health != PathHealth::Stale);
}

#[test]
fn the_first_segment_of_a_path_that_comes_back_is_answered_by_a_probe() {
    let mut pair = busy(config());
    pair.kill(1);
    pair.run_until_received(Server, 3_000_001, secs(5));
    pair.run_for(ms(4500));
    let last = pair.data(Client).rev().find(|p| p.path == 1).map(|p| p.at).expect("it was probed");
    // In the middle between two probes.
    pair.run_until("a probe", secs(2), |p| p.data(Client).rev().any(|d| d.path == 1 && d.at > last));
    pair.run_for(ms(500));
    pair.revive(1);
    let segment = pair.forge(Server, 1);
    pair.inject(Client, segment);
    pair.run_until("the path is used again", ms(2 * 40), |p| p.subflow(Client, 1).health != PathHealth::Stale);
}

#[test]
fn the_lost_end_of_a_window_hardly_arrives_twice() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.write(Client, 40_000);
    pair.run_until_received(Server, 40_001, secs(1));
    pair.run_for(ms(100));
    // Shorter than the time until the probe.
    pair.kill(0);
    pair.write(Client, 10_000);
    pair.run_for(ms(25));
    pair.revive(0);
    pair.run_until_received(Server, 50_001, ms(300));
    pair.run_for(ms(500));
    assert_eq!(pair.subflow(Client, 0).counters.timeouts, 0);
    // All seven would be carried twice if the other path did not wait for the probe's answer.
    assert!(
        pair.the(Server).snapshot().counters.duplicate_bytes < 4 * 1460,
        "{:?}",
        pair.the(Server).snapshot().counters
    );
}

#[test]
fn an_outage_is_no_round_trip_time() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    // Two segments are lost; the segments after each of them arrive, but the sender is not told.
    let mut sent = 0;
    pair.script(move |p| {
        let data = p.from == Client && p.is_data() && p.path == 1;
        sent += u32::from(data);
        let lost = data && matches!(sent, 1 | 4 | 11..);
        if lost || (p.from == Server && p.path == 1) { Fate::Drop } else { Fate::Pass }
    });
    pair.write(Client, 3_000_000);
    pair.run_until("the path is given up", secs(2), |p| p.subflow(Client, 1).health == PathHealth::Stale);
    pair.run_for(secs(5));
    pair.script(|_| Fate::Pass);
    pair.run_until("the path is used again", secs(2), |p| p.subflow(Client, 1).health != PathHealth::Stale);
    pair.run_for(ms(500));
    let path = pair.subflow(Client, 1);
    assert!(path.rtt.smoothed.is_some_and(|t| t < ms(100)), "{path:?}");
}

#[test]
fn the_first_path_that_comes_back_carries_what_the_others_had_at_once() {
    let mut pair = busy(config());
    let out = pair.the(Client).snapshot().sending;
    pair.kill(0);
    pair.kill(1);
    pair.run_for(secs(10));
    let segment = pair.forge(Server, 0);
    pair.clear_log();
    pair.run_until("a probe of the second path", secs(2), |p| p.data(Client).any(|d| d.path == 1));
    // The first path answers long before the second path's next timeout.
    pair.revive(0);
    pair.inject(Client, segment);
    pair.run_until("the path is used again", ms(100), |p| p.subflow(Client, 0).health != PathHealth::Stale);
    let end = out.acked_bytes + out.assigned_bytes;
    pair.run_until("all that was out arrives", ms(500), |p| p.received(Server) >= end);
}
