//! Lanes: the paths with their present estimates. The horizon is chosen here, and with it how much each may have in
//! flight.

use super::{INITIAL_WINDOW, Objective, Weave};
use pathweave_scheduler::{Phase, SubflowId, SubflowView, View};

/// A subflow that may be used, with its present estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) id: SubflowId,
    /// Bytes of a full segment.
    pub(super) mss: u32,
    /// Bytes that the lane was given and that are not acknowledged.
    out: u64,
    /// The delay to the receiver and the smallest round trip, both without queues, s.
    pub(super) there: f64,
    pub(super) rtt: f64,
    /// The rate at which the lane delivers if it is kept busy, bytes/s.
    pub(super) rate: f64,
    /// The time until a byte that it is given now arrives, s.
    pub(super) arrival: f64,
    /// Full segments that it may be given now.
    pub(super) room: u32,
    /// The time until its bottleneck may be given a further segment, s; 0 if it may be given one now.
    pub(super) later: f64,
}

impl Lane {
    pub(super) fn segment(&self) -> u64 {
        u64::from(self.mss)
    }

    fn back(&self) -> f64 {
        self.rtt - self.there
    }
}

/// All lanes in order of their delays, and the choice among them.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) all: Vec<Lane>,
    /// The number of lanes in use, which are the first of `all`.
    pub(super) used: usize,
    /// The horizon: the longest delay of data that is given now, s.
    pub(super) horizon: f64,
}

impl Lanes {
    /// The lanes in use.
    pub(super) fn used(&self) -> &[Lane] {
        &self.all[..self.used]
    }

    /// The lanes in use that may be given data now.
    pub(super) fn open(&self) -> impl Iterator<Item = &Lane> {
        self.used().iter().filter(|lane| lane.room > 0)
    }

    /// The bytes that sooner lanes deliver until the next byte of `lane` arrives.
    pub(super) fn ahead(&self, lane: &Lane) -> f64 {
        let sooner = self.used().iter().filter(|other| other.arrival < lane.arrival);
        sooner.map(|other| other.rate * (lane.arrival - other.arrival)).sum()
    }
}

impl Weave {
    /// Fills `lanes` with the present estimates, and chooses the lanes to use and the horizon.
    pub(super) fn compare(&mut self, view: &View<'_>, lanes: &mut Lanes) {
        lanes.all.clear();
        for s in view.candidates() {
            let lane = self.lane(view, s);
            lanes.all.push(lane);
        }
        if self.objective == Objective::Cost {
            self.keep_cheap(view, &mut lanes.all);
        }
        // Usually they are in order already.
        if !lanes.all.is_sorted_by(|a, b| a.there < b.there || (a.there == b.there && a.id < b.id)) {
            lanes.all.sort_unstable_by(|a, b| a.there.total_cmp(&b.there).then(a.id.cmp(&b.id)));
        }
        self.weigh(lanes);
    }

    fn lane(&mut self, view: &View<'_>, s: &SubflowView) -> Lane {
        let path = self.path(s.id);
        let mss = f64::from(s.mss.max(1));
        let rtt = path.segment_rtt(s, mss);
        let in_slow_start = s.window.phase == Phase::SlowStart && s.window.cwnd < s.window.ssthresh;
        let (window, burst) = (f64::from(s.window.cwnd) * mss / rtt, f64::from(INITIAL_WINDOW) * mss);
        let (link, rate, known) = path.rates(view.now, rtt, window, burst, in_slow_start);
        let (mut there, mut behind, mut queued) = (rtt / 2.0, 0.0, 0.0);
        if known {
            there += mss / link / 2.0;
            behind = s.queue.bytes as f64 - rate * rtt;
            queued = path.waiting(view.now, rate);
        }
        let mut room = if s.has_space() { s.window_space() } else { 0 };
        if room > 0 && view.queue.unassigned_bytes() == 0 {
            path.idles(view.now);
        }
        let mut later = 0.0;
        // A longer burst could overflow a short queue, and the loss would halve the window long before the path is
        // full. A queue that is longer already does not overflow.
        if known && path.delays(rtt) * link <= burst {
            let left = (burst - queued) / mss;
            if left < 1.0 {
                later = (1.0 - left) * mss / link;
            }
            room = room.min(left as u32);
        }
        Lane {
            id: s.id,
            mss: s.mss.max(1),
            out: s.queue.bytes,
            there,
            rtt,
            rate,
            arrival: there + f64::max(queued, behind) / rate + path.silent(view.now, rtt),
            room,
            later,
        }
    }

    /// Keeps the cheapest lanes, and of the dearer ones as many as are needed to deliver the written data within the
    /// patience. Lanes without quota left are kept only if there are no others.
    fn keep_cheap(&self, view: &View<'_>, all: &mut Vec<Lane>) {
        let terms = |lane: &Lane| view.subflow(lane.id).map(|s| s.path).unwrap_or_default();
        let spent = |lane: &Lane| terms(lane).quota_left == Some(0);
        if all.iter().any(|lane| !spent(lane)) {
            all.retain(|lane| !spent(lane));
        }
        let order = |a: &Lane, b: &Lane| {
            let (a, b) = (terms(a), terms(b));
            a.priority.cmp(&b.priority).then(a.cost.total_cmp(&b.cost))
        };
        all.sort_unstable_by(|a, b| order(a, b).then(a.id.cmp(&b.id)));
        let backlog = view.queue.unassigned_bytes() as f64;
        let (mut rate, mut kept) = (0.0, 0);
        for i in 0..all.len() {
            let dearer = i > 0 && order(&all[i - 1], &all[i]).is_lt();
            if dearer && backlog <= rate * self.patience.as_secs_f64() {
                break;
            }
            rate += all[i].rate;
            kept = i + 1;
        }
        all.truncate(kept);
    }

    /// Chooses the lanes to use and the horizon, and limits the data that each lane may have in flight.
    fn weigh(&self, lanes: &mut Lanes) {
        let (mut rate, mut back, mut most) = (0.0, f64::INFINITY, 0.0);
        lanes.used = 0;
        for (i, lane) in lanes.all.iter().enumerate() {
            rate += lane.rate;
            back = lane.back().min(back);
            // If the window has room for all of them, one more lane takes nothing from the others.
            let most_of_window = self.window / (lane.there + back);
            let value = most_of_window.min(rate);
            if rate <= most_of_window || value > most {
                (most, lanes.used) = (value, i + 1);
                lanes.horizon = lane.there.max(self.window / rate - back);
            }
        }
        let horizon = lanes.horizon;
        for lane in &mut lanes.all[..lanes.used] {
            let mss = f64::from(lane.mss);
            // A segment beyond the horizon would wait, and delay all data behind it. But a path is busy only if it has
            // the data of a whole round trip in flight.
            let within = (lane.rate * (horizon + lane.back()) / mss) as u32;
            let segments = within.max(rounded_up(lane.rate * lane.rtt / mss));
            lane.room = lane.room.min(segments.saturating_sub((lane.out / lane.segment()) as u32));
        }
    }
}

/// `segments` rounded up to a whole number.
fn rounded_up(segments: f64) -> u32 {
    let whole = segments as u32;
    whole.saturating_add(u32::from(f64::from(whole) < segments))
}
