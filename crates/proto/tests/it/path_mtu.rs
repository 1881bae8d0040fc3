//! Each path has an MTU of its own.

use crate::pair::{Client, Pair, Server, Side, config, ms, secs, tcp_config};
use pathweave_proto::PathMtuError;

/// Sets what both ends know of a path.
fn set_path_mtu(pair: &mut Pair, path: usize, mtu: u32) {
    let [client, server] = pair.driver.io.paths[path].addresses;
    pair.driver.endpoints[0].set_path_mtu(client, server, mtu).expect("the path takes that much");
    pair.driver.endpoints[1].set_path_mtu(server, client, mtu).expect("the path takes that much");
}

/// The largest IP packet that one end has sent on a path.
fn largest(pair: &Pair, from: Side, path: usize) -> u32 {
    pair.sent(from).filter(|p| p.path == path).map(|p| p.segment.ip_len()).max().unwrap_or(0)
}

#[test]
fn each_path_is_filled_to_its_own_mtu() {
    type New = fn(&[u64], pathweave_proto::config::ConnectionConfig) -> Pair;
    for (new, least) in [(Pair::new as New, 552), (Pair::ipv6 as New, 1280)] {
        let mut pair = new(&[10, 10], config());
        set_path_mtu(&mut pair, 0, 1400);
        set_path_mtu(&mut pair, 1, least);
        pair.connect();
        pair.run_for(ms(100));
        pair.send_all(Client, 300_000);
        pair.run_until_received(Server, 300_000, secs(10));
        assert_eq!([largest(&pair, Client, 0), largest(&pair, Client, 1)], [1400, least]);
        let headers = if least == 1280 { 60 } else { 40 };
        for syn in pair.driver.io.log.iter().filter(|p| p.is_syn()) {
            let expected = [1400, least][syn.path] - headers;
            assert_eq!(syn.segment.options.mss.map(u32::from), Some(expected), "the MSS option of {:?}", syn.from);
        }
    }
}

#[test]
fn the_peers_smaller_path_mtu_binds_as_well() {
    for config in [config(), tcp_config()] {
        let mut pair = Pair::new(&[10], config);
        let [client, server] = pair.driver.io.paths[0].addresses;
        pair.driver.endpoints[1].set_path_mtu(server, client, 1000).expect("the path takes that much");
        pair.connect();
        pair.send_all(Client, 50_000);
        pair.run_until_received(Server, 50_000, secs(10));
        assert_eq!(largest(&pair, Client, 0), 1000, "what the server's MSS option says");
    }
}

#[test]
fn an_mtu_below_every_paths_is_refused() {
    let mut pair = Pair::new(&[10], config());
    let [client, server] = pair.driver.io.paths[0].addresses;
    let endpoint = &mut pair.driver.endpoints[0];
    assert_eq!(endpoint.set_path_mtu(client, server, 551), Err(PathMtuError::TooSmall { least: 552 }));
    let six = "fd00::1".parse().expect("an address");
    assert_eq!(endpoint.set_path_mtu(six, six, 1279), Err(PathMtuError::TooSmall { least: 1280 }));
    assert_eq!(endpoint.set_path_mtu(six, server, 1500), Err(PathMtuError::MixedFamilies));
}
