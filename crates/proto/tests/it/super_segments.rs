//! Several segments that leave or arrive as one: on the wire they are the segments that would have left one by one, and
//! the delivered bytes are the same.

use crate::pair::*;
use pathweave_proto::config::{ConnectionConfig, Pacing, PathMtuDiscovery, TcpConfig};
use pathweave_units::{Bitrate, Duration, Instant};
use pathweave_wire::codec;
use pathweave_wire::mptcp::{DataNumber, Mapping};
use std::collections::BTreeMap;

/// What happens to packets, and what the applications do.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Every `loses`-th data packet is lost; 0: none.
    loses: usize,
    /// Number and size of the client's writes.
    writes: (u32, u64),
    /// Whether the server writes as well.
    both_ways: bool,
}

const PLANS: [Plan; 4] = [
    Plan { loses: 0, writes: (1, 400_000), both_ways: false },
    Plan { loses: 43, writes: (1, 400_000), both_ways: false },
    Plan { loses: 29, writes: (1, 200_000), both_ways: true },
    Plan { loses: 61, writes: (60, 3333), both_ways: false },
];

fn run(config: ConnectionConfig, plan: Plan, change: impl FnOnce(&mut Pair)) -> Pair {
    let mut pair = Pair::new(&[10, 25], config);
    change(&mut pair);
    let mut data = 0;
    pair.script(move |packet| {
        data += usize::from(packet.is_data());
        if plan.loses > 0 && packet.is_data() && data % plan.loses == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    let (times, len) = plan.writes;
    if plan.both_ways {
        pair.send_all(Server, 150_000);
    }
    for _ in 1..times {
        pair.write(Client, len);
        pair.run_for(ms(7));
    }
    pair.send_all(Client, len);
    pair.run_until_received(Server, u64::from(times) * len, secs(60));
    if plan.both_ways {
        pair.run_until_received(Client, 150_000, secs(60));
    }
    pair.run_for(secs(5));
    pair
}

/// Every packet as a wire would show it, without the lengths of mappings: if several segments leave as one, each has
/// the mapping of all.
fn packets(pair: &Pair) -> Vec<(Instant, usize, Vec<u8>)> {
    let bytes = |packet: &Packet| {
        let mut out = Vec::new();
        let mut segment = packet.segment.clone();
        if !segment.payload.is_empty()
            && let Some(mapping) = segment.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut())
            && let DataNumber::Long(dsn) = mapping.dsn
        {
            *mapping =
                Mapping { dsn: DataNumber::Long(dsn.wrapping_sub(u64::from(mapping.ssn))), ssn: 0, len: 0, ..*mapping };
        }
        codec::encode(&segment, packet.ecn, &mut out).expect("it has a form");
        (packet.at, packet.path, out)
    };
    pair.driver.io.log.iter().map(bytes).collect()
}

fn configs() -> Vec<ConnectionConfig> {
    let registry = pathweave_algorithms::Registry::builtin();
    let queueing = registry.schedulers().iter().find(|s| s.queues()).expect("there is one").name().to_owned();
    let mut all = Vec::new();
    for base in [config(), tcp_config()] {
        all.extend(on_each_host(base.clone()));
        let mut small = base.clone();
        small.tcp.mtu = 600;
        let mut ecn = base.clone();
        ecn.tcp.ecn = true;
        all.extend([small, ecn, with_scheduler(base, &queueing)]);
    }
    all.push(ConnectionConfig { checksum: true, ..config() });
    all
}

#[test]
fn what_leaves_as_one_is_cut_into_what_leaves_one_by_one() {
    for (i, config) in configs().into_iter().enumerate() {
        for plan in PLANS {
            let expected = packets(&run(config.clone(), plan, |_| {}));
            for most in [2, 5, 1000] {
                let pair = run(config.clone(), plan, |pair| pair.driver.io.max_segments = most);
                assert!(packets(&pair) == expected, "configuration {i}, at most {most} segments, {plan:?}");
                let several = pair.driver.io.several_sent;
                assert_eq!(several == 0, config.checksum, "configuration {i}, at most {most} segments, {plan:?}");
            }
        }
    }
}

/// "A mapping is fixed" (RFC 8684 §3.3.1): Linux resets a subflow on which mapped data comes with another mapping.
#[test]
fn each_byte_of_a_subflow_has_one_mapping_however_often_it_is_sent() {
    for plan in PLANS {
        for most in [1, 2, 5, 1000] {
            let pair = run(config(), plan, |pair| pair.driver.io.max_segments = most);
            let mut first_sent = BTreeMap::new();
            let mut again = 0;
            for packet in pair.sent(Client).filter(|packet| packet.is_data()) {
                let Some(mapping) = packet.segment.options.dss.and_then(|dss| dss.mapping) else { continue };
                let (path, seq) = (packet.path, packet.segment.seq);
                for byte in 0..packet.segment.payload.len() {
                    let before = first_sent.insert((path, seq.wrapping_add(byte)), mapping);
                    again += usize::from(before.is_some());
                    assert!(before.is_none_or(|before| before == mapping), "{before:?} became {mapping:?}");
                }
            }
            assert_eq!(again > 0, plan.loses > 0, "at most {most} segments, {plan:?}");
        }
    }
}

#[test]
fn what_arrives_as_one_is_taken_as_several_are() {
    for (i, config) in configs().into_iter().enumerate() {
        for plan in PLANS {
            // `run` checks every byte.
            let pair = run(config.clone(), plan, |pair| pair.driver.io.joins = true);
            let several = pair.driver.io.several_arrived;
            assert_eq!(several == 0, config.checksum, "configuration {i}, {plan:?}");
            let server = pair.the(Server);
            assert_eq!(server.error(), None);
        }
    }
}

/// The same if segments leave at their own times, and if a larger MTU is tried now and then: ten minutes later on a
/// path that was narrow, or still is. Paced segments and probes leave by themselves; the segments around a probe leave
/// together.
#[test]
fn with_pacing_and_probes_as_well() {
    let pacing = Pacing::On { limit: Some(Bitrate::from_mbps(20)), horizon: Duration::ZERO };
    let of = |pacing, path_mtu_discovery| TcpConfig { pacing, path_mtu_discovery, ..TcpConfig::default() };
    for (pacing, base, opens) in [Pacing::Off, pacing]
        .into_iter()
        .flat_map(|pacing| [config(), tcp_config()].map(|base| (pacing, base)))
        .flat_map(|(pacing, base)| [true, false].map(|opens| (pacing, base.clone(), opens)))
    {
        let config = ConnectionConfig { tcp: of(pacing, PathMtuDiscovery::Probing), ..base };
        let run = |most: usize| {
            let mut pair = Pair::new(&[10, 25], config.clone());
            pair.driver.io.max_segments = most;
            pair.driver.io.paths[0].narrow = Some((1300, Says::Message));
            pair.connect();
            pair.write(Client, 300_000);
            pair.run_until_received(Server, 300_000, secs(60));
            pair.run_for(secs(601));
            // After this long idle time the window must grow before a probe is tried.
            pair.driver.io.paths[0].narrow = (!opens).then_some((1300, Says::Nothing));
            let before = pair.driver.io.log.len();
            pair.write(Client, 400_000);
            pair.run_until_received(Server, 700_000, secs(60));
            let probes = |p: &&Packet| p.path == 0 && p.number >= before && p.segment.ip_len() > 1300;
            assert!(pair.sent(Client).filter(probes).count() > 0, "a larger segment was tried");
            assert_eq!(pair.subflow(Client, 0).path_mtu, if opens { 1500 } else { 1300 });
            pair
        };
        let expected = packets(&run(1));
        for most in [2, 64] {
            let pair = run(most);
            assert!(packets(&pair) == expected, "at most {most} segments, {pacing:?}, opens: {opens}");
            assert_eq!(pair.driver.io.several_sent == 0, pacing != Pacing::Off, "what is paced leaves alone");
        }
    }
}
