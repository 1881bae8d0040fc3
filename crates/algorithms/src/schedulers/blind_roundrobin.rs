//! `blind-roundrobin`: each subflow in turn, a window at a time.
//!
//! # What it does
//!
//! One subflow carries data until its congestion window is exhausted, then the next one in turn. If the unacknowledged
//! data of all subflows together fills the receive window, all of them stop until an acknowledgement makes room. The
//! rule looks only at windows, not at delay or loss.
//!
//! # Formula
//!
//! ```text
//! u = Σ queued_i                     over the subflows that are not stale
//! u ≥ W:  wait for an acknowledgement
//! else    i = the last subflow while free_i > 0, else the next one in a circle with free_i > 0
//!         send the next min(free_i, ⌈(W − u)/MSS_i⌉) segments on i
//! ```
//!
//! * queued_i: bytes given to i and not acknowledged; u: their sum; W: the receive window that the peer offers, bytes.
//!   A subflow is stale if it has stopped answering.
//! * free_i = cwnd_i − in_flight_i − unsent_i, segments; unsent_i: given to i and not yet sent; MSS_i: data bytes of a
//!   full segment.
//!
//! # Source
//!
//! REMS §2 and Fig. 4.
//!
//! # Deviations
//!
//! * Stale subflows do not count in the sum. Otherwise the data that a dead path holds could block the others for ever.

use super::roundrobin::next_after;
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowId, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "blind-roundrobin",
    source: "REMS §2, Fig. 4",
    summary: "one subflow until its window is exhausted, then the next",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(BlindRoundRobin::default())),
};

/// A round robin that passes the turn on when the subflow's window is exhausted.
#[derive(Debug, Default)]
pub struct BlindRoundRobin {
    current: Option<SubflowId>,
}

impl Scheduler for BlindRoundRobin {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let unacknowledged: u64 = view.subflows.iter().filter(|s| !s.stale).map(|s| s.queue.bytes).sum();
        if unacknowledged >= view.send_window && unacknowledged > 0 {
            let reason = Reason::new("{unacknowledged_bytes} unacknowledged fill the window of {window_bytes}")
                .with("unacknowledged_bytes", unacknowledged as f64)
                .with("window_bytes", view.send_window as f64);
            return Decision::Wait { until: None, for_subflow: None, reason };
        }
        let same = view.candidates().find(|s| Some(s.id) == self.current && s.has_space());
        let Some(s) = same.or_else(|| next_after(view, self.current, |s| s.has_space())) else {
            return Decision::no_space();
        };
        let left = (view.send_window - unacknowledged.min(view.send_window)).div_ceil(u64::from(s.mss.max(1)));
        let segments = s.window_space().min(left.min(u64::from(u32::MAX)) as u32).max(1);
        let Some(range) = view.next_for(s, segments) else { return Decision::nothing_to_send() };
        self.current = Some(s.id);
        let reason = Reason::new("its window is not exhausted: window space {window_space}")
            .with("window_space", f64::from(s.window_space()));
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn rotates_only_on_exhaustion() {
        let mut bench = Bench::new([sub(0).cwnd(3), sub(1).cwnd(4), sub(2).cwnd(2)]).write(100);
        let mut scheduler = BlindRoundRobin::default();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..3), (1, 3..7), (2, 7..9)]);
        // The turn stays with the last subflow until its window is exhausted, then goes to the first.
        bench.acked(0, 1);
        bench.acked(1, 1);
        bench.acked(2, 1);
        assert_eq!(bench.run(&mut scheduler), [(2, 9..10), (0, 10..11), (1, 11..12)]);
    }

    #[test]
    fn all_are_blocked_at_the_receive_window() {
        let mut bench = Bench::new([sub(0).cwnd(3), sub(1).cwnd(9)]).write(100).send_window(8);
        let mut scheduler = BlindRoundRobin::default();
        assert_eq!(bench.run(&mut scheduler), [(0, 0..3), (1, 3..8)]);
        assert_eq!(
            bench.rule(&mut scheduler),
            "{unacknowledged_bytes} unacknowledged fill the window of {window_bytes}"
        );
        bench.sub(0).stale = true;
        bench.map.acknowledge(pathweave_scheduler::testing::seg(2));
        assert_eq!(bench.run(&mut scheduler), [(1, 8..10)]);
    }

    #[test]
    fn a_dead_subflow_hands_over_to_the_next() {
        let mut bench = Bench::new([sub(0), sub(1), sub(2)]).write(100);
        let mut scheduler = BlindRoundRobin { current: Some(SubflowId(1)) };
        bench.down(1, &mut scheduler);
        assert_eq!(bench.step(&mut scheduler), Some((2, 0..10)));
    }
}
