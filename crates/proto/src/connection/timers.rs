//! The connection's timers: when the next one is due, and what happens then.

use super::handshake::THIRD_ACK_INTERVAL;
use super::lifecycle::DataFin;
use super::{Connection, Shared};
use crate::tcp::Peers;
use pathweave_units::Instant;

/// Close timeouts for which living subflows keep a connection alive although its stream stands still.
const STANDSTILLS: u64 = 3;

impl Connection {
    /// When the next timer is due.
    #[inline(always)]
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Called after every segment: one pass, and the costlier test only if it can matter.
        let mut next = Instant::FAR_FUTURE;
        let mut consider = |timer: Option<Instant>| next = next.min(timer.unwrap_or(Instant::FAR_FUTURE));
        for subflow in self.subflows.iter() {
            consider(Some(subflow.tcp.next_timer()));
            consider(subflow.third_ack_again);
            if !subflow.tcp.is_closed() {
                consider(subflow.mappings.deadline());
                consider(subflow.keep_alive.next_probe(&subflow.tcp, self.shared.config.keep_alive));
            }
        }
        consider(self.shared.addresses.next_timer());
        consider(self.shared.sender.data_timer);
        consider(self.shared.scheduling.wake);
        consider(self.shared.host.push_due());
        consider(self.shared.sender.peer.probe.map(|(t, _)| t));
        consider(self.shared.joins.next_timer());
        if let DataFin::Sent { again, .. } = self.shared.life.data_fin {
            consider(Some(again));
        }
        let close_timeout = self.shared.config.close_timeout;
        if self.shared.life.progress_at + close_timeout < next && self.waits_for_an_answer() {
            next = next.min(self.shared.life.end_of_wait(close_timeout));
        }
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Whether the connection is given up if no answer comes.
    #[inline]
    fn waits_for_an_answer(&self) -> bool {
        self.shared.life.is_connected()
            && self.shared.life.error().is_none()
            && (self.shared.sender.map.is_waiting()
                || matches!(self.shared.life.data_fin, DataFin::Sent { .. })
                || self.shared.sender.peer.probe.is_some()
                || self.finds_only_dark_paths()
                || self.nothing_is_answered()
                || self.is_orphaned()
                || (self.shared.life.left_at.is_some()
                    && self.shared.life.phase == super::lifecycle::LifePhase::Connected)
                || self.is_closing())
    }

    /// Whether no subflow carries any of the waiting data and no subflow answers. The wait is then for a path, not for
    /// the scheduler.
    fn finds_only_dark_paths(&self) -> bool {
        self.shared.sender.peer.stuck && self.subflows.usable().all(|s| s.health.is_stale())
    }

    /// Whether every subflow has unanswered data, even if another may have delivered it: a peer that is gone answers
    /// none of them (RFC 9293 §3.8.3, R2).
    fn nothing_is_answered(&self) -> bool {
        let mut usable = self.subflows.usable().peekable();
        usable.peek().is_some() && usable.all(|s| s.tcp.queue().packets_out() > 0)
    }

    /// Runs every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.run_timers(now);
        self.schedule(now);
        self.shared.sender.peer.overridden = false;
    }

    fn run_timers(&mut self, now: Instant) {
        for id in self.subflows.ids() {
            let at = self.subflows.at(id);
            if at.subflow.tcp.poll_timeout().is_none_or(|t| t > now) {
                continue;
            }
            let mut changes = self.shared.changes.take().unwrap_or_default();
            changes.clear();
            let own = self.shared.fill_paths(&at);
            at.subflow.tcp.handle_timeout(now, Peers { paths: &self.shared.paths, own }, &mut changes);
            self.apply_changes(now, id, &changes);
            self.shared.changes = Some(changes);
        }
        self.shared.joins.handle_timeout(now);
        self.shared.addresses.repeat_announcements(now);
        self.end_waiting_for_mappings(now);
        self.run_probes(now);
        for subflow in self.subflows.iter_mut() {
            //= RFC 8684 §3.2: "the packet MUST be retransmitted if this ACK is not received"
            //= tests: mp_join::any_one_segment_of_the_join_may_be_lost
            if subflow.third_ack_again.is_some_and(|t| t <= now) {
                subflow.tcp.ack_now();
                let again = now + subflow.tcp.rto().max(THIRD_ACK_INTERVAL);
                subflow.third_ack_again = (!subflow.tcp.is_closed()).then_some(again);
            }
        }
        if self.shared.scheduling.wake.is_some_and(|t| t <= now) {
            self.shared.scheduling.wake = None;
        }
        if self.shared.sender.data_timer.is_some_and(|t| t <= now) {
            self.handle_data_timeout(now);
        }
        if let Some((at, times)) = self.shared.sender.peer.probe
            && at <= now
        {
            if self.shared.sender.peer.end > self.shared.sender.map.first_unacked() {
                // RFC 9293 §3.8.6.2.1: the override timeout.
                self.shared.sender.peer.overridden = true;
                self.shared.sender.override_again(now, &self.subflows);
            } else {
                let close_timeout = self.shared.config.close_timeout;
                self.shared.sender.probe_window(now, &mut self.subflows, times, close_timeout);
            }
        }
        if let DataFin::Sent { again, .. } = self.shared.life.data_fin
            && again <= now
        {
            self.shared.send_data_fin(now, &mut self.subflows);
        }
        if self.shared.life.end_of_wait(self.shared.config.close_timeout) <= now && self.waits_for_an_answer() {
            self.give_up(now);
        }
        self.shared.news.record_health(now, &mut self.subflows);
    }
}

impl Shared {
    /// Notes that a subflow is alive, which usually means that the connection is. But if the stream stands still, that
    /// does not count for ever: a middlebox may let everything through except the options that give the data a meaning.
    pub(super) fn note_living_subflow(&mut self, now: Instant) {
        let waits = self.sender.map.is_waiting();
        if !waits || now.since(self.life.stream_moved_at) < self.config.close_timeout.saturating_mul(STANDSTILLS) {
            self.life.note_answer(now);
        }
    }
}
