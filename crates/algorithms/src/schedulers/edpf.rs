//! `edpf`: earliest delivery path first.
//!
//! # What it does
//!
//! Each segment goes to the subflow that would deliver it first, among those with room in their windows. The rule
//! treats a path as a link that sends one segment after another at the measured bandwidth. A segment has to wait until
//! everything that was given to the path before has left; then come its own transmission time and the path's delay.
//!
//! # Formula
//!
//! ```text
//! sent_i = max(now, free_i) + MSS_i / b_i
//! i      = arg min (sent_i + d_i)          over the i with room
//! after b bytes on i:  free_i = max(now, free_i) + b / b_i
//! ```
//!
//! * free_i: time at which all data given to i has left, by this estimate; sent_i: time at which the segment has left;
//!   MSS_i: data bytes of a full segment; b_i: bandwidth, bytes/s.
//! * d_i = min_rtt_i / 2: one-way delay. It has no queueing in it, because free_i accounts for that.
//!
//! # Source
//!
//! Chebrolu and Rao, "Communication using multiple wireless interfaces", WCNC 2002 (DPSAF §II, its reference 11).
//!
//! # Deviations
//!
//! * The original schedules on links of known bandwidth. Here the bandwidth is the measured delivery rate, or before
//!   the first measurement the window per round-trip time. A lower rate does not count if the window was not filled:
//!   otherwise a path that was given little data would seem slow, and be given even less.
//! * Only subflows with room are considered. The original's links have no windows; here a segment for a full window
//!   would wait longer than estimated.
//! * A subflow without a round-trip time sample comes last.

use super::bas::window_rate;
use pathweave_scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "edpf",
    source: "Chebrolu & Rao 2002; DPSAF §II [11]",
    summary: "the earliest delivery by bandwidth, delay and what was given before",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Edpf::default())),
};

/// Earliest delivery path first.
#[derive(Debug, Default)]
pub struct Edpf {
    /// The time at which all data given to each path has left.
    free: [Instant; SubflowId::MAX_SUBFLOWS],
    /// The bandwidth of each path, bytes per second; 0 before the first delivery.
    bandwidth: [f64; SubflowId::MAX_SUBFLOWS],
}

/// The longest transmission time that is estimated, seconds.
const LONGEST: f64 = 3600.0;

impl Edpf {
    fn bandwidth(&self, s: &SubflowView) -> f64 {
        match self.bandwidth.get(s.id.index()) {
            Some(&known) if known > 0.0 => known,
            _ => window_rate(s),
        }
    }

    /// Takes over the delivery rate as the bandwidth, unless it is lower only because the application had too little
    /// data.
    fn measure(&mut self, s: &SubflowView) {
        if let Some(known) = self.bandwidth.get_mut(s.id.index())
            && s.delivery.rate > 0.0
            && (!s.window.app_limited || s.delivery.rate > *known)
        {
            *known = s.delivery.rate;
        }
    }

    /// The time at which `bytes` more have left on `s`.
    fn sent_at(&self, now: Instant, s: &SubflowView, bytes: u64) -> Instant {
        let bandwidth = self.bandwidth(s);
        let seconds = if bandwidth > 0.0 { (bytes as f64 / bandwidth).min(LONGEST) } else { LONGEST };
        let free = self.free.get(s.id.index()).copied().unwrap_or(now);
        now.max(free) + Duration::from_secs_f64(seconds)
    }
}

impl Scheduler for Edpf {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        for s in view.subflows {
            self.measure(s);
        }
        let delay = |s: &SubflowView| s.rtt.min.or(s.rtt.smoothed).unwrap_or(Duration::ZERO).div(2);
        let with_space = view.candidates().filter(|s| s.has_space());
        let best = with_space
            .map(|s| (s, self.sent_at(view.now, s, u64::from(s.mss)) + delay(s)))
            .min_by_key(|(_, delivered)| *delivered);
        let Some((s, delivered)) = best else { return Decision::no_space() };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("earliest delivery: in {delivered_in_ms} at {bandwidth_bytes_per_s}")
            .with("delivered_in_ms", delivered.since(view.now).as_secs_f64() * 1e3)
            .with("bandwidth_bytes_per_s", self.bandwidth(s));
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } => {
                let Some(s) = view.subflow(*subflow).filter(|s| self.bandwidth(s) > 0.0) else { return };
                let sent = self.sent_at(view.now, s, range.end.since(range.start));
                if let Some(free) = self.free.get_mut(subflow.index()) {
                    *free = sent;
                }
            }
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(free) = self.free.get_mut(id.index()) {
                    *free = Instant::ZERO;
                    self.bandwidth[id.index()] = 0.0;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn the_slow_path_is_used_once_the_fast_one_s_queue_is_as_long() {
        // Fast: 1 ms a segment and 10 ms: 11, 12, 13, ... Slow: 2 ms and 14 ms: 16, 18.
        let mut bench = Bench::new([sub(0).rtt(20).delivery(1e6), sub(1).rtt(28).delivery(5e5)]).write(10);
        let order = bench.run_for(&mut Edpf::default(), 8);
        // The sixth segment would be delivered at 16 on either subflow, and goes to the first. The next would be
        // delivered at 17 or 16.
        assert_eq!(order, [(0, 0..6), (1, 6..7), (0, 7..8)]);
    }

    #[test]
    fn a_path_is_free_again_after_its_transfers() {
        let mut bench = Bench::new([sub(0).rtt(20).delivery(1e6), sub(1).rtt(24).delivery(1e6)]).write(10);
        let mut scheduler = Edpf::default();
        // 11, 12, 13 (ties to the first), then 13 on the second.
        assert_eq!(bench.run_for(&mut scheduler, 4), [(0, 0..3), (1, 3..4)]);
        bench.now += Duration::from_millis(10);
        assert_eq!(bench.step(&mut scheduler), Some((0, 4..5)));
    }

    #[test]
    fn without_rates_the_window_per_round_trip_time_counts_and_no_sample_comes_last() {
        let mut bench = Bench::new([sub(0).no_rtt(), sub(1).rtt(100).cwnd(3)]).write(5);
        assert_eq!(bench.run(&mut Edpf::default()), [(1, 0..3), (0, 3..5)]);
    }

    #[test]
    fn a_rate_for_want_of_data_does_not_make_a_path_slow() {
        let mut bench = Bench::new([sub(0).rtt(20).delivery(1e6), sub(1).rtt(20).delivery(5e5)]).write(10);
        let mut scheduler = Edpf::default();
        bench.decide(&mut scheduler);
        (bench.sub(0).delivery.rate, bench.sub(0).window.app_limited) = (1e5, true);
        assert_eq!(bench.step(&mut scheduler), Some((0, 0..1)));
        bench.sub(0).window.app_limited = false;
        assert_eq!(bench.step(&mut scheduler), Some((1, 1..2)));
    }
}
