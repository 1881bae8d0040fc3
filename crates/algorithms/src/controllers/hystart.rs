//! Two methods to leave slow start before it overflows the bottleneck's queue: Linux's HyStart, and HyStart++ (RFC
//! 9406).
//!
//! HyStart (Ha and Rhee 2011, as in `tcp_cubic.c`) has two detectors, which run once the window has 16 segments. The
//! first fires if a train of closely spaced acknowledgements lasts longer than half of the smallest round-trip time;
//! the second if the round's smallest round-trip time sample exceeds the flow's smallest by an eighth. The first one
//! that fires ends slow start: it sets the threshold to the window. Deviation: the kernel adds to the train's limit the
//! time that its offload may take for one burst. It computes that time from the pacing rate, with a cap of 1 ms, which
//! is reached below 262 MB/s; here it is always the cap.
//!
//! HyStart++ has only a delay detector. If that fires, slow start does not end at once: the window grows at a quarter
//! of the speed for five rounds (conservative slow start), and slow start resumes if the delay falls again meanwhile.

use pathweave_proto::congestion::{Ack, Context, slow_start};
use pathweave_units::{Duration, Instant};

/// Both methods use a round's minimum only if the round has this many samples (Linux HYSTART_MIN_SAMPLES, RFC 9406
/// N_RTT_SAMPLE).
const MIN_SAMPLES: u32 = 8;
/// Smallest window at which Linux's detectors run, segments.
const LOW_WINDOW: u32 = 16;
/// Acknowledgements that are at most this far apart belong to one train.
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// The longest time that the kernel allows for one offloaded burst.
const OFFLOAD_DELAY: Duration = Duration::from_millis(1);
/// RFC 9406: CSS_GROWTH_DIVISOR, CSS_ROUNDS, L (not paced).
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
const BURST_LIMIT: u32 = 8;

/// The increase of the round-trip time that the delay detectors look for: an eighth of `base`, at least 4 and at most
/// 16 ms (Linux HYSTART_DELAY_THRESH, RFC 9406 RttThresh).
fn delay_threshold(base: Duration) -> Duration {
    base.div(8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// The method that ends slow start before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// No method: slow start lasts until the first loss.
    Off,
    /// Linux's HyStart.
    Linux,
    /// HyStart++ (RFC 9406).
    PlusPlus,
}

/// The state of either method in one flow.
#[derive(Clone, Debug)]
pub struct HyStart {
    variant: Variant,
    /// Whether the method has done its work. Linux: a detector has fired. HyStart++: congestion avoidance has begun.
    done: bool,
    round_start: Instant,
    last_ack: Instant,
    /// Smallest sample of this round and of the last.
    round_min: Option<Duration>,
    previous_min: Option<Duration>,
    samples: u32,
    /// In conservative slow start: the round's minimum when it began, and the rounds that it has lasted.
    conservative: Option<(Duration, u32)>,
    remainder: u32,
}

impl HyStart {
    /// The state of a new flow.
    pub fn new(variant: Variant) -> Self {
        HyStart {
            variant,
            done: variant == Variant::Off,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_min: None,
            previous_min: None,
            samples: 0,
            conservative: None,
            remainder: 0,
        }
    }

    /// Starts again after a timeout, for the new slow start. HyStart++ stays off: RFC 9406 §4.3 uses it only in a
    /// flow's first slow start.
    pub fn restart(&mut self) {
        *self = HyStart { done: self.variant != Variant::Linux, ..HyStart::new(self.variant) };
    }

    /// Takes the round-trip time sample of an acknowledgement, before the window grows. `delay_min` is the flow's
    /// smallest sample so far.
    pub fn on_sample(&mut self, cx: &mut Context<'_>, ack: &Ack, rtt: Duration, delay_min: Duration) {
        if self.done || !cx.window.in_slow_start() {
            return;
        }
        if ack.round_ended || self.round_start == Instant::ZERO {
            self.new_round(cx);
        }
        match self.variant {
            Variant::Off => {}
            Variant::Linux => self.linux(cx, rtt, delay_min),
            Variant::PlusPlus => self.plus_plus(rtt),
        }
    }

    fn new_round(&mut self, cx: &mut Context<'_>) {
        (self.round_start, self.last_ack) = (cx.now, cx.now);
        self.previous_min = self.round_min.take();
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
            // RFC 9406 §4.2: "If CSS_ROUNDS rounds are complete, enter congestion avoidance by setting the ssthresh to
            // the current cwnd." The partial round in which it began counts.
            if *rounds >= CSS_ROUNDS {
                self.leave(cx);
            }
        }
    }

    fn leave(&mut self, cx: &mut Context<'_>) {
        cx.window.ssthresh = cx.window.cwnd;
        self.done = true;
        self.conservative = None;
    }

    fn linux(&mut self, cx: &mut Context<'_>, rtt: Duration, delay_min: Duration) {
        if cx.window.cwnd < LOW_WINDOW {
            return;
        }
        if cx.now.since(self.last_ack) <= TRAIN_SPACING {
            self.last_ack = cx.now;
            let limit = (delay_min + OFFLOAD_DELAY).div(2);
            if cx.now.since(self.round_start) > limit {
                self.leave(cx);
            }
        }
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if self.round_min > Some(delay_min + delay_threshold(delay_min)) {
            self.leave(cx);
        }
    }

    fn plus_plus(&mut self, rtt: Duration) {
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
        let (Some(now), Some(before)) = (self.round_min, self.previous_min) else { return };
        if self.samples < MIN_SAMPLES {
            return;
        }
        match self.conservative {
            // RFC 9406 §4.2: "if (currentRoundMinRTT >= (lastRoundMinRTT + RttThresh)) cssBaselineMinRtt =
            // currentRoundMinRTT, exit slow start and enter CSS".
            None if now >= before + delay_threshold(before) => self.conservative = Some((now, 0)),
            // "if (currentRoundMinRTT < cssBaselineMinRtt) cssBaselineMinRtt = infinity, resume slow start".
            Some((baseline, _)) if now < baseline => self.conservative = None,
            _ => {}
        }
    }

    /// Grows the window in slow start. Returns how many of the acknowledged segments are left for congestion avoidance.
    pub fn slow_start(&mut self, cx: &mut Context<'_>, segments: u32) -> u32 {
        if self.variant != Variant::PlusPlus || self.done || !cx.window.in_slow_start() {
            return slow_start(cx.window, segments);
        }
        // RFC 9406 §4.2: "cwnd = cwnd + min(N, L * SMSS)", in CSS divided by CSS_GROWTH_DIVISOR.
        let mut growth = segments.min(BURST_LIMIT);
        if self.conservative.is_some() {
            let quarters = growth + self.remainder;
            self.remainder = quarters % CSS_GROWTH_DIVISOR;
            growth = quarters / CSS_GROWTH_DIVISOR;
        }
        slow_start(cx.window, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cubic::Cubic;
    use super::super::testing::Flow;
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A flow past its first round, so that the smallest round-trip time is known.
    fn flow(variant: Variant) -> Flow<Cubic> {
        let mut flow = Flow::new(Cubic::new(variant, true, true), 10).rtt_ms(100);
        flow.round();
        assert_eq!(flow.cwnd(), 20);
        flow
    }

    #[test]
    fn thresholds_are_an_eighth_between_4_and_16_ms() {
        assert_eq!(delay_threshold(ms(8)), ms(4));
        assert_eq!(delay_threshold(ms(80)), ms(10));
        assert_eq!(delay_threshold(ms(800)), ms(16));
    }

    #[test]
    fn spread_acknowledgements_without_delay_go_on() {
        let mut flow = flow(Variant::Linux);
        // 20 a round are 5 ms apart: no train.
        flow.round();
        assert!(flow.window.in_slow_start());
        assert_eq!(flow.cwnd(), 40);
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_time_ends_slow_start() {
        let mut flow = flow(Variant::Linux);
        flow.now += flow.rtt;
        flow.start_round(1);
        // One acknowledgement each 2 ms: the 26th is 52 ms after the first, the limit is (100 + 1) / 2.
        for i in 1..=26 {
            assert!(flow.window.in_slow_start(), "after {i}");
            flow.now += ms(2);
            flow.ack(1);
        }
        assert_eq!(flow.window.ssthresh, 46, "the window when the last of them arrived: 20 + 1 + 25");
        assert!(!flow.window.in_slow_start());
    }

    #[test]
    fn a_train_with_a_gap_is_none() {
        let mut flow = flow(Variant::Linux);
        flow.now += flow.rtt;
        flow.start_round(1);
        flow.now += ms(3);
        for _ in 0..40 {
            flow.now += ms(2);
            flow.ack(1);
        }
        assert!(flow.window.in_slow_start());
    }

    #[test]
    fn more_delay_than_the_threshold_ends_slow_start_at_the_ninth_sample() {
        for (rtt, leaves) in [(112, false), (113, true)] {
            let mut flow = flow(Variant::Linux);
            flow.rtt = ms(rtt);
            flow.now += ms(50);
            flow.start_round(1);
            for _ in 0..7 {
                flow.now += ms(3);
                flow.ack(1);
                assert!(flow.window.in_slow_start());
            }
            flow.now += ms(3);
            flow.ack(1);
            // 100 + clamp(100/8) = 112.5.
            assert_eq!(!flow.window.in_slow_start(), leaves, "{rtt} ms");
        }
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut flow = Flow::new(Cubic::new(Variant::Linux, true, true), 2).rtt_ms(100);
        flow.round();
        flow.rtt = ms(300);
        flow.round();
        flow.round();
        assert_eq!(flow.cwnd(), 16);
    }

    #[test]
    fn off_never_leaves() {
        let mut flow = flow(Variant::Off);
        flow.rtt = ms(300);
        for _ in 0..5 {
            flow.round();
        }
        assert_eq!(flow.cwnd(), 640);
    }

    #[test]
    fn plus_plus_slows_down_and_leaves_after_five_rounds() {
        let mut flow = flow(Variant::PlusPlus);
        flow.rtt = ms(113);
        flow.round();
        // Seven samples at full speed, the eighth is the first at a quarter: 20 + 7 + 13/4.
        assert_eq!(flow.cwnd(), 30);
        assert!(flow.window.in_slow_start());
        for _ in 0..4 {
            let before = flow.cwnd();
            flow.round();
            assert!(flow.window.in_slow_start());
            assert!(flow.cwnd().abs_diff(before + before / 4) <= 1, "{before} -> {}", flow.cwnd());
        }
        flow.start_round(1);
        assert!(!flow.window.in_slow_start());
    }

    #[test]
    fn plus_plus_resumes_when_the_delay_has_passed() {
        let mut flow = flow(Variant::PlusPlus);
        flow.rtt = ms(113);
        flow.round();
        flow.rtt = ms(105);
        flow.round();
        let before = flow.cwnd();
        flow.round();
        assert_eq!(flow.cwnd(), 2 * before);
    }

    /// The window at which slow start from 10 segments ends, over a bottleneck that takes `per_segment` for each
    /// segment. Every segment is acknowledged.
    fn left_at(per_segment: Duration, round_trip: Duration) -> u32 {
        let mut flow = Flow::new(Cubic::new(Variant::Linux, true, true), 10);
        // When each segment was sent and its acknowledgement arrives.
        let mut segments: Vec<(Instant, Instant)> = Vec::new();
        let (mut free, mut round_end) = (Instant::ZERO, 0);
        for acked in 0..10_000 {
            while segments.len() < acked + flow.cwnd() as usize {
                free = free.max(flow.now) + per_segment;
                segments.push((flow.now, free + round_trip));
            }
            let (sent, arrives) = segments[acked];
            flow.now = arrives;
            flow.rtt = arrives.since(sent);
            // A round begins with the acknowledgement of its first segment.
            if acked >= round_end {
                round_end = segments.len();
                flow.start_round(1);
            } else {
                flow.ack(1);
            }
            if !flow.window.in_slow_start() {
                return flow.cwnd();
            }
        }
        panic!("slow start is never left");
    }

    #[test]
    fn it_is_left_where_linux_leaves_it() {
        // Linux 6.12 over 16 Mbit/s and 35 ms each way: at 128, by the train.
        assert_eq!(left_at(Duration::from_micros(757), ms(70)), 128);
        // Over 5 Mbit/s and 65 ms each way: at 168, by the delay.
        assert!((167..=169).contains(&left_at(Duration::from_nanos(2_422_400), ms(130))));
    }
}
