//! Opportunistic retransmission and penalisation (NSDI 2012 §4.2), and the window after an idle time (RFC 5681 §4.1).

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer, TcpConfig};
#[cfg(feature = "host-mptcp-org")]
use pathweave_proto::host::Host;

fn blocked(pr: bool) -> Pair {
    // A window that the slow path's segments block.
    let config = ConnectionConfig { pr, receive_buffer: ReceiveBuffer::Fixed(60_000), ..config() };
    let mut pair = Pair::new(&[5, 200], config);
    pair.connect_with_subflows(2);
    pair.write(Client, 2_000_000);
    pair.run_until_received(Server, 2_000_001, secs(60));
    pair
}

#[test]
fn the_segment_that_blocks_the_window_is_sent_again_on_the_faster_path() {
    let (with, without) = (blocked(true), blocked(false));
    let counters = with.the(Client).snapshot().counters;
    assert!(counters.opportunistic_retransmissions > 0 && counters.penalisations > 0, "{counters:?}");
    let none = without.the(Client).snapshot().counters;
    assert_eq!((none.opportunistic_retransmissions, none.penalisations), (0, 0));
    assert!(with.now < without.now, "{} against {}", with.now, without.now);
}

#[test]
fn a_window_is_halved_at_most_once_per_its_round_trip() {
    let pair = blocked(true);
    let rounds = pair.now.since(at_ms(0)).as_millis() / 400 + 1;
    let penalisations = pair.the(Client).snapshot().counters.penalisations;
    assert!(penalisations <= rounds, "{penalisations} in {rounds} round trips");
}

/// Bytes retransmitted out of two megabytes, on the same paths with a send buffer that they fill.
#[cfg(feature = "host-mptcp-org")]
fn with_small_send_buffer(host: Host) -> u64 {
    let config = ConnectionConfig { host, pr: true, send_buffer: 60_000, ..config() };
    let mut pair = Pair::new(&[5, 200], config);
    pair.connect_with_subflows(2);
    pair.write(Client, 2_000_000);
    pair.run_until_received(Server, 2_000_001, secs(60));
    pair.the(Client).snapshot().counters.opportunistic_retransmissions
}

#[cfg(feature = "host-mptcp-org")]
#[test]
fn on_an_mptcp_org_host_a_full_send_buffer_counts_as_a_full_window_does() {
    assert_eq!(with_small_send_buffer(Host::Rfc), 0);
    assert!(with_small_send_buffer(Host::MptcpOrg) > 0);
}

#[test]
fn the_window_restarts_after_an_idle_time_where_that_is_asked_for() {
    for (restart, idle) in [(true, ms(900)), (true, secs(5)), (false, secs(5))] {
        let tcp = TcpConfig { restart_after_idle: restart, ..TcpConfig::default() };
        let mut pair = Pair::new(&[50], ConnectionConfig { tcp, ..tcp_config() });
        pair.connect();
        pair.write(Client, 100 * 1448);
        pair.run_for(idle);
        let grown = pair.subflow(Client, 0).window.cwnd;
        assert!(grown >= 60);
        pair.clear_log();
        pair.write(Client, 100 * 1448);
        let burst = pair.data(Client).count() as u32;
        assert_eq!(burst, if restart { 10 } else { grown.min(100) });
    }
}
