//! A network address translator that gives each flow a port of its own (RFC 3022 §2.2). The address stays the path's,
//! so routes stay the same.
//!
//! If it forgets its bindings, as after a restart, the next segment of a client gets a new port, and segments from the
//! server to the old port are dropped.

use super::{Direction, Element, Passing, Settings};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, takes};
use crate::value_parser::{Time, ValueParser, Wrong};
use core::net::SocketAddr;
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Segment;

pub(super) const EXAMPLE: &str = "nat:after=5s";
pub(super) const KIND: Kind = Kind {
    name: "nat",
    about: "Changes the client's address and port",
    parts: &[takes("after", "and once more at this time (never)", Time::schema)],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct NatSettings {
    /// Time at which all bindings are forgotten.
    after: Option<Duration>,
}

pub(super) fn read(c: &mut Compound) -> Result<NatSettings, Wrong> {
    Ok(NatSettings { after: c.optional::<Time>("after")? })
}

impl Settings for NatSettings {
    fn text(&self) -> String {
        self.after.map_or("nat".into(), |after| format!("nat:after={after}"))
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        let forgets = self.after.map(|t| Instant::ZERO + t);
        Box::new(Nat { forgets, bindings: Vec::new(), next_port: FIRST_PORT })
    }
}

/// The first port that it assigns.
const FIRST_PORT: u16 = 20_000;

struct Nat {
    forgets: Option<Instant>,
    bindings: Vec<Binding>,
    next_port: u16,
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    client: SocketAddr,
    server: SocketAddr,
    port: u16,
}

impl Nat {
    fn port_of(&mut self, segment: &Segment) -> u16 {
        let (client, server) = (segment.src, segment.dst);
        if let Some(known) = self.bindings.iter().find(|b| (b.client, b.server) == (client, server)) {
            return known.port;
        }
        let port = self.next_port;
        self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
        // When all ports have been used once, the port's older binding ends.
        self.bindings.retain(|b| b.port != port);
        self.bindings.push(Binding { client, server, port });
        port
    }
}

impl Element for Nat {
    fn pass(&mut self, now: Instant, mut passing: Passing, out: &mut Vec<Passing>) {
        if self.forgets.is_some_and(|t| t <= now) {
            self.forgets = None;
            self.bindings.clear();
        }
        let segment = &mut passing.segment;
        match passing.direction {
            Direction::Up => {
                let port = self.port_of(segment);
                segment.src.set_port(port);
            }
            Direction::Down => {
                let of = |b: &&Binding| (b.port, b.server) == (segment.dst.port(), segment.src);
                let Some(binding) = self.bindings.iter().find(of) else { return };
                segment.dst = binding.client;
            }
        }
        out.push(passing);
    }
}
