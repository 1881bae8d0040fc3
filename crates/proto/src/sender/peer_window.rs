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
    /// When it is probed next, and how often it has been probed. If it is open but small: when a small piece goes out anyway.
    pub(crate) probe: Option<(Instant, u32)>,
    /// It is time to send a piece although it is small.
    pub(crate) overridden: bool,
}

impl PeerWindow {
    /// The window that the handshake has told.
    pub(crate) fn begin(&mut self, bytes: u64) {
        (self.end, self.size, self.largest) = (DataSeq(bytes), bytes, bytes);
    }

    /// The peer announces this size.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.size = bytes;
        self.largest = self.largest.max(bytes);
    }
}
