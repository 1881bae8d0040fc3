//! Taking back reductions that were unnecessary (RFC 4015, RFC 5682, RFC 2883).

use super::recovery::Delivered;
use super::{Peers, Tcp};
use crate::congestion::Window;
use pathweave_units::Instant;

/// The window before an episode, and the evidence that the episode was unnecessary.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// The window before the episode.
    pub(super) prior: Option<Window>,
    /// First byte of the episode. Duplicates before it do not count for it.
    pub(super) from: u64,
    /// Retransmissions not yet reported as duplicates (D-SACK).
    pub(super) retransmissions: Option<u32>,
    /// The timestamp clock at the episode's first retransmission.
    pub(super) first_retransmission: Option<u32>,
}

impl Tcp {
    /// Remembers the window before an episode. Its threshold is at least three quarters of the window.
    pub(super) fn remember_for_undo(&mut self) {
        let w = self.congestion.window;
        self.recovery.undo.prior = Some(Window { cwnd: w.cwnd, ssthresh: w.ssthresh.max(w.cwnd - w.cwnd / 4) });
        self.recovery.undo.from = self.send.una;
        self.recovery.undo.retransmissions = None;
        self.recovery.undo.first_retransmission = None;
    }

    pub(super) fn may_undo(&self, delivered: &Delivered) -> bool {
        if self.recovery.undo.prior.is_none() {
            return false;
        }
        self.recovery.undo.retransmissions == Some(0) || self.was_delayed(delivered)
    }

    /// Whether the acknowledgement is older than every retransmission of the episode, so that the segments were late,
    /// not lost.
    pub(super) fn was_delayed(&self, delivered: &Delivered) -> bool {
        match (delivered.echoed_timestamp, self.recovery.undo.first_retransmission) {
            (Some(echo), Some(first)) => (echo.wrapping_sub(first) as i32) < 0,
            // Segments were marked lost, none was retransmitted yet, and all arrived after all.
            (_, None) => delivered.una_advanced && self.recovery.undo.retransmissions.is_none(),
            _ => false,
        }
    }

    #[inline(never)]
    pub(super) fn undo(&mut self, now: Instant, peers: Peers<'_>) {
        let Some(prior) = self.recovery.undo.prior.take() else { return };
        self.queue.forget_losses();
        let cwnd = self.with_controller(now, peers, |c, cx| c.window_after_undo(cx, prior));
        self.congestion.window = Window { cwnd, ssthresh: self.congestion.window.ssthresh.max(prior.ssthresh) };
        self.counters.undos += 1;
    }

    /// Notes a retransmission during an episode that may be undone.
    pub(crate) fn note_retransmission(&mut self, timestamp: u32) {
        self.recovery.undo.first_retransmission.get_or_insert(timestamp);
        let n = self.recovery.undo.retransmissions.unwrap_or(0);
        self.recovery.undo.retransmissions = Some(n + 1);
    }
}
