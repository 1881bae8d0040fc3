//! `weave`: uses a path only if the receive window delivers more with it, and sends each byte on the path where it
//! arrives in time.
//!
//! # What it does
//!
//! A byte takes up room in the receive window until it and all bytes before it have arrived. So `weave` limits the
//! delay to a horizon D. It chooses the D at which the paths with smaller delays deliver most, and bounds the data in
//! flight on each path by D. A byte goes to the path where it arrives first; a slower path takes data as far ahead as
//! the faster ones deliver meanwhile. Late data that holds the stream up is repeated on a path where it arrives sooner.
//! Copies keep the estimates of unused paths fresh.
//!
//! # Formula
//!
//! ```text
//! o_i = (RTT_i + L/c_i)/2,  b_i = RTT_i − o_i
//! m   = arg max over m of  min(Σ_{i≤m} r_i, W/(o_m + min b_i))      paths in order of o
//! D   = max(o_m, W/Σ r_i − min b_i)
//! in flight on i ≤ max(⌊r_i·(D + b_i)⌋, ⌈r_i·RTT_i⌉)               whole segments
//! a_i = o_i + max(bytes that wait at i's bottleneck/r_i, (in flight − r_i·RTT_i)/r_i)
//! N_j = Σ r_i·(a_j − a_i)  over the i with a_i < a_j;  j takes the data behind N_j unassigned bytes
//! ```
//!
//! Quantities:
//!
//! * RTT_i: smallest round trip of a full segment; o_i, b_i: one-way delay there and back, s; L: bytes of a full
//!   segment; W: receive window, bytes.
//! * c_i: the link's rate, which is the largest rate of a train of acknowledgements or of delivery; r_i: the rate at
//!   which i delivers if it is kept busy; both in bytes/s. If a queue shows that i was busy, r_i is the delivery rate.
//!   Otherwise r_i is c_i, after slow start at most a congestion window each RTT_i. A delivery rate that was measured
//!   within two round trips after the stream had nothing more to send is a lower bound: it never lowers r_i.
//! * a_i: time until a byte given to i now arrives, s. If data on i is overdue by more than RTT_i, the excess is added,
//!   but at most the time since i's last acknowledgement. m: the number of paths in use.
//!
//! Further rules:
//!
//! * At most 10·L wait at a bottleneck, unless its queue is longer already.
//! * If a path has room and no new data can be sent, data of i that holds the stream up is repeated, once, on another
//!   path j if it arrives sooner there. Data that is overdue by RTT_i counts as lost: then the repeat on j must arrive
//!   sooner than a repeat on i would.
//! * A path that was unused for the patience carries a copy of two segments; these copies are at most 3 % of the
//!   written data.
//! * With `objective=latency`, data in flight on i is also copied to any j with room if the copy arrives before the
//!   original. If nothing more is to be sent and neither path has a price or a quota, the copy need only arrive before
//!   a repeat would: a_j < (time until i's data is due) + RTT_i + o_j.
//!
//! # Source
//!
//! Ours. The horizon comes from the bound on goodput (`pathweave_lab::bound`), the distance N_j from DPSAF §II, and a_i
//! from EDPF. `docs/weave.md` has the derivation, and the cases in which `weave` loses.
//!
//! # Deviations
//!
//! None, because there is no other source. Two choices beyond the formula:
//!
//! * A path that has not been measured yet counts with an initial window each round trip, so that it is tried. A path
//!   counts as measured once a burst has shown its link's rate, and while a queue shows that it delivers as much as it
//!   can.
//! * If an acknowledgement covers only one segment, its round trip may include the receiver's timer. Such a round trip
//!   is not taken as a sign of a queue.

mod copies;
mod lanes;
mod path;
#[cfg(test)]
mod tests;

use super::forward::beyond;
use core::ops::Range;
use lanes::{Lane, Lanes};
use path::Path;
use pathweave_scheduler::parameter::{Kind, Parameter};
use pathweave_scheduler::{
    Assign, DataSeq, Decision, Event, Reason, Scheduler, SchedulerEntry, SubflowId, SubflowView, View, WindowUse,
};
use pathweave_units::Duration;

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "weave",
    source: "ours",
    summary: "uses a path only if the receive window delivers more with it",
    parameters: &[
        Parameter {
            name: "objective",
            kind: Kind::Choice("throughput latency cost"),
            unit: "",
            default: "throughput",
            description: "latency: also copies data in flight to paths with room; cost: uses dearer paths only if the cheaper ones need longer than the patience",
            source: "ours",
        },
        Parameter {
            name: "patience",
            kind: Kind::Time,
            unit: "time",
            default: "1s",
            description: "time for which a path is unused before a copy refreshes its estimates; with objective=cost, also the longest time for which data waits for cheaper paths",
            source: "ours",
        },
    ],
    queues: false,
    duplicates: true,
    build: |v| {
        let objective = match v.choice("objective") {
            "latency" => Objective::Latency,
            "cost" => Objective::Cost,
            _ => Objective::Throughput,
        };
        Ok(Box::new(Weave::new(objective, v.time("patience"))))
    },
};

/// The quantity that the scheduler optimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// High goodput.
    Throughput,
    /// A short time until data arrives: paths with room carry copies of data in flight.
    Latency,
    /// Low cost: dearer paths are used only if the cheaper ones would take longer than the patience for the written
    /// data.
    Cost,
}

/// The scheduler `weave`; its rule is described in the [module](self).
#[derive(Debug)]
pub struct Weave {
    objective: Objective,
    patience: Duration,
    /// The estimates of each path, indexed by the subflow's identifier.
    paths: Vec<Path>,
    /// The largest recent receive window, bytes.
    window: f64,
    /// The lanes of the last decision, kept to reuse their memory.
    lanes: Vec<Lane>,
    /// The end of the data that has been repeated because it held the stream up.
    repeated: DataSeq,
    /// Bytes of all copies that were sent to refresh estimates.
    refreshed: u64,
    /// The time in which the data of the last decision should arrive, s.
    takes: f64,
}

impl Weave {
    /// A scheduler with these parameters.
    pub fn new(objective: Objective, patience: Duration) -> Self {
        Weave {
            objective,
            patience,
            paths: Vec::new(),
            window: 0.0,
            lanes: Vec::new(),
            repeated: DataSeq(0),
            refreshed: 0,
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

    /// Assigns new data to the open lane where a byte arrives first, as far ahead as sooner lanes deliver meanwhile.
    fn weave(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        if view.queue.unassigned_bytes() == 0 {
            return None;
        }
        let lane = lanes.open().min_by(|a, b| a.arrival.total_cmp(&b.arrival))?;
        let mss = lane.segment();
        // Whole segments, so that no pieces of a few bytes are left for the other lanes.
        let ahead = lanes.ahead(lane) as u64 / mss * mss;
        // Lanes with later arrivals would start even further ahead. So if this place is beyond the window, theirs are
        // too.
        let range = place(view, ahead)?;
        let whole = view.inside_window(view.subflow(lane.id)?, range.clone())?;
        // With a single lane in use, one decision can assign everything.
        let most = if lanes.used == 1 { mss * u64::from(lane.room) } else { mss };
        let mut end = whole.end.min(whole.start + most);
        let last = range.end.min(view.send_window_end);
        if last > end && last.since(end) < mss && last.since(whole.start) <= mss * u64::from(lane.room) {
            // Less than a segment is left before the window's or the stream's end. It goes with the segment before it.
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

    /// If nothing is in flight, assigns a segment to the nearest lane that has room, because no event would end a wait.
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
        self.weave(view, lanes)
            .or_else(|| self.repeat(view, lanes))
            .or_else(|| self.copy_where_it_pays(view, lanes))
            .or_else(|| self.refresh(view, lanes))
            .or_else(|| self.go_on(view, lanes))
    }
}

impl Scheduler for Weave {
    fn decide(&mut self, view: &View<'_>) -> Decision {
        // The offered window shrinks while a hole keeps its right edge in place, so the largest recent one counts.
        self.window = f64::max(self.window * WINDOW_DECAY, view.send_window as f64);
        let mut lanes = Lanes { all: core::mem::take(&mut self.lanes), ..Lanes::default() };
        self.compare(view, &mut lanes);
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
                reason: Reason::new(rule).with("used_paths", lanes.used as f64).with("horizon_ms", lanes.horizon * 1e3),
            }
        });
        self.lanes = lanes.all;
        decision
    }

    fn on_event(&mut self, event: &Event<'_>, view: &View<'_>) {
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
            // A subflow that comes up again keeps its estimates, because its path is the same.
            Event::SubflowDown(id) => *self.path(*id) = Path::default(),
            _ => {}
        }
    }
}

/// The first unassigned data after `ahead` unassigned bytes, if the send window has room for it. Usually that is behind
/// all assigned data, and no search is needed.
fn place(view: &View<'_>, ahead: u64) -> Option<Range<DataSeq>> {
    let (map, end) = (view.queue, view.queue.assigned_end());
    let gaps = end.since(map.first_unacked()) - map.assigned_bytes();
    if ahead < gaps {
        return beyond(view, ahead);
    }
    let start = end + (ahead - gaps);
    (start < map.written_end().min(view.send_window_end)).then_some(start..map.written_end())
}

/// Segments of an initial window. This is the assumed rate of an unmeasured path in each round trip, and the largest
/// queue at a bottleneck.
const INITIAL_WINDOW: u32 = 10;
/// Factor by which the largest recent window shrinks at each decision: to half in about 700 decisions.
const WINDOW_DECAY: f64 = 0.999;

/// The smallest round trip, s; one second if none was measured yet.
fn base_rtt(s: &SubflowView) -> f64 {
    s.rtt.min.or(s.rtt.smoothed).map_or(1.0, |rtt| rtt.as_secs_f64()).max(1e-6)
}
