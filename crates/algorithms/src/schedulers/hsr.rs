//! `hsr`: highest sending rate.
//!
//! # What it does
//!
//! Among the subflows with room in their windows, the one with the largest window per round-trip time carries the next
//! data, until its window is full. The round-trip time is the latest sample, so the rule reacts as soon as a queue
//! builds up. A path with a large window and a long delay can win against one with a small window and a short delay.
//!
//! # Formula
//!
//! ```text
//! i = arg max MSS_i · cwnd_i / RTT_i        over the i with free_i > 0
//! send the next free_i · MSS_i bytes on i
//! ```
//!
//! * MSS_i: data bytes of a full segment; cwnd_i: congestion window, segments; RTT_i: the latest round-trip time
//!   sample, s.
//! * free_i = cwnd_i − in_flight_i − unsent_i, segments; unsent_i: given to i and not yet sent.
//!
//! # Source
//!
//! Kimura, Lima and Loureiro, "Alternative scheduling decisions for multipath TCP", IEEE Communications Letters 2017,
//! as in EVAL §III.A, its reference 24.
//!
//! # Deviations
//!
//! * One decision assigns as much as the window has room for, because nothing that the rule reads changes before that
//!   is sent.
//! * A subflow without a round-trip time sample has no rate and comes last, in the order of identifiers.

use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "hsr",
    source: "EVAL §III.A [24]",
    summary: "the highest window per latest round-trip time",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Hsr)),
};

/// Highest sending rate.
#[derive(Debug, Default)]
pub struct Hsr;

/// The sending rate MSS·cwnd/RTT, bytes per second; 0 without a sample.
fn sending_rate(s: &SubflowView) -> f64 {
    let window = f64::from(s.mss) * f64::from(s.window.cwnd);
    match s.rtt.latest.or(s.rtt.smoothed) {
        Some(rtt) if !rtt.is_zero() => window / rtt.as_secs_f64(),
        _ => 0.0,
    }
}

impl Scheduler for Hsr {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let mut best: Option<(&SubflowView, f64)> = None;
        for s in view.candidates().filter(|s| s.has_space()) {
            let rate = sending_rate(s);
            if best.is_none_or(|(_, most)| rate > most) {
                best = Some((s, rate));
            }
        }
        let Some((s, rate)) = best else { return Decision::no_space() };
        let Some(range) = view.next_for(s, s.window_space()) else { return Decision::nothing_to_send() };
        let reason = Reason::new("highest MSS·cwnd/RTT: {rate_bytes_per_s}").with("rate_bytes_per_s", rate);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};
    use pathweave_units::Duration;

    #[test]
    fn a_large_window_beats_a_short_round_trip() {
        // 10/20 ms against 60/100 ms.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(10), sub(1).rtt(100).cwnd(60)]).write(65);
        assert_eq!(bench.run(&mut Hsr), [(1, 0..60), (0, 60..65)]);
    }

    #[test]
    fn the_latest_sample_counts() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(30)]).write(5);
        bench.sub(0).rtt.latest = Some(Duration::from_millis(40));
        assert_eq!(bench.run(&mut Hsr), [(1, 0..5)]);
    }

    #[test]
    fn the_segment_size_counts_and_no_sample_comes_last() {
        let mut bench = Bench::new([sub(0).no_rtt().cwnd(99), sub(1).mss(500), sub(2)]).write(11);
        assert_eq!(bench.run(&mut Hsr), [(2, 0..10), (1, 10..11)]);
    }
}
