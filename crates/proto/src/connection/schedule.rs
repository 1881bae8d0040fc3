//! Asking the scheduler, and carrying out its decisions: at once, or at the end of an instant if the host delays them.

use super::observation::{Carried, Decided, Given, Happening, Kinds, Saw};
use super::{Connection, DataFin, Shared};
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use crate::sender::Blocked;
use crate::sender::dispatch::{ScheduleError, Terms};
use core::ops::Range;
use pathweave_scheduler::{
    Assign, ClippedBy, DataSeq, Decision, Event, Reason, Scheduler, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::Instant;

/// Takes the scheduler's place while the scheduler is borrowed.
pub(super) struct NoScheduler;

impl Scheduler for NoScheduler {
    fn decide(&mut self, _: &View<'_>) -> Decision {
        Decision::nothing_to_send()
    }
}

impl Connection {
    /// Gives data to subflows until the scheduler waits.
    pub(super) fn schedule(&mut self, now: Instant) {
        if !self.shared.life.is_connected() || self.shared.life.error().is_some() {
            return self.shared.host.clear_pushes();
        }
        if self.shared.host.acknowledging().is_none() && self.shared.host.push_due().is_some() {
            self.shared.push_delegated(now, &mut self.subflows);
        }
        if self.shared.sender.is_idle() {
            self.subflows.set_backlog(false);
            return self.shared.after_assigning(now, &mut self.subflows);
        }
        let (idle, unassigned) = (!self.shared.sender.map.is_waiting(), self.shared.sender.map.assigned_bytes() == 0);
        if self.shared.may_assign() || self.shared.blocked_now(&self.subflows) != self.shared.sender.blocked {
            let mut views = core::mem::take(&mut self.shared.scheduling.views);
            self.shared.fill_views(&mut views, &self.subflows);
            if !views.is_empty() {
                self.shared.reinject_waiting(now, &mut views, &mut self.subflows);
                self.shared.feed_loss_probe(&mut views, &mut self.subflows);
                // Data queued beyond a window would leave before reinjected data that still waits for that window.
                let queues = self.shared.config.scheduler.queues() && !self.shared.sender.reinjection.is_empty();
                if self.shared.has_work() && !queues {
                    self.shared.run_scheduler(now, &mut views, None, &mut self.subflows);
                }
                // The scheduler learns which subflows block the window before a copy of the blocking data adds another
                // subflow to them.
                self.shared.update_blocked(now, &views, &self.subflows);
                if self.shared.opportunistic_retransmission(now, &mut views, &mut self.subflows) {
                    self.shared.update_blocked(now, &views, &self.subflows);
                }
            }
            self.shared.scheduling.views = views;
        } else if self.subflows.iter().any(Subflow::usable) {
            // Still no room in the receive window, so no views are needed.
            if self.shared.has_work() {
                self.shared.scheduling.wake = None;
            }
            self.shared.count_limited(now, &self.subflows);
        }
        if unassigned && self.shared.sender.map.assigned_bytes() > 0 {
            self.shared.sender.moved_at = now;
            // Data that was taken back from a subflow and is sent again is no sign of life.
            if idle {
                (self.shared.life.progress_at, self.shared.life.stream_moved_at) = (now, now);
            }
        }
        self.shared.arm_data_timer(now, &self.subflows);
        self.subflows.set_backlog(self.shared.sender.map.unassigned_bytes() > 0);
        // The subflow whose data comes first in the stream sends first. Otherwise, on paths of equal delay, later data
        // would wait at the receiver, and while the other subflow's window keeps opening, the first one would never have
        // its turn.
        if let Some(id) = self.subflows.with_first_unsent() {
            self.shared.next_output = id;
        }
        self.shared.after_assigning(now, &mut self.subflows);
    }
}

impl Shared {
    pub(super) fn fill_views(&self, views: &mut Vec<SubflowView>, subflows: &SubflowTable) {
        views.clear();
        // The exact size, because spare entries would be a large part of an idle connection.
        views.reserve_exact(subflows.len());
        views.extend(subflows.usable().map(|s| s.view(self.config.send_buffer)));
    }

    pub(super) fn view<'a>(&'a self, now: Instant, views: &'a [SubflowView], subflows: &SubflowTable) -> View<'a> {
        View {
            now,
            subflows: views,
            queue: &self.sender.map,
            send_window_end: self.sender.peer.end,
            send_window: self.sender.peer.size,
            send_buffer_free: self.room(subflows),
            send_buffer: self.send_buffer(subflows),
            message_end: self.sender.message_end(),
            fragment_ends: self.host.fragment_ends(),
        }
    }

    /// Asks the scheduler until it waits. If `first` is given, that subflow gets data before the scheduler is asked.
    pub(super) fn run_scheduler(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        mut first: Option<SubflowId>,
        subflows: &mut SubflowTable,
    ) {
        let mut scheduler = core::mem::replace(&mut self.scheduling.scheduler, Box::new(NoScheduler));
        self.scheduling.wake = None;
        let duplicates = self.config.scheduler.duplicates();
        let mut pushed = false;
        loop {
            let sendable = self.sender.map.sendable(self.sender.peer.end).is_some();
            let may_repeat = duplicates && self.sender.map.assigned_bytes() > 0;
            let may_pick = pushed && self.host.acknowledging().is_some() && self.has_work();
            if !sendable && !may_repeat && !may_pick {
                break;
            }
            let before = first.take().or(self.host.picked());
            if let Some(id) = before.filter(|id| self.host.acknowledging().is_some_and(|own| own != *id)) {
                self.host.let_wait(now, id);
                break;
            }
            let decision = match before {
                Some(id) => self.picked_before(id).map_or_else(Decision::nothing_to_send, Decision::Assign),
                None => self.decide(now, views, scheduler.as_mut(), subflows),
            };
            let saw = self.news.wants(Kinds::DECISIONS).then(|| Saw::of(&self.view(now, views, subflows)));
            let carried = self.carry(now, &decision, before.is_some(), views, scheduler.as_mut(), subflows);
            pushed = carried.gave_data();
            let idle_pick = !sendable && carried == Carried::Waiting;
            if let Some(saw) = saw.filter(|_| !idle_pick) {
                self.news.record(now, Kinds::DECISIONS, || {
                    Happening::Decision(Box::new(Decided { saw, decision, carried }))
                });
            }
            if !pushed {
                break;
            }
        }
        self.scheduling.scheduler = scheduler;
    }

    /// Carries out a decision of the scheduler. `picked`: it was made before, for the end of this instant.
    fn carry(
        &mut self,
        now: Instant,
        decision: &Decision,
        picked: bool,
        views: &mut [SubflowView],
        scheduler: &mut dyn Scheduler,
        subflows: &mut SubflowTable,
    ) -> Carried {
        let result = match decision {
            _ if !picked && self.delegate(now, decision, views) => Ok(Carried::Delegated),
            Decision::Assign(assign) if !self.keeps_order(assign) => {
                Ok(Carried::Replaced { error: None, by: self.assign_by_default(now, views, scheduler, subflows) })
            }
            Decision::Assign(assign) => self.assign(now, assign, views, scheduler, subflows),
            Decision::Wait { until, .. } => self.wait(now, *until, views),
        };
        match result {
            Err(_) if picked => Carried::Waiting,
            Ok(carried) => carried,
            Err(error) => {
                self.counters.invalid_decisions += 1;
                self.scheduling.error = Some(error);
                Carried::Replaced { error: Some(error), by: self.assign_by_default(now, views, scheduler, subflows) }
            }
        }
    }

    /// Assigns one segment to the subflow with space that has the lowest round-trip time, like `minrtt`. Returns the
    /// data given, if any.
    fn assign_by_default(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        scheduler: &mut dyn Scheduler,
        subflows: &mut SubflowTable,
    ) -> Option<Given> {
        let view = self.view(now, views, subflows);
        let best = view.candidates().filter(|s| s.has_space()).min_by_key(|s| s.rtt.smoothed_or_zero())?;
        let (subflow, range) = (best.id, view.next_for(best, 1)?);
        let assign = Assign { subflow, range, window: WindowUse::Respect, reason: Reason::new("default: lowest srtt") };
        match self.assign(now, &assign, views, scheduler, subflows) {
            Ok(Carried::Assigned(given)) => Some(given),
            _ => None,
        }
    }

    fn assign(
        &mut self,
        now: Instant,
        assign: &Assign,
        views: &mut [SubflowView],
        scheduler: &mut dyn Scheduler,
        subflows: &mut SubflowTable,
    ) -> Result<Carried, ScheduleError> {
        let subflow = assign.subflow;
        let stale = views.iter().any(|v| v.id == subflow && v.stale);
        if stale && views.iter().any(|v| !v.stale) {
            // The data could not leave there, and no other subflow would send it.
            return Err(ScheduleError::UnknownSubflow(subflow));
        }
        match self.carry_out(assign, views, subflows) {
            Ok((range, clipped_by)) => {
                if scheduler.wants_events() {
                    let event = Event::Assigned { subflow, range: range.clone(), clipped_by };
                    scheduler.on_event(&event, &self.view(now, views, subflows));
                }
                Ok(Carried::Assigned(Given { subflow, range, clipped_by }))
            }
            // A segment that is held back (by a window smaller than it, or by Nagle's rule) is no mistake of the
            // scheduler.
            Err(ScheduleError::HeldBack(by)) => {
                (self.scheduling.held_decision, self.scheduling.held_by) = (self.counters.decisions, Some(by));
                Ok(Carried::HeldBack(by))
            }
            Err(error) => Err(error),
        }
    }

    /// Tells the scheduler which limit holds data back, if that has changed.
    pub(super) fn update_blocked(&mut self, now: Instant, views: &[SubflowView], subflows: &SubflowTable) {
        let blocked = self.blocked_now(subflows);
        self.count_limited(now, subflows);
        if blocked == self.sender.blocked {
            return;
        }
        self.sender.blocked = blocked;
        self.sender.limited_since = blocked.map(|_| now);
        let (event, what) = match blocked {
            Some(Blocked { by, holders, .. }) => {
                (Event::WindowBlocked { by, holders }, Happening::WindowBlocked { by, holders })
            }
            None => (Event::WindowUnblocked, Happening::WindowUnblocked),
        };
        let mut scheduler = core::mem::replace(&mut self.scheduling.scheduler, Box::new(NoScheduler));
        scheduler.on_event(&event, &self.view(now, views, subflows));
        self.scheduling.scheduler = scheduler;
        self.news.record(now, Kinds::CONNECTION, || what);
    }

    fn blocked_now(&self, subflows: &SubflowTable) -> Option<Blocked> {
        self.sender.blocked_now(subflows, self.config.send_buffer)
    }

    /// Gives the next new data to a due tail loss probe of plain TCP, beyond the congestion window if necessary. With
    /// Multipath TCP unassigned data belongs to no subflow, so the probe repeats the subflow's last segment.
    //= RFC 8985 §7.3: "Transmit the lowest-sequence unsent Segment"
    //= tests: loss_recovery::a_probe_of_plain_tcp_carries_new_data_where_there_is_some
    fn feed_loss_probe(&mut self, views: &mut [SubflowView], subflows: &mut SubflowTable) {
        // The only subflow may be unusable, and Multipath TCP may have several.
        let [view] = views else { return };
        let due = !self.is_mptcp() && view.queue.unsent == 0 && view.window_space() == 0;
        if !due || !subflows.usable().any(|s| s.tcp.loss_probe_is_due()) {
            return;
        }
        // No new data, or none that the peer's window allows.
        let Some(sendable) = self.sender.map.sendable(self.sender.peer.end) else { return };
        let range = sendable.start..sendable.end.min(sendable.start + u64::from(view.mss));
        let reason = Reason::new("tail loss probe");
        let assign = Assign { subflow: view.id, range, window: WindowUse::Respect, reason };
        let cwnd = core::mem::replace(&mut view.window.cwnd, view.window.in_flight.saturating_add(1));
        // If the data may not leave, the probe repeats the last segment.
        self.carry_out(&assign, views, subflows).ok();
        if let [view] = views {
            view.window.cwnd = cwnd;
        }
    }

    /// Cuts a range into segments, queues them on a subflow and updates the subflow's view.
    pub(super) fn carry_out(
        &mut self,
        assign: &Assign,
        views: &mut [SubflowView],
        subflows: &mut SubflowTable,
    ) -> Result<(Range<DataSeq>, Option<ClippedBy>), ScheduleError> {
        let terms = Terms {
            send_buffer: self.config.send_buffer,
            nagle: self.config.nagle,
            holds: self.scheduling.corked || self.scheduling.more_follows,
            ends: self.life.data_fin != DataFin::NotRequested,
            fragment_ends: self.host.fragment_ends(),
        };
        self.sender.carry_out(assign, views, subflows, &terms)
    }

    /// Counts the time during which a limit has held data back until now. A window that each acknowledgement opens by
    /// only one segment counts as holding back all the time.
    fn count_limited(&mut self, now: Instant, subflows: &SubflowTable) {
        if let (Some(since), Some(blocked)) = (&mut self.sender.limited_since, self.sender.blocked) {
            *self.counters.limited_by(blocked.by) += now.since(*since);
            *since = now;
        }
        let begins = self.sender.arm_window_probe(now, subflows, self.scheduling.wake.is_some());
        if begins && !self.sender.map.is_waiting() {
            self.life.note_answer(now);
        }
    }

    /// Sets the connection's timer for data in flight. Plain TCP needs none.
    #[inline]
    pub(super) fn arm_data_timer(&mut self, now: Instant, subflows: &SubflowTable) {
        if !self.is_mptcp() {
            return self.sender.stop_data_timer();
        }
        self.sender.arm_data_timer(now, subflows, &self.config);
    }

    /// Whether the scheduler has anything to decide.
    fn has_work(&self) -> bool {
        if self.sender.map.unassigned_bytes() > 0 {
            // Also while the window is closed: the scheduler must hear of it, and `pr` may act.
            return true;
        }
        self.config.scheduler.duplicates() && self.sender.map.assigned_bytes() > 0
    }

    /// Whether data may be given to a subflow: there is new data for which the receive window has room, or data to send
    /// again.
    fn may_assign(&self) -> bool {
        !self.sender.reinjection.is_empty()
            || self.config.pr
            || self.config.scheduler.duplicates()
            || self.sender.map.sendable(self.sender.peer.end).is_some()
    }

    /// Whether an assignment keeps the stream's order, as plain TCP must, and Multipath TCP as long as it may fall back
    /// to plain TCP.
    fn keeps_order(&self, assign: &Assign) -> bool {
        !self.needs_order() || self.sender.map.first_unassigned().is_some_and(|r| r.start == assign.range.start)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>, views: &[SubflowView]) -> Result<Carried, ScheduleError> {
        // A wait without a time must end with an acknowledgement. Data on a dark subflow does not count while another
        // one is alive, nor does data that the peer got over another subflow a timeout ago.
        let dark = views.iter().all(|s| s.stale);
        let stuck = self.sender.peer.overridden && self.sender.map.assigned_bytes() == 0;
        let in_flight = !stuck && views.iter().any(|s| (dark || !s.stale) && s.window.unacked + s.queue.unsent > 0);
        match until {
            // A wait that has passed already would be repeated for ever.
            Some(t) if t <= now => Err(ScheduleError::WaitIsOver),
            Some(t) => {
                self.scheduling.wake = Some(t);
                Ok(Carried::Waiting)
            }
            None if in_flight => Ok(Carried::Waiting),
            None => Err(ScheduleError::EndlessWait),
        }
    }

    /// Gives data to the subflows that waited for the end of the instant.
    pub(super) fn push_delegated(&mut self, now: Instant, subflows: &mut SubflowTable) {
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views, subflows);
        while let Some(id) = self.host.next_pushed() {
            self.run_scheduler(now, &mut views, Some(id), subflows);
        }
        self.host.end_acknowledgement();
        self.scheduling.views = views;
    }

    /// Notes the end of a burst. If the burst's subflow is not the one that is being acknowledged, it waits for the end
    /// of the instant. Returns whether it waits.
    pub(super) fn delegate(&mut self, now: Instant, decision: &Decision, views: &[SubflowView]) -> bool {
        if !self.host.delegates(self.config.scheduler.queues()) {
            return false;
        }
        let to = match decision {
            Decision::Assign(assign) => {
                self.host.note_burst(assign.range.end);
                assign.subflow
            }
            // Picked although its window has no room; the window may open until the end of the instant.
            Decision::Wait { for_subflow: Some(to), .. } => *to,
            Decision::Wait { .. } => return false,
        };
        let has_space = views.iter().any(|v| v.id == to && v.queue.space > 0);
        if !has_space || self.host.acknowledging().is_none_or(|own| own == to) {
            return false;
        }
        self.host.let_wait(now, to);
        true
    }

    /// The assignment for a subflow that was picked before.
    pub(super) fn picked_before(&mut self, subflow: SubflowId) -> Option<Assign> {
        self.host.unpick(subflow);
        let start = self.sender.map.sendable(self.sender.peer.end)?.start;
        let range = start..self.host.burst_end(start);
        Some(Assign { subflow, range, window: WindowUse::Queue, reason: Reason::new("picked before at this instant") })
    }
}
