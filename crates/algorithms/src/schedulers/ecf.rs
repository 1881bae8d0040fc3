//! `ecf`: earliest completion first.
//!
//! # What it does
//!
//! If the fastest subflow is full and `minrtt` would use a slower one, ECF compares two ends of the transfer: all the
//! rest goes on the fastest, which has no room for another round trip, or the slower one is used now. The slower one is
//! skipped if the fastest completes earlier, and if the slower one could not send all the rest before the fastest has
//! room again. So a bulk transfer uses both subflows, and its tail only the fastest.
//!
//! # Formula
//!
//! ```text
//! skip S when  (1 + k_F/cwnd_F)·srtt_F < (1 + waiting·β)·(srtt_S + δ)
//!         and  (k_S/cwnd_S)·srtt_S ≥ 2·srtt_F + δ
//! δ       = max(rttvar_F, rttvar_S)
//! waiting = 1 from a skip until the first inequality fails, else 0
//! ```
//!
//! * F: the subflow with the lowest smoothed round-trip time (srtt, ms); S: the subflow that `minrtt` would use while F
//!   is full.
//! * k_F, k_S: all data that is written and not assigned, in segments of F and of S; cwnd: congestion window, segments;
//!   rttvar: round-trip time variation (RFC 6298), ms.
//! * β: the parameter `beta`, a hysteresis: once ECF waits, it waits a little longer.
//!
//! # Source
//!
//! Lim, Nahum, Towsley and Gibbens, "ECF: an MPTCP path scheduler to manage heterogeneous paths", CoNEXT 2017,
//! Algorithm 1 (REMS Table 1, its reference 16).
//!
//! # Deviations
//!
//! * k counts all written and unassigned segments, including the one to be sent next.
//! * A subflow without a round-trip time sample is never F, and is never skipped.
//! * The authors' Linux port counts at least a whole window, and computes the variation differently. It is here as
//!   [`super::ecf_kernel`].

use super::blest::fastest;
use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, View, WindowUse};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "ecf",
    source: "Lim et al. 2017; REMS Table 1 [16]",
    summary: "waits for the fastest subflow when it completes what is left earlier",
    parameters: &[Parameter {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 10.0 },
        unit: "",
        default: "0.25",
        description: "hysteresis: fraction by which the slower subflow's time counts as longer while waiting",
        source: "Lim et al. 2017 §4",
    }],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Ecf::new(v.number("beta")))),
};

/// Earliest completion first.
#[derive(Debug)]
pub struct Ecf {
    beta: f64,
    waiting: bool,
}

impl Ecf {
    /// `beta` is the hysteresis.
    pub fn new(beta: f64) -> Self {
        Ecf { beta, waiting: false }
    }
}

impl Scheduler for Ecf {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = minrtt::pick(view) else { return Decision::no_space() };
        let Some(f) = fastest(view).filter(|f| f.id != s.id && s.rtt.smoothed.is_some()) else {
            return minrtt::decide(view);
        };
        let Some(range) = view.next_for(s, 1) else { return Decision::nothing_to_send() };
        let (rtt_f, rtt_s) = (f.rtt.smoothed_or_zero().as_secs_f64(), s.rtt.smoothed_or_zero().as_secs_f64());
        let delta = f.rtt.variation.max(s.rtt.variation).as_secs_f64();
        let left = view.queue.unassigned_bytes();
        let windows = |mss: u32, cwnd: u32| left.div_ceil(u64::from(mss.max(1))) as f64 / f64::from(cwnd.max(1));
        let on_f = (1.0 + windows(f.mss, f.window.cwnd)) * rtt_f;
        let margin = if self.waiting { 1.0 + self.beta } else { 1.0 };
        let once_on_s = margin * (rtt_s + delta);
        let all_on_s = windows(s.mss, s.window.cwnd) * rtt_s;
        let wait_on_f = 2.0 * rtt_f + delta;
        let reason = |rule| {
            Reason::new(rule)
                .with("fast_ms", on_f * 1e3)
                .with("slow_ms", once_on_s * 1e3)
                .with("left_on_slow_ms", all_on_s * 1e3)
                .with("two_fast_ms", wait_on_f * 1e3)
        };
        let rule = if on_f < once_on_s {
            if all_on_s >= wait_on_f {
                self.waiting = true;
                let rule = "(1 + k/cwnd_F)·rtt_F = {fast_ms} < {slow_ms} on the slower, and k/cwnd_S·rtt_S = \
                            {left_on_slow_ms} ≥ 2·rtt_F + δ = {two_fast_ms}";
                return Decision::Wait { until: None, for_subflow: Some(f.id), reason: reason(rule) };
            }
            "k/cwnd_S·rtt_S = {left_on_slow_ms} < 2·rtt_F + δ = {two_fast_ms}"
        } else {
            self.waiting = false;
            "(1 + k/cwnd_F)·rtt_F = {fast_ms} ≥ {slow_ms} on the slower"
        };
        let reason = reason(rule);
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};

    /// F has 10 ms and a full window of 10; S has 100 ms.
    fn bench(segments: u64) -> Bench {
        Bench::new([sub(0).rtt(10).in_flight(10), sub(1).rtt(100)]).write(segments)
    }

    #[test]
    fn few_segments_wait_for_the_fast_subflow() {
        // (1 + 20/10)·10 = 30 < 100 and 20/10·100 = 200 ≥ 20.
        assert_eq!(bench(20).run(&mut Ecf::new(0.25)), []);
        // (1 + 89/10)·10 = 99 < 100.
        assert_eq!(bench(89).run(&mut Ecf::new(0.25)), []);
    }

    #[test]
    fn many_segments_use_the_slow_subflow_too_until_few_are_left() {
        // (1 + 90/10)·10 = 100 is not less; after one the next is.
        assert_eq!(bench(90).run(&mut Ecf::new(0.25)), [(1, 0..1)]);
        assert_eq!(bench(300).run(&mut Ecf::new(0.25)), [(1, 0..10)]);
    }

    #[test]
    fn a_slow_subflow_that_is_not_too_slow_is_used() {
        // (1 + 1/10)·10 = 11 < 15, but 1/10·15 = 1.5 < 20.
        let mut bench = Bench::new([sub(0).rtt(10).in_flight(10), sub(1).rtt(15)]).write(1);
        assert_eq!(bench.run(&mut Ecf::new(0.25)), [(1, 0..1)]);
    }

    #[test]
    fn waiting_keeps_waiting_for_a_margin() {
        let mut scheduler = Ecf::new(0.25);
        assert_eq!(bench(80).run(&mut scheduler), []);
        // (1 + 100/10)·10 = 110: not below 100, but below 125.
        assert_eq!(bench(100).run(&mut scheduler), []);
        assert_eq!(bench(114).run(&mut scheduler), []);
        assert_eq!(bench(115).run(&mut scheduler), [(1, 0..10)], "and then down to 90 without the margin");
        assert!(!scheduler.waiting);
    }

    #[test]
    fn the_variation_counts_against_waiting_for_little() {
        // δ = 500: 11 < 600; 1/10·100 = 10 < 520.
        let mut bench = Bench::new([sub(0).rtt(10).in_flight(10).rttvar(5), sub(1).rtt(100).rttvar(500)]).write(1);
        assert_eq!(bench.run(&mut Ecf::new(0.25)), [(1, 0..1)]);
    }

    #[test]
    fn the_fast_subflow_with_space_is_used_first() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(100)]).write(20);
        assert_eq!(bench.run(&mut Ecf::new(0.25)), [(0, 0..10)]);
    }
}
