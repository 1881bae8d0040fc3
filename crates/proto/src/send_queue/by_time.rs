//! The order in which segments were sent: RACK looks for those sent before one that was delivered (RFC 8985).

use super::{SendQueue, SentSegment};

impl SendQueue {
    /// The segment sent longest ago that is neither acknowledged nor SACKed nor lost.
    pub(crate) fn oldest_transmission(&mut self) -> Option<u64> {
        while let Some(&entry) = self.by_time.front() {
            if self.awaited(entry).is_some() {
                return Some(entry.0);
            }
            self.by_time.pop_front();
        }
        None
    }

    /// The segment sent last among those that are awaited and were sent before transmission `number`.
    pub(crate) fn last_transmission_before(&mut self, number: u64) -> Option<&SentSegment> {
        let end = self.by_time.partition_point(|(_, n)| *n < number);
        let stale = self.by_time.range(..end).rev().take_while(|entry| self.awaited(**entry).is_none()).count();
        // Stale entries are removed, so that they are passed only once.
        self.by_time.drain(end - stale..end);
        self.awaited(*self.by_time.get((end - stale).checked_sub(1)?)?)
    }

    /// The segment of an entry of `by_time`, if that is its last transmission and it is neither acknowledged nor SACKed
    /// nor lost.
    fn awaited(&self, (name, number): (u64, u64)) -> Option<&SentSegment> {
        let segment = self.segments.get(name.checked_sub(self.first)? as usize)?;
        (segment.transmission == number && !segment.sacked && (!segment.lost || segment.retransmitted))
            .then_some(segment)
    }
}
