//! Data that waits for a larger part of its subflow's window, as with version 0.88 of mptcp.org's kernel.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::host::Host;

/// Bytes of a megabyte that leave on the slow one of two paths, if the receive window is small.
fn on_the_slow_path(host: Host) -> u64 {
    let config = ConnectionConfig { host, receive_buffer: ReceiveBuffer::Fixed(40_000), ..config() };
    let mut pair = Pair::new(&[5, 100], config);
    pair.connect_with_subflows(2);
    pair.write(Client, 1_000_000);
    pair.run_until_received(Server, 1_000_001, secs(60));
    pair.data(Client).filter(|p| p.path == 1).map(|p| u64::from(p.len())).sum()
}

/// Each acknowledgement makes room for two segments, and the congestion window of the fast path would take both.
#[test]
fn data_that_waits_for_the_fast_path_goes_to_the_slow_one() {
    let (without, with) = (on_the_slow_path(Host::MptcpOrg), on_the_slow_path(Host::Mptcp088));
    assert!(without < 50_000 && with > 200_000, "{without} and {with} bytes");
}
