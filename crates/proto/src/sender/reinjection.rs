//! Data that another subflow must send again because the one that carries it is late, stale or gone.

use super::{Sender, longest_probe_interval};
use crate::config::{ConnectionConfig, FailureDetection};
use crate::paths::subflow::Subflow;
use crate::paths::table::{Split, SubflowTable};
use core::ops::Range;
use pathweave_scheduler::{DataSeq, SubflowId, SubflowSet};
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Segments of a late subflow's data that others send before the peer has acknowledged some: as many as one
/// acknowledgement answers.
const PASSED_BY: u64 = 2;

/// Most bytes that are sent again at one connection-level timeout.
pub(crate) const DATA_RETRANSMISSION: u64 = 64 << 10;

/// Ranges that wait for another subflow, disjoint and in the stream's order. So the data for which the reader waits
/// leaves first, whichever subflow lost it.
#[derive(Debug, Default)]
pub(crate) struct Reinjection {
    ranges: VecDeque<Range<DataSeq>>,
}

impl Reinjection {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The first waiting range.
    pub(crate) fn first(&self) -> Option<Range<DataSeq>> {
        self.ranges.front().cloned()
    }

    /// Whether the byte at `at` waits.
    fn contains(&self, at: DataSeq) -> bool {
        self.ranges.iter().any(|r| r.contains(&at))
    }

    /// Adds a range.
    pub(crate) fn add(&mut self, range: Range<DataSeq>) {
        let ranges = &mut self.ranges;
        let from = ranges.partition_point(|r| r.end < range.start);
        let to = ranges.partition_point(|r| r.start <= range.end);
        if from == to {
            return ranges.insert(from, range);
        }
        let (start, end) = (range.start.min(ranges[from].start), range.end.max(ranges[to - 1].end));
        ranges[from] = start..end;
        ranges.drain(from + 1..to);
    }

    /// Drops the first range.
    pub(crate) fn drop_first(&mut self) {
        self.ranges.pop_front();
    }

    /// Drops everything before `to`.
    pub(crate) fn advance(&mut self, to: DataSeq) {
        if let Some(front) = self.ranges.front_mut() {
            front.start = front.start.max(to);
            if front.start >= front.end {
                self.ranges.pop_front();
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.ranges.shrink_to_fit();
    }
}

impl Sender {
    /// The subflows that carry the stream's next byte.
    pub(crate) fn holders(&self) -> SubflowSet {
        self.map.span_at(self.map.first_unacked()).map_or(SubflowSet::EMPTY, |(_, owners)| owners)
    }

    /// The longest timeout of a subflow that carries the stream's next byte.
    pub(crate) fn timeout_of_holders(&self, subflows: &SubflowTable, min_rto: Duration) -> Duration {
        let owners = self.holders();
        let holders = subflows.usable().filter(|s| owners.contains(s.id));
        holders.map(|s| s.tcp.rto()).max().unwrap_or_else(|| subflows.longest_timeout().unwrap_or(min_rto))
    }

    /// Sets the timer for data in flight. With failure detection `linux` that is mainline's connection-level
    /// retransmission timer, which takes as long as the longest timeout of any subflow. But vanished data is sent again
    /// before the connection is given up because no answer came.
    #[inline]
    pub(crate) fn arm_data_timer(&mut self, now: Instant, subflows: &SubflowTable, config: &ConnectionConfig) {
        if self.map.assigned_bytes() == 0 {
            return self.stop_data_timer();
        }
        let min_rto = config.tcp.min_rto;
        match config.failure_detection {
            FailureDetection::Fast if self.check.is_none() => {
                let timeout = self.timeout_of_holders(subflows, min_rto);
                let at = self.moved_at + timeout;
                self.check = Some(if at > now { at } else { now + timeout });
            }
            FailureDetection::Linux if self.data_timer.is_none() => {
                let timeout = subflows.longest_timeout().unwrap_or(min_rto);
                let timeout = timeout.min(longest_probe_interval(config.close_timeout));
                self.data_timer = Some(config.tcp.expiry(now, timeout));
            }
            _ => {}
        }
    }

    pub(crate) fn stop_data_timer(&mut self) {
        (self.data_timer, self.check) = (None, None);
    }

    /// The stream's first bytes, if they were acknowledged on every subflow that carries them but not at the data
    /// level: the peer dropped them there, or a middlebox acknowledged data that it did not deliver. "This timer will
    /// guard against retransmission failures by middleboxes that proactively ACK data" (RFC 8684 §3.3.6).
    //= RFC 8684 §3.3.6: "This timer will guard against retransmission failures by middleboxes that proactively ACK
    //= data"
    //= tests: mappings::data_out_of_the_window_is_dropped_and_not_acknowledged_but_comes_again, middleboxes::data_that_was_acknowledged_proactively_and_lost_comes_again
    pub(crate) fn vanished(&self, subflows: &SubflowTable) -> Option<Range<DataSeq>> {
        let first = self.map.first_unacked();
        let (span, _) = self.map.span_at(first)?;
        let mut end = span.end.min(first + DATA_RETRANSMISSION);
        for subflow in subflows.open() {
            for range in subflow.tcp.unacked_data().filter(|r| r.end > first) {
                end = end.min(range.start.max(first));
            }
        }
        (end > first && !self.reinjection.contains(first)).then_some(first..end)
    }

    /// Shortens `range`, which starts at the stream's next byte, to the part that the same subflows still retransmit;
    /// returns this part and these subflows. The part is taken back from its other carriers, on which it was
    /// acknowledged, so that they may carry it again.
    pub(crate) fn take_back_acknowledged(
        &mut self,
        subflows: &SubflowTable,
        range: Range<DataSeq>,
        owners: SubflowSet,
    ) -> (Range<DataSeq>, SubflowSet) {
        let Range { start, mut end } = range;
        let mut repeating = SubflowSet::EMPTY;
        for subflow in subflows.open() {
            for unacked in subflow.tcp.unacked_data().filter(|r| r.end > start) {
                if unacked.start <= start {
                    repeating = repeating.with(subflow.id);
                } else {
                    end = end.min(unacked.start);
                }
            }
        }
        for owner in owners.iter().filter(|owner| !repeating.contains(*owner)) {
            self.map.withdraw(start..end, owner);
        }
        (start..end, repeating)
    }

    /// Makes a range of one span unassigned again.
    pub(crate) fn take_back(&mut self, range: Range<DataSeq>) {
        let owners = self.map.span_at(range.start).map_or(SubflowSet::EMPTY, |(_, owners)| owners);
        for owner in owners.iter() {
            self.map.withdraw(range.clone(), owner);
        }
        if owners.is_empty() {
            self.map.withdraw(range, SubflowId(0));
        }
    }

    /// Called if a subflow carries the stream's next byte and its answer is overdue. Other subflows send its next
    /// segments too, and more of them with each DATA_ACK until it answers. So the stream continues before a timeout
    /// shows whether the path is dark, and if the path is only slow or has lost the end of a window, little arrives
    /// twice. Returns whether there is anything to send.
    pub(crate) fn pass_by(&mut self, now: Instant, at: &mut Split<'_>) -> bool {
        let first = self.map.first_unacked();
        let others = at.others().any(Subflow::answers);
        let subflow = &mut *at.subflow;
        if !others || !subflow.tcp.unacked_data().any(|r| r.contains(&first)) {
            return false;
        }
        subflow.health.miss_answer();
        self.passing_by = true;
        // Data that left just now is not late; if a window opened again after a loss, that is most of it.
        let end = first + PASSED_BY * u64::from(subflow.tcp.mss());
        for range in subflow.tcp.overdue_data(now).filter(|r| r.end > first && r.start < end) {
            self.reinjection.add(range);
        }
        self.make_way(at);
        true
    }

    /// Makes all unacknowledged data unassigned again, even data that other subflows carry at this moment. Failure
    /// detection `linux` does that whenever a subflow ends or becomes stale.
    pub(crate) fn send_everything_again(&mut self) {
        self.map.withdraw_all();
        self.reinjection.clear();
    }

    /// Hands the data of a subflow over to others. Data that it has not sent yet becomes unassigned.
    pub(crate) fn hand_over(&mut self, at: &mut Split<'_>) {
        for range in at.subflow.tcp.take_unsent() {
            self.map.withdraw(range, at.subflow.id);
        }
        for range in at.subflow.tcp.unacked_data() {
            self.reinjection.add(range);
        }
        self.make_way(at);
    }

    /// Takes back what other subflows have queued beyond their windows, because the data of this one comes before it in the
    /// stream.
    fn make_way(&mut self, at: &mut Split<'_>) {
        if self.reinjection.is_empty() {
            return;
        }
        for subflow in at.others_mut().filter(|s| s.usable()) {
            for range in subflow.tcp.take_unsent() {
                self.map.withdraw(range.clone(), subflow.id);
                if self.map.span_at(range.start).is_some() {
                    // It was to be sent again for another subflow that lost it.
                    self.reinjection.add(range);
                }
            }
        }
    }

    /// Notes that `id` carries nothing any more. Data that only it carried waits for other subflows, even if it was
    /// acknowledged on `id`: only a DATA_ACK shows that the peer has it.
    pub(crate) fn release(&mut self, id: SubflowId) {
        let alone = |owners: SubflowSet| owners == SubflowSet::only(id);
        for (range, _) in self.map.spans_from(self.map.first_unacked()).filter(|(_, owners)| alone(*owners)) {
            self.reinjection.add(range);
        }
        self.map.release(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_waits_is_in_order_and_disjoint(ranges in proptest::collection::vec((0u64..200, 1u64..30), 1..30)) {
            let mut waiting = Reinjection::default();
            let mut waits = [false; 230];
            for (start, len) in ranges {
                waiting.add(DataSeq(start)..DataSeq(start + len));
                waits[start as usize..(start + len) as usize].fill(true);
                let queue = &waiting.ranges;
                prop_assert!(queue.iter().zip(queue.iter().skip(1)).all(|(a, b)| a.end < b.start), "{:?}", queue);
                for (i, w) in waits.iter().enumerate() {
                    prop_assert_eq!(waiting.contains(DataSeq(i as u64)), *w);
                }
            }
        }
    }
}
