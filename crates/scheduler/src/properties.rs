//! Properties that every scheduler must have, tried on a connection without a network: acknowledgements come in any
//! order and number, subflows die, return or show no sign of life, windows change. [`holds`] checks one scheduler.

use crate::parameter::Values;
use crate::testing::{MSS, sub};
use crate::{
    Assign, Blocked, ClippedBy, DataSeq, Decision, Event, LossKind, Scheduler, SchedulerFactory, SendMap, SubflowId,
    SubflowView, View, WindowUse,
};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use pathweave_units::{Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

#[derive(Clone, Debug)]
struct Path {
    rtt_ms: Option<u64>,
    cwnd: u32,
    mss: u32,
    backup: bool,
    slow_start: bool,
    buffer: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64),
    Ack(u8, u32),
    Down(u8),
    Stale(u8),
    Cwnd(u8, u32),
    Rtt(u8, u64),
    Lost(u8),
    Time(u64),
}

struct World {
    now: Instant,
    live: Vec<SubflowView>,
    down: Vec<SubflowView>,
    buffers: BTreeMap<SubflowId, u64>,
    /// Segments that each subflow carries, in order: sent ones, then unsent ones.
    carried: BTreeMap<SubflowId, VecDeque<Range<DataSeq>>>,
    map: SendMap,
    received: Vec<bool>,
    send_window: u64,
    blocked: Option<Blocked>,
}

impl World {
    fn new(paths: &[Path], send_window: u64) -> Self {
        let live: Vec<_> = paths.iter().enumerate().map(|(i, p)| view_of(i as u8, p)).collect();
        World {
            now: Instant::from_secs(1),
            buffers: live.iter().map(|s| (s.id, s.queue.space)).collect(),
            carried: live.iter().map(|s| (s.id, VecDeque::new())).collect(),
            live,
            down: Vec::new(),
            map: SendMap::new(),
            received: Vec::new(),
            send_window,
            blocked: None,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            subflows: &self.live,
            queue: &self.map,
            send_window_end: self.map.first_unacked() + self.send_window,
            send_window: self.send_window,
            send_buffer_free: 50 * MSS,
            send_buffer: 1000 * MSS,
            message_end: None,
            fragment_ends: None,
        }
    }

    fn tell(&self, scheduler: &mut dyn Scheduler, event: &Event<'_>) {
        scheduler.on_event(event, &self.view());
    }

    /// Recounts the segments that `id` carries; unsent segments leave as the window allows.
    fn settle(&mut self, id: SubflowId) {
        let Some(s) = self.live.iter_mut().find(|s| s.id == id) else { return };
        let carried = &self.carried[&id];
        let segments = carried.len() as u32;
        s.window.in_flight = segments.min(s.window.cwnd.max(s.window.in_flight.min(segments)));
        s.window.unacked = s.window.in_flight;
        s.queue.unsent = segments - s.window.in_flight;
        s.queue.bytes = carried.iter().map(|r| r.end.since(r.start)).sum();
        s.queue.memory = s.queue.bytes + 900 * u64::from(segments);
        s.queue.space = self.buffers[&id].saturating_sub(s.queue.bytes);
    }

    fn give(&mut self, id: SubflowId, range: Range<DataSeq>) {
        let mss = self.live.iter().find(|s| s.id == id).map_or(1, |s| u64::from(s.mss));
        let mut at = range.start;
        let list = self.carried.get_mut(&id).expect("every subflow has a list");
        while at < range.end {
            let end = range.end.min(at + mss);
            list.push_back(at..end);
            at = end;
        }
        self.map.assign(range, id);
        self.settle(id);
    }

    /// Asks the scheduler until it waits; returns the time that it waits for.
    fn drain(
        &mut self,
        factory: &dyn SchedulerFactory,
        scheduler: &mut dyn Scheduler,
    ) -> Result<Option<Instant>, TestCaseError> {
        for _ in 0..20_000 {
            let view = self.view();
            let unsent_duplicates = factory.duplicates() && view.bytes_in_flight() > 0;
            if view.sendable().is_none() && !unsent_duplicates {
                return Ok(None);
            }
            match scheduler.decide(&view) {
                Decision::Wait { until: Some(until), .. } => {
                    prop_assert!(until > self.now, "{} waits for the past", factory.name());
                    return Ok(Some(until));
                }
                Decision::Wait { until: None, reason, .. } => {
                    let out = self.carried.values().any(|list| !list.is_empty());
                    prop_assert!(out, "{} waits with nothing in flight: {reason}", factory.name());
                    let is_told = reason.rule == Decision::NO_SPACE;
                    let is_so = !self.view().candidates().any(|s| s.has_space());
                    prop_assert!(!is_told || is_so, "{} waits: {reason}, but one has", factory.name());
                    return Ok(None);
                }
                Decision::Assign(assign) => {
                    let (subflow, range) = self.check(factory, assign)?;
                    let (range, clipped_by) = self.hold_back(subflow, range);
                    if range.start >= range.end {
                        return Ok(None);
                    }
                    self.give(subflow, range.clone());
                    self.tell(scheduler, &Event::Assigned { subflow, range, clipped_by });
                }
            }
        }
        Err(TestCaseError::fail(format!("{} never waits", factory.name())))
    }

    /// Leaves out what a connection would hold back: a segment cut short by the window, which waits for more window
    /// while anything is unacknowledged, and a short last segment, which waits for the data in flight (Nagle).
    fn hold_back(&self, id: SubflowId, range: Range<DataSeq>) -> (Range<DataSeq>, Option<ClippedBy>) {
        let mss = self.live.iter().find(|s| s.id == id).map_or(1, |s| u64::from(s.mss));
        let short = range.end.since(range.start) % mss;
        let window_edge = range.end == self.view().send_window_end && range.end < self.map.written_end();
        let stream_edge = range.end == self.map.written_end();
        if short > 0 && window_edge && self.map.assigned_bytes() > 0 {
            (range.start..range.end - short, Some(ClippedBy::SendWindow))
        } else if short > 0 && stream_edge && !self.carried[&id].is_empty() {
            (range.start..range.end - short, Some(ClippedBy::Data))
        } else {
            (range, None)
        }
    }

    /// Makes the checks that a connection makes, and clips the range to the send buffer only.
    fn check(
        &self,
        factory: &dyn SchedulerFactory,
        assign: Assign,
    ) -> Result<(SubflowId, Range<DataSeq>), TestCaseError> {
        let (name, view) = (factory.name(), self.view());
        let Assign { subflow, mut range, window, reason } = assign;
        // The baseline `single` does not ask whether its subflow is a backup.
        let s = view.candidates().find(|s| s.id == subflow);
        let s = s.or_else(|| view.subflow(subflow).filter(|s| name == "single" && !s.stale));
        let Some(s) = s else { return Err(TestCaseError::fail(format!("{name}: {subflow:?} is no candidate"))) };
        prop_assert!(range.start < range.end, "{name}: an empty range ({reason})");
        prop_assert!(
            range.start >= self.map.first_unacked() && range.end <= self.map.written_end(),
            "{name}: {range:?}"
        );
        prop_assert!(range.end <= view.send_window_end, "{name}: {range:?} passes the send window");
        prop_assert!(s.queue.space > 0, "{name}: no buffer space");
        if factory.duplicates() {
            let carried = self.carried[&subflow].iter().any(|r| r.start < range.end && range.start < r.end);
            prop_assert!(!carried, "{name}: {subflow:?} carries some of {range:?} already");
        } else {
            let free = self.map.unassigned().any(|r| r.start <= range.start && range.end <= r.end);
            prop_assert!(free, "{name}: {range:?} is assigned ({reason})");
        }
        let segments = range.end.since(range.start).div_ceil(u64::from(s.mss));
        if window == WindowUse::Respect {
            let space = u64::from(s.window_space());
            prop_assert!(segments <= space, "{name}: {segments} segments into {space} ({reason})");
        } else {
            prop_assert!(factory.queues(), "{name} queues without saying so");
            range.end = range.end.min(range.start + s.queue.space.max(u64::from(s.mss)));
        }
        Ok((subflow, range))
    }

    fn ack(&mut self, scheduler: &mut dyn Scheduler, id: SubflowId, segments: u32) {
        let Some(list) = self.carried.get_mut(&id) else { return };
        let sent = self.live.iter().find(|s| s.id == id).map_or(0, |s| s.window.in_flight);
        let mappings: Vec<_> = list.drain(..(segments.min(sent) as usize)).collect();
        if mappings.is_empty() {
            return;
        }
        for r in &mappings {
            self.received[r.start.0 as usize..r.end.0 as usize].fill(true);
        }
        if let Some(s) = self.live.iter_mut().find(|s| s.id == id) {
            s.window.in_flight -= mappings.len() as u32;
        }
        let first = self.map.first_unacked().0 as usize;
        let missing = self.received[first..].iter().position(|r| !r).unwrap_or(self.received.len() - first);
        self.map.acknowledge(DataSeq((first + missing) as u64));
        self.settle(id);
        let data_ack = self.map.first_unacked();
        self.tell(scheduler, &Event::Acked { subflow: id, mappings: &mappings, data_ack, has_sack: false });
        if let Some(rtt) = self.live.iter().find(|s| s.id == id).and_then(|s| s.rtt.smoothed) {
            self.tell(scheduler, &Event::RttSample { subflow: id, rtt });
        }
    }

    /// Gives bytes that no living subflow carries to another subflow, as a connection does.
    fn reinject(&mut self) {
        let Some(id) = self.view().candidates().next().map(|s| s.id) else { return };
        loop {
            let mut spans = self.map.spans_from(self.map.first_unacked());
            let Some((range, _)) = spans.find(|(_, owners)| owners.is_empty()) else { return };
            drop(spans);
            self.give(id, range);
        }
    }

    fn note_blocking(&mut self, scheduler: &mut dyn Scheduler) {
        let blocked = self.view().blocked(false);
        if blocked == self.blocked {
            return;
        }
        self.blocked = blocked;
        self.tell(scheduler, &Blocked::event(blocked));
    }

    fn apply(&mut self, scheduler: &mut dyn Scheduler, step: &Step) {
        let nth = |list: &[SubflowView], n: u8| list.get(usize::from(n) % list.len().max(1)).map(|s| s.id);
        match *step {
            Step::Write(bytes) => {
                let start = self.map.written_end();
                self.map.append(bytes);
                self.received.resize(self.received.len() + bytes as usize, false);
                self.tell(scheduler, &Event::DataWritten(start..start + bytes));
            }
            Step::Ack(n, segments) => {
                if let Some(id) = nth(&self.live, n) {
                    self.ack(scheduler, id, segments);
                }
            }
            // With every second such step a dead subflow returns.
            Step::Down(n) if n % 2 == 0 && !self.down.is_empty() => {
                let s = self.down.remove(usize::from(n) % self.down.len());
                let id = s.id;
                self.live.push(s);
                self.live.sort_by_key(|s| s.id);
                self.settle(id);
                self.tell(scheduler, &Event::SubflowUp(id));
            }
            Step::Down(n) if self.live.len() > 1 => {
                let mut s = self.live.remove(usize::from(n) % self.live.len());
                let id = s.id;
                (s.window.in_flight, s.window.unacked, s.queue.unsent, s.stale) = (0, 0, 0, false);
                self.carried.insert(id, VecDeque::new());
                self.down.push(s);
                self.map.release(id);
                self.tell(scheduler, &Event::SubflowDown(id));
                self.reinject();
            }
            Step::Down(_) => {}
            Step::Stale(n) => {
                if let Some(id) = nth(&self.live, n)
                    && let Some(s) = self.live.iter_mut().find(|s| s.id == id)
                {
                    s.stale = !s.stale;
                }
            }
            Step::Cwnd(n, cwnd) => {
                if let Some(id) = nth(&self.live, n) {
                    if let Some(s) = self.live.iter_mut().find(|s| s.id == id) {
                        s.window.cwnd = cwnd;
                    }
                    self.settle(id);
                }
            }
            Step::Rtt(n, ms) => {
                if let Some(id) = nth(&self.live, n)
                    && let Some(s) = self.live.iter_mut().find(|s| s.id == id)
                {
                    let rtt = Duration::from_millis(ms);
                    (s.rtt.smoothed, s.rtt.latest) = (Some(rtt), Some(rtt));
                    s.rtt.min = Some(s.rtt.min.map_or(rtt, |least| least.min(rtt)));
                    s.delivery.pacing_rate = f64::from(s.window.cwnd * s.mss) * 1e3 / ms as f64;
                }
            }
            Step::Lost(n) => {
                if let Some(subflow) = nth(&self.live, n) {
                    self.tell(scheduler, &Event::Lost { subflow, kind: LossKind::FastRecovery });
                }
            }
            Step::Time(us) => self.now += Duration::from_micros(us),
        }
    }
}

fn view_of(id: u8, path: &Path) -> SubflowView {
    let mut s = match path.rtt_ms {
        Some(ms) => sub(id).rtt(ms),
        None => sub(id).no_rtt(),
    };
    if path.slow_start {
        s = s.slow_start();
    }
    if path.backup {
        s = s.backup();
    }
    let mut s = s.cwnd(path.cwnd).mss(path.mss).buffer_space(path.buffer).0;
    s.delivery.pacing_rate = path.rtt_ms.map_or(0.0, |ms| f64::from(path.cwnd * path.mss) * 1e3 / ms as f64);
    s
}

fn path() -> impl Strategy<Value = Path> {
    let rtt = prop_oneof![8 => (1u64..800).prop_map(Some), 1 => Just(None)];
    let mss = prop_oneof![Just(1000u32), Just(1428), Just(500)];
    (rtt, 1u32..40, mss, any::<bool>(), proptest::bool::weighted(0.2), 2u64..60).prop_map(
        |(rtt_ms, cwnd, mss, slow_start, backup, buffer)| {
            let buffer = buffer * u64::from(mss);
            Path { rtt_ms, cwnd, mss, backup, slow_start, buffer }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..60_000).prop_map(Step::Write),
        12 => (any::<u8>(), 1u32..20).prop_map(|(n, k)| Step::Ack(n, k)),
        1 => any::<u8>().prop_map(Step::Down),
        1 => any::<u8>().prop_map(Step::Stale),
        2 => (any::<u8>(), 1u32..40).prop_map(|(n, k)| Step::Cwnd(n, k)),
        2 => (any::<u8>(), 1u64..800).prop_map(|(n, k)| Step::Rtt(n, k)),
        1 => any::<u8>().prop_map(Step::Lost),
        4 => (1u64..300_000).prop_map(Step::Time),
    ]
}

/// Runs the steps, then acknowledges until all data is delivered.
fn delivers(factory: &dyn SchedulerFactory, paths: &[Path], window: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let values = Values::parse(&factory.parameters(), &[]).expect("defaults are right");
    let mut scheduler = factory.build(&values).expect("defaults build");
    let scheduler = scheduler.as_mut();
    let mut world = World::new(paths, window * MSS);
    for step in steps {
        world.apply(scheduler, step);
        world.note_blocking(scheduler);
        world.drain(factory, scheduler)?;
        world.note_blocking(scheduler);
    }
    for round in 0..200_000u32 {
        if world.map.first_unacked() == world.map.written_end() {
            return Ok(());
        }
        let until = world.drain(factory, scheduler)?;
        world.note_blocking(scheduler);
        let ids: Vec<_> = world.live.iter().filter(|s| s.window.in_flight > 0).map(|s| s.id).collect();
        match (ids.is_empty(), until) {
            (false, _) => {
                world.now += Duration::from_millis(7);
                world.ack(scheduler, ids[round as usize % ids.len()], 1 + round % 5);
            }
            (true, Some(until)) => world.now = until,
            (true, None) => return Err(TestCaseError::fail(format!("{} stalls", factory.name()))),
        }
    }
    Err(TestCaseError::fail(format!("{} does not end", factory.name())))
}

type Case = (Vec<Path>, u64, Vec<Step>);

/// One to eight subflows, a window of at least 4 segments, and a sequence of steps.
fn case() -> impl Strategy<Value = Case> {
    (proptest::collection::vec(path(), 1..9), 4u64..120, proptest::collection::vec(step(), 1..60))
}

/// Tries the largest possible number of subflows.
fn thirty_two_subflows(factory: &dyn SchedulerFactory) -> Result<(), TestCaseError> {
    let path = |i: u64| Path {
        rtt_ms: Some(5 + 11 * i),
        cwnd: 10,
        mss: 1000,
        backup: i % 7 == 6,
        slow_start: i.is_multiple_of(3),
        buffer: 30_000,
    };
    let paths: Vec<_> = (0..SubflowId::MAX_SUBFLOWS as u64).map(path).collect();
    let steps = [Step::Write(900_000), Step::Down(3), Step::Ack(0, 5), Step::Time(5000), Step::Down(1), Step::Down(2)];
    [4, 100, 5000].into_iter().try_for_each(|window| delivers(factory, &paths, window, &steps))
}

/// Checks a scheduler with its default parameters on 100 random connections of one to eight subflows, and on one
/// connection of 32: it must give data only to subflows that can take it, its waits must end, and all data must be
/// delivered.
///
/// # Panics
/// If a property does not hold. The message has the smallest case that was found.
pub fn holds(factory: &dyn SchedulerFactory) {
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let random = runner.run(&case(), |(paths, window, steps)| delivers(factory, &paths, window, &steps));
    if let Err(error) = random {
        panic!("{}: {error}", factory.name());
    }
    if let Err(error) = thirty_two_subflows(factory) {
        panic!("{}: 32 subflows: {error}", factory.name());
    }
}
