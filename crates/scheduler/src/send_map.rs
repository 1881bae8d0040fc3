//! The map of the stream: which subflows carry which bytes.

use crate::seq::{DataSeq, SubflowId, SubflowSet};
use alloc::collections::VecDeque;
use core::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: DataSeq,
    end: DataSeq,
    /// Subflows that carry these bytes. Empty if these subflows are gone and the bytes wait for reinjection.
    owners: SubflowSet,
}

/// The stream from the first unacknowledged byte to the last written one, and the subflows that carry each part.
///
/// Parts that were never given to a subflow, or were taken back from all, are *unassigned*. Assigning at the end costs
/// O(1), and acknowledging O(1) for each span. Assigning elsewhere costs a binary search, and an insertion for each
/// span that it makes.
#[derive(Clone, Debug, Default)]
pub struct SendMap {
    first_unacked: DataSeq,
    written_end: DataSeq,
    /// Assigned spans: sorted, disjoint, not empty; adjacent spans with the same subflows are merged.
    spans: VecDeque<Span>,
    assigned_bytes: u64,
    /// The first byte that is neither acknowledged nor assigned, written or not.
    first_gap: DataSeq,
    /// End of all data that was ever given to a subflow, even if it was taken back since.
    given_end: DataSeq,
}

impl SendMap {
    /// An empty stream.
    pub fn new() -> Self {
        SendMap::default()
    }
    /// The first byte that is not acknowledged at the data level.
    #[inline]
    pub fn first_unacked(&self) -> DataSeq {
        self.first_unacked
    }
    /// End of the written data.
    #[inline]
    pub fn written_end(&self) -> DataSeq {
        self.written_end
    }
    /// End of the highest assigned span (TCP's SND.NXT); the first unacknowledged byte if nothing is assigned.
    #[inline]
    pub fn assigned_end(&self) -> DataSeq {
        self.spans.back().map_or(self.first_unacked, |s| s.end)
    }
    /// End of all data that was ever given to a subflow. A part before it may be unassigned now, because its subflow
    /// was lost; the receiver may get it all the same.
    #[inline]
    pub fn given_end(&self) -> DataSeq {
        self.given_end
    }
    /// Whether data that was given to a subflow is unacknowledged, even if no subflow carries it now.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.given_end > self.first_unacked
    }
    /// Written bytes that are not assigned to any subflow.
    #[inline]
    pub fn unassigned_bytes(&self) -> u64 {
        self.written_end.since(self.first_unacked) - self.assigned_bytes
    }
    /// Bytes that are assigned and not acknowledged at the data level, each counted once.
    #[inline]
    pub fn assigned_bytes(&self) -> u64 {
        self.assigned_bytes
    }
    /// Notes that the application has written `len` more bytes.
    #[inline]
    pub fn append(&mut self, len: u64) {
        self.written_end = self.written_end + len;
    }
    /// Notes that all bytes before `to` are acknowledged; `to` counts at most as the end of the written data. Returns
    /// the number of newly acknowledged bytes.
    #[inline]
    pub fn acknowledge(&mut self, to: DataSeq) -> u64 {
        let to = to.min(self.written_end);
        let newly = to.since(self.first_unacked);
        if newly == 0 {
            return 0;
        }
        self.first_unacked = to;
        if self.first_gap < to {
            self.first_gap = to;
            self.pass_assigned();
        }
        while let Some(span) = self.spans.front_mut() {
            if span.end <= to {
                self.assigned_bytes -= span.end.since(span.start);
                self.spans.pop_front();
            } else {
                if span.start < to {
                    self.assigned_bytes -= to.since(span.start);
                    span.start = to;
                }
                break;
            }
        }
        newly
    }

    /// Moves the first gap behind the assigned spans that follow it. Each span is passed once.
    fn pass_assigned(&mut self) {
        let next = self.index_after(self.first_gap);
        for span in self.spans.range(next..) {
            if self.first_gap < span.start {
                break;
            }
            self.first_gap = span.end;
        }
    }

    /// Frees spare capacity.
    pub fn shrink(&mut self) {
        self.spans.shrink_to_fit();
    }

    /// Index of the first span that ends after `at`.
    #[inline]
    fn index_after(&self, at: DataSeq) -> usize {
        // Usually it is the first one, or behind all.
        if self.spans.front().is_some_and(|first| at < first.end) {
            return 0;
        }
        match self.spans.back() {
            Some(last) if last.end <= at => self.spans.len(),
            _ => self.spans.partition_point(|s| s.end <= at),
        }
    }

    /// Splits the span that contains `at`, if one does, so that a span starts at `at`. Returns the index of the first
    /// span that starts at or after `at`.
    fn split_at(&mut self, at: DataSeq) -> usize {
        let i = self.index_after(at);
        match self.spans.get(i).copied() {
            Some(span) if span.start < at => {
                self.spans[i].end = at;
                self.spans.insert(i + 1, Span { start: at, ..span });
                i + 1
            }
            _ => i,
        }
    }

    /// Merges the spans `i - 1` and `i` if they touch and have the same subflows.
    fn join(&mut self, i: usize) {
        if i == 0 || i >= self.spans.len() {
            return;
        }
        let (a, b) = (self.spans[i - 1], self.spans[i]);
        if a.end == b.start && a.owners == b.owners {
            self.spans[i - 1].end = b.end;
            self.spans.remove(i);
        }
    }

    /// Assigns `range` to `subflow`, in addition to the subflows that carry it already. Acknowledged and unwritten
    /// parts are ignored.
    pub fn assign(&mut self, range: Range<DataSeq>, subflow: SubflowId) {
        let (start, end) = (range.start.max(self.first_unacked), range.end.min(self.written_end));
        if start >= end {
            return;
        }
        self.given_end = self.given_end.max(end);
        if self.assigned_end() <= start {
            self.assigned_bytes += end.since(start);
            if self.first_gap == start {
                self.first_gap = end;
            }
            let owners = SubflowSet::only(subflow);
            match self.spans.back_mut() {
                Some(last) if last.end == start && last.owners == owners => last.end = end,
                _ => self.spans.push_back(Span { start, end, owners }),
            }
            return;
        }
        let first = self.split_at(start);
        self.split_at(end);
        let mut i = first;
        let mut at = start;
        while at < end {
            match self.spans.get(i).copied() {
                Some(span) if span.start == at => {
                    self.spans[i].owners = span.owners.with(subflow);
                    at = span.end;
                }
                next => {
                    let gap_end = next.map_or(end, |s| s.start.min(end));
                    self.spans.insert(i, Span { start: at, end: gap_end, owners: SubflowSet::only(subflow) });
                    self.assigned_bytes += gap_end.since(at);
                    at = gap_end;
                }
            }
            i += 1;
        }
        for border in (first..=i).rev() {
            self.join(border);
        }
        if (start..end).contains(&self.first_gap) {
            self.pass_assigned();
        }
    }

    /// Takes `range` back from `subflow`, whether it was sent or not. Parts that no other subflow carries become
    /// unassigned.
    pub fn withdraw(&mut self, range: Range<DataSeq>, subflow: SubflowId) {
        let (start, end) = (range.start.max(self.first_unacked), range.end);
        if start >= end {
            return;
        }
        let first = self.split_at(start);
        self.split_at(end);
        let mut i = first;
        while let Some(span) = self.spans.get_mut(i).filter(|s| s.start < end) {
            span.owners = span.owners.without(subflow);
            if span.owners.is_empty() {
                self.assigned_bytes -= span.end.since(span.start);
                self.spans.remove(i);
            } else {
                i += 1;
            }
        }
        for border in (first..=i).rev() {
            self.join(border);
        }
        if start < self.first_gap {
            self.first_gap = start;
            self.pass_assigned();
        }
    }

    /// Notes that `subflow` is gone and carries nothing any more. Parts that only it carried stay assigned, without a
    /// subflow, until they are given to another one or withdrawn.
    pub fn release(&mut self, subflow: SubflowId) {
        for span in &mut self.spans {
            span.owners = span.owners.without(subflow);
        }
        for border in (1..self.spans.len()).rev() {
            self.join(border);
        }
    }

    /// Makes all unacknowledged data unassigned, whichever subflow carries it.
    pub fn withdraw_all(&mut self) {
        self.spans.clear();
        self.assigned_bytes = 0;
        self.first_gap = self.first_unacked;
    }

    /// The subflows that carry any byte of `range`.
    pub fn owners(&self, range: Range<DataSeq>) -> SubflowSet {
        self.spans
            .iter()
            .skip(self.index_after(range.start))
            .take_while(|s| s.start < range.end)
            .fold(SubflowSet::EMPTY, |all, s| all.union(s.owners))
    }

    /// The rest of the assigned span that contains `at`, from `at` on, and its subflows; `None` if `at` is unassigned.
    #[inline]
    pub fn span_at(&self, at: DataSeq) -> Option<(Range<DataSeq>, SubflowSet)> {
        let span = self.spans.get(self.index_after(at))?;
        (span.start <= at).then_some((at..span.end, span.owners))
    }

    /// The last assigned span, and its subflows.
    #[inline]
    pub fn last_span(&self) -> Option<(Range<DataSeq>, SubflowSet)> {
        self.spans.back().map(|span| (span.start..span.end, span.owners))
    }

    /// Assigned spans from `from` on, in order, with their subflows.
    pub fn spans_from(&self, from: DataSeq) -> impl Iterator<Item = (Range<DataSeq>, SubflowSet)> + '_ {
        self.spans.iter().skip(self.index_after(from)).map(move |s| (s.start.max(from)..s.end, s.owners))
    }

    /// Unassigned ranges, in order.
    pub fn unassigned(&self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        let mut at = self.first_gap;
        let mut spans = self.spans.range(self.index_after(at)..);
        let mut done = false;
        core::iter::from_fn(move || {
            while !done {
                let gap = match spans.next() {
                    Some(span) => {
                        let gap = at..span.start;
                        at = span.end;
                        gap
                    }
                    None => {
                        done = true;
                        at..self.written_end
                    }
                };
                if gap.start < gap.end {
                    return Some(gap);
                }
            }
            None
        })
    }

    /// Skips the first `bytes` unassigned bytes, and returns the rest of the unassigned range in which the next one
    /// lies. `None` if there is no such byte, or that range begins at `end` or later.
    pub fn unassigned_beyond(&self, bytes: u64, end: DataSeq) -> Option<Range<DataSeq>> {
        let (mut left, mut at) = (bytes, self.first_gap);
        for span in self.spans.range(self.index_after(at)..) {
            let gap = span.start.since(at);
            if left < gap {
                return (at < end).then_some(at + left..span.start);
            }
            left -= gap;
            at = span.end;
        }
        (left < self.written_end.since(at) && at < end).then_some(at + left..self.written_end)
    }

    /// The first unassigned range.
    #[inline]
    pub fn first_unassigned(&self) -> Option<Range<DataSeq>> {
        if self.unassigned_bytes() == 0 {
            return None;
        }
        let end = self.spans.get(self.index_after(self.first_gap)).map_or(self.written_end, |next| next.start);
        Some(self.first_gap..end)
    }

    /// The part of the first unassigned range before `window_end`.
    #[inline]
    pub fn sendable(&self, window_end: DataSeq) -> Option<Range<DataSeq>> {
        let range = self.first_unassigned()?;
        let end = range.end.min(window_end);
        (range.start < end).then_some(range.start..end)
    }

    /// The first written range at or after `from` that `subflow` does not carry, whether others carry it or not.
    pub fn first_not_carried_by(&self, subflow: SubflowId, from: DataSeq) -> Option<Range<DataSeq>> {
        let mut at = from.max(self.first_unacked);
        for span in self.spans.iter().skip(self.index_after(at)) {
            if at < span.start {
                return Some(at..span.start);
            }
            if !span.owners.contains(subflow) {
                return Some(at..span.end);
            }
            at = span.end;
        }
        (at < self.written_end).then_some(at..self.written_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const A: SubflowId = SubflowId(0);
    const B: SubflowId = SubflowId(1);

    fn range(start: u64, end: u64) -> Range<DataSeq> {
        DataSeq(start)..DataSeq(end)
    }

    #[test]
    fn gaps_are_unassigned() {
        let mut map = SendMap::new();
        map.append(100);
        map.assign(range(0, 10), A);
        map.assign(range(50, 60), B);
        assert_eq!(map.unassigned().collect::<Vec<_>>(), [range(10, 50), range(60, 100)]);
        assert_eq!(map.first_unassigned(), Some(range(10, 50)));
        assert_eq!(map.unassigned_bytes(), 80);
        map.assign(range(5, 55), B);
        assert_eq!(map.owners(range(0, 5)), SubflowSet::only(A));
        assert_eq!(map.owners(range(0, 6)), SubflowSet::only(A).with(B));
        assert_eq!(map.first_not_carried_by(A, DataSeq(0)), Some(range(10, 60)));
        assert_eq!(map.acknowledge(DataSeq(58)), 58);
        assert_eq!(map.unassigned().collect::<Vec<_>>(), [range(60, 100)]);
        assert_eq!(map.assigned_bytes(), 2);
    }

    proptest! {
        #[test]
        fn agrees_with_one_set_a_byte(steps in proptest::collection::vec((0u8..5, 0u64..200, 0u64..40, 0u8..3), 1..60)) {
            let mut map = SendMap::new();
            let mut bytes: Vec<Option<SubflowSet>> = Vec::new();
            let mut acked = 0;
            for (kind, at, len, id) in steps {
                let id = SubflowId(id);
                match kind {
                    0 => {
                        map.append(len);
                        bytes.extend((0..len).map(|_| None));
                    }
                    1 => {
                        map.acknowledge(DataSeq(at));
                        acked = acked.max((at as usize).min(bytes.len()));
                    }
                    2 => {
                        map.assign(range(at, at + len), id);
                        let end = ((at + len) as usize).min(bytes.len());
                        for b in &mut bytes[(at as usize).max(acked).min(end)..end] {
                            *b = Some(b.unwrap_or_default().with(id));
                        }
                    }
                    3 => {
                        map.withdraw(range(at, at + len), id);
                        let end = ((at + len) as usize).min(bytes.len());
                        for b in &mut bytes[(at as usize).max(acked).min(end)..end] {
                            *b = b.map(|b| b.without(id)).filter(|b| !b.is_empty());
                        }
                    }
                    _ => {
                        map.release(id);
                        for b in bytes[acked..].iter_mut().flatten() {
                            *b = b.without(id);
                        }
                    }
                }
                prop_assert_eq!(map.first_unacked().0 as usize, acked);
                prop_assert_eq!(map.written_end().0 as usize, bytes.len());
                let assigned: Vec<_> = map.spans_from(DataSeq(acked as u64)).collect();
                prop_assert_eq!(map.last_span(), assigned.last().cloned());
                let unassigned = bytes[acked..].iter().filter(|b| b.is_none()).count() as u64;
                prop_assert_eq!(map.unassigned_bytes(), unassigned);
                prop_assert_eq!(map.unassigned().map(|r| r.end.since(r.start)).sum::<u64>(), unassigned);
                let first = bytes[acked..].iter().position(|b| b.is_none()).map(|at| (acked + at) as u64);
                prop_assert_eq!(map.first_unassigned().map(|r| r.start.0), first);
                prop_assert_eq!(map.first_unassigned(), map.unassigned().next());
                let free = (acked..bytes.len()).filter(|i| bytes[*i].is_none()).nth(at as usize);
                let gap = free.and_then(|free| map.unassigned().find(|r| r.end.0 > free as u64));
                let expected = |end| gap.clone().filter(|r| r.start < end).zip(free).map(|(r, free)| DataSeq(free as u64)..r.end);
                for end in [DataSeq(len), DataSeq(1000)] {
                    prop_assert_eq!(map.unassigned_beyond(at, end), expected(end));
                }
                for (i, b) in bytes.iter().enumerate().skip(acked) {
                    prop_assert_eq!(map.span_at(DataSeq(i as u64)).map(|s| s.1), *b);
                    let expected = bytes[i..].iter().position(|b| !b.is_some_and(|b| b.contains(id))).map(|p| i + p);
                    let found = map.first_not_carried_by(id, DataSeq(i as u64)).map(|r| r.start.0 as usize);
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
