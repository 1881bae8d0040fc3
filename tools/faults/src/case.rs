//! Cases drawn from a seed.

use crate::apps::{Close, Plan};
use crate::attackers::{Attacker, Forgery, Sees};
use crate::draw::{Draw, LIMIT};
use crate::middlebox::Tampering;
use crate::paths::{Path, Versions, shape};
use core::net::IpAddr;
use pathweave_algorithms::Registry;
use pathweave_proto::EndpointLimits;
use pathweave_proto::config::{
    ConnectionConfig, FailureDetection, LossRecovery, PathManager, ReceiveBuffer, TcpConfig,
};
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::host::Host;
use pathweave_proto::scheduler::ChosenScheduler;
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};

/// Latest time, in seconds, by which all temporary faults have ended, readers read again and writers have closed.
const LATEST_CALM: u64 = 90;

/// One run of the campaign.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed of the case.
    pub seed: u64,
    pub(crate) kind: Kind,
    pub(crate) versions: Versions,
    pub(crate) paths: Vec<Path>,
    /// Settings of the client and of the server.
    pub(crate) configs: [ConnectionConfig; 2],
    pub(crate) plans: [Plan; 2],
    /// Limits of each endpoint.
    pub(crate) limits: EndpointLimits,
    pub(crate) attackers: Vec<Attacker>,
    /// Time from which on only permanent faults remain: outages and middleboxes without an end.
    pub(crate) calm: Instant,
}

/// All schedulers: the registry's, and the test schedulers that keep or break the rules.
pub(crate) fn registry() -> Registry {
    pathweave_test_schedulers::GOOD
        .iter()
        .chain(pathweave_test_schedulers::BAD)
        .fold(Registry::builtin(), |r, e| r.with_scheduler(*e))
}

fn config(d: &mut Draw, registry: &Registry) -> ConnectionConfig {
    let scheduler = d.one(registry.schedulers());
    let controller = d.one(registry.controllers());
    let mut config = ConnectionConfig::new(
        ChosenScheduler::new(scheduler, &[]).expect("the defaults are right"),
        ChosenController::new(controller, &[]).expect("the defaults are right"),
    );
    config.mptcp = d.chance(0.85);
    config.send_buffer = d.spread(1000, 1 << 20);
    let send_buffer_tuning = d.chance(0.2);
    let buffer = d.spread(500, 1 << 20);
    config.receive_buffer = match d.chance(0.3) {
        true => ReceiveBuffer::Auto { initial: buffer, max: buffer * 8 },
        false => ReceiveBuffer::Fixed(buffer),
    };
    let on_linux = d.chance(0.15);
    config.nagle = d.chance(0.5);
    config.pr = d.chance(0.4);
    config.failure_detection = if d.chance(0.5) { FailureDetection::Linux } else { FailureDetection::Fast };
    config.path_manager =
        d.one(&[PathManager::Default, PathManager::Default, PathManager::FullMesh, PathManager::NDiffPorts(3)]);
    config.join_initial_address = d.chance(0.7);
    config.protect_initial_address = d.chance(0.05);
    config.single_path = d.chance(0.1);
    config.checksum = d.chance(0.3);
    config.keep_alive = if d.chance(0.7) { d.millis(1000, 30_000) } else { Duration::ZERO };
    config.close_timeout = Duration::from_secs(d.one(&[10, 30, 60]));
    config.max_subflows = d.between(1, 8) as u8;
    let default = TcpConfig::default();
    config.tcp = TcpConfig {
        mtu: d.one(&[1500, 1500, 1500, 576, 9000]),
        initial_window: d.one(&[10, 10, 1, 2, 40]),
        min_rto: Duration::from_millis(d.one(&[200, 200, 1000])),
        timestamps: d.chance(0.7),
        window_scaling: d.chance(0.8),
        least_window_shift: d.one(&[0, 0, 0, 7, 14]),
        delayed_ack: d.chance(0.8),
        timer_tick: Duration::from_millis(d.one(&[0, 0, 0, 4])),
        send_buffer_tuning,
        ..default
    };
    config.host = match d.between(0, 9) {
        0 => Host::MptcpOrg,
        _ if on_linux => Host::Linux,
        _ => Host::Rfc,
    };
    config.tcp = TcpConfig {
        quick_acks: d.one(&[16, 16, 0]),
        recovery: d.one(&[LossRecovery::RackTlp, LossRecovery::RackTlp, LossRecovery::Sack, LossRecovery::NewReno]),
        prr: d.chance(0.8),
        limited_transmit: d.chance(0.8),
        restart_after_idle: d.chance(0.8),
        ecn: d.chance(0.3),
        ..config.tcp
    };
    config
}

/// The way in which the network, the hosts and the plans of a run were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All faults are possible; attackers are rare.
    Faults,
    /// Attackers that know addresses and ports, in a network in which an honest connection cannot fail. The run must
    /// end as it does without them.
    Siege,
}

impl Case {
    /// The case of a seed.
    pub fn draw(seed: u64) -> Case {
        let registry = registry();
        let d = &mut Draw(Random::substream(seed, "case"));
        let tampers = d.chance(0.6);
        let (shape, versions) = shape(d);
        let shares = d.chance(0.2);
        let path = |(number, ends)| Path::draw(d, ends, if shares { 0 } else { number }, tampers);
        let paths = shape.into_iter().enumerate().map(path).collect();
        let mut configs = [config(d, &registry), config(d, &registry)];
        configs[1].checksum &= d.chance(0.5);
        if d.chance(0.6) {
            configs[1].mptcp = configs[0].mptcp;
        }
        let plans = [Plan::draw(d), Plan::draw(d)];
        let calm = Instant::ZERO + Duration::from_secs(d.between(5, LATEST_CALM));
        let mut limits = EndpointLimits::default();
        if d.chance(0.3) {
            limits.waiting_bytes = d.spread(20_000, 500_000);
        }
        let mut case =
            Case { seed, kind: Kind::Faults, versions, paths, configs, plans, limits, attackers: Vec::new(), calm };
        match d.between(0, 19) {
            0..=2 => case.besiege(d),
            3..=4 => case.attackers = (0..d.between(1, 3)).map(|_| Attacker::draw(d)).collect(),
            _ => {}
        }
        case.draw_later_kinds(&mut Draw(Random::substream(seed, "later kinds")));
        case
    }

    /// Kinds of faults that were added later. They have random numbers of their own, so that the rest of each case
    /// stays as it was.
    fn draw_later_kinds(&mut self, d: &mut Draw) {
        if self.kind == Kind::Siege {
            return;
        }
        for plan in &mut self.plans {
            if d.chance(0.06) {
                plan.close = Close::Leave(d.at_millis(1, 30_000));
            }
        }
        for path in &mut self.paths {
            for direction in &mut path.directions {
                if d.chance(0.03) {
                    direction.tampering.push(Tampering::of_keys(d));
                }
            }
        }
        for attacker in &mut self.attackers {
            if d.chance(0.1) {
                (attacker.forgeries, attacker.pause) = (vec![Forgery::RemoveAddress], Duration::ZERO);
            }
        }
    }

    /// Attackers who know addresses and ports, and nothing else that could make the connection fail.
    fn besiege(&mut self, d: &mut Draw) {
        self.kind = Kind::Siege;
        self.paths.iter_mut().for_each(Path::make_mild);
        for (config, plan) in self.configs.iter_mut().zip(&mut self.plans) {
            config.close_timeout = Duration::from_secs(60);
            plan.close = Close::AfterWriting;
        }
        self.attackers = (0..d.between(1, 4)).map(|_| Attacker::off_path(d)).collect();
    }

    /// The same without its attackers.
    pub(crate) fn without_attackers(&self) -> Case {
        Case { attackers: Vec::new(), ..self.clone() }
    }

    /// Whether an attacker sees packets and can imitate the hosts.
    pub(crate) fn has_attackers_on_the_path(&self) -> bool {
        self.attackers.iter().any(|a| a.sees == Sees::Packets)
    }

    /// Time from which on there are no faults; `None` if some are permanent.
    pub(crate) fn all_well(&self) -> Option<Instant> {
        let outages = self.paths.iter().flat_map(|path| &path.outages).map(|(_, until)| *until);
        let tampering = self.paths.iter().flat_map(|path| &path.directions).flat_map(|d| &d.tampering);
        let attacks = self.attackers.iter().map(Attacker::end);
        let last = outages.chain(tampering.map(|t| t.until)).chain(attacks).chain([self.calm]).max()?;
        (last < Instant::ZERO + LIMIT).then_some(last)
    }

    /// Number of addresses of the client or the server.
    pub(crate) fn addresses(&self, server: bool) -> u8 {
        self.paths.iter().map(|path| path.ends[usize::from(server)] + 1).max().unwrap_or(0)
    }

    /// The addresses of the client and the server on a path.
    pub(crate) fn ends_of(&self, path: &Path) -> (IpAddr, IpAddr) {
        (self.versions.address(path.ends[0], false), self.versions.address(path.ends[1], true))
    }
}
