//! Reductions that were unnecessary are taken back (RFC 4015, RFC 5682, RFC 2883).

use super::recovery::Delivered;
use super::{Peers, Tcp};
use crate::congestion::Window;
use pathweave_units::Instant;

/// What an episode may be taken back to, and by what.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// The window before the episode.
    pub(super) prior: Option<Window>,
    /// The first byte of the episode: duplicates before it are none of its.
    pub(super) from: u64,
    /// Retransmissions not yet reported as duplicates (D-SACK).
    pub(super) retransmissions: Option<u32>,
    /// The timestamp clock at the episode's first retransmission.
    pub(super) first_retransmission: Option<u32>,
}

impl Tcp {
    /// The threshold to return to after an undo is not below three quarters of the window.
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

    /// The acknowledgement is older than every retransmission of the episode: what looked lost was late.
    pub(super) fn was_delayed(&self, delivered: &Delivered) -> bool {
        match (delivered.echoed_timestamp, self.recovery.undo.first_retransmission) {
            (Some(echo), Some(first)) => (echo.wrapping_sub(first) as i32) < 0,
            // Losses were marked, nothing was repeated yet, and all arrived after all.
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

    /// A retransmission went out while an undo is possible.
    pub(crate) fn note_retransmission(&mut self, timestamp: u32) {
        self.recovery.undo.first_retransmission.get_or_insert(timestamp);
        let n = self.recovery.undo.retransmissions.unwrap_or(0);
        self.recovery.undo.retransmissions = Some(n + 1);
    }
}
