//! `lws`: largest window space.
//!
//! # What it does
//!
//! Each segment goes to the subflow with the most free room in its congestion window. Delay does not matter: while
//! there is room, the load is spread over fast and slow subflows alike. In a bulk transfer all windows are full, and
//! the subflow sends that got an acknowledgement last.
//!
//! # Formula
//!
//! ```text
//! i = arg max (cwnd_i − in_flight_i − unsent_i)        over the i whose value is positive; ties to the lower srtt_i
//! ```
//!
//! * cwnd_i: congestion window; in_flight_i: sent and believed to be in the network; unsent_i: given to i and not yet
//!   sent; all in segments. srtt_i: smoothed round-trip time.
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

use super::minrtt;
use core::cmp::Reverse;
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "lws",
    source: "EVAL §III.A [24]",
    summary: "the largest free window",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Lws)),
};

/// Largest window space.
#[derive(Debug, Default)]
pub struct Lws;

impl Scheduler for Lws {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let with_space = view.candidates().filter(|s| s.has_space());
        let best = with_space.min_by_key(|s| (Reverse(s.window_space()), minrtt::key(s)));
        let Some(s) = best else { return minrtt::decide(view) };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("largest cwnd − in flight: {window_segments}")
            .with("window_segments", f64::from(s.window_space()));
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn the_largest_space_is_used_until_others_are_as_large() {
        let mut bench = Bench::new([sub(0).rtt(10).cwnd(4), sub(1).rtt(90).cwnd(8)]).write(100);
        assert_eq!(bench.run_for(&mut Lws, 6), [(1, 0..4), (0, 4..5), (1, 5..6)]);
        assert_eq!(bench.run(&mut Lws).last(), Some(&(1, 11..12)));
    }

    #[test]
    fn equal_space_goes_to_the_lower_round_trip_time() {
        let mut bench = Bench::new([sub(0).rtt(90), sub(1).rtt(10)]).write(1);
        assert_eq!(bench.run(&mut Lws), [(1, 0..1)]);
    }

    #[test]
    fn no_space_sends_nothing() {
        let bench = Bench::new([sub(0).in_flight(12), sub(1).in_flight(10)]).write(5);
        assert_eq!(bench.decide(&mut Lws), Decision::no_space());
    }
}
