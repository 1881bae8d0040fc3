//! `ecf-kernel`: earliest completion first as in its authors' out-of-tree Linux port (`mptcp_ecf.c`).
//!
//! # What it does
//!
//! The rule makes the two comparisons of [`super::ecf`], but counts at least one whole window of each subflow as data
//! to send. So a tail that is shorter than the windows waits for the fastest subflow, although the paper's rule would
//! send it on the slower one. The kernel's round-trip time variation works against that, because it is at least 100 ms,
//! half of the smallest retransmission timeout. If the round-trip times of the paths differ by less, the rule hardly
//! ever waits.
//!
//! # Formula
//!
//! ```text
//! skip S when  (1 + x_F/cwnd_F)·srtt_F < (1 + waiting·β)·(srtt_S + δ)
//!         and  (x_S/cwnd_S)·srtt_S ≥ 2·srtt_F + δ
//! x_i     = max(k_i, cwnd_i)
//! δ       = max(2·rttvar_F, 2·rttvar_S, min_delta)
//! waiting = 1 from a skip until the first inequality fails, else 0
//! ```
//!
//! * F: the subflow with the lowest smoothed round-trip time (srtt, ms); S: the subflow that `minrtt` would use while F
//!   is full, apart from subflows in loss recovery after a timeout.
//! * k_i: all data that is written and not assigned, in segments of i; cwnd_i: congestion window, segments; rttvar:
//!   round-trip time variation (RFC 6298), ms.
//! * β, min_delta: the parameters `beta` (a hysteresis) and `min_delta`.
//!
//! # Source
//!
//! `mptcp_ecf.c` of the out-of-tree Multipath TCP for Linux, by the authors of Lim et al. 2017; its variation is that
//! of the kernel's `tcp_rtt_estimator`, halved.
//!
//! # Deviations
//!
//! * k is the unassigned data. The port subtracts the subflows' send buffers from the connection's, both with the
//!   buffers' overhead, and assumes S's segment size for both subflows.
//! * The kernel's variation is four times the mean deviation; the kernel takes the largest one of a round trip and
//!   smooths that. Here it is four times the present mean deviation. The port uses half of the variation, so the
//!   formula has 2·rttvar.
//! * F is always a subflow that may be used. The port also waits for a backup, or for a subflow that has stopped
//!   answering, if its round-trip time is the lowest. A subflow without a round-trip time sample is never F, and is
//!   never skipped.

use super::blest::fastest;
use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{Assign, Decision, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse};
use pathweave_units::Duration;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "ecf-kernel",
    source: "Linux out-of-tree, mptcp_ecf.c",
    summary: "ECF with the kernel port's backlog of at least a window",
    parameters: &[
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 0.0, max: 10.0 },
            unit: "",
            default: "0.25",
            description: "hysteresis: fraction by which the slower subflow's time counts as longer while waiting",
            source: "mptcp_ecf.c: 1/mptcp_ecf_r_beta, 4",
        },
        Parameter {
            name: "min_delta",
            kind: Kind::Time,
            unit: "time",
            default: "100ms",
            description: "smallest variation of the round-trip times that is assumed",
            source: "tcp_rtt_estimator: half of the smallest retransmission timeout",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(EcfKernel::new(v.number("beta"), v.time("min_delta")))),
};

/// Earliest completion first, as in the kernel port.
#[derive(Debug)]
pub struct EcfKernel {
    beta: f64,
    min_delta: Duration,
    waiting: bool,
}

impl EcfKernel {
    /// `beta` is the hysteresis, `min_delta` the smallest variation that is assumed.
    pub fn new(beta: f64, min_delta: Duration) -> Self {
        EcfKernel { beta, min_delta, waiting: false }
    }
}

impl Scheduler for EcfKernel {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        let Some(s) = minrtt::pick_outside_loss(view) else { return minrtt::none_outside_loss() };
        let f = fastest(view).filter(|f| f.id != s.id && s.rtt.smoothed.is_some());
        let segments = if f.is_some() { 1 } else { s.window_space() };
        let Some(range) = view.next_for(s, segments) else { return Decision::nothing_to_send() };
        let Some(f) = f else { return minrtt::assign(s, range) };
        // Both sides are whole numbers of nanoseconds times bytes, as in the port, so that equality is exact.
        let (rtt_f, rtt_s) = (f.rtt.smoothed_or_zero().as_nanos() as f64, s.rtt.smoothed_or_zero().as_nanos() as f64);
        let delta = f.rtt.variation.max(s.rtt.variation).saturating_mul(2).max(self.min_delta).as_nanos() as f64;
        let left = view.queue.unassigned_bytes() as f64;
        let window = |i: &SubflowView| f64::from(i.window.cwnd.max(1)) * f64::from(i.mss.max(1));
        let (window_f, window_s) = (window(f), window(s));
        let margin = if self.waiting { 1.0 + self.beta } else { 1.0 };
        let on_f = rtt_f * (left.max(window_f) + window_f);
        let once_on_s = window_f * (rtt_s + delta) * margin;
        let all_on_s = rtt_s * left.max(window_s);
        let wait_on_f = window_s * (2.0 * rtt_f + delta);
        let reason = |rule| {
            Reason::new(rule)
                .with("fast_ms", on_f / window_f / 1e6)
                .with("slow_ms", once_on_s / window_f / 1e6)
                .with("left_on_slow_ms", all_on_s / window_s / 1e6)
                .with("two_fast_ms", wait_on_f / window_s / 1e6)
        };
        let rule = if on_f < once_on_s {
            if all_on_s >= wait_on_f {
                self.waiting = true;
                let rule = "(1 + x/cwnd_F)·rtt_F = {fast_ms} < {slow_ms} on the slower, and x/cwnd_S·rtt_S = \
                            {left_on_slow_ms} ≥ 2·rtt_F + δ = {two_fast_ms}";
                return Decision::Wait { until: None, for_subflow: Some(f.id), reason: reason(rule) };
            }
            "x/cwnd_S·rtt_S = {left_on_slow_ms} < 2·rtt_F + δ = {two_fast_ms}"
        } else {
            self.waiting = false;
            "(1 + x/cwnd_F)·rtt_F = {fast_ms} ≥ {slow_ms} on the slower"
        };
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason: reason(rule) })
    }

    fn wants_events(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::ecf::Ecf;
    use super::*;
    use pathweave_scheduler::Phase;
    use pathweave_scheduler::testing::{Bench, sub};

    /// The port with its defaults.
    fn port() -> EcfKernel {
        EcfKernel::new(0.25, Duration::from_millis(100))
    }

    fn steady() -> EcfKernel {
        EcfKernel::new(0.25, Duration::ZERO)
    }

    /// F has 10 ms and a full window of 10; S has 100 ms and a window of 10.
    fn bench(segments: u64) -> Bench {
        Bench::new([sub(0).rtt(10).in_flight(10), sub(1).rtt(100)]).write(segments)
    }

    /// x_F = x_S = 10: (1 + 10/10)·10 = 20 < 100, and 10/10·100 = 100 ≥ 2·10, so S is skipped. By the paper 1/10·100 =
    /// 10 < 20, so S is used.
    #[test]
    fn a_short_tail_counts_as_a_window_and_waits_where_the_paper_s_rule_does_not() {
        assert_eq!(bench(1).run(&mut steady()), []);
        assert_eq!(bench(1).run(&mut Ecf::new(0.25)), [(1, 0..1)]);
    }

    /// δ = 100, so the limit is 2·10 + 100 = 120. A window or less has 100, 11 segments have 110, and 12 have 120.
    #[test]
    fn the_kernel_s_smallest_variation_sends_a_short_tail_on_the_slower() {
        assert_eq!(bench(1).run(&mut port()), [(1, 0..1)]);
        assert_eq!(bench(11).run(&mut port()), [(1, 0..10)]);
        assert_eq!(bench(12).run(&mut port()), []);
    }

    /// δ = 2·60 = 120, so the limit is 2·10 + 120 = 140. 13 segments have 130, 14 segments have 140.
    #[test]
    fn the_variation_counts_twice() {
        let bench = |n| Bench::new([sub(0).rtt(10).in_flight(10).rttvar(5), sub(1).rtt(100).rttvar(60)]).write(n);
        assert_eq!(bench(13).step(&mut port()), Some((1, 0..1)));
        assert_eq!(bench(14).step(&mut port()), None);
    }

    /// 189 segments wait, because (1 + 189/10)·10 = 199 < 100 + 100; 190 segments do not. While the rule waits, the
    /// limit is 200·1.25 = 250, so up to 239 segments wait.
    #[test]
    fn a_long_transfer_uses_the_slower_and_waiting_keeps_waiting_for_a_margin() {
        let mut scheduler = port();
        assert_eq!(bench(190).run(&mut scheduler), [(1, 0..1)]);
        assert_eq!(bench(239).run(&mut scheduler), []);
        assert_eq!(bench(240).run(&mut scheduler), [(1, 0..10)]);
        assert!(!scheduler.waiting);
    }

    #[test]
    fn the_fast_subflow_with_space_is_used_first() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(100)]).write(20);
        assert_eq!(bench.run(&mut steady()), [(0, 0..10)]);
    }

    #[test]
    fn a_subflow_in_loss_recovery_after_a_timeout_carries_nothing_new() {
        let mut bench = Bench::new([sub(0).rtt(10), sub(1).rtt(20)]).write(5);
        bench.sub(0).window.phase = Phase::Loss;
        bench.sub(0).window.in_flight = 1;
        // (1 + 1)·10 = 20 < 20 + 100, and 1·20 < 2·10 + 100.
        assert_eq!(bench.run(&mut port()), [(1, 0..5)]);
        bench.sub(1).window.phase = Phase::Loss;
        bench.map.append(1000);
        assert_eq!(bench.decide(&mut port()), minrtt::none_outside_loss());
    }
}
