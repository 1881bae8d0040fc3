//! Segments under way, so that links move small handles.

use pathweave_netsim as net;
use pathweave_wire::Segment;

/// A packet as the network sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    slot: u32,
    bytes: u32,
}

impl net::Packet for Handle {
    fn len_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> net::Ecn {
        net::Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn set_corrupted(&mut self) {}
}

/// Slots are used again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl Pool {
    /// A free slot and what it held last; [`Pool::fill`] takes it.
    pub(crate) fn next(&mut self) -> (u32, &mut Segment) {
        let slot = match self.free.last() {
            Some(slot) => *slot,
            None => {
                let slot = self.segments.len() as u32;
                self.segments.push(Segment::default());
                self.free.push(slot);
                slot
            }
        };
        (slot, &mut self.segments[slot as usize])
    }

    /// The slot that [`Pool::next`] gave is in use.
    pub(crate) fn fill(&mut self, slot: u32, bytes: u32) -> Handle {
        self.free.pop();
        Handle { slot, bytes }
    }

    /// The segment, which its slot forgets.
    pub(crate) fn take(&mut self, handle: Handle) -> &Segment {
        self.release(handle);
        &self.segments[handle.slot as usize]
    }

    /// Forgets the segment.
    pub(crate) fn release(&mut self, handle: Handle) {
        self.free.push(handle.slot);
    }
}
