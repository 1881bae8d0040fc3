//! `semicoupled`: Wischik, Raiciu, Greenhalgh and Handley, NSDI 2011, §2.4.
//!
//! For each segment acknowledged on a path, that path's window grows by a/w_total. A loss halves the window of its
//! path. The rule is a compromise between `ewtcp` and `coupled`: it moves traffic away from congested paths, but keeps
//! some traffic on each. LIA is this rule with an a that adapts to the paths.

use super::FractionalIncrease;
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth};
use pathweave_proto::parameter::{Kind, Parameter};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "semicoupled",
    source: "Wischik et al. 2011 §2.4",
    summary: "growth shared between the subflows, each halves alone",
    parameters: &[Parameter {
        name: "a",
        kind: Kind::Number { min: 0.001, max: 100.0 },
        unit: "",
        default: "1",
        description: "aggressiveness: by how many segments all windows together grow in a round",
        source: "Wischik et al. 2011 §2.4",
    }],
    coupled: true,
    build: |v| Ok(Box::new(Semicoupled::new(v.number("a")))),
};

/// Coupled increase, own decrease.
#[derive(Debug)]
pub struct Semicoupled {
    a: f64,
    increase: FractionalIncrease,
}

impl Semicoupled {
    /// `a`: the aggressiveness.
    pub fn new(a: f64) -> Self {
        Semicoupled { a, increase: FractionalIncrease::default() }
    }
}

impl Controller for Semicoupled {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let a = self.a;
        self.increase.on_ack(cx, ack, |cx| a / cx.total_cwnd());
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        self.increase.threshold(self.increase.exact(cx.window) / 2.0)
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(self.a * cx.cwnd() / cx.total_cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    #[test]
    fn slow_start_doubles_and_one_path_is_reno() {
        let mut flow = Flow::new(Semicoupled::new(1.0), 10).threshold(20);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow.round();
        assert_eq!((flow.cwnd(), flow.lose()), (21, 10));
    }

    #[test]
    fn growth_is_the_share_of_the_total_window() {
        let mut flow = Flow::new(Semicoupled::new(1.0), 10).threshold(10).with_path(path(30, 10));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
        flow.ack(40);
        assert_eq!(flow.cwnd(), 11);
        assert_eq!(Flow::new(Semicoupled::new(1.0), 10).with_path(path(30, 10)).lose(), 5);
    }
}
