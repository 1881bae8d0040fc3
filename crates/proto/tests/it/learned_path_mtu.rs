//! An MTU that one subflow discovers is used by all between the same addresses (RFC 1191 §6.3, RFC 8201 §5.2).

use crate::pair::{App, Client, Pair, Says, Server, config, on_each_host, secs, tcp_config};
use pathweave_proto::ConnectionHandle;
use pathweave_proto::config::{ConnectionConfig, PathMtuDiscovery, TcpConfig};

/// The paths; the last one takes packets of 1300 bytes only.
fn narrow(delays: &[u64], config: ConnectionConfig, says: Says) -> Pair {
    let mut pair = Pair::new(delays, config);
    pair.driver.io.paths.last_mut().expect("a path").narrow = Some((1300, says));
    pair
}

/// Opens one more connection between the same hosts; later calls on the applications concern this one.
fn another(pair: &mut Pair) -> ConnectionHandle {
    pair.driver.applications.apps = [(); 2].map(|()| App { reads: true, ..App::default() });
    pair.connect();
    pair.driver.applications.apps[0].handle.expect("it is open")
}

/// The MTU that the client's subflow uses.
#[track_caller]
fn path_mtu(pair: &Pair, connection: ConnectionHandle, path: usize) -> u32 {
    let connection = pair.driver.endpoints[0].connection(connection).expect("it lives");
    let local = pair.driver.io.paths[path].addresses[0];
    connection.subflows().find(|s| s.local.ip() == local).expect("a subflow on that path").path_mtu
}

#[track_caller]
fn transfer(pair: &mut Pair, bytes: u64) {
    let before = pair.received(Server);
    pair.write(Client, bytes);
    pair.run_until_received(Server, before + bytes, secs(60));
}

#[test]
fn what_one_connection_finds_out_all_between_the_same_addresses_use() {
    for config in on_each_host(config()).into_iter().chain([tcp_config()]) {
        let mut pair = narrow(&[10], config, Says::Message);
        let first = another(&mut pair);
        let second = another(&mut pair);
        assert_eq!(path_mtu(&pair, first, 0), 1500);
        transfer(&mut pair, 100_000);
        assert_eq!(path_mtu(&pair, second, 0), 1300);
        assert_eq!(path_mtu(&pair, first, 0), 1300, "one that lives");
        pair.clear_log();
        let third = another(&mut pair);
        assert_eq!(path_mtu(&pair, third, 0), 1300, "one that begins");
        let syn = pair.sent(Client).find(|p| p.is_syn()).expect("a SYN");
        assert_eq!(syn.segment.options.mss, Some(1460), "what the client takes is as before");
        transfer(&mut pair, 100_000);
        let largest = pair.sent(Client).map(|p| p.segment.ip_len()).max();
        assert_eq!(largest, Some(1300), "the path is filled, and nothing too large was tried");
    }
}

#[test]
fn a_join_uses_what_is_known_and_other_paths_do_not() {
    let mut pair = narrow(&[10, 10], config(), Says::Message);
    pair.connect_with_subflows(2);
    let first = pair.driver.applications.apps[0].handle.expect("it is open");
    transfer(&mut pair, 300_000);
    assert_eq!([0, 1].map(|path| path_mtu(&pair, first, path)), [1500, 1300]);
    pair.driver.applications.apps = [(); 2].map(|()| App { reads: true, ..App::default() });
    pair.connect_with_subflows(2);
    let second = pair.driver.applications.apps[0].handle.expect("it is open");
    assert_eq!([0, 1].map(|path| path_mtu(&pair, second, path)), [1500, 1300]);
}

#[test]
fn what_timeouts_show_is_shared_as_well() {
    let mut pair = narrow(&[10], ConnectionConfig { close_timeout: secs(600), ..config() }, Says::Nothing);
    let first = another(&mut pair);
    another(&mut pair);
    transfer(&mut pair, 20_000);
    assert_eq!(path_mtu(&pair, first, 0), 1280);
}

/// RFC 8201 §5.3 suggests ten minutes.
#[test]
fn it_is_forgotten_after_ten_minutes() {
    for (later, expected) in [(595, 1300), (601, 1500)] {
        let mut pair = narrow(&[10], config(), Says::Message);
        another(&mut pair);
        transfer(&mut pair, 20_000);
        pair.run_for(secs(later));
        let late = another(&mut pair);
        assert_eq!(path_mtu(&pair, late, 0), expected, "after {later} s");
    }
}

/// A larger size is tried, if the settings say so, up to the size that the path was thought to take.
#[test]
fn a_connection_that_began_with_a_learned_size_probes_as_well() {
    let tcp = TcpConfig { path_mtu_discovery: PathMtuDiscovery::Probing, ..TcpConfig::default() };
    let mut pair = narrow(&[10], ConnectionConfig { tcp, ..config() }, Says::Message);
    another(&mut pair);
    transfer(&mut pair, 20_000);
    let second = another(&mut pair);
    pair.driver.io.paths[0].narrow = None;
    transfer(&mut pair, 300_000);
    assert_eq!(path_mtu(&pair, second, 0), 1300);
    pair.run_for(secs(601));
    transfer(&mut pair, 300_000);
    assert_eq!(path_mtu(&pair, second, 0), 1500);
}

#[test]
fn what_the_host_is_told_replaces_what_was_found_out() {
    let mut pair = narrow(&[10], config(), Says::Message);
    let first = another(&mut pair);
    transfer(&mut pair, 20_000);
    let [client, server] = pair.driver.io.paths[0].addresses;
    pair.driver.io.paths[0].narrow = None;
    pair.driver.endpoints[0].set_path_mtu(pair.now, client, server, 1450).expect("the path takes that much");
    assert_eq!(path_mtu(&pair, first, 0), 1450);
    let second = another(&mut pair);
    assert_eq!(path_mtu(&pair, second, 0), 1450);
}
