//! One run, and what must hold of it.

use crate::case::Case;
use crate::draw::LIMIT;
use crate::programs::Programs;
use crate::world::World;
use pathweave_proto::{ConnectionError, ConnectionEvent};
use pathweave_units::Instant;

/// More events than this at one instant are a spin.
const SPIN: u32 = 50_000;

/// What does not hold in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A byte that was never written there, one too many, or an end too early.
    Bytes(String),
    /// A connection did not end by [`LIMIT`], or time stood still.
    Endless(String),
}

/// How one end of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It never had a connection.
    Never,
    /// In order.
    Closed,
    /// With an error.
    Failed(ConnectionError),
    /// Not at all.
    Open,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What does not hold.
    pub fault: Option<Fault>,
    /// The client's end, the server's.
    pub endings: [Ending; 2],
    /// Packets sent.
    pub packets: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Options or windows were changed on the way.
    pub tampered: bool,
    /// Bytes were changed on the way.
    pub corrupted: bool,
    /// An end closed in order although the other did not get all.
    pub one_sided: bool,
}

/// Runs a case; with `shows`, everything that happens is printed.
pub fn run(case: &Case, shows: bool) -> Outcome {
    let mut world = World::new(case, shows);
    world.step(Instant::ZERO);
    let limit = Instant::ZERO + LIMIT;
    let (mut at_one_time, mut endless) = (0, None);
    while world.fault().is_none() {
        let Programs { ends, handles, .. } = &world.driver.applications;
        // What is on its way after the end of both changes nothing.
        if ends.iter().all(Option::is_some) || (ends[0].is_some() && handles[1].is_none()) {
            break;
        }
        let Some(next) = world.driver.poll_timeout().filter(|t| *t <= limit) else { break };
        at_one_time = if next > world.now { 0 } else { at_one_time + 1 };
        if at_one_time > SPIN {
            endless = Some(format!("time stands still at {next}"));
            break;
        }
        world.step(next);
    }
    // What has arrived is read after the last packet.
    world.read_all();
    let fault = world.driver.applications.fault.take().map(Fault::Bytes);
    let Programs { handles, ends, apps, .. } = &world.driver.applications;
    let endings = [0, 1].map(|i: usize| match (handles[i], ends[i]) {
        (None, _) => Ending::Never,
        (_, Some(ConnectionEvent::Failed(error))) => Ending::Failed(error),
        (_, Some(_)) => Ending::Closed,
        (_, None) => Ending::Open,
    });
    // Who only waits for what a peer writes learns of its death by keep-alive, or never (RFC 9293 §3.8.4).
    let waits = |end: usize| {
        let nothing_out = world.connection(end).is_some_and(|c| c.snapshot().sending.is_acked());
        endings[1 - end] != Ending::Open && case.configs[end].keep_alive.is_zero() && nothing_out
    };
    let open = (0..2).any(|end| endings[end] == Ending::Open && !waits(end));
    let open = open.then(|| format!("not ended: client {:?}, server {:?}", endings[0], endings[1]));
    let one_sided = (0..2).any(|end| {
        let app = &apps[end];
        endings[end] == Ending::Closed && app.closed && apps[1 - end].read < app.written
    });
    Outcome {
        fault: fault.or(endless.or(open).map(Fault::Endless)),
        endings,
        packets: world.driver.io.packets,
        bytes: apps.iter().map(|a| a.read).sum(),
        tampered: world.driver.io.network.tampered,
        corrupted: world.driver.io.network.corrupted,
        one_sided,
    }
}
