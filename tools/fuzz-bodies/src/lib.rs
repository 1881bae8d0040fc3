//! What the fuzz targets in `fuzz/` do with their input: each function takes any bytes and panics if a promise is broken.
//!
//! They are here, and not beside the targets, so that the ordinary tests can replay the corpora without a fuzzer.

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
