//! Views built by hand, for unit tests of schedulers.
//!
//! A [`Bench`] is a connection without a network: it carries out assignments as a connection would, and its subflows
//! are plain values that a test sets. Stream positions in tests count segments of [`MSS`] bytes.

use crate::{
    Assign, DataSeq, Decision, Event, Phase, QueueState, RoundTrip, Scheduler, SendMap, SubflowId, SubflowView, View,
    WindowState, WindowUse,
};
use alloc::vec::Vec;
use core::ops::Range;
use pathweave_units::{Duration, Instant};

/// Data bytes of a full segment, unless a test sets another value for a subflow.
pub const MSS: u64 = 1000;

/// An idle subflow with a window of 10 segments, in congestion avoidance, with a round-trip time of 100 ms.
pub fn sub(id: u8) -> Sub {
    Sub(SubflowView {
        id: SubflowId(id),
        mss: MSS as u32,
        rtt: same_rtt(Some(100)),
        window: WindowState { cwnd: 10, ssthresh: 10, phase: Phase::Avoidance, ..WindowState::default() },
        queue: QueueState { space: 1 << 40, ..QueueState::default() },
        ..SubflowView::default()
    })
}

/// The same value, in milliseconds, for every kind of round-trip time, without variation.
fn same_rtt(ms: Option<u64>) -> RoundTrip {
    let rtt = ms.map(Duration::from_millis);
    RoundTrip { smoothed: rtt, min: rtt, max: rtt, latest: rtt, variation: Duration::ZERO }
}

/// A subflow under construction.
#[derive(Clone)]
pub struct Sub(pub SubflowView);

impl Sub {
    /// Sets every kind of round-trip time, milliseconds.
    pub fn rtt(mut self, ms: u64) -> Self {
        self.0.rtt = RoundTrip { variation: self.0.rtt.variation, ..same_rtt(Some(ms)) };
        self
    }
    /// Sets the subflow as one that has not measured a round trip yet.
    pub fn no_rtt(mut self) -> Self {
        self.0.rtt = RoundTrip { variation: self.0.rtt.variation, ..same_rtt(None) };
        self
    }
    /// Sets the variation of the round-trip time, milliseconds.
    pub fn rttvar(mut self, ms: u64) -> Self {
        self.0.rtt.variation = Duration::from_millis(ms);
        self
    }
    /// Sets the congestion window, segments.
    pub fn cwnd(mut self, segments: u32) -> Self {
        self.0.window.cwnd = segments;
        self
    }
    /// Sets the segments in flight.
    pub fn in_flight(mut self, segments: u32) -> Self {
        (self.0.window.in_flight, self.0.window.unacked) = (segments, segments);
        self.0.queue.bytes = u64::from(segments + self.0.queue.unsent) * u64::from(self.0.mss);
        self
    }
    /// Sets the segments that are assigned and not sent.
    pub fn unsent(mut self, segments: u32) -> Self {
        self.0.queue.unsent = segments;
        self.0.queue.bytes = u64::from(segments + self.0.window.in_flight) * u64::from(self.0.mss);
        self
    }
    /// Sets the data bytes of a full segment.
    pub fn mss(mut self, bytes: u32) -> Self {
        self.0.mss = bytes;
        self
    }
    /// Sets the bytes assigned and not acknowledged, counted with buffer overhead as a kernel does.
    pub fn queued_memory(mut self, bytes: u64) -> Self {
        self.0.queue.memory = bytes;
        self
    }
    /// Sets the room in the subflow's send buffer, bytes.
    pub fn buffer_space(mut self, bytes: u64) -> Self {
        self.0.queue.space = bytes;
        self
    }
    /// Sets the pacing rate, bytes per second.
    pub fn pacing(mut self, bytes_per_second: f64) -> Self {
        self.0.delivery.pacing_rate = bytes_per_second;
        self
    }
    /// Sets the delivery rate, bytes per second.
    pub fn delivery(mut self, bytes_per_second: f64) -> Self {
        self.0.delivery.rate = bytes_per_second;
        self
    }
    /// Puts the subflow into slow start.
    pub fn slow_start(mut self) -> Self {
        (self.0.window.ssthresh, self.0.window.phase) = (WindowState::NO_THRESHOLD, Phase::SlowStart);
        self
    }
    /// Makes the subflow a backup.
    pub fn backup(mut self) -> Self {
        self.0.backup = true;
        self
    }
    /// Makes the subflow stale: it shows no sign of life.
    pub fn stale(mut self) -> Self {
        self.0.stale = true;
        self
    }
}

/// A connection without a network.
pub struct Bench {
    /// The current time.
    pub now: Instant,
    /// The subflows.
    pub subflows: Vec<SubflowView>,
    /// The written, assigned and acknowledged ranges of the stream.
    pub map: SendMap,
    /// The peer's window, bytes from the first unacknowledged byte.
    pub send_window: u64,
    /// The connection's send buffer, bytes.
    pub send_buffer: u64,
}

impl Bench {
    /// A connection with these subflows, nothing written, and windows that are never the limit.
    pub fn new<const N: usize>(subflows: [Sub; N]) -> Self {
        Bench {
            now: Instant::from_secs(10),
            subflows: subflows.into_iter().map(|s| s.0).collect(),
            map: SendMap::new(),
            send_window: 1 << 40,
            send_buffer: 1 << 40,
        }
    }

    /// Writes `segments` more segments.
    pub fn write(mut self, segments: u64) -> Self {
        self.map.append(segments * MSS);
        self
    }

    /// Sets the peer's window, segments.
    pub fn send_window(mut self, segments: u64) -> Self {
        self.send_window = segments * MSS;
        self
    }

    /// The connection as a scheduler sees it.
    pub fn view(&self) -> View<'_> {
        View {
            now: self.now,
            subflows: &self.subflows,
            queue: &self.map,
            send_window_end: self.map.first_unacked() + self.send_window,
            send_window: self.send_window,
            send_buffer_free: self.send_buffer.saturating_sub(self.map.written_end().since(self.map.first_unacked())),
            send_buffer: self.send_buffer,
            message_end: None,
            fragment_ends: None,
        }
    }

    /// Asks a scheduler for a decision.
    pub fn decide(&self, scheduler: &mut dyn Scheduler) -> Decision {
        scheduler.decide(&self.view())
    }

    /// Gives an event to a scheduler.
    pub fn event(&self, scheduler: &mut dyn Scheduler, event: &Event<'_>) {
        scheduler.on_event(event, &self.view());
    }

    /// The subflow called `id`.
    #[track_caller]
    pub fn sub(&mut self, id: u8) -> &mut SubflowView {
        self.subflows.iter_mut().find(|s| s.id.0 == id).expect("the test has such a subflow")
    }

    /// Acknowledges `segments` of the segments in flight on subflow `id`.
    pub fn acked(&mut self, id: u8, segments: u32) {
        let s = self.sub(id);
        s.window.in_flight -= segments;
        s.window.unacked -= segments;
        s.queue.bytes -= u64::from(segments) * u64::from(s.mss);
    }

    /// Ends subflow `id`.
    pub fn down(&mut self, id: u8, scheduler: &mut dyn Scheduler) {
        self.subflows.retain(|s| s.id.0 != id);
        self.map.release(SubflowId(id));
        self.event(scheduler, &Event::SubflowDown(SubflowId(id)));
    }

    /// Carries out an assignment; returns the subflow and the range in segments.
    #[track_caller]
    pub fn carry_out(&mut self, scheduler: &mut dyn Scheduler, assign: &Assign) -> (u8, Range<u64>) {
        let Assign { subflow, range, window, reason } = assign.clone();
        assert!(range.start < range.end, "an empty assignment ({reason})");
        assert!(range.start >= self.map.first_unacked() && range.end <= self.map.written_end(), "{range:?} ({reason})");
        let send_window_end = self.view().send_window_end;
        let s = self.sub(subflow.0);
        let segments = range.end.since(range.start).div_ceil(u64::from(s.mss)) as u32;
        let space = s.window_space();
        match window {
            WindowUse::Respect => {
                assert!(segments <= space, "{segments} segments into a space of {space} ({reason})");
                assert!(range.end <= send_window_end, "{range:?} passes the send window ({reason})");
                s.window.in_flight += segments;
                s.window.unacked += segments;
            }
            WindowUse::Queue => {
                s.window.in_flight += segments.min(space);
                s.window.unacked += segments.min(space);
                s.queue.unsent += segments.saturating_sub(space);
            }
        }
        let bytes = range.end.since(range.start);
        s.queue.bytes += bytes;
        s.queue.memory += bytes;
        s.queue.space = s.queue.space.saturating_sub(bytes);
        self.map.assign(range.clone(), subflow);
        self.event(scheduler, &Event::Assigned { subflow, range: range.clone(), clipped_by: None });
        (subflow.0, range.start.0 / MSS..range.end.0.div_ceil(MSS))
    }

    /// Asks for one decision and carries it out; `None` if it is a wait.
    #[track_caller]
    pub fn step(&mut self, scheduler: &mut dyn Scheduler) -> Option<(u8, Range<u64>)> {
        match self.decide(scheduler) {
            Decision::Assign(assign) => Some(self.carry_out(scheduler, &assign)),
            Decision::Wait { .. } => None,
        }
    }

    /// Carries out decisions until the scheduler waits or no data is left. Adjacent ranges of one subflow are joined.
    #[track_caller]
    pub fn run(&mut self, scheduler: &mut dyn Scheduler) -> Vec<(u8, Range<u64>)> {
        let all = self.run_for(scheduler, 10_000);
        assert!(self.step(scheduler).is_none(), "the scheduler never waits");
        all
    }

    /// Carries out at most `n` decisions, like [`Bench::run`].
    #[track_caller]
    pub fn run_for(&mut self, scheduler: &mut dyn Scheduler, n: usize) -> Vec<(u8, Range<u64>)> {
        let mut all: Vec<(u8, Range<u64>)> = Vec::new();
        for _ in 0..n {
            match self.step(scheduler) {
                Some((id, range)) => match all.last_mut() {
                    Some((last, before)) if *last == id && before.end == range.start => before.end = range.end,
                    _ => all.push((id, range)),
                },
                None => break,
            }
        }
        all
    }

    /// The rule of the scheduler's current decision.
    pub fn rule(&self, scheduler: &mut dyn Scheduler) -> &'static str {
        match self.decide(scheduler) {
            Decision::Assign(a) => a.reason.rule,
            Decision::Wait { reason, .. } => reason.rule,
        }
    }
}

/// Stream position of segment `n`.
pub fn seg(n: u64) -> DataSeq {
    DataSeq(n * MSS)
}
