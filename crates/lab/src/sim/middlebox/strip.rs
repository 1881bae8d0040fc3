//! Takes the options of Multipath TCP out of segments, as firewalls do with options that they do not know (RFC 8684 §6).

use super::{Direction, Element, Flows, Passing};
use crate::scenario::{StripOn, Way};
use pathweave_units::Instant;
use pathweave_wire::{Flags, Segment};

pub(super) struct Strip {
    on: StripOn,
    from: Instant,
    way: Way,
    flows: Flows<Seen>,
}

/// What has passed of a flow.
#[derive(Debug, Default)]
struct Seen {
    third_ack: bool,
    data_up: bool,
    data_down: bool,
}

impl Strip {
    pub(super) fn new(on: StripOn, from: Instant, way: Way) -> Self {
        Strip { on, from, way, flows: Flows::default() }
    }

    fn takes(&mut self, passing: &Passing) -> bool {
        let (direction, flags) = (passing.direction, passing.segment.flags);
        let seen = self.flows.of(passing);
        match self.on {
            StripOn::All => true,
            StripOn::Syn => flags.contains(Flags::SYN) && !flags.contains(Flags::ACK),
            StripOn::SynAck => flags.contains(Flags::SYN | Flags::ACK),
            StripOn::ThirdAck => {
                let is_it = direction == Direction::Up && !flags.intersects(Flags::SYN | Flags::RST);
                is_it && !core::mem::replace(&mut seen.third_ack, true)
            }
            StripOn::FirstData => {
                let seen = if direction == Direction::Up { &mut seen.data_up } else { &mut seen.data_down };
                !passing.segment.payload.is_empty() && !core::mem::replace(seen, true)
            }
        }
    }
}

/// Leaves TCP's own options.
pub(super) fn strip(segment: &mut Segment) {
    segment.options.mptcp.clear();
    segment.options.dss = None;
}

impl Element for Strip {
    fn pass(&mut self, now: Instant, mut passing: Passing, out: &mut Vec<Passing>) {
        if now >= self.from && passing.direction.is_of(self.way) && self.takes(&passing) {
            strip(&mut passing.segment);
        }
        out.push(passing);
    }
}
