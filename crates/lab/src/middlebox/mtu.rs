//! A link with a smaller MTU than the others. Its router drops packets that are too large, with a message to the sender
//! or without one, as a black hole (RFC 2923 §2.1).

use super::{DataSize, Element, Passing, Settings};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{Bool, ValueParser, Wrong};
use pathweave_proto::PacketTooBig;
use pathweave_units::Instant;
use pathweave_units::random::Random;
use std::collections::VecDeque;

pub(super) const EXAMPLE: &str = "mtu:size=1300B";
pub(super) const KIND: Kind = Kind {
    name: "mtu",
    about: "Drops packets that are too large",
    parts: &[
        needs("size", "the largest IP packet that passes", DataSize::schema),
        takes("message", "whether the sender is told, immediately (true)", Bool::schema),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuSettings {
    /// The largest IP packet that passes, bytes.
    size: u64,
    message: bool,
}

pub(super) fn read(c: &mut Compound) -> Result<MtuSettings, Wrong> {
    let message = c.optional::<Bool>("message")?.unwrap_or(true);
    Ok(MtuSettings { size: c.required::<DataSize>("size")?, message })
}

impl Settings for MtuSettings {
    fn text(&self) -> String {
        format!("mtu:size={}:message={}", DataSize::write(&self.size), self.message)
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        Box::new(SmallMtu { size: self.size as u32, message: self.message, messages: VecDeque::new() })
    }
}

struct SmallMtu {
    size: u32,
    message: bool,
    messages: VecDeque<PacketTooBig>,
}

impl Element for SmallMtu {
    fn pass(&mut self, _now: Instant, passing: Passing, out: &mut Vec<Passing>) {
        let segment = &passing.segment;
        if segment.ip_len() <= self.size {
            return out.push(passing);
        }
        if self.message {
            let (local, remote, sequence) = (segment.src, segment.dst, segment.seq);
            self.messages.push_back(PacketTooBig { local, remote, sequence, mtu: self.size });
        }
    }

    fn poll_message(&mut self) -> Option<PacketTooBig> {
        self.messages.pop_front()
    }
}
