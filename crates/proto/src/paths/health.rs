//! The health of a path, as far as its connection can tell.
//!
//! ```text
//! Opening -> Working -> Late -> Stale -> Down
//! ```
//!
//! An answer takes a path from `Late` or `Stale` back to `Working`. A timeout makes a working or late path `Stale`. The
//! end of its subflow makes any path `Down`.
//!
//! Keep-alive probes an idle path (RFC 9293 §3.8.4). It also probes a path whose address the peer says it has removed,
//! to check whether that is true (RFC 8684 §3.4.2).

use super::subflow::Subflow;
use crate::subflow_state::PathHealth;
use pathweave_units::{Duration, Instant};

/// Longest time between two probes on a dark path with failure detection `fast`.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Connection-level timeouts without an answer after which mainline Linux considers a subflow stale (`stale_loss_cnt`).
const STALE_AFTER: u32 = 4;

/// The health of one subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// The path cannot carry data yet. Neither the scheduler nor the application knows of it.
    #[default]
    Opening,
    /// The peer answers.
    Working,
    /// An answer is overdue. Other subflows send this one's data again.
    Late,
    /// There was no sign of life since a timeout. The subflow gets no new data while another one is alive. `late`:
    /// whether other subflows still send more of its data with each DATA_ACK.
    Stale { late: bool },
    /// The subflow has ended. `late`: as for `Stale`, until another subflow gets this one's name.
    Down { late: bool },
}

impl Health {
    /// Notes that the subflow can carry data. Returns whether it could not before.
    #[inline]
    pub(crate) fn open(&mut self) -> bool {
        let is_new = *self == Health::Opening;
        if is_new {
            *self = Health::Working;
        }
        is_new
    }

    /// Notes that an answer is overdue.
    pub(crate) fn miss_answer(&mut self) {
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late => Health::Late,
            Health::Stale { .. } => Health::Stale { late: true },
            Health::Down { .. } => Health::Down { late: true },
        }
    }

    /// Notes a timeout without a sign of life. A path that cannot carry data yet stays `Opening`.
    pub(crate) fn time_out(&mut self) {
        if let Health::Working | Health::Late = *self {
            *self = Health::Stale { late: self.is_late() };
        }
    }

    /// Notes that the peer has answered on this path. Returns whether the path was stale.
    #[inline]
    pub(crate) fn answer(&mut self) -> bool {
        let was_stale = self.is_stale();
        *self = match *self {
            Health::Opening => Health::Opening,
            Health::Working | Health::Late | Health::Stale { .. } => Health::Working,
            Health::Down { .. } => Health::Down { late: false },
        };
        was_stale
    }

    /// Notes that the subflow has ended. Returns whether the scheduler and the application knew of the subflow.
    pub(crate) fn end(&mut self) -> bool {
        let was_up = !matches!(self, Health::Opening | Health::Down { .. });
        *self = Health::Down { late: self.is_late() };
        was_up
    }

    /// Whether other subflows send this one's data again.
    #[inline]
    pub(crate) fn is_late(self) -> bool {
        matches!(self, Health::Late | Health::Stale { late: true } | Health::Down { late: true })
    }

    /// Whether the subflow gets no new data while another one is alive.
    #[inline]
    pub(crate) fn is_stale(self) -> bool {
        matches!(self, Health::Stale { .. })
    }

    /// The state as observers and snapshots see it.
    pub(crate) fn shown(self) -> PathHealth {
        match self {
            Health::Opening => PathHealth::Opening,
            Health::Working => PathHealth::Working,
            Health::Late => PathHealth::Late,
            Health::Stale { .. } => PathHealth::Stale,
            Health::Down { .. } => PathHealth::Down,
        }
    }

    /// Whether the subflow has ended.
    #[inline]
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Health::Down { .. })
    }
}

/// Counts connection-level timeouts during which no data was acknowledged on a subflow (failure detection `linux`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnansweredTimeouts {
    timeouts: u32,
    /// Bytes acknowledged on the subflow at the last of these timeouts.
    acked: u64,
}

impl UnansweredTimeouts {
    /// Counts a connection-level timeout that passed while data was in flight on the subflow. `acked`: bytes
    /// acknowledged on it so far. Returns whether the path counts as dark now.
    pub(crate) fn time_out(&mut self, acked: u64) -> bool {
        self.timeouts = if self.acked == acked { self.timeouts + 1 } else { 0 };
        self.acked = acked;
        self.timeouts >= STALE_AFTER
    }
}

impl Subflow {
    /// Handles a retransmission timeout with failure detection `fast`: the subflow gets no new data until it shows a
    /// sign of life. `longest`: the longest time between probes of a closed window.
    pub(crate) fn time_out(&mut self, longest: Duration) {
        // A path on which the peer has closed its window is not dark. Its repetitions are window probes, and their
        // interval grows.
        let interval = if self.tcp.peer_window() == 0 { longest } else { PROBE_INTERVAL };
        self.tcp.probe_at_least_every(Some(interval));
        self.health.time_out();
    }

    /// Lets the subflow carry new data again because the peer has answered. Returns whether its path was stale.
    #[inline]
    pub(crate) fn revive(&mut self, now: Instant) -> bool {
        let was_stale = self.health.answer();
        if was_stale {
            self.tcp.answered_again(now);
        }
        was_stale
    }
}

/// Least time between two probes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Unanswered probes after which a removed address counts as gone.
const REMOVAL_PROBES: u32 = 3;

/// When the peer was last heard on a subflow, and the probes sent since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    /// When the last acceptable segment came.
    heard_at: Instant,
    probe: Option<Probe>,
}

/// Probes that have not been answered yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When the first probe was sent.
    since: Instant,
    /// When the next probe is due.
    next: Instant,
    /// Count of the probes sent.
    sent: u32,
    /// Whether the peer says that it removed the address. If so, the subflow is reset if no answer comes.
    removed: bool,
}

impl Default for KeepAlive {
    fn default() -> Self {
        KeepAlive { heard_at: Instant::ZERO, probe: None }
    }
}

impl Subflow {
    /// Notes that an acceptable segment came.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.keep_alive = KeepAlive { heard_at: now, probe: None };
    }

    /// When the next probe is due; `interval` is the setting `keep_alive`.
    //= RFC 9293 §3.8.4 (MUST-25): "they MUST default to off"
    //= tests: keep_alive::off_there_is_no_probe, keep_alive::an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers
    //= RFC 9293 §3.8.4 (MAY-5): "Implementers MAY include "keep-alives" in their TCP implementations"
    //= tests: keep_alive::an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers
    //= RFC 9293 §3.8.4 (MUST-26): "Keep-alive packets MUST only be sent when no sent data is outstanding, and no data or
    //= acknowledgment packets have been received for the connection within an interval"
    //= tests: keep_alive::probes_have_no_data_and_none_is_sent_while_data_is_out, keep_alive::an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers
    #[inline]
    pub(crate) fn next_probe(&self, interval: Duration) -> Option<Instant> {
        match self.keep_alive.probe {
            None if interval.is_zero() => None,
            _ if self.tcp.in_time_wait() => None,
            Some(probe) if probe.removed => Some(probe.next),
            // Data in flight is retransmitted anyway, and answered.
            _ if self.tcp.queue().packets_out() > 0 => None,
            Some(probe) => Some(probe.next),
            None if !self.tcp.is_established() => None,
            None => Some(self.keep_alive.heard_at + interval),
        }
    }

    /// Sends a probe. `removed`: whether the reason is that the peer says it removed the address.
    pub(crate) fn send_probe(&mut self, now: Instant, removed: bool) {
        let next = now + self.tcp.rto().max(INTERVAL);
        let old = self.keep_alive.probe.unwrap_or(Probe { since: now, next, sent: 0, removed });
        self.keep_alive.probe = Some(Probe { next, sent: old.sent + 1, removed: old.removed || removed, ..old });
        //= RFC 9293 §3.8.4 (SHLD-12): "An implementation SHOULD send a keep-alive segment with no data"
        //= tests: keep_alive::probes_have_no_data_and_none_is_sent_while_data_is_out
        self.tcp.probe_window();
    }

    /// Whether the peer says that it removed the address, and has not answered from this address since.
    pub(crate) fn is_asked_after_removal(&self) -> bool {
        self.keep_alive.probe.is_some_and(|p| p.removed)
    }

    /// Whether the peer says that it removed the address, and has answered none of `REMOVAL_PROBES` probes.
    pub(crate) fn is_removed_for_certain(&self) -> bool {
        self.keep_alive.probe.is_some_and(|p| p.removed && p.sent >= REMOVAL_PROBES)
    }

    /// Whether probes have gone unanswered for this long.
    //= RFC 9293 §3.8.4 (MUST-29): "if a keep-alive mechanism is implemented it MUST NOT interpret failure to respond to any
    //= specific probe as a dead connection"
    //= tests: keep_alive::without_an_answer_on_any_subflow_the_connection_ends
    pub(crate) fn is_silent_for(&self, now: Instant, timeout: Duration) -> bool {
        self.keep_alive.probe.is_some_and(|p| now.since(p.since) >= timeout)
    }

    /// Whether data in flight, which is retransmitted in place of probes, has gone unanswered for this long.
    pub(crate) fn repeats_for(&self, now: Instant, timeout: Duration) -> bool {
        let stale = self.health.is_stale() && self.tcp.queue().packets_out() > 0;
        stale && now.since(self.keep_alive.heard_at) >= timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_answers_again_works_and_what_is_over_stays_over() {
        let mut health = Health::default();
        health.time_out();
        assert!(health.open() && !health.open());
        health.miss_answer();
        health.time_out();
        assert_eq!(health, Health::Stale { late: true });
        assert!(health.answer(), "it was stale");
        assert_eq!(health, Health::Working);
        assert!(!health.answer());
        assert!(health.end(), "it had been told");
        assert!(!health.end());
        health.time_out();
        assert!(health.is_down() && !health.open());
    }

    #[test]
    fn four_silent_timeouts_in_a_row_are_a_dark_path() {
        let mut silence = UnansweredTimeouts::default();
        let long: Vec<bool> = [0, 0, 0, 10, 10, 10, 10, 10].map(|acked| silence.time_out(acked)).to_vec();
        assert_eq!(long, [false, false, false, false, false, false, false, true]);
    }
}
