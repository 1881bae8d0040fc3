//! `bas`: bandwidth-aware scheduling of Westwood SCTP.
//!
//! # What it does
//!
//! Each segment goes to the subflow whose backlog drains first, among those with room in their windows. The backlog of
//! a subflow is its unacknowledged data, sent or not, divided by the bandwidth that Westwood's filter estimates. Delay
//! counts only because data in flight is part of the backlog, so paths with different latencies still deliver out of
//! order.
//!
//! # Formula
//!
//! ```text
//! i = arg min queued_i / b_i        over the i with room
//!
//! at most once per max(srtt_i, 50 ms), for a bytes acknowledged in the time t:
//!   sample = a / t
//!   once   = (7·once + sample) / 8
//!   b_i    = (7·b_i + once) / 8
//! ```
//!
//! * queued_i: bytes given to i and not acknowledged, sent or not; b_i: bandwidth, bytes/s; srtt_i: smoothed
//!   round-trip time.
//! * The first sample sets both filters. Before it b_i = cwnd_i·MSS_i/srtt_i (segments, bytes, s).
//!
//! # Source
//!
//! Casetti and Gaiotto, "Westwood SCTP: load balancing over multipaths using bandwidth-aware source scheduling", VTC
//! 2004 (DPSAF §II, its reference 34).
//!
//! # Deviations
//!
//! * The bandwidth filter is that of Linux's `tcp_westwood`. Its authors replaced the original filter, which
//!   overestimates the bandwidth if acknowledgements arrive in bunches.
//! * A subflow without a round-trip time sample has an infinite score, so it comes last.

use pathweave_scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "bas",
    source: "Casetti & Gaiotto 2004; DPSAF §II [34]",
    summary: "the shortest backlog in time, at Westwood's bandwidth",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(Bas::default())),
};

/// The shortest time over which a bandwidth sample is taken.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(50);

/// Westwood's bandwidth estimate of one subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Westwood {
    since: Option<Instant>,
    bytes: u64,
    /// The bandwidth after the first filter and after both, bytes per second; 0 before the first sample.
    once: f64,
    bandwidth: f64,
}

impl Westwood {
    fn acked(&mut self, now: Instant, bytes: u64, srtt: Duration) {
        let since = *self.since.get_or_insert(now);
        self.bytes += bytes;
        let time = now.since(since);
        if time < srtt.max(SHORTEST_SAMPLE) {
            return;
        }
        let sample = self.bytes as f64 / time.as_secs_f64();
        if self.bandwidth == 0.0 {
            (self.once, self.bandwidth) = (sample, sample);
        } else {
            self.once = (7.0 * self.once + sample) / 8.0;
            self.bandwidth = (7.0 * self.bandwidth + self.once) / 8.0;
        }
        (self.since, self.bytes) = (Some(now), 0);
    }
}

/// A scheduler that prefers the subflow with the shortest backlog.
#[derive(Debug, Default)]
pub struct Bas {
    westwood: [Westwood; SubflowId::MAX_SUBFLOWS],
}

impl Bas {
    /// The bandwidth of `s`, bytes per second: the filter's, or the window's rate before the first sample.
    fn bandwidth(&self, s: &SubflowView) -> f64 {
        match self.westwood.get(s.id.index()) {
            Some(w) if w.bandwidth > 0.0 => w.bandwidth,
            _ => window_rate(s),
        }
    }
}

/// The window per smoothed round-trip time, bytes per second; 0 without a sample.
pub(crate) fn window_rate(s: &SubflowView) -> f64 {
    match s.rtt.smoothed {
        Some(srtt) if !srtt.is_zero() => f64::from(s.window.cwnd) * f64::from(s.mss) / srtt.as_secs_f64(),
        _ => 0.0,
    }
}

impl Scheduler for Bas {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let mut best: Option<(&SubflowView, f64)> = None;
        for s in view.candidates().filter(|s| s.has_space()) {
            let bandwidth = self.bandwidth(s);
            let score = if bandwidth > 0.0 { s.queue.bytes as f64 / bandwidth } else { f64::INFINITY };
            if best.is_none_or(|(_, least)| score < least) {
                best = Some((s, score));
            }
        }
        let Some((s, score)) = best else { return Decision::no_space() };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let reason = Reason::new("least queued/bandwidth: {backlog_ms} at {bandwidth_bytes_per_s}")
            .with("backlog_ms", score * 1e3)
            .with("bandwidth_bytes_per_s", self.bandwidth(s));
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Acked { subflow, mappings, .. } => {
                let bytes = mappings.iter().map(|r| r.end.since(r.start)).sum();
                if let (Some(w), Some(s)) = (self.westwood.get_mut(subflow.index()), view.subflow(*subflow)) {
                    w.acked(view.now, bytes, s.rtt.smoothed_or_zero());
                }
            }
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(w) = self.westwood.get_mut(id.index()) {
                    *w = Westwood::default();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::DataSeq;
    use pathweave_scheduler::testing::{Bench, sub};

    #[test]
    fn before_any_sample_the_window_per_round_trip_time_counts() {
        // 100 KB/s and 500 KB/s: the subflows get segments in the proportion 1 : 5.
        let mut bench = Bench::new([sub(0).rtt(100), sub(1).rtt(20)]).write(100);
        assert_eq!(bench.run_for(&mut Bas::default(), 8), [(0, 0..1), (1, 1..6), (0, 6..7), (1, 7..8)]);
    }

    #[test]
    fn samples_span_a_round_trip_and_pass_two_filters() {
        let mut w = Westwood::default();
        let at = Instant::from_millis;
        let rtt = Duration::from_millis(100);
        w.acked(at(1000), 0, rtt);
        w.acked(at(1050), 5000, rtt);
        assert_eq!(w.bandwidth, 0.0);
        w.acked(at(1100), 5000, rtt);
        assert_eq!(w.bandwidth, 100_000.0);
        w.acked(at(1200), 90_000, rtt);
        // (7·100 + 900)/8 = 200; (7·100 + 200)/8 = 112.5 KB/s.
        assert_eq!(w.bandwidth, 112_500.0);
    }

    #[test]
    fn the_estimate_decides_and_a_dead_subflow_s_is_forgotten() {
        let mut bench = Bench::new([sub(0).rtt(100), sub(1).rtt(100)]).write(100);
        let mut scheduler = Bas::default();
        let mappings = [DataSeq(0)..DataSeq(900_000)];
        for _ in 0..2 {
            let (subflow, data_ack) = (SubflowId(1), DataSeq(0));
            bench.event(&mut scheduler, &Event::Acked { subflow, mappings: &mappings, data_ack, has_sack: false });
            bench.now += Duration::from_millis(100);
        }
        bench.sub(0).queue.bytes = 1000;
        bench.sub(1).queue.bytes = 8000;
        assert_eq!(bench.step(&mut scheduler), Some((1, 0..1)));
        let one = bench.sub(1).clone();
        bench.down(1, &mut scheduler);
        bench.subflows.push(one);
        assert_eq!(bench.step(&mut scheduler), Some((0, 1..2)));
    }
}
