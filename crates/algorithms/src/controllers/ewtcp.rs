//! `ewtcp`: equally weighted TCP; Honda et al., PFLDNeT 2009, as in Wischik et al., NSDI 2011, §2.1.
//!
//! For each segment acknowledged on path r the window grows by a/w_r; a loss halves it. With n subflows a = 1/√n, so
//! that all together take as much as one TCP flow at a shared bottleneck. The weakness of the rule is that all subflows
//! have the same weight, however good their paths are.

use super::FractionalIncrease;
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "ewtcp",
    source: "Honda et al. 2009; Wischik et al. 2011 §2.1",
    summary: "each of n subflows grows by 1/√n a round",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(Ewtcp::default())),
};

/// Equally weighted TCP.
#[derive(Debug, Default)]
pub struct Ewtcp {
    increase: FractionalIncrease,
}

/// a: the increase for one acknowledged window.
fn weight(cx: &Context<'_>) -> f64 {
    1.0 / libm::sqrt(cx.paths.len().max(1) as f64)
}

impl Controller for Ewtcp {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.increase.on_ack(cx, ack, |cx| weight(cx) / cx.cwnd());
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        self.increase.threshold(self.increase.exact(cx.window) / 2.0)
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(weight(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    #[test]
    fn slow_start_doubles_and_one_path_is_reno() {
        let mut flow = Flow::new(Ewtcp::default(), 10).threshold(20);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow.round();
        assert_eq!((flow.cwnd(), flow.lose()), (21, 10));
    }

    #[test]
    fn four_paths_grow_by_half_a_segment_each() {
        let other = path(50, 10);
        let mut flow = Flow::new(Ewtcp::default(), 10).threshold(10).with_path(other).with_path(other).with_path(other);
        assert!((flow.per_round() - 0.5).abs() < 1e-12);
        flow.round();
        flow.round();
        assert_eq!(flow.cwnd(), 11);
    }
}
