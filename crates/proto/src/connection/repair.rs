//! Paths that do not answer: sending past late subflows, handing over the data of stale and dead ones, and reinjection.
//!
//! [`Health`](crate::paths::health::Health) knows whether one path answers. [`Sender`](crate::sender::Sender)
//! (`sender/reinjection.rs`) knows which ranges of the stream other subflows then send. The functions here say when to
//! ask the two, and report the results.

use super::{Connection, Happening, Kinds, Shared};
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::{Split, SubflowTable};
use crate::sender::reinjection::DATA_RETRANSMISSION;
use core::ops::Range;
use pathweave_scheduler::{Assign, DataSeq, Event, Reason, SubflowId, SubflowSet, SubflowView, WindowUse};
use pathweave_units::Instant;

impl Connection {
    /// When [`Connection::handle_check`] is to be called. It is no timer, because usually the check changes nothing.
    pub(crate) fn poll_check(&self) -> Option<Instant> {
        self.shared.sender.check
    }

    /// Failure detection `fast`: checks whether the stream has stood still for a whole timeout of the subflow that
    /// carries its next byte. If so, data has vanished, or it waits for its subflow to repair losses. Returns whether
    /// there is something to send now.
    pub(crate) fn handle_check(&mut self, now: Instant) -> bool {
        if self.shared.sender.check.take_if(|at| *at <= now).is_none() {
            return false;
        }
        let stands = now.since(self.shared.sender.moved_at)
            >= self.shared.sender.timeout_of_holders(&self.subflows, self.shared.config.tcp.min_rto);
        let found = stands && (self.repair_vanished(now) || self.pass_by(now, self.shared.sender.holders()));
        if found {
            self.schedule(now);
            self.shared.news.record_health(now, &mut self.subflows);
        } else {
            self.shared.arm_data_timer(now, &self.subflows);
        }
        found
    }

    /// The stream has moved on. While a late subflow stays silent, others send more of its data.
    pub(super) fn pass_by_late(&mut self, now: Instant) {
        let late = self.subflows.iter().filter(|s| s.health.is_late());
        let late = late.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
        self.shared.sender.passing_by = !late.is_empty();
        self.pass_by(now, late);
    }

    /// Data was acknowledged on its subflow but vanished before the data level. Another subflow carries it again, as
    /// much as its window allows; without another one it becomes unassigned. Returns whether there was such data.
    fn repair_vanished(&mut self, now: Instant) -> bool {
        if self.may_have_left() {
            return false;
        }
        let Some(range) = self.shared.sender.vanished(&self.subflows) else { return false };
        self.shared.counters.reinjected_segments += 1;
        let reason = Reason::new("acknowledged on its subflow, and not at the data level");
        // Not on the same subflow, where it would vanish again; a scheduler that prefers that subflow would never
        // notice.
        if !self.shared.carry_elsewhere(now, range.clone(), self.shared.sender.holders(), reason, &mut self.subflows) {
            self.shared.sender.take_back(range);
        }
        true
    }

    /// The connection's retransmission timer expired. The first unacknowledged data is sent again on a subflow that
    /// does not carry it, preferably an idle one. Subflows that have been silent for long become stale.
    pub(super) fn handle_data_timeout(&mut self, now: Instant) {
        self.shared.sender.data_timer = None;
        let mut alive = self.subflows.iter().filter(|s| s.is_alive()).count();
        let mut is_passed_by = false;
        for subflow in self.subflows.usable_mut().filter(|s| s.tcp.queue().packets_out() > 0) {
            let is_silent = subflow.silence.time_out(subflow.tcp.acked_offset()) && !subflow.health.is_stale();
            // The subflow itself is alive, too.
            if is_silent && alive > 1 {
                subflow.health.time_out();
                alive -= usize::from(subflow.health.is_stale());
                is_passed_by = true;
            }
        }
        if is_passed_by && self.may_send_everything_again() {
            self.shared.sender.send_everything_again();
        }
        let first = self.shared.sender.map.first_unacked();
        // Everything that was assigned is acknowledged, or is unassigned again, so the scheduler sends it.
        let Some((span, owners)) = self.shared.sender.map.span_at(first) else { return };
        let range = first..span.end.min(first + DATA_RETRANSMISSION);
        let reason = || Reason::new("connection-level retransmission timer");
        let mut carried = self.shared.carry_elsewhere(now, range.clone(), owners, reason(), &mut self.subflows);
        if !carried && !self.may_have_left() {
            // If there is no other subflow, the kernel uses one on which the data was acknowledged already.
            let (range, repeating) = self.shared.sender.take_back_acknowledged(&self.subflows, range, owners);
            carried = repeating.is_empty()
                || self.shared.carry_elsewhere(now, range, repeating, reason(), &mut self.subflows);
        }
        self.shared.counters.reinjected_segments += u64::from(carried);
    }

    /// Failure detection `fast`: these subflows have not answered for two round trips, or the stream has stood still for
    /// a timeout. If one of them holds the stream's next byte, others carry that byte too. Returns whether there is
    /// something to send.
    pub(super) fn pass_by(&mut self, now: Instant, late: SubflowSet) -> bool {
        if !self.shared.is_mptcp() || !self.shared.fast_detection() {
            return false;
        }
        let mut found = false;
        self.subflows.for_each_of(late, |at| found |= self.shared.sender.pass_by(now, at));
        found
    }

    /// Whether all unacknowledged data may be assigned again
    /// ([`Sender::send_everything_again`](crate::sender::Sender::send_everything_again)). Not while nothing has been
    /// acknowledged and the first subflow still repeats everything: the peer may yet fall back to plain TCP, where no
    /// data may come twice.
    fn may_send_everything_again(&self) -> bool {
        let first_repeats = || self.subflows.iter().any(|s| s.join == Join::Initial && !s.tcp.is_closed());
        !self.may_have_left() && (self.shared.fallback.data_ack_seen || !first_repeats())
    }

    /// Ends a subflow: others send again what only it carried, and a new join is tried.
    pub(super) fn lose_subflow(&mut self, now: Instant, id: SubflowId) {
        if self.end_subflow(now, id) {
            self.shared.joins.after_loss(now);
        }
    }

    /// Ends a subflow. Returns whether it had not ended before.
    pub(super) fn end_subflow(&mut self, now: Instant, id: SubflowId) -> bool {
        let may_send_everything_again = self.may_send_everything_again();
        let (shared, mut at) = (&mut self.shared, self.subflows.at(id));
        if at.subflow.health.is_down() {
            return false;
        }
        let was_up = at.subflow.health.end();
        if !shared.is_path_of_peer(at.subflow.tcp.local.ip(), at.subflow.tcp.remote) {
            shared.joins.charge_unproved(at.subflow.tcp.syns_unanswered());
        }
        // A join that was refused or never answered carried nothing and does not count, except one that this side
        // refuses because it is too late to join.
        let too_late = shared.role == super::Role::Client && shared.closes_to_joins();
        if shared.is_mptcp() && !shared.fast_detection() && (was_up || too_late) && may_send_everything_again {
            shared.sender.send_everything_again();
        }
        shared.sender.hand_over(&mut at);
        shared.sender.release(id);
        if was_up {
            // If this was the last living subflow, the time for another one to join begins. A refused join does not
            // prolong it.
            shared.note_living_subflow(now);
            self.shared.tell(now, &Event::SubflowDown(id), &self.subflows);
            self.shared.news.record(now, Kinds::CONNECTION, || Happening::SubflowDown(id));
        }
        true
    }

    /// Subflow `id` answered again, so it may carry new data.
    #[cold]
    pub(super) fn follow_revival(&mut self, now: Instant, id: SubflowId) {
        let is_only_one = !self.subflows.iter().any(|s| s.id != id && s.is_alive());
        if self.shared.is_mptcp() && self.shared.fast_detection() && is_only_one {
            // It takes over the data of stale subflows, which no subflow could take when their timeouts came.
            let stale = self.subflows.iter().filter(|s| s.id != id && s.health.is_stale());
            let stale = stale.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
            self.subflows.for_each_of(stale, |at| self.shared.sender.hand_over(at));
        }
        self.shared.tell(now, &Event::SubflowUp(id), &self.subflows);
    }
}

impl Shared {
    /// Sends a range again on a subflow outside `owners`, preferably an idle one, as far as its window allows. Returns
    /// whether there was such a subflow.
    fn carry_elsewhere(
        &mut self,
        now: Instant,
        range: Range<DataSeq>,
        owners: SubflowSet,
        reason: Reason,
        subflows: &mut SubflowTable,
    ) -> bool {
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views, subflows);
        let other = self
            .view(now, &views, subflows)
            .candidates()
            .filter(|s| !owners.contains(s.id) && s.has_space())
            .min_by_key(|s| (s.window.unacked + s.queue.unsent > 0, s.rtt.smoothed_or_zero()))
            .map(|s| s.id);
        let mut carried = false;
        if let Some(subflow) = other {
            let assign = Assign { subflow, range, window: WindowUse::Respect, reason };
            if let Ok((range, _)) = self.carry_out(&assign, &mut views, subflows) {
                carried = true;
                let reason = assign.reason;
                self.news.record(now, Kinds::DECISIONS, || Happening::Reinjected {
                    subflow,
                    range,
                    reason: Box::new(reason),
                });
            }
        }
        self.scheduling.views = views;
        carried
    }

    /// Assigns data that waits for reinjection to the subflow with the lowest round-trip time that does not carry it.
    pub(super) fn reinject_waiting(&mut self, now: Instant, views: &mut [SubflowView], subflows: &mut SubflowTable) {
        let fast = self.fast_detection();
        while let Some(range) = self.sender.reinjection.first() {
            let start = range.start.max(self.sender.map.first_unacked());
            if start >= range.end {
                self.sender.reinjection.drop_first();
                continue;
            }
            let Some((span, owners)) = self.sender.map.span_at(start) else {
                // Unassigned again, so the scheduler sends it.
                self.sender.reinjection.drop_first();
                continue;
            };
            let end = span.end.min(range.end);
            // If a subflow lost more than its window holds, its retransmissions take several round trips.
            let repairs = |s: &Subflow| fast && s.tcp.is_repairing();
            let living = |s: &Subflow| s.answers() && !repairs(s);
            let living_owner = subflows.iter().any(|s| owners.contains(s.id) && living(s));
            if living_owner && !owners.is_empty() {
                // A living subflow carries it already.
                self.sender.reinjection.advance(end);
                continue;
            }
            let best = self
                .view(now, views, subflows)
                .candidates()
                .filter(|s| !owners.contains(s.id) && s.has_space())
                .min_by_key(|s| s.rtt.smoothed_or_zero())
                .map(|s| (s.id, u64::from(s.mss)));
            // No subflow has room: the rest waits.
            let Some((subflow, mss)) = best else { return };
            let piece = start..end.min(start + mss);
            let assign = Assign {
                subflow,
                range: piece.clone(),
                window: WindowUse::Respect,
                reason: Reason::new("reinjection: lowest srtt that does not carry it"),
            };
            match self.carry_out(&assign, views, subflows) {
                Ok((done, _)) => {
                    self.counters.reinjected_segments += 1;
                    self.sender.reinjection.advance(done.end);
                    let reason = assign.reason;
                    self.news.record(now, Kinds::DECISIONS, || Happening::Reinjected {
                        subflow,
                        range: done,
                        reason: Box::new(reason),
                    });
                }
                // The peer's window or the send buffer has no room, or the segment is short and held back: the rest waits.
                Err(_) => return,
            }
        }
    }

    /// A retransmission timeout on a subflow: its data goes to other subflows, and it gets no new data until it shows a sign
    /// of life.
    pub(super) fn handle_subflow_timeout(&mut self, at: &mut Split<'_>) {
        if !self.is_mptcp() || !self.fast_detection() {
            return;
        }
        at.subflow.time_out(self.longest_repetition());
        self.joins.request();
        if at.others().any(Subflow::is_alive) {
            self.sender.hand_over(at);
        }
    }
}
