//! The end of a connection: DATA_FIN, FIN, half-close, abort (RFC 8684 §3.3.3, RFC 9293 §3.6).

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::connection::{Happening, Kinds};
use pathweave_proto::{ConnectionError, ConnectionEvent};
#[cfg(feature = "host-linux")]
use pathweave_wire::Flags;

fn all_gone(pair: &Pair) -> bool {
    pair.driver.endpoints.iter().all(|h| h.connections() == 0)
}

/// Both ends close in order, and forget the connection after TIME_WAIT.
#[track_caller]
fn ends_in_order(pair: &mut Pair) {
    pair.run_until("both ends report the end", secs(10), |p| {
        [Client, Server].iter().all(|s| p.happened(*s, |e| *e == ConnectionEvent::Closed).is_some())
    });
    pair.run_until("both ends forget", secs(125), all_gone);
    for side in [Client, Server] {
        assert_eq!(pair.happened(side, |e| matches!(e, ConnectionEvent::Failed(_))), None, "{side:?}");
    }
    pair.run_for(secs(1));
    assert_eq!(pair.driver.poll_timeout(), None);
}

/// Bad-input row 36.
#[test]
fn either_side_first_or_both_at_once() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        for order in [vec![Client, Server], vec![Server, Client], vec![]] {
            let mut pair = Pair::new(&[10, 20], config.clone());
            pair.connect();
            pair.write(Client, 10_000);
            pair.write(Server, 5_000);
            pair.run_for(ms(500));
            if order.is_empty() {
                pair.close(Client);
                pair.close(Server);
            }
            for side in order {
                pair.close(side);
                pair.run_for(ms(200));
            }
            ends_in_order(&mut pair);
            assert_eq!((pair.received(Server), pair.received(Client)), (10_000, 5_000));
        }
    }
}

/// The streams have ended, and one subflow's path is dark: the application need not wait for it.
#[test]
fn the_streams_end_before_a_dark_subflow_does_and_a_short_close_timeout_resets_it() {
    for data_on_dark_path in [false, true] {
        let mut pair = Pair::new(&[10, 20], config());
        pair.connect_with_subflows(2);
        if data_on_dark_path {
            pair.write(Client, 1_000_000);
            pair.run_for(ms(30));
            pair.kill(1);
        } else {
            pair.write(Client, 1000);
            pair.run_for(secs(1));
            pair.kill(1);
        }
        [Client, Server].into_iter().for_each(|side| pair.close(side));
        assert!(!pair.the(Client).has_ended(), "the peer has not acknowledged anything yet");
        pair.run_until("both streams end", secs(5), |p| [Client, Server].iter().all(|s| p.the(*s).has_ended()));
        let closed = |e: &ConnectionEvent| *e == ConnectionEvent::Closed;
        pair.run_for(secs(2));
        assert_eq!(pair.happened(Client, closed), None, "the dark subflow's FIN is not answered");
        pair.clear_log();
        pair.command(Client, |c, _| c.set_close_timeout(secs(3)).expect("it is some time"));
        pair.run_until("it ends", secs(5), |p| p.happened(Client, closed).is_some());
        assert_eq!(pair.happened(Client, |e| matches!(e, ConnectionEvent::Failed(_))), None);
        assert_eq!(pair.sent(Client).filter(|p| p.is_rst()).count(), 1, "{}", pair.describe());
    }
}

/// Bad-input row 36.
#[test]
fn a_half_closed_connection_still_carries_the_other_direction() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect();
        pair.send_all(Client, 1000);
        pair.run_until("the server sees the end", secs(1), |p| p.the(Server).at_end());
        pair.run_for(secs(300));
        pair.send_all(Server, 500_000);
        pair.run_until_received(Client, 500_000, secs(10));
        ends_in_order(&mut pair);
    }
}

#[test]
fn closing_right_after_opening() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10, 20], config);
        pair.open();
        pair.close(Client);
        pair.run_until("the server sees the end", secs(2), |p| p.connection(Server).is_some_and(|c| c.at_end()));
        pair.close(Server);
        ends_in_order(&mut pair);
    }
}

#[test]
fn any_segment_of_the_close_may_be_lost() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        for n in 0..14 {
            let mut pair = Pair::new(&[10, 20], config.clone());
            pair.connect();
            pair.write(Client, 10_000);
            pair.run_for(ms(500));
            let mut seen = 0;
            pair.script(move |_| {
                seen += 1;
                if seen == n + 1 { Fate::Drop } else { Fate::Pass }
            });
            pair.close(Client);
            pair.run_for(ms(25));
            pair.close(Server);
            ends_in_order(&mut pair);
        }
    }
}

#[test]
fn a_data_fin_that_overtakes_data_waits_for_it() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect();
    pair.drop_first(|p| p.from == Client && p.is_data());
    pair.send_all(Client, 30_000);
    pair.run_until("the server sees the end", secs(2), |p| p.the(Server).at_end());
    assert_eq!(pair.received(Server), 30_000);
    pair.close(Server);
    ends_in_order(&mut pair);
}

#[test]
fn a_subflow_that_joins_after_the_data_fin_tells_the_end_too() {
    let mut pair = Pair::new(&[600, 10], config());
    pair.connect();
    pair.drop_first(|p| p.from == Client && p.is_data_fin());
    pair.write(Client, 10_000);
    pair.close(Client);
    pair.run_until("the second path is joined", secs(5), |p| p.usable(Client) == 2);
    pair.run_until("the server sees the end", ms(20), |p| p.the(Server).at_end());
}

#[test]
fn one_dead_path_does_not_stop_the_close() {
    let mut pair = Pair::new(&[10, 20], ConnectionConfig { close_timeout: secs(20), ..config() });
    pair.connect_with_subflows(2);
    pair.kill(1);
    pair.send_all(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(5));
    pair.close(Server);
    pair.run_until("both ends report the end", secs(25), |p| {
        [Client, Server].iter().all(|s| p.happened(*s, |e| *e == ConnectionEvent::Closed).is_some())
    });
    pair.run_until("both ends forget", secs(125), all_gone);
}

#[test]
fn all_paths_dead_is_one_error_after_the_close_timeout() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10, 20], ConnectionConfig { close_timeout: secs(20), ..config });
        pair.connect();
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 100_000, secs(5));
        pair.run_for(secs(1));
        pair.kill(0);
        pair.kill(1);
        let start = pair.now;
        pair.write(Client, 100_000);
        pair.run_until("the client gives up", secs(60), |p| {
            p.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead)).is_some()
        });
        assert_eq!(pair.now.since(start), secs(20));
        let errors = pair.driver.applications.apps[0]
            .events
            .iter()
            .filter(|(_, e)| matches!(e, ConnectionEvent::Failed(_)))
            .count();
        assert_eq!(errors, 1);
    }
}

#[test]
fn a_connection_may_be_idle_for_hours() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(7200));
        pair.write(Client, 1000);
        pair.run_until_received(Server, 2000, secs(1));
        pair.run_for(secs(1));
        assert_eq!(pair.the(Client).error(), None);
    }
}

#[test]
fn abort_tells_the_peer_at_once() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10, 20], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(ms(500));
        pair.command(Client, |c, now| c.abort(now));
        pair.run_for(ms(30));
        let failed = |p: &Pair, s| p.happened(s, |e| matches!(e, ConnectionEvent::Failed(_))).is_some();
        assert!(failed(&pair, Client) && failed(&pair, Server));
        assert!(all_gone(&pair));
    }
}

/// Bad-input row 22.
#[test]
fn the_end_of_one_subflow_is_not_the_end_of_the_stream() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut fin = pair.forge(Client, 1);
    fin.flags |= pathweave_wire::Flags::FIN;
    pair.inject(Server, fin);
    assert!(!pair.the(Server).at_end());
    // The server closes its direction of that subflow too.
    assert!(pair.sent(Server).any(|p| p.is_fin() && p.path == 1));
    assert_eq!(pair.usable(Server), 1);
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 100_001, secs(5));
}

/// Bad-input row 22: "A DATA_FIN ... is only DATA_ACKed once all data has been successfully received" (RFC 8684
/// §3.3.3).
#[test]
fn the_first_data_fin_counts_and_waits_for_the_data_before_it() {
    let mut pair = Pair::new(&[10, 10], config());
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let end = |pair: &Pair, at: u64| {
        let dsn = pathweave_wire::mptcp::DataNumber::Long(pair.wire_dsn(Client, at));
        let mapping = pathweave_wire::mptcp::Mapping { dsn, ssn: 0, len: 1, checksum: None };
        let mut forged = pair.forge(Client, 1);
        forged.options.dss =
            Some(pathweave_wire::mptcp::Dss { data_ack: None, mapping: Some(mapping), data_fin: true });
        forged
    };
    for at in [5001, 1, 3000, 9000] {
        let forged = end(&pair, at);
        pair.inject(Server, forged);
        assert!(!pair.the(Server).at_end());
    }
    let acked = |pair: &Pair| {
        let last = pair.sent(Server).rev().find_map(|p| p.segment.options.dss?.data_ack).expect("a DATA_ACK");
        last.expand(pair.wire_dsn(Client, 0)).wrapping_sub(pair.wire_dsn(Client, 0))
    };
    assert_eq!(acked(&pair), 1);
    pair.write(Client, 8000);
    pair.run_until("the end is reached", secs(1), |p| p.the(Server).at_end());
    // Data beyond the first end is no part of the stream.
    assert_eq!((pair.received(Server), acked(&pair)), (5001, 5002));
}

#[test]
fn without_a_data_fin_the_connection_ends_only_after_a_timeout() {
    // RFC 8684 §3.3.3: "If all subflows have been closed with a FIN exchange but no DATA_FIN has been received and
    // acknowledged, the MPTCP connection is treated as closed only after a timeout."
    let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(20), ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(ms(500));
    pair.kill(0);
    let mut fin = pair.forge(Client, 0);
    fin.flags |= pathweave_wire::Flags::FIN;
    // Without a signal it would be plain TCP's FIN.
    let data_ack = Some(pathweave_wire::mptcp::DataNumber::Long(pair.wire_dsn(Server, 0)));
    fin.options.dss = Some(pathweave_wire::mptcp::Dss { data_ack, mapping: None, data_fin: false });
    let mut last = fin.clone();
    pair.inject(Server, fin);
    last.flags = pathweave_wire::Flags::ACK;
    last.seq = last.seq.wrapping_add(1);
    last.ack = last.ack.wrapping_add(1);
    pair.inject(Server, last);
    let start = pair.now;
    pair.run_for(secs(100));
    assert_eq!(pair.happened(Server, |e| *e == ConnectionEvent::Closed), None);
    let failed = pair.happened(Server, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
    assert_eq!(failed.expect("it ended").since(start), secs(20));
    assert_eq!(pair.driver.endpoints[1].connections(), 0);
}

#[test]
fn what_came_before_a_failure_can_still_be_read() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10], config);
        pair.driver.applications.apps[1].reads = false;
        pair.connect();
        pair.write(Client, 50_000);
        pair.run_for(secs(1));
        pair.command(Client, |c, now| c.abort(now));
        pair.run_for(secs(100));
        assert_eq!(pair.the(Server).error(), Some(ConnectionError::Reset));
        assert_eq!(pair.read(Server, 20_000), 20_000);
        assert_eq!(pair.driver.endpoints[1].connections(), 1);
        assert_eq!(pair.read(Server, 50_000), 30_000);
        assert_eq!(pair.driver.endpoints[1].connections(), 0, "all is read");

        let mut pair = Pair::new(&[10], pair.config.clone());
        pair.driver.applications.apps[1].reads = false;
        pair.connect();
        pair.write(Client, 50_000);
        pair.run_for(secs(1));
        pair.command(Client, |c, now| c.abort(now));
        pair.run_for(secs(1));
        pair.close(Server);
        assert_eq!(pair.driver.endpoints[1].connections(), 0, "the application wants no more of it");
    }
}

/// A DATA_FIN inside waiting data, or far beyond any window, is not the end; the real one still counts.
#[test]
fn a_data_fin_that_cannot_be_the_end_is_ignored() {
    use pathweave_wire::mptcp::{DataNumber, Dss, Mapping};
    for wrong in [1 << 62, 500] {
        let mut pair = Pair::new(&[10, 11], config());
        pair.connect_with_subflows(2);
        pair.run_for(secs(1));
        // The first subflow's data is lost, so that the second one's waits at the data level.
        pair.script(|p| if p.from == Client && p.path == 0 && p.is_data() { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 20_000);
        pair.run_for(ms(12));
        pair.no_script();
        assert_eq!(pair.received(Server), 1);
        assert!(pair.data(Client).filter(|p| p.path == 1).count() > 1, "the second subflow carries some");
        let mut forged = pair.forge(Client, 1);
        let dsn = DataNumber::Long(pair.wire_dsn(Client, 1 + wrong));
        let mapping = Some(Mapping { dsn, ssn: 0, len: 1, checksum: None });
        forged.options.dss = Some(Dss { data_ack: None, mapping, data_fin: true });
        pair.inject(Server, forged);
        pair.close(Client);
        pair.run_until("the server sees the end", secs(5), |p| p.the(Server).at_end());
        assert_eq!(pair.received(Server), 20_001);
    }
}

#[test]
fn a_plain_connection_that_is_reset_before_its_own_end_has_failed() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.send_all(Client, 1000);
    pair.run_until("the server sees the end", secs(1), |p| p.the(Server).at_end());
    let mut reset = pair.forge(Client, 0);
    reset.flags = pathweave_wire::Flags::RST;
    pair.inject(Server, reset);
    assert!(pair.happened(Server, |e| *e == ConnectionEvent::Failed(ConnectionError::Reset)).is_some());
}

/// "The MPTCP connection will stay alive at the data level, in order to permit break-before-make" (RFC 8684 §3.5).
#[test]
fn a_connection_that_has_lost_its_last_subflow_to_a_reset_can_be_joined_for_a_while() {
    for comes_back in [true, false] {
        let mut pair = Pair::new(&[10, 10], ConnectionConfig { close_timeout: secs(20), ..config() });
        observe_both(&mut pair);
        pair.connect_with_subflows(2);
        pair.run_for(ms(500));
        if !comes_back {
            pair.script(|p| if p.is_syn() { Fate::Drop } else { Fate::Pass });
        }
        for path in [0, 1] {
            for to in [Server, Client] {
                let mut reset = pair.forge(to.other(), path);
                reset.flags = pathweave_wire::Flags::RST;
                pair.inject(to, reset);
            }
        }
        for side in [Client, Server] {
            assert_eq!(pair.the(side).error(), None);
            assert_eq!(subflows_down(&mut pair, side), 2, "{side:?}");
        }
        let start = pair.now;
        if comes_back {
            pair.write(Client, 10_000);
            pair.run_until_received(Server, 10_001, secs(5));
            continue;
        }
        pair.run_for(secs(100));
        for side in [Client, Server] {
            let failed = pair.happened(side, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
            assert_eq!(failed.expect("it ended").since(start), secs(20), "{side:?}");
        }
    }
}

/// Number of subflows that an observed side has lost since the last call.
fn subflows_down(pair: &mut Pair, side: Side) -> usize {
    pair.observed(side).iter().filter(|o| matches!(o.what, Happening::SubflowDown(_))).count()
}

fn observe_both(pair: &mut Pair) {
    pair.driver.endpoints.iter_mut().for_each(|e| e.observe_all(Kinds::CONNECTION));
}

/// A subflow that ended with FINs on both sides is reported, and can be joined anew, while it is in TIME-WAIT.
#[test]
fn the_end_of_a_subflow_by_fins_is_told_at_once() {
    let mut pair = Pair::new(&[10, 10], config());
    observe_both(&mut pair);
    pair.connect_with_subflows(2);
    pair.run_for(ms(500));
    let mut fin = pair.forge(Client, 1);
    fin.flags |= pathweave_wire::Flags::FIN;
    let mut last = fin.clone();
    pair.inject(Server, fin);
    last.flags = pathweave_wire::Flags::ACK;
    last.seq = last.seq.wrapping_add(1);
    last.ack = last.ack.wrapping_add(1);
    pair.inject(Server, last);
    assert_eq!(subflows_down(&mut pair, Server), 1);
    pair.run_for(secs(1));
    // The server's FIN closed the client's side, which joins again.
    assert_eq!(subflows_down(&mut pair, Client), 1);
}

#[test]
fn who_gives_up_says_so_to_a_peer_that_is_there_after_all() {
    for config in [tcp_config(), config()].into_iter().flat_map(on_each_host) {
        let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(20), ..config });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_until_received(Server, 1000, secs(1));
        pair.run_for(secs(1));
        // Nothing comes back from now on.
        pair.script(|p| if p.from == Server && !p.is_rst() { Fate::Drop } else { Fate::Pass });
        pair.write(Client, 1000);
        pair.run_for(secs(30));
        assert!(pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead)).is_some());
        assert!(pair.sent(Client).any(Packet::is_rst));
    }
}

/// Linux does not let a FIN wait for the congestion window (`tcp_cwnd_test`); on other hosts it waits like data.
#[cfg(feature = "host-linux")]
#[test]
fn a_linux_hosts_fin_leaves_where_the_window_is_full() {
    for (config, beyond) in [(tcp_config(), false), (on_linux(tcp_config()), true)] {
        let host = config.host;
        let mut pair = Pair::new(&[50], config);
        pair.connect();
        let mss = u64::from(pair.subflow(Client, 0).mss);
        pair.clear_log();
        pair.write(Client, 10 * mss);
        pair.close(Client);
        assert_eq!(pair.sent(Client).any(|p| p.segment.flags.contains(Flags::FIN)), beyond, "{host:?}");
    }
}
