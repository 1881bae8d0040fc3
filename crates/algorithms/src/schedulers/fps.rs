//! `fps`: forward prediction scheduling.
//!
//! # What it does
//!
//! A slow subflow takes data from further ahead in the stream: from behind what the faster subflows will deliver until
//! its own data arrives. So everything arrives at the receiver in order. The prediction assumes that nothing is lost
//! and windows grow with every round. If there are losses, it leaves too much to the fast subflows, and the slow one's
//! data has to wait at the receiver.
//!
//! # Formula
//!
//! ```text
//! T_j    = RTT_j / 2
//! R_ij   = ⌊T_j/RTT_i + 1/2⌋                            rounds of i whose data arrives within T_j
//! N_j    = Σ_i Σ_(r = 1..R_ij) w_i(r)                   over the i faster than j
//! w_i(1) = cwnd_i;  w_i(r + 1) = 2·w_i(r) below ssthresh_i, else w_i(r) + 1        (DPSAF eq. 6)
//! j sends its free window from the (N_j + 1)-th unassigned segment on
//! ```
//!
//! * RTT: smoothed round-trip time, ms; T_j: time until j's data arrives, ms; N_j: segments that the faster subflows
//!   deliver within T_j, each of the size of its subflow.
//! * cwnd_i: congestion window; ssthresh_i: slow start threshold; w_i(r): window of round r; all in segments.
//!
//! # Source
//!
//! Mirani, Boukhatem and Tran, "A data-scheduling mechanism for multi-homed mobile terminals with disparate link
//! latencies", VTC 2010, as in DPSAF §II, its reference 35.
//!
//! # Deviations
//!
//! * The prediction assumes that a round of i begins together with the transfer. `fpdps` adds the rest of a round that
//!   is under way (DPSAF eq. 1).
//! * The original takes all other subflows into account. That gives the same result, because a subflow that is slower
//!   than j delivers nothing within T_j.
//! * The window grows as in DPSAF, whatever the controller does. Its last doubling may take it beyond the threshold.
//! * The deviations of forward prediction ([`super::forward`]) apply too.

use super::forward::{Forward, MAX_WINDOW, Predict, rounds};
use pathweave_scheduler::{SchedulerEntry, SubflowView};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "fps",
    source: "DPSAF §II [35]",
    summary: "a slow subflow takes data as far ahead as the others would deliver meanwhile without loss",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Forward::new(LossFree, None))),
};

/// The prediction of `fps`: nothing is lost, and a round begins together with the transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossFree;

/// The segments that a window of `cwnd` sends in `rounds` rounds without loss (DPSAF eq. 6).
pub(crate) fn sent(rounds: u32, cwnd: u32, ssthresh: u32) -> u64 {
    let (mut sum, mut window) = (0, cwnd.min(MAX_WINDOW));
    for _ in 0..rounds {
        sum += u64::from(window);
        window = grown(window, ssthresh);
    }
    sum
}

/// The window after a round without loss (DPSAF eq. 6).
pub(crate) fn grown(window: u32, ssthresh: u32) -> u32 {
    if window < ssthresh { (2 * window).min(MAX_WINDOW) } else { window + 1 }
}

impl Predict for LossFree {
    fn delivered(&mut self, i: &SubflowView, transfer: Duration, _now: Instant) -> u64 {
        i.rtt.smoothed.map_or(0, |rtt| sent(rounds(transfer, rtt), i.window.cwnd, i.window.ssthresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn windows_double_in_slow_start_and_grow_by_one_in_avoidance() {
        assert_eq!([0, 1, 2, 3].map(|rounds| sent(rounds, 10, 10)), [0, 10, 21, 33]);
        assert_eq!([0, 1, 2, 3].map(|rounds| sent(rounds, 10, 1000)), [0, 10, 30, 70]);
        // 3, 6, 12, 13, 14.
        assert_eq!(sent(5, 3, 10), 48);
    }

    #[test]
    fn a_round_counts_once_half_of_it_is_over() {
        let of = |ms| rounds(Duration::from_millis(ms), Duration::from_millis(40));
        assert_eq!([0, 19, 20, 59, 60, 99, 100].map(of), [0, 0, 1, 1, 2, 2, 3]);
    }

    /// DPSAF Fig. 2: five segments are sent on i during the transfer, in rounds of two and three (as in Fig. 7).
    #[test]
    fn figure_2() {
        let mut bench = Bench::new([sub(0).rtt(40).cwnd(2).in_flight(2), sub(1).rtt(160).cwnd(2)]).write(100);
        bench.sub(0).window.ssthresh = 2;
        let mut scheduler = Forward::new(LossFree, None);
        assert_eq!(bench.run(&mut scheduler), [(1, 5..7)]);
        // Meanwhile the fast subflow sends the data before that in order, in two rounds.
        for (window, expected) in [(2, 0..2), (3, 2..5)] {
            bench.sub(0).window.in_flight = 0;
            bench.sub(0).window.cwnd = window;
            assert_eq!(bench.run(&mut scheduler), [(0, expected)]);
        }
    }

    /// In DPSAF Fig. 3 a segment of the first of these rounds is lost, which this scheduler does not foresee.
    #[test]
    fn losses_change_nothing() {
        let mut bench = Bench::new([sub(0).rtt(40).cwnd(2).in_flight(2), sub(1).rtt(160).cwnd(2)]).write(100);
        (bench.sub(0).window.ssthresh, bench.sub(0).delivery.loss) = (2, 0.4);
        assert_eq!(bench.run(&mut Forward::new(LossFree, None)), [(1, 5..7)]);
    }

    #[test]
    fn of_several_subflows_each_leaves_what_all_others_send() {
        let full = |id, rtt, cwnd| sub(id).rtt(rtt).cwnd(cwnd).in_flight(cwnd);
        // Within 100 ms, three rounds of 40 ms arrive on the first (at 20, 60 and 100 ms: 33 segments), and one round
        // of 120 ms on the second (at 60 ms: 5 segments).
        let mut bench = Bench::new([full(0, 40, 10), full(1, 120, 5), sub(2).rtt(200).cwnd(3)]).write(100);
        assert_eq!(bench.run(&mut Forward::new(LossFree, None)), [(2, 38..41)]);
    }
}
