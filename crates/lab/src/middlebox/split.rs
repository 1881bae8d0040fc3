//! Cuts data segments into smaller ones, as segmentation offload does, which copies options or loses some (RFC 8684 §6).

use super::strip::strip;
use super::{DataSize, Element, Passing, Settings};
use crate::value_parser::compound::Compound;
use crate::value_parser::compound::{Kind, needs, takes};
use crate::value_parser::{ValueParser, Wrong, words};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::Flags;

pub(super) const EXAMPLE: &str = "split:size=500B";
pub(super) const KIND: Kind = Kind {
    name: "split",
    about: "Cuts segments into pieces",
    parts: &[
        needs("size", "the size of a piece", DataSize::schema),
        takes(
            "options",
            "where the options go: onto every piece or only onto the first (copy)",
            SplitOptionsParser::schema,
        ),
    ],
};

/// The settings in a scenario file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitSettings {
    /// Most data of a resulting segment, bytes.
    size: u64,
    options: SplitOptions,
}

/// Treatment of the options of a segment that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitOptions {
    /// Every piece has them, as with segmentation offload.
    Copy,
    /// The first piece has them; the others have no option of Multipath TCP.
    First,
}

words!(/// Where the options of a segment go that is cut.
SplitOptionsParser: SplitOptions { "copy" => SplitOptions::Copy, "first" => SplitOptions::First });

pub(super) fn read(c: &mut Compound) -> Result<SplitSettings, Wrong> {
    Ok(SplitSettings {
        size: c.required::<DataSize>("size")?,
        options: c.optional::<SplitOptionsParser>("options")?.unwrap_or(SplitOptions::Copy),
    })
}

impl Settings for SplitSettings {
    fn text(&self) -> String {
        let SplitSettings { size, options } = self;
        format!("split:size={}:options={}", DataSize::write(size), SplitOptionsParser::write(options))
    }
    fn element(&self, _random: Random) -> Box<dyn Element> {
        Box::new(Split { size: self.size as u32, options: self.options })
    }
}

struct Split {
    size: u32,
    options: SplitOptions,
}

impl Element for Split {
    fn pass(&mut self, _now: Instant, passing: Passing, out: &mut Vec<Passing>) {
        let whole = &passing.segment;
        let len = whole.payload.len();
        let mut at = 0;
        while len - at > self.size {
            let mut piece = passing.clone();
            piece.segment.payload = whole.payload.slice(at, self.size);
            piece.segment.seq = whole.seq.wrapping_add(at);
            // The end, and the sender's pause, come with the last piece.
            let last_only = Flags::FIN.bits() | Flags::PSH.bits();
            piece.segment.flags = Flags::from_bits(whole.flags.bits() & !last_only);
            if at > 0 && self.options == SplitOptions::First {
                strip(&mut piece.segment);
            }
            at += self.size;
            out.push(piece);
        }
        let mut last = passing;
        if at > 0 {
            last.segment.payload = last.segment.payload.slice(at, len - at);
            last.segment.seq = last.segment.seq.wrapping_add(at);
            if self.options == SplitOptions::First {
                strip(&mut last.segment);
            }
        }
        out.push(last);
    }
}
