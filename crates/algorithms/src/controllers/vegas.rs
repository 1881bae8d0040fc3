//! `vegas`: plain TCP Vegas on each path; Brakmo, O'Malley and Peterson, "TCP Vegas: New techniques for congestion
//! detection and avoidance", SIGCOMM 1994 (EVAL's reference 18).
//!
//! Once per round trip, from the mean rtt of its samples, Vegas computes the expected rate w/base, the actual rate
//! w/rtt, and the number of segments that wait in a queue: diff = (expected − actual)·base = w·(rtt − base)/rtt.
//!
//! ```text
//! avoidance:   diff < α: w + 1      diff > β: w − 1      else w stays
//! slow start:  w doubles in every other round trip and stays in the others
//!              diff > γ at the end of a round trip in which w stayed: slow start ends, with ⅞·w
//! loss:        ¾·w; 2 segments if w ≤ 3
//! ```
//!
//! Source: the article's rules as INET implements them (`TcpVegas.cc`), with the α, β and γ of the article's Vegas-2,4,
//! which INET has too. The article itself was not available.
//!
//! Deviations: a controller does not detect losses, so Vegas's own timeouts, which are finer than a retransmission
//! timer's, are left out. A timeout leaves a window of one segment and a threshold of ¾·w; in INET these are two
//! segments and ½·w. The window changes by a whole segment at the end of the round. base is the smallest sample of the
//! subflow's life. A round without a sample changes nothing. The subflows are not coupled; for that, see
//! [`super::wvegas`].

use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, Window, slow_start};
use pathweave_proto::parameter::{Kind, Parameter};

/// A parameter that is a backlog in segments.
const fn backlog(name: &'static str, default: &'static str, description: &'static str) -> Parameter<'static> {
    Parameter {
        name,
        kind: Kind::Number { min: 0.0, max: 1000.0 },
        unit: "segments",
        default,
        description,
        source: "Brakmo et al. 1994; INET",
    }
}

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "vegas",
    source: "Brakmo et al. 1994 (EVAL [18])",
    summary: "delay-based on each path alone: a few segments of backlog",
    parameters: &[
        backlog("alpha", "2", "backlog below which the window grows"),
        backlog("beta", "4", "backlog above which the window shrinks"),
        backlog("gamma", "1", "backlog at which slow start ends"),
    ],
    coupled: false,
    build: |v| Ok(Box::new(Vegas::new(v.number("alpha"), v.number("beta"), v.number("gamma")))),
};

const SMALLEST_WINDOW: u32 = 2;

/// TCP Vegas.
#[derive(Debug)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// Sum, in seconds, and number of this round's samples.
    sum: f64,
    samples: u32,
    /// The mean sample of a round that has ended and has not been acted on yet; the inner `None` means no sample.
    ended: Option<Option<f64>>,
    /// In slow start: whether the window grows in this round.
    grows: bool,
}

impl Vegas {
    /// α, β and γ, segments.
    pub fn new(alpha: f64, beta: f64, gamma: f64) -> Self {
        Vegas { alpha, beta, gamma, sum: 0.0, samples: 0, ended: None, grows: true }
    }

    /// Acts on a round trip that has ended, with its mean sample in seconds.
    fn step(&mut self, cx: &mut Context<'_>, rtt: Option<f64>) {
        let base = cx.min_rtt.map(|r| r.as_secs_f64());
        let diff = match (rtt, base) {
            (Some(rtt), Some(base)) if rtt > 0.0 => Some(cx.cwnd() * (rtt - base).max(0.0) / rtt),
            _ => None,
        };
        if cx.window.in_slow_start() {
            self.grows = !self.grows;
            if self.grows && diff.is_some_and(|d| d > self.gamma) {
                cx.window.cwnd = (cx.window.cwnd - cx.window.cwnd / 8).max(SMALLEST_WINDOW);
                leave_slow_start(cx.window);
            }
            return;
        }
        match diff {
            Some(d) if d < self.alpha => cx.window.cwnd = cx.window.cwnd.saturating_add(1),
            Some(d) if d > self.beta => {
                cx.window.cwnd = cx.window.cwnd.saturating_sub(1).max(SMALLEST_WINDOW);
                leave_slow_start(cx.window);
            }
            _ => {}
        }
    }
}

/// Lowers the threshold to the window, so that slow start does not begin again.
fn leave_slow_start(window: &mut Window) {
    window.ssthresh = window.ssthresh.min(window.cwnd).max(SMALLEST_WINDOW);
}

impl Controller for Vegas {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|r| !r.is_zero()) {
            self.sum += rtt.as_secs_f64();
            self.samples += 1;
        }
        if ack.round_ended {
            self.ended = Some((self.samples > 0).then(|| self.sum / f64::from(self.samples)));
            (self.sum, self.samples) = (0.0, 0);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = self.ended.take() {
            self.step(cx, rtt);
        }
        if self.grows {
            slow_start(cx.window, ack.segments);
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let window = cx.window.cwnd;
        if window <= 3 { 2 } else { window - window / 4 }
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        *self = Vegas::new(self.alpha, self.beta, self.gamma);
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        match cx.srtt.map(|r| r.as_secs_f64()).filter(|r| *r > 0.0) {
            Some(rtt) => Growth::AtRate(cx.cwnd() * cx.mss() / rtt),
            None => Growth::PerRound(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS};
    use super::*;
    use pathweave_units::Duration;

    fn vegas() -> Vegas {
        Vegas::new(2.0, 4.0, 1.0)
    }

    /// A flow in avoidance with a smallest round-trip time of 100 ms.
    fn flow(cwnd: u32) -> Flow<Vegas> {
        Flow::new(vegas(), cwnd).threshold(2).rtt_ms(100)
    }

    /// The window after a round with these samples, ms.
    fn after(mut flow: Flow<Vegas>, samples: &[u64]) -> u32 {
        for (i, ms) in samples.iter().enumerate() {
            flow.rtt = Duration::from_millis(*ms);
            if i + 1 == samples.len() { flow.start_round(1) } else { flow.ack(1) }
        }
        flow.cwnd()
    }

    /// 40·(rtt − 100)/rtt: 1.5 at 104, 2.6 at 107, 4.03 at 112 ms.
    #[test]
    fn the_window_keeps_two_to_four_segments_in_the_queue() {
        assert_eq!(after(flow(40), &[104; 10]), 41);
        assert_eq!(after(flow(40), &[107; 10]), 40);
        assert_eq!(after(flow(40), &[112; 10]), 39);
        // The mean of 100 and 114 is 107.
        assert_eq!(after(flow(40), &[100, 114, 100, 114]), 40);
    }

    #[test]
    fn the_window_stays_out_of_slow_start_and_above_one() {
        let mut flow = Flow::new(Vegas::new(0.0, 1.0, 1.0), 3).threshold(3).rtt_ms(100);
        flow.rtt = Duration::from_secs(100);
        flow.start_round(1);
        for _ in 0..10 {
            flow.start_round(1);
            assert_eq!((flow.cwnd(), flow.window.in_slow_start()), (2, false));
        }
    }

    #[test]
    fn slow_start_doubles_in_every_other_round() {
        let mut flow = Flow::new(vegas(), 10).rtt_ms(100);
        let windows: Vec<u32> = core::iter::repeat_with(|| {
            flow.round();
            flow.cwnd()
        })
        .take(5)
        .collect();
        // The first acknowledgement ends the handshake's round.
        assert_eq!(windows, [10, 20, 20, 40, 40]);
    }

    /// At a window of 40: 40·3/103 = 1.2 > 1, and an eighth goes; 40·2/102 = 0.8 is not enough.
    #[test]
    fn backlog_ends_slow_start_with_an_eighth_less() {
        let held = |rtt: u64| {
            let mut flow = Flow::new(vegas(), 40).rtt_ms(100);
            flow.controller.grows = false;
            flow.rtt = Duration::from_millis(rtt);
            flow.start_round(1);
            (flow.cwnd(), flow.window.in_slow_start())
        };
        assert_eq!(held(103), (35, false));
        assert_eq!(held(102), (41, true), "it grows again, by the segment that was acknowledged");
    }

    #[test]
    fn a_loss_costs_a_quarter() {
        assert_eq!([40, 5, 4, 3, 2].map(|cwnd| flow(cwnd).lose()), [30, 4, 3, 2, 2]);
    }

    #[test]
    fn it_says_its_rate() {
        assert_eq!(flow(20).growth(), Growth::AtRate(200.0 * f64::from(MSS)));
    }
}
