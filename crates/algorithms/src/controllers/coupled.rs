//! `coupled`: fully coupled; Kelly and Voice 2005, Han et al. 2006, as in Wischik et al., NSDI 2011, §2.2.
//!
//! For each segment acknowledged on a path, that path's window grows by 1/w_total. A loss on a path takes w_total/2
//! away from that path's window. So all traffic goes to the least congested paths, and flaps between equal ones.
//!
//! Deviation: a loss leaves a window of at least 2, as in all controllers here; the paper allows 1.

use super::FractionalIncrease;
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "coupled",
    source: "Wischik et al. 2011 §2.2",
    summary: "all subflows as one window; everything on the least congested paths",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(Coupled::default())),
};

/// A controller with one congestion window over all subflows.
#[derive(Debug, Default)]
pub struct Coupled {
    increase: FractionalIncrease,
}

impl Controller for Coupled {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.increase.on_ack(cx, ack, |cx| 1.0 / cx.total_cwnd());
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let cwnd = self.increase.exact(cx.window);
        let total = cx.total_cwnd() - cx.cwnd() + cwnd;
        self.increase.threshold(cwnd - total / 2.0)
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(cx.cwnd() / cx.total_cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    #[test]
    fn slow_start_doubles_and_one_path_is_reno() {
        let mut flow = Flow::new(Coupled::default(), 10).threshold(20);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow.round();
        assert_eq!((flow.cwnd(), flow.lose()), (21, 10));
    }

    #[test]
    fn a_loss_takes_half_of_the_total_away() {
        assert_eq!(Flow::new(Coupled::default(), 30).with_path(path(10, 10)).lose(), 10);
        assert_eq!(Flow::new(Coupled::default(), 10).with_path(path(30, 10)).lose(), 2);
    }

    #[test]
    fn growth_is_the_share_of_the_total_window() {
        let mut flow = Flow::new(Coupled::default(), 10).threshold(2).with_path(path(30, 10));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
    }
}
