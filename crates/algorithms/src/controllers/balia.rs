//! `balia`: balanced linked adaptation; Peng, Walid, Hwang and Low 2016, draft-walid-mptcp-congestion-control-04.
//!
//! Let x_r = w_r/rtt_r be the rate of path r, and α_r = max x_k/x_r. For each segment acknowledged on path r the window
//! grows by x_r/(rtt_r·(Σ x_k)²)·(1 + α_r)/2·(4 + α_r)/5. A loss takes (w_r/2)·min(α_r, 1.5) away.
//!
//! Deviations: α is a real number; the kernel's port cuts it off to a whole number. Rates are in segments, as in the
//! draft. The threshold is at least 2, as in all controllers here. A subflow without a round-trip time sample is left
//! out of the sums, and behaves like Reno itself.

use super::coupled_paths;
use super::increase::{Linked, Rule};
use pathweave_proto::congestion::{Context, ControllerEntry};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "balia",
    source: "Peng et al. 2016; draft-walid-mptcp-congestion-control-04",
    summary: "balances friendliness to TCP and responsiveness",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(Linked::new(Balia))),
};

/// Balanced linked adaptation.
#[derive(Debug)]
pub struct Balia;

/// Returns this subflow's rate x_r and round-trip time, the largest rate, and the sum of all rates. Rates are in
/// segments per second, the time in seconds.
fn rates(cx: &Context<'_>) -> Option<(f64, f64, f64, f64)> {
    let (mut own, mut most, mut sum) = (None, 0.0f64, 0.0);
    for path in coupled_paths(cx) {
        let rate = path.cwnd / path.rtt;
        most = most.max(rate);
        sum += rate;
        if path.own {
            own = Some((rate, path.rtt));
        }
    }
    own.map(|(rate, rtt)| (rate, rtt, most, sum))
}

impl Rule for Balia {
    fn increase(&self, cx: &Context<'_>) -> f64 {
        let Some((rate, rtt, most, sum)) = rates(cx) else { return 1.0 / cx.cwnd() };
        let alpha = most / rate;
        rate / (rtt * sum * sum) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    }

    fn after_loss(&mut self, cx: &Context<'_>, window: f64) -> f64 {
        let alpha = rates(cx).map_or(1.0, |(rate, _, most, _)| most / rate);
        window - window / 2.0 * alpha.min(1.5)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    #[test]
    fn one_path_is_reno() {
        let mut flow = Flow::new(Linked::new(Balia), 10).threshold(10);
        assert!((flow.per_round() - 1.0).abs() < 1e-12);
        assert_eq!(flow.lose(), 5);
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(Linked::new(Balia), 10).with_path(path(10, 100));
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }

    /// Two equal paths: α = 1; x/(rtt·4x²) = 1/(4w): a quarter each round, and half is lost.
    #[test]
    fn two_equal_paths() {
        let mut flow = Flow::new(Linked::new(Balia), 20).threshold(10).with_path(path(20, 100));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
        assert_eq!(flow.lose(), 10);
    }

    /// Rates 100 and 300: α = 3; 100/(0.1·160,000)·(4/2)·(7/5) = 0.0175 a segment, 0.175 a round of 10; the loss takes
    /// 10/2·1.5.
    #[test]
    fn the_slower_of_two_by_hand() {
        let mut flow = Flow::new(Linked::new(Balia), 10).threshold(2).with_path(path(30, 100));
        assert!((flow.per_round() - 0.175).abs() < 1e-12);
        assert_eq!(flow.lose(), 2);
        let mut flow = Flow::new(Linked::new(Balia), 100).threshold(2).with_path(path(300, 100));
        assert_eq!(flow.lose(), 25);
    }

    /// Rates 100 and 120: α = 1.2, below the limit of 1.5; the loss takes 100/2·1.2. The faster one's α is 1: half.
    #[test]
    fn the_decrease_follows_alpha_below_its_limit() {
        assert_eq!(Flow::new(Linked::new(Balia), 100).threshold(2).with_path(path(120, 100)).lose(), 40);
        assert_eq!(Flow::new(Linked::new(Balia), 120).threshold(2).with_path(path(100, 100)).lose(), 60);
    }
}
