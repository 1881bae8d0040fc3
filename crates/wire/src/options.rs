//! TCP options as typed values, with their exact lengths on the wire.

use crate::mptcp::{Dss, MptcpOption};
use arrayvec::ArrayVec;

/// The option space of a TCP header, bytes (RFC 9293 §3.1: data offset of at most 15 words).
pub const MAX_OPTION_BYTES: usize = 40;

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The newest value received from the peer.
    pub echo: u32,
}

/// One SACK block: sequence numbers from `left` (included) to `right` (excluded) (RFC 2018 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// Sequence number after the last one of the block.
    pub right: u32,
}

/// Up to four SACK blocks, most recent first; a D-SACK (RFC 2883) comes before them.
pub type SackBlocks = ArrayVec<SackBlock, 4>;

/// All options of one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Maximum segment size; only on SYN segments.
    pub mss: Option<u16>,
    /// Window scale shift count; only on SYN segments.
    pub window_scale: Option<u8>,
    /// SACK permitted; only on SYN segments.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// The data sequence signal, which nearly every Multipath TCP segment carries.
    pub dss: Option<Dss>,
    /// All other Multipath TCP options, in wire order. Empty on nearly every segment, so it seldom allocates.
    pub mptcp: Vec<MptcpOption>,
}

impl Options {
    /// Takes every option out.
    pub fn clear(&mut self) {
        let Options { mss, window_scale, sack_permitted, timestamps, sack, dss, mptcp } = self;
        (*mss, *window_scale, *sack_permitted) = (None, None, false);
        (*timestamps, *dss) = (None, None);
        sack.clear();
        mptcp.clear();
    }

    /// Length on the wire in bytes, padded to a multiple of four.
    ///
    /// Timestamps count 12 and SACK 4 + 8 per block: both are aligned with two NOPs, as every common stack does.
    pub fn wire_len(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        // On a SYN, SACK-permitted (2) fills the two bytes that align the timestamps.
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => len += 12,
            (true, false) => len += 4,
            (false, true) => len += 12,
            (false, false) => {}
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if !self.sack.is_empty() {
            len += 4 + 8 * self.sack.len();
        }
        if let Some(dss) = &self.dss {
            len += dss.wire_len().next_multiple_of(4);
        }
        for option in &self.mptcp {
            len += option.wire_len().next_multiple_of(4);
        }
        len
    }

    /// Bytes still free in the 40-byte option space.
    pub fn free_bytes(&self) -> usize {
        MAX_OPTION_BYTES.saturating_sub(self.wire_len())
    }

    /// How many SACK blocks still fit (RFC 2018 §3).
    pub fn free_sack_blocks(&self) -> usize {
        (self.free_bytes().saturating_sub(4) / 8).min(4)
    }
}
