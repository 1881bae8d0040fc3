//! `cubic`: RFC 9438, with the arithmetic of Linux's `tcp_cubic.c`, and HyStart.
//!
//! The window follows W(t) = C·(t − K)³ + W_max (RFC 9438 eq. 1) with K = ∛((W_max − cwnd)/C) (eq. 2), or Reno's
//! estimate if that is larger (§4.3, eq. 4). A loss leaves β times the window (§4.6). If the loss comes before the
//! window has reached the last W_max again, the new W_max is lowered further (fast convergence, §4.7).
//!
//! Deviations, all as in the kernel:
//!
//! * β is 717/1024, C is 410/1024, and time counts in 1/1024 s.
//! * The target is W(t + smallest RTT), not W(t + smoothed RTT).
//! * The window grows by at most half per round: each segment more needs at least two acknowledged ones.
//! * Before the first loss the window grows by at least 1/20 per round.
//! * Reno's estimate keeps its slope after it passes the window before the loss.
//! * A timeout forgets W_max.
//! * The increase is recomputed at most once per millisecond, and every 31 ms while the window does not change.

use super::AdditiveIncrease;
use super::hystart::{HyStart, Variant};
use pathweave_proto::congestion::{Ack, Context, Controller, ControllerEntry, Growth};
use pathweave_proto::parameter::{Kind, Parameter};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: ControllerEntry = ControllerEntry {
    name: "cubic",
    source: "RFC 9438; Linux tcp_cubic",
    summary: "the window grows with the cube of the time since the last loss",
    parameters: &[
        Parameter {
            name: "hystart",
            kind: Kind::Choice("linux hystart++ off"),
            unit: "",
            default: "linux",
            description: "how slow start is left before the first loss",
            source: "Linux; RFC 9406",
        },
        Parameter {
            name: "fast_convergence",
            kind: Kind::Bool,
            unit: "",
            default: "true",
            description: "give up bandwidth faster if losses come at ever smaller windows",
            source: "RFC 9438 §4.7",
        },
        Parameter {
            name: "tcp_friendliness",
            kind: Kind::Bool,
            unit: "",
            default: "true",
            description: "grow at least as Reno would",
            source: "RFC 9438 §4.3",
        },
    ],
    coupled: false,
    build: |v| {
        let hystart = match v.choice("hystart") {
            "linux" => Variant::Linux,
            "hystart++" => Variant::PlusPlus,
            _ => Variant::Off,
        };
        Ok(Box::new(Cubic::new(hystart, v.bool("fast_convergence"), v.bool("tcp_friendliness"))))
    },
};

/// β, in units of 1/[`SCALE`].
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// C in segments per second cubed, in units of 1/[`SCALE`].
const C: u64 = 410;
/// Reno's estimate grows by one segment for this many acknowledged eighths of a window: 8·(1 + β)/(3·(1 − β)).
const RENO_EIGHTHS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);

/// The growth since the last reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// K in 1/1024 s, and the window at the curve's plateau.
    k: u64,
    origin: u32,
    /// Reno's estimate, and the segments acknowledged towards its next increase.
    reno: u32,
    reno_acked: u64,
}

/// CUBIC (RFC 9438).
#[derive(Debug)]
pub struct Cubic {
    fast_convergence: bool,
    friendly: bool,
    increase: AdditiveIncrease,
    hystart: HyStart,
    epoch: Option<Epoch>,
    /// W_max; 0 before the first loss.
    last_max: u32,
    /// Acknowledged segments for which the window grows by one segment. The next field has the time and the window of
    /// the computation.
    per_increase: u32,
    computed: Option<(Instant, u32)>,
    delay_min: Option<Duration>,
}

impl Cubic {
    /// A controller for a new flow.
    pub fn new(hystart: Variant, fast_convergence: bool, friendly: bool) -> Self {
        Cubic {
            fast_convergence,
            friendly,
            increase: AdditiveIncrease::default(),
            hystart: HyStart::new(hystart),
            epoch: None,
            last_max: 0,
            per_increase: u32::MAX,
            computed: None,
            delay_min: None,
        }
    }

    fn start_epoch(&self, now: Instant, cwnd: u32, acked: u32) -> Epoch {
        let (k, origin) = match self.last_max.checked_sub(cwnd) {
            // RFC 9438 eq. 2, in 1/1024 s.
            Some(below) if below > 0 => (cube_root((u64::from(below) << 40) / C), self.last_max),
            _ => (0, cwnd),
        };
        Epoch { start: now, k, origin, reno: cwnd, reno_acked: u64::from(acked) }
    }

    /// Segments that must be acknowledged for one more in the window, by the cubic function.
    fn cubic_count(&self, epoch: &Epoch, now: Instant, cwnd: u32) -> u32 {
        let t = ticks(now.since(epoch.start) + self.delay_min.unwrap_or(Duration::ZERO));
        let offset = u128::from(t.abs_diff(epoch.k));
        // RFC 9438 eq. 1.
        let delta = ((u128::from(C) * offset * offset * offset) >> 40).min(u128::from(u32::MAX)) as u32;
        let target = if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin.saturating_add(delta) };
        let mut count = match target.checked_sub(cwnd) {
            Some(above) if above > 0 => cwnd / above,
            _ => cwnd.saturating_mul(100),
        };
        if self.last_max == 0 {
            count = count.min(20);
        }
        count
    }

    fn friendly_count(&self, epoch: &Epoch, cwnd: u32, count: u32) -> u32 {
        // RFC 9438 §4.3: grow like Reno while W_est is above.
        match epoch.reno.checked_sub(cwnd) {
            Some(above) if self.friendly && above > 0 => count.min(cwnd / above),
            _ => count,
        }
    }

    fn update(&mut self, now: Instant, cwnd: u32, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.reno_acked += u64::from(acked);
        }
        if let Some((at, at_cwnd)) = self.computed
            && at_cwnd == cwnd
            && now.since(at) <= Duration::from_millis(31)
        {
            return;
        }
        let fresh = self.epoch.is_none();
        let mut epoch = self.epoch.unwrap_or_else(|| self.start_epoch(now, cwnd, acked));
        let same_tick = self.computed.is_some_and(|(at, _)| at.as_nanos() / 1_000_000 == now.as_nanos() / 1_000_000);
        if fresh || !same_tick {
            self.computed = Some((now, cwnd));
            self.per_increase = self.cubic_count(&epoch, now, cwnd);
        }
        // RFC 9438 eq. 4: α = 3·(1 − β)/(1 + β) segments per window acknowledged.
        let per = ((u64::from(cwnd) * RENO_EIGHTHS) >> 3).max(1);
        if epoch.reno_acked > per {
            let steps = (epoch.reno_acked - 1) / per;
            epoch.reno_acked -= steps * per;
            epoch.reno = epoch.reno.saturating_add(steps.min(u64::from(u32::MAX)) as u32);
        }
        self.per_increase = self.friendly_count(&epoch, cwnd, self.per_increase).max(2);
        self.epoch = Some(epoch);
    }
}

impl Controller for Cubic {
    fn on_sample(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        // For a second after a reduction, samples still include the queue that caused it.
        if self.epoch.is_some_and(|e| cx.now.since(e.start) < Duration::from_secs(1)) {
            return;
        }
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        self.hystart.on_sample(cx, ack, rtt, delay_min);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let left = self.hystart.slow_start(cx, ack.segments);
        if left == 0 || cx.window.in_slow_start() {
            return;
        }
        self.update(cx.now, cx.window.cwnd, left);
        self.increase.grow(cx.window, self.per_increase, left);
    }

    fn threshold_after_loss(&mut self, cx: &Context<'_>) -> u32 {
        let cwnd = cx.window.cwnd;
        self.epoch = None;
        self.computed = None;
        self.increase.reset();
        // RFC 9438 §4.7.
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            (u64::from(cwnd) * (SCALE + BETA) / (2 * SCALE)) as u32
        } else {
            cwnd
        };
        // RFC 9438 §4.6: ssthresh = flight · β, at least 2.
        ((u64::from(cwnd) * BETA / SCALE) as u32).max(2)
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>) {
        self.last_max = 0;
        self.epoch = None;
        self.computed = None;
        self.delay_min = None;
        self.hystart.restart();
    }

    fn on_restart(&mut self, cx: &mut Context<'_>, idle: Duration) {
        // The curve stands still while nothing is sent.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(cx.now);
        }
    }

    fn growth(&self, cx: &Context<'_>) -> Growth {
        let cwnd = cx.window.cwnd;
        let epoch = self.epoch.unwrap_or_else(|| self.start_epoch(cx.now, cwnd, 0));
        let count = self.friendly_count(&epoch, cwnd, self.cubic_count(&epoch, cx.now, cwnd)).max(2);
        Growth::ToWindow(f64::from(cwnd) + f64::from(cwnd) / f64::from(count))
    }
}

/// `time` in units of 1/1024 s.
fn ticks(time: Duration) -> u64 {
    (u128::from(time.as_nanos()) * 1024 / 1_000_000_000) as u64
}

/// The cube root, rounded down exactly.
fn cube_root(x: u64) -> u64 {
    let cube = |r: u64| u128::from(r) * u128::from(r) * u128::from(r);
    let mut root = libm::cbrt(x as f64) as u64;
    while cube(root) > u128::from(x) {
        root -= 1;
    }
    while cube(root + 1) <= u128::from(x) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::super::testing::Flow;
    use super::*;

    fn cubic() -> Cubic {
        Cubic::new(Variant::Off, true, false)
    }

    #[test]
    fn slow_start_doubles_each_round() {
        let mut flow = Flow::new(cubic(), 10);
        for expected in [20, 40, 80] {
            flow.round();
            assert_eq!(flow.cwnd(), expected);
        }
    }

    #[test]
    fn cube_roots_are_exact() {
        for x in [0u64, 1, 7, 8, 26, 27, 1 << 60, (1 << 60) - 1, u64::MAX] {
            let r = cube_root(x);
            assert!(u128::from(r).pow(3) <= u128::from(x) && u128::from(r + 1).pow(3) > u128::from(x), "{x}");
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_at_least_two() {
        // 717/1024: 100 -> 70; 3 -> 2.1.
        for (cwnd, expected) in [(100, 70), (1000, 700), (3, 2), (1, 2)] {
            assert_eq!(Flow::new(cubic(), cwnd).lose(), expected);
        }
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_when_the_last_was_not_reached() {
        let mut flow = Flow::new(cubic(), 100);
        flow.lose();
        assert_eq!(flow.controller.last_max, 100);
        flow.lose();
        // 70 · (1 + 0.7)/2 = 59.5.
        assert_eq!(flow.controller.last_max, 59);
    }

    /// RFC 9438 eqs. 1 and 2 by hand: W_max = 1000, cwnd = 700, C = 0.4: K = ∛(300/0.4) = 9.086 s. W(2) = 1000 −
    /// 0.4·7.086³ = 857.7; W(5) = 1000 − 0.4·4.086³ = 972.7; W(9.086) = 1000; W(12) = 1000 + 0.4·2.914³ = 1009.9.
    #[test]
    fn the_window_follows_the_curve() {
        let mut flow = Flow::new(cubic(), 1000).rtt_ms(20);
        flow.ack(1);
        flow.lose();
        let start = flow.now;
        for (seconds, expected) in [(2, 857.7), (5, 972.7), (9, 1000.0), (12, 1009.9)] {
            while flow.now.since(start) < Duration::from_secs(seconds) {
                flow.round();
            }
            let off = (f64::from(flow.cwnd()) - expected).abs() / expected;
            assert!(off < 0.01, "W({seconds}) = {} instead of {expected}", flow.cwnd());
        }
    }

    /// RFC 9438 eq. 4: α = 3·0.3/1.7 = 0.53 segments per round, from 7 segments: 22.9 after 30 rounds, where the cubic
    /// function has K = ∛(3/0.4) = 1.96 s and is at 10 − 0.4·(1.96 − 0.62)³ = 9.04.
    #[test]
    fn at_small_windows_and_short_round_trips_reno_s_estimate_leads() {
        let grow = |friendly| {
            let mut flow = Flow::new(Cubic::new(Variant::Off, true, friendly), 10).rtt_ms(20);
            flow.lose();
            for _ in 0..30 {
                flow.round();
            }
            flow.cwnd()
        };
        assert!(
            (9..=10).contains(&grow(false)),
            "W(0.62) = 9.04, and the kernel cuts the difference to W_max off to whole segments"
        );
        let reno = 7.0 + 0.53 * 30.0;
        assert!((f64::from(grow(true)) - reno).abs() < 3.0, "{} instead of {reno}", grow(true));
    }

    #[test]
    fn growth_is_at_most_half_a_window_per_round() {
        let mut flow = Flow::new(cubic(), 100).rtt_ms(2000);
        flow.lose();
        flow.now += Duration::from_secs(60);
        flow.ack(1);
        flow.now += Duration::from_secs(60);
        let before = flow.cwnd();
        assert_eq!(flow.growth(), Growth::ToWindow(1.5 * f64::from(before)));
        flow.round();
        assert!(flow.cwnd() <= before + before / 2 + 1, "{before} -> {}", flow.cwnd());
    }

    #[test]
    fn idle_time_is_not_on_the_curve() {
        let mut flow = Flow::new(cubic(), 1000).rtt_ms(20);
        flow.lose();
        flow.round();
        let before = flow.growth();
        flow.now += Duration::from_secs(30);
        flow.with(|c, cx| c.on_restart(cx, Duration::from_secs(30)));
        assert_eq!(flow.growth(), before);
    }

    #[test]
    fn a_timeout_forgets_the_plateau() {
        let mut flow = Flow::new(cubic(), 100);
        flow.lose();
        flow.with(|c, cx| c.on_timeout(cx));
        assert_eq!((flow.controller.last_max, flow.controller.epoch.is_none()), (0, true));
    }
}
