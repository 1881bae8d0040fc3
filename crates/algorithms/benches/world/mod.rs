//! A connection without a network that keeps a scheduler busy, as in a long transfer: its subflows have different
//! round-trip times and full windows, in which each acknowledgement makes room for a few segments.

use pathweave_scheduler::parameter::Values;
use pathweave_scheduler::{
    DataSeq, Decision, Delivery, Event, Phase, QueueState, RoundTrip, Scheduler, SchedulerFactory, SendMap, SubflowId,
    SubflowView, View, WindowState,
};
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::ops::Range;

/// A connection on which decisions are measured.
pub(crate) struct Connection {
    pub(crate) name: &'static str,
    /// The round-trip times of its subflows, ms.
    rtts_ms: &'static [u64],
    /// The fraction of segments that each subflow loses.
    loss: f64,
}

/// All connections on which decisions are measured. Very different round-trip times make predictions long, and losses
/// make them uncertain.
pub(crate) const CONNECTIONS: [Connection; 3] = [
    Connection { name: "2", rtts_ms: &[20, 40], loss: 0.01 },
    Connection { name: "2-apart", rtts_ms: &[20, 2000], loss: 0.05 },
    Connection { name: "8", rtts_ms: &[20, 40, 60, 80, 100, 120, 140, 160], loss: 0.01 },
];
const MSS: u32 = 1428;
/// The written data that is always unassigned, bytes.
const BACKLOG: u64 = 1 << 20;
/// The peer's window, bytes. It is large enough that the rules compare subflows instead of waiting for the window.
const WINDOW: u64 = 2 << 20;

/// A scheduler, its connection, and the data in flight on each subflow.
pub(crate) struct World {
    scheduler: Box<dyn Scheduler>,
    now: Instant,
    rtts_ms: &'static [u64],
    subflows: Vec<SubflowView>,
    out: Vec<VecDeque<Range<DataSeq>>>,
    map: SendMap,
    turn: usize,
    duplicates: bool,
    noise: u64,
    /// Decisions so far.
    pub(crate) decisions: u64,
}

impl World {
    /// A scheduler with its defaults on a connection.
    pub(crate) fn new(factory: &dyn SchedulerFactory, connection: &Connection) -> Self {
        let rtts_ms = connection.rtts_ms;
        let values = Values::parse(&factory.parameters(), &[]).unwrap_or_else(|e| panic!("{}: {e}", factory.name()));
        let scheduler = factory.build(&values).unwrap_or_else(|e| panic!("{}: {e}", factory.name()));
        let subflow = |(id, rtt_ms): (usize, &u64)| {
            let rtt = Duration::from_millis(*rtt_ms);
            let rate = f64::from(MSS) * 40.0 / rtt.as_secs_f64();
            SubflowView {
                id: SubflowId(id as u8),
                mss: MSS,
                rtt: RoundTrip {
                    smoothed: Some(rtt),
                    variation: rtt.div(8),
                    min: Some(rtt.div(2)),
                    max: Some(rtt),
                    latest: Some(rtt),
                },
                window: WindowState { cwnd: 40, ssthresh: 30, phase: Phase::Avoidance, ..WindowState::default() },
                queue: QueueState { space: 1 << 20, ..QueueState::default() },
                delivery: Delivery { loss: connection.loss, rate, pacing_rate: rate * 1.2, ..Delivery::default() },
                ..SubflowView::default()
            }
        };
        let mut map = SendMap::new();
        map.append(BACKLOG);
        World {
            scheduler,
            now: Instant::from_secs(1),
            rtts_ms,
            subflows: rtts_ms.iter().enumerate().map(subflow).collect(),
            out: rtts_ms.iter().map(|_| VecDeque::new()).collect(),
            map,
            turn: 0,
            duplicates: factory.duplicates(),
            noise: 1,
            decisions: 0,
        }
    }

    /// Takes and carries out decisions until `count` have been taken.
    pub(crate) fn run(&mut self, count: u64) {
        while self.decisions < count {
            self.fill();
            self.acknowledge();
        }
    }

    fn fill(&mut self) {
        loop {
            let view = view_of(self.now, &self.subflows, &self.map);
            if view.sendable().is_none() && !(self.duplicates && view.bytes_in_flight() > 0) {
                return;
            }
            self.decisions += 1;
            let Decision::Assign(assign) = decide(self.scheduler.as_mut(), &view) else { return };
            let i = assign.subflow.index();
            let s = &mut self.subflows[i];
            let start = assign.range.start.max(self.map.first_unacked());
            let segments = u64::from(s.window_space().max(1)).min(4);
            let end = assign.range.end.min(start + segments * u64::from(MSS)).min(self.map.written_end());
            if start >= end {
                return;
            }
            let segments = end.since(start).div_ceil(u64::from(MSS)) as u32;
            s.window.in_flight += segments;
            s.window.unacked += segments;
            s.queue.bytes += end.since(start);
            s.queue.memory = s.queue.bytes * 3 / 2;
            s.queue.space = (1u64 << 20).saturating_sub(s.queue.memory);
            s.delivery.round_start = s.delivery.round_start.or(Some(self.now));
            s.delivery.last_sent = Some(self.now);
            self.out[i].push_back(start..end);
            self.map.assign(start..end, assign.subflow);
            let event = Event::Assigned { subflow: assign.subflow, range: start..end, clipped_by: None };
            tell(self.scheduler.as_mut(), &event, &view_of(self.now, &self.subflows, &self.map));
        }
    }

    /// Acknowledges the next subflow's oldest data; the application writes as much again.
    fn acknowledge(&mut self) {
        self.now += Duration::from_micros(700);
        let subflows = self.subflows.len();
        let next = (0..subflows).map(|i| (self.turn + i) % subflows).find(|i| !self.out[*i].is_empty());
        let Some(i) = next else { return };
        self.turn = i + 1;
        let Some(range) = self.out[i].pop_front() else { return };
        let segments = range.end.since(range.start).div_ceil(u64::from(MSS)) as u32;
        let s = &mut self.subflows[i];
        s.window.in_flight = s.window.in_flight.saturating_sub(segments);
        s.window.unacked = s.window.unacked.saturating_sub(segments);
        s.queue.bytes = s.queue.bytes.saturating_sub(range.end.since(range.start));
        s.queue.memory = s.queue.bytes * 3 / 2;
        s.queue.space = (1u64 << 20).saturating_sub(s.queue.memory);
        // Round trips and windows vary, so that a rule cannot use its last result again.
        self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let sample = Duration::from_micros(900 * self.rtts_ms[i]) + Duration::from_micros((self.noise >> 40) % 4000);
        s.rtt.smoothed = s.rtt.smoothed.map(|srtt| srtt.mul_f64(0.875) + sample.div(8));
        s.rtt.latest = Some(sample);
        s.window.cwnd = 36 + ((self.noise >> 34) % 8) as u32;
        s.delivery.round_start = (s.window.in_flight > 0).then(|| self.now - s.rtt.smoothed_or_zero().div(2));
        let first_out = self.out.iter().flatten().map(|r| r.start).min().unwrap_or(self.map.assigned_end());
        let newly = self.map.acknowledge(first_out);
        self.map.append(newly);
        let event = Event::RttSample { subflow: SubflowId(i as u8), rtt: sample };
        tell(self.scheduler.as_mut(), &event, &view_of(self.now, &self.subflows, &self.map));
        let (data_ack, mappings) = (self.map.first_unacked(), [range]);
        let event = Event::Acked { subflow: SubflowId(i as u8), mappings: &mappings, data_ack, has_sack: false };
        tell(self.scheduler.as_mut(), &event, &view_of(self.now, &self.subflows, &self.map));
    }
}

fn view_of<'a>(now: Instant, subflows: &'a [SubflowView], map: &'a SendMap) -> View<'a> {
    View {
        now,
        subflows,
        queue: map,
        send_window_end: map.first_unacked() + WINDOW,
        send_window: WINDOW,
        send_buffer_free: 1 << 20,
        send_buffer: 4 << 20,
        message_end: None,
        fragment_ends: None,
    }
}

/// A decision, whose instructions are counted. Not inlined, so that it can be found by name.
#[inline(never)]
fn decide(scheduler: &mut dyn Scheduler, view: &View<'_>) -> Decision {
    scheduler.decide(view)
}

/// The scheduler's handling of an event, whose instructions are counted too.
#[inline(never)]
fn tell(scheduler: &mut dyn Scheduler, event: &Event<'_>, view: &View<'_>) {
    scheduler.on_event(event, view);
}
