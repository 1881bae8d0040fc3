//! The functions that the fuzz targets in `fuzz/` call with their input. Each takes any bytes, and panics if a promise
//! is broken.
//!
//! These functions are not beside the targets, so that the ordinary tests can replay the corpora without a fuzzer.

mod codec;
mod connection;
mod decisions;
mod icmp;
mod scenario;
mod super_segments;
mod world;

pub use codec::codec;
pub use connection::connection;
pub use decisions::decisions;
pub use icmp::icmp;
pub use scenario::scenario;
pub use super_segments::super_segments;
