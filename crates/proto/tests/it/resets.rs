//! What a reset carries.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, PathManager, TcpConfig};
use pathweave_proto::connection::PathMeta;
use pathweave_wire::Flags;
use pathweave_wire::mptcp::{DataNumber, Dss, MptcpOption, ResetReason};

/// "If the error condition is considered to be Permanent, the receiver of the RST segment SHOULD NOT try to
/// re-establish a subflow for this connection over this path" (RFC 8684 §3.6).
#[test]
fn a_path_that_was_closed_for_good_is_not_joined_again() {
    for (transient, joins) in [(true, 1), (false, 0)] {
        let mut pair = Pair::new(&[10, 20, 30], config());
        pair.connect_with_subflows(3);
        let mut reset = pair.forge(Server, 1);
        reset.flags = Flags::RST | Flags::ACK;
        reset.options.dss = None;
        reset.options.mptcp.push(MptcpOption::Reset { transient, reason: ResetReason::Prohibited });
        pair.clear_log();
        pair.inject(Client, reset);
        pair.run_for(secs(60));
        assert_eq!(pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count(), joins, "transient: {transient}");
        assert_eq!(pair.usable(Client), 2 + joins);
        pair.write(Client, 100_000);
        pair.run_until_received(Server, 100_001, secs(2));
    }
}

/// "A path that was closed for good" stays closed until the peer removes that address, not another one.
#[test]
fn a_path_that_was_closed_for_good_is_forgotten_with_its_address_alone() {
    for (removed, joins) in [(2, 0), (1, 1)] {
        let path_manager = PathManager::FullMesh;
        let mut pair = Pair::new(&[10, 20, 30], ConnectionConfig { path_manager, ..config() });
        pair.connect_with_subflows(3);
        pair.run_for(secs(1));
        let mut reset = pair.forge(Server, 1);
        reset.flags = Flags::RST | Flags::ACK;
        reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::Prohibited });
        pair.inject(Client, reset);
        pair.run_for(secs(1));
        let address = pair.driver.io.paths[removed].addresses[1];
        pair.command(Server, |c, now| c.remove_address(now, address));
        pair.run_for(secs(1));
        pair.clear_log();
        pair.command(Server, |c, now| c.add_address(now, address, PathMeta::default()));
        pair.run_for(secs(20));
        assert_eq!(
            pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count(),
            joins,
            "{removed} {}",
            pair.describe()
        );
    }
}

/// Without any other path it is tried nevertheless, because otherwise the connection could only fail.
#[test]
fn the_last_path_is_joined_again_even_where_it_was_closed_for_good() {
    let mut pair = Pair::new(&[10], config());
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(1));
    let mut reset = pair.forge(Server, 0);
    reset.flags = Flags::RST | Flags::ACK;
    reset.options.dss = None;
    reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::Middlebox });
    pair.inject(Client, reset);
    pair.write(Client, 100_000);
    pair.run_until_received(Server, 101_000, secs(60));
}

/// The same for a join that is refused.
#[test]
fn a_join_that_was_refused_for_good_is_not_tried_again() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.script(|p| {
        for option in &mut p.segment.options.mptcp {
            if let MptcpOption::Reset { transient, .. } = option {
                *transient = false;
            }
        }
        Fate::Pass
    });
    pair.listen(pathweave_proto::config::ConnectionConfig { max_subflows: 1, ..config() });
    pair.connect();
    pair.write(Client, 1000);
    pair.run_for(secs(60));
    assert_eq!(pair.sent(Client).filter(|p| p.path == 1 && p.is_syn()).count(), 1);
    pair.write(Client, 1000);
    pair.run_until_received(Server, 2000, secs(1));
}

/// "and SHOULD be sent in an <RST> segment" (RFC 7323 §3.2).
#[test]
fn they_have_timestamps_where_these_were_agreed() {
    for timestamps in [true, false] {
        for config in [tcp_config(), config()] {
            let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
            let mut pair = Pair::new(&[10], pathweave_proto::config::ConnectionConfig { tcp, ..config });
            pair.connect();
            pair.write(Client, 1000);
            pair.run_for(secs(1));
            let newest = pair.sent(Server).next_back().expect("sent").segment.options.timestamps.map(|t| t.value);
            pair.command(Client, |c, now| c.abort(now));
            let reset = pair.sent(Client).find(|p| p.is_rst()).expect("a reset");
            assert_eq!(reset.segment.options.timestamps.map(|t| t.echo), newest);
            assert_eq!(reset.segment.options.timestamps.is_some(), timestamps);
        }
    }
}

/// A reset ends its subflow and acknowledges nothing, because its numbers were not checked.
#[test]
fn the_data_ack_of_a_reset_does_not_count() {
    let mut pair = Pair::new(&[10, 20], config());
    pair.connect_with_subflows(2);
    pair.run_for(secs(1));
    let mut reset = pair.forge(Server, 1);
    pair.script(|p| if p.from == Client && p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.write(Client, 1000);
    reset.flags = Flags::RST | Flags::ACK;
    let data_ack = Some(DataNumber::Long(pair.wire_dsn(Client, 1001)));
    reset.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
    pair.inject(Client, reset);
    assert_eq!((pair.usable(Client), pair.the(Client).snapshot().sending.acked_bytes), (1, 1));
    pair.no_script();
    pair.run_until_received(Server, 1001, secs(2));
}
