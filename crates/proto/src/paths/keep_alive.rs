//! Asking whether a path is alive: keep-alive (RFC 9293 §3.8.4), and before a removed address is believed
//! (RFC 8684 §3.4.2).

use super::subflow::Subflow;
use pathweave_units::{Duration, Instant};

/// The least time between two probes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Probes without an answer after which a removed address is believed.
const REMOVAL_PROBES: u32 = 3;

/// When we last heard the peer on a subflow, and the probes that we have sent since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    /// When the last acceptable segment came.
    heard_at: Instant,
    probe: Option<Probe>,
}

/// Probes that have not been answered yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When the first one was sent, and when the next one will be.
    since: Instant,
    next: Instant,
    sent: u32,
    /// The peer says that it removed the address. If no answer comes, the subflow is reset.
    removed: bool,
}

impl Default for KeepAlive {
    fn default() -> Self {
        KeepAlive { heard_at: Instant::ZERO, probe: None }
    }
}

impl Subflow {
    /// An acceptable segment came.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.keep_alive = KeepAlive { heard_at: now, probe: None };
    }

    /// When the next probe goes out.
    //= RFC 9293 §3.8.4: "they MUST default to off"
    //= tests: keep_alive::off_there_is_no_probe, keep_alive::an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers
    #[inline]
    pub(crate) fn next_probe(&self, interval: Duration) -> Option<Instant> {
        match self.keep_alive.probe {
            None if interval.is_zero() => None,
            _ if self.tcp.in_time_wait() => None,
            Some(probe) => Some(probe.next),
            None if !self.tcp.is_established() => None,
            None => Some(self.keep_alive.heard_at + interval),
        }
    }

    /// Sends a probe. `removed`: the reason is that the peer says it removed the address.
    pub(crate) fn send_probe(&mut self, now: Instant, removed: bool) {
        let next = now + self.tcp.rto().max(INTERVAL);
        let old = self.keep_alive.probe.unwrap_or(Probe { since: now, next, sent: 0, removed });
        self.keep_alive.probe = Some(Probe { next, sent: old.sent + 1, removed: old.removed || removed, ..old });
        self.tcp.probe_window();
    }

    /// The peer says that it removed the address, and indeed nothing answers there.
    pub(crate) fn is_removed_for_certain(&self) -> bool {
        self.keep_alive.probe.is_some_and(|p| p.removed && p.sent >= REMOVAL_PROBES)
    }

    /// Whether probes have gone unanswered for this long.
    pub(crate) fn is_silent_for(&self, now: Instant, timeout: Duration) -> bool {
        self.keep_alive.probe.is_some_and(|p| now.since(p.since) >= timeout)
    }
}
