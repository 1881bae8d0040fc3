//! Changes a byte of every flow, as content-aware firewalls and application-level gateways do (RFC 8684 §6). What is sent again
//! is changed again.
//!
//! A virtual payload counts as zeros everywhere; one that is changed becomes real bytes, zeros but for the changed one.

use super::{Direction, Element, Flows, Passing};
use crate::scenario::Way;
use pathweave_units::Instant;
use pathweave_wire::{Flags, Payload};

pub(super) struct Edit {
    /// The byte's number in the flow's data, from 1; modulo 2³².
    at: u32,
    way: Way,
    flows: Flows<Initial>,
}

/// The initial sequence numbers of both sides.
#[derive(Debug, Default)]
struct Initial {
    client: u32,
    server: u32,
}

/// What the byte is combined with: other case for a letter.
const CHANGE: u8 = 0x20;

impl Edit {
    pub(super) fn new(at: u64, way: Way) -> Self {
        Edit { at: at as u32, way, flows: Flows::default() }
    }
}

impl Element for Edit {
    fn pass(&mut self, _now: Instant, mut passing: Passing, out: &mut Vec<Passing>) {
        let direction = passing.direction;
        let initial = self.flows.of(&passing);
        let initial = if direction == Direction::Up { &mut initial.client } else { &mut initial.server };
        let segment = &mut passing.segment;
        if segment.flags.contains(Flags::SYN) {
            *initial = segment.seq;
        }
        let place = initial.wrapping_add(self.at).wrapping_sub(segment.seq);
        if place < segment.payload.len() && direction.is_of(self.way) {
            let mut bytes = match &segment.payload {
                Payload::Virtual { len, .. } => vec![0; *len as usize],
                Payload::Bytes(bytes) => bytes.to_vec(),
            };
            bytes[place as usize] ^= CHANGE;
            segment.payload = Payload::Bytes(bytes.into());
        }
        out.push(passing);
    }
}
