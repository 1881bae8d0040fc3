//! `dlia`: dynamic LIA; Lubna, Mahmud and Cho, "D-LIA: Dynamic congestion control algorithm for MPTCP", ICT Express
//! 2020.
//!
//! The window grows like that of [`super::lia`] (RFC 6356). How much of it a loss leaves depends on the interval
//! between losses, which the rule judges by how far the window has grown since the last loss: the less it has grown,
//! the sooner this loss came, and the less likely it is a sign of congestion.
//!
//! ```text
//! γ = min(1, w_last/w)              w: window at this loss; w_last: window that the last loss left, at first 2 segments
//! β ← gain·γ + (1 − gain)·β         at first ½; then held between ½ and 1 − min_decrease
//! w ← max(β·w, 2)
//! ```
//!
//! Source: the authors' kernel module (imtiaztee/D-LIA, `mptcp_dlia.c`, Linux 4.9), which the article refers to; the
//! article itself was not available, so no equation numbers are given.
//!
//! Deviations: the module calculates in whole percents and segments; here windows and factors are real numbers. The
//! module treats plain TCP separately and halves its window; here a single subflow is treated like one of several. The
//! deviations of [`super::lia`] apply too.

use super::increase::{Linked, Rule};
use super::lia;
use pathweave_proto::congestion::{Context, ControllerEntry};
use pathweave_proto::parameter::{Kind, Parameter};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "dlia",
    source: "Lubna et al. 2020, by the authors' mptcp_dlia.c",
    summary: "LIA that gives up less of the window when losses come close together",
    parameters: &[
        Parameter {
            name: "min_decrease",
            kind: Kind::Number { min: 0.0, max: 0.5 },
            unit: "",
            default: "0.1",
            description: "smallest fraction of the window that a loss takes away",
            source: "mptcp_dlia.c",
        },
        Parameter {
            name: "gain",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "",
            default: "0.25",
            description: "weight of the newest interval",
            source: "mptcp_dlia.c",
        },
    ],
    coupled: true,
    build: |v| Ok(Box::new(Linked::new(Dlia::new(v.number("min_decrease"), v.number("gain"))))),
};

/// LIA with a decrease that depends on the interval between losses.
#[derive(Debug)]
pub struct Dlia {
    min_decrease: f64,
    gain: f64,
    /// β: the fraction of the window that the last loss left.
    left: f64,
    /// w_last, segments.
    last_window: f64,
}

impl Dlia {
    /// `min_decrease`: the smallest fraction of the window that a loss takes away; `gain`: the weight of the newest
    /// interval.
    pub fn new(min_decrease: f64, gain: f64) -> Self {
        Dlia { min_decrease, gain, left: 0.5, last_window: 2.0 }
    }
}

impl Rule for Dlia {
    fn increase(&self, cx: &Context<'_>) -> f64 {
        lia::increase(cx)
    }

    fn after_loss(&mut self, _: &Context<'_>, window: f64) -> f64 {
        let window = window.max(1.0);
        let ratio = (self.last_window / window).min(1.0);
        self.left = (self.gain * ratio + (1.0 - self.gain) * self.left).clamp(0.5, 1.0 - self.min_decrease);
        self.last_window = (self.left * window).max(2.0);
        self.left * window
    }
}

#[cfg(test)]
mod tests {
    use super::super::FractionalIncrease;
    use super::super::testing::{Flow, path};
    use super::*;

    fn dlia() -> Linked<Dlia> {
        Linked::new(Dlia::new(0.1, 0.25))
    }

    /// The window that is left if a loss comes at each of these windows, one after the other.
    fn after(windows: &[u32]) -> Vec<u32> {
        let mut flow = Flow::new(dlia(), 100).threshold(100).with_path(path(1_000_000, 100));
        let lose = |window: &u32| {
            (flow.window.cwnd, flow.window.ssthresh) = (*window, *window);
            flow.controller.increase = FractionalIncrease::default();
            flow.lose()
        };
        windows.iter().map(lose).collect()
    }

    /// γ = 2/100: β = 0.25·0.02 + 0.75·0.5 = 0.38, held at 0.5.
    #[test]
    fn the_first_loss_halves() {
        assert_eq!(after(&[100]), [50]);
    }

    /// A second loss before the window has grown: γ = 1, β = 0.25 + 0.75·0.5 = 0.625; 0.625·50 = 31.25. A third one at
    /// 40: γ = 31.25/40 = 0.78125, β = 0.25·0.78125 + 0.75·0.625 = 0.6640625; 26.5625.
    #[test]
    fn losses_that_follow_closely_take_less_away() {
        assert_eq!(after(&[100, 50]), [50, 31]);
        assert_eq!(after(&[100, 50, 40]), [50, 31, 26]);
    }

    /// γ = 50/200: β = 0.0625 + 0.375 = 0.4375, held at 0.5.
    #[test]
    fn a_window_that_has_grown_far_is_halved() {
        assert_eq!(after(&[100, 200]), [50, 100]);
    }

    /// γ is 1 each time and β goes 0.625, 0.71875, 0.7890625, 0.841796875, 0.88134765625 and then stays at 0.9.
    #[test]
    fn no_loss_takes_less_than_a_tenth() {
        let mut flow = Flow::new(dlia(), 1000).threshold(1000);
        let mut left = Vec::new();
        for _ in 0..7 {
            flow.lose();
            left.push(flow.controller.rule.left);
        }
        assert_eq!(left, [0.5, 0.625, 0.71875, 0.7890625, 0.841796875, 0.88134765625, 0.9]);
    }

    #[test]
    fn it_grows_as_lia() {
        let mut flow = Flow::new(dlia(), 20).threshold(10).with_path(path(20, 100));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
        let mut flow = Flow::new(dlia(), 10).with_path(path(20, 100));
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }
}
