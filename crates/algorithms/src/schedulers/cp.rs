//! `cp`: constraint-based proactive scheduling.
//!
//! # What it does
//!
//! The fastest subflow is always filled first. A slower one is used only if the buffer has room for everything that the
//! faster ones will send during its round trip; in the conservative mode there must also be room for all data in
//! flight. A delay constraint can exclude a subflow altogether. From time to time a subflow that is not used gets a
//! probe of one initial window, because its round-trip time would never be measured again otherwise.
//!
//! # Formula
//!
//! ```text
//! L_ij  = ⌊RTT_j/RTT_i⌋ − 1, or 0 at a ratio below 2                                       (eq. 3)
//! D_ij  = Σ P_i·2^(m−1)            m = 1..L   in slow start                                (eq. 4)
//!         Σ P_i + (m − 1)·g_i      m = 1..L   in avoidance; g_i = 0 while P_i < cwnd_i      (eq. 5)
//!         Σ w_i(t + m·RTT_i)       m = 0..L   with a window by time, as CUBIC's             (eq. 7)
//!         w_i(t + m·RTT_i) = cwnd_i + m·(w_i(t + RTT_i) − cwnd_i)
//! B_1j  = Σ D_ij·MSS_i over all i faster than j; rate_i·RTT_j for a rate-based one    (eqs. 6, 2)
//! radical:       use j when  B_1j ≤ A
//! conservative:  and the fastest is not in slow start, 2·P_1·MSS_1 ≤ window,  B_1j + outstanding ≤ A
//! constraint:    and  RTT_j ≤ D_c
//! if B_1j > A and RTT_j ≤ D_c, j pauses; it is probed after
//!                T = min(β·RTT_j·N, max_guard),  N = 1 with static probing                  (eq. 8)
//!                if the first unacknowledged byte has moved since
//! ```
//!
//! * i, j: a faster and a slower subflow; 1: the fastest. RTT: smoothed round-trip time, ms; P_i: segments outstanding
//!   on i.
//! * L_ij: round trips of i during one of j, less one; D_ij: the segments that i sends in them (L = 0 gives D = 0);
//!   B_1j: the bytes that all faster subflows send during a round trip of j.
//! * A: the smaller of free receive window and free send buffer, bytes; window: the receive window; outstanding: the
//!   bytes in flight on all subflows.
//! * g_i: the segments that i's controller adds each round trip, for a coupled controller its coupled share; w_i: i's
//!   window, segments.
//! * D_c: the parameter `delay_constraint`; β, max_guard: parameters; T: the guard time of a pause; N: pauses of j so
//!   far.
//!
//! # Source
//!
//! CP §3, eqs. 1 to 8 and Fig. 3; the defaults of probing from §4.
//!
//! # Deviations
//!
//! * The available buffer is the smaller of the free receive window and the free send buffer. That is a reading: the
//!   paper does not say whether outstanding data counts against its "available buffer".
//! * "Do not use" ends the decision for j; the last line of Fig. 3 would use j after each of them.
//! * As in Fig. 3, only a denial because of B counts as a pause and leads to probes. So a subflow that another rule
//!   denies keeps its last RTT_j until B denies it. `probe_after=denial` probes after every denial. The text of §3.4
//!   records a pause at each denial, but its condition for a probe is that of Fig. 3.
//! * The first denial sets N to one, without a probe. N is never reset.
//! * A controller only tells its window after the next round. Eq. 7 needs later rounds too, for which the window is
//!   extended linearly. So a curve that bends, such as CUBIC's, is predicted too high or too low. With L = 0, eq. 7
//!   predicts nothing, like eqs. 4 and 5.
//! * The increase of eq. 5 is inside the sum. If the prose and Fig. 3 differ at equality, the code follows Fig. 3.
//! * A probe begins with the decision that finds the guard time over; in Fig. 3 its first packet goes out with the
//!   decision after that.
//! * Outstanding data is the data in flight and the data assigned but not yet sent. After a timeout a subflow counts as
//!   in slow start, both for eq. 4 and for the conservative mode; in fast recovery it counts as in congestion
//!   avoidance.
//! * Subflows without a round-trip time sample are used by the rule of `minrtt`. If a subflow is denied, the next
//!   slower one is judged, each with its own B.

use super::minrtt;
use pathweave_scheduler::parameter::{Kind, Parameter, ParameterError, parse_time};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Growth, Phase, Quantity, Reason, Scheduler, SchedulerEntry, SubflowId,
    SubflowView, View, WindowUse,
};
use pathweave_units::{Duration, Instant};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "cp",
    source: "CP §3, Fig. 3",
    summary: "uses a slower subflow only when the data that this holds back fits the buffer",
    parameters: &[
        Parameter {
            name: "mode",
            kind: Kind::Choice("radical conservative"),
            unit: "",
            default: "radical",
            description: "whether outstanding data counts against the buffer too (conservative)",
            source: "CP §3.3",
        },
        Parameter {
            name: "delay_constraint",
            kind: Kind::Text,
            unit: "time, or multiple of the fastest RTT",
            default: "none",
            description: "largest RTT that is used: `none`, a time such as `50ms`, or a multiple such as `2x`",
            source: "CP §3.3",
        },
        Parameter {
            name: "probing",
            kind: Kind::Choice("dynamic static"),
            unit: "",
            default: "dynamic",
            description: "whether the guard time grows with each pause (dynamic)",
            source: "CP §4",
        },
        Parameter {
            name: "beta",
            kind: Kind::Number { min: 1.0, max: 1000.0 },
            unit: "RTT",
            default: "4",
            description: "guard time of the first pause",
            source: "CP §4",
        },
        Parameter {
            name: "max_guard",
            kind: Kind::Time,
            unit: "time",
            default: "2s",
            description: "longest guard time",
            source: "CP §4",
        },
        Parameter {
            name: "probe",
            kind: Kind::Integer { min: 1, max: 1000 },
            unit: "segments",
            default: "10",
            description: "size of a probe",
            source: "CP §3.4: the initial window",
        },
        Parameter {
            name: "probe_after",
            kind: Kind::Choice("buffer denial"),
            unit: "",
            default: "buffer",
            description: "denials that count as pauses and lead to probes: B above the available buffer (buffer), or all",
            source: "CP Fig. 3, lines 11 to 25",
        },
    ],
    queues: false,
    duplicates: false,
    build: |v| {
        let text = v.text("delay_constraint");
        let delay_constraint = DelayConstraint::parse(text).ok_or_else(|| ParameterError {
            name: "delay_constraint".into(),
            value: text.into(),
            allowed: "none, a time such as 50ms, or a multiple of the fastest round-trip time such as 2x".into(),
        })?;
        let config = Config {
            conservative: v.choice("mode") == "conservative",
            delay_constraint,
            dynamic: v.choice("probing") == "dynamic",
            beta: v.number("beta"),
            max_guard: v.time("max_guard"),
            probe: v.integer("probe") as u32,
            probe_after_all: v.choice("probe_after") == "denial",
        };
        Ok(Box::new(Cp::new(config)))
    },
};

/// Limit of the round-trip times that may be used (D_c).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelayConstraint {
    /// Every round-trip time is allowed.
    None,
    /// Round-trip times up to this time are allowed.
    Time(Duration),
    /// Round-trip times up to this multiple of the fastest subflow's are allowed.
    Multiple(f64),
}

impl DelayConstraint {
    fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(DelayConstraint::None);
        }
        match text.strip_suffix('x') {
            Some(number) => {
                number.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite()).map(DelayConstraint::Multiple)
            }
            None => parse_time(text).map(DelayConstraint::Time),
        }
    }

    fn allows(self, rtt: Duration, fastest: Duration) -> bool {
        match self {
            DelayConstraint::None => true,
            DelayConstraint::Time(limit) => rtt <= limit,
            DelayConstraint::Multiple(x) => rtt.as_secs_f64() <= fastest.as_secs_f64() * x,
        }
    }
}

/// Settings of [`Cp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether the conservative method is used; if false, the radical one.
    pub conservative: bool,
    /// D_c.
    pub delay_constraint: DelayConstraint,
    /// Whether the guard time grows with each pause (dynamic probing).
    pub dynamic: bool,
    /// β of eq. 8.
    pub beta: f64,
    /// The longest guard time.
    pub max_guard: Duration,
    /// Segments of a probe.
    pub probe: u32,
    /// Whether every denial counts as a pause and leads to probes. If false, only a denial because B exceeds the
    /// available buffer does.
    pub probe_after_all: bool,
}

/// The rules' judgement of a slower subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Use,
    /// B exceeds the available buffer: lines 11 to 25 of Fig. 3.
    Pause,
    /// Another rule denies the subflow: lines 5 to 9 and 26 to 33 of Fig. 3.
    Deny,
}

/// A subflow's last pause: the time since a denial, until the subflow is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause {
    at: Instant,
    first_unacked: DataSeq,
    /// N, the pauses so far, and C, the segments left of the probe.
    count: u32,
    probe_left: u32,
    /// The guard time, for the round-trip time at the last decision.
    guard: Duration,
}

/// Constraint-based proactive scheduling.
#[derive(Debug)]
pub struct Cp {
    config: Config,
    pauses: [Option<Pause>; SubflowId::MAX_SUBFLOWS],
    /// The subflow of the last decision, if that decision was a probe.
    probing: Option<SubflowId>,
}

/// Segments outstanding on `s`.
fn outstanding(s: &SubflowView) -> f64 {
    f64::from(s.window.in_flight) + f64::from(s.queue.unsent)
}

/// L_ij of CP eq. 3, for round-trip times `i` and `j`: round trips of i during one of j, less one.
fn expected_windows(i: Duration, j: Duration) -> f64 {
    if i.is_zero() {
        return 0.0;
    }
    let ratio = j.as_secs_f64() / i.as_secs_f64();
    if ratio >= 2.0 { libm::floor(ratio) - 1.0 } else { 0.0 }
}

/// D_{i,j}·MSS_i: bytes that `i` sends during one round trip of `j` (CP eqs. 2 to 7).
fn expected_bytes(i: &SubflowView, rtt_i: Duration, rtt_j: Duration) -> f64 {
    let (mss, out, cwnd) = (f64::from(i.mss), outstanding(i), f64::from(i.window.cwnd));
    if let Growth::AtRate(rate) = i.window.growth {
        return rate * rtt_j.as_secs_f64();
    }
    let l = expected_windows(rtt_i, rtt_j);
    if l < 1.0 {
        return 0.0;
    }
    let segments = match (i.window.phase, i.window.growth) {
        // Eq. 4: Σ P·2^(m−1) = P·(2^L − 1).
        (Phase::SlowStart | Phase::Loss, _) => out * (libm::exp2(l.min(60.0)) - 1.0),
        // Eq. 7: Σ w(t₀ + m·RTT_i) for m from 0 to L.
        (_, Growth::ToWindow(next)) => (l + 1.0) * cwnd + (next - cwnd) * l * (l + 1.0) / 2.0,
        // Eq. 5: Σ P + (m − 1)·increase; a window that is not filled does not grow.
        (_, Growth::PerRound(increase)) => {
            let increase = if out < cwnd { 0.0 } else { increase };
            l * out + increase * l * (l - 1.0) / 2.0
        }
        (_, Growth::AtRate(_)) => unreachable!("handled above"),
    };
    segments.max(0.0) * mss
}

/// B_{1,j} of CP eq. 6: the bytes that all subflows faster than `j` send during its round trip.
fn required_buffer(view: &View<'_>, j: &SubflowView, rtt_j: Duration) -> f64 {
    let faster = view.candidates().filter(|i| i.id != j.id);
    faster
        .filter_map(|i| Some((i, i.rtt.smoothed.filter(|r| *r < rtt_j)?)))
        .map(|(i, r)| expected_bytes(i, r, rtt_j))
        .sum()
}

impl Cp {
    /// A scheduler with these settings.
    pub fn new(config: Config) -> Self {
        Cp { config, pauses: [None; SubflowId::MAX_SUBFLOWS], probing: None }
    }

    /// Whether `j` may be used beside the fastest subflow `f`, and why.
    fn judge(&self, view: &View<'_>, f: &SubflowView, j: &SubflowView) -> (Judgement, Reason) {
        let (rtt_f, rtt_j) = (f.rtt.smoothed_or_zero(), j.rtt.smoothed_or_zero());
        let required = required_buffer(view, j, rtt_j);
        let available = view.available_buffer() as f64;
        let out = outstanding(f) * f64::from(f.mss);
        let in_flight = view.bytes_in_flight() as f64;
        let compared = |rule| Reason::new(rule).with("b_bytes", required).with("available_bytes", available);
        let too_slow = !self.config.delay_constraint.allows(rtt_j, rtt_f);
        if self.config.conservative && matches!(f.window.phase, Phase::SlowStart | Phase::Loss) {
            (Judgement::Deny, compared("the fastest subflow is in slow start"))
        } else if self.config.conservative && 2.0 * out > view.send_window as f64 {
            let rule =
                "the fastest subflow's outstanding {outstanding_bytes} exceed half of the window of {window_bytes}";
            let reason = Reason::new(rule).with("outstanding_bytes", out);
            (Judgement::Deny, reason.with("window_bytes", view.send_window as f64))
        } else if required > available {
            let judgement = if too_slow { Judgement::Deny } else { Judgement::Pause };
            (judgement, compared("B = {b_bytes} > {available_bytes} available"))
        } else if self.config.conservative && required + in_flight > available {
            let rule = "B = {b_bytes} and {in_flight_bytes} in flight > {available_bytes} available";
            (Judgement::Deny, compared(rule).with("in_flight_bytes", in_flight))
        } else if too_slow {
            let rule = "RTT = {rtt_ms} > delay constraint, with a fastest RTT of {fastest_ms}";
            let ms = |rtt: Duration| rtt.as_secs_f64() * 1e3;
            (Judgement::Deny, Reason::new(rule).with("rtt_ms", ms(rtt_j)).with("fastest_ms", ms(rtt_f)))
        } else {
            (Judgement::Use, compared("B = {b_bytes} ≤ {available_bytes} available"))
        }
    }

    /// The guard time T of CP eq. 8.
    fn guard(&self, rtt: Duration, count: u32) -> Duration {
        let count = if self.config.dynamic { f64::from(count) } else { 1.0 };
        rtt.mul_f64(self.config.beta * count).min(self.config.max_guard)
    }

    /// Records a denial of `j`. `Ok` if `j` is to be probed now; otherwise `Err` with the time at which to ask again,
    /// if time alone can help.
    fn pause(&mut self, view: &View<'_>, j: &SubflowView) -> Result<(), Option<Instant>> {
        let (now, first_unacked) = (view.now, view.first_unacked());
        let Some(slot) = self.pauses.get(j.id.index()).copied() else { return Err(None) };
        let mut pause = match slot {
            // "The first denial makes it 1 (no probe)."
            None => Pause { at: now, first_unacked, count: 1, probe_left: 0, guard: Duration::ZERO },
            Some(pause) => pause,
        };
        let expired = |p: &Pause| now.since(p.at) > p.guard;
        pause.guard = self.guard(j.rtt.smoothed_or_zero(), pause.count);
        if expired(&pause) && pause.first_unacked < first_unacked {
            let (count, probe_left) = (pause.count.saturating_add(1), self.config.probe);
            let guard = self.guard(j.rtt.smoothed_or_zero(), count);
            pause = Pause { at: now, first_unacked, count, probe_left, guard };
        }
        self.pauses[j.id.index()] = Some(pause);
        if pause.count > 1 && pause.probe_left > 0 {
            self.probing = Some(j.id);
            return Ok(());
        }
        let again = pause.at + pause.guard + Duration::from_nanos(1);
        // If the guard time is already over, only an acknowledgement can help.
        Err(Some(again).filter(|t| *t > now))
    }
}

impl Scheduler for Cp {
    fn quantities(&self, put: &mut dyn FnMut(Quantity)) {
        for (i, pause) in self.pauses.iter().enumerate() {
            let Some(pause) = pause else { continue };
            let subflow = Some(SubflowId(i as u8));
            put(Quantity { name: "pauses", subflow, value: f64::from(pause.count) });
            put(Quantity { name: "guard_s", subflow, value: pause.guard.as_secs_f64() });
        }
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.probing = None;
        let Some(f) = super::blest::fastest(view) else { return minrtt::decide(view) };
        if f.has_space() {
            return minrtt::decide(view);
        }
        if view.sendable().is_none() {
            return Decision::nothing_to_send();
        }
        let mut wait: Option<(Option<Instant>, Reason)> = None;
        let mut after: Option<(Duration, SubflowId)> = None;
        // Visits the subflows in order of round-trip times without a sorted list: each step finds the next one above.
        while let Some(j) = view
            .candidates()
            .filter(|s| s.has_space() && after.is_none_or(|last| (minrtt::key(s), s.id) > last))
            .min_by_key(|s| (minrtt::key(s), s.id))
        {
            after = Some((minrtt::key(j), j.id));
            let (judgement, reason) = match j.rtt.smoothed {
                None => (Judgement::Use, Reason::new("no round trip was measured yet")),
                Some(_) => self.judge(view, f, j),
            };
            let denied = match judgement {
                Judgement::Use => None,
                Judgement::Deny if !self.config.probe_after_all => Some(None),
                Judgement::Pause | Judgement::Deny => self.pause(view, j).err(),
            };
            if let Some(again) = denied {
                let earlier = match (wait.as_ref().and_then(|w| w.0), again) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                wait = Some((earlier, wait.map_or(reason, |w| w.1)));
                continue;
            }
            let probes = judgement != Judgement::Use;
            let reason = if probes { Reason { rule: "probe of a paused subflow", ..reason } } else { reason };
            let Some(range) = view.next_for(j, 1) else { return Decision::nothing_to_send() };
            return Decision::Assign(Assign { subflow: j.id, range, window: WindowUse::Respect, reason });
        }
        let Some((until, reason)) = wait else { return Decision::no_space() };
        Decision::Wait { until, for_subflow: Some(f.id), reason }
    }

    fn on_event(&mut self, event: &Event<'_>, _view: &View<'_>) {
        match event {
            Event::Assigned { subflow, .. } if self.probing == Some(*subflow) => {
                self.probing = None;
                if let Some(Some(pause)) = self.pauses.get_mut(subflow.index()) {
                    pause.probe_left = pause.probe_left.saturating_sub(1);
                }
            }
            Event::SubflowDown(id) | Event::SubflowUp(id) => {
                if let Some(pause) = self.pauses.get_mut(id.index()) {
                    *pause = None;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "cp_tests.rs"]
mod tests;
