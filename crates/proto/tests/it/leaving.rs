//! Data for an application that has left is not acknowledged as if it would be read (RFC 9293 §3.6.1).

use crate::pair::*;
use crate::zero_window::{full, with_buffer};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_wire::Flags;

#[test]
fn data_that_nobody_reads_any_more_is_answered_by_a_reset() {
    for config in [tcp_config(), config()] {
        for unread in [true, false] {
            let mut pair = Pair::new(&[10], config.clone());
            pair.driver.applications.apps[1].reads = false;
            pair.connect();
            if unread {
                pair.write(Client, 1000);
                pair.run_for(ms(100));
            }
            pair.command(Server, |c, now| c.leave(now));
            if !unread {
                pair.run_for(ms(100));
                assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()), "nothing was lost so far");
                pair.write(Client, 1000);
            }
            pair.run_for(ms(100));
            let reset = ConnectionEvent::Failed(ConnectionError::Reset);
            assert!(pair.happened(Client, |e| *e == reset).is_some(), "unread: {unread}\n{}", pair.describe());
            pair.run_for(secs(1));
            assert_eq!(pair.driver.endpoints[1].connections(), 0);
        }
    }
}

#[test]
fn a_peer_that_never_ends_its_direction_is_given_up() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(20), ..config });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.command(Server, |c, now| c.leave(now));
        pair.run_for(secs(19));
        assert_eq!(pair.driver.endpoints[1].connections(), 1);
        pair.run_for(secs(5));
        assert_eq!(pair.driver.endpoints[1].connections(), 0);
        // An application that only closes its direction waits as long as the peer takes.
        let mut pair = Pair::new(&[10], ConnectionConfig { close_timeout: secs(20), ..pair.config.clone() });
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.close(Server);
        pair.run_for(secs(1000));
        assert_eq!(pair.driver.endpoints[1].connections(), 1);
    }
}

/// A peer that answers every probe and never takes a byte: "the sending TCP peer MUST allow the connection to stay open" holds for an
/// application that waits (RFC 9293 §3.8.6.1, MUST-37), and not for what one has left behind.
#[test]
fn a_peer_whose_window_stays_closed_is_given_up() {
    for config in [false, true].into_iter().flat_map(|mptcp| on_each_host(with_buffer(30_000, mptcp))) {
        for delays in [&[10][..], &[10, 20]] {
            let mut pair = full(config.clone(), delays, 100_000);
            pair.run_for(secs(300));
            assert_eq!(pair.the(Client).error(), None, "an application that is there waits");
            let handle = pair.driver.applications.apps[0].handle.expect("it is open");
            pair.command(Client, |c, now| c.leave(now));
            pair.run_for(secs(59));
            assert!(pair.driver.endpoints[0].connection(handle).is_some(), "{:?}, {}", config.host, config.mptcp);
            pair.run_for(secs(3));
            assert_eq!(pair.driver.endpoints[0].connections(), 0, "{:?}, {}", config.host, config.mptcp);
        }
    }
}

/// The peer takes a byte in each 50 s, or none and keeps the connection busy by joining and leaving.
#[test]
fn a_peer_that_takes_a_little_again_and_again_is_given_up_in_the_end() {
    for mptcp in [false, true] {
        let mut pair = full(ConnectionConfig { close_timeout: secs(20), ..with_buffer(30_000, mptcp) }, &[10], 300_000);
        pair.command(Client, |c, now| c.leave(now));
        let (left, mut reads) = (pair.now, 0);
        while pair.driver.endpoints[0].connections() > 0 && pair.now.since(left) < secs(4000) {
            pair.run_for(secs(15));
            pair.read(Server, 3000);
            reads += 1;
        }
        let lived = pair.now.since(left);
        assert!(reads > 50 && lived > secs(1000) && lived <= secs(60 * 20 + 40), "{reads} reads, {lived}");
    }
}

#[test]
fn a_peer_that_ends_too_sees_an_orderly_end() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], config);
        pair.connect();
        pair.write(Client, 1000);
        pair.run_for(secs(1));
        pair.command(Server, |c, now| c.leave(now));
        pair.close(Client);
        pair.run_for(secs(100));
        assert!(pair.driver.io.log.iter().all(|p| !p.is_rst()));
        assert_eq!((pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()), (0, 0));
    }
}

/// The peer believes the reset at once, because it has the number that the peer has named itself, although our FIN
/// before it may be lost.
#[test]
fn the_reset_that_answers_data_after_the_end_counts_though_the_fin_was_lost() {
    let mut pair = Pair::new(&[10], tcp_config());
    pair.connect();
    pair.script(|p| if p.segment.flags.contains(Flags::FIN) { Fate::Drop } else { Fate::Pass });
    pair.command(Server, |c, now| c.leave(now));
    pair.write(Client, 1000);
    pair.run_for(ms(21));
    let reset = ConnectionEvent::Failed(ConnectionError::Reset);
    assert!(pair.happened(Client, |e| *e == reset).is_some(), "after one round trip\n{}", pair.describe());
}
