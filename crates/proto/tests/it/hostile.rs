//! Segments with random changes cause no panic, no leak and no standstill.

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::ConnectionConfig;
use pathweave_units::random::Random;
use pathweave_wire::mptcp::{
    AddressId, AddressIds, DataNumber, Dss, Key, Mapping, MpJoin, MptcpOption, ResetReason, Token,
};
use pathweave_wire::{Flags, Payload, Segment};

fn below(random: &mut Random, n: u64) -> u64 {
    random.next_u64() % n
}

/// A number near `x`, or any number.
fn near(random: &mut Random, x: u64) -> u64 {
    match below(random, 4) {
        0 => random.next_u64(),
        1 => x.wrapping_add(1 << 31).wrapping_add(below(random, 3)).wrapping_sub(1),
        2 => x.wrapping_add(below(random, 5000)).wrapping_sub(2500),
        _ => x.wrapping_add(below(random, 3)).wrapping_sub(1),
    }
}

fn some_mapping(random: &mut Random, like: Option<Mapping>) -> Mapping {
    let like = like.unwrap_or(Mapping { dsn: DataNumber::Long(random.next_u64()), ssn: 1, len: 100, checksum: None });
    let dsn = like.dsn.expand(0);
    Mapping {
        dsn: if below(random, 2) == 0 {
            DataNumber::Long(near(random, dsn))
        } else {
            DataNumber::Short(near(random, dsn) as u32)
        },
        ssn: if below(random, 2) == 0 { like.ssn } else { near(random, u64::from(like.ssn)) as u32 },
        len: if below(random, 2) == 0 { like.len } else { near(random, u64::from(like.len)) as u16 },
        checksum: (below(random, 4) == 0).then(|| random.next_u32() as u16),
    }
}

fn some_option(random: &mut Random) -> MptcpOption {
    let id = AddressId(below(random, 4) as u8);
    match below(random, 8) {
        0 => MptcpOption::Fail { dsn: random.next_u64() },
        1 => MptcpOption::FastClose { receiver: Key(random.next_u64()) },
        2 => MptcpOption::Priority { backup: below(random, 2) == 0 },
        3 => MptcpOption::RemoveAddress { ids: AddressIds::one(id) },
        4 => MptcpOption::Reset { transient: false, reason: ResetReason::Unspecified },
        5 => MptcpOption::Join(MpJoin::Ack { hmac: [7; 20] }),
        6 => MptcpOption::Join(MpJoin::Syn { backup: false, address_id: id, token: Token(1), nonce: 1 }),
        _ => MptcpOption::AddAddress { id, address: [10, 7, 7, 7].into(), port: Some(9), hmac: Some(1) },
    }
}

fn spoil(random: &mut Random, segment: &mut Segment) {
    match below(random, 9) {
        0 => segment.seq = near(random, u64::from(segment.seq)) as u32,
        1 => segment.ack = near(random, u64::from(segment.ack)) as u32,
        2 => segment.window = random.next_u32() as u16,
        3 => segment.flags = Flags::from_bits(random.next_u32() as u8),
        4 => {
            let keep = below(random, u64::from(segment.payload.len()) + 1) as u32;
            segment.payload = segment.payload.slice(0, keep);
        }
        5 => segment.options.mptcp.push(some_option(random)),
        6 => segment.options = Default::default(),
        7 => {
            let old = segment.options.dss.unwrap_or_default();
            let mapping = Some(some_mapping(random, old.mapping));
            segment.options.dss = Some(Dss { mapping, data_fin: below(random, 8) == 0, ..old });
        }
        _ => {
            let bytes: Vec<u8> = (0..below(random, 1400)).map(|i| i as u8).collect();
            segment.payload = Payload::Bytes(bytes.into());
        }
    }
}

#[test]
fn segments_with_anything_changed_in_them_end_nothing_but_their_connection() {
    for seed in 0..400 {
        let base = if seed % 5 == 4 { tcp_config() } else { config() };
        let checksum = seed % 2 == 1;
        let schedulers = Registry::builtin().schedulers().to_vec();
        let base = with_scheduler(base, schedulers[seed as usize % schedulers.len()].name());
        let config = ConnectionConfig { checksum, close_timeout: secs(10), keep_alive: secs(30), ..base };
        let mut pair = Pair::new(&[10, 15], config);
        pair.driver.applications.unchecked = true;
        let mut random = Random::substream(seed, "hostile");
        let rate = 5 + seed % 300;
        pair.script(move |p| {
            if below(&mut random, rate) == 0 {
                spoil(&mut random, &mut p.segment);
                if below(&mut random, 4) == 0 {
                    spoil(&mut random, &mut p.segment);
                }
            }
            if below(&mut random, 20) == 0 { Fate::Twice(ms(3)) } else { Fate::Pass }
        });
        pair.driver.applications.apps[0].pending = 60_000;
        pair.driver.applications.apps[1].pending = 60_000;
        pair.driver.applications.apps[0].close_after_writing = true;
        pair.driver.applications.apps[1].close_after_writing = true;
        pair.open();
        pair.run_for(secs(20));
        for side in [Client, Server] {
            pair.command(side, |c, now| c.abort(now));
        }
        pair.no_script();
        pair.run_for(secs(400));
        assert_eq!(
            (pair.driver.endpoints[0].connections(), pair.driver.endpoints[1].connections()),
            (0, 0),
            "seed {seed}\n{}",
            pair.describe()
        );
    }
}
