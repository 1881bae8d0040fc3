//! Keep-alive: probes of an idle path (RFC 9293 §3.8.4). A path whose address the peer says it has removed is probed
//! too, to check whether that is true (RFC 8684 §3.4.2).

use crate::tcp::Tcp;
use pathweave_units::{Duration, Instant};

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

impl KeepAlive {
    /// Notes that an acceptable segment came.
    pub(crate) fn heard(&mut self, now: Instant) {
        *self = KeepAlive { heard_at: now, probe: None };
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
    pub(crate) fn next_probe(&self, tcp: &Tcp, interval: Duration) -> Option<Instant> {
        match self.probe {
            None if interval.is_zero() => None,
            _ if tcp.in_time_wait() => None,
            Some(probe) if probe.removed => Some(probe.next),
            // Data in flight is retransmitted anyway, and answered.
            _ if tcp.queue().packets_out() > 0 => None,
            Some(probe) => Some(probe.next),
            None if !tcp.is_established() => None,
            None => Some(self.heard_at + interval),
        }
    }

    /// Sends a probe. `removed`: whether the reason is that the peer says it removed the address.
    pub(crate) fn send_probe(&mut self, now: Instant, tcp: &mut Tcp, removed: bool) {
        let next = now + tcp.rto().max(INTERVAL);
        let old = self.probe.unwrap_or(Probe { since: now, next, sent: 0, removed });
        self.probe = Some(Probe { next, sent: old.sent + 1, removed: old.removed || removed, ..old });
        //= RFC 9293 §3.8.4 (SHLD-12): "An implementation SHOULD send a keep-alive segment with no data"
        //= tests: keep_alive::probes_have_no_data_and_none_is_sent_while_data_is_out
        tcp.probe_window();
    }

    /// When the last acceptable segment came.
    pub(crate) fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Whether the peer says that it removed the address, and has not answered from this address since.
    pub(crate) fn is_asked_after_removal(&self) -> bool {
        self.probe.is_some_and(|p| p.removed)
    }

    /// Whether the peer says that it removed the address, and has answered none of `REMOVAL_PROBES` probes.
    pub(crate) fn is_removed_for_certain(&self) -> bool {
        self.probe.is_some_and(|p| p.removed && p.sent >= REMOVAL_PROBES)
    }

    /// Whether probes have gone unanswered for this long.
    //= RFC 9293 §3.8.4 (MUST-29): "if a keep-alive mechanism is implemented it MUST NOT interpret failure to respond to any
    //= specific probe as a dead connection"
    //= tests: keep_alive::without_an_answer_on_any_subflow_the_connection_ends
    pub(crate) fn is_silent_for(&self, now: Instant, timeout: Duration) -> bool {
        self.probe.is_some_and(|p| now.since(p.since) >= timeout)
    }
}
