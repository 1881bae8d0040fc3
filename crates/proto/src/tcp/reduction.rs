//! Window reduction: the threshold after a loss, and proportional rate reduction on the way to it (RFC 9937).

use super::recovery::{Delivered, RecoveryState};
use super::{Peers, Tcp};
use pathweave_units::Instant;

/// State of proportional rate reduction, in segments.
#[derive(Debug, Default)]
pub(crate) struct Prr {
    pub(super) prior_cwnd: u32,
    delivered: u32,
    pub(super) out: u32,
}

impl Tcp {
    /// Lowers the threshold; the window follows by proportional rate reduction.
    //= RFC 5681 §4.3: "When the first loss in a window of data is detected, ssthresh MUST be set to no more than the value
    //= given by equation (4)"
    //= tests: loss_recovery::a_loss_halves_the_window
    #[inline(never)]
    pub(super) fn start_reduction(&mut self, now: Instant, peers: Peers<'_>) {
        self.recovery.high = self.send.nxt;
        self.recovery.probe = None;
        self.recovery.prr.prior_cwnd = self.congestion.window.cwnd;
        self.recovery.prr.delivered = 0;
        self.recovery.prr.out = 0;
        self.congestion.window.ssthresh = self.with_controller(now, peers, |c, cx| c.threshold_after_loss(cx)).max(2);
        self.note_loss_interval();
    }

    pub(super) fn note_loss_interval(&mut self) {
        self.delivery.bytes_between_losses = self.delivery.bytes_since_loss;
        self.delivery.bytes_since_loss = 0;
    }

    //= RFC 5681 §3.2: "When the next ACK arrives that acknowledges previously unacknowledged data, a TCP MUST set cwnd to
    //= ssthresh (the value set in step 2)"
    //= tests: congestion::when_losses_are_repaired_the_window_is_the_threshold_and_grows_by_a_segment_each_round
    //= RFC 5681 §4.3: "After all loss in the given window of segments has been successfully retransmitted, cwnd MUST be set to
    //= no more than ssthresh and congestion avoidance MUST be used to further increase cwnd"
    //= tests: congestion::when_losses_are_repaired_the_window_is_the_threshold_and_grows_by_a_segment_each_round
    pub(super) fn end_reduction(&mut self) {
        self.congestion.window.cwnd = self.congestion.window.ssthresh.max(1);
    }

    /// Reduces the window without a loss to repair, after an ECN echo or a tail loss that a probe repaired.
    pub(crate) fn enter_reduction(&mut self, now: Instant, peers: Peers<'_>) {
        if !self.recovery.in_reduction() {
            self.recovery.undo.prior = None;
            self.start_reduction(now, peers);
            self.recovery.state = RecoveryState::Reduction;
        }
    }

    /// Proportional rate reduction (RFC 9937 §5). Called after losses are marked and before anything is retransmitted.
    //= RFC 5681 §4.3: "Until all lost segments in the window of data in question are repaired, the number of segments
    //= transmitted in each RTT MUST be no more than half the number of outstanding segments when the loss was detected"
    //= tests: congestion::at_most_half_of_what_was_out_leaves_in_a_round_trip_until_losses_are_repaired
    //= RFC 8985 §9.3: "The Proportional Rate Reduction (PRR) algorithm [RFC6937] is RECOMMENDED for the specific congestion
    //= control actions taken upon the losses detected by RACK-TLP"
    //= tests: congestion::at_most_half_of_what_was_out_leaves_in_a_round_trip_until_losses_are_repaired
    pub(crate) fn reduce_window(&mut self, d: &Delivered) {
        if d.segments == 0 || self.recovery.prr.prior_cwnd == 0 {
            return;
        }
        if !self.config.prr {
            return;
        }
        let in_flight = i64::from(self.in_flight());
        let ssthresh = i64::from(self.congestion.window.ssthresh);
        let delta = ssthresh - in_flight;
        self.recovery.prr.delivered += d.segments;
        let delivered = i64::from(self.recovery.prr.delivered);
        let out = i64::from(self.recovery.prr.out);
        let mut count = if delta < 0 {
            let prior = i64::from(self.recovery.prr.prior_cwnd);
            (ssthresh * delivered + prior - 1) / prior - out
        } else {
            let mut n = (delivered - out).max(i64::from(d.segments));
            if d.una_advanced && self.recovery.newly_lost == 0 {
                n += 1;
            }
            n.min(delta)
        };
        // The first retransmission leaves at once.
        count = count.max(i64::from(out == 0));
        self.congestion.window.cwnd = (in_flight + count).max(1) as u32;
    }
}
