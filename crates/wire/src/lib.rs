//! TCP and Multipath TCP segments as typed values that can be used without bytes.
//!
//! The simulator moves these values as they are. On real links [`codec`] turns them into IP packets and back
//! (ARCHITECTURE.md, contract 8). Every option knows its length on the wire, so that header overhead and the
//! 40-byte option space are exact in both cases. [`crypto`] has the keys' hashes and HMACs of RFC 8684.
//!
//! ```
//! use pathweave_wire::codec::{decode, encode};
//! use pathweave_wire::mptcp::{DataNumber, Dss};
//! use pathweave_wire::{Ecn, Flags, Segment};
//!
//! // A pure acknowledgement with a DATA_ACK.
//! let mut segment = Segment::new("10.0.1.1:49152".parse()?, "10.0.1.2:5001".parse()?);
//! segment.flags = Flags::ACK;
//! segment.options.dss = Some(Dss { data_ack: Some(DataNumber::Short(7)), ..Dss::default() });
//! // IPv4 header, TCP header, data sequence signal.
//! assert_eq!(segment.ip_len(), 20 + 20 + 8);
//!
//! let mut packet = Vec::new();
//! encode(&segment, Ecn::NotEct, &mut packet)?;
//! assert_eq!(packet.len(), 48);
//! assert_eq!(decode(&packet)?.segment, segment);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
