//! `olia`: opportunistic linked increases; Khalili et al., "MPTCP is not Pareto-optimal" (CoNEXT 2012), and
//! draft-khalili-mptcp-congestion-control-05.
//!
//! For each segment acknowledged on path r the window changes by (w_r/rtt_r²) / (Σ w_p/rtt_p)² + ε_r/w_r.
//!
//! The second term moves window from the paths with the largest windows (the set M) to the best paths that are not in M
//! (the set B \ M). The best paths B are those with the largest l_p/rtt_p². l_p is the number of bytes acknowledged
//! since the last loss, or between the last two losses if that is more. With n paths, ε is 1/(n·|B \ M|) for a path in
//! B \ M, −1/(n·|M|) for a path in M, and 0 for any other. If B \ M is empty, ε is 0 for all. (The draft writes α for
//! ε.)
//!
//! Deviations: the threshold is at least 2 segments, as in all controllers here; the draft allows 1 if there are
//! several paths. The second term does not shrink a window below 1. A subflow without a round-trip time sample is left
//! out of the sums and sets, and grows like Reno itself.

use super::increase::{Linked, Rule};
use super::{CoupledPath, coupled_paths};
use pathweave_proto::congestion::{Context, ControllerEntry};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "olia",
    source: "Khalili et al. 2012; draft-khalili-mptcp-congestion-control-05",
    summary: "linked increases that also move window to the best paths",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(Linked::new(Olia))),
};

/// Opportunistic linked increases.
#[derive(Debug)]
pub struct Olia;

fn quality(path: &CoupledPath) -> f64 {
    path.loss_interval / (path.rtt * path.rtt)
}

/// ε for this subflow.
fn epsilon(cx: &Context<'_>) -> f64 {
    let (mut n, mut largest, mut best) = (0.0, 0.0f64, 0.0f64);
    for path in coupled_paths(cx) {
        n += 1.0;
        largest = largest.max(path.cwnd);
        best = best.max(quality(&path));
    }
    let (mut in_m, mut best_not_in_m) = (0.0, 0.0);
    let (mut own_in_m, mut own_is_best) = (false, false);
    for path in coupled_paths(cx) {
        let m = path.cwnd >= largest;
        let b = !m && quality(&path) >= best;
        in_m += f64::from(u8::from(m));
        best_not_in_m += f64::from(u8::from(b));
        if path.own {
            (own_in_m, own_is_best) = (m, b);
        }
    }
    if best_not_in_m == 0.0 {
        0.0
    } else if own_is_best {
        1.0 / (n * best_not_in_m)
    } else if own_in_m {
        -1.0 / (n * in_m)
    } else {
        0.0
    }
}

/// The change of the window for one acknowledged segment, segments.
pub(crate) fn increase(cx: &Context<'_>) -> f64 {
    let cwnd = cx.cwnd();
    let Some(rtt) = cx.srtt.map(|r| r.as_secs_f64()).filter(|r| *r > 0.0) else { return 1.0 / cwnd };
    let sum: f64 = coupled_paths(cx).map(|p| p.cwnd / p.rtt).sum();
    if sum <= 0.0 {
        return 1.0 / cwnd;
    }
    cwnd / (rtt * rtt) / (sum * sum) + epsilon(cx) / cwnd
}

impl Rule for Olia {
    fn increase(&self, cx: &Context<'_>) -> f64 {
        increase(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;
    use pathweave_proto::congestion::{Growth, PathState};

    fn lossless(cwnd: u32, rtt_ms: u64, bytes: u64) -> PathState {
        PathState { bytes_since_loss: bytes, ..path(cwnd, rtt_ms) }
    }

    /// A flow with `bytes` acknowledged since its last loss, beside other subflows.
    fn flow(cwnd: u32, bytes: u64, others: &[PathState]) -> Flow<Linked<Olia>> {
        let mut flow = others.iter().fold(Flow::new(Linked::new(Olia), cwnd).threshold(2), |f, o| f.with_path(*o));
        flow.bytes_since_loss = bytes;
        flow
    }

    fn eps(mut flow: Flow<Linked<Olia>>) -> f64 {
        flow.with(|_, cx| epsilon(cx))
    }

    #[test]
    fn one_path_is_reno() {
        let mut flow = flow(10, 1000, &[]);
        let Growth::PerRound(x) = flow.growth() else { panic!("by rounds") };
        assert!((x - 1.0).abs() < 1e-12);
        for expected in [11, 12, 13] {
            flow.round();
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(Linked::new(Olia), 10).with_path(path(10, 100));
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }

    #[test]
    fn epsilon_moves_window_to_the_best_path_with_a_small_one() {
        // This one is the best and has the smaller window: 1/(2·1); from the other's side: −1/(2·1).
        assert_eq!(eps(flow(5, 9000, &[lossless(20, 100, 1000)])), 0.5);
        assert_eq!(eps(flow(20, 1000, &[lossless(5, 100, 9000)])), -0.5);
    }

    #[test]
    fn epsilon_is_zero_when_the_best_have_the_largest_windows() {
        assert_eq!(eps(flow(20, 9000, &[lossless(5, 100, 1000)])), 0.0);
        assert_eq!(eps(flow(5, 1000, &[lossless(20, 100, 9000)])), 0.0);
        assert_eq!(eps(flow(9, 1000, &[lossless(9, 100, 1000)])), 0.0);
    }

    #[test]
    fn epsilon_with_several_in_each_set() {
        // n = 4; M = two of 20, B \ M = two of 5 with equal quality.
        let (m, b) = (lossless(20, 100, 1000), lossless(5, 100, 9000));
        assert_eq!(eps(flow(5, 9000, &[b, m, m])), 1.0 / 8.0);
        assert_eq!(eps(flow(20, 1000, &[m, b, b])), -1.0 / 8.0);
        // Neither best nor largest.
        assert_eq!(eps(flow(10, 1000, &[m, b, b])), 0.0);
    }

    #[test]
    fn quality_counts_the_round_trip_time_squared_and_the_longer_interval() {
        // 1000/0.1² = 100,000 against 3000/0.2² = 75,000.
        assert_eq!(eps(flow(5, 1000, &[lossless(20, 200, 3000)])), 0.5);
        assert_eq!(eps(flow(5, 1000, &[lossless(20, 200, 5000)])), 0.0);
        // The interval before the last loss counts if it is longer.
        let mut after_loss = flow(5, 10, &[lossless(20, 100, 1000)]);
        after_loss.bytes_between_losses = 9000;
        assert_eq!(eps(after_loss), 0.5);
    }

    /// Two paths at 100 ms with 5 and 15: first term 5/(20)² = 0.0125 a segment; ε/w = 0.5/5 = 0.1; a round of 5:
    /// 0.5625.
    #[test]
    fn the_increase_by_hand() {
        let mut best = flow(5, 9000, &[lossless(15, 100, 1000)]);
        let Growth::PerRound(x) = best.growth() else { panic!("by rounds") };
        assert!((x - 0.5625).abs() < 1e-12);
        // From the other's side: 15/400 − 0.5/15 a segment, times 15.
        let mut other = flow(15, 1000, &[lossless(5, 100, 9000)]);
        let Growth::PerRound(x) = other.growth() else { panic!("by rounds") };
        assert!((x - 0.0625).abs() < 1e-12);
    }

    #[test]
    fn a_shrinking_window_stays_above_zero() {
        let mut flow = flow(2, 10, &[lossless(1, 1, 1_000_000)]);
        for _ in 0..50 {
            flow.round();
            flow.bytes_since_loss = 10;
        }
        assert!(flow.cwnd() >= 1);
    }
}
