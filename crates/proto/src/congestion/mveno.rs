//! `mveno`: coupled Veno for wireless paths; Dong et al., "Performance Enhancement of Multipath TCP for Wireless
//! Communications With Multiple Radio Interfaces", IEEE Transactions on Communications 2016, on Veno of Fu and Liew
//! 2003.
//!
//! Veno: the backlog N = cwnd·(rtt − base)/rtt segments, from the smallest sample of the round, tells losses by
//! congestion from random ones. While N < β the window grows at full speed, else at half; a loss at N < β takes a fifth
//! of it away, else half. mVeno couples the increase over the subflows.
//!
//! Deviation: the coupling is RFC 6356's (see [`super::lia`]); the paper's own weights were not at hand.

use super::{Ack, Context, Controller, FractionalIncrease, lia, slow_start};
use crate::parameter::{Kind, Parameter};
use crate::registry::ControllerEntry;
use crate::scheduler::Growth;

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "mveno",
    source: "Dong et al. 2016; Fu & Liew 2003 (coupling: RFC 6356)",
    summary: "coupled Veno: random losses cost a fifth, congestion half",
    parameters: &[Parameter {
        name: "beta",
        kind: Kind::Number { min: 0.0, max: 1000.0 },
        unit: "segments",
        default: "3",
        description: "backlog from which losses are taken for congestion",
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
    /// Smallest sample of this round and of the last, seconds.
    round_min: Option<f64>,
    last_min: Option<f64>,
}

impl MVeno {
    /// With the backlog of congestion.
    pub fn new(beta: f64) -> Self {
        MVeno { beta, increase: FractionalIncrease::default(), round_min: None, last_min: None }
    }

    /// Whether the backlog is that of congestion; so it is taken to be without samples.
    fn congested(&self, cx: &Context<'_>) -> bool {
        let base = cx.min_rtt.map(|r| r.as_secs_f64());
        match (self.round_min.or(self.last_min), base) {
            (Some(rtt), Some(base)) if rtt > 0.0 => cx.cwnd() * (rtt - base).max(0.0) / rtt >= self.beta,
            _ => true,
        }
    }

    fn increase(&self, cx: &Context<'_>) -> f64 {
        let speed = if self.congested(cx) { 0.5 } else { 1.0 };
        lia::increase(cx) * speed
    }
}

impl Controller for MVeno {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if ack.round_ended {
            self.last_min = self.round_min.take().or(self.last_min);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = self.increase(cx);
            self.increase.add(cx.window, each * f64::from(left));
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let left = if self.congested(cx) { 0.5 } else { 0.8 };
        self.increase.threshold(self.increase.exact(cx.window) * left)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        *self = MVeno::new(self.beta);
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(self.increase(cx) * cx.cwnd())
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
    fn backlog_halves_the_speed() {
        assert!((flow(20, 115).per_round() - 1.0).abs() < 1e-12);
        assert!((flow(20, 120).per_round() - 0.5).abs() < 1e-12);
        let mut two = flow(20, 100).with_path(path(20, 100));
        assert!((two.per_round() - 0.25).abs() < 1e-12, "as LIA");
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
