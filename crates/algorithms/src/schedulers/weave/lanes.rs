//! Lanes: the paths with their present estimates. They are compared here: which ones are used, and how much each may
//! have in flight.

use super::{Objective, Rule, Weave, larger, smaller};
use pathweave_proto::congestion::Phase;
use pathweave_proto::scheduler::{SubflowView, View};
use pathweave_proto::{SubflowId, SubflowSet};

/// In slow start a path has at most this many times the data of its round trip in flight, plus this many segments.
const STARTING: (f64, f64) = (1.0625, 4.0);
/// A window is ample if it holds this many times the data that the lanes in use can have in flight without queues. Then
/// slow start needs no limits: if it ends with a loss, at most four times that data is in flight (twice the path and a
/// queue as long as its delay), and two times more is sent until the loss is repaired.
const AMPLE: f64 = 6.0;
/// Segments of an initial window, which a path may send before it is measured, and which may wait at a bottleneck
/// before the first loss.
const INITIAL_WINDOW: u32 = 10;
/// After a loss a burst may be at least the congestion window divided by this.
const MEASURES: f64 = 4.0;
/// Added to the rank of lanes in debt, so that they come after all others, s.
const LAST: f64 = 1e9;
/// The most doublings that an estimate counts: more than any window holds.
const MOST_DOUBLINGS: f64 = 16.0;

/// A subflow that may be used, with its present estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) id: SubflowId,
    /// Bytes of a full segment.
    pub(super) mss: u32,
    /// Bytes that the lane was given and that are not acknowledged.
    pub(super) out: u64,
    /// The delay to the receiver and the smallest round trip, both without queues, s.
    pub(super) there: f64,
    pub(super) rtt: f64,
    /// Whether the lane has cost the others more than it has brought.
    pub(super) in_debt: bool,
    /// The key by which lanes are sorted: the shortest delay first, and lanes in debt last.
    rank: f64,
    /// The rate at which the lane delivers if it is kept busy, and the rate at which it has delivered, bytes/s.
    pub(super) rate: f64,
    delivered: f64,
    /// The rate at which the lane's bottleneck sends while a whole window arrives there at once, bytes/s.
    burst_rate: f64,
    /// Whether the lane is in slow start and has no queue.
    pub(super) doubles: bool,
    /// Whether the lane is in slow start, and its queue is no longer than a burst of its own would make it.
    careful: bool,
    /// The time until a byte that it is given now arrives, s.
    pub(super) arrival: f64,
    /// The time by which its next acknowledgement is overdue, s.
    pub(super) late: f64,
    /// The part of `arrival` that is there because it has been silent while an acknowledgement was overdue, s.
    pub(super) owes: f64,
    /// Full segments for which its windows have room, whatever the horizon is: within the limits on bursts, and without
    /// them.
    pub(super) space: u32,
    unpaced: u32,
    /// Its congestion window, bytes.
    pub(super) window: f64,
    /// Full segments that it may be given now.
    pub(super) room: u32,
    /// The time until its bottleneck may be given a further segment, s; 0 if it may be given one now.
    pub(super) later: f64,
}

impl Lane {
    pub(super) fn segment(&self) -> u64 {
        u64::from(self.mss)
    }

    pub(super) fn back(&self) -> f64 {
        self.rtt - self.there
    }

    /// The bytes that the lane delivers within `time` seconds.
    fn delivers(&self, time: f64) -> f64 {
        // The data that its window has room for now does not wait for acknowledgements.
        let at_once = smaller(self.burst_rate * time, f64::from(self.unpaced) * f64::from(self.mss));
        let steady = self.rate * time;
        if !self.doubles {
            return larger(steady, at_once);
        }
        let rounds = smaller(time / self.rtt, MOST_DOUBLINGS);
        // The integral of a rate that doubles each round.
        let growing = self.delivered * self.rtt * (libm::exp2(rounds) - 1.0) / core::f64::consts::LN_2;
        larger(smaller(steady, growing), at_once)
    }
}

/// All lanes in order of their delays, and the choice among them.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) all: Vec<Lane>,
    /// The number of lanes in use, which are the first of `all`.
    pub(super) used: usize,
    /// The lanes in use that may be given data now.
    pub(super) takers: SubflowSet,
    /// The horizon: the longest delay of data that is given now, s.
    pub(super) horizon: f64,
    /// Bytes of the window that the lanes in use take up while no queue delays them.
    pub(super) holds: f64,
    /// The index of the lane that gets bursts at the window's end, and the bytes of a burst.
    pub(super) burst: Option<(usize, f64)>,
}

impl Lanes {
    /// The lanes in use.
    pub(super) fn used(&self) -> &[Lane] {
        &self.all[..self.used]
    }

    /// The lanes in use that may be given data now, with their indices.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, &Lane)> {
        self.used().iter().enumerate().filter(|(_, lane)| lane.room > 0)
    }

    /// The bytes that sooner lanes deliver until the next byte of lane `j` arrives.
    pub(super) fn ahead(&self, j: usize) -> f64 {
        let at = self.all[j].arrival;
        let sooner = self.used().iter().filter(|lane| lane.arrival < at);
        sooner.map(|lane| lane.delivers(at - lane.arrival)).sum()
    }
}

impl Weave {
    /// Fills `lanes` with the present estimates, and chooses the lanes to use and the horizon.
    pub(super) fn compare(&mut self, view: &View<'_>, lanes: &mut Lanes) {
        lanes.all.clear();
        let since = view.now.since(self.decided_at).as_secs_f64();
        for s in view.candidates() {
            let lane = self.lane(view, s, since);
            lanes.all.push(lane);
        }
        if self.objective == Objective::Cost {
            self.keep_cheap(view, &mut lanes.all);
        }
        // Usually they are in order already.
        if !lanes.all.is_sorted_by(|a, b| a.rank < b.rank || (a.rank == b.rank && a.id < b.id)) {
            lanes.all.sort_unstable_by(|a, b| a.rank.total_cmp(&b.rank).then(a.id.cmp(&b.id)));
        }
        // Only a stream that fills the window can continue while a loss is repaired.
        let fills_window = view.queue.written_end() >= view.send_window_end;
        self.weigh(lanes, fills_window);
    }

    fn lane(&mut self, view: &View<'_>, s: &SubflowView, since: f64) -> Lane {
        let without = self.without;
        let path = self.path(s.id);
        let mss = f64::from(s.mss.max(1));
        let rtt = path.segment_rtt(s, mss);
        let window = f64::from(s.window.cwnd) * mss / rtt;
        let busy = path.was_busy(view.now, rtt);
        // A queue shows that the path was busy, so that its delivery rate is its capacity.
        let unknown = path.link_rate() == 0.0 && !busy;
        let trusted = if unknown { smaller(window, f64::from(INITIAL_WINDOW) * mss / rtt) } else { 1.0 };
        let delivered = larger(path.rate(), trusted);
        let link = larger(path.link_rate(), delivered);
        let slow_start = s.window.phase == Phase::SlowStart && s.window.cwnd < s.window.ssthresh;
        let rate = if busy {
            delivered
        } else if slow_start {
            link
        } else {
            smaller(link, window)
        };
        let queue = path.delays(rtt) * link;
        let transmission = if unknown { 0.0 } else { mss / link };
        let there = (rtt + transmission) / 2.0;
        let behind = if unknown { 0.0 } else { s.queue.bytes as f64 - rate * rtt };
        let queued = if unknown { 0.0 } else { path.waiting(view.now, rate) };
        let late = path.late(view.now, rtt);
        let owes = path.owes(view.now, late);
        // A congestion window that no loss has set does not show how much the path holds, even if slow start has ended
        // by itself.
        let mut burst = f64::from(INITIAL_WINDOW) * mss;
        let left_out = if slow_start {
            without.leaves_out(Rule::Start)
        } else if !path.lost {
            without.leaves_out(Rule::Start) || without.leaves_out(Rule::AfterStart)
        } else {
            // The bottleneck's queue has room for the queue of a full window, and a part of a window shows the link's
            // present rate.
            let full = f64::from(s.window.cwnd) * mss;
            burst = larger(burst, larger(full - link * rtt, full / MEASURES));
            without.leaves_out(Rule::AfterLoss)
        };
        let paced = !left_out && !unknown && queue <= burst;
        let mut room = if s.has_space() { s.window_space() } else { 0 };
        // A full window has room for the next byte when the next acknowledgement comes.
        let full = if room == 0 { path.next_acknowledgement(view.now, rtt - there) } else { 0.0 };
        let (unpaced, mut later) = (room, 0.0);
        if paced {
            // A longer burst could overflow a short queue, and the loss would halve the window long before the path is
            // full.
            let left = (burst - queued) / mss;
            if left < 1.0 {
                later = (1.0 - left) * mss / link;
            }
            room = room.min(left as u32);
        }
        let in_debt = path.in_debt(rate * since);
        Lane {
            id: s.id,
            mss: s.mss.max(1),
            out: s.queue.bytes,
            there,
            rtt,
            in_debt,
            rank: if in_debt { there + LAST } else { there },
            rate,
            delivered,
            burst_rate: if busy { rate } else { link },
            doubles: slow_start && queue <= 2.0 * mss,
            careful: slow_start && paced,
            arrival: there + larger(full, larger(queued, behind) / rate) + owes,
            late,
            owes,
            space: room,
            unpaced,
            window: f64::from(s.window.cwnd) * mss,
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
    fn weigh(&mut self, lanes: &mut Lanes, fills_window: bool) {
        let (mut rate, mut back) = (0.0, f64::INFINITY);
        let (mut most, mut used) = (0.0, 0);
        for (i, lane) in lanes.all.iter().enumerate() {
            if lane.in_debt && i > 0 {
                break;
            }
            rate += lane.rate;
            back = smaller(back, lane.back());
            // If the window has room for all of them, one more lane takes nothing from the others.
            let delay = lane.there + back;
            let most_of_window = self.window / delay;
            let fits = rate <= most_of_window;
            let value = if fits { rate } else { most_of_window };
            let value = if i + 1 == self.used && !fits { value * (1.0 + self.hysteresis) } else { value };
            if fits || value > most || self.without.leaves_out(Rule::Choice) {
                (most, used) = (value, i + 1);
                lanes.horizon = larger(lane.there, self.window / rate - back);
                lanes.holds = rate * delay;
            }
        }
        lanes.burst = None;
        // Bursts cannot be worth more than the sum of all rates.
        let bursts = !self.without.leaves_out(Rule::Bursts) && !self.without.leaves_out(Rule::Choice);
        if bursts && most * (1.0 + self.hysteresis) < rate {
            used = self.weigh_bursts(lanes, most, used);
        }
        (self.used, lanes.used) = (used, used);
        let ample = fills_window && self.window > AMPLE * lanes.holds;
        let horizon = lanes.horizon;
        lanes.takers = SubflowSet::EMPTY;
        for lane in &mut lanes.all[..used] {
            let mss = f64::from(lane.mss);
            if ample {
                (lane.room, lane.later) = (lane.unpaced, 0.0);
            }
            // A segment beyond the horizon would wait, and delay all data behind it. But a path is busy only if it has
            // the data of a whole round trip in flight.
            let holds = lane.rate * lane.rtt / mss;
            let mut segments = if self.without.leaves_out(Rule::Cap) {
                u32::MAX
            } else {
                ((lane.rate * (horizon + lane.back()) / mss) as u32).max(rounded_up(holds))
            };
            if (lane.careful || lane.doubles) && !ample && !self.without.leaves_out(Rule::Start) {
                segments = segments.min(rounded_up(STARTING.0 * holds + STARTING.1));
            }
            lane.room = lane.room.min(segments.saturating_sub((lane.out / lane.segment()) as u32));
            if lane.room > 0 {
                lanes.takers = lanes.takers.with(lane.id);
            }
        }
    }
}

/// `segments` rounded up to a whole number.
fn rounded_up(segments: f64) -> u32 {
    let whole = segments as u32;
    whole.saturating_add(u32::from(f64::from(whole) < segments))
}
