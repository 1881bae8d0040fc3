//! Frames and small helpers for the tests.

use crate::{Ecn, Fate, Link, LinkOutput, Tagged};
use pathweave_units::Instant;

/// A frame with a number to know it by.
pub(crate) type Frame = Tagged<u32>;

/// A frame of `length` bytes that is not ECN-capable.
pub(crate) fn frame(number: u32, length: u32) -> Frame {
    Tagged { tag: number, len_bytes: length, ecn: Ecn::NotEct, corrupted: false }
}

/// Steps a link from wake-up to wake-up until nothing is left.
#[track_caller]
pub(crate) fn drain(link: &mut Link<Frame>) -> Vec<LinkOutput<Frame>> {
    drain_until(link, Instant::FAR_FUTURE)
}

/// Steps a link from wake-up to wake-up up to `end`; checks that nothing comes out before its time, and that no wake-up
/// repeats without progress.
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
