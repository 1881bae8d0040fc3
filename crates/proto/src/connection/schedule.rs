//! Asking the scheduler, and carrying out what it answers.

use super::trace::{Carried, Decided, Given, Saw, Trace};
use super::{Connection, DataFin};
use crate::paths::subflow::Subflow;
use crate::scheduler::{Assign, ClippedBy, Decision, Event, Reason, Scheduler, SubflowView, View, WindowUse};
use crate::seq::{DataSeq, SubflowId};
use core::fmt;
use core::ops::Range;
use pathweave_units::Instant;

/// Why a scheduler's decision could not be carried out; the default scheduler took over for that decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// The subflow does not exist, cannot carry data yet, or shows no sign of life while another one does.
    UnknownSubflow(SubflowId),
    /// The range holds nothing that can be sent.
    EmptyRange,
    /// The subflow carries all of the range already.
    AlreadyCarried,
    /// The subflow has no room for a segment.
    NoSpace(ClippedBy),
    /// A wait without a time while no data is in flight: nothing would end it.
    EndlessWait,
    /// A wait until a time that has come.
    WaitIsOver,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::UnknownSubflow(id) => write!(f, "subflow {} cannot carry data", id.0),
            ScheduleError::EmptyRange => f.write_str("the range holds nothing that can be sent"),
            ScheduleError::AlreadyCarried => f.write_str("the subflow carries the range already"),
            ScheduleError::NoSpace(by) => write!(f, "no room for a segment: {by:?}"),
            ScheduleError::WaitIsOver => f.write_str("a wait until a time that has come"),
            ScheduleError::EndlessWait => f.write_str("a wait without a time and with nothing in flight"),
        }
    }
}

impl core::error::Error for ScheduleError {}

/// Stands in while the real scheduler is borrowed.
pub(super) struct NoScheduler;

impl Scheduler for NoScheduler {
    fn decide(&mut self, _: &View<'_>) -> Decision {
        Decision::nothing_to_send()
    }
}

impl Connection {
    pub(super) fn fill_views(&self, views: &mut Vec<SubflowView>) {
        views.clear();
        views.extend(self.subflows.usable().map(|s| s.view(self.config.send_buffer)));
    }

    pub(super) fn view<'a>(&'a self, now: Instant, views: &'a [SubflowView]) -> View<'a> {
        View {
            now,
            subflows: views,
            queue: &self.send,
            send_window_end: self.send_window_end,
            send_window: self.send_window,
            send_buffer_free: self.writable(),
            send_buffer: self.send_buffer(),
            message_end: self.message_end(),
            fragment_ends: self.config.host.tunes_send_buffer().then(|| self.host.fragments.ends()),
        }
    }

    /// Whether the scheduler has anything to decide.
    fn has_work(&self) -> bool {
        if self.send.unassigned_bytes() > 0 {
            // Also where the window is closed: the scheduler must be told, and `pr` may act.
            return true;
        }
        self.config.scheduler.entry.duplicates && self.send.assigned_bytes() > 0
    }

    /// Gives data to subflows until the scheduler waits.
    pub(super) fn schedule(&mut self, now: Instant) {
        if !self.connected || self.error.is_some() {
            return self.host.delegation.clear();
        }
        if self.acknowledged_now.is_none() && self.host.delegation.due().is_some() {
            self.push_delegated(now);
        }
        if self.has_nothing_to_send() {
            self.set_backlog(false);
            return self.after_assigning(now);
        }
        let idle = self.send.assigned_bytes() == 0;
        if self.may_assign() || self.blocked_now() != self.blocked {
            let mut views = core::mem::take(&mut self.views);
            self.fill_views(&mut views);
            if !views.is_empty() {
                self.reinject_waiting(now, &mut views);
                // What is queued beyond a window would go out before what still waits for that window.
                let queues = self.config.scheduler.entry.queues && !self.reinject.is_empty();
                if self.has_work() && !queues {
                    self.run_scheduler(now, &mut views, None);
                }
                // The scheduler is told who holds the window up before a copy of that makes another subflow a holder too.
                self.update_blocked(now, &views);
                if self.opportunistic_retransmission(now, &mut views) {
                    self.update_blocked(now, &views);
                }
            }
            self.views = views;
        } else if self.subflows.iter().any(Subflow::usable) {
            // No room in the receive window, as before: no views are made for that.
            if self.has_work() {
                self.scheduler_wake = None;
            }
            self.count_window_limited(now);
        }
        if idle && self.send.assigned_bytes() > 0 {
            (self.progress_at, self.stream_moved_at) = (now, now);
            self.moved_at = now;
        }
        self.arm_data_timer(now);
        self.set_backlog(self.send.unassigned_bytes() > 0);
        self.after_assigning(now);
    }

    /// Whether data may be given to a subflow: there is some that the receive window has room for, or that goes again.
    fn may_assign(&self) -> bool {
        !self.reinject.is_empty()
            || self.config.pr
            || self.config.scheduler.entry.duplicates
            || self.send.sendable(self.send_window_end).is_some()
    }

    /// Nothing is written, out, or waiting for a window: the side that only receives, which is asked at each segment.
    fn has_nothing_to_send(&self) -> bool {
        self.send.unassigned_bytes() + self.send.assigned_bytes() == 0
            && self.reinject.is_empty()
            && self.blocked.is_none()
            && self.window_probe.is_none()
            && self.data_timer.is_none()
    }

    fn set_backlog(&mut self, backlog: bool) {
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.backlog = backlog;
        }
    }

    /// Asks the scheduler until it waits. `first`: this subflow is pushed to before anyone is asked.
    pub(super) fn run_scheduler(&mut self, now: Instant, views: &mut [SubflowView], mut first: Option<SubflowId>) {
        let mut scheduler = core::mem::replace(&mut self.scheduler, Box::new(NoScheduler));
        self.scheduler_wake = None;
        let duplicates = self.config.scheduler.entry.duplicates;
        let mut pushed = false;
        loop {
            let sendable = self.send.sendable(self.send_window_end).is_some();
            let may_repeat = duplicates && self.send.assigned_bytes() > 0;
            let may_pick = pushed && self.acknowledged_now.is_some() && self.delegates() && self.has_work();
            if !sendable && !may_repeat && !may_pick {
                break;
            }
            let before = first.take().or(self.picked());
            if let Some(id) = before.filter(|id| self.acknowledged_now.is_some_and(|own| own != *id)) {
                self.let_wait(now, id);
                break;
            }
            let decision = match before {
                Some(id) => self.picked_before(id).map_or_else(Decision::nothing_to_send, Decision::Assign),
                None => {
                    self.counters.decisions += 1;
                    scheduler.decide(&self.view(now, views))
                }
            };
            let saw = self.trace.is_some().then(|| Saw::of(&self.view(now, views)));
            let result = match &decision {
                _ if before.is_none() && self.delegate(now, &decision, views) => Ok(Carried::Delegated),
                Decision::Assign(assign) if !self.keeps_order(assign) => {
                    Ok(Carried::Replaced { error: None, by: self.assign_by_default(now, views, scheduler.as_mut()) })
                }
                Decision::Assign(assign) => self.assign(now, assign, views, scheduler.as_mut()),
                Decision::Wait { until, .. } => self.wait(now, *until, views),
            };
            let carried = match result {
                Err(_) if before.is_some() => Carried::Waiting,
                Ok(carried) => carried,
                Err(error) => {
                    self.counters.invalid_decisions += 1;
                    self.schedule_error = Some(error);
                    Carried::Replaced { error: Some(error), by: self.assign_by_default(now, views, scheduler.as_mut()) }
                }
            };
            pushed = carried.gave_data();
            let idle_pick = !sendable && carried == Carried::Waiting;
            if let Some(saw) = saw.filter(|_| !idle_pick) {
                self.record(|| Trace::Decision(Decided { at: now, saw, decision, carried }));
            }
            if !pushed {
                break;
            }
        }
        self.scheduler = scheduler;
    }

    /// Plain TCP's data goes in order, and so does what may turn out to be plain TCP's.
    fn keeps_order(&self, assign: &Assign) -> bool {
        !self.needs_order() || self.send.first_unassigned().is_some_and(|r| r.start == assign.range.start)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>, views: &[SubflowView]) -> Result<Carried, ScheduleError> {
        // What is out on a dark subflow ends no wait while another lives.
        let dark = views.iter().all(|s| s.stale);
        let in_flight = views.iter().any(|s| (dark || !s.stale) && s.unacked + s.unsent > 0);
        match until {
            // A wait that is over already would spin.
            Some(t) if t <= now => Err(ScheduleError::WaitIsOver),
            Some(t) => {
                self.scheduler_wake = Some(t);
                Ok(Carried::Waiting)
            }
            None if in_flight => Ok(Carried::Waiting),
            None => Err(ScheduleError::EndlessWait),
        }
    }

    /// The lowest round-trip time with space, as `minrtt`. Returns what it gave, if anything.
    fn assign_by_default(
        &mut self,
        now: Instant,
        views: &mut [SubflowView],
        scheduler: &mut dyn Scheduler,
    ) -> Option<Given> {
        let view = self.view(now, views);
        let best = view.candidates().filter(|s| s.has_space()).min_by_key(|s| s.srtt_or_zero())?;
        let (subflow, range) = (best.id, view.next_for(best, 1)?);
        let assign = Assign { subflow, range, window: WindowUse::Respect, reason: Reason::new("default: lowest srtt") };
        match self.assign(now, &assign, views, scheduler) {
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
    ) -> Result<Carried, ScheduleError> {
        let subflow = assign.subflow;
        let stale = views.iter().any(|v| v.id == subflow && v.stale);
        if stale && views.iter().any(|v| !v.stale) {
            // It could not leave, and nobody else would send it.
            return Err(ScheduleError::UnknownSubflow(subflow));
        }
        match self.carry_out(assign, views) {
            Ok((range, clipped_by)) => {
                if scheduler.wants_events() {
                    let event = Event::Assigned { subflow, range: range.clone(), clipped_by };
                    scheduler.on_event(&event, &self.view(now, views));
                }
                Ok(Carried::Assigned(Given { subflow, range, clipped_by }))
            }
            // A segment that is held back (a window smaller than it, Nagle) is no mistake of the scheduler.
            Err(ScheduleError::NoSpace(by @ (ClippedBy::SendWindow | ClippedBy::Data))) => Ok(Carried::HeldBack(by)),
            Err(error) => Err(error),
        }
    }

    /// Cuts a range into segments and queues them on a subflow. Keeps the subflow's view current.
    pub(super) fn carry_out(
        &mut self,
        assign: &Assign,
        views: &mut [SubflowView],
    ) -> Result<(Range<DataSeq>, Option<ClippedBy>), ScheduleError> {
        let id = assign.subflow;
        let unknown = ScheduleError::UnknownSubflow(id);
        let view = views.iter_mut().find(|v| v.id == id).ok_or(unknown)?;
        let subflow = self.subflows.get_mut(id).ok_or(unknown)?;
        let mss = u64::from(view.mss.max(1));
        let mut clipped_by = None;
        let start = assign.range.start.max(self.send.first_unacked());
        let mut end = assign.range.end;
        if end > self.send.written_end() {
            end = self.send.written_end();
            clipped_by = Some(ClippedBy::Data);
        }
        if end > self.send_window_end {
            end = self.send_window_end;
            clipped_by = Some(ClippedBy::SendWindow);
        }
        if start >= end {
            return Err(ScheduleError::EmptyRange);
        }
        if self.send.owners(start..end).contains(id)
            && self.send.first_not_carried_by(id, start).is_none_or(|r| r.start >= end)
        {
            return Err(ScheduleError::AlreadyCarried);
        }
        let segments = match assign.window {
            WindowUse::Respect => u64::from(view.window_space()),
            WindowUse::Queue => u64::MAX / mss,
        };
        if segments == 0 {
            return Err(ScheduleError::NoSpace(ClippedBy::CongestionWindow));
        }
        if view.send_buffer_space == 0 {
            return Err(ScheduleError::NoSpace(ClippedBy::SendBuffer));
        }
        let room = match assign.window {
            WindowUse::Respect => (segments * mss).min(view.send_buffer_space.next_multiple_of(mss)),
            // As the kernel does: what was decided goes in whole, once there is any room.
            WindowUse::Queue => segments * mss,
        };
        if end.since(start) > room {
            end = start + room;
            let by = if room == segments * mss { ClippedBy::CongestionWindow } else { ClippedBy::SendBuffer };
            clipped_by = Some(by);
        }
        if assign.window == WindowUse::Queue && self.config.host.tunes_send_buffer() {
            // The kernel looks at the memory again after each fragment of the stream.
            let limit = subflow.tcp.send_buffer(self.config.send_buffer);
            let full = |border: &&DataSeq| subflow.tcp.memory_with(start, border.since(start)) >= limit;
            let borders = self.host.fragments.ends().iter().skip_while(|e| **e <= start).take_while(|e| **e < end);
            if let Some(border) = borders.into_iter().find(full) {
                (end, clipped_by) = (*border, Some(ClippedBy::SendBuffer));
            }
        }
        let in_flight = self.send.assigned_bytes() > 0;
        let mut at = start;
        while at < end {
            // What goes on where the subflow's queue ends fills its last segment first.
            let room = u64::from(subflow.tcp.room_in_last(at));
            let full = if room > 0 { room } else { mss };
            let piece = at..end.min(at + full);
            // Only data that nobody carries yet may wait: what is carried again unblocks the stream.
            let short = piece.end.since(piece.start) < full && self.send.span_at(at).is_none();
            // Silly window avoidance (RFC 9293 §3.8.6.2.1): a window's last bytes wait for more window, unless they follow a
            // full segment of the same burst and Nagle's rule lets them go, as in the kernel. What is queued beyond the
            // congestion window fills the send window to the byte; Nagle's rule acts on the subflow.
            //= RFC 9293 §3.8.6.2.1: "A TCP implementation MUST include a SWS avoidance algorithm in the sender"
            //= tests: zero_window::a_byte_at_a_time_reader_makes_no_silly_segments
            let respects = assign.window == WindowUse::Respect;
            let window_edge = piece.end == self.send_window_end && piece.end < self.send.written_end();
            let worth = 2 * piece.end.since(piece.start) >= self.largest_send_window || self.window_override;
            let holds = if at > start { subflow.tcp.small_outstanding() } else { in_flight || !worth };
            if respects && short && window_edge && holds {
                clipped_by = Some(ClippedBy::SendWindow);
                break;
            }
            // Nagle (RFC 9293 §3.7.4): the stream's last bytes wait for more data, or for what is out. What is queued waits on
            // its subflow.
            let stream_edge = piece.end == self.send.written_end() && self.data_fin == DataFin::NotRequested;
            if respects && short && stream_edge && self.config.nagle && subflow.tcp.small_outstanding() {
                clipped_by = Some(ClippedBy::Data);
                break;
            }
            subflow.tcp.queue_segment(piece.start, self.buffer.get(piece.clone()));
            view.unsent += u32::from(room == 0);
            let len = piece.end.since(piece.start);
            view.queued_bytes += len;
            at = piece.end;
        }
        if at == start {
            return Err(ScheduleError::NoSpace(clipped_by.unwrap_or(ClippedBy::Data)));
        }
        if assign.window == WindowUse::Queue {
            subflow.tcp.end_grant();
        }
        view.queued_memory = subflow.tcp.queued_memory();
        view.send_buffer_space =
            subflow.tcp.send_buffer(self.config.send_buffer).saturating_sub(subflow.tcp.queued_memory());
        self.send.assign(start..at, id);
        Ok((start..at, clipped_by))
    }

    /// With data waiting and nothing in flight no acknowledgement would come: a closed window would never open again if
    /// its update were lost, a piece too small to be worth sending would stay for ever.
    pub(super) fn arm_window_probe(&mut self, now: Instant) {
        let needed = self.send.unassigned_bytes() > 0
            && self.send.assigned_bytes() == 0
            && (self.send_window_end <= self.send.first_unacked() || self.scheduler_wake.is_none());
        if !needed {
            self.window_probe = None;
        } else if self.window_probe.is_none() {
            let rto = self.subflows.usable().map(|s| s.tcp.rto()).min();
            self.window_probe = rto.map(|rto| (now + rto, 0));
            if self.window_probe.is_some() {
                self.progress_at = now;
            }
        }
    }
}
