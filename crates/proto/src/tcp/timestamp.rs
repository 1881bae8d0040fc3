//! The clock of the timestamps option (RFC 7323).

use pathweave_units::Instant;

/// The timestamp clock, in ms (RFC 7323 §5.4: "in the range 1 ms to 1 sec per tick"). Never 0, which means "none yet".
pub(crate) fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}
