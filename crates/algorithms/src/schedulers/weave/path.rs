//! What is known of one path.

use super::{base_rtt, larger, smaller};
use core::ops::Range;
use pathweave_proto::DataSeq;
use pathweave_proto::scheduler::SubflowView;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Segments of a train of acknowledgements that measures a link's rate: a quarter of the congestion window, within these. The longer, the
/// less jitter makes of it.
const TRAIN: (u32, u32) = (4, 32);
/// A train was sent as a burst if that took less than this part of the time that its acknowledgements took.
const BURST: f64 = 0.75;
/// Pieces that are remembered: more than windows hold.
const MOST_SENT: usize = 4096;
/// So many of the first pieces are looked at one by one before the rest is searched.
const NEAR: usize = 4;
/// An acknowledgement of more comes after a repair, and says nothing about the link.
const LONGEST_STEP: f64 = 8.0;
/// How long the largest rate of a link is remembered once there are queues.
const LINK_MEMORY: Duration = Duration::from_secs(2);
/// Round trips for which the least lateness is measured anew; it counts for as many more.
const LATE_ROUNDS: u64 = 4;
/// Round trips for which a queue tells that its path was busy.
const BUSY_ROUNDS: f64 = 8.0;

/// What was given to a path, and when it should arrive.
#[derive(Clone, Debug)]
struct Sent {
    range: Range<DataSeq>,
    at: Instant,
    due: Instant,
}

/// Acknowledgements that come without a pause.
#[derive(Clone, Debug)]
struct Train {
    /// When the first and the last one came.
    first: Instant,
    last: Instant,
    /// When what the first one covers was given.
    given: Option<Instant>,
    /// Bytes after the first.
    bytes: f64,
}

/// Estimates of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// Delivery rate, bytes/s: the largest while no queue is seen, smoothed while there is one.
    rate: f64,
    /// When a queue was last seen.
    queued_at: Option<Instant>,
    /// Segments that the last acknowledgement covered.
    covered: f64,
    /// How long the last of these took, s. The first one may have waited for it at the receiver, and counts in a round trip.
    newest: Option<f64>,
    /// The shortest that data took, s.
    least: Option<f64>,
    /// Smallest round trips of this and the last round, s; 0: none.
    lows: [f64; 2],
    lows_until: Instant,
    /// By how much data was late at least in this and the last time, s.
    pub(super) lates: [Option<f64>; 2],
    lates_until: Instant,
    /// What was acknowledged last was a single segment, and all that was out.
    alone: bool,
    /// Largest rates of trains of acknowledgements in this and the last time, bytes/s.
    links: [f64; 2],
    links_until: Instant,
    /// Acknowledgements that came without a pause.
    train: Option<Train>,
    /// Bytes that wait at the bottleneck, going by its rate, and when that was worked out.
    waiting: f64,
    waiting_at: Instant,
    /// What it was given and when that should arrive, in the order of the stream; what was given out of that order is left out.
    sent: VecDeque<Sent>,
    /// Where the last of what it acknowledged ends, when that was given, and when its last acknowledgement came.
    acknowledged: DataSeq,
    acknowledged_given: Option<Instant>,
    acknowledged_at: Option<Instant>,
    /// How many pieces of `sent` end before what it acknowledges next.
    answered: usize,
    /// Bytes that it has brought, less those that others could not send while they waited for it.
    balance: f64,
    /// It has lost something, so its congestion window is what it took before.
    pub(super) lost: bool,
    /// When it last carried anything.
    used_at: Option<Instant>,
}

impl Path {
    /// What it delivers, bytes/s; 0 where that is not known.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The rate of its link, bytes/s; 0 where that is not known.
    pub(super) fn link_rate(&self) -> f64 {
        larger(self.links[0], self.links[1])
    }

    /// The smallest round trip of a full segment of `mss` bytes, s. The smallest one of all may be a handshake's, whose packets are short.
    pub(super) fn segment_rtt(&self, s: &SubflowView, mss: f64) -> f64 {
        let (rtt, link) = (base_rtt(s), self.link_rate());
        match self.least {
            Some(least) if link > 0.0 => smaller(larger(least, rtt), rtt + mss / link),
            _ => rtt,
        }
    }

    /// The least lateness that its acknowledgements showed lately, s: its data may wait behind the data of others. None until it has
    /// acknowledged two segments at once, or one alone twice.
    pub(super) fn least_late(&self) -> Option<f64> {
        least(self.lates[0], self.lates[1])
    }

    /// The way back of an acknowledgement, s: what is left of the smallest round trip.
    fn back(&self, s: &SubflowView, mss: f64) -> f64 {
        let link = self.link_rate();
        let transmission = if link == 0.0 { 0.0 } else { mss / larger(link, self.rate) };
        (self.segment_rtt(s, mss) - transmission) / 2.0
    }

    /// A queue was seen within the last rounds of `rtt` seconds, so the delivery rate is all that the path has.
    pub(super) fn was_busy(&self, now: Instant, rtt: f64) -> bool {
        self.queued_at.is_some_and(|at| now.since(at).as_secs_f64() < BUSY_ROUNDS * rtt)
    }

    /// Whether round trips are longer than the smallest one by more than jitter and delayed acknowledgements make of it.
    pub(super) fn queues(&self, rtt: f64, mss: f64) -> bool {
        self.delays(rtt) * larger(larger(self.link_rate(), self.rate), 1.0) > 2.0 * mss
    }

    /// By how much a queue makes round trips longer, whoever fills it, less what jitter makes of them, s; negative: there is none.
    pub(super) fn delays(&self, rtt: f64) -> f64 {
        self.low() - 1.125 * rtt
    }

    /// The smallest round trip lately, s.
    fn low(&self) -> f64 {
        match self.lows {
            [a, b] if a > 0.0 && b > 0.0 => smaller(a, b),
            [a, b] => larger(a, b),
        }
    }

    /// An acknowledgement came for the data of `mappings`.
    pub(super) fn acknowledged(
        &mut self,
        now: Instant,
        s: &SubflowView,
        mappings: &[Range<DataSeq>],
        first_unacked: DataSeq,
    ) {
        let bytes = mappings.iter().map(|r| r.end.since(r.start)).sum::<u64>() as f64;
        self.balance += bytes;
        let (rtt, mss, round) = (base_rtt(s), f64::from(s.mss.max(1)), s.rtt.smoothed_or_zero());
        let queues = self.queues(rtt, mss);
        self.covered = bytes / mss;
        let last = mappings.last().and_then(|m| self.sent(m.start));
        let (given, due) = (last.map(|sent| sent.at), last.map(|sent| sent.due));
        self.newest = given.map(|at| now.since(at).as_secs_f64());
        self.least = least(self.least, self.newest);
        // Where single segments are all that it gets, their wait for the receiver's timer counts too.
        let alone = !self.covers_several() && s.queue.bytes == 0;
        if self.covers_several() || (alone && self.alone) {
            let back = Duration::from_secs_f64(self.back(s, mss));
            self.lates[0] = least(self.lates[0], due.map(|due| now.since(due + back).as_secs_f64()));
        }
        self.alone = alone;
        match &mut self.train {
            Some(train) if now.since(train.last) <= round.div(4) && self.covered <= LONGEST_STEP => {
                (train.last, train.bytes) = (now, train.bytes + bytes);
            }
            _ => self.train = Some(Train { first: now, last: now, given, bytes: 0.0 }),
        }
        if let Some(train) = &self.train
            && train.bytes >= f64::from((s.window.cwnd / 4).clamp(TRAIN.0, TRAIN.1)) * mss
            && now > train.first
        {
            let (took, rate) = (now.since(train.first), train.bytes / now.since(train.first).as_secs_f64());
            // What was not given faster than it was acknowledged tells how fast it was given. It may be that the link is no faster.
            let burst = given.zip(train.given).is_some_and(|(last, first)| last.since(first) < took.mul_f64(BURST));
            if burst {
                if queues && now >= self.links_until {
                    self.links = [0.0, self.links[0]];
                    self.links_until = now + LINK_MEMORY.max(round.saturating_mul(10));
                }
                self.links[0] = larger(self.links[0], rate);
            }
            self.train = Some(Train { first: now, last: now, given, bytes: 0.0 });
        }
        let end = mappings.iter().map(|m| m.end).max().unwrap_or_default();
        (self.acknowledged, self.acknowledged_at) = (self.acknowledged.max(end), Some(now));
        self.acknowledged_given = self.acknowledged_given.max(given);
        let acked = end.min(first_unacked);
        while self.sent.front().is_some_and(|s| s.range.end <= acked) {
            self.sent.pop_front();
            self.answered = self.answered.saturating_sub(1);
        }
        while self.sent.get(self.answered).is_some_and(|s| s.range.end <= self.acknowledged) {
            self.answered += 1;
        }
        if queues && self.covers_several() {
            self.queued_at = Some(now);
            self.rate += (s.delivery.rate - self.rate) / 8.0;
        } else {
            self.rate = larger(self.rate, s.delivery.rate);
        }
    }

    /// A single segment's acknowledgement waited for the receiver's timer.
    fn covers_several(&self) -> bool {
        self.covered >= 1.5
    }

    /// A round trip of `rtt` seconds was measured; `round` is how long they are.
    pub(super) fn round_trip(&mut self, now: Instant, rtt: f64, round: Duration) {
        let rtt = self.newest.map_or(rtt, |newest| smaller(newest, rtt));
        if now >= self.lates_until && self.lates[0].is_some() {
            self.lates = [None, self.lates[0]];
            self.lates_until = now + round.saturating_mul(LATE_ROUNDS);
        }
        if now >= self.lows_until {
            self.lows = [0.0, self.lows[0]];
            self.lows_until = now + round;
        }
        let low = self.lows[0];
        if rtt < low || (low == 0.0 && self.covers_several()) {
            self.lows[0] = rtt;
        }
    }

    /// `range` was given to it, and should arrive at `due`.
    pub(super) fn given(&mut self, now: Instant, range: Range<DataSeq>, due: Instant) {
        self.waiting += range.end.since(range.start) as f64;
        self.used_at = Some(now);
        if self.sent.len() >= MOST_SENT {
            self.sent.pop_front();
            self.answered = self.answered.saturating_sub(1);
        }
        let place = match self.sent.back() {
            Some(last) if range.start < last.range.end => self.sent.partition_point(|s| s.range.end <= range.start),
            _ => self.sent.len(),
        };
        if self.sent.get(place).is_none_or(|next| range.end <= next.range.start) {
            self.answered += usize::from(range.end <= self.acknowledged);
            self.sent.insert(place, Sent { range, at: now, due });
        }
    }

    /// When the byte at `at` should arrive here, if it was given to this path.
    pub(super) fn due(&self, at: DataSeq) -> Option<Instant> {
        self.sent(at).map(|sent| sent.due)
    }

    /// The part of `range` that it has not acknowledged, if it carries that. What it has acknowledged waits at the receiver for what lies
    /// before.
    pub(super) fn outstanding(&self, range: Range<DataSeq>) -> Range<DataSeq> {
        if range.start >= self.acknowledged {
            return range;
        }
        let arrived = |sent: &Sent| sent.range.start < self.acknowledged && Some(sent.at) <= self.acknowledged_given;
        if self.sent(range.start).is_some_and(arrived) { range.start.max(self.acknowledged)..range.end } else { range }
    }

    /// Whether the byte at `at` lies behind what it acknowledges next: a path delivers in order, so it is as late as that.
    pub(super) fn is_behind(&self, at: DataSeq) -> bool {
        at >= self.acknowledged && self.sent(at).is_some_and(|s| s.range.start >= self.acknowledged)
    }

    /// When the next acknowledgement should come, s from now, where it takes `back` seconds; 0: it should have come, or none is owed.
    pub(super) fn next_acknowledgement(&self, now: Instant, back: f64) -> f64 {
        let next = self.sent.get(self.answered).map_or(now, |next| next.due) + Duration::from_secs_f64(back);
        if self.sent.len() > self.answered && next > now { next.since(now).as_secs_f64() } else { 0.0 }
    }

    /// How long the next acknowledgement is overdue, a round trip included, s; 0: it is not. A single segment's may wait for the receiver's
    /// timer, so the second one counts.
    pub(super) fn late(&self, now: Instant, rtt: f64) -> f64 {
        match self.sent.get(self.answered + 1) {
            Some(second) if second.due < now => larger(now.since(second.due).as_secs_f64() - rtt, 0.0),
            _ => 0.0,
        }
    }

    /// How much of the time by which it is `late` it has sent no acknowledgement at all, s.
    pub(super) fn owes(&self, now: Instant, late: f64) -> f64 {
        match self.acknowledged_at {
            Some(at) if late > 0.0 => smaller(late, now.since(at).as_secs_f64()),
            _ => 0.0,
        }
    }

    /// Where the last of what it was given ends.
    pub(super) fn last_end(&self) -> DataSeq {
        self.sent.back().map_or(DataSeq(0), |s| s.range.end)
    }

    fn sent(&self, at: DataSeq) -> Option<&Sent> {
        // Mostly that is the first piece, or one of the next.
        let near = self.sent.as_slices().0.iter().take(NEAR).find(|s| at < s.range.end);
        let sent = near.or_else(|| self.sent.get(self.sent.partition_point(|s| s.range.end <= at)))?;
        (sent.range.start <= at).then_some(sent)
    }

    /// Bytes of ours that wait at its bottleneck now, where that sends `rate` bytes/s.
    pub(super) fn waiting(&mut self, now: Instant, rate: f64) -> f64 {
        let sent = rate * now.since(self.waiting_at).as_secs_f64();
        (self.waiting, self.waiting_at) = (larger(self.waiting - sent, 0.0), now);
        self.waiting
    }

    /// Others could not send `bytes` while they waited for it. Of what it has brought `most` bytes count.
    pub(super) fn charge(&mut self, bytes: f64, most: f64) {
        self.balance = smaller(self.balance, most) - bytes;
    }

    /// Whether it owes others more than it has brought. It pays `paid` bytes of that.
    pub(super) fn in_debt(&mut self, paid: f64) -> bool {
        if self.balance < 0.0 {
            self.balance += paid;
        }
        self.balance < 0.0
    }

    /// Whether it carried nothing for `time`.
    pub(super) fn idle(&self, now: Instant, time: Duration) -> bool {
        self.used_at.is_none_or(|at| now.since(at) >= time)
    }
}

/// The smaller one, or the one that there is.
fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(smaller(a, b)),
        _ => a.or(b),
    }
}
