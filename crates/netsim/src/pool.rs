//! A pool of packets that are on their way.

use crate::{Ecn, Tagged};

#[derive(Debug, Default)]
struct Entry<T> {
    packet: T,
    owners: u32,
}

/// Packets on their way, known by their slots: links move small handles to them ([`Tagged`]). Slots are used again, so that nothing is
/// allocated per packet in steady state.
#[derive(Debug)]
pub struct Pool<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Pool<T> {
    /// A free slot and the packet that it held last; [`Pool::fill`] takes it.
    pub fn free_slot(&mut self) -> (u32, &mut T) {
        let slot = match self.free.last() {
            Some(slot) => *slot,
            None => {
                let slot = self.entries.len() as u32;
                self.entries.push(Entry::default());
                self.free.push(slot);
                slot
            }
        };
        (slot, &mut self.entries[slot as usize].packet)
    }

    /// Takes the slot that [`Pool::free_slot`] gave, for a packet of this length.
    pub fn fill(&mut self, slot: u32, len_bytes: u32, ecn: Ecn) -> Tagged<u32> {
        self.free.pop();
        self.entries[slot as usize].owners = 1;
        Tagged { tag: slot, len_bytes, ecn, corrupted: false }
    }

    /// The packet in a slot.
    pub fn get(&self, slot: u32) -> &T {
        &self.entries[slot as usize].packet
    }

    /// The packet in a slot, for changes. A change applies to all its copies.
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.entries[slot as usize].packet
    }

    /// Releases the slot of a packet that has arrived, and returns the packet. A copy may still be on its way.
    pub fn take(&mut self, slot: u32) -> &T {
        self.release(slot);
        self.get(slot)
    }

    /// Notes that another copy of the packet is on its way.
    pub fn share(&mut self, slot: u32) {
        self.entries[slot as usize].owners += 1;
    }

    /// Notes that one copy of the packet is no longer on its way. The last copy frees the slot.
    pub fn release(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.owners -= 1;
        if entry.owners == 0 {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_once_its_last_copy_has_arrived() {
        let mut pool = Pool::<u8>::default();
        let send = |packet: u8, pool: &mut Pool<u8>| {
            let (slot, place) = pool.free_slot();
            *place = packet;
            pool.fill(slot, 1, Ecn::NotEct).tag
        };
        let first = send(1, &mut pool);
        pool.share(first);
        assert_eq!(*pool.take(first), 1);
        let second = send(2, &mut pool);
        assert_ne!(second, first);
        assert_eq!((*pool.get(first), *pool.get(second)), (1, 2));
        assert_eq!(*pool.take(first), 1);
        assert_eq!(send(3, &mut pool), first);
    }
}
