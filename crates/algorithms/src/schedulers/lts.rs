//! `lts`: lowest time/space.
//!
//! # What it does
//!
//! Each segment goes to the subflow with the lowest ratio of round-trip time to free room in its window. A slow subflow
//! with much room can win against a fast one that is nearly full. So the load is spread before a window is full, and
//! each subflow keeps some of its window free as long as possible.
//!
//! # Formula
//!
//! ```text
//! i = arg min srtt_i / (cwnd_i − in_flight_i − unsent_i)        over the i whose divisor is positive
//! ```
//!
//! * srtt_i: smoothed round-trip time, ms; cwnd_i: congestion window; in_flight_i: sent and believed to be in the
//!   network; unsent_i: given to i and not yet sent; the last three in segments.
//!
//! # Source
//!
//! Kimura, Lima and Loureiro, "Alternative scheduling decisions for multipath TCP", IEEE Communications Letters 2017,
//! as in EVAL §III.A, its reference 24.
//!
//! # Deviations
//!
//! * If no subflow has room, the paper falls back to `minrtt`. But `minrtt` uses only subflows with room too, so
//!   nothing is sent.
//! * Subflows without a round-trip time sample come last, in the order of identifiers.

use super::minrtt;
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "lts",
    source: "EVAL §III.A [24]",
    summary: "the lowest round-trip time per free window",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Lts)),
};

/// Lowest time/space.
#[derive(Debug, Default)]
pub struct Lts;

impl Scheduler for Lts {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let mut best: Option<(&SubflowView, f64)> = None;
        for s in view.candidates().filter(|s| s.has_space()) {
            let srtt = s.rtt.smoothed.map_or(f64::INFINITY, |r| r.as_secs_f64());
            let ratio = srtt / f64::from(s.window_space());
            if best.is_none_or(|(_, least)| ratio < least) {
                best = Some((s, ratio));
            }
        }
        let Some((s, ratio)) = best else { return minrtt::decide(view) };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("least srtt/(cwnd − in flight): {per_segment_ms} a segment")
            .with("per_segment_ms", ratio * 1e3);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn time_and_space_weigh_equally() {
        // 20/10 = 2 against 100/10 = 10: the fast one gets data until 20/n > 10, that is until it has room for 1. The
        // tie at 20/2 = 10 goes to the first.
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(100);
        assert_eq!(bench.run_for(&mut Lts, 11), [(0, 0..9), (1, 9..11)]);
    }

    #[test]
    fn no_sample_comes_last_and_no_space_sends_nothing() {
        let mut bench = Bench::new([sub(0).no_rtt().cwnd(50), sub(1).rtt(900).cwnd(2)]).write(3);
        assert_eq!(bench.run(&mut Lts), [(1, 0..2), (0, 2..3)]);
        let bench = Bench::new([sub(0).in_flight(12)]).write(5);
        assert_eq!(bench.decide(&mut Lts), Decision::no_space());
    }
}
