//! Counters of a link.

use crate::Fate;

/// What a link has done since it was made. Bytes are those of frames, without the link's overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets handed to the link.
    pub entered_packets: u64,
    /// Bytes handed to the link.
    pub entered_bytes: u64,
    /// Copies made by duplication.
    pub duplicated_packets: u64,
    /// Packets that arrived, copies and damaged ones included.
    pub delivered_packets: u64,
    /// Bytes that arrived, copies and damaged ones included.
    pub delivered_bytes: u64,
    /// Packets by fate, in the order of [`Fate::ALL`].
    pub fates: [u64; Fate::ALL.len()],
    /// Packets marked by CoDel.
    pub ce_marks: u64,
    /// Packets held back by explicit reordering.
    pub held_back_packets: u64,
    /// Most packets that ever waited.
    pub max_queue_packets: u64,
    /// Most bytes that ever waited.
    pub max_queue_bytes: u64,
}

impl LinkStats {
    /// Packets with this fate.
    pub fn count(&self, fate: Fate) -> u64 {
        self.fates[fate.index()]
    }
    /// Packets dropped, for any reason.
    pub fn dropped_packets(&self) -> u64 {
        Fate::ALL.into_iter().filter(|fate| fate.is_drop()).map(|fate| self.count(fate)).sum()
    }
}
