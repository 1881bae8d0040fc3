//! `dlia`: dynamic LIA; Lubna, Mahmud and Cho, "D-LIA: Dynamic congestion control algorithm for MPTCP", ICT Express
//! 2020.
//!
//! Grows as [`super::lia`], RFC 6356. What a loss takes away depends on the interval between losses: less when
//! losses become rarer.
//!
//! Deviation: the paper's idea, not its formula, which was not at hand. Here a loss takes the part ½·min(1, smoothed
//! interval/this interval), at least `min_decrease`, of the window away; intervals are in acknowledged bytes, smoothed
//! by 1/8, the first loss halves. So equal intervals are RFC 6356.

use super::{Ack, Context, Controller, FractionalIncrease, lia, slow_start};
use crate::parameter::{Kind, Parameter};
use crate::registry::ControllerEntry;
use crate::scheduler::Growth;

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "dlia",
    source: "Lubna et al. 2020 (idea; the factor is ours)",
    summary: "LIA that gives up less of the window when losses become rarer",
    parameters: &[Parameter {
        name: "min_decrease",
        kind: Kind::Number { min: 0.0, max: 0.5 },
        unit: "",
        default: "0.125",
        description: "smallest part of the window that a loss takes away",
        source: "ours",
    }],
    coupled: true,
    build: |v| Ok(Box::new(Dlia::new(v.number("min_decrease")))),
};

/// LIA with a decrease by the interval between losses.
#[derive(Debug)]
pub struct Dlia {
    min_decrease: f64,
    increase: FractionalIncrease,
    /// Bytes acknowledged since the last loss, and the smoothed interval between losses.
    since_loss: f64,
    interval: Option<f64>,
}

impl Dlia {
    /// With the smallest part that a loss takes away.
    pub fn new(min_decrease: f64) -> Self {
        Dlia { min_decrease, increase: FractionalIncrease::default(), since_loss: 0.0, interval: None }
    }
}

impl Controller for Dlia {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.since_loss += ack.bytes as f64;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = lia::increase(cx);
            self.increase.add(cx.window, each * f64::from(left));
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let this = self.since_loss;
        let decrease = match self.interval {
            Some(interval) if this > interval => (0.5 * interval / this).max(self.min_decrease),
            _ => 0.5,
        };
        self.interval = Some(self.interval.map_or(this, |interval| (7.0 * interval + this) / 8.0));
        self.since_loss = 0.0;
        self.increase.threshold(self.increase.exact(cx.window) * (1.0 - decrease))
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(lia::increase(cx) * cx.cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    /// What is left of a window of 100 after losses at these intervals, in segments.
    fn after(intervals: &[u32]) -> Vec<u32> {
        let mut flow = Flow::new(Dlia::new(0.125), 100).threshold(100).with_path(path(1_000_000, 100));
        let lose = |interval: &u32| {
            flow.window.cwnd = 100;
            flow.window.ssthresh = 100;
            flow.controller.since_loss = f64::from(*interval);
            flow.lose()
        };
        intervals.iter().map(lose).collect()
    }

    #[test]
    fn equal_or_shorter_intervals_halve() {
        assert_eq!(after(&[1000, 1000, 500]), [50, 50, 50]);
    }

    #[test]
    fn longer_intervals_take_less_away_down_to_an_eighth() {
        assert_eq!(after(&[1000, 2000]), [50, 75]);
        assert_eq!(after(&[1000, 100_000]), [50, 87]);
    }

    #[test]
    fn it_grows_as_lia() {
        let mut flow = Flow::new(Dlia::new(0.125), 20).threshold(10).with_path(path(20, 100));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
        let mut flow = Flow::new(Dlia::new(0.125), 10).with_path(path(20, 100));
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }
}
