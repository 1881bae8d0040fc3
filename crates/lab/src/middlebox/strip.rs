//! Removes the options of Multipath TCP from segments, as firewalls do with options that they do not know (RFC 8684
//! §6).

use super::{Direction, Element, Flows, Passing, Settings, Way, WayParser, after, direction};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{Time, ValueParser, Wrong, words};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment};

pub(super) const EXAMPLE: &str = "strip:on=syn";
pub(super) const KIND: Kind = Kind {
    name: "strip",
    about: "Strips Multipath TCP's options from segments",
    parts: &[
        needs("on", "from which segments", StripOnParser::schema),
        takes("after", "from this time on (0s)", Time::schema),
        takes("direction", "in which direction (both)", WayParser::schema),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripSettings {
    on: StripOn,
    after: Duration,
    direction: Way,
}

/// Which segments lose their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StripOn {
    /// Every segment.
    All,
    /// A flow's SYN.
    Syn,
    /// A flow's SYN/ACK.
    SynAck,
    /// The client's first segment that is not a SYN, once.
    ThirdAck,
    /// The first segment with data of each direction, once.
    FirstData,
}

words!(/// Which segments lose their options.
StripOnParser: StripOn {
    "all" => StripOn::All,
    "syn" => StripOn::Syn,
    "syn-ack" => StripOn::SynAck,
    "third-ack" => StripOn::ThirdAck,
    "first-data" => StripOn::FirstData,
});

pub(super) fn read(c: &mut Compound) -> Result<StripSettings, Wrong> {
    Ok(StripSettings { on: c.required::<StripOnParser>("on")?, after: after(c)?, direction: direction(c)? })
}

impl Settings for StripSettings {
    fn text(&self) -> String {
        let StripSettings { on, after, direction } = self;
        format!("strip:on={}:after={after}:direction={}", StripOnParser::write(on), WayParser::write(direction))
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        Box::new(Strip { written: *self, flows: Flows::default() })
    }
}

struct Strip {
    written: StripSettings,
    flows: Flows<Seen>,
}

/// The segments of a flow that have passed.
#[derive(Debug, Default)]
struct Seen {
    third_ack: bool,
    data_up: bool,
    data_down: bool,
}

impl Strip {
    fn takes(&mut self, passing: &Passing) -> bool {
        let (direction, flags) = (passing.direction, passing.segment.flags);
        let seen = self.flows.of(passing);
        match self.written.on {
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

/// Removes the options of Multipath TCP, and leaves those of TCP.
pub(super) fn strip(segment: &mut Segment) {
    segment.options.mptcp.clear();
    segment.options.dss = None;
}

impl Element for Strip {
    fn pass(&mut self, now: Instant, mut passing: Passing, out: &mut Vec<Passing>) {
        let StripSettings { after, direction, .. } = self.written;
        if now >= Instant::ZERO + after && passing.direction.is_of(direction) && self.takes(&passing) {
            strip(&mut passing.segment);
        }
        out.push(passing);
    }
}
