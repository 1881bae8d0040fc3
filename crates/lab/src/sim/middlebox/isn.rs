//! Gives every flow initial sequence numbers of its own, in both directions, as firewalls do that randomise them (RFC 8684 §6).
//! Acknowledgements and SACK blocks are translated with them.

use super::{Direction, Element, Flows, Passing};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::Flags;

pub(super) struct Isn {
    random: Random,
    flows: Flows<Option<Offsets>>,
}

/// What is added to the numbers of each side where they go to the other.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    client: u32,
    server: u32,
}

impl Isn {
    pub(super) fn new(random: Random) -> Self {
        Isn { random, flows: Flows::default() }
    }
}

impl Element for Isn {
    fn pass(&mut self, _now: Instant, mut passing: Passing, out: &mut Vec<Passing>) {
        let random = &mut self.random;
        let offsets = *self
            .flows
            .of(&passing)
            .get_or_insert_with(|| Offsets { client: random.next_u32(), server: random.next_u32() });
        let (own, other) = match passing.direction {
            Direction::Up => (offsets.client, offsets.server),
            Direction::Down => (offsets.server, offsets.client),
        };
        let segment = &mut passing.segment;
        segment.seq = segment.seq.wrapping_add(own);
        if segment.flags.contains(Flags::ACK) {
            segment.ack = segment.ack.wrapping_sub(other);
        }
        for block in &mut segment.options.sack {
            block.left = block.left.wrapping_sub(other);
            block.right = block.right.wrapping_sub(other);
        }
        out.push(passing);
    }
}
