//! `blest`: blocking estimation.
//!
//! # What it does
//!
//! If the fastest subflow is full and `minrtt` would use a slower one, BLEST estimates how much the fastest could send
//! during one round trip of the slower one. If that would not fit into the send window together with the slower
//! subflow's data, the slower data would block the fastest subflow. Then BLEST skips the slower subflow and waits for
//! the fastest. A factor λ corrects the estimate: it grows whenever the window has blocked, and shrinks otherwise.
//!
//! # Formula
//!
//! ```text
//! rtts = srtt_S / srtt_F
//! X    = MSS_F · (cwnd_F + (rtts − 1)/2) · rtts
//! skip S when  X·λ > |M| − MSS_S · (inflight_S + 1)
//!
//! once per srtt_F:  λ += δ if the connection was blocked since, else λ −= δ;  λ ≥ 0
//! ```
//!
//! * F: the subflow with the lowest smoothed round-trip time (srtt, ms); S: the subflow that `minrtt` would use while F
//!   is full.
//! * X: the bytes that F sends during srtt_S if its window grows by one segment each round trip; |M|: the total send
//!   window, bytes.
//! * cwnd_F: congestion window; inflight_S: in flight on S, or given to S and not yet sent; both in segments. MSS: data
//!   bytes of a full segment.
//! * blocked: the send window, or the connection's send buffer, was full although F had room and data, and S carried
//!   the first byte that was not acknowledged. It also counts if F carries a copy of that byte.
//!
//! # Source
//!
//! BLEST §V, with its Fig. 6 as the worked example and Fig. 7 for δ.
//!
//! # Deviations
//!
//! * Fig. 7 has five values of δ, from 0.001 to 0.02, and the paper names none of them as the one in use. The default
//!   of 0.01 is ours. So is the lower bound of λ, 0: the paper has no bound.
//! * If a blocking lasts longer than srtt_F, it counts once in each srtt_F.
//! * At λ = 0 the rule is that of `minrtt`. If the connection penalises and retransmits (`pr`), λ falls to 0 whenever
//!   srtt_S is several times srtt_F: a blocking then ends within srtt_F, so fewer than half of the periods have one
//!   (`docs/notes/blest-lambda.md`).
//! * Lockout: a subflow that carries nothing has no new round-trip time samples. S keeps the round-trip time that its
//!   queue once caused. While λ stays high, S may be skipped for good, although its queue has long been empty
//!   (`delta=0` gives up 3G in `wlan-3g` with a window of 8 MiB). The paper does not say how such a subflow is tried
//!   again.
//! * One decision assigns all segments that the rule allows for S. Solving the inequality for inflight_S gives the same
//!   result as one decision for each segment.
//! * With three or more subflows, S is compared only with the fastest one. If S is skipped, no slower one is tried.
//! * A subflow without a round-trip time sample is never F, and is never skipped.

use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, Decision, Event, Quantity, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse,
};
use pathweave_units::Instant;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "blest",
    source: "BLEST §V",
    summary: "skips a slow subflow whose data would block the send window for the fastest",
    parameters: &[
        Parameter {
            name: "lambda",
            kind: Kind::Number { min: 0.0, max: 100.0 },
            unit: "",
            default: "1.0",
            description: "first value of the factor λ that corrects the estimate",
            source: "BLEST §V",
        },
        Parameter {
            name: "delta",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "per RTT of the fastest subflow",
            default: "0.01",
            description: "step by which λ changes",
            source: "BLEST Fig. 7 sweeps 0.001 to 0.02; the choice is ours",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Blest::new(v.number("lambda"), v.number("delta")))),
};

/// Blocking estimation.
#[derive(Debug)]
pub struct Blest {
    lambda: f64,
    delta: f64,
    /// Whether the send window is full and holds the fastest subflow back now.
    blocking: bool,
    /// Whether the send window has held that subflow back at any time since the last evaluation.
    blocked: bool,
    evaluated: Option<Instant>,
}

/// The fastest subflow: the one with the lowest smoothed round-trip time, whether its window has room or not.
pub(crate) fn fastest<'v>(view: &'v View<'_>) -> Option<&'v SubflowView> {
    view.candidates().filter(|s| s.rtt.smoothed.is_some()).min_by_key(|s| minrtt::key(s))
}

/// X: the bytes that `f` sends in `rtts` of its round trips (BLEST §V): X = MSS_F·(CWND_F + (rtts − 1)/2)·rtts.
pub(crate) fn sent_meanwhile(f: &SubflowView, rtts: f64) -> f64 {
    f64::from(f.mss) * (f64::from(f.window.cwnd) + (rtts - 1.0) / 2.0) * rtts
}

/// The number of round trips of `f` during one of `s`; `None` if either has no sample.
pub(crate) fn round_trips(f: &SubflowView, s: &SubflowView) -> Option<f64> {
    let (f, s) = (f.rtt.smoothed?.as_secs_f64(), s.rtt.smoothed?.as_secs_f64());
    (f > 0.0).then(|| s / f)
}

impl Blest {
    /// `lambda` is the first value of λ, `delta` its step.
    pub fn new(lambda: f64, delta: f64) -> Self {
        Blest { lambda, delta, blocking: false, blocked: false, evaluated: None }
    }

    /// Changes λ once per round trip of the fastest subflow.
    fn evaluate(&mut self, view: &View<'_>) {
        let Some(srtt) = fastest(view).and_then(|f| f.rtt.smoothed).filter(|r| !r.is_zero()) else { return };
        let Some(evaluated) = self.evaluated else {
            self.evaluated = Some(view.now);
            return;
        };
        let periods = view.now.since(evaluated).as_nanos() / srtt.as_nanos();
        if periods == 0 {
            return;
        }
        self.lambda += if self.blocked { self.delta } else { -self.delta };
        if self.blocking {
            self.lambda += self.delta * (periods - 1) as f64;
        }
        self.lambda = self.lambda.max(0.0);
        self.evaluated = Some(view.now);
        self.blocked = self.blocking;
    }
}

impl Scheduler for Blest {
    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        put(Quantity { name: "lambda", subflow: None, value: self.lambda });
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.evaluate(view);
        let Some(s) = minrtt::pick(view) else { return Decision::no_space() };
        let Some(f) = fastest(view).filter(|f| f.id != s.id) else { return minrtt::decide(view) };
        let Some(rtts) = round_trips(f, s) else { return minrtt::decide(view) };
        let estimate = sent_meanwhile(f, rtts) * self.lambda;
        let room = view.send_window as f64 - estimate;
        let in_flight = f64::from(s.window.in_flight.saturating_add(s.queue.unsent));
        let reason = |rule| {
            Reason::new(rule)
                .with("x_lambda_bytes", estimate)
                .with("free_bytes", view.send_window as f64 - f64::from(s.mss) * (in_flight + 1.0))
                .with("lambda", self.lambda)
                .with("rtts", rtts)
                .with("send_window_bytes", view.send_window as f64)
                .with("slow_in_flight", in_flight)
        };
        let segments = if estimate > 0.0 {
            // X·λ ≤ |M| − MSS_S·(inflight_S + n), solved for n.
            let n = libm::floor(room / f64::from(s.mss.max(1))) - in_flight;
            if n < 1.0 {
                let reason = reason("X·λ = {x_lambda_bytes} > {free_bytes} free");
                return Decision::Wait { until: None, for_subflow: Some(f.id), reason };
            }
            n.min(f64::from(s.window_space())) as u32
        } else {
            s.window_space()
        };
        let Some(range) = view.next_for(s, segments) else { return Decision::nothing_to_send() };
        let reason = reason("X·λ = {x_lambda_bytes} ≤ {free_bytes} free");
        Decision::Assign(Assign { subflow: s.id, range, window: WindowUse::Respect, reason })
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        self.evaluate(view);
        match event {
            Event::WindowBlocked { holders, .. } => {
                // S holds F up until the first byte is acknowledged, even if F carries a copy of it.
                let held_up = |f: &SubflowView| f.has_space() && !holders.without(f.id).is_empty();
                self.blocking = fastest(view).is_some_and(held_up);
                self.blocked |= self.blocking;
            }
            Event::WindowUnblocked => self.blocking = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_scheduler::testing::{Bench, seg, sub};
    use pathweave_scheduler::{BlockedBy, SubflowId, SubflowSet};
    use pathweave_units::Duration;

    fn blest() -> Blest {
        Blest::new(1.0, 0.01)
    }

    /// rtts = 5, X = 1000 · (10 + 2) · 5 = 60,000.
    #[test]
    fn x_by_hand() {
        let (f, s) = (sub(0).rtt(20).0, sub(1).rtt(100).0);
        assert_eq!(round_trips(&f, &s), Some(5.0));
        assert_eq!(sent_meanwhile(&f, 5.0), 60_000.0);
    }

    #[test]
    fn the_slow_subflow_gets_what_fits_beside_x() {
        let bench = || Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000);
        // 60 segments of the window are kept for the fast subflow.
        assert_eq!(bench().send_window(63).run(&mut blest()), [(0, 0..10), (1, 10..13)]);
        assert_eq!(bench().send_window(60).run(&mut blest()), [(0, 0..10)]);
        assert_eq!(bench().send_window(500).run(&mut blest()), [(0, 0..10), (1, 10..20)]);
    }

    #[test]
    fn a_skip_waits_for_the_fast_subflow_and_says_why() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000).send_window(50);
        bench.run(&mut blest());
        let Decision::Wait { until, for_subflow, reason } = bench.decide(&mut blest()) else { panic!("it waits") };
        assert_eq!((until, for_subflow), (None, Some(SubflowId(0))));
        assert!(reason.to_string().starts_with("X·λ = 60 KB > 49 KB free (lambda = 1, rtts = 5,"), "{reason}");
    }

    #[test]
    fn lambda_zero_is_minrtt() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(2000)]).write(1000).send_window(15);
        assert_eq!(bench.run(&mut Blest::new(0.0, 0.0)), [(0, 0..10), (1, 10..15)]);
    }

    /// Fig. 6. The paper does not give its windows and round-trip times. These values lead to its segments: |M| = 25,
    /// CWND_F = 11, 8, 9 and rtts = 2, 2.6, 2.25 give X = 23, 22.9, 21.7.
    #[test]
    fn figure_6() {
        let mut bench = Bench::new([sub(1).rtt(100).cwnd(11), sub(2).rtt(200)]).write(1000).send_window(25);
        let mut scheduler = Blest::new(1.0, 0.0);
        assert_eq!(bench.run(&mut scheduler), [(1, 0..11), (2, 11..13)]);
        bench.map.acknowledge(seg(11));
        bench.acked(1, 11);
        bench.sub(1).window.cwnd = 8;
        bench.sub(2).rtt.smoothed = Some(Duration::from_millis(260));
        assert_eq!(bench.run(&mut scheduler), [(1, 13..21)]);
        bench.map.acknowledge(seg(13));
        bench.acked(2, 2);
        bench.sub(1).window.cwnd = 9;
        bench.sub(1).window.in_flight = 9;
        bench.sub(2).rtt.smoothed = Some(Duration::from_millis(225));
        assert_eq!(bench.run(&mut scheduler), [(2, 21..24)]);
        bench.sub(1).window.in_flight = 0;
        assert_eq!(bench.run(&mut scheduler), [(1, 24..33)]);
    }

    #[test]
    fn lambda_moves_once_per_round_trip_of_the_fast_subflow() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000).send_window(500);
        let mut scheduler = blest();
        let at = |bench: &mut Bench, scheduler: &mut Blest, ms: u64, event: Event<'_>| {
            bench.now = Instant::from_millis(20_000 + ms);
            bench.event(scheduler, &event);
            (scheduler.lambda * 1000.0 + 0.5) as u32
        };
        let ack = || Event::RttSample { subflow: SubflowId(0), rtt: Duration::from_millis(20) };
        let blocked = |id| Event::WindowBlocked { by: BlockedBy::SendWindow, holders: SubflowSet::only(SubflowId(id)) };
        assert_eq!(at(&mut bench, &mut scheduler, 0, ack()), 1000);
        assert_eq!(at(&mut bench, &mut scheduler, 19, ack()), 1000);
        assert_eq!(at(&mut bench, &mut scheduler, 20, ack()), 990);
        // Blocked and free again within the round trip: one step up.
        assert_eq!(at(&mut bench, &mut scheduler, 25, blocked(1)), 990);
        assert_eq!(at(&mut bench, &mut scheduler, 30, Event::WindowUnblocked), 990);
        assert_eq!(at(&mut bench, &mut scheduler, 40, ack()), 1000);
        assert_eq!(at(&mut bench, &mut scheduler, 60, ack()), 990);
        // Blocked for three round trips: three steps.
        assert_eq!(at(&mut bench, &mut scheduler, 61, blocked(1)), 990);
        assert_eq!(at(&mut bench, &mut scheduler, 120, Event::WindowUnblocked), 1020);
        // The fast subflow's own data at the head is no reason.
        at(&mut bench, &mut scheduler, 141, ack());
        let before = at(&mut bench, &mut scheduler, 142, blocked(0));
        assert_eq!(at(&mut bench, &mut scheduler, 170, ack()), before - 10);
    }

    #[test]
    fn lambda_does_not_go_below_zero() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000).send_window(500);
        let mut scheduler = Blest::new(0.015, 0.01);
        for (ms, thousandths) in [(0, 15), (20, 5), (40, 0), (60, 0)] {
            bench.now = Instant::from_millis(20_000 + ms);
            scheduler.evaluate(&bench.view());
            assert_eq!((scheduler.lambda * 1000.0 + 0.5) as u32, thousandths, "after {ms} ms");
        }
    }

    #[test]
    fn a_subflow_without_a_sample_is_not_skipped() {
        let mut bench = Bench::new([sub(0).rtt(20), sub(1).no_rtt()]).write(1000).send_window(15);
        assert_eq!(bench.run(&mut blest()), [(0, 0..10), (1, 10..15)]);
    }
}
