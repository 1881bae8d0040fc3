//! `mveno`: coupled Veno for wireless paths; Dong, Wang, Huang, Wang and Min, "Performance Enhancement of Multipath TCP
//! for Wireless Communications With Multiple Radio Interfaces", IEEE Transactions on Communications 2016. It builds on
//! Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 2003.
//!
//! Veno estimates the backlog N, the part of the window that waits in a queue: N = w·(rtt − base)/rtt segments, from
//! the smallest sample of the round (Linux, `tcp_veno.c`). While N is small, a loss counts as random and costs only a
//! fifth of the window; any other loss costs half (Fu & Liew §III).
//!
//! Here the decrease is Veno's: a loss takes a fifth of the window away while N < β, else half. The increase is
//! coupled: an acknowledged segment adds δ_r/w_r, or half of that while N ≥ β.
//!
//! ```text
//! x_r = w_r/T_r     y = Σ x_p                                   rates, segments/s
//! P   = min(1, β·T/((T − base)·W))                              probability that a loss counts as random
//! E   = ½ − (½ − 1/5)·P                                         fraction that a loss is expected to take away
//! δ_r = min( max x_p²/y², (E_r/E_s)·(w_r/(T_s·y))² )
//! ```
//!
//! E_r is for subflow r alone, from its own round-trip time T, its smallest round-trip time (base) and its window W.
//! E_s is for the connection: T_s is the mean of all T, the base is the smallest of all, and W is the largest window.
//! The first term of δ_r keeps all subflows together from taking more than one Veno flow would on the best path. The
//! second term gives all together what one Veno flow with the losses of r would have.
//!
//! Source: a kernel module called mveno for the mptcp.org stack, whose author is not named. The article's summary says
//! that it modifies the additive increase and that weights couple the subflows; its equations were not available. The
//! module calculates in integers, where most of its quotients are 0.
//!
//! Deviations from the module:
//!
//! * The quantities are real numbers.
//! * T_s is squared in δ_r; otherwise δ_r would have a dimension. With the square, a single path behaves like Veno, and
//!   the second term is what a weight δ/(E·p) = w² gives.
//! * The weight δ_r applies to a window's worth of acknowledgements, as on the module's single path.
//! * T is the smoothed round-trip time and W the present window, not the round's mean and the round's largest window.
//!   base is the smallest sample of the subflow's life. N is Veno's, from the smallest sample of the round.
//! * A subflow without a sample is left out of the sums. It grows like Reno itself, and a loss halves its window.

use super::{FractionalIncrease, coupled_paths};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, slow_start};
use pathweave_proto::parameter::{Kind, Parameter};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "mveno",
    source: "Dong et al. 2016, by a kernel module; Fu & Liew 2003",
    summary: "coupled Veno: random losses cost a fifth, congestion half",
    parameters: &[Parameter {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 1000.0 },
        unit: "segments",
        default: "3",
        description: "backlog at which a loss counts as congestion",
        source: "Fu & Liew 2003",
    }],
    coupled: true,
    build: |v| Ok(Box::new(MVeno::new(v.number("beta")))),
};

/// Coupled Veno.
#[derive(Debug)]
pub struct MVeno {
    beta: f64,
    increase: FractionalIncrease,
    backlog: Backlog,
}

impl MVeno {
    /// `beta`: the backlog at which a loss counts as congestion, segments.
    pub fn new(beta: f64) -> Self {
        MVeno { beta, increase: FractionalIncrease::default(), backlog: Backlog::default() }
    }

    /// Whether the backlog shows congestion; true before the first sample.
    fn congested(&self, cx: &Context<'_>) -> bool {
        self.backlog.segments(cx).is_none_or(|n| n >= self.beta)
    }

    /// E: the fraction of the window that a loss is expected to take away.
    fn expected_decrease(&self, window: f64, rtt: f64, base: f64) -> f64 {
        let queued = (rtt - base).max(0.0) * window;
        let random = if queued > 0.0 { (self.beta * rtt / queued).min(1.0) } else { 1.0 };
        let (most, least) = (1.0 - LEFT_AFTER_CONGESTION, 1.0 - LEFT_AFTER_RANDOM_LOSS);
        most - (most - least) * random
    }

    /// δ: this subflow's weight.
    fn weight(&self, cx: &Context<'_>) -> f64 {
        let (mut n, mut rtts, mut total, mut fastest, mut largest) = (0.0, 0.0, 0.0, 0.0f64, 0.0f64);
        let mut base = f64::INFINITY;
        let mut own = None;
        for path in coupled_paths(cx) {
            let rate = path.cwnd / path.rtt;
            (n, rtts, total) = (n + 1.0, rtts + path.rtt, total + rate);
            (fastest, largest, base) = (fastest.max(rate), largest.max(path.cwnd), base.min(path.min_rtt));
            if path.own {
                own = Some(self.expected_decrease(path.cwnd, path.rtt, path.min_rtt));
            }
        }
        let Some(own) = own.filter(|_| total > 0.0) else { return 1.0 };
        let mean_rtt = rtts / n;
        let all = self.expected_decrease(largest, mean_rtt, base);
        let share = cx.cwnd() / (mean_rtt * total);
        (fastest * fastest / (total * total)).min(own / all * share * share)
    }

    /// The increase of the window in a round, segments.
    fn per_round(&self, cx: &Context<'_>) -> f64 {
        let speed = if self.backlog.segments(cx).is_some_and(|n| n >= self.beta) { 0.5 } else { 1.0 };
        self.weight(cx) * speed
    }
}

impl Controller for MVeno {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.backlog.sample(ack);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = self.per_round(cx) / cx.cwnd();
            self.increase.add(cx.window, each * f64::from(left));
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let left = if self.congested(cx) { LEFT_AFTER_CONGESTION } else { LEFT_AFTER_RANDOM_LOSS };
        self.increase.threshold(self.increase.exact(cx.window) * left)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        *self = MVeno::new(self.beta);
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(self.per_round(cx))
    }
}

/// The fraction of the window that a loss leaves if it counts as random, and if it counts as congestion.
pub(super) const LEFT_AFTER_RANDOM_LOSS: f64 = 0.8;
pub(super) const LEFT_AFTER_CONGESTION: f64 = 0.5;

/// Veno's estimate of the backlog. It holds the smallest round-trip time sample of this round and of the last, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    round_min: Option<f64>,
    last_min: Option<f64>,
}

impl Backlog {
    /// Takes the sample of an acknowledgement. To be called from
    /// [`Controller::on_sample`](pathweave_proto::congestion::Controller::on_sample).
    pub(super) fn sample(&mut self, ack: &Ack) {
        if ack.round_ended {
            self.last_min = self.round_min.take().or(self.last_min);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// N, segments; `None` before the first sample.
    pub(super) fn segments(&self, cx: &Context<'_>) -> Option<f64> {
        let base = cx.min_rtt.map(|r| r.as_secs_f64())?;
        let rtt = self.round_min.or(self.last_min).filter(|rtt| *rtt > 0.0)?;
        Some(cx.cwnd() * (rtt - base).max(0.0) / rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;
    use pathweave_units::Duration;

    /// A flow with a smallest round-trip time of 100 ms that now measures `rtt` ms.
    fn flow(cwnd: u32, rtt: u64) -> Flow<MVeno> {
        let mut flow = Flow::new(MVeno::new(3.0), cwnd).threshold(2).rtt_ms(100);
        flow.rtt = Duration::from_millis(rtt);
        flow.start_round(1);
        flow
    }

    #[test]
    fn a_loss_without_backlog_costs_a_fifth() {
        // 20 · 15/115 = 2.6; 20 · 20/120 = 3.3.
        assert_eq!(flow(20, 115).lose(), 16);
        assert_eq!(flow(20, 120).lose(), 10);
    }

    #[test]
    fn one_path_is_veno() {
        assert!((flow(20, 115).per_round() - 1.0).abs() < 1e-12);
        assert!((flow(20, 120).per_round() - 0.5).abs() < 1e-12, "backlog halves the speed");
    }

    /// Equal paths: each has half of the rate, and both terms are a quarter.
    #[test]
    fn two_equal_paths_grow_by_a_quarter_each() {
        let mut two = flow(20, 100).with_path(path(20, 100));
        assert!((two.per_round() - 0.25).abs() < 1e-12);
    }

    /// 20 segments in 100 ms beside 10 in 50 ms: both rates are 200 segments/s, so the first term is ¼. T_s = 75 ms is
    /// 25 ms above the smallest base: P = 3·75/(25·20) = 0.45, E_s = 0.5 − 0.3·0.45 = 0.365. The subflow itself has no
    /// queue, so P = 1 and E_r = 0.2. The second term is 0.2/0.365·(20/(0.075·400))² = 0.2435, below the first. For the
    /// other path it is 0.2/0.365·(10/30)² = 0.06088.
    #[test]
    fn a_path_with_fewer_expected_losses_than_all_together_grows_less() {
        let mut long = flow(20, 100).with_path(path(10, 50));
        assert!((long.per_round() - 0.2 / 0.365 * 4.0 / 9.0).abs() < 1e-12);
        let mut short = Flow::new(MVeno::new(3.0), 10).threshold(2).rtt_ms(50).with_path(path(20, 100));
        assert!((short.per_round() - 0.2 / 0.365 / 9.0).abs() < 1e-12);
    }

    /// A window of 40 with 100 ms of queue above 100: P = 3·200/(100·40) = 0.15, E = 0.5 − 0.3·0.15.
    #[test]
    fn the_expected_decrease_lies_between_a_fifth_and_half() {
        let veno = MVeno::new(3.0);
        assert!((veno.expected_decrease(40.0, 0.2, 0.1) - 0.455).abs() < 1e-12);
        assert!((veno.expected_decrease(40.0, 0.1, 0.1) - 0.2).abs() < 1e-12);
        assert!(veno.expected_decrease(1e9, 0.2, 0.1) > 0.499);
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(MVeno::new(3.0), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }

    #[test]
    fn without_samples_a_loss_is_congestion() {
        assert_eq!(Flow::new(MVeno::new(3.0), 20).lose(), 10);
    }
}
