//! The segments of one subflow, from the first unacknowledged one to the last one queued.
//!
//! A segment's bounds are fixed when it is queued, unless the path turns out to take only smaller ones (`divide`). With
//! Multipath TCP a segment is one mapping. The counters are kept as segments change:
//! in flight = sent − SACKed − lost + retransmitted.

#[cfg(feature = "host-linux")]
mod buffers;
mod by_time;
mod divide;

use crate::ordered::Ranges;
use core::ops::Range;
use divide::Declared;
use pathweave_scheduler::DataSeq;
use pathweave_units::Instant;
use pathweave_wire::Payload;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SentSegment {
    /// Subflow sequence number of the first byte; the SYN is 0.
    pub(crate) ssn: u64,
    /// Data bytes.
    pub(crate) len: u32,
    /// Whether the segment ends the subflow's stream.
    pub(crate) fin: bool,
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    /// Whether the segment starts a buffer of the send queue. A kernel's overhead is counted per buffer.
    pub(crate) starts_buffer: bool,
    /// Whether the segment is the last of a buffer that was the last one when a scheduler's grant ended. The kernel
    /// sets PSH then.
    pub(crate) pushed: bool,
    /// Whether no later data may leave in the same segment.
    pub(crate) ends_record: bool,
    /// Whether the segment has PSH, also in retransmissions.
    pub(crate) psh: bool,
    /// Whether a retransmission of the segment is in the network.
    pub(crate) retransmitted: bool,
    pub(crate) ever_retransmitted: bool,
    /// Position of the first byte in the data stream.
    pub(crate) dsn: DataSeq,
    pub(crate) last_sent: Instant,
    /// Number of that transmission. It orders segments that were sent in the same instant.
    pub(crate) transmission: u64,
    /// The subflow's delivered bytes, and the time of that count, when the segment was last sent (for the delivery
    /// rate).
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Instant,
}

impl SentSegment {
    /// The sequence number after the segment.
    pub(crate) fn end(&self) -> u64 {
        self.ssn + u64::from(self.len) + u64::from(self.fin)
    }
    pub(crate) fn data(&self) -> Range<DataSeq> {
        self.dsn..self.dsn + u64::from(self.len)
    }
}

#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    segments: VecDeque<SentSegment>,
    /// The data of each segment, kept until the subflow's own acknowledgement, which may come after the DATA_ACK.
    payloads: VecDeque<Payload>,
    /// Name of the front segment. Names count up from the subflow's start.
    first: u64,
    /// Number of segments that were sent.
    sent: usize,
    pub(crate) sacked_out: u32,
    /// Ranges of the SACKed segments.
    sacked: Ranges,
    /// Sequence number below which all segments are SACKed or were marked lost.
    lost_below: u64,
    pub(crate) lost_out: u32,
    pub(crate) retransmitted_out: u32,
    queued_bytes: u64,
    /// Number of segments that start a buffer.
    buffers: u32,
    /// Name of the first segment of the last buffer, and the number of its segments.
    last_buffer: u64,
    last_buffer_segments: u32,
    /// Every transmission in time order, as (name, number). Entries of segments since acknowledged or sent again are
    /// stale.
    by_time: VecDeque<(u64, u64)>,
    transmissions: u64,
    /// Mappings of segments that left as one or were cut after they were sent, by position. Acknowledged ones are
    /// dropped when another is added.
    declared: VecDeque<Declared>,
    /// Name at or after which all lost segments are that were not sent again yet.
    retransmit_hint: u64,
}

impl SendQueue {
    pub(crate) fn push(&mut self, mut segment: SentSegment, payload: Payload) {
        debug_assert_eq!(segment.len, payload.len(), "a segment is as long as its data");
        self.queued_bytes += u64::from(segment.len);
        self.last_buffer_segments += 1;
        if segment.starts_buffer {
            self.buffers += 1;
            self.last_buffer = self.first + self.segments.len() as u64;
            self.last_buffer_segments = 1;
        } else if let Some(last) = self.segments.back_mut() {
            segment.pushed = core::mem::take(&mut last.pushed);
        }
        self.segments.push_back(segment);
        self.payloads.push_back(payload);
    }

    /// Number of segments of the last buffer, if none of it was sent yet, so that it can take more.
    pub(crate) fn open_buffer(&self) -> Option<u32> {
        (self.last_buffer >= self.first + self.sent as u64 && self.unsent() > 0).then_some(self.last_buffer_segments)
    }
    /// Adds data to the last segment, which must be unsent. `append` puts the data behind the segment's own, or returns
    /// false if it cannot.
    pub(crate) fn extend_last(
        &mut self,
        more: &Payload,
        ends_record: bool,
        append: impl FnOnce(&mut Payload, &Payload) -> bool,
    ) -> bool {
        let (Some(last), Some(payload)) = (self.segments.back_mut(), self.payloads.back_mut()) else { return false };
        if !append(payload, more) {
            return false;
        }
        last.len += more.len();
        last.ends_record = ends_record;
        last.pushed = false;
        self.queued_bytes += u64::from(more.len());
        true
    }

    /// Makes the last segment, if it is unsent, end the stream too. Returns whether it did.
    pub(crate) fn end_with_last(&mut self) -> bool {
        if self.unsent() == 0 {
            return false;
        }
        match self.segments.back_mut() {
            Some(last) if !last.fin => {
                last.fin = true;
                true
            }
            _ => false,
        }
    }

    /// Removes a FIN from the last segment, if that was not sent. Returns whether there was one.
    pub(crate) fn take_back_fin(&mut self) -> bool {
        if self.unsent() == 0 {
            return false;
        }
        match self.segments.back_mut() {
            Some(last) if last.fin && last.len > 0 => last.fin = false,
            Some(last) if last.fin => {
                self.pop_unsent();
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
        self.payloads.shrink_to_fit();
        self.sacked.shrink();
        self.by_time.shrink_to_fit();
        self.declared.shrink_to_fit();
    }
    /// Number of segments sent and not cumulatively acknowledged.
    pub(crate) fn packets_out(&self) -> u32 {
        self.sent as u32
    }
    pub(crate) fn unsent(&self) -> u32 {
        (self.segments.len() - self.sent) as u32
    }
    /// Marks the end of a scheduler's grant at the segment queued last.
    pub(crate) fn end_grant(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.pushed = true;
        }
    }
    /// Whether the last segment sent for the first time ends a pushed buffer.
    pub(crate) fn last_sent_is_pushed(&self) -> bool {
        self.sent.checked_sub(1).and_then(|i| self.segments.get(i)).is_some_and(|s| s.pushed)
    }

    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }
    //= RFC 6675 §4: "MUST set the "pipe" variable to an estimate of the number of octets that are currently in transit between
    //= the TCP sender and the TCP receiver"
    //= tests: loss_recovery::timeouts_double
    pub(crate) fn in_flight(&self) -> u32 {
        (self.packets_out() + self.retransmitted_out).saturating_sub(self.sacked_out + self.lost_out)
    }
    pub(crate) fn get(&self, name: u64) -> Option<&SentSegment> {
        self.segments.get(name.checked_sub(self.first)? as usize)
    }
    /// The data of segment `name`.
    pub(crate) fn payload(&self, name: u64) -> Option<&Payload> {
        self.payloads.get(name.checked_sub(self.first)? as usize)
    }
    fn get_sent_mut(&mut self, name: u64) -> Option<&mut SentSegment> {
        let i = name.checked_sub(self.first)? as usize;
        if i < self.sent { self.segments.get_mut(i) } else { None }
    }
    /// Names of the segments that were sent.
    pub(crate) fn sent_names(&self) -> Range<u64> {
        self.first..self.first + self.sent as u64
    }
    pub(crate) fn head(&self) -> Option<&SentSegment> {
        self.segments.front().filter(|_| self.sent > 0)
    }
    pub(crate) fn first_unsent(&self) -> Option<&SentSegment> {
        self.segments.get(self.sent)
    }
    pub(crate) fn last_queued(&self) -> Option<&SentSegment> {
        self.segments.back()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SentSegment> {
        self.segments.iter()
    }
    /// Takes back the newest segment that was never sent.
    pub(crate) fn pop_unsent(&mut self) -> Option<SentSegment> {
        if self.segments.len() == self.sent {
            return None;
        }
        let s = self.segments.pop_back()?;
        self.payloads.pop_back();
        self.queued_bytes -= u64::from(s.len);
        self.buffers -= u32::from(s.starts_buffer);
        Some(s)
    }

    /// Marks the first unsent segment as sent, in a buffer of its own or in that of the one before; returns its name.
    pub(crate) fn mark_sent(
        &mut self,
        now: Instant,
        own_buffer: bool,
        splits: bool,
        delivered: u64,
        delivered_at: Instant,
    ) -> u64 {
        let name = self.first + self.sent as u64;
        let segment = &mut self.segments[self.sent];
        segment.last_sent = now;
        segment.transmission = self.transmissions;
        segment.delivered = delivered;
        segment.delivered_at = delivered_at;
        if own_buffer && !segment.starts_buffer {
            segment.starts_buffer = true;
            self.buffers += 1;
        }
        self.sent += 1;
        if let Some(rest) = self.segments.get_mut(self.sent).filter(|s| splits && !s.starts_buffer) {
            rest.starts_buffer = true;
            self.buffers += 1;
        }
        self.by_time.push_back((name, self.transmissions));
        self.transmissions += 1;
        name
    }

    /// Notes that the segment just sent has PSH.
    pub(crate) fn mark_push(&mut self, name: u64) {
        if let Some(segment) = self.get_sent_mut(name) {
            segment.psh = true;
        }
    }

    /// Marks a sent segment as sent again.
    //= RFC 6675 §5: "HighRxt MUST be set to the highest sequence number of the retransmitted segment unless NextSeg () rule (4)
    //= was invoked for this retransmission"
    //= tests: loss_recovery::any_one_segment_is_repaired_without_a_timeout
    pub(crate) fn mark_retransmitted(&mut self, name: u64, now: Instant, delivered: u64, delivered_at: Instant) {
        let number = self.transmissions;
        let Some(segment) = self.get_sent_mut(name) else { return };
        segment.last_sent = now;
        segment.transmission = number;
        segment.delivered = delivered;
        segment.delivered_at = delivered_at;
        segment.ever_retransmitted = true;
        if !segment.retransmitted {
            segment.retransmitted = true;
            self.retransmitted_out += 1;
        }
        self.by_time.push_back((name, self.transmissions));
        self.transmissions += 1;
    }

    /// Marks a segment lost, or lost again; returns whether that is new.
    pub(crate) fn mark_lost(&mut self, name: u64) -> bool {
        let Some(segment) = self.get_sent_mut(name) else { return false };
        if segment.sacked || (segment.lost && !segment.retransmitted) {
            return false;
        }
        let (was_lost, was_retransmitted) = (segment.lost, segment.retransmitted);
        segment.lost = true;
        segment.retransmitted = false;
        self.lost_out += u32::from(!was_lost);
        self.retransmitted_out -= u32::from(was_retransmitted);
        self.retransmit_hint = self.retransmit_hint.min(name);
        true
    }

    /// Names of the segments before `name` that earlier calls have not returned.
    pub(crate) fn names_to_lose(&mut self, name: u64) -> Range<u64> {
        let Some(end) = self.get(name).map(|s| s.ssn) else { return name..name };
        let from = self.segments.partition_point(|s| s.ssn < self.lost_below).min(self.sent) as u64 + self.first;
        self.lost_below = self.lost_below.max(end);
        from..name.max(from)
    }

    /// Removes every loss mark, because the segments were not lost.
    pub(crate) fn forget_losses(&mut self) {
        for segment in self.segments.iter_mut().take(self.sent) {
            segment.lost = false;
        }
        self.lost_out = 0;
        self.lost_below = 0;
        // The entries of segments that were marked lost are gone; losses must be found again.
        let names = self.first..;
        let sent = names.zip(self.segments.iter().take(self.sent)).filter(|(_, s)| !s.sacked);
        self.by_time = sent.map(|(name, s)| (name, s.transmission)).collect();
        self.by_time.make_contiguous().sort_by_key(|(_, number)| *number);
    }

    /// Whether the counters agree with the segments. Long queues are counted only now and then.
    pub(crate) fn is_consistent(&self) -> bool {
        if self.segments.len() > 64 && !self.first.is_multiple_of(64) {
            return self.sacked_out + self.lost_out <= self.packets_out();
        }
        let count = |wanted: fn(&SentSegment) -> bool| self.iter().take(self.sent).filter(|s| wanted(s)).count() as u32;
        let bytes: u64 = self.iter().map(|s| u64::from(s.len)).sum();
        let unsent_marked = self.iter().skip(self.sent).any(|s| s.sacked || s.lost || s.retransmitted);
        self.sacked_out == count(|s| s.sacked)
            && self.lost_out == count(|s| s.lost)
            && self.retransmitted_out == count(|s| s.retransmitted)
            && count(|s| s.sacked && (s.lost || s.retransmitted)) == 0
            && self.queued_bytes == bytes
            && self.payloads.len() == self.segments.len()
            && self.buffers == self.iter().filter(|s| s.starts_buffer).count() as u32
            && !unsent_marked
    }

    /// The first lost segment that was not sent again.
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.lost_out <= self.retransmitted_out && self.lost_out == 0 {
            return None;
        }
        let mut name = self.retransmit_hint.max(self.first);
        let end = self.first + self.sent as u64;
        while name < end {
            let s = &self.segments[(name - self.first) as usize];
            if s.lost && !s.retransmitted && !s.sacked {
                self.retransmit_hint = name;
                return Some(name);
            }
            name += 1;
        }
        self.retransmit_hint = end;
        None
    }

    /// Removes the first segment if it ends at or before `una`; a segment that `una` divides is cut.
    //= RFC 8684 §3.3.2: "An MPTCP sender MUST NOT free data from the send buffer until it has been acknowledged by both a Data ACK
    //= received on any subflow and at the subflow level by all subflows on which the data was sent"
    //= tests: reinjection::a_dark_path_is_probed_every_second_and_used_again, middleboxes::data_that_was_acknowledged_proactively_and_lost_comes_again
    //= RFC 8684 §3.3.6: "The sender MUST keep data in its send buffer as long as the data has not been acknowledged both (1) at the
    //= connection level and (2) on all subflows on which it has been sent"
    //= tests: reinjection::a_dark_path_is_probed_every_second_and_used_again, middleboxes::data_that_was_acknowledged_proactively_and_lost_comes_again
    //= RFC 8684 §3.3.6: "a host MUST still retransmit the original data on the original subflow, in order to preserve the subflow's
    //= integrity"
    //= tests: reinjection::a_dark_path_is_probed_every_second_and_used_again
    pub(crate) fn pop_acked(&mut self, una: u64) -> Option<SentSegment> {
        let front = self.segments.front_mut().filter(|_| self.sent > 0)?;
        if front.end() > una {
            if una > front.ssn {
                let cut = (una - front.ssn) as u32;
                front.ssn = una;
                front.dsn = front.dsn + u64::from(cut);
                front.len -= cut;
                if let Some(payload) = self.payloads.front_mut() {
                    *payload = payload.slice(cut, payload.len() - cut);
                }
                self.queued_bytes -= u64::from(cut);
            }
            return None;
        }
        let segment = self.segments.pop_front()?;
        self.payloads.pop_front();
        self.first += 1;
        while self.by_time.front().is_some_and(|(name, _)| *name < self.first) {
            self.by_time.pop_front();
        }
        self.sent -= 1;
        self.queued_bytes -= u64::from(segment.len);
        if segment.starts_buffer {
            // The buffer continues with the rest of its segments.
            match self.segments.front_mut() {
                Some(next) if !next.starts_buffer => next.starts_buffer = true,
                _ => self.buffers -= 1,
            }
        }
        if segment.sacked {
            self.sacked_out -= 1;
            self.sacked.forget_before(segment.end());
        }
        self.lost_out -= u32::from(segment.lost);
        self.retransmitted_out -= u32::from(segment.retransmitted);
        Some(segment)
    }

    /// The first part of `range` that is not SACKed: the names of the sent segments wholly inside it, and its end. So
    /// ranges that a peer repeats in each acknowledgement are not looked at again.
    pub(crate) fn next_unsacked(&self, range: Range<u64>) -> Option<(Range<u64>, u64)> {
        let gap = self.sacked.first_gap(range)?;
        Some((self.covered(gap.start, gap.end), gap.end))
    }

    /// Notes that all segments wholly inside `left..right` are SACKed.
    pub(crate) fn note_sacked(&mut self, left: u64, right: u64) {
        let names = self.covered(left, right);
        let (first, last) = (self.get(names.start), names.end.checked_sub(1).and_then(|name| self.get(name)));
        if let (Some(first), Some(last), false) = (first, last, names.is_empty()) {
            self.sacked.add(first.ssn..last.end());
        }
    }

    /// The name from which on exactly `count` segments are SACKed; `None` if there are fewer.
    pub(crate) fn below_sacked(&self, mut count: u64) -> Option<u64> {
        for range in self.sacked.backwards() {
            let names = self.covered(range.start, range.end);
            let here = names.end - names.start;
            if here >= count {
                return Some(names.end - count);
            }
            count -= here;
        }
        None
    }

    /// Names of the sent segments wholly inside `left..right`.
    pub(crate) fn covered(&self, left: u64, right: u64) -> Range<u64> {
        let start = self.segments.partition_point(|s| s.ssn < left).min(self.sent);
        let end = self.segments.partition_point(|s| s.end() <= right).min(self.sent);
        let (start, end) = (start as u64 + self.first, end as u64 + self.first);
        start..end.max(start)
    }

    /// Marks a segment SACKed; returns its state before, or `None` if it was SACKed already.
    //= RFC 6675 §5: "Upon the receipt of any ACK containing SACK information, the scoreboard MUST be updated via the Update ()
    //= routine"
    //= tests: loss_recovery::any_two_segments_are_repaired
    pub(crate) fn mark_sacked(&mut self, name: u64) -> Option<SentSegment> {
        let segment = self.get_sent_mut(name)?;
        if segment.sacked {
            return None;
        }
        let before = *segment;
        segment.sacked = true;
        segment.lost = false;
        segment.retransmitted = false;
        self.sacked_out += 1;
        self.lost_out -= u32::from(before.lost);
        self.retransmitted_out -= u32::from(before.retransmitted);
        Some(before)
    }

    /// Removes every SACK mark, because the receiver has discarded the data (RFC 2018 §8).
    pub(crate) fn forget_sacks(&mut self) {
        for segment in self.segments.iter_mut().take(self.sent) {
            segment.sacked = false;
        }
        self.sacked_out = 0;
        self.sacked.clear();
        self.lost_below = 0;
    }
}
