//! Changes a byte of every flow, as content-aware firewalls and application-level gateways do (RFC 8684 §6). A
//! retransmission is changed again.
//!
//! A virtual payload counts as zeros. A changed one becomes real bytes: zeros except for the changed byte.

use super::{Direction, Element, Flows, Passing, Settings, Way, WayParser, direction};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{Size, ValueParser, Wrong};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::{Flags, Payload};

pub(super) const EXAMPLE: &str = "edit:at=100KB";
pub(super) const KIND: Kind = Kind {
    name: "edit",
    about: "Changes a byte of the data",
    parts: &[
        needs("at", "which byte of the stream", Size::schema),
        takes("direction", "in which direction (both)", WayParser::schema),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct EditSettings {
    /// Number of the changed byte in a flow's data, from 1.
    at: u64,
    direction: Way,
}

pub(super) fn read(c: &mut Compound) -> Result<EditSettings, Wrong> {
    Ok(EditSettings { at: c.required::<Size>("at")?, direction: direction(c)? })
}

impl Settings for EditSettings {
    fn text(&self) -> String {
        let EditSettings { at, direction } = self;
        format!("edit:at={}:direction={}", Size::write(at), WayParser::write(direction))
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        Box::new(Edit { at: self.at as u32, way: self.direction, flows: Flows::default() })
    }
}

struct Edit {
    /// Number of the changed byte in the flow's data, from 1, modulo 2³².
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

/// Value that is XORed with the byte. It changes the case of a letter.
const CHANGE: u8 = 0x20;

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
                real => real.to_vec(),
            };
            bytes[place as usize] ^= CHANGE;
            segment.payload = Payload::Bytes(bytes.into());
        }
        out.push(passing);
    }
}
