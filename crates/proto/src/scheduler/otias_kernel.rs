//! `otias-kernel`: OTIAS with the wait of its kernel port.
//!
//! # What it does
//!
//! As [`super::otias`], each segment goes to the subflow on which it should arrive first, and queues there when the
//! window is full. The port rounds the wait up: a segment that does not fit the window any more waits for a whole
//! round trip, where the paper's rule has it wait for none until a second window is queued. So slower subflows are
//! used earlier.
//!
//! # Formula
//!
//! ```text
//! wait_i = max(0, ⌈(unsent_i − (cwnd_i − unacked_i) + 1) / cwnd_i⌉)
//! T_i    = (wait_i + 1/2) · srtt_i
//! i      = arg min T_i        over the i whose send buffer has space
//! ```
//!
//! * wait_i: round trips until the segment can be sent; T_i: time until it arrives, ms; srtt_i: smoothed round-trip
//!   time, ms.
//! * unsent_i: given to i and not yet sent; unacked_i: sent and not acknowledged; cwnd_i: all in segments.
//!
//! # Source
//!
//! The out-of-tree Linux port of OTIAS; the rule is that of BLEST Alg. 2.
//!
//! # Deviations
//!
//! * Those of [`super::otias`] but the one on rounding.

use super::{Decision, Scheduler, SubflowView, View, otias};
use crate::registry::SchedulerEntry;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "otias-kernel",
    source: "out-of-tree kernel port of OTIAS",
    summary: "the earliest arrival; a full window costs a round trip",
    parameters: &[],
    queues: true,
    duplicates: false,
    build: |_| Ok(Box::new(OtiasKernel)),
};

/// Earliest arrival, as in the kernel port.
#[derive(Debug, Default)]
pub struct OtiasKernel;

fn rtt_to_wait(s: &SubflowView) -> i64 {
    let cwnd = i64::from(s.cwnd.max(1));
    let free = i64::from(s.cwnd) - i64::from(s.unacked);
    // The ceiling of a division by a positive number.
    (i64::from(s.unsent) - free + 1 + cwnd - 1).div_euclid(cwnd).max(0)
}

impl Scheduler for OtiasKernel {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        otias::decide(view, rtt_to_wait)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, sub};
    use super::*;

    #[test]
    fn the_wait_by_hand() {
        for (unsent, unacked, wait) in [(0, 0, 0), (0, 9, 0), (0, 10, 1), (9, 10, 1), (10, 10, 2), (19, 10, 2)] {
            let mut s = sub(0).0;
            (s.unsent, s.unacked) = (unsent, unacked);
            assert_eq!(rtt_to_wait(&s), wait, "{unsent} unsent, {unacked} unacknowledged");
        }
    }

    #[test]
    fn the_slow_subflow_is_used_a_window_earlier_than_in_the_paper() {
        // Fast: 10, then 30, then 50 ms; slow: 50 ms.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(10), sub(1).rtt(100).cwnd(10)]).write(1000);
        assert_eq!(bench.run_for(&mut OtiasKernel, 31), [(0, 0..30), (1, 30..31)]);
    }
}
