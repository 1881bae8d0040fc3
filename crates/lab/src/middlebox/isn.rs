//! Gives every flow initial sequence numbers of its own, in both directions, as firewalls do that randomise them (RFC 8684 §6).
//! Acknowledgements and SACK blocks are translated with them.

use super::{Direction, Element, Flows, Passing, Settings};
use crate::value_parser::Wrong;
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::Kind;
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::Flags;

pub(super) const EXAMPLE: &str = "isn";
pub(super) const KIND: Kind = Kind { name: "isn", about: "Changes the sequence numbers of each flow", parts: &[] };

/// The settings in a scenario file: none.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsnSettings;

pub(super) fn read(_c: &mut Compound) -> Result<IsnSettings, Wrong> {
    Ok(IsnSettings)
}

impl Settings for IsnSettings {
    fn text(&self) -> String {
        "isn".into()
    }
    fn element(&self, random: Random) -> Box<dyn Element> {
        Box::new(Isn { random, flows: Flows::default() })
    }
}

struct Isn {
    random: Random,
    flows: Flows<Option<Offsets>>,
}

/// Offsets added to the sequence numbers of each side on their way to the other.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    client: u32,
    server: u32,
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
