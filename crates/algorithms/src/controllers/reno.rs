//! `reno`: slow start and congestion avoidance of RFC 5681 on each subflow by itself.
//!
//! Slow start adds a segment to the window for each acknowledged segment, congestion avoidance one segment a round. A
//! loss halves the window.
//!
//! Deviations: the window counts segments, not bytes, as in the kernel, so an acknowledgement of several segments
//! counts several times (RFC 3465 without its limit). The threshold is half of the congestion window; in RFC 5681 eq. 4
//! it is half of the flight size. Both are the same while the window is filled, and a window that is not filled does
//! not grow.

use super::AdditiveIncrease;
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, slow_start};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "reno",
    source: "RFC 5681",
    summary: "one segment more each round, half the window after a loss; each subflow for itself",
    parameters: &[],
    coupled: false,
    build: |_| Ok(Box::new(Reno::default())),
};

/// Slow start and congestion avoidance of RFC 5681.
#[derive(Debug, Default)]
pub struct Reno {
    increase: AdditiveIncrease,
}

impl Controller for Reno {
    //= RFC 5681 §3.1: "The slow start and congestion avoidance algorithms MUST be used by a TCP sender to control the amount of
    //= outstanding data being injected into the network"
    //= tests: reno::slow_start_doubles_each_round, reno::avoidance_adds_one_each_round
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        // RFC 5681 §3.1, congestion avoidance: one full-sized segment per round-trip time.
        self.increase.grow(cx.window, cx.window.cwnd, left);
    }

    //= RFC 5681 §3.1: "the value of ssthresh MUST be set to no more than the value given in equation (4)"
    //= tests: reno::the_threshold_is_half_the_window_and_at_least_two
    //= RFC 5681 §3.2: "When the third duplicate ACK is received, a TCP MUST set ssthresh to no more than the value given in
    //= equation (4)"
    //= tests: reno::the_threshold_is_half_the_window_and_at_least_two, loss_recovery::a_loss_halves_the_window
    //= RFC 5681 §3.2: "additional data sent in limited transmit MUST NOT be included in this calculation"
    //= tests: congestion::the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays
    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        self.increase.reset();
        // RFC 5681 eq. 4: max(FlightSize / 2, 2·SMSS).
        (cx.window.cwnd / 2).max(2)
    }

    fn growth(&self, _cx: &Context<'_>) -> Growth {
        Growth::PerRound(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Flow;
    use super::*;

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(Reno::default(), 10);
        for expected in [20, 40, 80] {
            flow.round();
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn avoidance_adds_one_each_round() {
        let mut flow = Flow::new(Reno::default(), 10).threshold(10);
        for expected in [11, 12, 13, 14] {
            flow.round();
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn a_stretch_acknowledgement_counts_its_segments() {
        let mut flow = Flow::new(Reno::default(), 10).threshold(10);
        flow.ack(25);
        assert_eq!(flow.cwnd(), 12);
        // Five are left over; the window is 12 now.
        flow.ack(6);
        assert_eq!(flow.cwnd(), 12);
        flow.ack(1);
        assert_eq!(flow.cwnd(), 13);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_the_rest_counts_for_avoidance() {
        let mut flow = Flow::new(Reno::default(), 10).threshold(12);
        flow.ack(8);
        assert_eq!(flow.cwnd(), 12);
        flow.ack(6);
        assert_eq!(flow.cwnd(), 13, "6 left over and 6 more fill a window of 12");
    }

    #[test]
    fn the_threshold_is_half_the_window_and_at_least_two() {
        for (cwnd, expected) in [(21, 10), (10, 5), (3, 2), (1, 2)] {
            assert_eq!(Flow::new(Reno::default(), cwnd).lose(), expected);
        }
    }
}
