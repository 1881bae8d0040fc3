//! A packet as a link sees it, the fates that it can have, and a link's counters.

use core::fmt;
use pathweave_units::Ecn;

/// A packet as a link sees it: a length and an ECN codepoint.
///
/// The value should be small, for example a handle into a pool that the caller keeps. A link never loses a packet
/// silently: each one comes back exactly once, delivered or dropped. If a packet is duplicated, the link clones it, and
/// the clone comes back too. The duplication is reported with the original or before it, so that the owner of a pool
/// can count one more handle.
pub trait Packet {
    /// Length of the frame in bytes, with its link-layer header (Ethernet: 14).
    fn len_bytes(&self) -> u32;
    /// The ECN codepoint.
    fn ecn(&self) -> Ecn;
    /// Sets the codepoint to [`Ecn::Ce`].
    fn set_ce(&mut self);
    /// Marks the packet as damaged: its receiver's checksum fails.
    fn set_corrupted(&mut self);
}

/// A packet that the caller recognises by a tag, for example its slot in the caller's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<T> {
    /// The tag.
    pub tag: T,
    /// [`Packet::len_bytes`].
    pub len_bytes: u32,
    /// [`Packet::ecn`].
    pub ecn: Ecn,
    /// Whether a link damaged the packet.
    pub corrupted: bool,
}

impl<T> Packet for Tagged<T> {
    fn len_bytes(&self) -> u32 {
        self.len_bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn set_corrupted(&mut self) {
        self.corrupted = true;
    }
}

/// What became of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// The packet reached the link's other end.
    Delivered,
    /// The packet reached the other end damaged; the receiver's checksum will fail.
    Corrupted,
    /// Dropped: the queue was full.
    QueueFull,
    /// Dropped: the packet is longer than the token bucket is deep, so it could never leave.
    Oversized,
    /// Dropped: CoDel chose it.
    Codel,
    /// Dropped: the loss model chose it.
    RandomLoss,
    /// Dropped: the link was down, or went down while the packet waited.
    LinkDown,
}

impl Fate {
    /// Every fate, in the order of [`Fate::index`].
    pub const ALL: [Fate; 7] = [
        Fate::Delivered,
        Fate::Corrupted,
        Fate::QueueFull,
        Fate::Oversized,
        Fate::Codel,
        Fate::RandomLoss,
        Fate::LinkDown,
    ];

    /// Whether the packet did not reach the other end.
    pub const fn is_drop(self) -> bool {
        !matches!(self, Fate::Delivered | Fate::Corrupted)
    }
    /// Position in [`Fate::ALL`]. Tables and digests use it, so it must not change.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// A short name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Fate::Delivered => "delivered",
            Fate::Corrupted => "corrupted",
            Fate::QueueFull => "queue_full",
            Fate::Oversized => "oversized",
            Fate::Codel => "codel",
            Fate::RandomLoss => "random_loss",
            Fate::LinkDown => "link_down",
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The counters of a link since it was created. Bytes are bytes of frames, without the link's overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The largest number of packets that waited at one time.
    pub max_queue_packets: u64,
    /// The largest number of bytes that waited at one time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_are_listed_in_the_order_of_their_index() {
        for (i, fate) in Fate::ALL.into_iter().enumerate() {
            assert_eq!(fate.index(), i);
        }
    }

    #[test]
    fn only_arrivals_are_no_drops() {
        let arrivals: Vec<Fate> = Fate::ALL.into_iter().filter(|f| !f.is_drop()).collect();
        assert_eq!(arrivals, [Fate::Delivered, Fate::Corrupted]);
    }
}
