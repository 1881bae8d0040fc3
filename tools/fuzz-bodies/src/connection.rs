//! Fuzzes a connection with arbitrary segments: in no state may an input make it panic, send without end, or send
//! options that do not fit. If nothing was tampered with, the data read must be the data written.

use crate::world::{PATHS, PORT, World, address, path_manager, payload};
use arbitrary::{Arbitrary, Unstructured};
use core::net::SocketAddr;
use pathweave_algorithms::Registry;
use pathweave_proto::config::{ConnectionConfig, FailureDetection, LossRecovery, ReceiveBuffer};
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::scheduler::ChosenScheduler;
use pathweave_units::Duration;
use pathweave_wire::codec::{decode_options, encode_options};
use pathweave_wire::mptcp::DataNumber;
use pathweave_wire::{Ecn, Flags, MAX_OPTION_BYTES, Segment};
use std::sync::Arc;

/// The most steps of an input.
const STEPS: usize = 150;
/// The largest write, bytes.
const WRITE: u32 = 30_000;
/// The larger of the two receive buffers, bytes.
const RECEIVE_BUFFER: u64 = 200_000;
/// The most that rounding of the window field may add, bytes.
const SLACK: u64 = 1 << 14;

#[derive(Arbitrary, Debug)]
struct Settings {
    scheduler: u8,
    controller: u8,
    path_manager: u8,
    server_mptcp: bool,
    client_mptcp: bool,
    checksum: [bool; 2],
    linux_detection: bool,
    pr: bool,
    recovery: u8,
    timestamps: bool,
    window_scaling: bool,
    ecn: bool,
    bytes: bool,
    small_buffer: bool,
    /// Whether the handshakes are done before the first step.
    established: bool,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Delivers some of the segments on their way.
    Pass {
        to_server: bool,
        count: u8,
    },
    Drop {
        to_server: bool,
    },
    /// Moves the oldest segment on its way behind all others.
    Delay {
        to_server: bool,
    },
    Duplicate {
        to_server: bool,
    },
    Change {
        to_server: bool,
        at: u8,
        change: Change,
    },
    /// Injects a segment that resembles the last one sent.
    Inject {
        to_server: bool,
        path: u8,
        port: Option<u16>,
        base: bool,
        changes: Vec<Change>,
    },
    Advance {
        milliseconds: u16,
    },
    AdvanceFar {
        seconds: u8,
    },
    Write {
        server: bool,
        len: u16,
    },
    Read {
        server: bool,
        max: u16,
    },
    Close {
        server: bool,
    },
    Abort {
        server: bool,
    },
}

/// A change of one segment; numbers are relative to what was there.
#[derive(Arbitrary, Debug)]
enum Change {
    Sequence(i16),
    SequenceFar(i32),
    Acknowledgement(i16),
    AcknowledgementFar(i32),
    Flags(u8),
    Window(u16),
    Payload {
        start: u16,
        len: u16,
    },
    /// Replaces all options by these.
    Options(Vec<u8>),
    /// Adds these options after the others.
    MoreOptions(Vec<u8>),
    /// Changes one octet of the options.
    Octet {
        at: u8,
        xor: u8,
    },
    Dss {
        ack: Option<i16>,
        dsn: Option<i16>,
        ssn: Option<i16>,
        len: Option<i16>,
        fin: bool,
        checksum: Option<u16>,
    },
    DssFar {
        ack: i32,
        dsn: i64,
        short: bool,
    },
    NoDss,
    NoMptcp,
    NoOptions,
    Ports(u16, u16),
}

/// Runs the input's steps.
pub fn connection(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let Ok(settings) = Settings::arbitrary(&mut u) else { return };
    let mut world = World::new(config(&settings, 0), config(&settings, 1), settings.bytes);
    if settings.established {
        world.write(0, 1);
        let until = world.now + Duration::from_millis(10);
        world.settle(until);
    }
    let mut tampered = false;
    for _ in 0..STEPS {
        if u.is_empty() {
            break;
        }
        let Ok(step) = Step::arbitrary(&mut u) else { break };
        tampered |= matches!(step, Step::Change { .. } | Step::Inject { .. });
        carry_out(&mut world, step, settings.bytes);
        for i in 0..2 {
            let held = world.connection(i).map_or(0, |c| c.snapshot().receiving.out_of_order_bytes);
            assert!(held <= RECEIVE_BUFFER + SLACK, "{held} bytes are held, the buffer has room for {RECEIVE_BUFFER}");
        }
    }
    let until = world.now + Duration::from_secs(300);
    world.settle(until);
    assert!(tampered || !world.damaged, "what is read is what was written");
    assert!(tampered || (world.read[0] <= world.written[1] && world.read[1] <= world.written[0]));
}

fn config(settings: &Settings, side: usize) -> ConnectionConfig {
    let registry = Registry::builtin();
    let (schedulers, controllers) = (registry.schedulers(), registry.controllers());
    let scheduler = &schedulers[usize::from(settings.scheduler) % schedulers.len()];
    let controller = &controllers[usize::from(settings.controller) % controllers.len()];
    let mut config = ConnectionConfig::new(
        ChosenScheduler::new(Arc::clone(scheduler), &[]).expect("the defaults are right"),
        ChosenController::new(Arc::clone(controller), &[]).expect("the defaults are right"),
    );
    config.mptcp = if side == 0 { settings.client_mptcp } else { settings.server_mptcp };
    config.checksum = settings.checksum[side];
    config.path_manager = path_manager(settings.path_manager);
    config.pr = settings.pr;
    config.send_buffer = 200_000;
    config.receive_buffer = ReceiveBuffer::Fixed(if settings.small_buffer { 5000 } else { RECEIVE_BUFFER });
    if settings.linux_detection {
        config.failure_detection = FailureDetection::Linux;
    }
    config.tcp.timestamps = settings.timestamps;
    config.tcp.window_scaling = settings.window_scaling;
    config.tcp.ecn = settings.ecn;
    config.tcp.recovery = match settings.recovery % 3 {
        0 => LossRecovery::RackTlp,
        1 => LossRecovery::Sack,
        _ => LossRecovery::NewReno,
    };
    config
}

fn carry_out(world: &mut World, step: Step, bytes: bool) {
    match step {
        Step::Pass { to_server, count } => world.pass_some(usize::from(to_server), count),
        Step::Drop { to_server } => drop(world.wire(usize::from(to_server)).pop_front()),
        Step::Delay { to_server } => world.delay(usize::from(to_server)),
        Step::Duplicate { to_server } => world.duplicate(usize::from(to_server)),
        Step::Change { to_server, at, change } => {
            let wire = world.wire(usize::from(to_server));
            if let Some(at) = usize::from(at).checked_rem(wire.len()) {
                apply(&mut wire[at].1, change, bytes);
            }
        }
        Step::Inject { to_server, path, port, base, changes } => {
            let to = usize::from(to_server);
            let known = world.last_sent(1 - to).cloned().filter(|_| base);
            let mut segment = known.unwrap_or_else(|| {
                let client = SocketAddr::new(address(path % PATHS, false), port.unwrap_or(49_152));
                let server = SocketAddr::new(address(path % PATHS, true), PORT);
                let (src, dst) = if to_server { (client, server) } else { (server, client) };
                Segment::new(src, dst)
            });
            changes.into_iter().take(10).for_each(|change| apply(&mut segment, change, bytes));
            world.deliver(to, Ecn::NotEct, segment);
        }
        Step::Advance { milliseconds } => world.advance(Duration::from_millis(u64::from(milliseconds) % 2000)),
        Step::AdvanceFar { seconds } => world.advance(Duration::from_secs(u64::from(seconds))),
        Step::Write { server, len } => world.write(usize::from(server), u32::from(len) % WRITE),
        Step::Read { server, max } => world.read(usize::from(server), u64::from(max) + 1),
        Step::Close { server } => world.command(usize::from(server), |c, now| c.close(now)),
        Step::Abort { server } => world.command(usize::from(server), |c, now| c.abort(now)),
    }
}

fn apply(segment: &mut Segment, change: Change, bytes: bool) {
    let o = &mut segment.options;
    match change {
        Change::Sequence(d) => segment.seq = segment.seq.wrapping_add_signed(i32::from(d)),
        Change::SequenceFar(d) => segment.seq = segment.seq.wrapping_add_signed(d),
        Change::Acknowledgement(d) => segment.ack = segment.ack.wrapping_add_signed(i32::from(d)),
        Change::AcknowledgementFar(d) => segment.ack = segment.ack.wrapping_add_signed(d),
        Change::Flags(bits) => segment.flags = Flags::from_bits(bits),
        Change::Window(window) => segment.window = window,
        Change::Payload { start, len } => segment.payload = payload(u64::from(start), u32::from(len) % 3000, bytes),
        Change::Options(list) => *o = decode_options(&list[..list.len().min(MAX_OPTION_BYTES)]),
        Change::MoreOptions(list) => {
            let more = decode_options(&list[..list.len().min(MAX_OPTION_BYTES)]);
            o.mptcp.extend(more.mptcp);
            o.dss = o.dss.or(more.dss);
        }
        Change::Octet { at, xor } => {
            let mut form = [0; MAX_OPTION_BYTES];
            if let Ok(len @ 1..) = encode_options(o, &mut form) {
                form[usize::from(at) % len] ^= xor;
                *o = decode_options(&form[..len]);
            }
        }
        Change::Dss { ack, dsn, ssn, len, fin, checksum } => {
            let Some(dss) = &mut o.dss else { return };
            dss.data_fin ^= fin;
            if let (Some(number), Some(d)) = (&mut dss.data_ack, ack) {
                *number = moved(*number, i64::from(d), false);
            }
            if let Some(mapping) = &mut dss.mapping {
                mapping.dsn = moved(mapping.dsn, dsn.unwrap_or(0).into(), false);
                mapping.ssn = mapping.ssn.wrapping_add_signed(ssn.unwrap_or(0).into());
                mapping.len = mapping.len.wrapping_add_signed(len.unwrap_or(0));
                mapping.checksum = checksum.or(mapping.checksum);
            }
        }
        Change::DssFar { ack, dsn, short } => {
            let Some(dss) = &mut o.dss else { return };
            dss.data_ack = dss.data_ack.map(|n| moved(n, i64::from(ack), short));
            if let Some(mapping) = &mut dss.mapping {
                mapping.dsn = moved(mapping.dsn, dsn, short);
            }
        }
        Change::NoDss => o.dss = None,
        Change::NoMptcp => o.mptcp.clear(),
        Change::NoOptions => *o = Default::default(),
        Change::Ports(src, dst) => {
            segment.src.set_port(src);
            segment.dst.set_port(dst);
        }
    }
}

fn moved(number: DataNumber, by: i64, short: bool) -> DataNumber {
    match number {
        DataNumber::Long(n) if short => DataNumber::Short(n.wrapping_add_signed(by) as u32),
        DataNumber::Long(n) => DataNumber::Long(n.wrapping_add_signed(by)),
        DataNumber::Short(n) => DataNumber::Short(n.wrapping_add_signed(by as i32)),
    }
}
