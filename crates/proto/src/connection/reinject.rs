//! Carrying data again on other subflows: after a timeout, with a dead subflow, and opportunistically (`pr`).

use super::{Connection, Trace};
use crate::paths::health::PROBE_INTERVAL;
use crate::paths::subflow::Subflow;
use crate::scheduler::{Assign, Event, Reason, SubflowView, WindowUse};
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use core::ops::Range;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// The most of a late subflow's data that others carry before the peer says that it has some of it, segments: as many as
/// one acknowledgement answers.
const PASSED_BY: u64 = 2;

/// The most that one connection-level timeout sends again, bytes.
const DATA_RETRANSMISSION: u64 = 64 << 10;

impl Connection {
    /// The longest timeout of a subflow with data out.
    fn longest_timeout(&self) -> Duration {
        let busy = self.subflows.iter().filter(|s| s.usable() && s.tcp.queue().packets_out() > 0);
        busy.map(|s| s.tcp.rto()).max().unwrap_or(self.config.tcp.min_rto)
    }

    /// The longest timeout of a subflow that carries the stream's next byte.
    fn timeout_of_holders(&self) -> Duration {
        let owners = self.send.span_at(self.send.first_unacked()).map_or(SubflowSet::EMPTY, |(_, owners)| owners);
        let holders = self.subflows.iter().filter(|s| s.usable() && owners.contains(s.id));
        holders.map(|s| s.tcp.rto()).max().unwrap_or_else(|| self.longest_timeout())
    }

    /// Failure detection `linux`: mainline's connection-level retransmission timer runs while data is out, for as long as
    /// the longest timeout of a subflow.
    pub(super) fn arm_data_timer(&mut self, now: Instant) {
        if !self.is_mptcp() || self.send.assigned_bytes() == 0 {
            self.data_timer = None;
            self.check = None;
        } else if self.fast_detection() {
            if self.check.is_none() {
                let timeout = self.timeout_of_holders();
                let at = self.moved_at + timeout;
                self.check = Some(if at > now { at } else { now + timeout });
            }
        } else if self.data_timer.is_none() {
            self.data_timer = Some(self.config.host.expiry(now, self.longest_timeout()));
        }
    }

    /// When [`Connection::handle_check`] wants to be called. It is no timer: mostly nothing comes of it.
    pub(crate) fn poll_check(&self) -> Option<Instant> {
        self.check
    }

    /// Failure detection `fast`: looks whether the stream has stood still for a timeout of who carries its next byte:
    /// something has vanished, or waits behind what its subflow repairs. Returns whether there is anything to do now.
    pub(crate) fn handle_check(&mut self, now: Instant) -> bool {
        if self.check.take_if(|at| *at <= now).is_none() {
            return false;
        }
        let stands = now.since(self.moved_at) >= self.timeout_of_holders();
        let found = stands && (self.take_back_vanished() || self.pass_by_holders(now));
        if found {
            // What goes out again is no sign of life.
            let (progress_at, stream_moved_at) = (self.progress_at, self.stream_moved_at);
            self.schedule(now);
            (self.progress_at, self.stream_moved_at) = (progress_at, stream_moved_at);
        } else {
            self.arm_data_timer(now);
        }
        found
    }

    /// Others carry what the subflows that hold the stream's next byte have not delivered for long.
    fn pass_by_holders(&mut self, now: Instant) -> bool {
        let Some((_, owners)) = self.send.span_at(self.send.first_unacked()) else { return false };
        let mut found = false;
        for id in owners.iter() {
            found |= self.handle_late_subflow(now, id);
        }
        found
    }

    /// The stream has gone on: while nothing is heard of a late subflow, others carry more of what it carries.
    pub(super) fn pass_by_late(&mut self, now: Instant) {
        self.passing_by = false;
        for id in self.subflows.ids() {
            if self.subflows.get(id).is_some_and(|s| s.health.is_late()) {
                self.passing_by = true;
                self.handle_late_subflow(now, id);
            }
        }
    }

    /// Data whose every carrier has been acknowledged on its subflow, but that is not acknowledged at the data level: the
    /// peer dropped it there, or a middlebox acknowledged what it did not deliver. "This timer will guard against
    /// retransmission failures by middleboxes that proactively ACK data" (RFC 8684 §3.3.6).
    //= RFC 8684 §3.3.6: "This timer will guard against retransmission failures by middleboxes that proactively ACK
    //= data"
    //= tests: mappings::data_out_of_the_window_is_dropped_and_not_acknowledged_but_comes_again, middleboxes::data_that_was_acknowledged_proactively_and_lost_comes_again
    fn take_back_vanished(&mut self) -> bool {
        if self.may_have_left() {
            return false;
        }
        let first = self.send.first_unacked();
        let Some((span, owners)) = self.send.span_at(first) else { return false };
        let mut end = span.end.min(first + DATA_RETRANSMISSION);
        for subflow in self.subflows.open() {
            for range in subflow.tcp.unacked_data().filter(|r| r.end > first) {
                end = end.min(range.start.max(first));
            }
        }
        if end <= first || self.reinject.iter().any(|r| r.start <= first && first < r.end) {
            return false;
        }
        for owner in owners.iter() {
            self.send.withdraw(first..end, owner);
        }
        if owners.is_empty() {
            self.send.withdraw(first..end, SubflowId(0));
        }
        self.counters.reinjected_segments += 1;
        true
    }

    /// The connection-level timer: the first data that is not acknowledged goes out again on a subflow that does not
    /// carry it, an idle one first; subflows that have been silent for long become stale.
    pub(super) fn handle_data_timeout(&mut self, now: Instant) {
        self.data_timer = None;
        let mut silent = Vec::new();
        for subflow in self.subflows.iter_mut().filter(|s| s.usable() && s.tcp.queue().packets_out() > 0) {
            if subflow.silence.time_out(subflow.tcp.acked_offset()) && !subflow.health.is_stale() {
                silent.push(subflow.id);
            }
        }
        for id in silent {
            if self.subflows.iter().any(|s| s.id != id && s.is_alive()) {
                if let Some(subflow) = self.subflows.get_mut(id) {
                    subflow.health.time_out();
                }
                self.send_everything_again();
            }
        }
        let first = self.send.first_unacked();
        let Some((span, owners)) = self.send.span_at(first) else { return };
        let mut views = core::mem::take(&mut self.views);
        self.fill_views(&mut views);
        let other = self
            .view(now, &views)
            .candidates()
            .filter(|s| !owners.contains(s.id) && s.has_space())
            .min_by_key(|s| (s.unacked + s.unsent > 0, s.srtt_or_zero()))
            .map(|s| s.id);
        if let Some(subflow) = other {
            let assign = Assign {
                subflow,
                range: first..span.end.min(first + DATA_RETRANSMISSION),
                window: WindowUse::Respect,
                reason: Reason::new("connection-level retransmission timer"),
            };
            if let Ok((range, _)) = self.carry_out(&assign, &mut views) {
                self.counters.reinjected_segments += 1;
                self.record(|| Trace::Repeated { at: now, subflow, range, reason: assign.reason });
            }
        }
        self.views = views;
    }

    /// Failure detection `fast`: a subflow holds the stream's next byte and has not answered for two round trips, or the
    /// stream has stood still for a timeout. Others carry the next of what it carries too, and more with each DATA_ACK until
    /// it answers: the stream goes on before the timeout tells whether the path is dark, and where the path has only lost
    /// the end of a window, or is slow, not much arrives twice. Returns whether something is to be carried.
    pub(super) fn handle_late_subflow(&mut self, now: Instant, id: SubflowId) -> bool {
        if !self.is_mptcp() || !self.fast_detection() {
            return false;
        }
        let first = self.send.first_unacked();
        let others = self.subflows.iter().any(|s| s.id != id && s.answers());
        let Some(subflow) = self.subflows.get_mut(id) else { return false };
        if !others || !subflow.tcp.unacked_data().any(|r| r.contains(&first)) {
            return false;
        }
        subflow.health.miss_answer();
        self.passing_by = true;
        // What went out just now is not late: where a window opened again after a loss, that is most of it.
        let end = first + PASSED_BY * u64::from(subflow.tcp.mss());
        for range in subflow.tcp.overdue_data(now).filter(|r| r.end > first && r.start < end) {
            Self::queue_reinjection(&mut self.reinject, range);
        }
        self.make_way(id);
        true
    }

    /// A retransmission timeout on `id`: its data goes to others, and it gets no new data until it shows a sign of life.
    pub(super) fn handle_subflow_timeout(&mut self, id: SubflowId) {
        if !self.is_mptcp() || !self.fast_detection() {
            return;
        }
        let alive = self.subflows.iter().any(|s| s.id != id && s.is_alive());
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        subflow.tcp.probe_at_least_every(Some(PROBE_INTERVAL));
        subflow.health.time_out();
        self.joins.request();
        if alive {
            self.hand_over(id);
        }
    }

    /// Failure detection `linux`: whenever a subflow ends or turns stale, all that the peer has not acknowledged at the data
    /// level is scheduled anew from its first byte on, what living subflows carry at this moment too.
    fn send_everything_again(&mut self) {
        if self.may_have_left() {
            return;
        }
        self.send.withdraw_all();
        self.reinject.clear();
    }

    /// What `id` carries is queued for others; what it never sent is unassigned again.
    pub(super) fn hand_over(&mut self, id: SubflowId) {
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        for range in subflow.tcp.take_unsent() {
            self.send.withdraw(range, id);
        }
        for range in subflow.tcp.unacked_data() {
            Self::queue_reinjection(&mut self.reinject, range);
        }
        self.make_way(id);
    }

    /// What others have queued beyond their windows is unassigned again: what `id` carried comes before it in the stream.
    fn make_way(&mut self, id: SubflowId) {
        if self.reinject.is_empty() {
            return;
        }
        for subflow in self.subflows.iter_mut().filter(|s| s.id != id && s.usable()) {
            for range in subflow.tcp.take_unsent() {
                self.send.withdraw(range.clone(), subflow.id);
                if self.send.span_at(range.start).is_some() {
                    // It was to carry again what somebody else lost.
                    Self::queue_reinjection(&mut self.reinject, range);
                }
            }
        }
    }

    /// Adds a range to those that wait, which are in the stream's order and disjoint: what the reader waits for goes first,
    /// whoever lost it.
    fn queue_reinjection(queue: &mut VecDeque<Range<DataSeq>>, range: Range<DataSeq>) {
        let from = queue.partition_point(|r| r.end < range.start);
        let to = queue.partition_point(|r| r.start <= range.end);
        if from == to {
            return queue.insert(from, range);
        }
        let (start, end) = (range.start.min(queue[from].start), range.end.max(queue[to - 1].end));
        queue[from] = start..end;
        queue.drain(from + 1..to);
    }

    /// A subflow is over: everything that it alone carried is carried again, and it is joined again.
    pub(super) fn lose_subflow(&mut self, now: Instant, id: SubflowId) {
        if self.subflows.get_mut(id).is_some_and(|s| !s.health.is_down()) {
            self.end_subflow(now, id);
            self.joins.after_loss(now);
        }
    }

    /// As [`Connection::lose_subflow`], after nothing answered for long: the path is dark, so that its probes go on.
    pub(super) fn lose_dark_subflow(&mut self, now: Instant, id: SubflowId) {
        if self.fast_detection() {
            self.joins.forget_losses();
        }
        self.lose_subflow(now, id);
    }

    /// A subflow is over.
    pub(super) fn end_subflow(&mut self, now: Instant, id: SubflowId) {
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        let was_up = subflow.health.end();
        // A join that nobody answers is tried again and again, one that was refused had no part in anything: only the join that
        // came too late for its own side counts, as in the kernel.
        let too_late = self.role == super::Role::Client && self.closes_to_joins();
        if self.is_mptcp() && !self.fast_detection() && (was_up || too_late) {
            self.send_everything_again();
        }
        self.hand_over(id);
        // What the subflow has acknowledged too: only a DATA_ACK says that the peer has it.
        let alone = |owners: SubflowSet| owners == SubflowSet::only(id);
        for (range, _) in self.send.spans_from(self.send.first_unacked()).filter(|(_, owners)| alone(*owners)) {
            Self::queue_reinjection(&mut self.reinject, range);
        }
        self.send.release(id);
        if was_up {
            // Without any other, the time in which one may join begins. A join that is refused does not prolong it.
            self.note_living_subflow(now);
            self.tell(now, |_| Event::SubflowDown(id));
            self.events.push_back(super::ConnectionEvent::SubflowDown(id));
        }
    }

    /// The subflow answered: it may carry new data again.
    pub(super) fn revive(&mut self, now: Instant, id: SubflowId) {
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        if subflow.health.answer() {
            subflow.tcp.answered_again(now);
            self.tell(now, |_| Event::SubflowUp(id));
        }
    }

    /// Assigns what waits for reinjection to the subflow with the lowest round-trip time that does not carry it.
    pub(super) fn reinject_waiting(&mut self, now: Instant, views: &mut [SubflowView]) {
        let fast = self.fast_detection();
        while let Some(range) = self.reinject.front().cloned() {
            let start = range.start.max(self.send.first_unacked());
            if start >= range.end {
                self.reinject.pop_front();
                continue;
            }
            let Some((span, owners)) = self.send.span_at(start) else {
                // Unassigned again: the scheduler sends it.
                self.reinject.pop_front();
                continue;
            };
            let end = span.end.min(range.end);
            // What a subflow lost waits for round trips where it is more than its window.
            let repairs = |s: &Subflow| fast && s.tcp.is_repairing();
            let living = |s: &Subflow| s.answers() && !repairs(s);
            let living_owner = self.subflows.iter().any(|s| owners.contains(s.id) && living(s));
            if living_owner && !owners.is_empty() {
                // Someone else carries it already.
                self.advance_reinjection(end);
                continue;
            }
            let best = self
                .view(now, views)
                .candidates()
                .filter(|s| !owners.contains(s.id) && s.has_space())
                .min_by_key(|s| s.srtt_or_zero())
                .map(|s| (s.id, u64::from(s.mss)));
            let Some((subflow, mss)) = best else { return };
            let piece = start..end.min(start + mss);
            let assign = Assign {
                subflow,
                range: piece.clone(),
                window: WindowUse::Respect,
                reason: Reason::new("reinjection: lowest srtt that does not carry it"),
            };
            match self.carry_out(&assign, views) {
                Ok((done, _)) => {
                    self.counters.reinjected_segments += 1;
                    self.advance_reinjection(done.end);
                    self.record(|| Trace::Repeated { at: now, subflow, range: done, reason: assign.reason });
                }
                Err(_) => return,
            }
        }
    }

    fn advance_reinjection(&mut self, to: DataSeq) {
        if let Some(front) = self.reinject.front_mut() {
            front.start = front.start.max(to);
            if front.start >= front.end {
                self.reinject.pop_front();
            }
        }
    }

    /// NSDI 2012 §4.2 (the papers' PR): when the receive window blocks, the segment that holds it up is sent on a faster
    /// subflow with space, and the slow subflow's window is halved, at most once per its round trip. Returns whether a
    /// segment was sent.
    pub(super) fn opportunistic_retransmission(&mut self, now: Instant, views: &mut [SubflowView]) -> bool {
        if !self.config.pr || !self.send_window_is_full() {
            return false;
        }
        let first = self.send.first_unacked();
        let Some((span, owners)) = self.send.span_at(first) else { return false };
        let Some(slow) = owners.iter().find_map(|id| views.iter().find(|v| v.id == id)) else { return false };
        let (slow_id, slow_srtt) = (slow.id, slow.srtt_or_zero());
        let fast = self
            .view(now, views)
            .candidates()
            .filter(|s| !owners.contains(s.id) && s.has_space() && s.srtt_or_zero() < slow_srtt)
            .min_by_key(|s| s.srtt_or_zero())
            .map(|s| (s.id, u64::from(s.mss)));
        let Some((fast, mss)) = fast else { return false };
        let assign = Assign {
            subflow: fast,
            range: first..span.end.min(first + mss),
            window: WindowUse::Respect,
            reason: Reason::new("opportunistic retransmission of the blocking segment"),
        };
        let Ok((range, _)) = self.carry_out(&assign, views) else { return false };
        self.record(|| Trace::Repeated { at: now, subflow: fast, range, reason: assign.reason });
        self.counters.opportunistic_retransmissions += 1;
        if let Some(subflow) = self.subflows.get_mut(slow_id)
            && subflow.penalised_at.is_none_or(|t| now.since(t) >= slow_srtt)
        {
            subflow.penalised_at = Some(now);
            subflow.tcp.penalise();
            self.counters.penalisations += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_waits_is_in_order_and_disjoint(ranges in proptest::collection::vec((0u64..200, 1u64..30), 1..30)) {
            let mut queue = VecDeque::new();
            let mut waits = [false; 230];
            for (start, len) in ranges {
                Connection::queue_reinjection(&mut queue, DataSeq(start)..DataSeq(start + len));
                waits[start as usize..(start + len) as usize].fill(true);
                prop_assert!(queue.iter().zip(queue.iter().skip(1)).all(|(a, b)| a.end < b.start), "{:?}", queue);
                for (i, w) in waits.iter().enumerate() {
                    prop_assert_eq!(queue.iter().any(|r| r.contains(&DataSeq(i as u64))), *w);
                }
            }
        }
    }
}
