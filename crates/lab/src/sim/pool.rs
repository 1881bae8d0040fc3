//! The segments in flight. Links move small handles to them.

use pathweave_netsim::Tagged;
use pathweave_wire::{Ecn, Segment};

/// A packet as the network sees it: known by its slot in the pool.
pub(super) type Handle = Tagged<u32>;

#[derive(Debug, Default)]
struct Entry {
    segment: Segment,
    owners: u32,
}

/// Slots are used again, so that nothing is allocated per packet in steady state.
#[derive(Debug, Default)]
pub(super) struct Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Pool {
    /// A free slot and what it held last; [`Pool::fill`] takes it.
    pub(super) fn next(&mut self) -> (u32, &mut Segment) {
        let slot = match self.free.last() {
            Some(slot) => *slot,
            None => {
                let slot = self.entries.len() as u32;
                self.entries.push(Entry::default());
                self.free.push(slot);
                slot
            }
        };
        (slot, &mut self.entries[slot as usize].segment)
    }

    /// The slot that [`Pool::next`] gave is in use.
    pub(super) fn fill(&mut self, slot: u32, ecn: Ecn) -> Handle {
        self.free.pop();
        let entry = &mut self.entries[slot as usize];
        entry.owners = 1;
        Tagged { tag: slot, len_bytes: entry.segment.ip_len(), ecn, corrupted: false }
    }

    pub(super) fn get(&self, slot: u32) -> &Segment {
        &self.entries[slot as usize].segment
    }

    /// A packet's segment, for where it arrived. A copy may still be on its way.
    pub(super) fn take(&mut self, slot: u32) -> &Segment {
        self.release(slot);
        self.get(slot)
    }

    pub(super) fn share(&mut self, slot: u32) {
        self.entries[slot as usize].owners += 1;
    }

    pub(super) fn release(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.owners -= 1;
        if entry.owners == 0 {
            self.free.push(slot);
        }
    }
}
