//! `weave`: only paths whose bytes earn their place in the receive window, and each byte where it arrives in time.
//!
//! # What it does
//!
//! A byte takes up room in the receive window until it and all before it have arrived. So `weave` chooses the longest
//! delay that it allows, the horizon D, such that the paths within it deliver most, and keeps no more in flight on a path
//! than that takes. A byte goes to the path where it arrives first; a slower path takes data as far ahead as the faster
//! ones deliver until then. Where the window has room beyond some paths but not for one more, that one gets bursts at the
//! window's end. What holds the stream up is sent again where it arrives sooner, and copies keep the estimates of
//! unused paths fresh.
//!
//! # Formula
//!
//! ```text
//! o_i = (RTT_i + L/c_i)/2,  b_i = RTT_i − o_i
//! m   = arg max over m of  min(Σ_{i≤m} r_i, W/(o_m + min b_i))      paths in order of o; the previous m counts 1 + h times
//! D   = max(o_m, W/Σ r_i − min b_i)
//! in flight on i ≤ max(⌊r_i·(D + b_i)⌋, ⌈r_i·RTT_i⌉)               whole segments
//! a_i = o_i + max(what waits at i's bottleneck/r_i, (in flight − r_i·RTT_i)/r_i, t_i)
//! B   = (W − Σ r_i·(o_m + o_j + 2·min b_i)/2)/(1 + Σ r_i/2r_j)  bursts on j > m, if these lanes and B in each
//!       o_j + min b_i + B/r_j deliver more by h; then D = o_m
//! N_j = Σ max(r_i·(a_j − a_i), min(c_i·(a_j − a_i), what i's congestion window takes now))
//!       over the i with a_i < a_j; j takes what lies behind N_j unassigned bytes
//! ```
//!
//! * RTT_i: smallest round trip of a full segment; o_i, b_i: one way there and back, s; L: bytes of a full segment; W: receive window, bytes.
//! * c_i: the link's rate, the largest that a train of acknowledgements has shown; r_i: what i delivers when it is kept
//!   busy, bytes/s. That is the delivery rate where a queue shows that it was busy, and c_i where none does, at most a
//!   congestion window each RTT_i.
//! * t_i: how long until the next acknowledgement is due, if i's windows are full; s.
//! * h: `hysteresis`.
//! * In slow start i is taken to double what it delivers each RTT_i, up to r_i, and has at most 17/16·r_i·RTT_i + 4·L in flight.
//!   Until its first loss at most 10·L wait at its bottleneck, and after it max(10·L, w − c_i·RTT_i, w/4), with the congestion window w.
//!   These limits do not hold while what is written fills a window of more than 6·Σ r_i·(o_m + min b_i).
//! * A path that has cost more than it has brought is not used while there is another one. It costs what the others would deliver while
//!   nothing new can go out although they have room, because a byte of it is late by RTT_i. Of what it has brought W bytes count, and in
//!   debt it pays r_i each second.
//! * Bursts only where no i ≤ m has lost anything.
//! * q_i: the least lateness that acknowledgements on i showed in its last four to eight round trips with traffic, as data waits behind that of
//!   others. Data counts as lost when it is overdue by RTT_i + q_i. Before i has shown any, the largest q of the other paths counts, and
//!   before any path has, nothing counts as lost. What holds the stream up arrives elsewhere after a_j + q_j, and if it goes again where it
//!   was, after a_i; where j is behind a queue of others, which q_j > RTT_j/8 shows, after a_i − t, with the time t for which i has been silent.
//! * Copies that only keep estimates fresh are at most 3 % of what was written.
//! * For low delay, a copy of what i has goes out on any j with room where it arrives before the original. Where i loses packets, or where
//!   neither has a price or a quota and j is in slow start or delivers at least what is written, it need only arrive before a repeat would:
//!   a_j < (when i's is due) + RTT_i + o_j.
//!
//! # Source
//!
//! Ours. The horizon is that of the bound on goodput (`pathweave_lab::bound`), the distance N_j that of DPSAF §II, and a_i that of
//! EDPF. `docs/weave.md` has the derivation, what each rule is worth, and where it loses.
//!
//! # Deviations
//!
//! None, as it has no other source. Two choices beyond the formula:
//!
//! * A path of which nothing is known yet counts with its initial window each round trip, so that it is tried. A path is known once a burst has
//!   shown its link's rate, or while a queue shows that it delivers all that it can.
//! * A round trip whose acknowledgement covers one segment only shows how long the receiver waits, and says nothing about a queue.

mod bursts;
mod copies;
#[cfg(test)]
mod copies_tests;
mod debts;
#[cfg(test)]
mod debts_tests;
mod lanes;
mod path;
#[cfg(test)]
mod tests;
mod without;

use super::forward::beyond;
use bursts::Burst;
use copies::Load;
use core::ops::Range;
use debts::Blame;
use lanes::{Lane, Lanes};
use path::Path;
use pathweave_proto::parameter::{Kind, Parameter};
use pathweave_proto::scheduler::{
    Assign, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowView, View, WindowUse,
};
use pathweave_proto::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};
use without::{Rule, Without};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "weave",
    source: "ours",
    summary: "uses only paths whose bytes earn their place in the receive window",
    parameters: &[
        Parameter {
            name: "objective",
            kind: Kind::Choice("throughput latency cost"),
            unit: "",
            default: "throughput",
            description: "latency: also copies on idle paths where they pay off or cost nothing; cost: dearer paths only when needed",
            source: "ours",
        },
        Parameter {
            name: "hysteresis",
            kind: Kind::Number { min: 0.0, max: 1.0 },
            unit: "",
            default: "0.05",
            description: "by how much other paths must be better before they are used instead",
            source: "ours",
        },
        Parameter {
            name: "patience",
            kind: Kind::Time,
            unit: "time",
            default: "1s",
            description: "how long a path is unused before a copy refreshes its estimates, and how long data may wait for cheaper paths",
            source: "ours",
        },
        #[cfg(any(test, weave_ablations))]
        without::PARAMETER,
    ],
    queues: false,
    duplicates: true,
    build: |v| {
        let objective = match v.choice("objective") {
            "latency" => Objective::Latency,
            "cost" => Objective::Cost,
            _ => Objective::Throughput,
        };
        let mut weave = Weave::new(objective, v.number("hysteresis"), v.time("patience"));
        if cfg!(any(test, weave_ablations)) {
            weave.without = Without::named(v.choice(without::PARAMETER.name));
        }
        Ok(Box::new(weave))
    },
};

/// What it tries to make good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Goodput.
    Throughput,
    /// The time until data arrives; idle paths may carry copies.
    Latency,
    /// What the paths cost; dearer ones are used only when the cheaper ones take longer than the patience.
    Cost,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Weave {
    objective: Objective,
    hysteresis: f64,
    patience: Duration,
    without: Without,
    /// Estimates by the subflows' names.
    paths: Vec<Path>,
    /// How many lanes were used last.
    used: usize,
    /// The receive window, bytes: the largest one lately.
    window: f64,
    /// The lanes of the last decision; kept for their memory.
    lanes: Vec<Lane>,
    /// Everything before this was sent again where it held the stream up.
    repeated: DataSeq,
    /// Bytes of all copies for estimates.
    refreshed: u64,
    /// The last burst at the window's end.
    burst: Burst,
    /// How much is written; known only where the objective is low delay.
    load: Load,
    /// When it decided last, and for which path others have waited since.
    decided_at: Instant,
    blame: Option<Blame>,
    /// When the data of the last decision should arrive, s after it.
    takes: f64,
}

impl Weave {
    /// With its objective; `hysteresis` as a share, and its `patience`.
    pub fn new(objective: Objective, hysteresis: f64, patience: Duration) -> Self {
        Weave {
            objective,
            hysteresis,
            patience,
            without: Without::default(),
            paths: Vec::new(),
            used: 0,
            window: 0.0,
            lanes: Vec::new(),
            repeated: DataSeq(0),
            refreshed: 0,
            burst: Burst::default(),
            load: Load::default(),
            decided_at: Instant::default(),
            blame: None,
            takes: 0.0,
        }
    }

    fn path(&mut self, id: SubflowId) -> &mut Path {
        let i = usize::from(id.0);
        if self.paths.len() <= i {
            self.paths.resize_with(i + 1, Path::default);
        }
        &mut self.paths[i]
    }

    fn assign(&mut self, lane: &Lane, range: Range<DataSeq>, reason: Reason) -> Decision {
        self.takes = lane.arrival;
        Decision::Assign(Assign { subflow: lane.id, range, window: WindowUse::Respect, reason })
    }

    /// New data: for the lane where it arrives first, or as far ahead as sooner lanes deliver meanwhile.
    fn weave(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if view.queue.unassigned_bytes() == 0 {
            return None;
        }
        let (j, lane) = lanes.open().min_by(|a, b| a.1.arrival.total_cmp(&b.1.arrival))?;
        let mss = lane.segment();
        // Whole segments, or the others would be left with crumbs.
        let ahead = if self.without.leaves_out(Rule::Ahead) { 0 } else { lanes.ahead(j) as u64 / mss * mss };
        // What arrives later is further ahead: where this is beyond the window, the others are too.
        let range = place(view, ahead)?;
        let whole = view.inside_window(view.subflow(lane.id)?, range.clone())?;
        // Where the others change nothing, one decision gives all.
        let most = if lanes.used == 1 { mss * u64::from(lane.room) } else { mss };
        let mut end = whole.end.min(whole.start + most);
        let last = range.end.min(view.send_window_end);
        if last > end && last.since(end) < mss && last.since(whole.start) <= mss * u64::from(lane.room) {
            // The window's last bytes go only with a full segment before them.
            end = last;
        }
        let rule = if ahead == 0 {
            "arrives first here, in {arrival_ms}, within the horizon of {horizon_ms}"
        } else {
            "{ahead_bytes} ahead, which sooner paths deliver until this arrives, in {arrival_ms}, within the horizon of {horizon_ms}"
        };
        let reason = Reason::new(rule)
            .with("arrival_ms", lane.arrival * 1e3)
            .with("horizon_ms", lanes.horizon * 1e3)
            .with("rate_bytes_per_s", lane.rate);
        let reason = if ahead == 0 { reason } else { reason.with("ahead_bytes", ahead as f64) };
        Some(self.assign(lane, whole.start..end, reason))
    }

    /// Nothing is out, so nothing would end a wait: the best lane with space goes on.
    fn go_on(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if view.subflows.iter().any(|s| s.window.unacked + s.queue.unsent > 0) {
            return None;
        }
        let open = |lane: &Lane| view.subflow(lane.id).filter(|s| s.has_space());
        let (lane, s) = lanes.all.iter().find_map(|lane| Some((lane, open(lane)?)))?;
        let range = view.next_for(s, 1)?;
        Some(self.assign(lane, range, Reason::new("nothing is out, so nothing would end a wait")))
    }

    fn choose(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        let new = self.rescue(view, lanes).or_else(|| self.weave(view, lanes));
        if new.is_some() {
            return new;
        }
        let head = view.first_unacked();
        let owners = if lanes.takers.is_empty() { None } else { view.queue.span_at(head) };
        let arrives = owners.and_then(|(_, owners)| self.arrival_of(head, owners));
        self.blame = self.blame(view, lanes, arrives);
        let again = self.repeat_head(view, lanes, arrives.map(|(due, _)| due)).or_else(|| self.burst(view, lanes));
        if again.is_some() {
            return again;
        }
        let copy = if self.objective == Objective::Latency { self.copy_where_it_pays(view, lanes) } else { None };
        copy.or_else(|| self.refresh(view, lanes)).or_else(|| self.go_on(view, lanes))
    }
}

impl Scheduler for Weave {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        // What the peer offers shrinks while a hole keeps the window's edge where it is.
        self.window = larger(self.window * WINDOW_DECAY, view.send_window as f64);
        let mut lanes = Lanes { all: core::mem::take(&mut self.lanes), ..Lanes::default() };
        self.compare(view, &mut lanes);
        // What arose since the last decision is paid from now on.
        self.charge(view.now);
        let decision = self.choose(view, &lanes).unwrap_or_else(|| {
            let paced = lanes.used().iter().map(|l| l.later).filter(|later| *later > 0.0);
            let later = paced.reduce(f64::min).filter(|_| view.sendable().is_some());
            let rule = match later {
                None => "{used_paths} in use, which got all that the horizon of {horizon_ms} takes",
                Some(_) => "a longer burst could overflow the bottleneck's queue",
            };
            Decision::Wait {
                until: later.map(|s| view.now + Duration::from_secs_f64(s).max(Duration::from_micros(1))),
                for_subflow: None,
                reason: Reason::new(rule).with("used_paths", self.used as f64).with("horizon_ms", lanes.horizon * 1e3),
            }
        });
        self.decided_at = view.now;
        self.lanes = lanes.all;
        decision
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
        let down = if let Event::SubflowDown(id) = event { Some(*id) } else { None };
        self.end_wait(view.now, view.first_unacked(), down);
        match event {
            Event::Acked { subflow, mappings, .. } => {
                let Some(s) = view.subflow(*subflow) else { return };
                self.path(*subflow).acknowledged(view.now, s, mappings, view.first_unacked());
            }
            Event::RttSample { subflow, rtt } => {
                let Some(s) = view.subflow(*subflow) else { return };
                let (now, round) = (view.now, s.rtt.smoothed_or_zero());
                self.path(*subflow).round_trip(now, rtt.as_secs_f64(), round);
            }
            Event::Assigned { subflow, range, .. } => {
                let due = view.now + Duration::from_secs_f64(self.takes);
                self.path(*subflow).given(view.now, range.clone(), due);
            }
            Event::Lost { subflow, .. } => self.path(*subflow).lost = true,
            // One that answers again is the path that it was: what is known of it still holds.
            Event::SubflowDown(id) => *self.path(*id) = Path::default(),
            _ => {}
        }
    }
}

/// What is unassigned beyond the first `ahead` unassigned bytes; mostly that is behind all that was given, and nothing is searched.
fn place(view: &View<'_>, ahead: u64) -> Option<Range<DataSeq>> {
    let (map, end) = (view.queue, view.queue.assigned_end());
    let gaps = end.since(map.first_unacked()) - map.assigned_bytes();
    if ahead < gaps {
        return beyond(view, ahead);
    }
    let start = end + (ahead - gaps);
    (start < map.written_end().min(view.send_window_end)).then_some(start..map.written_end())
}

/// How fast a larger window of before is forgotten, for each decision: half of it within some 700.
const WINDOW_DECAY: f64 = 0.999;

/// The larger one of two numbers. `f64::max` needs five more instructions to handle NaN, which does not occur here.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller one.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The smallest round trip, s; a second where none was measured.
fn base_rtt(s: &SubflowView) -> f64 {
    larger(s.rtt.min.or(s.rtt.smoothed).map_or(1.0, |rtt| rtt.as_secs_f64()), 1e-6)
}
