//! The window that the peer offers for the data stream.

use crate::seq::DataSeq;
use pathweave_units::Instant;

/// How much the peer takes.
#[derive(Debug, Default)]
pub(crate) struct PeerWindow {
    /// The first byte beyond it.
    pub(crate) end: DataSeq,
    /// Its size as the peer last announced it, and the largest of all, bytes.
    pub(crate) size: u64,
    pub(crate) largest: u64,
    /// When it is probed, and how often it was; or when a piece of a small window goes out after all.
    pub(crate) probe: Option<(Instant, u32)>,
    /// A piece of a small window goes out after all.
    pub(crate) overridden: bool,
}

impl PeerWindow {
    /// The window of the first segment that says one.
    pub(crate) fn begin(&mut self, bytes: u64) {
        (self.end, self.size, self.largest) = (DataSeq(bytes), bytes, bytes);
    }

    /// The size that the peer announces now.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.size = bytes;
        self.largest = self.largest.max(bytes);
    }
}
