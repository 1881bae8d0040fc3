//! `wvegas`: weighted Vegas, delay-based; Cao, Xu and Fu, ICNP 2012, with the rules of its kernel port.
//!
//! Once per round trip, from its mean sample rtt, the controller estimates the backlog: diff = ⌊cwnd·(rtt − base)/rtt⌋
//! segments wait in a queue.
//!
//! * Slow start ends if diff > γ.
//! * After that the window grows by one segment if diff < α_r, stays if they are equal (within a whole segment of
//!   backlog), and shrinks by one if diff > α_r.
//! * If diff ≥ α_r, the target α_r is first set anew to the path's share of `total_alpha`, in proportion to its rate
//!   cwnd/rtt, but at least to 2.
//! * If the queueing delay is twice the smallest one seen, the window goes to cwnd·base/(2·rtt), so that the queue
//!   drains and `base` can be measured again.
//! * Each step keeps the threshold at no less than three quarters of the window, so that slow start brings back most of
//!   a window that was drained.
//! * A loss halves the window. After its repair the target and the smallest queueing delay start anew; after a timeout
//!   the window grows like Reno's until then.
//!
//! Deviations:
//! * The other subflows' rates are their windows per present smoothed round-trip time; the port keeps the rates of
//!   their last change.
//! * There is no draining while the queueing delay is zero. The port drains then, because 0 ≥ 2·0, so that a path
//!   without any queue loses half its window each round trip.
//! * In a round with two samples or fewer the window grows like Reno's, as in the port. Rounds are those of the
//!   subflow; the port begins a new one when a recovery ends, so the first round after a recovery can be shorter here.
//!   Recovery from a timeout counts as over at the end of a round.
//! * The port also starts anew after mere reordering, and changes its window while the application does not fill it.
//! * Slow start ends at the threshold; in the port it goes one segment beyond.

use super::{AdditiveIncrease, coupled_paths};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth, Window, slow_start};
use pathweave_proto::parameter::{Kind, Parameter};
use pathweave_units::Duration;

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "wvegas",
    source: "Cao, Xu & Fu 2012; Linux out-of-tree, mptcp_wvegas.c",
    summary: "delay-based: a few segments of backlog, shared between the paths",
    parameters: &[
        Parameter {
            name: "initial_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            unit: "segments",
            default: "2",
            description: "first target for the backlog of each path",
            source: "mptcp_wvegas.c",
        },
        Parameter {
            name: "total_alpha",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            unit: "segments",
            default: "10",
            description: "target for the backlog of all paths together",
            source: "Cao et al. 2012",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Number { min: 0.0, max: 1000.0 },
            unit: "segments",
            default: "1",
            description: "backlog at which slow start ends",
            source: "mptcp_wvegas.c",
        },
    ],
    coupled: true,
    build: |v| Ok(Box::new(WVegas::new(v.number("initial_alpha"), v.number("total_alpha"), v.number("gamma")))),
};

const SMALLEST_WINDOW: u32 = 2;

/// Weighted Vegas. Times are whole microseconds and backlogs whole segments, as in the port.
#[derive(Debug)]
pub struct WVegas {
    initial_alpha: f64,
    total_alpha: f64,
    gamma: f64,
    alpha: f64,
    /// Smallest round-trip time, µs.
    base: Option<u64>,
    /// Sum, in µs, and number of this round's samples.
    sum: u64,
    samples: u64,
    /// The mean sample, µs, of a round that has ended and has not been acted on yet; the inner `None` means too few
    /// samples.
    ended: Option<Option<u64>>,
    /// Smallest queueing delay since the last draining, µs.
    queueing: Option<u64>,
    /// The loss that is being repaired.
    repairing: Option<Repair>,
    increase: AdditiveIncrease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// A loss without a timeout: until the next acknowledgement that may grow the window.
    Reduction,
    /// A timeout: until a round ends.
    Timeout,
}

impl WVegas {
    /// `initial_alpha`, `total_alpha` and γ, segments.
    pub fn new(initial_alpha: f64, total_alpha: f64, gamma: f64) -> Self {
        WVegas {
            initial_alpha,
            total_alpha,
            gamma,
            alpha: initial_alpha,
            base: None,
            sum: 0,
            samples: 0,
            ended: None,
            queueing: None,
            repairing: None,
            increase: AdditiveIncrease::default(),
        }
    }

    fn restart(&mut self) {
        *self = WVegas { base: self.base, ..WVegas::new(self.initial_alpha, self.total_alpha, self.gamma) };
    }

    /// Acts on a round trip that has ended, with its mean sample `rtt`, µs.
    fn step(&mut self, cx: &mut Context<'_>, ack: &Ack, rtt: u64) {
        let base = self.base.unwrap_or(rtt).min(rtt);
        let cwnd = u64::from(cx.window.cwnd);
        let backlog = (cwnd * (rtt - base) / rtt) as f64;
        if !cx.window.in_slow_start() {
            self.avoid(cx, rtt, rtt - base, backlog);
        } else if backlog > self.gamma {
            let fits = (cwnd * base / rtt) as u32;
            cx.window.cwnd = cx.window.cwnd.min(fits.saturating_add(1));
            lower_threshold(cx.window);
        } else {
            slow_start(cx.window, ack.segments);
        }
        cx.window.cwnd = cx.window.cwnd.max(SMALLEST_WINDOW);
        let three_quarters = cx.window.cwnd / 2 + cx.window.cwnd / 4;
        cx.window.ssthresh = cx.window.ssthresh.max(three_quarters);
    }

    fn avoid(&mut self, cx: &mut Context<'_>, rtt: u64, queueing: u64, backlog: f64) {
        if backlog >= self.alpha {
            let own = cx.cwnd() / (rtt as f64 / 1e6);
            let others: f64 = coupled_paths(cx).filter(|p| !p.own).map(|p| p.cwnd / p.rtt).sum();
            self.alpha = libm::floor(own / (own + others) * self.total_alpha).max(2.0);
        }
        if backlog > self.alpha {
            cx.window.cwnd = cx.window.cwnd.saturating_sub(1);
            lower_threshold(cx.window);
        } else if backlog < self.alpha {
            cx.window.cwnd = cx.window.cwnd.saturating_add(1);
        }
        let least = self.queueing.filter(|q| *q > 0).map_or(queueing, |q| q.min(queueing));
        self.queueing = Some(least);
        if queueing > 0 && queueing >= 2 * least {
            // The threshold stays above the window, so that slow start brings the window back.
            cx.window.cwnd = (u64::from(cx.window.cwnd) * (rtt - queueing) / (2 * rtt)) as u32;
            self.queueing = None;
        }
    }

    fn grow_like_reno(&mut self, window: &mut Window, ack: &Ack) {
        let left = slow_start(window, ack.segments);
        self.increase.grow(window, window.cwnd, left);
    }
}

/// Lowers the threshold below the window, so that slow start does not begin again.
fn lower_threshold(window: &mut Window) {
    window.ssthresh = window.ssthresh.min(window.cwnd.saturating_sub(1)).max(SMALLEST_WINDOW);
}

impl Controller for WVegas {
    fn on_sample(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            // One microsecond more, so that no sample is zero.
            let rtt = rtt.as_nanos() / 1000 + 1;
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum += rtt;
            self.samples += 1;
        }
        if ack.round_ended {
            self.ended = Some((self.samples > 2).then(|| self.sum / self.samples));
            (self.sum, self.samples) = (0, 0);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        match self.repairing {
            None => {}
            Some(Repair::Timeout) => {
                self.grow_like_reno(cx.window, ack);
                if ack.round_ended {
                    self.restart();
                }
                return;
            }
            // The port begins a round of its own here.
            Some(Repair::Reduction) => self.restart(),
        }
        match self.ended.take() {
            Some(Some(rtt)) => self.step(cx, ack, rtt),
            Some(None) => self.grow_like_reno(cx.window, ack),
            None => {
                slow_start(cx.window, ack.segments);
            }
        }
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        self.increase.reset();
        self.repairing = Some(Repair::Reduction);
        (cx.window.cwnd / 2).max(2)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        self.repairing = Some(Repair::Timeout);
    }

    fn on_restart(&mut self, _cx: &mut Context<'_>, _idle: Duration) {
        // After a pause the path's base delay may be another.
        self.base = None;
        self.restart();
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        match cx.srtt.map(Duration::as_secs_f64).filter(|r| *r > 0.0) {
            Some(rtt) => Growth::AtRate(cx.cwnd() * cx.mss() / rtt),
            None => Growth::PerRound(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, path};
    use super::*;

    fn wvegas() -> WVegas {
        WVegas::new(2.0, 10.0, 1.0)
    }

    /// A flow in avoidance that has seen `base` ms and will see `rtt` ms.
    fn flow(cwnd: u32, base: u64, rtt: u64) -> Flow<WVegas> {
        let mut flow = Flow::new(wvegas(), cwnd).threshold(2).rtt_ms(base);
        flow.ack(1);
        flow.rtt = Duration::from_millis(rtt);
        (flow.controller.sum, flow.controller.samples) = (0, 0);
        flow
    }

    /// A round of ten acknowledgements, the last of which ends it.
    fn round(flow: &mut Flow<WVegas>) {
        for _ in 0..9 {
            flow.ack(1);
        }
        flow.start_round(1);
    }

    #[test]
    fn without_backlog_slow_start_doubles() {
        let mut flow = Flow::new(wvegas(), 10);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow.round();
        assert_eq!(flow.cwnd(), 40);
    }

    #[test]
    fn backlog_ends_slow_start_at_the_window_that_fills_the_path() {
        let mut flow = Flow::new(wvegas(), 40).rtt_ms(100);
        flow.ack(1);
        flow.rtt = Duration::from_millis(125);
        // The window of 50 has 50·(125 − 100)/125 = 10 of backlog; what fits is 40.
        round(&mut flow);
        // The mean of 100 and ten times 125 is 122.7 ms: 50 · 100/122.7 = 40.7.
        assert_eq!((flow.cwnd(), flow.window.ssthresh), (41, 40));
    }

    #[test]
    fn one_more_or_less_per_round_around_the_backlog() {
        // 20·(102 − 100)/102 = 0.4 < 2.
        let mut little = flow(20, 100, 102);
        round(&mut little);
        assert_eq!(little.cwnd(), 21);
        // 100·(120 − 100)/120 = 16.7 > 10: alone the path has all of the backlog of 10.
        let mut much = flow(100, 100, 120);
        round(&mut much);
        assert_eq!((much.cwnd(), much.controller.alpha), (99, 10.0));
        // 20·(120 − 100)/120 = 3.3: more than the first 2, less than the 10 that it sets.
        let mut some = flow(20, 100, 120);
        round(&mut some);
        assert_eq!((some.cwnd(), some.controller.alpha), (21, 10.0));
    }

    /// 20·(113 − 100)/113 = 2.3 are two whole segments, as many as the path's share of 10·20/(20 + 200), at least 2.
    #[test]
    fn the_window_stays_while_the_whole_segments_of_backlog_are_the_target() {
        let mut flow = flow(20, 100, 113).with_path(path(200, 113));
        for _ in 0..3 {
            round(&mut flow);
            assert_eq!((flow.cwnd(), flow.controller.alpha), (20, 2.0));
        }
    }

    #[test]
    fn the_backlog_is_shared_in_proportion_to_rates() {
        // 100/0.12 of 100/0.12 + 50/0.12: two thirds of 10.
        let mut flow = flow(100, 100, 120).with_path(path(50, 120));
        round(&mut flow);
        assert_eq!(flow.controller.alpha, 6.0);
    }

    #[test]
    fn a_doubled_queue_is_drained() {
        let mut flow = flow(20, 100, 105);
        round(&mut flow);
        assert_eq!(flow.cwnd(), 21);
        flow.rtt = Duration::from_millis(110);
        round(&mut flow);
        // 22 · 100/(2·110) = 10 (one was added before). Before that ⌊21/2⌋ + ⌊21/4⌋ = 15 was the threshold.
        assert_eq!((flow.cwnd(), flow.window.ssthresh), (10, 15));
        for _ in 0..9 {
            flow.ack(1);
        }
        assert_eq!(flow.cwnd(), 15, "slow start brings that back");
    }

    #[test]
    fn no_queue_is_not_drained() {
        let mut flow = flow(20, 100, 100);
        round(&mut flow);
        round(&mut flow);
        assert_eq!(flow.cwnd(), 22);
    }

    /// Before the loss the target has become 10, because the path is alone. Samples from the recovery do not count.
    #[test]
    fn a_loss_begins_anew() {
        let mut flow = flow(20, 100, 120);
        round(&mut flow);
        assert_eq!((flow.controller.alpha, flow.controller.queueing), (10.0, Some(20_000)));
        assert_eq!(flow.lose(), 10);
        let in_recovery = Ack { segments: 1, bytes: 1448, rtt: Some(Duration::from_millis(900)), round_ended: true };
        flow.with(|c, cx| (0..4).for_each(|_| c.on_sample(cx, &in_recovery)));
        flow.ack(1);
        assert_eq!((flow.controller.alpha, flow.controller.queueing), (2.0, None));
        assert_eq!(flow.cwnd(), 10, "inside of a round");
        // 10·(120 − 100)/120 = 1 < 2.
        round(&mut flow);
        assert_eq!((flow.cwnd(), flow.controller.alpha), (11, 2.0));
    }

    /// The backlog of 17·(200 − 100)/200 = 8 would otherwise end slow start at 9 segments.
    #[test]
    fn after_a_timeout_the_window_grows_like_reno_s_until_a_round_has_ended() {
        let mut flow = flow(40, 100, 200);
        flow.lose();
        flow.with(|c, cx| c.on_timeout(cx));
        flow.window.cwnd = 8;
        round(&mut flow);
        assert_eq!((flow.cwnd(), flow.window.ssthresh), (18, 20));
        assert_eq!(flow.controller.alpha, 2.0);
        round(&mut flow);
        assert_eq!(flow.controller.alpha, 10.0, "a step of its own");
    }

    #[test]
    fn it_says_its_rate() {
        let mut flow = flow(20, 100, 100);
        assert_eq!(flow.growth(), Growth::AtRate(200.0 * f64::from(MSS)));
    }
}
