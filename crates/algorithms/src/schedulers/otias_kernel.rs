//! `otias-kernel`: OTIAS as in its out-of-tree Linux port (`mptcp_otias.c`).
//!
//! # What it does
//!
//! As with [`super::otias`], each segment goes to the subflow on which it should arrive first, and queues there if the
//! window is full. The port rounds the wait up: a segment that does not fit the window counts as waiting for a whole
//! round trip. By the paper's rule it has no wait until a second window is queued. So the port uses slower subflows
//! earlier. It counts segments in flight, not all unacknowledged ones: segments that were lost or arrived out of order
//! leave room. After a timeout a subflow gets nothing new until the loss is repaired.
//!
//! # Formula
//!
//! ```text
//! free_i = max(0, cwnd_i − in_flight_i)
//! wait_i = 0                                        while unsent_i < free_i
//!          ⌈(unsent_i − free_i + 1) / cwnd_i⌉       else
//! T_i    = (wait_i + 1/2) · srtt_i
//! i      = arg min T_i        over the i that are not in loss recovery after a timeout
//! ```
//!
//! * wait_i: round trips until the segment can be sent; T_i: time until it arrives, ms; srtt_i: smoothed round-trip
//!   time, ms.
//! * unsent_i: given to i and not yet sent; in_flight_i: sent, not acknowledged (in order or by SACK), and not lost;
//!   cwnd_i: congestion window; all in segments.
//!
//! # Source
//!
//! `mptcp_otias.c` of the out-of-tree Multipath TCP for Linux with the schedulers of BLEST's authors; the rule is that
//! of BLEST Alg. 2.
//!
//! # Deviations
//!
//! * A subflow without space in its send buffer gets nothing. The port has no such limit, but skips a subflow if its
//!   network driver's queue is full.
//! * Ties keep the order of identifiers; the port takes the newest subflow. Subflows without a round-trip time sample
//!   come last.
//! * The port's own opportunistic retransmission, which is off by default, is the connection's `pr` here.

use super::otias;
use pathweave_scheduler::{Decision, Phase, Scheduler, SchedulerEntry, SubflowView, View};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "otias-kernel",
    source: "Linux out-of-tree, mptcp_otias.c",
    summary: "the earliest arrival; a full window costs a round trip",
    parameters: &[],
    queues: true,
    duplicates: false,
    build: |_| Ok(Box::new(OtiasKernel)),
};

/// A scheduler that prefers the subflow with the earliest arrival, as in the kernel port.
#[derive(Debug, Default)]
pub struct OtiasKernel;

fn rtt_to_wait(s: &SubflowView) -> i64 {
    let free = s.window.cwnd.saturating_sub(s.window.in_flight);
    if s.queue.unsent < free {
        return 0;
    }
    i64::from((s.queue.unsent - free).saturating_add(1).div_ceil(s.window.cwnd.max(1)))
}

impl Scheduler for OtiasKernel {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        // A single subflow is used whenever its window has room, as in the port.
        let alone = view.subflows.len() == 1;
        let has_room = |s: &SubflowView| if alone { s.has_space() } else { s.queue.space > 0 };
        otias::decide(view, |s| s.window.phase != Phase::Loss && has_room(s), rtt_to_wait)
    }

    fn wants_events(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn the_wait_by_hand() {
        for (unsent, in_flight, wait) in [(0, 0, 0), (0, 9, 0), (0, 10, 1), (9, 10, 1), (10, 10, 2), (19, 10, 2)] {
            let mut s = sub(0).0;
            (s.queue.unsent, s.window.in_flight, s.window.unacked) = (unsent, in_flight, in_flight);
            assert_eq!(rtt_to_wait(&s), wait, "{unsent} unsent, {in_flight} in flight");
        }
    }

    /// 15 segments are unacknowledged. 8 of them arrived out of order or are lost, so 7 are in flight and three more
    /// fit.
    #[test]
    fn what_is_out_of_order_or_lost_leaves_room() {
        let mut s = sub(0).0;
        (s.window.unacked, s.window.in_flight) = (15, 7);
        for (unsent, wait) in [(0, 0), (2, 0), (3, 1), (12, 1), (13, 2)] {
            s.queue.unsent = unsent;
            assert_eq!(rtt_to_wait(&s), wait, "{unsent} unsent");
        }
    }

    /// After a loss a window of 10 may have 25 segments in flight: free is then 0, not −15.
    #[test]
    fn a_window_that_shrank_below_what_is_in_flight_has_no_room_and_no_debt() {
        let mut s = sub(0).0;
        (s.window.unacked, s.window.in_flight) = (25, 25);
        for (unsent, wait) in [(0, 1), (9, 1), (10, 2)] {
            s.queue.unsent = unsent;
            assert_eq!(rtt_to_wait(&s), wait, "{unsent} unsent");
        }
    }

    #[test]
    fn a_subflow_in_loss_recovery_after_a_timeout_carries_nothing_new() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(1000)]).write(3);
        bench.sub(0).window.phase = Phase::Loss;
        assert_eq!(bench.run(&mut OtiasKernel), [(1, 0..3)]);
        bench.map.append(1000);
        bench.sub(1).window.phase = Phase::Loss;
        assert_eq!(bench.decide(&mut OtiasKernel), Decision::no_space());
    }

    #[test]
    fn alone_it_does_not_queue() {
        let mut bench = Bench::new([sub(0).rtt(20)]).write(1000);
        assert_eq!(bench.run(&mut OtiasKernel), [(0, 0..10)]);
    }

    #[test]
    fn the_slow_subflow_is_used_a_window_earlier_than_in_the_paper() {
        // The fast one has 10, then 30, then 50 ms, the slow one 50 ms.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(10), sub(1).rtt(100).cwnd(10)]).write(1000);
        assert_eq!(bench.run_for(&mut OtiasKernel, 31), [(0, 0..30), (1, 30..31)]);
    }
}
