//! Typed TCP and Multipath TCP segments, usable without bytes.
//!
//! The simulator moves these values as they are; on real links a codec turns them into bytes and back
//! (ARCHITECTURE.md, contract 8). Every option knows its length on the wire, so that header overhead and the
//! 40-byte option space are exact in both places.

mod checksum;
pub mod codec;
pub mod crypto;
pub mod mptcp;
mod payload;
mod segment;
mod super_segment;

pub use checksum::DataChecksum;
pub use pathweave_units::Ecn;
pub use payload::Chunks;
pub use payload::Payload;
pub use segment::Flags;
pub use segment::PacketTooBig;
pub use segment::{MAX_OPTION_BYTES, Options, SackBlock, SackBlocks, Timestamps};
pub use segment::{Segment, TCP_HEADER_BYTES};
