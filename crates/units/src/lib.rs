//! Time, quantities, seeded randomness and numbers in sentences, for every other crate.
//!
//! The types carry their unit: [`Duration`] and [`Instant`] count nanoseconds, [`Bitrate`] bits per second.
//! [`random::Random`] draws the same numbers from the same seed on every machine.
//!
//! Nothing here reads a clock or the operating system's randomness: both are arguments
//! everywhere in Pathweave (ARCHITECTURE.md, contract 1).
//!
//! ```
//! use pathweave_units::random::Random;
//! use pathweave_units::{Bitrate, Duration, Instant};
//!
//! // A packet of 1500 bytes takes 1.2 ms at 10 Mbit/s.
//! let sent = Instant::from_millis(5) + Bitrate::from_mbps(10).time_to_send(1500);
//! assert_eq!(sent.since(Instant::ZERO), Duration::from_micros(6200));
//!
//! // The substreams of a run are independent of each other, and repeat.
//! let draw = |name| Random::substream(1, name).next_u64();
//! assert_eq!(draw("loss"), draw("loss"));
//! assert_ne!(draw("loss"), draw("jitter"));
//! ```

#![no_std]

extern crate alloc;

mod quantity;
pub mod random;
mod time;
mod words;

pub use quantity::Ecn;
pub use quantity::{Bitrate, Probability};
pub use time::{Duration, Instant};
pub use words::counted;
