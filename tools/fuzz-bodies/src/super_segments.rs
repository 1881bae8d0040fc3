//! Fuzzes super-segments: segments that leave as one are cut and joined again on their way. Whatever happens to them,
//! the data read must be the data written.

use crate::world::World;
use arbitrary::{Arbitrary, Unstructured};
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::scheduler::ChosenScheduler;
use pathweave_units::Duration;
use pathweave_wire::Segment;
use std::sync::Arc;

/// The most steps of an input.
const STEPS: usize = 200;
/// The largest write, bytes.
const WRITE: u32 = 60_000;
/// The smallest piece that a segment is cut into, bytes.
const PART: u16 = 50;

#[derive(Arbitrary, Debug)]
struct Settings {
    scheduler: u8,
    mptcp: bool,
    checksum: bool,
    timestamps: bool,
    bytes: bool,
    small_buffer: bool,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Sets the number of segments that may leave as one.
    Most(u8),
    /// Cuts the oldest segment on its way into parts of this size, or into its own parts.
    Cut {
        to_server: bool,
        size: Option<u16>,
    },
    /// Cuts the oldest segment as a network card does: each part has all the options.
    CutByCard {
        to_server: bool,
        size: u16,
    },
    /// Joins the segments that follow to the oldest one, as far as possible.
    Join {
        to_server: bool,
        count: u8,
    },
    /// Delivers some segments.
    Pass {
        to_server: bool,
        count: u8,
    },
    Drop {
        to_server: bool,
    },
    /// Moves the oldest segment behind all others.
    Delay {
        to_server: bool,
    },
    Duplicate {
        to_server: bool,
    },
    Advance {
        milliseconds: u8,
    },
    Write {
        server: bool,
        len: u16,
    },
    Read {
        server: bool,
        max: u16,
    },
}

/// Runs the input's steps.
pub fn super_segments(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Ok(settings) = Settings::arbitrary(&mut u) else { return };
    let config = config(&settings);
    let mut world = World::new(config.clone(), config, settings.bytes);
    world.write(0, 1);
    let until = world.now + Duration::from_millis(10);
    world.settle(until);
    for _ in 0..STEPS {
        let Ok(step) = Step::arbitrary(&mut u) else { break };
        carry_out(&mut world, step);
        assert!(!world.damaged, "what is read is what was written");
        if u.is_empty() {
            break;
        }
    }
    world.set_max_segments(1000);
    let until = world.now + Duration::from_secs(300);
    world.settle(until);
    assert!(!world.damaged, "what is read is what was written");
    let failed = (0..2).any(|i| world.connection(i).is_none_or(|c| c.error().is_some()));
    assert!(failed || world.read == [world.written[1], world.written[0]], "all that was written is read");
}

fn config(settings: &Settings) -> ConnectionConfig {
    let registry = Registry::builtin();
    let schedulers = registry.schedulers();
    let scheduler = &schedulers[usize::from(settings.scheduler) % schedulers.len()];
    let mut config = ConnectionConfig::new(
        ChosenScheduler::new(Arc::clone(scheduler), &[]).expect("the defaults are right"),
        ChosenController::new(Arc::clone(&registry.controllers()[0]), &[]).expect("the defaults are right"),
    );
    config.mptcp = settings.mptcp;
    config.checksum = settings.checksum;
    config.send_buffer = 500_000;
    config.receive_buffer = ReceiveBuffer::Fixed(if settings.small_buffer { 20_000 } else { 500_000 });
    config.tcp.timestamps = settings.timestamps;
    config
}

/// Replaces the oldest segment on its way by the result of `cut`.
fn replace_first(world: &mut World, to_server: bool, cut: impl FnOnce(Segment) -> Vec<Segment>) {
    let wire = world.wire(usize::from(to_server));
    let Some((ecn, segment)) = wire.pop_front() else { return };
    for part in cut(segment).into_iter().rev() {
        wire.push_front((ecn, part));
    }
}

fn carry_out(world: &mut World, step: Step) {
    match step {
        Step::Most(most) => world.set_max_segments(usize::from(most).max(1)),
        Step::Cut { to_server, size } => replace_first(world, to_server, |mut segment| {
            segment.segment_size = size.map(|size| size.max(PART)).or(segment.segment_size);
            segment.parts().collect()
        }),
        Step::CutByCard { to_server, size } => replace_first(world, to_server, |mut segment| {
            segment.segment_size = Some(size.max(PART));
            let options = |part: Segment| Segment { options: segment.options.clone(), ..part };
            segment.parts().map(options).collect()
        }),
        Step::Join { to_server, count } => {
            let wire = world.wire(usize::from(to_server));
            let Some((ecn, mut first)) = wire.pop_front() else { return };
            for _ in 0..count {
                if wire.front().is_none_or(|(e, next)| *e != ecn || !first.try_join(next)) {
                    break;
                }
                wire.pop_front();
            }
            wire.push_front((ecn, first));
        }
        Step::Pass { to_server, count } => world.pass_some(usize::from(to_server), count),
        Step::Drop { to_server } => drop(world.wire(usize::from(to_server)).pop_front()),
        Step::Delay { to_server } => world.delay(usize::from(to_server)),
        Step::Duplicate { to_server } => world.duplicate(usize::from(to_server)),
        Step::Advance { milliseconds } => world.advance(Duration::from_millis(u64::from(milliseconds))),
        Step::Write { server, len } => world.write(usize::from(server), u32::from(len) % WRITE),
        Step::Read { server, max } => world.read(usize::from(server), u64::from(max) + 1),
    }
}
