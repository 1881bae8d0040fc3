//! Cuts data segments into smaller ones, as segmentation offload does, which copies options or loses some (RFC 8684 §6).

use super::strip::strip;
use super::{Element, Passing};
use crate::scenario::SplitOptions;
use pathweave_units::Instant;
use pathweave_wire::Flags;

pub(super) struct Split {
    /// The most data of a segment behind it, bytes.
    pub(super) size: u32,
    pub(super) options: SplitOptions,
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
