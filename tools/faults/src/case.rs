//! Cases drawn from a seed.

use crate::apps::Plan;
use crate::draw::{Draw, LIMIT};
use crate::middlebox::Tampering;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{
    ConnectionConfig, FailureDetection, LossRecovery, PathManager, ReceiveBuffer, TcpConfig,
};
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::host::Host;
use pathweave_proto::host::linux::LinuxHost;
use pathweave_proto::scheduler::{ChosenScheduler, test_schedulers};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};

/// When the faults that end have ended, readers read and writers close: the latest such time.
const LATEST_CALM: u64 = 90;

/// What happens to packets of one direction of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    /// How many are late, and by how much at most.
    pub(crate) reorder: f64,
    pub(crate) late_by: Duration,
    /// A copy comes seconds later.
    pub(crate) ghost: f64,
    /// Data under a checksum is changed.
    pub(crate) corrupt: f64,
    pub(crate) tampering: Vec<Tampering>,
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    /// Bytes per second, and how many of them can wait.
    pub(crate) rate: u64,
    pub(crate) queue: u64,
    /// To the server, to the client.
    pub(crate) directions: [Direction; 2],
    pub(crate) outages: Vec<(Instant, Instant)>,
}

/// One run of the campaign.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it was drawn from.
    pub seed: u64,
    pub(crate) paths: Vec<Path>,
    /// The client's settings, the server's.
    pub(crate) configs: [ConnectionConfig; 2],
    pub(crate) plans: [Plan; 2],
    pub(crate) calm: Instant,
}

/// All schedulers: the registry's, and the test schedulers that keep or break the rules.
pub(crate) fn registry() -> Registry {
    test_schedulers::GOOD.iter().chain(test_schedulers::BAD).fold(Registry::builtin(), |r, e| r.with_scheduler(*e))
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
    let other_habits = d.chance(0.15);
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
        ..default
    };
    let timer_tick = Duration::from_millis(d.one(&[0, 0, 0, 4]));
    let linux = LinuxHost { other_habits, send_buffer_tuning, timer_tick };
    config.host = if linux == LinuxHost::NO_HABIT { Host::Rfc } else { Host::Linux(linux) };
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

fn direction(d: &mut Draw, lossy: f64, tampers: bool) -> Direction {
    let tampering = match tampers && d.chance(0.6) {
        true => (0..d.between(1, 2)).map(|_| Tampering::draw(d)).collect(),
        false => Vec::new(),
    };
    Direction {
        loss: if d.chance(0.7) { lossy } else { d.mostly_none(0.5, 0.3) },
        duplicate: d.mostly_none(0.6, 0.1),
        reorder: d.mostly_none(0.5, 0.2),
        late_by: d.millis(1, 400),
        ghost: d.mostly_none(0.8, 0.02),
        corrupt: d.mostly_none(0.7, 0.05),
        tampering,
    }
}

fn path(d: &mut Draw, tampers: bool) -> Path {
    let lossy = d.mostly_none(0.4, 0.1);
    let outages = match d.chance(0.25) {
        true => (0..d.between(1, 3))
            .map(|_| {
                let from = d.at_millis(1, 30_000);
                let length = if d.chance(0.15) { LIMIT } else { d.millis(50, 30_000) };
                (from, from + length)
            })
            .collect(),
        false => Vec::new(),
    };
    let delay = Duration::from_micros(d.spread(100, 200_000));
    Path {
        delay,
        jitter: if d.chance(0.5) { Duration::ZERO } else { Duration::from_micros(d.spread(10, 20_000)) },
        rate: d.spread(20_000, 20_000_000),
        queue: d.spread(5_000, 1_000_000),
        directions: [direction(d, lossy, tampers), direction(d, lossy, tampers)],
        outages,
    }
}

impl Case {
    /// The case of a seed.
    pub fn draw(seed: u64) -> Case {
        let registry = registry();
        let d = &mut Draw(Random::substream(seed, "case"));
        let tampers = d.chance(0.6);
        let paths = (0..d.one(&[1, 1, 2, 2, 2, 3, 4])).map(|_| path(d, tampers)).collect();
        let mut configs = [config(d, &registry), config(d, &registry)];
        configs[1].checksum &= d.chance(0.5);
        if d.chance(0.6) {
            configs[1].mptcp = configs[0].mptcp;
        }
        let plans = [Plan::draw(d), Plan::draw(d)];
        let calm = Instant::ZERO + Duration::from_secs(d.between(5, LATEST_CALM));
        Case { seed, paths, configs, plans, calm }
    }
}
