//! Time, quantities, seeded randomness and numbers in sentences, for every other crate.
//!
//! Nothing here reads a clock or the operating system's randomness: both are arguments
//! everywhere in Pathweave (ARCHITECTURE.md, contract 1).

mod quantity;
pub mod random;
mod time;
mod words;

pub use quantity::Ecn;
pub use quantity::{Bitrate, Probability};
pub use time::{Duration, Instant};
pub use words::counted;
