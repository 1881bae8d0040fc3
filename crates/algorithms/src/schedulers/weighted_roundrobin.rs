//! `weighted-roundrobin`: shares in proportion to window per round-trip time.
//!
//! # What it does
//!
//! Every subflow with room in its window gets a share of the stream in proportion to cwnd/RTT, the rate that its window
//! allows. A deficit counter for each subflow counts the bytes by which it is behind its share. The subflow that is
//! furthest behind carries the next segment. The rule does not care in which order data arrives.
//!
//! # Formula
//!
//! ```text
//! w_i     = cwnd_i · MSS_i / srtt_i
//! share_i = w_i / Σ w_j                      over the j with room
//! i       = arg max (deficit_i + share_i · MSS_i)
//! after b bytes on i:  deficit_j += share_j · b  for each j with room;  deficit_i −= b
//! ```
//!
//! * cwnd_i: congestion window, segments; MSS_i: data bytes of a full segment; srtt_i: smoothed round-trip time, s;
//!   w_i: weight, bytes/s; deficit_i: bytes by which i is behind its share.
//!
//! # Source
//!
//! LS-SCTP as in DPSAF §II, its reference 33. DPSAF §II describes the early Linux scheduler (its reference 37) in the
//! same way.
//!
//! # Deviations
//!
//! * Subflows without room get no share; it goes to the others, so that no data waits. Their counters stay unchanged.
//! * A subflow without a round-trip time sample has the weight for the largest round-trip time of the others.

use pathweave_scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "weighted-roundrobin",
    source: "DPSAF §II [33] (LS-SCTP)",
    summary: "shares in proportion to window per round-trip time",
    parameters: &[],
    queues: false,
    duplicates: false,
    build: |_| Ok(Box::new(WeightedRoundRobin::default())),
};

/// Weighted round robin: a deficit counter for each subflow, bytes.
#[derive(Debug, Default)]
pub struct WeightedRoundRobin {
    deficit: [f64; SubflowId::MAX_SUBFLOWS],
}

fn weight(s: &SubflowView, slowest: f64) -> f64 {
    let rtt = s.rtt.smoothed.map_or(slowest, |r| r.as_secs_f64()).max(1e-6);
    f64::from(s.window.cwnd.max(1)) * f64::from(s.mss) / rtt
}

fn slowest(view: &View<'_>) -> f64 {
    view.subflows.iter().filter_map(|s| s.rtt.smoothed).max().map_or(1.0, |r| r.as_secs_f64())
}

impl Scheduler for WeightedRoundRobin {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let with_space = || view.candidates().filter(|s| s.has_space() && s.id.index() < SubflowId::MAX_SUBFLOWS);
        let slowest = slowest(view);
        let total: f64 = with_space().map(|s| weight(s, slowest)).sum();
        let mut best: Option<(&SubflowView, f64)> = None;
        for s in with_space() {
            let after = self.deficit[s.id.index()] + weight(s, slowest) / total * f64::from(s.mss);
            if best.is_none_or(|(_, most)| after > most + 1e-6) {
                best = Some((s, after));
            }
        }
        let Some((s, deficit)) = best else { return Decision::no_space() };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let share = weight(s, slowest) / total;
        let reason = Reason::new("largest deficit: {deficit_bytes} with a share of {share}")
            .with("deficit_bytes", deficit)
            .with("share", share);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        match event {
            Event::Assigned { subflow, range, .. } => {
                // The subflows that took part in the decision. The chosen one may have no space left now.
                let took_part = |s: &&SubflowView| s.has_space() || s.id == *subflow;
                let slowest = slowest(view);
                let total: f64 = view.candidates().filter(took_part).map(|s| weight(s, slowest)).sum();
                let bytes = range.end.since(range.start) as f64;
                for s in view.candidates().filter(took_part) {
                    if let Some(deficit) = self.deficit.get_mut(s.id.index()) {
                        *deficit += weight(s, slowest) / total * bytes;
                        if s.id == *subflow {
                            *deficit -= bytes;
                        }
                    }
                }
            }
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(deficit) = self.deficit.get_mut(id.index()) {
                    *deficit = 0.0;
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

    fn shares(bench: &mut Bench, segments: usize) -> Vec<u64> {
        let mut scheduler = WeightedRoundRobin::default();
        let mut shares = vec![0; bench.subflows.len()];
        for (id, range) in bench.run_for(&mut scheduler, segments) {
            shares[usize::from(id)] += range.end - range.start;
        }
        shares
    }

    #[test]
    fn shares_follow_window_per_round_trip_time() {
        // 400/0.02 : 400/0.1 : 800/0.1 = 5 : 1 : 2.
        let mut bench = Bench::new([sub(0).rtt(20).cwnd(400), sub(1).cwnd(400), sub(2).cwnd(800)]).write(1000);
        assert_eq!(shares(&mut bench, 80), [50, 10, 20]);
    }

    #[test]
    fn a_full_subflow_s_share_goes_to_the_others() {
        let mut bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1), sub(2)]).write(20);
        assert_eq!(shares(&mut bench, 100), [0, 10, 10]);
    }

    #[test]
    fn turns_are_spread_not_bunched() {
        let mut bench = Bench::new([sub(0).rtt(50).cwnd(100), sub(1).rtt(100).cwnd(100)]).write(9);
        let mut scheduler = WeightedRoundRobin::default();
        let order: Vec<_> = core::iter::from_fn(|| bench.step(&mut scheduler)).map(|(id, _)| id).collect();
        assert_eq!(order, [0, 1, 0, 0, 1, 0, 0, 1, 0]);
    }
}
