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
    pub(crate) fn insert(&mut self, segment: Segment) -> Handle {
        let bytes = segment.ip_len();
        let slot = match self.free.pop() {
            Some(slot) => {
                self.segments[slot as usize] = segment;
                slot
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        };
        Handle { slot, bytes }
    }

    /// The segment, which its slot forgets.
    pub(crate) fn take(&mut self, handle: Handle) -> &mut Segment {
        self.free.push(handle.slot);
        &mut self.segments[handle.slot as usize]
    }
}
