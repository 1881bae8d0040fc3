//! Cutting segments for a path that takes only smaller ones, and joining them for a probe.

use super::{SendQueue, SentSegment};
use core::ops::Range;
use pathweave_scheduler::DataSeq;
use pathweave_wire::Payload;

/// A mapping of more than one segment: of one that was cut after it was sent, or of several that left as one. Each of
/// these segments carries the whole mapping in every retransmission: "A mapping is fixed" (RFC 8684 §3.3.1), and the
/// peer may know it already. Linux resets a subflow whose data comes with another mapping.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) ssn: u64,
    pub(crate) dsn: DataSeq,
    pub(crate) len: u32,
    /// The mapping's data, if a checksum needs it.
    pub(crate) payload: Payload,
}

impl Declared {
    fn end(&self) -> u64 {
        self.ssn + u64::from(self.len)
    }
}

impl SendQueue {
    /// Cuts the named segments that have more than `max` bytes. Those that were sent and are not SACKed count as lost,
    /// because the path does not take them. Names change.
    #[cold]
    pub(crate) fn divide(&mut self, max: u32, names: Range<u64>) {
        let max = max.max(1);
        let segments = core::mem::take(&mut self.segments);
        let payloads = core::mem::take(&mut self.payloads);
        let was_sent = core::mem::take(&mut self.sent);
        for (i, (segment, payload)) in segments.into_iter().zip(payloads).enumerate() {
            let out = i < was_sent;
            let whole = segment.len <= max || !names.contains(&(self.first + i as u64));
            if !whole && out {
                self.declare(&segment, &payload);
            }
            let piece = if whole { segment.len.max(1) } else { max };
            let mut at = 0;
            loop {
                let len = piece.min(segment.len - at);
                let ends = at + len == segment.len;
                self.sent += usize::from(out);
                self.segments.push_back(SentSegment {
                    ssn: segment.ssn + u64::from(at),
                    dsn: segment.dsn + u64::from(at),
                    len,
                    fin: segment.fin && ends,
                    pushed: segment.pushed && ends,
                    psh: segment.psh && ends,
                    ends_record: segment.ends_record && ends,
                    starts_buffer: segment.starts_buffer && at == 0,
                    lost: segment.lost || (!whole && out && !segment.sacked),
                    retransmitted: segment.retransmitted && whole,
                    ..segment
                });
                self.payloads.push_back(payload.slice(at, len));
                at += len;
                if ends {
                    break;
                }
            }
        }
        self.count_again();
    }

    /// Makes the first unsent segment `len` bytes long, with data of those behind it. Returns false if too little data
    /// follows that continues the stream.
    #[cold]
    pub(crate) fn join_unsent(&mut self, len: u32) -> bool {
        let Some(first) = self.segments.get(self.sent).copied() else { return false };
        let mut payload = self.payloads[self.sent].slice(0, first.len.min(len));
        let mut dsn = first.dsn + u64::from(payload.len());
        let mut end = self.sent + 1;
        if first.fin || first.ends_record {
            return false;
        }
        while payload.len() < len {
            let Some(next) = self.segments.get(end).filter(|s| s.dsn == dsn && !s.fin && !s.ends_record) else {
                return false;
            };
            let part = self.payloads[end].slice(0, next.len.min(len - payload.len()));
            dsn = dsn + u64::from(part.len());
            if !payload.try_append(&part) {
                return false;
            }
            end += 1;
        }
        let after = first.ssn + u64::from(len);
        // The rest of the last segment stays a segment.
        let last = &mut self.segments[end - 1];
        let taken = after - last.ssn;
        if taken < u64::from(last.len) {
            self.payloads[end - 1] = self.payloads[end - 1].slice(taken as u32, last.len - taken as u32);
            (last.ssn, last.dsn, last.len) = (after, last.dsn + taken, last.len - taken as u32);
            end -= 1;
        }
        let starts_buffer = self.segments.range(self.sent..end).any(|s| s.starts_buffer);
        self.buffers -= self.segments.range(self.sent..end).filter(|s| s.starts_buffer).count() as u32;
        self.buffers += u32::from(starts_buffer);
        self.segments.drain(self.sent + 1..end);
        self.payloads.drain(self.sent + 1..end);
        self.segments[self.sent] = SentSegment { len, starts_buffer, pushed: false, ..first };
        self.payloads[self.sent] = payload;
        self.count_again();
        true
    }

    /// Keeps the mapping of a sent segment that will be cut.
    fn declare(&mut self, segment: &SentSegment, payload: &Payload) {
        let (ssn, dsn, len) = (segment.ssn, segment.dsn, payload.len());
        self.add_declared(Declared { ssn, dsn, len, payload: payload.clone() });
    }

    /// Keeps the mapping of several segments that have left as one, which all of them carry. It has no checksum.
    pub(crate) fn declare_several(&mut self, ssn: u64, dsn: DataSeq, len: u32) {
        self.add_declared(Declared { ssn, dsn, len, payload: Payload::EMPTY });
    }

    /// Adds a mapping, unless a known one covers its data already.
    fn add_declared(&mut self, declared: Declared) {
        let front = self.segments.front().map_or(declared.ssn, |s| s.ssn);
        while self.declared.front().is_some_and(|d| d.end() <= front) {
            self.declared.pop_front();
        }
        if self.declared_at(declared.ssn).is_none() {
            let place = self.declared.partition_point(|d| d.ssn < declared.ssn);
            self.declared.insert(place, declared);
        }
    }

    /// The mapping of the segment that starts at `ssn`, if it covers more than that segment.
    pub(crate) fn declared_at(&self, ssn: u64) -> Option<&Declared> {
        let after = self.declared.partition_point(|d| d.ssn <= ssn);
        self.declared.get(after.checked_sub(1)?).filter(|d| ssn < d.end())
    }

    /// The sent segment that starts with this sequence number.
    pub(crate) fn sent_at(&self, ssn: u64) -> Option<&SentSegment> {
        let i = self.segments.partition_point(|s| s.ssn < ssn);
        self.segments.get(i).filter(|s| i < self.sent && s.ssn == ssn)
    }

    /// Recounts everything after the number of segments has changed.
    fn count_again(&mut self) {
        let sent = || self.segments.iter().take(self.sent);
        let count = |wanted: fn(&SentSegment) -> bool| sent().filter(|s| wanted(s)).count() as u32;
        let counts = (count(|s| s.sacked), count(|s| s.lost), count(|s| s.retransmitted));
        let mut by_time: Vec<(u64, u64)> = (self.first..)
            .zip(sent())
            .filter(|(_, s)| !s.sacked && (!s.lost || s.retransmitted))
            .map(|(name, s)| (name, s.transmission))
            .collect();
        by_time.sort_by_key(|(_, number)| *number);
        self.by_time = by_time.into();
        (self.sacked_out, self.lost_out, self.retransmitted_out) = counts;
        self.retransmit_hint = self.first;
        let last_buffer = self.segments.iter().rposition(|s| s.starts_buffer).unwrap_or(0);
        self.last_buffer = self.first + last_buffer as u64;
        self.last_buffer_segments = (self.segments.len() - last_buffer) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_units::Instant;

    fn queue(lengths: &[u32], sent: usize) -> SendQueue {
        let mut queue = SendQueue::default();
        let mut ssn = 1;
        for (i, len) in lengths.iter().enumerate() {
            let segment = SentSegment {
                ssn,
                len: *len,
                fin: i + 1 == lengths.len(),
                sacked: false,
                lost: false,
                starts_buffer: i % 2 == 0,
                pushed: false,
                ends_record: false,
                psh: false,
                retransmitted: false,
                ever_retransmitted: false,
                dsn: DataSeq(ssn + 1000),
                last_sent: Instant::ZERO,
                transmission: 0,
                delivered: 0,
                delivered_at: Instant::ZERO,
            };
            queue.push(segment, Payload::Virtual { start: ssn, len: *len });
            ssn += u64::from(*len);
        }
        for _ in 0..sent {
            queue.mark_sent(Instant::ZERO, false, false, 0, Instant::ZERO);
        }
        queue
    }

    fn layout(queue: &SendQueue) -> Vec<(u64, u32, bool)> {
        queue.iter().map(|s| (s.ssn, s.len, s.lost)).collect()
    }

    #[test]
    fn what_is_too_long_is_cut_and_lost_if_it_was_sent() {
        let mut queue = queue(&[10, 4, 9, 10], 3);
        queue.mark_sacked(2);
        queue.divide(4, 0..u64::MAX);
        assert!(queue.is_consistent());
        let lost = [(1, 4, true), (5, 4, true), (9, 2, true)];
        let rest = [(11, 4, false), (15, 4, false), (19, 4, false), (23, 1, false)];
        let unsent = [(24, 4, false), (28, 4, false), (32, 2, false)];
        assert_eq!(layout(&queue), [&lost[..], &rest[..], &unsent[..]].concat());
        assert_eq!((queue.packets_out(), queue.unsent(), queue.sacked_out, queue.lost_out), (7, 3, 3, 3));
        assert_eq!(queue.in_flight(), 1, "the segment that was short enough");
        assert_eq!(queue.oldest_transmission(), Some(3), "and only it can be found late");
        assert_eq!(queue.next_to_retransmit(), Some(0));
        assert_eq!(queue.iter().map(|s| s.fin).collect::<Vec<_>>().iter().rposition(|f| *f), Some(9));
        assert_eq!(queue.iter().filter(|s| s.fin).count(), 1);
        for (name, segment) in (0..).zip(queue.iter()) {
            assert_eq!(segment.dsn.0, segment.ssn + 1000);
            let data = Payload::Virtual { start: segment.ssn, len: segment.len };
            assert_eq!(queue.payload(name), Some(&data));
        }
    }

    #[test]
    fn a_piece_of_what_was_sent_keeps_the_whole_mapping() {
        let mut queue = queue(&[10, 10], 1);
        queue.divide(4, 0..u64::MAX);
        queue.divide(3, 0..u64::MAX);
        for ssn in [1, 4, 5, 10] {
            let declared = queue.declared_at(ssn).map(|d| (d.ssn, d.dsn, d.len));
            assert_eq!(declared, Some((1, DataSeq(1001), 10)), "byte {ssn}");
        }
        assert!(queue.declared_at(11).is_none(), "what was never sent is mapped anew");
        assert!(queue.sent_at(9).is_some() && queue.sent_at(11).is_none(), "a message cannot be about that");
    }

    #[test]
    fn unsent_segments_become_one_larger_one() {
        let mut queue = queue(&[10, 10, 10, 10], 1);
        assert!(!queue.join_unsent(25), "the last one has the FIN");
        assert!(queue.join_unsent(15));
        assert!(queue.is_consistent());
        assert_eq!(layout(&queue), [(1, 10, false), (11, 15, false), (26, 5, false), (31, 10, false)]);
        assert!(queue.join_unsent(20));
        assert_eq!(layout(&queue), [(1, 10, false), (11, 20, false), (31, 10, false)]);
        assert!(queue.is_consistent());
        assert_eq!(queue.payload(1), Some(&Payload::Virtual { start: 11, len: 20 }));
    }

    #[test]
    fn only_the_named_segments_are_cut() {
        let mut queue = queue(&[10, 10, 10], 3);
        queue.divide(5, 0..1);
        assert_eq!(layout(&queue), [(1, 5, true), (6, 5, true), (11, 10, false), (21, 10, false)]);
        assert_eq!(queue.sent_at(11).map(|s| s.len), Some(10));
        assert!(queue.sent_at(12).is_none(), "no segment starts there");
    }
}
