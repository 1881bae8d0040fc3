//! What data that waits keeps of its packets' memory.
//!
//! A piece of a packet keeps the whole block alive that the device has read the packet into: many packets, maybe. Which pieces share a block cannot
//! be known here, and the last one that waits keeps all of it. So each piece is charged with a block, and what goes beyond the limit is
//! copied, exactly. Small pieces are always copied, because the records of them take more than their bytes. Where each packet has memory of
//! its own, honest peers whose segments are full never reach the limit.

use bytes::Bytes;
use core::iter::Sum;
use pathweave_wire::Payload;

/// A piece of fewer bytes is copied.
pub(crate) const SMALL: usize = 256;
/// What small pieces are collected in, bytes.
pub(crate) const COLLECTED: usize = 4096;

/// The memory that waiting data takes at most, bytes. The two are counted apart because the same segments lie in other blocks on another
/// device: what is dropped must not depend on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The data itself, and the records of its pieces.
    pub(crate) records: u64,
    /// Blocks of packets that its pieces keep alive.
    pub(crate) blocks: u64,
}

impl Waiting {
    #[inline]
    pub(crate) fn total(self) -> u64 {
        self.records + self.blocks
    }
}

impl Sum for Waiting {
    fn sum<I: Iterator<Item = Waiting>>(all: I) -> Waiting {
        all.fold(Waiting::default(), |a, b| Waiting { records: a.records + b.records, blocks: a.blocks + b.blocks })
    }
}

/// What is kept of packets' memory by data that waits in one place.
#[derive(Debug)]
pub(crate) struct Lent {
    /// What one packet keeps alive at most, bytes.
    packet_memory: u32,
    bytes: u64,
}

impl Lent {
    pub(crate) fn new(packet_memory: u32) -> Lent {
        Lent { packet_memory, bytes: 0 }
    }

    /// Shares a piece's memory with its packet, or copies it where it is small or where that would exceed `limit`. The
    /// number is what to [`Lent::give_back`] when the piece has gone.
    #[inline]
    pub(crate) fn keep(&mut self, payload: Payload, limit: u64) -> (Payload, u32) {
        if payload.is_virtual() {
            return (payload, 0);
        }
        self.keep_bytes(payload, limit)
    }

    fn keep_bytes(&mut self, payload: Payload, limit: u64) -> (Payload, u32) {
        if payload.len() < SMALL as u32 {
            return (copied(&payload), 0);
        }
        let charge = self.charge_of(&payload);
        if self.bytes + u64::from(charge) > limit {
            return (copied(&payload), 0);
        }
        self.bytes += u64::from(charge);
        (payload, charge)
    }

    /// Shares a piece's memory whatever the limit is: for one that is likely to be read at once.
    pub(crate) fn share(&mut self, payload: &Payload) -> u32 {
        if payload.is_virtual() {
            return 0;
        }
        let charge = self.charge_of(payload);
        self.bytes += u64::from(charge);
        charge
    }

    /// What is charged now, bytes.
    #[inline]
    pub(crate) fn charged(&self) -> u64 {
        self.bytes
    }

    /// A piece has gone.
    #[inline]
    pub(crate) fn give_back(&mut self, charge: u32) {
        self.bytes -= u64::from(charge);
    }

    /// The blocks that a piece lies in.
    fn charge_of(&self, payload: &Payload) -> u32 {
        payload.slices().map(|slice| self.packet_memory.max(slice.len() as u32)).sum()
    }
}

/// The same bytes in memory of their own.
#[cold]
pub(crate) fn copied(payload: &Payload) -> Payload {
    match payload {
        Payload::Virtual { .. } => payload.clone(),
        Payload::Bytes(bytes) => Payload::Bytes(Bytes::copy_from_slice(bytes)),
        Payload::Chunks(_) => Payload::Bytes(payload.to_vec().into()),
    }
}

/// Puts a small piece behind another one that is not shared, by copying, as long as the two stay short. False, and nothing is done,
/// where that cannot be.
pub(crate) fn collect(before: &mut Payload, piece: &Payload) -> bool {
    let fits = before.len() as usize <= COLLECTED && piece.len() < SMALL as u32 && !piece.is_virtual();
    let Payload::Bytes(bytes) = before else { return false };
    if !fits {
        return false;
    }
    match core::mem::take(bytes).try_into_mut() {
        Ok(mut own) => {
            piece.slices().for_each(|slice| own.extend_from_slice(slice));
            *bytes = own.freeze();
            true
        }
        Err(shared) => {
            *bytes = shared;
            false
        }
    }
}
