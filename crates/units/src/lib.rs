//! Time, quantities and seeded randomness that every other crate shares.
//!
//! Nothing here reads a clock or the operating system's randomness: both are arguments
//! everywhere in Pathweave (ARCHITECTURE.md, contract 1).

mod quantity;
pub mod random;
mod time;

pub use quantity::Ecn;
pub use quantity::{Bitrate, Probability};
pub use time::{Duration, Instant};
