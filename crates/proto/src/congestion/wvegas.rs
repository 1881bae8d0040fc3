//! `wvegas`: weighted Vegas, delay-based; Cao, Xu and Fu, ICNP 2012, with the rules of its kernel port.
//!
//! Once per round trip, from its mean sample: the backlog is diff = cwnd·(rtt − base)/rtt segments. Slow start ends
//! when it exceeds γ. After that the window grows by one while diff < α_r and shrinks by one while diff > α_r; at diff
//! ≥ α_r the target is set anew, to the path's share of `total_alpha`, in proportion to its rate cwnd/rtt, at least 2.
//! When the queueing delay is twice the smallest seen, the window goes to cwnd·base/(2·rtt), so that the queue drains
//! and `base` is seen again.
//!
//! Deviations: the other subflows' rates are their windows per smoothed round-trip time of now; the port keeps those of
//! their last change. No draining while the queueing delay is zero, which the port, with 0 ≥ 2·0, does: a path without
//! any queue would lose half its window each round trip. A round with two samples or less grows like Reno, as in the
//! port. Loss halves the window.

use super::{Ack, AdditiveIncrease, Context, Controller, Window, slow_start};
use crate::parameter::{Kind, Parameter};
use crate::registry::ControllerEntry;
use crate::scheduler::Growth;
use pathweave_units::Duration;

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "wvegas",
    source: "Cao, Xu & Fu 2012; Linux out-of-tree, mptcp_wvegas.c",
    summary: "delay-based: a few segments of backlog, shared between the paths",
    parameters: &[
        Parameter {
            name: "initial_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            unit: "segments",
            default: "2",
            description: "backlog of each path at first",
            source: "mptcp_wvegas.c",
        },
        Parameter {
            name: "total_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            unit: "segments",
            default: "10",
            description: "backlog of all paths together",
            source: "Cao et al. 2012",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            unit: "segments",
            default: "1",
            description: "backlog at which slow start ends",
            source: "mptcp_wvegas.c",
        },
    ],
    coupled: true,
    build: |v| Ok(Box::new(WVegas::new(v.number("initial_alpha"), v.number("total_alpha"), v.number("gamma")))),
};

const SMALLEST_WINDOW: u32 = 2;

/// Weighted Vegas.
#[derive(Debug)]
pub struct WVegas {
    initial_alpha: f64,
    total_alpha: f64,
    gamma: f64,
    alpha: f64,
    /// Smallest round-trip time, seconds.
    base: Option<f64>,
    /// Sum and number of this round's samples.
    sum: f64,
    samples: u32,
    /// The round that has ended and is not yet acted on: its mean sample, or nothing for too few.
    ended: Option<Option<f64>>,
    /// Smallest queueing delay since the last draining, seconds.
    queueing: Option<f64>,
    increase: AdditiveIncrease,
}

impl WVegas {
    /// With its three targets, segments.
    pub fn new(initial_alpha: f64, total_alpha: f64, gamma: f64) -> Self {
        WVegas {
            initial_alpha,
            total_alpha,
            gamma,
            alpha: initial_alpha,
            base: None,
            sum: 0.0,
            samples: 0,
            ended: None,
            queueing: None,
            increase: AdditiveIncrease::default(),
        }
    }

    fn restart(&mut self) {
        *self = WVegas { base: self.base, ..WVegas::new(self.initial_alpha, self.total_alpha, self.gamma) };
    }

    /// One step per round trip.
    fn step(&mut self, cx: &mut Context<'_>, ack: &Ack, rtt: f64) {
        let base = self.base.unwrap_or(rtt).min(rtt);
        let cwnd = cx.cwnd();
        let diff = cwnd * (rtt - base) / rtt;
        if cx.window.in_slow_start() {
            if diff > self.gamma {
                let target = (cwnd * base / rtt) as u32;
                cx.window.cwnd = cx.window.cwnd.min(target.saturating_add(1)).max(SMALLEST_WINDOW);
                lower_threshold(cx.window);
            } else {
                slow_start(cx.window, ack.segments);
            }
            return;
        }
        if diff >= self.alpha {
            let own = cwnd / rtt;
            let others: f64 = cx.coupled_paths().filter(|p| !p.own).map(|p| p.cwnd / p.rtt).sum();
            self.alpha = libm::floor(own / (own + others) * self.total_alpha).max(2.0);
        }
        if diff > self.alpha {
            cx.window.cwnd = cx.window.cwnd.saturating_sub(1).max(SMALLEST_WINDOW);
            lower_threshold(cx.window);
        } else if diff < self.alpha {
            cx.window.cwnd = cx.window.cwnd.saturating_add(1);
        }
        let queueing = rtt - base;
        let least = self.queueing.filter(|q| *q > 0.0).map_or(queueing, |q| q.min(queueing));
        self.queueing = Some(least);
        if queueing > 0.0 && queueing >= 2.0 * least {
            // The threshold stays, so that slow start brings the window back.
            cx.window.cwnd = ((cx.cwnd() * base / (2.0 * rtt)) as u32).max(SMALLEST_WINDOW);
            self.queueing = None;
        }
    }
}

/// Keeps the window out of slow start.
fn lower_threshold(window: &mut Window) {
    window.ssthresh = window.ssthresh.min(window.cwnd.saturating_sub(1)).max(SMALLEST_WINDOW);
}

impl Controller for WVegas {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|r| !r.is_zero()) {
            let rtt = rtt.as_secs_f64();
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum += rtt;
            self.samples += 1;
        }
        if ack.round_ended {
            self.ended = Some((self.samples > 2).then(|| self.sum / f64::from(self.samples)));
            (self.sum, self.samples) = (0.0, 0);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        match self.ended.take() {
            Some(Some(rtt)) => self.step(cx, ack, rtt),
            Some(None) => {
                let left = slow_start(cx.window, ack.segments);
                self.increase.grow(cx.window, cx.window.cwnd, left);
            }
            None => {
                slow_start(cx.window, ack.segments);
            }
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        self.increase.reset();
        (cx.window.cwnd / 2).max(2)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        self.restart();
    }

    fn on_restart(&mut self, _cx: &mut Context<'_>, _idle: Duration) {
        // The path may be another one after a pause.
        self.base = None;
        self.restart();
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        match cx.srtt.map(Duration::as_secs_f64).filter(|r| *r > 0.0) {
            Some(rtt) => Growth::AtRate(cx.cwnd() * cx.mss() / rtt),
            None => Growth::PerRound(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, path};
    use super::*;

    fn wvegas() -> WVegas {
        WVegas::new(2.0, 10.0, 1.0)
    }

    /// A flow in avoidance that has seen `base` ms and will see `rtt` ms.
    fn flow(cwnd: u32, base: u64, rtt: u64) -> Flow<WVegas> {
        let mut flow = Flow::new(wvegas(), cwnd).threshold(2).rtt_ms(base);
        flow.ack(1);
        flow.rtt = Duration::from_millis(rtt);
        (flow.controller.sum, flow.controller.samples) = (0.0, 0);
        flow
    }

    /// All of a round but its last acknowledgement, then that.
    fn round(flow: &mut Flow<WVegas>) {
        for _ in 0..9 {
            flow.ack(1);
        }
        flow.start_round(1);
    }

    #[test]
    fn without_backlog_slow_start_doubles() {
        let mut flow = Flow::new(wvegas(), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow.round();
        assert_eq!(flow.cwnd(), 40);
    }

    #[test]
    fn backlog_ends_slow_start_at_the_window_that_fills_the_path() {
        let mut flow = Flow::new(wvegas(), 40).rtt_ms(100);
        flow.ack(1);
        flow.rtt = Duration::from_millis(125);
        // The window of 50 has 50·(125 − 100)/125 = 10 of backlog; what fits is 40.
        round(&mut flow);
        let mean = (100.0 + 10.0 * 125.0) / 11.0;
        let cwnd = 50.0;
        assert_eq!(flow.cwnd(), (cwnd * 100.0 / mean) as u32 + 1);
        assert!(!flow.window.in_slow_start());
    }

    #[test]
    fn one_more_or_less_per_round_around_the_backlog() {
        // 20·(102 − 100)/102 = 0.4 < 2.
        let mut little = flow(20, 100, 102);
        round(&mut little);
        assert_eq!(little.cwnd(), 21);
        // 100·(120 − 100)/120 = 16.7 > 10: alone the path has all of the backlog of 10.
        let mut much = flow(100, 100, 120);
        round(&mut much);
        assert_eq!((much.cwnd(), much.controller.alpha), (99, 10.0));
        // 20·(120 − 100)/120 = 3.3: more than the first 2, less than the 10 that it sets.
        let mut some = flow(20, 100, 120);
        round(&mut some);
        assert_eq!((some.cwnd(), some.controller.alpha), (21, 10.0));
    }

    #[test]
    fn the_backlog_is_shared_in_proportion_to_rates() {
        // 100/0.12 of 100/0.12 + 50/0.12: two thirds of 10.
        let mut flow = flow(100, 100, 120).with_path(path(50, 120));
        round(&mut flow);
        assert_eq!(flow.controller.alpha, 6.0);
    }

    #[test]
    fn a_doubled_queue_is_drained() {
        let mut flow = flow(20, 100, 105);
        round(&mut flow);
        assert_eq!(flow.cwnd(), 21);
        flow.rtt = Duration::from_millis(110);
        round(&mut flow);
        // 22 · 100/(2·110) = 10 (one was added before).
        assert_eq!(flow.cwnd(), 10);
    }

    #[test]
    fn no_queue_is_not_drained() {
        let mut flow = flow(20, 100, 100);
        round(&mut flow);
        round(&mut flow);
        assert_eq!(flow.cwnd(), 22);
    }

    #[test]
    fn it_says_its_rate() {
        let mut flow = flow(20, 100, 100);
        assert_eq!(flow.growth(), Growth::AtRate(200.0 * f64::from(MSS)));
    }
}
