//! `minrtt`: lowest round-trip time first, the papers' default scheduler.
//!
//! # What it does
//!
//! Among the subflows whose congestion window has room, the one with the lowest smoothed round-trip time carries the
//! next data. When its window is full, the one with the next lowest follows. Only delay counts: the rule ignores
//! losses, and how long the receiver must hold data that arrives before a slower subflow's data. Backups are used only
//! while there is no other subflow.
//!
//! # Formula
//!
//! ```text
//! free_i = cwnd_i − in_flight_i − unsent_i
//! i      = arg min srtt_i  over all i with free_i > 0
//! send the next free_i · MSS_i bytes of the stream on i
//! ```
//!
//! * cwnd_i: congestion window; in_flight_i: sent and believed to be in the network; unsent_i: given to i and not yet
//!   sent; all in segments.
//! * srtt_i: smoothed round-trip time, ms; MSS_i: data bytes of a full segment.
//!
//! # Source
//!
//! BLEST §II, EVAL §III.B ("LowRTT"), CP §3.1 ("lowest-RTT-first").
//!
//! # Deviations
//!
//! * One decision assigns as much as the window has room for. Until that is sent, nothing that the rule reads can
//!   change, so the result is the same as with one decision for each segment.
//! * Lockout: a subflow that carries nothing has no new round-trip time samples. If the receive window is no larger
//!   than what one path takes, a subflow that was slow once is not tried again, even if it has become the faster one.
//! * A subflow without a round-trip time sample comes after those with one. Subflows without a sample, or with equal
//!   round-trip times, keep the order of their identifiers.

use core::ops::Range;
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Phase, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse,
};
use pathweave_units::Duration;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "minrtt",
    source: "BLEST §II; EVAL §III.B; CP §3.1",
    summary: "the lowest round-trip time among the subflows with window space",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(MinRtt)),
};

/// Lowest round-trip time first.
#[derive(Debug, Default)]
pub struct MinRtt;

/// The key by which `minrtt` orders subflows; ties keep the order of the identifiers.
pub(crate) fn key(s: &SubflowView) -> Duration {
    s.rtt.smoothed.unwrap_or(Duration::MAX)
}

/// The subflow that `minrtt` chooses, if any has room.
pub(crate) fn pick<'v>(view: &'v View<'_>) -> Option<&'v SubflowView> {
    view.candidates().filter(|s| s.has_space()).min_by_key(|s| key(s))
}

/// The subflow that the out-of-tree kernel's default scheduler chooses: like `minrtt`, but never a subflow that is in
/// loss recovery after a timeout.
pub(crate) fn pick_outside_loss<'v>(view: &'v View<'_>) -> Option<&'v SubflowView> {
    view.candidates().filter(|s| s.has_space() && s.window.phase != Phase::Loss).min_by_key(|s| key(s))
}

/// The wait where [`pick_outside_loss`] takes none.
pub(crate) fn none_outside_loss() -> Decision {
    Decision::wait("no subflow outside of loss recovery after a timeout has window space")
}

/// The whole decision of `minrtt`, for schedulers that fall back to it.
pub(crate) fn decide(view: &View<'_>) -> Decision {
    let Some(s) = pick(view) else { return Decision::no_space() };
    let Some(range) = view.next_for(s, s.window_space()) else { return Decision::nothing_to_send() };
    assign(s, range)
}

/// Assigns `range` to `s`, with `minrtt`'s reason.
pub(crate) fn assign(s: &SubflowView, range: Range<DataSeq>) -> Decision {
    let reason = Reason::new("lowest srtt with window space: {srtt_ms}, window space {window_space}")
        .with("srtt_ms", s.rtt.smoothed_or_zero().as_secs_f64() * 1e3)
        .with("window_space", f64::from(s.window_space()));
    Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
}

impl Scheduler for MinRtt {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        decide(view)
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
    fn the_faster_subflow_is_filled_first() {
        let mut bench = Bench::new([sub(0).rtt(50), sub(1).rtt(20)]).write(100);
        assert_eq!(bench.run(&mut MinRtt), [(1, 0..10), (0, 10..20)]);
        assert_eq!(bench.decide(&mut MinRtt), Decision::no_space());
    }

    /// EVAL Fig. 2: windows of 10 packets, round trips of 10 and 20 ms, 11 packets. The last packet goes to the slow
    /// path and takes as long as two rounds of the fast one.
    #[test]
    fn eval_figure_2_eleven_packets() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(20)]).write(11);
        assert_eq!(bench.run(&mut MinRtt), [(0, 0..10), (1, 10..11)]);
    }

    #[test]
    fn subflows_without_a_sample_follow_in_default_order() {
        let mut bench = Bench::new([sub(0).no_rtt(), sub(1).no_rtt(), sub(2).rtt(900)]).write(100);
        assert_eq!(bench.run(&mut MinRtt), [(2, 0..10), (0, 10..20), (1, 20..30)]);
    }

    #[test]
    fn equal_round_trip_times_keep_the_order_of_names() {
        let mut bench = Bench::new([sub(3).rtt(20), sub(7).rtt(20)]).write(5);
        assert_eq!(bench.run(&mut MinRtt), [(3, 0..5)]);
    }

    #[test]
    fn backups_and_stale_subflows_wait_for_the_others_to_go() {
        let mut bench = Bench::new([sub(0).rtt(10).backup(), sub(1).rtt(90), sub(2).rtt(20).stale()]).write(50);
        assert_eq!(bench.run(&mut MinRtt), [(1, 0..10)]);
        let mut bench = Bench::new([sub(0).rtt(10).backup(), sub(2).rtt(5).stale()]).write(50);
        assert_eq!(bench.run(&mut MinRtt), [(0, 0..10)]);
    }

    #[test]
    fn the_send_window_ends_it() {
        let mut bench = Bench::new([sub(0).rtt(50)]).write(100).send_window(7);
        assert_eq!(bench.run(&mut MinRtt), [(0, 0..7)]);
    }
}
