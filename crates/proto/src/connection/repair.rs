//! Paths that do not answer: passing by late subflows, handing over what stale and dead ones carry, and reinjection.

use super::{Connection, Happening, Kinds};
use crate::paths::health::PROBE_INTERVAL;
use crate::paths::subflow::{Join, Subflow};
use crate::scheduler::{Assign, Event, Reason, SubflowView, WindowUse};
use crate::sender::reinjection::DATA_RETRANSMISSION;
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use core::ops::Range;
use pathweave_units::Instant;

impl Connection {
    /// When [`Connection::handle_check`] wants to be called. This is kept apart from timers because usually nothing comes of it.
    pub(crate) fn poll_check(&self) -> Option<Instant> {
        self.sender.check
    }

    /// Failure detection `fast`: checks whether the stream has stood still for a whole timeout of the subflow that carries its next
    /// byte. Then data has vanished, or it waits behind what its subflow repairs. Returns whether there is anything to do now.
    pub(crate) fn handle_check(&mut self, now: Instant) -> bool {
        if self.sender.check.take_if(|at| *at <= now).is_none() {
            return false;
        }
        let stands =
            now.since(self.sender.moved_at) >= self.sender.timeout_of_holders(&self.subflows, self.config.tcp.min_rto);
        let found = stands && (self.repair_vanished(now) || self.pass_by_holders(now));
        if found {
            self.schedule(now);
            self.record_health(now);
        } else {
            self.arm_data_timer(now);
        }
        found
    }

    /// The subflows that hold the stream's next byte have not delivered it for long: others carry it too.
    fn pass_by_holders(&mut self, now: Instant) -> bool {
        let Some((_, owners)) = self.sender.map.span_at(self.sender.map.first_unacked()) else { return false };
        let mut found = false;
        for id in owners.iter() {
            found |= self.handle_late_subflow(now, id);
        }
        found
    }

    /// The stream has moved on. While a late subflow stays silent, others send more of what it carries.
    pub(super) fn pass_by_late(&mut self, now: Instant) {
        self.sender.passing_by = false;
        for id in self.subflows.ids() {
            if self.subflows.get(id).is_some_and(|s| s.health.is_late()) {
                self.sender.passing_by = true;
                self.handle_late_subflow(now, id);
            }
        }
    }

    /// Data has vanished on its subflow: another one carries it again, as much as its window takes. Where there is no other, it
    /// is unassigned again. Returns whether there was any.
    fn repair_vanished(&mut self, now: Instant) -> bool {
        if self.may_have_left() {
            return false;
        }
        let Some(range) = self.sender.vanished(&self.subflows) else { return false };
        self.counters.reinjected_segments += 1;
        let reason = Reason::new("acknowledged on its subflow, and not at the data level");
        // On its own subflow it would vanish again: a scheduler that likes the subflow would never see the difference.
        if !self.carry_elsewhere(now, range.clone(), self.sender.holders(), reason) {
            self.sender.take_back(range);
        }
        true
    }

    /// Sends a range again on a subflow that is none of `owners`, an idle one first, as far as its window goes. The answer is
    /// whether there was one.
    fn carry_elsewhere(&mut self, now: Instant, range: Range<DataSeq>, owners: SubflowSet, reason: Reason) -> bool {
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views);
        let other = self
            .view(now, &views)
            .candidates()
            .filter(|s| !owners.contains(s.id) && s.has_space())
            .min_by_key(|s| (s.window.unacked + s.queue.unsent > 0, s.rtt.smoothed_or_zero()))
            .map(|s| s.id);
        let mut carried = false;
        if let Some(subflow) = other {
            let assign = Assign { subflow, range, window: WindowUse::Respect, reason };
            if let Ok((range, _)) = self.carry_out(&assign, &mut views) {
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

    /// The connection-level timer: the first data that is not acknowledged goes out again on a subflow that does not
    /// carry it, an idle one first; subflows that have been silent for long become stale.
    pub(super) fn handle_data_timeout(&mut self, now: Instant) {
        self.sender.data_timer = None;
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
        let first = self.sender.map.first_unacked();
        let Some((span, owners)) = self.sender.map.span_at(first) else { return };
        let range = first..span.end.min(first + DATA_RETRANSMISSION);
        let reason = || Reason::new("connection-level retransmission timer");
        let mut carried = self.carry_elsewhere(now, range.clone(), owners, reason());
        if !carried && !self.may_have_left() {
            // Where there is no other, the kernel takes one that has had it acknowledged.
            let (range, repeating) = self.sender.take_back_acknowledged(&self.subflows, range, owners);
            carried = repeating.is_empty() || self.carry_elsewhere(now, range, repeating, reason());
        }
        self.counters.reinjected_segments += u64::from(carried);
    }

    /// Failure detection `fast`: nothing has come from a subflow for two round trips, or the stream has stood still for a timeout.
    /// Where it holds the stream's next byte, others carry that too. Returns whether something is to be carried.
    pub(super) fn handle_late_subflow(&mut self, now: Instant, id: SubflowId) -> bool {
        self.is_mptcp() && self.fast_detection() && self.sender.pass_by(now, &mut self.subflows, id)
    }

    /// A retransmission timeout on `id`: its data goes to others, and it gets no new data until it shows a sign of life.
    pub(super) fn handle_subflow_timeout(&mut self, id: SubflowId) {
        if !self.is_mptcp() || !self.fast_detection() {
            return;
        }
        let alive = self.subflows.iter().any(|s| s.id != id && s.is_alive());
        let for_window = self.longest_repetition();
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        // A path whose last word is a closed window is not dark: what is repeated there probes the window, more and more seldom.
        let interval = if subflow.tcp.peer_window() == 0 { for_window } else { PROBE_INTERVAL };
        subflow.tcp.probe_at_least_every(Some(interval));
        subflow.health.time_out();
        self.joins.request();
        if alive {
            self.sender.hand_over(&mut self.subflows, id);
        }
    }

    /// See [`Sender::send_everything_again`](crate::sender::Sender::send_everything_again). Not while nothing has been
    /// acknowledged and the first subflow repeats all of it: the peer may still fall back to plain TCP, for which nothing may come twice.
    fn send_everything_again(&mut self) {
        let first_repeats = || self.subflows.iter().any(|s| s.join == Join::Initial && !s.tcp.is_closed());
        if !self.may_have_left() && (self.fallback.data_ack_seen || !first_repeats()) {
            self.sender.send_everything_again();
        }
    }

    /// A subflow is over: others carry again what only it carried, and it is joined again.
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
        let (was_up, local, remote) = (subflow.health.end(), subflow.tcp.local.ip(), subflow.tcp.remote);
        let unanswered = subflow.tcp.syns_unanswered();
        if !self.is_path_of_peer(local, remote) {
            self.joins.charge_unproved(unanswered);
        }
        // A join that nobody answers is tried again and again, one that was refused had no part in anything: only the join that
        // came too late for its own side counts.
        let too_late = self.role == super::Role::Client && self.closes_to_joins();
        if self.is_mptcp() && !self.fast_detection() && (was_up || too_late) {
            self.send_everything_again();
        }
        self.sender.hand_over(&mut self.subflows, id);
        self.sender.release(id);
        if was_up {
            // Without any other, the time in which one may join begins. A join that is refused does not prolong it.
            self.note_living_subflow(now);
            self.tell(now, |_| Event::SubflowDown(id));
            self.news.record(now, Kinds::CONNECTION, || Happening::SubflowDown(id));
        }
    }

    /// The subflow answered: it may carry new data again.
    pub(super) fn revive(&mut self, now: Instant, id: SubflowId) {
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        if subflow.health.answer() {
            subflow.tcp.answered_again(now);
            self.take_over(id);
            self.tell(now, |_| Event::SubflowUp(id));
        }
    }

    /// `id` is alive again. Where no other is, nobody could carry what the stale ones had when their timeouts came.
    fn take_over(&mut self, id: SubflowId) {
        if !self.is_mptcp() || !self.fast_detection() || self.subflows.iter().any(|s| s.id != id && s.is_alive()) {
            return;
        }
        for stale in self.subflows.ids() {
            if stale != id && self.subflows.get(stale).is_some_and(|s| s.health.is_stale()) {
                self.sender.hand_over(&mut self.subflows, stale);
            }
        }
    }

    /// Assigns what waits for reinjection to the subflow with the lowest round-trip time that does not carry it.
    pub(super) fn reinject_waiting(&mut self, now: Instant, views: &mut [SubflowView]) {
        let fast = self.fast_detection();
        while let Some(range) = self.sender.reinjection.first() {
            let start = range.start.max(self.sender.map.first_unacked());
            if start >= range.end {
                self.sender.reinjection.drop_first();
                continue;
            }
            let Some((span, owners)) = self.sender.map.span_at(start) else {
                // Unassigned again: the scheduler sends it.
                self.sender.reinjection.drop_first();
                continue;
            };
            let end = span.end.min(range.end);
            // What a subflow lost waits for round trips where it is more than its window.
            let repairs = |s: &Subflow| fast && s.tcp.is_repairing();
            let living = |s: &Subflow| s.answers() && !repairs(s);
            let living_owner = self.subflows.iter().any(|s| owners.contains(s.id) && living(s));
            if living_owner && !owners.is_empty() {
                // Someone else carries it already.
                self.sender.reinjection.advance(end);
                continue;
            }
            let best = self
                .view(now, views)
                .candidates()
                .filter(|s| !owners.contains(s.id) && s.has_space())
                .min_by_key(|s| s.rtt.smoothed_or_zero())
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
                    self.sender.reinjection.advance(done.end);
                    let reason = assign.reason;
                    self.news.record(now, Kinds::DECISIONS, || Happening::Reinjected {
                        subflow,
                        range: done,
                        reason: Box::new(reason),
                    });
                }
                Err(_) => return,
            }
        }
    }
}
