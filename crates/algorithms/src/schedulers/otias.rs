//! `otias`: out-of-order transmission for in-order arrival.
//!
//! # What it does
//!
//! Each segment goes to the subflow on which it should arrive first. If that subflow's window is full, the segment
//! queues there: a full fast subflow still wins against an idle slow one as long as waiting there takes less time.
//! Queued segments stay on their subflow, even if the estimate turns out wrong, for example after a loss.
//!
//! # Formula
//!
//! ```text
//! wait_i = max(0, ⌊(unsent_i − (cwnd_i − unacked_i)) / cwnd_i⌋)
//! T_i    = (wait_i + 1/2) · srtt_i
//! i      = arg min T_i        over the i whose send buffer has space
//! ```
//!
//! * wait_i: round trips until the segment can be sent; T_i: time until it arrives, ms; srtt_i: smoothed round-trip
//!   time, ms.
//! * unsent_i: given to i and not yet sent ("not yet sent" in the paper); unacked_i: sent and not acknowledged;
//!   cwnd_i: congestion window; all in segments.
//!
//! # Source
//!
//! Yang, Wang and Amer, "Out-of-order transmission for in-order arrival scheduling policy for multipath TCP", WAINA
//! 2014, as in BLEST §IV.B and Alg. 2, EVAL §III.D.
//!
//! # Deviations
//!
//! * The paper's floor is negative while the window has room, which would favour the slowest subflow. Its text says
//!   that a segment then arrives after about RTT/2, so the wait is at least 0 here.
//! * A subflow without space in its send buffer gets nothing. Ties keep the order of identifiers; subflows without a
//!   round-trip time sample come last.

use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "otias",
    source: "BLEST Alg. 2; EVAL §III.D",
    summary: "the earliest arrival, queueing on subflows beyond their windows",
    parameters: &[],
    queues: true,
    duplicates: false,
    build: |_| Ok(Box::new(Otias)),
};

/// A scheduler that prefers the subflow with the earliest arrival, by the papers' rule.
#[derive(Debug, Default)]
pub struct Otias;

/// The round trips that a segment waits on `s` before it is sent (BLEST Alg. 2 line 3).
fn rtt_to_wait(s: &SubflowView) -> i64 {
    let can_be_sent = i64::from(s.window.cwnd) - i64::from(s.window.unacked);
    (i64::from(s.queue.unsent) - can_be_sent).div_euclid(i64::from(s.window.cwnd.max(1))).max(0)
}

/// Assigns a segment to the `available` subflow with the earliest arrival. `rtt_to_wait` gives the round trips that the
/// segment waits.
pub(crate) fn decide(
    view: &View<'_>,
    available: impl Fn(&SubflowView) -> bool,
    rtt_to_wait: impl Fn(&SubflowView) -> i64,
) -> Decision {
    let mut best: Option<(&SubflowView, f64)> = None;
    for s in view.candidates().filter(|s| available(s)) {
        let srtt = s.rtt.smoothed.map_or(f64::INFINITY, |r| r.as_secs_f64());
        let arrival = (rtt_to_wait(s) as f64 + 0.5) * srtt;
        if best.is_none_or(|(_, least)| arrival < least) {
            best = Some((s, arrival));
        }
    }
    let Some((s, arrival)) = best else { return Decision::no_space() };
    let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
    let reason = Reason::new("earliest arrival: ({rtt_to_wait} + 1/2)·srtt = {arrival_ms}")
        .with("arrival_ms", arrival * 1e3)
        .with("rtt_to_wait", rtt_to_wait(s) as f64)
        .with("srtt_ms", s.rtt.smoothed_or_zero().as_secs_f64() * 1e3);
    Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Queue, reason })
}

impl Scheduler for Otias {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        decide(view, |s| s.queue.space > 0, rtt_to_wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn the_wait_by_hand() {
        // (unsent, unacked) at a window of 10.
        for (unsent, unacked, wait) in
            [(0, 0, 0), (0, 10, 0), (9, 10, 0), (10, 10, 1), (19, 10, 1), (20, 10, 2), (5, 0, 0)]
        {
            let mut s = sub(0).0;
            (s.queue.unsent, s.window.unacked) = (unsent, unacked);
            assert_eq!(rtt_to_wait(&s), wait, "{unsent} unsent, {unacked} unacknowledged");
        }
    }

    #[test]
    fn the_fast_subflow_queues_until_the_slow_one_is_as_early() {
        // The fast one has 0.5, 1.5, 2.5 · 20 ms = 10, 30, 50 ms, the slow one 50 ms. The tie goes to the first.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(10), sub(1).rtt(100).cwnd(10)]).write(1000);
        let first = bench.run_for(&mut Otias, 41);
        assert_eq!(first, [(0, 0..40), (1, 40..41)]);
        assert_eq!((bench.sub(0).window.in_flight, bench.sub(0).queue.unsent), (10, 30));
    }

    #[test]
    fn a_full_send_buffer_is_not_available() {
        let mut bench = Bench::new([sub(0).rtt(20).buffer_space(3000), sub(1).rtt(100).buffer_space(2000)]).write(1000);
        assert_eq!(bench.run(&mut Otias), [(0, 0..3), (1, 3..5)]);
    }

    #[test]
    fn without_samples_the_default_order_holds() {
        let mut bench = Bench::new([sub(0).no_rtt(), sub(1).no_rtt()]).write(3);
        assert_eq!(bench.run(&mut Otias), [(0, 0..3)]);
    }
}
