//! Real bytes over random networks, both ways at once, for every scheduler and controller.

use crate::pair::*;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{LossRecovery, ReceiveBuffer};
use pathweave_units::random::Random;

/// Runs case `seed`, from which everything random follows.
fn run(seed: u64) {
    let mut random = Random::substream(seed, "case");
    let registry = Registry::builtin();
    let mut config = config();
    let scheduler = registry.schedulers()[seed as usize % registry.schedulers().len()].name();
    let controller = registry.controllers()[random.below(registry.controllers().len() as u64) as usize].name();
    config.scheduler = registry.choose_scheduler(scheduler, &[]).expect("defaults");
    config.congestion = registry.choose_controller(controller, &[]).expect("defaults");
    config.receive_buffer = ReceiveBuffer::Fixed(6_000 + random.below(200_000));
    config.send_buffer = 6_000 + random.below(200_000);
    config.nagle = random.chance(0.5);
    config.pr = random.chance(0.5);
    config.tcp.timestamps = random.chance(0.7);
    config.tcp.window_scaling = random.chance(0.7);
    config.tcp.recovery = [LossRecovery::RackTlp, LossRecovery::Sack, LossRecovery::NewReno][random.below(3) as usize];
    let hosts = on_each_host(config);
    let config = hosts[random.below(hosts.len() as u64) as usize].clone();
    let delays: Vec<u64> = (0..1 + random.below(3)).map(|_| 1 + random.below(80)).collect();
    let (loss, late, twice) = (random.unit() * 0.06, random.unit() * 0.1, random.unit() * 0.05);
    let mut fates = Random::substream(seed, "fates");
    let mut pair = Pair::new(&delays, config);
    pair.script(move |_| match fates.unit() {
        x if x < loss => Fate::Drop,
        x if x < loss + late => Fate::Late(ms(fates.below(60))),
        x if x < loss + late + twice => Fate::Twice(ms(fates.below(60))),
        _ => Fate::Pass,
    });
    pair.connect();
    let (up, down) = (1 + random.below(300_000), 1 + random.below(200_000));
    pair.send_all(Client, up);
    pair.send_all(Server, down);
    let what = format!("seed {seed}, {scheduler}, {controller}: all bytes");
    // One path goes dark for a while, even if it is the only one.
    pair.run_for(ms(random.below(2000)));
    let dark = random.below(delays.len() as u64) as usize;
    pair.kill(dark);
    pair.run_for(ms(random.below(5000)));
    pair.revive(dark);
    pair.run_until(&what, secs(1200), |p| p.received(Server) == up && p.received(Client) == down);
    pair.no_script();
    pair.run_until(&format!("{what}, released"), secs(200), |p| {
        p.driver.endpoints.iter().all(|h| h.connections() == 0)
    });
    for side in [Client, Server] {
        assert_eq!(pair.happened(side, |e| matches!(e, pathweave_proto::ConnectionEvent::Failed(_))), None, "{what}");
    }
}

#[test]
fn every_byte_arrives_once_and_in_order() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(120);
    for seed in 0..cases {
        run(seed);
    }
}
