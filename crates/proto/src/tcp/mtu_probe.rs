//! Probing for a larger MTU on a path that was found to take only small packets (RFC 4821 §7, RFC 8899 §5.3).
//!
//! A probe is the next data of the queue in one larger segment. It is sent only if enough segments follow it that its
//! loss shows. If it arrives, the path takes its size, and the next larger size is tried at once, up to the size that
//! the path was thought to take at first. If it is the only segment lost, its data is sent again in pieces, the window
//! stays, and the next probe waits.

use super::Tcp;
use super::path_mtu::{MtuProbe, STEPS};
use super::recovery::RecoveryState;
use crate::config::PathMtuDiscovery;
use pathweave_units::{Duration, Instant};

/// Time between a failure and the next probe: RFC 8899 §5.1.1's PMTU_RAISE_TIMER.
const INTERVAL: Duration = Duration::from_secs(600);
/// Least congestion window and number of following segments for a probe, so that recovery finds the loss of one segment
/// at once.
const LEAST_WINDOW: u32 = 11;
const FOLLOWERS: u32 = 3;

impl Tcp {
    /// Lets the next probe wait, because the path takes less than was thought or a probe was lost.
    //= RFC 8201 §4: "An attempt to detect an increase (by sending a packet larger than the current estimate) must not be
    //= done less than 5 minutes after a Packet Too Big message has been received"
    //= tests: path_mtu::a_path_that_takes_more_again_is_found_by_a_probe_after_ten_minutes
    pub(super) fn postpone_mtu_probe(&mut self, now: Instant) {
        self.path_mtu.probe = None;
        let probes = self.config.path_mtu_discovery == PathMtuDiscovery::Probing;
        let raises = probes && self.path_mtu.mtu < self.path_mtu.limit;
        self.path_mtu.raise_at = if raises { now + INTERVAL } else { Instant::FAR_FUTURE };
    }

    /// Makes the next data one probe, if that is possible now.
    #[cold]
    pub(super) fn join_mtu_probe(&mut self) {
        let mtu = STEPS.into_iter().rev().find(|step| *step > self.path_mtu.mtu).unwrap_or(self.path_mtu.limit);
        let mtu = mtu.min(self.path_mtu.limit);
        let (len, mss) = (self.data_bytes(mtu), self.agreed.mss);
        if len <= mss {
            // The peer takes no larger segments.
            self.path_mtu.raise_at = Instant::FAR_FUTURE;
            return;
        }
        let follows = self.queue.unsent() >= len.div_ceil(mss) + FOLLOWERS;
        let quiet = self.recovery.state == RecoveryState::Open && self.path_mtu.probe.is_none();
        if quiet && follows && self.congestion.window.cwnd >= LEAST_WINDOW && self.queue.join_unsent(len) {
            self.path_mtu.probe = Some(MtuProbe { at: self.send.nxt, len, mtu });
            self.path_mtu.delivered = 0;
        }
    }

    /// After an acknowledgement: raises the MTU if a segment as large as the probe has arrived.
    pub(super) fn check_mtu_probe(&mut self, now: Instant) {
        let Some(probe) = self.path_mtu.probe.filter(|p| self.path_mtu.delivered >= p.len) else { return };
        self.set_path_mtu(now, probe.mtu);
        if self.path_mtu.raise_at < Instant::FAR_FUTURE {
            self.path_mtu.raise_at = now;
        }
    }

    /// Whether the probe is the only lost segment. If so, its size was the reason, and it is repaired without a smaller
    /// window.
    pub(super) fn only_mtu_probe_was_lost(&mut self, now: Instant) -> bool {
        let Some(probe) = self.path_mtu.probe else { return false };
        let lost = self.queue.sent_at(probe.at).is_some_and(|s| s.lost && !s.retransmitted);
        if !lost || self.queue.lost_out > 1 {
            return false;
        }
        self.give_up_mtu_probe(now);
        self.repair_without_reduction();
        true
    }

    /// Sends the rest of a probe again in pieces.
    #[cold]
    pub(super) fn give_up_mtu_probe(&mut self, now: Instant) {
        if self.path_mtu.probe.is_some() {
            self.queue.divide(self.agreed.mss, 0..u64::MAX);
            self.postpone_mtu_probe(now);
        }
    }
}
