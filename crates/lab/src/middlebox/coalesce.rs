//! Joins data segments of a flow that follow each other, as receive offload and traffic normalizers do. A joined
//! segment has room for the options of one of them. The options of the others are lost, and with them their mappings.
//!
//! Virtual payload can only be joined if it is one range of the stream.

use super::{DataSize, Direction, Element, Passing, Settings};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{PositiveTime, ValueParser, Wrong, words};
use core::net::SocketAddr;
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Segment};

pub(super) const EXAMPLE: &str = "coalesce:size=4KB";
pub(super) const KIND: Kind = Kind {
    name: "coalesce",
    about: "Joins segments that follow each other",
    parts: &[
        needs("size", "the most data of a joined segment", DataSize::schema),
        takes("wait", "how long it waits for the next one (1ms)", PositiveTime::schema),
        takes("options", "any segments, or those whose options are the same (first)", CoalesceOptionsParser::schema),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoalesceSettings {
    /// Most data of a joined segment, bytes.
    size: u64,
    /// Time for which a segment waits for the next one.
    wait: Duration,
    options: CoalesceOptions,
}

/// Which segments are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoalesceOptions {
    /// All segments; the options of the first one stay.
    First,
    /// Segments with the same options.
    Same,
}

words!(/// Which segments are joined.
CoalesceOptionsParser: CoalesceOptions { "first" => CoalesceOptions::First, "same" => CoalesceOptions::Same });

pub(super) fn read(c: &mut Compound) -> Result<CoalesceSettings, Wrong> {
    Ok(CoalesceSettings {
        size: c.required::<DataSize>("size")?,
        wait: c.optional::<PositiveTime>("wait")?.unwrap_or(Duration::from_millis(1)),
        options: c.optional::<CoalesceOptionsParser>("options")?.unwrap_or(CoalesceOptions::First),
    })
}

impl Settings for CoalesceSettings {
    fn text(&self) -> String {
        let CoalesceSettings { size, wait, options } = self;
        let options = CoalesceOptionsParser::write(options);
        format!("coalesce:size={}:wait={wait}:options={options}", DataSize::write(size))
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        Box::new(Coalesce { written: *self, held: Vec::new() })
    }
}

struct Coalesce {
    written: CoalesceSettings,
    /// Waiting segments, at most one of each flow and direction, oldest first.
    held: Vec<Held>,
}

struct Held {
    flow: (SocketAddr, SocketAddr),
    passing: Passing,
    until: Instant,
}

impl Coalesce {
    fn held_of(&self, flow: (SocketAddr, SocketAddr), direction: Direction) -> Option<usize> {
        self.held.iter().position(|h| h.flow == flow && h.passing.direction == direction)
    }

    /// Appends `next` to `first`, if possible.
    fn join(&self, first: &mut Passing, next: &Passing) -> bool {
        let (a, b) = (&mut first.segment, &next.segment);
        let size = self.written.size as u32;
        let follows = a.seq.wrapping_add(a.payload.len()) == b.seq && a.payload.len() + b.payload.len() <= size;
        let same = self.written.options == CoalesceOptions::First || a.options == b.options;
        if !follows || !same || !a.payload.try_append(&b.payload) {
            return false;
        }
        (a.ack, a.window) = (b.ack, b.window);
        a.flags |= b.flags;
        if next.ecn == Ecn::Ce {
            first.ecn = Ecn::Ce;
        }
        true
    }
}

/// Whether a segment carries data and has no flag or option that forbids joining.
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
            // The new segment must not overtake the held one.
            out.push(held.passing);
        }
        if joins {
            self.held.push(Held { flow, passing, until: now + self.written.wait });
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
