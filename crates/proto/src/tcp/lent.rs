//! Memory of packets that waiting data keeps alive.
//!
//! A piece of a packet keeps the whole block alive into which the device has read the packet, and maybe many others. It
//! is not known here which pieces share a block, and the last one that waits keeps all of it. So each piece is charged
//! with a whole block, and pieces beyond the limit are copied, which costs only their bytes. Small pieces are always
//! copied, because their records take more than their bytes. If each packet has memory of its own, honest peers with
//! full segments never reach the limit.

use bytes::Bytes;
use core::ops::AddAssign;
use pathweave_wire::Payload;

/// Pieces of fewer bytes are copied.
pub(crate) const SMALL: usize = 256;
/// Size up to which small pieces are collected in one buffer, bytes.
pub(crate) const COLLECTED: usize = 4096;

/// Memory that waiting data takes at most, bytes. The two parts are counted apart: another device puts the same
/// segments into other blocks, and which segments are dropped must not depend on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingMemory {
    /// The data itself, and the records of its pieces.
    pub(crate) records: u64,
    /// Blocks of packets that the pieces keep alive.
    pub(crate) blocks: u64,
}

impl WaitingMemory {
    #[inline]
    pub(crate) fn total(self) -> u64 {
        self.records + self.blocks
    }
}

impl AddAssign for WaitingMemory {
    fn add_assign(&mut self, more: WaitingMemory) {
        self.records += more.records;
        self.blocks += more.blocks;
    }
}

/// Packet memory that waiting data keeps alive in one place.
#[derive(Debug)]
pub(crate) struct Lent {
    /// Memory that one packet keeps alive at most, bytes.
    packet_memory: u32,
    bytes: u64,
}

impl Lent {
    pub(crate) fn new(packet_memory: u32) -> Lent {
        Lent { packet_memory, bytes: 0 }
    }

    /// Shares a piece's memory with its packet, or copies the piece if it is small or the charge would exceed `limit`.
    /// Returns the piece and its charge, to be passed to [`Lent::give_back`] when the piece is gone.
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

    /// Shares a piece's memory whatever the limit, because it will probably be read at once. Returns its charge.
    pub(crate) fn share(&mut self, payload: &Payload) -> u32 {
        if payload.is_virtual() {
            return 0;
        }
        let charge = self.charge_of(payload);
        self.bytes += u64::from(charge);
        charge
    }

    /// Sum of the present charges, bytes.
    #[inline]
    pub(crate) fn charged(&self) -> u64 {
        self.bytes
    }

    /// Removes the charge of a piece that is gone.
    #[inline]
    pub(crate) fn give_back(&mut self, charge: u32) {
        self.bytes -= u64::from(charge);
    }

    /// Size of the blocks that hold a piece.
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

/// Appends a small piece, by copying, to the one before it, if that one is not shared and is short. Returns false,
/// without any change, if that is not possible.
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
