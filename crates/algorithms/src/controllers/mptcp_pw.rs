//! `mptcp-pw`: Westwood on several paths; Le, Hong and Huh, "Coordinated TCP Westwood congestion control for multiple
//! paths over wireless networks", ICOIN 2012, which builds on Westwood+ of Mascolo et al. It is EVAL's reference 20.
//! EVAL calls it MPTCPPW, the article MPTCPW.
//!
//! ```text
//! an acknowledged segment adds    α/w_r,  α = max B_p²/(Σ B_p)²,  at most 1/w_r
//! while another subflow is in slow start, and on one path: 1/w_r
//! a loss leaves                   BWE·rtt_min/MSS segments, at least 2
//! BWE: each max(srtt, 50 ms) a sample b = bytes acknowledged/time;  n ← ⅞·n + ⅛·b,  BWE ← ⅞·BWE + ⅛·n
//! ```
//!
//! B_p is the bandwidth of path p. BWE·rtt_min is what the path holds without a queue. So a loss takes only the queue
//! away from the window. On a path without a queue, which loses at random, a loss takes nothing.
//!
//! Source: the implementation in SoonyangZhang/DrainQueueCongestion (`mp_westwood_sender_bytes.cc`); the article itself
//! was not available, so no equation numbers are given. The interval of 50 ms and the filter are those of Linux,
//! `tcp_westwood.c`.
//!
//! Deviations: in α, B_p is the window per smoothed round-trip time: a controller does not see what the others have
//! measured, and in each round trip a filled window is acknowledged. The implementation divides the acknowledged bytes
//! by the smaller of srtt and 50 ms, however much time has passed; here, as in Linux, the divisor is the time that has
//! passed. A loss never raises the window. Before the first sample a loss halves the window.

use super::{FractionalIncrease, coupled_paths};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, slow_start};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "mptcp-pw",
    source: "Le et al. 2012 (EVAL [20]), by SoonyangZhang/DrainQueueCongestion; Linux, tcp_westwood.c",
    summary: "after a loss, Westwood's window from the measured bandwidth; growth coupled by bandwidth",
    parameters: &[],
    coupled: true,
    build: |_| Ok(Box::new(MptcpPw::default())),
};

/// The shortest time over which a bandwidth sample is taken.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(50);
/// Weight of the newest value in both filters.
const NEWEST: f64 = 0.125;

/// Westwood with coupled growth.
#[derive(Debug, Default)]
pub struct MptcpPw {
    increase: FractionalIncrease,
    /// The start of the present bandwidth sample, and the bytes acknowledged since.
    sample: Option<(Instant, u64)>,
    /// Bandwidth after the first filter and after both, bytes per second.
    estimate: Option<(f64, f64)>,
}

/// α: the segments that are added to the window in a round.
fn alpha(cx: &Context<'_>) -> f64 {
    if cx.paths.iter().enumerate().any(|(i, p)| i != cx.own && p.in_slow_start) {
        return 1.0;
    }
    let (mut largest, mut total, mut known) = (0.0f64, 0.0, false);
    for path in coupled_paths(cx) {
        let rate = path.cwnd * path.mss / path.rtt;
        (largest, total, known) = (largest.max(rate), total + rate, known || path.own);
    }
    if known { largest * largest / (total * total) } else { 1.0 }
}

impl Controller for MptcpPw {
    fn on_sample(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let (since, bytes) = self.sample.get_or_insert((cx.now, 0));
        *bytes += ack.bytes;
        let time = cx.now.since(*since);
        if time < cx.srtt.unwrap_or_default().max(SHORTEST_SAMPLE) {
            return;
        }
        let sample = *bytes as f64 / time.as_secs_f64();
        self.sample = Some((cx.now, 0));
        self.estimate = Some(match self.estimate {
            None => (sample, sample),
            Some((once, twice)) => {
                let once = once + NEWEST * (sample - once);
                (once, twice + NEWEST * (once - twice))
            }
        });
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = slow_start(cx.window, ack.segments);
        if left > 0 {
            let each = alpha(cx) / cx.cwnd();
            self.increase.add(cx.window, each * f64::from(left));
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let window = self.increase.exact(cx.window);
        let left = match (self.estimate, cx.min_rtt) {
            (Some((_, bandwidth)), Some(rtt)) => (bandwidth * rtt.as_secs_f64() / cx.mss()).min(window),
            _ => window / 2.0,
        };
        self.increase.threshold(left)
    }

    fn on_restart(&mut self, cx: &mut Context<'_>, _idle: Duration) {
        // Nothing was sent during the pause, so a sample that includes it would show too little bandwidth.
        self.sample = Some((cx.now, 0));
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        Growth::PerRound(alpha(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, path};
    use super::*;
    use pathweave_proto::congestion::PathState;

    fn flow(cwnd: u32) -> Flow<MptcpPw> {
        Flow::new(MptcpPw::default(), cwnd).threshold(2)
    }

    /// Rates of 200, 100 and 100 segments/s: α is 200²/400² = ¼ for each of the three subflows.
    #[test]
    fn the_growth_is_the_best_bandwidth_s_part_of_all_squared() {
        let mut fast = flow(20).with_path(path(10, 100)).with_path(path(20, 200));
        assert!((fast.per_round() - 0.25).abs() < 1e-12);
        let mut slow = flow(10).with_path(path(20, 100)).with_path(path(20, 200));
        assert!((slow.per_round() - 0.25).abs() < 1e-12);
        assert!((flow(20).per_round() - 1.0).abs() < 1e-12, "alone it is Reno");
        let starting = PathState { in_slow_start: true, ..path(20, 100) };
        assert!((flow(20).with_path(starting).per_round() - 1.0).abs() < 1e-12);
    }

    /// The samples end when 100 ms, the round-trip time, are over.
    #[test]
    fn bandwidth_is_filtered_twice() {
        let mut flow = flow(20);
        let mss = f64::from(MSS);
        let mut estimates = Vec::new();
        // The first 50 ms bring nothing yet.
        for (after_ms, segments) in [(0, 0), (50, 10), (50, 10), (100, 40), (200, 0)] {
            flow.now += Duration::from_millis(after_ms);
            flow.ack(segments);
            estimates.push(flow.controller.estimate.map(|(once, twice)| (once / mss, twice / mss)));
        }
        // 20 segments in 100 ms are 200/s. 40 are 400/s: ⅞·200 + ⅛·400 = 225, ⅞·200 + ⅛·225 = 203.125. None in 200 ms
        // are 0: ⅞·225 = 196.875, ⅞·203.125 + ⅛·196.875 = 202.34375.
        let expected = [None, None, Some((200.0, 200.0)), Some((225.0, 203.125)), Some((196.875, 202.34375))];
        assert_eq!(estimates, expected);
    }

    /// At 200 segments/s and a smallest round trip of 100 ms the path holds 20 segments. So a loss leaves 20 of a
    /// window of 30, and all of a window of 15.
    #[test]
    fn a_loss_leaves_what_the_path_holds() {
        for (cwnd, left) in [(30, 20), (15, 15)] {
            let mut flow = flow(cwnd);
            flow.controller.estimate = Some((0.0, 200.0 * f64::from(MSS)));
            assert_eq!(flow.lose(), left);
        }
        assert_eq!(flow(30).lose(), 15, "without a sample");
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(MptcpPw::default(), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
    }
}
