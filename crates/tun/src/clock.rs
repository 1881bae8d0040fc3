//! The clock from which the engine gets its time.

use pathweave_units::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock, in nanoseconds since its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A clock whose zero is the present.
    pub fn start() -> Self {
        Clock { start_ns: monotonic_ns() }
    }

    /// The time since this clock's zero.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns() - self.start_ns)
    }
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
