//! Positions in the stream, and names of subflows.

use core::fmt;
use core::ops::{Add, Sub};

/// Position of a byte in one direction's data stream; the first byte is 0. In QUIC, the offset in the stream (RFC 9000
/// §2.2).
///
/// In Multipath TCP, the data sequence number on the wire is this position plus the initial data sequence number plus
/// one (RFC 8684 §3.1), modulo 2⁶⁴. Positions never wrap, so they compare as plain numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataSeq(pub u64);

impl DataSeq {
    /// Bytes from `earlier` to `self`; 0 if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: DataSeq) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for DataSeq {
    type Output = DataSeq;
    #[inline]
    fn add(self, bytes: u64) -> DataSeq {
        DataSeq(self.0 + bytes)
    }
}

impl Sub<u64> for DataSeq {
    type Output = DataSeq;
    /// Subtracts, but not below zero.
    #[inline]
    fn sub(self, bytes: u64) -> DataSeq {
        DataSeq(self.0.saturating_sub(bytes))
    }
}

impl fmt::Display for DataSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Name of a subflow, which is the part of a connection on one path: a number below [`SubflowId::MAX_SUBFLOWS`]. After
/// [`Event::SubflowDown`](crate::Event::SubflowDown), another subflow may get the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub u8);

impl SubflowId {
    /// Most subflows that a connection can have at one time.
    pub const MAX_SUBFLOWS: usize = 32;

    /// The name as an index into a list with a place for each name.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of subflows of one connection. It has room for names below [`SubflowId::MAX_SUBFLOWS`] only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowSet(u32);

impl SubflowSet {
    /// The empty set.
    pub const EMPTY: SubflowSet = SubflowSet(0);

    /// The set of `id` alone.
    #[inline]
    pub const fn only(id: SubflowId) -> Self {
        SubflowSet(1 << id.0)
    }
    /// Whether `id` is in the set.
    #[inline]
    pub const fn contains(self, id: SubflowId) -> bool {
        self.0 >> id.0 & 1 == 1
    }
    /// The set with `id` added.
    #[must_use]
    #[inline]
    pub const fn with(self, id: SubflowId) -> Self {
        SubflowSet(self.0 | 1 << id.0)
    }
    /// The set with `id` removed.
    #[must_use]
    #[inline]
    pub const fn without(self, id: SubflowId) -> Self {
        SubflowSet(self.0 & !(1 << id.0))
    }
    /// The union of two sets.
    #[must_use]
    #[inline]
    pub const fn union(self, other: SubflowSet) -> Self {
        SubflowSet(self.0 | other.0)
    }
    /// Whether the set has no member.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Number of members.
    #[inline]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
    /// Members, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = SubflowId> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let next = (left != 0).then(|| SubflowId(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(next)
        })
    }
}
