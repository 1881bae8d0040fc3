//! `blest-kernel`: BLEST as in the out-of-tree Linux port (`mptcp_blest.c`).
//!
//! # What it does
//!
//! The rule is that of [`super::blest`]: skip the slower subflow if its data would block the fastest one. The port
//! estimates differently. The time that a segment spends on the slow subflow follows from that subflow's smallest and
//! largest round-trip time and from how full its window is. What the fast subflow sends meanwhile doubles each round in
//! slow start. All data that is queued on the slow subflow counts against the window. λ stays between 1.0 and 1.3.
//!
//! # Formula
//!
//! ```text
//! linger_S = max(srtt_S, min_S + (max_S − min_S)·min(1, (inflight_S + 1)/cwnd_S))
//! n        = ⌊linger_S / ((min_F + max_F)/2)⌋ + 1
//! fast     = MSS_F · cwnd_F · (2^min(n, 16) − 1)                            before F's first loss
//!            MSS_F · (max(cwnd_F, ssthresh_F + 1) + ⌊(n − 1)/2⌋) · n        later
//! skip S when  λ·fast > |M| − (segment + queued_S)
//!
//! at most once per min_S:  λ += 0.04 if blocked since, else λ −= 0.01;  1.0 ≤ λ ≤ 1.3, from 1.2
//! ```
//!
//! * F: the subflow with the lowest smoothed round-trip time; S: the subflow that `minrtt` would use while F is full,
//!   apart from subflows in loss recovery after a timeout; |M|: the total send window, bytes.
//! * linger_S: the time that a segment spends on S; fast: the bytes that F sends meanwhile; segment: the bytes to be
//!   sent next.
//! * min, max: smallest and largest smoothed round-trip time of the subflow's life; srtt_S: the present one; n: the
//!   number of F's round trips in linger_S.
//! * inflight, cwnd, ssthresh (slow start threshold): segments; queued_S: bytes given to S and not acknowledged; MSS:
//!   data bytes of a full segment.
//! * blocked: a subflow could have sent and was not skipped, but the send window was full, or everything in the send
//!   buffer had been sent. It does not matter which subflow carries the first byte that is not acknowledged, nor
//!   whether a retransmission or a penalisation followed.
//!
//! # Source
//!
//! `mptcp_blest.c` of the out-of-tree Multipath TCP for Linux; the idea is that of BLEST §V.
//!
//! # Deviations
//!
//! * The port checks for blocking at each acknowledgement and each write. Here the rule checks at each event while the
//!   connection reports that it is blocked.
//! * A segment is a full one, or the rest of the data. In the port it is the piece that the application wrote in one
//!   call, up to 64 KB.
//! * F is always a subflow that may be used. In the port F may also be a backup, or a subflow that has stopped
//!   answering, if its round-trip time is the lowest. A subflow without a round-trip time sample is never F, and is
//!   never skipped.
//! * If a subflow goes down and comes back, its smallest and largest round-trip time start anew.
//! * Lockout, as in the port: a subflow that carries nothing has no new round-trip time samples, and linger_S never
//!   falls below its last round-trip time. A subflow whose queue was deep when it was first skipped may be skipped for
//!   good: in `wlan-3g` with a window of 8 MiB, 3G is given up in two of three runs.

use super::blest::fastest;
use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, Decision, Event, Quantity, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowState,
    WindowUse,
};
use pathweave_units::{Duration, Instant};

const fn factor(name: &'static str, default: &'static str, description: &'static str) -> Parameter<'static> {
    let kind = Kind::Number { min: 0.0, max: 100.0 };
    Parameter { name, kind, unit: "", default, description, source: "mptcp_blest.c" }
}

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "blest-kernel",
    source: "Linux out-of-tree, mptcp_blest.c",
    summary: "BLEST with the kernel port's estimates",
    parameters: &[
        factor("lambda", "1.2", "first value of the factor λ that corrects the estimate"),
        factor("min_lambda", "1.0", "smallest λ"),
        factor("max_lambda", "1.3", "largest λ"),
        factor("increase", "0.04", "step by which λ grows after blocking"),
        factor("decrease", "0.01", "step by which λ falls without blocking"),
    ],
    queues: false,
    duplicates: false,
    build: |v| {
        let mut scheduler = BlestKernel::new(v.number("lambda"));
        scheduler.limits = (v.number("min_lambda"), v.number("max_lambda").max(v.number("min_lambda")));
        scheduler.steps = (v.number("increase"), v.number("decrease"));
        Ok(Box::new(scheduler))
    },
};

/// In slow start, the estimate counts at most this many round trips.
const MAX_DOUBLINGS: u64 = 16;

/// BLEST of the kernel port.
#[derive(Debug)]
pub struct BlestKernel {
    lambda: f64,
    limits: (f64, f64),
    steps: (f64, f64),
    /// Whether the connection reports that the window or the send buffer holds data back.
    blocking: bool,
    /// Whether, since the last step of λ, a subflow could have sent while the connection was blocked.
    blocked: bool,
    updated: Option<Instant>,
    /// Smallest and largest smoothed round-trip time of each subflow's life.
    extremes: [Option<(Duration, Duration)>; SubflowId::MAX_SUBFLOWS],
}

impl BlestKernel {
    /// `lambda` is the first value of λ; its limits and steps are the port's.
    pub fn new(lambda: f64) -> Self {
        BlestKernel {
            lambda,
            limits: (1.0, 1.3),
            steps: (0.04, 0.01),
            blocking: false,
            blocked: false,
            updated: None,
            extremes: [None; SubflowId::MAX_SUBFLOWS],
        }
    }

    fn record(&mut self, view: &View<'_>) {
        for s in view.subflows {
            if let (Some(srtt), Some(extremes)) = (s.rtt.smoothed, self.extremes.get_mut(s.id.index())) {
                let (least, most) = extremes.unwrap_or((srtt, srtt));
                *extremes = Some((least.min(srtt), most.max(srtt)));
            }
        }
    }

    fn extremes(&self, s: &SubflowView) -> (Duration, Duration) {
        self.extremes
            .get(s.id.index())
            .copied()
            .flatten()
            .unwrap_or((s.rtt.smoothed_or_zero(), s.rtt.smoothed_or_zero()))
    }

    fn update_lambda(&mut self, now: Instant, s: &SubflowView) {
        let (least, _) = self.extremes(s);
        let updated = *self.updated.get_or_insert(now);
        if now.since(updated) < least || now == updated {
            return;
        }
        let (up, down) = self.steps;
        self.lambda += if self.blocked { up } else { -down };
        self.lambda = self.lambda.clamp(self.limits.0, self.limits.1);
        self.blocked = false;
        self.updated = Some(now);
    }

    /// linger_S: the time until a segment sent on `s` now is acknowledged.
    fn linger(&self, s: &SubflowView) -> Duration {
        let (least, most) = self.extremes(s);
        let (in_flight, cwnd) = (u64::from(s.window.in_flight) + 1, u64::from(s.window.cwnd.max(1)));
        let estimate = if in_flight >= cwnd {
            most
        } else {
            least + most.saturating_sub(least).saturating_mul(in_flight).div(cwnd)
        };
        estimate.max(s.rtt.smoothed_or_zero())
    }

    /// The bytes that `f` sends in `time`, not yet multiplied by λ.
    fn bytes_in(&self, f: &SubflowView, time: Duration) -> f64 {
        let (least, most) = self.extremes(f);
        let average = (least + most).div(2).as_nanos();
        let rounds = time.as_nanos().checked_div(average).unwrap_or(0) + 1;
        let segments = if f.window.ssthresh >= WindowState::NO_THRESHOLD {
            u64::from(f.window.cwnd) * ((1 << rounds.min(MAX_DOUBLINGS)) - 1)
        } else {
            let cwnd = u64::from(f.window.cwnd.max(f.window.ssthresh.saturating_add(1)));
            (cwnd + (rounds - 1) / 2).saturating_mul(rounds)
        };
        segments as f64 * f64::from(f.mss)
    }
}

/// The numbers that the rule compares: S is skipped if `fast` exceeds `room`, both in bytes.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    linger: Duration,
    fast: f64,
    room: f64,
}

impl BlestKernel {
    /// The estimate for sending `segment` bytes on `s` instead of waiting for `f`. Also changes λ if its period is
    /// over.
    fn estimate(&mut self, view: &View<'_>, f: &SubflowView, s: &SubflowView, segment: u64) -> Estimate {
        self.update_lambda(view.now, s);
        let linger = self.linger(s);
        let fast = self.bytes_in(f, linger) * self.lambda;
        Estimate { linger, fast, room: view.send_window.saturating_sub(s.queue.bytes + segment) as f64 }
    }

    /// Mirrors what the port does at each attempt to send while the connection is blocked: finds out whether a subflow
    /// could have sent.
    fn attempt(&mut self, view: &View<'_>) {
        self.record(view);
        let Some(s) = minrtt::pick_outside_loss(view) else { return };
        let segment = u64::from(s.mss).min(view.queue.unassigned_bytes());
        let skipped = faster(view, s).is_some_and(|f| {
            let estimate = self.estimate(view, f, s, segment);
            estimate.fast > estimate.room
        });
        self.blocked |= !skipped;
    }
}

/// F, if it is another subflow than `s` and both have a round-trip time sample.
fn faster<'v>(view: &'v View<'_>, s: &SubflowView) -> Option<&'v SubflowView> {
    fastest(view).filter(|f| f.id != s.id && s.rtt.smoothed.is_some())
}

impl Scheduler for BlestKernel {
    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        put(Quantity { name: "lambda", subflow: None, value: self.lambda });
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.record(view);
        let Some(s) = minrtt::pick_outside_loss(view) else { return minrtt::none_outside_loss() };
        let f = faster(view, s);
        let segments = if f.is_some() { 1 } else { s.window_space() };
        let Some(range) = view.next_for(s, segments) else { return Decision::nothing_to_send() };
        let Some(f) = f else { return minrtt::assign(s, range) };
        let Estimate { linger, fast, room } = self.estimate(view, f, s, range.end.since(range.start));
        let reason = |rule| {
            Reason::new(rule)
                .with("lambda", self.lambda)
                .with("fast_lambda_bytes", fast)
                .with("free_bytes", room)
                .with("linger_ms", linger.as_secs_f64() * 1e3)
        };
        if fast > room {
            let reason = reason("λ·fast = {fast_lambda_bytes} in {linger_ms} > {free_bytes} free");
            return Decision::Wait { until: None, for_subflow: Some(f.id), reason };
        }
        let reason = reason("λ·fast = {fast_lambda_bytes} in {linger_ms} ≤ {free_bytes} free");
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        // λ's first period begins with the connection, as in the port.
        self.updated.get_or_insert(view.now);
        match event {
            Event::WindowBlocked { .. } => self.blocking = true,
            Event::WindowUnblocked => self.blocking = false,
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(extremes) = self.extremes.get_mut(id.index()) {
                    *extremes = None;
                }
            }
            _ => {}
        }
        if self.blocking {
            self.attempt(view);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, sub};
    use pathweave_scheduler::{BlockedBy, Phase, SubflowSet};

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn avoidance_estimate_in_whole_round_trips() {
        let scheduler = BlestKernel::new(1.2);
        let f = sub(0).rtt(20).0;
        // n = 105/20 + 1 = 6; (11 + 5/2)·6 = 78 segments: the window is 10 and the threshold 10, so 11 is assumed.
        assert_eq!(scheduler.bytes_in(&f, ms(105)), 78_000.0);
    }

    #[test]
    fn slow_start_estimate_doubles_up_to_sixteen_times() {
        let scheduler = BlestKernel::new(1.2);
        let f = sub(0).rtt(20).slow_start().0;
        assert_eq!(scheduler.bytes_in(&f, ms(50)), 70_000.0, "10·(2³ − 1)");
        assert_eq!(scheduler.bytes_in(&f, ms(5000)), 655_350_000.0, "10·(2¹⁶ − 1)");
    }

    #[test]
    fn linger_goes_from_the_smallest_to_the_largest_by_fill() {
        let mut bench = Bench::new([sub(0).rtt(100)]);
        let mut scheduler = BlestKernel::new(1.2);
        scheduler.record(&bench.view());
        bench.sub(0).rtt.smoothed = Some(ms(200));
        scheduler.record(&bench.view());
        bench.sub(0).rtt.smoothed = Some(ms(120));
        scheduler.record(&bench.view());
        for (in_flight, expected) in [(4, 150), (0, 120), (9, 200), (30, 200)] {
            bench.sub(0).window.in_flight = in_flight;
            assert_eq!(scheduler.linger(bench.sub(0)), ms(expected), "{in_flight} in flight");
        }
    }

    #[test]
    fn the_slow_subflow_is_skipped_when_the_window_is_needed() {
        // n = 100/20 + 1 = 6; 78,000 · 1.2 = 93,600 and 1000 each.
        let bench = || Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000);
        assert_eq!(bench().send_window(97).run(&mut BlestKernel::new(1.2)), [(0, 0..10), (1, 10..13)]);
        assert_eq!(bench().send_window(94).run(&mut BlestKernel::new(1.2)), [(0, 0..10)]);
    }

    fn lambda_hundredths(scheduler: &BlestKernel) -> u32 {
        (scheduler.lambda * 100.0 + 0.5) as u32
    }

    /// The event that the window is full, with its first byte on subflow `holder`.
    fn blocked(holder: u8) -> Event<'static> {
        Event::WindowBlocked { by: BlockedBy::SendWindow, holders: SubflowSet::only(SubflowId(holder)) }
    }

    fn ack() -> Event<'static> {
        Event::RttSample { subflow: SubflowId(1), rtt: ms(100) }
    }

    /// F is full, and S may be used: 11 segments are assumed for F, (11 + 5/2)·6·1.3 = 101.4 of 500 segments.
    fn open() -> Bench {
        Bench::new([sub(0).rtt(20).cwnd(1).in_flight(1), sub(1).rtt(100)]).write(1000).send_window(500)
    }

    #[test]
    fn lambda_stays_in_its_limits_and_moves_once_per_slow_round_trip() {
        let mut bench = open();
        let mut scheduler = BlestKernel::new(1.2);
        let at = |bench: &mut Bench, scheduler: &mut BlestKernel, after: u64| {
            bench.now += ms(after);
            bench.decide(scheduler);
            lambda_hundredths(scheduler)
        };
        assert_eq!(at(&mut bench, &mut scheduler, 0), 120);
        assert_eq!(at(&mut bench, &mut scheduler, 99), 120);
        assert_eq!(at(&mut bench, &mut scheduler, 1), 119);
        for expected in [123, 127, 130, 130] {
            bench.event(&mut scheduler, &blocked(1));
            bench.event(&mut scheduler, &Event::WindowUnblocked);
            assert_eq!(at(&mut bench, &mut scheduler, 100), expected);
        }
        for _ in 0..40 {
            at(&mut bench, &mut scheduler, 100);
        }
        assert_eq!(lambda_hundredths(&scheduler), 100);
    }

    #[test]
    fn it_is_blocked_whoever_holds_the_first_byte() {
        for holder in [0, 1] {
            let mut bench = open();
            let mut scheduler = BlestKernel::new(1.1);
            bench.event(&mut scheduler, &blocked(holder));
            bench.event(&mut scheduler, &Event::WindowUnblocked);
            bench.now += ms(100);
            bench.decide(&mut scheduler);
            assert_eq!(lambda_hundredths(&scheduler), 114, "held by {holder}");
        }
    }

    #[test]
    fn each_attempt_while_blocked_counts_and_moves_lambda() {
        let mut bench = open();
        let mut scheduler = BlestKernel::new(1.0);
        bench.event(&mut scheduler, &blocked(1));
        for (after, expected) in [(99, 100), (1, 104), (50, 104), (50, 108), (100, 112)] {
            bench.now += ms(after);
            bench.event(&mut scheduler, &ack());
            assert_eq!(lambda_hundredths(&scheduler), expected);
        }
        bench.event(&mut scheduler, &Event::WindowUnblocked);
        bench.now += ms(100);
        bench.decide(&mut scheduler);
        assert_eq!(lambda_hundredths(&scheduler), 116, "blocked until then");
        bench.now += ms(100);
        bench.event(&mut scheduler, &ack());
        bench.decide(&mut scheduler);
        assert_eq!(lambda_hundredths(&scheduler), 115);
    }

    /// 78 segments for F against a window of nine: S is skipped, so there is nothing to send on.
    #[test]
    fn a_skip_is_no_blocking_but_f_with_room_is() {
        let mut bench = open();
        bench.send_window = 9000;
        let mut scheduler = BlestKernel::new(1.1);
        bench.event(&mut scheduler, &blocked(1));
        assert!(!scheduler.blocked);
        bench.sub(0).window.cwnd = 2;
        bench.event(&mut scheduler, &ack());
        assert!(scheduler.blocked);
    }

    #[test]
    fn a_subflow_in_loss_recovery_after_a_timeout_carries_nothing_new() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(30)]).write(5);
        bench.sub(0).window.phase = Phase::Loss;
        assert_eq!(bench.run(&mut BlestKernel::new(1.2)), [(1, 0..5)]);
        bench.map.append(1000);
        bench.sub(1).window.phase = Phase::Loss;
        let mut scheduler = BlestKernel::new(1.2);
        assert_eq!(bench.decide(&mut scheduler), minrtt::none_outside_loss());
        bench.event(&mut scheduler, &blocked(0));
        assert!(!scheduler.blocked, "nor can it be blocked");
    }
}
