//! Frames and helpers for the tests.

use crate::{Ecn, Fate, Link, LinkOutput, Tagged};
use pathweave_units::Instant;

/// A frame that the test recognises by its number.
pub(crate) type Frame = Tagged<u32>;

/// A frame of `length` bytes that is not ECN-capable.
pub(crate) fn frame(number: u32, length: u32) -> Frame {
    Tagged { tag: number, len_bytes: length, ecn: Ecn::NotEct, corrupted: false }
}

/// Polls a link at each of its wake-ups until nothing is left. Returns the outputs.
#[track_caller]
pub(crate) fn drain(link: &mut Link<Frame>) -> Vec<LinkOutput<Frame>> {
    drain_until(link, Instant::FAR_FUTURE)
}

/// Polls a link at each of its wake-ups up to `end`. Returns the outputs. Checks that no output comes before its time,
/// and that each wake-up brings an output or a later wake-up.
#[track_caller]
pub(crate) fn drain_until(link: &mut Link<Frame>, end: Instant) -> Vec<LinkOutput<Frame>> {
    let mut outputs = Vec::new();
    let mut last = Instant::ZERO;
    while let Some(now) = link.poll_timeout().filter(|&now| now <= end) {
        let mut progress = false;
        while let Some(output) = link.poll(now) {
            assert!(output.at <= now && output.at >= last, "an output out of time");
            assert_eq!(output.packet.corrupted, output.fate == Fate::Corrupted);
            last = output.at;
            outputs.push(output);
            progress = true;
        }
        assert!(progress || link.poll_timeout().is_none_or(|next| next > now), "a wake-up without progress");
    }
    outputs
}
