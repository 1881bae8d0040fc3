//! Keep-alive (RFC 9293 §3.8.4) on all subflows, and the end of a connection whose peer does not answer.

use crate::pair::*;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionError, ConnectionEvent};

fn with_keep_alive(mptcp: bool) -> ConnectionConfig {
    ConnectionConfig { keep_alive: secs(30), close_timeout: secs(20), mptcp, ..config() }
}

#[test]
fn an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10, 20], with_keep_alive(mptcp));
        pair.listen(ConnectionConfig { keep_alive: secs(0), ..with_keep_alive(mptcp) });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(5));
        pair.clear_log();
        pair.run_for(secs(300));
        let paths = if mptcp { 2 } else { 1 };
        for path in 0..paths {
            let probes = pair.sent(Client).filter(|p| p.path == path).count();
            // Every 30 s and a round trip.
            assert!((9..=10).contains(&probes), "{probes} on path {path}");
        }
        assert_eq!(pair.the(Client).error(), None);
        pair.write(Client, 1000);
        pair.run_until_received(Server, 2000, secs(1));
    }
}

#[test]
fn without_an_answer_on_any_subflow_the_connection_ends() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10, 20], with_keep_alive(mptcp));
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(5));
        let heard = pair.driver.io.log.last().expect("sent").at;
        pair.kill(0);
        pair.kill(1);
        pair.run_for(secs(100));
        let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
        let after = failed.expect("it ended").since(heard);
        // 30 s idle, 20 s of probes, checked once a second.
        assert!(after >= secs(50) && after <= secs(52), "{after}");
        assert_eq!(pair.driver.endpoints[0].connections(), 0);
    }
}

/// A path that retransmits data which another one has delivered is not probed, and does not answer either.
#[test]
fn without_an_answer_the_connection_ends_where_one_subflow_repeats_data() {
    let mut pair = Pair::new(&[10, 20], with_keep_alive(true));
    pair.listen(ConnectionConfig { keep_alive: secs(0), ..with_keep_alive(true) });
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    pair.kill(0);
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1001, secs(10));
    pair.kill(1);
    pair.run_for(secs(100));
    let failed = pair.happened(Client, |e| *e == ConnectionEvent::Failed(ConnectionError::AllPathsDead));
    assert!(failed.is_some(), "{}", pair.describe());
}

#[test]
fn one_path_that_answers_is_enough() {
    let mut pair = Pair::new(&[10, 20], with_keep_alive(true));
    pair.connect_with_subflows(2);
    pair.run_for(secs(5));
    pair.kill(1);
    pair.run_for(secs(300));
    assert_eq!(pair.the(Client).error(), None);
    pair.write(Client, 1000);
    pair.run_until_received(Server, 1001, secs(1));
}

#[test]
fn off_there_is_no_probe() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.run_for(secs(5));
    pair.clear_log();
    pair.run_for(secs(100_000));
    assert!(pair.driver.io.log.is_empty());
}

/// "An implementation SHOULD send a keep-alive segment with no data", and "Keep-alive packets MUST only be sent when no
/// sent data is outstanding" (RFC 9293 §3.8.4).
#[test]
fn probes_have_no_data_and_none_is_sent_while_data_is_out() {
    for mptcp in [false, true] {
        let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(500), ..with_keep_alive(mptcp) });
        pair.listen(ConnectionConfig { keep_alive: secs(0), ..with_keep_alive(mptcp) });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(5));
        let next = pair.forge(Client, 0).seq;
        pair.clear_log();
        pair.run_for(secs(40));
        let probe = pair.sent(Client).next().expect("it is idle").clone();
        assert_eq!((probe.is_pure_ack(), probe.segment.seq), (true, next.wrapping_sub(1)));
        // Data in flight is sent again anyway.
        pair.kill(0);
        pair.write(Client, 1000);
        pair.clear_log();
        pair.run_for(secs(100));
        assert!(pair.sent(Client).count() > 3);
        assert!(pair.sent(Client).all(Packet::is_data), "{}", pair.describe());
    }
}
