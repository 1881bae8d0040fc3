//! `lia`: linked increases (RFC 6356), which some papers call "coupled".
//!
//! For each segment acknowledged on subflow i the window grows by min(α/cwnd_total, 1/cwnd_i) (RFC 6356 §3), with
//! α = cwnd_total · max(cwnd_i/rtt_i²) / (Σ cwnd_i/rtt_i)² (eq. 2). Slow start and the decrease are Reno's.
//!
//! Deviations: α is computed at each acknowledgement; the RFC allows to compute it once per window. Windows in the
//! equations are in bytes, so subflows may have different segment sizes. A subflow without a round-trip time sample is
//! left out of the sums, and grows like Reno itself.

use super::coupled_paths;
use super::increase::{Linked, Rule};
use pathweave_proto::congestion::{Context, ControllerEntry};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "lia",
    source: "RFC 6356",
    summary: "together the subflows take as much as one TCP flow on the best path",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(Linked::new(Lia))),
};

/// Linked increases (RFC 6356).
#[derive(Debug)]
pub struct Lia;

/// The increase for one acknowledged segment.
pub(crate) fn increase(cx: &Context<'_>) -> f64 {
    let reno = 1.0 / cx.cwnd();
    let (mut total, mut best, mut sum) = (0.0, 0.0f64, 0.0);
    for path in coupled_paths(cx) {
        let bytes = path.cwnd * path.mss;
        total += bytes;
        best = best.max(bytes / (path.rtt * path.rtt));
        sum += bytes / path.rtt;
    }
    if sum <= 0.0 || cx.srtt.is_none() {
        return reno;
    }
    // RFC 6356 eq. 2.
    let alpha = total * best / (sum * sum);
    // RFC 6356 §3: min(alpha · bytes_acked · MSS_i / cwnd_total, bytes_acked · MSS_i / cwnd_i), in segments of MSS_i.
    (alpha * cx.mss() / total).min(reno)
}

impl Rule for Lia {
    // The decrease is the trait's default: RFC 6356 §3, "the decrease of the congestion window in case of a drop [is]
    // the same" as RFC 5681's.
    fn increase(&self, cx: &Context<'_>) -> f64 {
        increase(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, path};
    use super::*;

    #[test]
    fn one_path_is_reno() {
        let mut flow = Flow::new(Linked::new(Lia), 10).threshold(10);
        assert!((flow.per_round() - 1.0).abs() < 1e-12);
        for expected in [11, 12, 13] {
            flow.round();
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(Linked::new(Lia), 10).with_path(path(10, 100));
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }

    /// Two equal paths: α = 2w · (w/r²) / (2w/r)² = 1/2, so each segment adds 1/(4w) and each round a quarter.
    #[test]
    fn two_equal_paths_grow_by_a_quarter_each() {
        let mut flow = Flow::new(Linked::new(Lia), 20).threshold(10).with_path(path(20, 100));
        assert!((flow.per_round() - 0.25).abs() < 1e-12);
        for _ in 0..4 {
            flow.round();
        }
        assert_eq!(flow.cwnd(), 21, "one after four rounds, less what the growing window takes away");
    }

    /// The exact window is 20.5 when a loss halves it to 10.25. The quarter stays collected.
    #[test]
    fn a_loss_halves_what_is_collected_too() {
        let mut flow = Flow::new(Linked::new(Lia), 20).threshold(10).with_path(path(20, 100));
        flow.round();
        flow.round();
        assert_eq!((flow.cwnd(), flow.lose()), (20, 10));
        for _ in 0..3 {
            flow.round();
        }
        // The smaller window grows by α·10/30 = (20/30)·(10/30) = 2/9 a round: without the quarter it would take five.
        assert_eq!(flow.cwnd(), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 11);
    }

    /// n equal paths: α = 1/n and 1/n² per round, so all together 1/n.
    #[test]
    fn n_equal_paths_grow_by_one_n_th_together() {
        for n in [2, 3, 8] {
            let mut flow = (1..n).fold(Flow::new(Linked::new(Lia), 16).threshold(8), |f, _| f.with_path(path(16, 50)));
            flow = flow.rtt_ms(50);
            assert!((flow.per_round() - 1.0 / f64::from(n * n)).abs() < 1e-12, "{n}");
        }
    }

    /// 10 segments at 100 ms and 40 at 20 ms: α = 50 · max(10/0.01, 40/0.0004) / (10/0.1 + 40/0.02)² = 50·100000/2100²
    /// = 1.1338; per segment min(1.1338/50, 1/10) = 0.022676.
    #[test]
    fn unequal_paths_by_hand() {
        let mut flow = Flow::new(Linked::new(Lia), 10).threshold(2).with_path(path(40, 20));
        assert!((flow.per_round() - 0.226_757).abs() < 1e-5, "{}", flow.per_round());
    }

    #[test]
    fn a_path_never_grows_faster_than_reno() {
        // A tiny window here, a long fat path there: α/total would exceed 1/cwnd.
        let mut flow = Flow::new(Linked::new(Lia), 100).threshold(2).rtt_ms(1).with_path(path(2, 1000));
        assert!(flow.per_round() <= 1.0);
    }

    #[test]
    fn the_threshold_is_half_the_window() {
        assert_eq!(Flow::new(Linked::new(Lia), 21).with_path(path(20, 10)).lose(), 10);
        assert_eq!(Flow::new(Linked::new(Lia), 3).lose(), 2);
    }
}
