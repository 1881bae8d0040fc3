//! `otias-kernel`: [`super::otias`] with the wait of its kernel port.
//!
//! RTT_to_wait_j = ⌈(queued_j − free_j + 1)/cwnd_j⌉, at least 0: a segment that does not fit the window any more waits
//! a whole round trip, where the paper's floor has it wait for none until a second window is queued.

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
