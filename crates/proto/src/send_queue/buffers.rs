//! The buffers in which a host keeps segments: segments of one buffer leave together, and memory is counted per buffer.

use super::SendQueue;

impl SendQueue {
    /// Number of the next unsent segments, at most `limit`, that are in one buffer.
    pub(crate) fn unsent_in_buffer(&self, limit: u32) -> u32 {
        let unsent = self.segments.range(self.sent..).take(limit as usize).enumerate();
        unsent.take_while(|(i, s)| *i == 0 || !s.starts_buffer).count() as u32
    }

    /// Number of buffers that hold unsent segments.
    pub(crate) fn unsent_buffers(&self) -> u32 {
        let unsent = self.segments.range(self.sent..).enumerate();
        unsent.filter(|(i, s)| *i == 0 || s.starts_buffer).count() as u32
    }

    /// Whether the next unsent buffer has others behind it and at most `room` bytes.
    pub(crate) fn is_sendable_before_others(&self, room: u64) -> bool {
        let mut left = room;
        for (i, segment) in self.segments.range(self.sent..).enumerate() {
            if i > 0 && segment.starts_buffer {
                return true;
            }
            let Some(rest) = left.checked_sub(u64::from(segment.len)) else { return false };
            left = rest;
        }
        false
    }

    pub(crate) fn buffers(&self) -> u32 {
        self.buffers
    }
}
