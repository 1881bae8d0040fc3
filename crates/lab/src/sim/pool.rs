//! Segments in flight, so that links move small handles.

use pathweave_netsim::{Ecn, Packet};
use pathweave_wire::Segment;

/// A packet as the network sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) slot: u32,
    bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) corrupted: bool,
}

impl Packet for Handle {
    fn len_bytes(&self) -> u32 {
        self.bytes
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
    pub(super) fn insert(&mut self, segment: Segment, ecn: Ecn) -> Handle {
        let bytes = segment.ip_len();
        let entry = Entry { segment, owners: 1 };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        Handle { slot, bytes, ecn, corrupted: false }
    }

    pub(super) fn get(&self, slot: u32) -> &Segment {
        &self.entries[slot as usize].segment
    }

    /// Takes the segment out, or a clone while a copy is still on its way.
    pub(super) fn take(&mut self, slot: u32) -> Segment {
        let entry = &mut self.entries[slot as usize];
        if entry.owners > 1 {
            entry.owners -= 1;
            return entry.segment.clone();
        }
        entry.owners = 0;
        self.free.push(slot);
        core::mem::take(&mut entry.segment)
    }

    pub(super) fn share(&mut self, slot: u32) {
        self.entries[slot as usize].owners += 1;
    }

    pub(super) fn release(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.owners -= 1;
        if entry.owners == 0 {
            entry.segment = Segment::default();
            self.free.push(slot);
        }
    }
}
