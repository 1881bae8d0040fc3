//! One run, and the rules that it must obey.

use crate::case::{Case, Kind};
use crate::draw::LIMIT;
use crate::programs::Programs;
use crate::world::World;
use pathweave_proto::config::ReceiveBuffer;
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_units::{Duration, Instant};

/// Events at one instant above which the run counts as an endless loop.
const SPIN: u32 = 50_000;

/// Longest time until written data is read after all faults have ended. It is twice the longest wait for a
/// retransmission (120 seconds, `max_rto`), because the connection may wait before the subflow does.
const STALL: Duration = Duration::from_secs(240);

/// Largest excess of waiting data over a limit: the packet that crossed it, and the packets that fill the holes before
/// the waiting data. If a unit of the window field is larger than a byte, the offer is rounded up to this unit. That
/// much more may come, as data and as its packet.
const BEYOND: u64 = 64 << 10;

/// In one place, the stream or a subflow, a connection's data may take twice the window and 64 KiB. Data and its
/// records may take twice that, and the packets that it keeps alive once (`proto/src/receiver`).
const PLACES: u64 = 2 + 1;
const LEAST_MEMORY: u64 = 64 << 10;

/// Rules that a run can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A byte was wrong or too many, or the end came too early.
    Bytes,
    /// A connection did not end by [`LIMIT`] and nothing was read in the 240 s before it, or time stood still.
    Endless,
    /// All faults had ended, and still nothing was read for 240 s.
    Stall,
    /// Waiting data took more memory than the endpoint or the connection may use.
    Memory,
    /// Both ends had ended, and an endpoint still had a connection or a timer.
    Leak,
    /// Attackers off the path changed the end of the run.
    Siege,
    /// A panic.
    Panic,
}

/// A broken rule, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The broken rule.
    pub rule: Rule,
    /// The evidence, as text.
    pub what: String,
}

/// The end of one side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No connection was ever made.
    Never,
    /// The connection ended in order.
    Closed,
    /// The connection ended with an error.
    Failed(ConnectionError),
    /// The connection has not ended.
    Open,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The broken rule, if there is one.
    pub fault: Option<Fault>,
    /// The client's end and the server's end.
    pub endings: [Ending; 2],
    /// Whether each end had Multipath TCP at the end.
    pub multipath: [bool; 2],
    /// Packets sent.
    pub packets: u64,
    /// Bytes read by each end.
    pub bytes: [u64; 2],
    /// Longest time without progress after all faults had ended, while an application waited for bytes.
    pub stall: Duration,
    /// Whether there were attackers.
    pub attacked: bool,
    /// Whether options or windows were changed on the way.
    pub tampered: bool,
    /// Whether bytes were changed on the way.
    pub corrupted: bool,
    /// Whether one end closed in order although the other did not get all data.
    pub one_sided: bool,
    /// Whether the connection was open at [`LIMIT`] and data was still being read.
    pub slow: bool,
}

/// Runs a case; with `shows`, everything that happens is printed. A siege is run once more without its attackers. If
/// that run ends in order, both must end alike.
pub fn run(case: &Case, shows: bool) -> Outcome {
    let mut outcome = run_once(case, shows);
    if case.kind == Kind::Siege && outcome.fault.is_none() && !case.attackers.is_empty() {
        let alone = run_once(&case.without_attackers(), false);
        let end = |o: &Outcome| (o.endings, o.bytes, o.multipath);
        if alone.endings == [Ending::Closed; 2] && end(&alone) != end(&outcome) {
            let what = format!("{:?} with attackers, {:?} without", end(&outcome), end(&alone));
            outcome.fault = Some(Fault { rule: Rule::Siege, what });
        }
    }
    outcome
}

fn run_once(case: &Case, shows: bool) -> Outcome {
    let mut world = World::new(case, shows);
    let mut watch = Watch::new(case);
    watch.step(&mut world, Instant::ZERO);
    while watch.fault.is_none() {
        let Programs { ends, handles, .. } = &world.driver.applications;
        // Packets still on their way after the end of both change nothing.
        if ends.iter().all(Option::is_some) || (ends[0].is_some() && handles[1].is_none()) {
            break;
        }
        let Some(next) = world.driver.poll_timeout().filter(|t| *t <= Instant::ZERO + LIMIT) else { break };
        watch.step(&mut world, next);
    }
    // What has arrived is read after the last packet.
    world.read_all();
    watch.take_fault(&world);
    let Programs { handles, ends, apps, .. } = &world.driver.applications;
    let endings = [0, 1].map(|i: usize| match (handles[i], ends[i]) {
        (None, _) => Ending::Never,
        (_, Some(ConnectionEvent::Failed(error))) => Ending::Failed(error),
        (_, Some(_)) => Ending::Closed,
        (_, None) => Ending::Open,
    });
    // An application that only waits for a peer's data learns of the peer's death by keep-alive, or never (RFC 9293
    // §3.8.4).
    let waits = |end: usize| {
        let nothing_out = world.connection(end).is_some_and(|c| c.snapshot().sending.is_acked());
        endings[1 - end] != Ending::Open && case.configs[end].keep_alive.is_zero() && nothing_out
    };
    let open = (0..2).any(|end| endings[end] == Ending::Open && !waits(end));
    // The data is finite, so a run that reads on ends.
    let slow = open && world.driver.applications.progress + STALL >= Instant::ZERO + LIMIT;
    if open && !slow {
        watch.fail(Rule::Endless, format!("not ended: client {:?}, server {:?}", endings[0], endings[1]));
    }
    let one_sided = (0..2).any(|end| {
        let app = &apps[end];
        endings[end] == Ending::Closed && app.closed && apps[1 - end].read < app.written
    });
    let bytes = [apps[0].read, apps[1].read];
    let multipath = world.driver.applications.multipath;
    if !endings.contains(&Ending::Open) {
        watch.look_for_leaks(&mut world);
    }
    Outcome {
        fault: watch.fault,
        endings,
        multipath,
        packets: world.driver.io.packets,
        bytes,
        stall: watch.stall,
        attacked: !case.attackers.is_empty(),
        tampered: world.driver.io.network.tampered,
        corrupted: world.driver.io.network.corrupted,
        one_sided,
        slow,
    }
}

/// The checks of the rules during a run.
struct Watch {
    fault: Option<Fault>,
    at_one_time: u32,
    /// Time from which on there are no faults; `None` if some are permanent.
    all_well: Option<Instant>,
    stall: Duration,
    /// Most memory of waiting data at each end.
    memory: [u64; 2],
}

impl Watch {
    fn new(case: &Case) -> Watch {
        let memory = [0, 1].map(|end: usize| {
            let buffer = match case.configs[end].receive_buffer {
                ReceiveBuffer::Fixed(bytes) => bytes,
                ReceiveBuffer::Auto { max, .. } => max,
            };
            let place = 2 * buffer + LEAST_MEMORY;
            let unit = 1 << case.configs[end].tcp.least_window_shift;
            (PLACES * place).min(case.limits.waiting_bytes.saturating_add(place)).saturating_add(BEYOND + 2 * unit)
        });
        Watch { fault: None, at_one_time: 0, all_well: case.all_well(), stall: Duration::ZERO, memory }
    }

    fn fail(&mut self, rule: Rule, what: String) {
        self.fault.get_or_insert(Fault { rule, what });
    }

    fn take_fault(&mut self, world: &World<'_>) {
        if let Some(what) = world.fault() {
            self.fail(Rule::Bytes, what.clone());
        }
    }

    fn step(&mut self, world: &mut World<'_>, at: Instant) {
        self.at_one_time = if at > world.now { 0 } else { self.at_one_time + 1 };
        if self.at_one_time > SPIN {
            return self.fail(Rule::Endless, format!("time stands still at {at}"));
        }
        if let Some(all_well) = self.all_well {
            self.look_for_stall(world, all_well, at);
        }
        world.step(at);
        self.take_fault(world);
        for (end, endpoint) in world.driver.endpoints.iter().enumerate() {
            let (waiting, most) = (endpoint.waiting_bytes(), self.memory[end]);
            if waiting > most {
                self.fail(Rule::Memory, format!("data that waits takes {waiting} bytes, {most} at most"));
            }
        }
    }

    /// Checks for a stall: nothing happens between now and `next`, both ends are open, and one end has not read all
    /// that the other has written.
    fn look_for_stall(&mut self, world: &World<'_>, all_well: Instant, next: Instant) {
        let Programs { apps, ends, progress, handles, .. } = &world.driver.applications;
        let open = ends.iter().all(Option::is_none) && handles.iter().all(Option::is_some);
        let owed = (0..2).any(|end| apps[end].written > apps[1 - end].read && !apps[1 - end].gone);
        if !open || !owed {
            return;
        }
        self.stall = self.stall.max(next.since(all_well.max(*progress).min(next)));
        if self.stall > STALL {
            self.fail(Rule::Stall, format!("nothing was read for {} although nothing was wrong", self.stall));
        }
    }

    /// Checks that nothing is left of the connections when both ends have ended and all packets have arrived.
    fn look_for_leaks(&mut self, world: &mut World<'_>) {
        let limit = world.now + LIMIT;
        while self.fault.is_none() {
            let left: usize = world.driver.endpoints.iter().map(|e| e.connections()).sum();
            let Programs { ends, handles, .. } = &world.driver.applications;
            if (0..2).any(|end| handles[end].is_some() && ends[end].is_none()) {
                // The server has accepted after the client's end, and waits for it.
                return;
            }
            match world.driver.poll_timeout() {
                Some(next) if next <= limit => self.step(world, next),
                next if left > 0 || next.is_some() => {
                    self.fail(Rule::Leak, format!("{left} connections are left, and something at {next:?}"));
                }
                _ => break,
            }
        }
    }
}
