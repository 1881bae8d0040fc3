//! `mpveno`: Veno on several paths; Le, "Improving the performance of multipath congestion control over wireless
//! networks", ATC 2013 (EVAL's reference 19; [`super::mveno`] is its reference 13). It builds on Veno of Fu and Liew
//! 2003, which [`super::mveno`] describes.
//!
//! The backlog N of a subflow is the part of its window that waits in a queue. All subflows together may have a backlog
//! of β segments, which they share in proportion to their rates. A loss at a smaller backlog counts as random.
//!
//! ```text
//! θ_r = x_r/Σ x_p,  x = w/rtt
//! N_r < β·θ_r:  an acknowledged segment adds OLIA's increase,  a loss takes a fifth of the window away
//! else:         an acknowledged segment adds half of that,     a loss takes half of the window away
//! while another subflow is in slow start:  θ_r = 1, and Reno's increase instead of OLIA's
//! ```
//!
//! OLIA's increase is (w_r/rtt_r²)/(Σ w_p/rtt_p)² + ε_r/w_r ([`super::olia`]).
//!
//! Source: the implementation in SoonyangZhang/DrainQueueCongestion (`mp_veno_sender_bytes.cc`), which names the
//! article; the article itself was not available.
//!
//! Deviations: the implementation takes N from the samples of one acknowledgement and rounds it to whole segments. Here
//! N comes from the smallest sample of the round, as in Veno, and is a real number. To halve the increase, the
//! implementation skips every second acknowledgement; here each one adds half. Before the first sample, a loss halves
//! the window.

use super::mveno::{Backlog, LEFT_AFTER_CONGESTION, LEFT_AFTER_RANDOM_LOSS};
use super::{FractionalIncrease, coupled_paths, olia};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, slow_start};
use pathweave_proto::parameter::{Kind, Parameter};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "mpveno",
    source: "Le 2013 (EVAL [19]), by SoonyangZhang/DrainQueueCongestion; Fu & Liew 2003",
    summary: "OLIA's growth with Veno's backlog, which the subflows share in proportion to their rates",
    parameters: &[Parameter {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 1000.0 },
        unit: "segments",
        default: "3",
        description: "backlog of all subflows at which a loss counts as congestion",
        source: "Fu & Liew 2003",
    }],
    coupled: true,
    build: |v| Ok(Box::new(MpVeno::new(v.number("beta")))),
};

/// Veno with a shared backlog.
#[derive(Debug)]
pub struct MpVeno {
    beta: f64,
    increase: FractionalIncrease,
    backlog: Backlog,
}

/// Whether another subflow is in slow start.
fn others_in_slow_start(cx: &Context<'_>) -> bool {
    cx.paths.iter().enumerate().any(|(i, p)| i != cx.own && p.in_slow_start)
}

/// θ: this subflow's share of the backlog.
fn share(cx: &Context<'_>) -> f64 {
    let (mut own, mut total) = (0.0, 0.0);
    for path in coupled_paths(cx) {
        let rate = path.cwnd / path.rtt;
        total += rate;
        if path.own {
            own = rate;
        }
    }
    if own > 0.0 && !others_in_slow_start(cx) { own / total } else { 1.0 }
}

impl MpVeno {
    /// `beta`: the backlog of all subflows at which a loss counts as congestion, segments.
    pub fn new(beta: f64) -> Self {
        MpVeno { beta, increase: FractionalIncrease::default(), backlog: Backlog::default() }
    }

    /// Whether the backlog has reached the subflow's share; `None` before the first sample.
    fn congested(&self, cx: &Context<'_>) -> Option<bool> {
        self.backlog.segments(cx).map(|n| n >= self.beta * share(cx))
    }

    /// The change of the window for one acknowledged segment, segments.
    fn change(&self, cx: &Context<'_>) -> f64 {
        let full = if others_in_slow_start(cx) { 1.0 / cx.cwnd() } else { olia::increase(cx) };
        if self.congested(cx) == Some(true) { full / 2.0 } else { full }
    }
}

impl Controller for MpVeno {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.backlog.sample(ack);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = self.change(cx);
            self.increase.add(cx.window, each * f64::from(left));
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let random = self.congested(cx) == Some(false);
        let left = if random { LEFT_AFTER_RANDOM_LOSS } else { LEFT_AFTER_CONGESTION };
        self.increase.threshold(self.increase.exact(cx.window) * left)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        *self = MpVeno::new(self.beta);
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(self.change(cx) * cx.cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;
    use pathweave_proto::congestion::PathState;
    use pathweave_units::Duration;

    /// A flow with a smallest round-trip time of 100 ms that now measures `rtt` ms.
    fn flow(cwnd: u32, rtt: u64) -> Flow<MpVeno> {
        let mut flow = Flow::new(MpVeno::new(3.0), cwnd).threshold(2).rtt_ms(100);
        flow.rtt = Duration::from_millis(rtt);
        flow.start_round(1);
        flow
    }

    /// 20·15/115 = 2.6 < 3 ≤ 20·20/120 = 3.3.
    #[test]
    fn one_path_is_veno() {
        assert_eq!((flow(20, 115).lose(), flow(20, 120).lose()), (16, 10));
        assert!((flow(20, 115).per_round() - 1.0).abs() < 1e-12);
        assert!((flow(20, 120).per_round() - 0.5).abs() < 1e-12);
    }

    /// Beside a subflow of the same rate, a subflow's share of the backlog of 3 is 1.5: 20·10/110 = 1.8 exceeds that,
    /// though not 3, and 20·5/105 = 0.95 does not.
    #[test]
    fn the_backlog_is_shared_by_rate() {
        let with = |rtt: u64| flow(20, rtt).with_path(path(20, rtt));
        assert_eq!((flow(20, 110).lose(), with(110).lose(), with(105).lose()), (16, 10, 16));
        // OLIA's quarter for two equal paths, and half of it.
        assert!((with(105).per_round() - 0.25).abs() < 1e-12);
        assert!((with(110).per_round() - 0.125).abs() < 1e-12);
    }

    /// The subflow has a third of the rate (10 of 30 segments in the same time), so its share of the backlog of 3 is 1.
    /// Its backlog of 10·12/112 = 1.07 exceeds that.
    #[test]
    fn a_slower_subflow_has_a_smaller_part() {
        let mut slow = flow(10, 112).with_path(path(20, 112));
        assert!((slow.with(|_, cx| share(cx)) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(slow.lose(), 5);
        assert_eq!(flow(10, 110).with_path(path(20, 110)).lose(), 8, "10·10/110 = 0.91");
    }

    #[test]
    fn beside_a_subflow_in_slow_start_it_grows_alone() {
        let starting = PathState { in_slow_start: true, ..path(20, 110) };
        let mut flow = flow(20, 110).with_path(starting);
        assert!((flow.per_round() - 1.0).abs() < 1e-12);
        assert_eq!(flow.lose(), 16, "its part is all of the backlog");
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(MpVeno::new(3.0), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }
}
