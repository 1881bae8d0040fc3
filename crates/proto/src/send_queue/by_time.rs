//! Which segments were sent when: RACK looks for those that were sent before one that was delivered (RFC 8985).

use super::{SendQueue, SentSegment};

impl SendQueue {
    /// The segment sent longest ago of those that are neither acknowledged nor SACKed nor lost.
    pub(crate) fn oldest_transmission(&mut self) -> Option<u64> {
        while let Some(&entry) = self.by_time.front() {
            if self.awaited(entry).is_some() {
                return Some(entry.0);
            }
            self.by_time.pop_front();
        }
        None
    }

    /// The segment sent last of these that was sent before the transmission with that number.
    pub(crate) fn last_transmission_before(&mut self, number: u64) -> Option<&SentSegment> {
        let end = self.by_time.partition_point(|(_, n)| *n < number);
        let stale = self.by_time.range(..end).rev().take_while(|entry| self.awaited(**entry).is_none()).count();
        // Each goes once, so that they are not passed by again and again.
        self.by_time.drain(end - stale..end);
        self.awaited(*self.by_time.get((end - stale).checked_sub(1)?)?)
    }

    /// The segment of an entry of `by_time`, if that is its last transmission, and nothing is known of it.
    fn awaited(&self, (name, number): (u64, u64)) -> Option<&SentSegment> {
        let segment = self.segments.get(name.checked_sub(self.first)? as usize)?;
        (segment.transmission == number && !segment.sacked && (!segment.lost || segment.retransmitted))
            .then_some(segment)
    }
}
