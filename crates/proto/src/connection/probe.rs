//! Asking whether a path is alive: keep-alive (RFC 9293 §3.8.4), and before a removed address is believed
//! (RFC 8684 §3.4.2).

use super::Connection;
use crate::paths::subflow::Subflow;
use crate::seq::SubflowId;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{MptcpOption, ResetReason};

/// The least time between two probes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Probes without an answer after which a removed address is believed.
const REMOVAL_PROBES: u32 = 3;

/// Probes that were not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// When the first one was sent, and when the next one will be.
    since: Instant,
    next: Instant,
    sent: u32,
    /// The peer says that it removed the address: without an answer the subflow is reset.
    removed: bool,
}

impl Subflow {
    /// An acceptable segment came.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.probe = None;
    }

    /// When the next probe goes out.
    //= RFC 9293 §3.8.4: "they MUST default to off"
    //= tests: keep_alive::off_there_is_no_probe, keep_alive::an_idle_connection_is_probed_on_each_subflow_and_lives_on_with_answers
    pub(super) fn next_probe(&self, keep_alive: Duration) -> Option<Instant> {
        match self.probe {
            _ if self.tcp.in_time_wait() => None,
            Some(probe) => Some(probe.next),
            None if keep_alive.is_zero() || !self.tcp.is_established() => None,
            None => Some(self.heard_at + keep_alive),
        }
    }

    fn send_probe(&mut self, now: Instant, removed: bool) {
        let next = now + self.tcp.rto().max(INTERVAL);
        let old = self.probe.unwrap_or(Probe { since: now, next, sent: 0, removed });
        self.probe = Some(Probe { next, sent: old.sent + 1, removed: old.removed || removed, ..old });
        self.tcp.probe_window();
    }
}

impl Connection {
    /// "If a host receives a REMOVE_ADDR option, it must ensure that the affected path or paths are no longer in use before it
    /// instigates closure. The receipt of REMOVE_ADDR SHOULD first trigger the sending of a TCP keepalive on the path"
    /// (RFC 8684 §3.4.2).
    //= RFC 8684 §3.4.2: "The receipt of REMOVE_ADDR SHOULD first trigger the sending of a TCP keepalive [RFC1122] on
    //= the path, and if a response is received, the path SHOULD NOT be removed"
    //= tests: remove_addr::a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset
    pub(super) fn probe_for_removal(&mut self, now: Instant, id: SubflowId) {
        if let Some(subflow) = self.subflows.get_mut(id)
            && subflow.tcp.is_established()
        {
            subflow.send_probe(now, true);
        }
    }

    /// Sends the probes that are due. Nobody answers: the subflow, or the connection, is over.
    pub(super) fn run_probes(&mut self, now: Instant) {
        let keep_alive = self.config.keep_alive;
        for id in self.subflows.ids() {
            let Some(subflow) = self.subflows.get_mut(id) else { continue };
            if subflow.tcp.is_closed() || subflow.next_probe(keep_alive).is_none_or(|t| t > now) {
                continue;
            }
            match subflow.probe {
                Some(probe) if probe.removed && probe.sent >= REMOVAL_PROBES => {
                    // "SHOULD trigger the sending of RSTs by both hosts on the affected subflow(s)".
                    let reason = MptcpOption::Reset { transient: false, reason: ResetReason::Unspecified };
                    self.reset_subflow(now, id, &[reason]);
                }
                _ => subflow.send_probe(now, false),
            }
        }
        let silent = |s: &Subflow| s.probe.is_some_and(|p| now.since(p.since) >= self.config.close_timeout);
        let any_established = self.subflows.established().next().is_some();
        if any_established && self.subflows.established().all(silent) {
            self.give_up(now);
        }
    }
}
