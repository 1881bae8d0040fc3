//! Joins data segments of a flow that follow each other, as receive offload and traffic normalizers do. There is room for the
//! options of one: those of the others are gone, and with them their mappings.
//!
//! Virtual payload can only be joined where it is one range of the stream.

use super::{Direction, Element, Passing};
use crate::scenario::CoalesceOptions;
use core::net::SocketAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Payload, Segment};

pub(super) struct Coalesce {
    size: u32,
    wait: Duration,
    options: CoalesceOptions,
    /// At most one of each flow and direction, oldest first.
    held: Vec<Held>,
}

struct Held {
    flow: (SocketAddr, SocketAddr),
    passing: Passing,
    until: Instant,
}

impl Coalesce {
    pub(super) fn new(size: u32, wait: Duration, options: CoalesceOptions) -> Self {
        Coalesce { size, wait, options, held: Vec::new() }
    }

    fn held_of(&self, flow: (SocketAddr, SocketAddr), direction: Direction) -> Option<usize> {
        self.held.iter().position(|h| h.flow == flow && h.passing.direction == direction)
    }

    /// Appends `next` to `first`, where that can be.
    fn join(&self, first: &mut Passing, next: &Passing) -> bool {
        let (a, b) = (&mut first.segment, &next.segment);
        let follows = a.seq.wrapping_add(a.payload.len()) == b.seq && a.payload.len() + b.payload.len() <= self.size;
        let same = self.options == CoalesceOptions::First || a.options == b.options;
        if !follows || !same {
            return false;
        }
        let Some(payload) = Payload::concat(a.payload.clone(), b.payload.clone()) else { return false };
        a.payload = payload;
        (a.ack, a.window) = (b.ack, b.window);
        a.flags |= b.flags;
        if next.ecn == Ecn::Ce {
            first.ecn = Ecn::Ce;
        }
        true
    }
}

/// A segment of data and nothing else.
fn is_plain_data(segment: &Segment) -> bool {
    !segment.payload.is_empty() && !segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST)
}

impl Element for Coalesce {
    fn pass(&mut self, now: Instant, passing: Passing, out: &mut Vec<Passing>) {
        let flow = passing.flow();
        let joins = is_plain_data(&passing.segment);
        if let Some(i) = self.held_of(flow, passing.direction) {
            let mut held = self.held.remove(i);
            if joins && self.join(&mut held.passing, &passing) {
                self.held.insert(i, held);
                return;
            }
            // Nothing overtakes it.
            out.push(held.passing);
        }
        if joins {
            self.held.push(Held { flow, passing, until: now + self.wait });
        } else {
            out.push(passing);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.held.first().map(|h| h.until)
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Passing>) {
        let due = self.held.partition_point(|h| h.until <= now);
        out.extend(self.held.drain(..due).map(|h| h.passing));
    }
}
