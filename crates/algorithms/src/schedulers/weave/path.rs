//! The estimates of one path: rate, round trip, lateness, queue, and when its data should arrive.

use super::{base_rtt, larger, smaller};
use core::ops::Range;
use pathweave_proto::DataSeq;
use pathweave_proto::scheduler::SubflowView;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// The least and the most segments of a train of acknowledgements that measures a link's rate. Within these limits it
/// is a quarter of the congestion window, because jitter disturbs long trains less.
const TRAIN: (u32, u32) = (4, 32);
/// A train was sent as a burst if sending it took less than this fraction of the time that its acknowledgements took.
const BURST: f64 = 0.75;
/// The most pieces that are remembered: more than windows hold.
const MOST_SENT: usize = 4096;
/// The number of pieces at the front that are checked one by one before the others are searched.
const NEAR: usize = 4;
/// An acknowledgement of more segments than this comes after a repair, and does not measure the link.
const LONGEST_STEP: f64 = 8.0;
/// The time for which the largest rate of a link is remembered once there are queues.
const LINK_MEMORY: Duration = Duration::from_secs(2);
/// Round trips over which the least lateness is measured. The result counts for as many more.
const LATE_ROUNDS: u64 = 4;
/// Round trips for which a queue shows that the path was busy.
const BUSY_ROUNDS: f64 = 8.0;

/// A piece of data that was given to a path: its range, when it was given, and when it should arrive.
#[derive(Clone, Debug)]
struct Sent {
    range: Range<DataSeq>,
    at: Instant,
    due: Instant,
}

/// A train: acknowledgements that came without a pause between them.
#[derive(Clone, Debug)]
struct Train {
    /// The times of the first and the last acknowledgement.
    first: Instant,
    last: Instant,
    /// The time at which the data of the first acknowledgement was given.
    given: Option<Instant>,
    /// Bytes acknowledged after the first acknowledgement.
    bytes: f64,
}

/// Estimates of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// Delivery rate, bytes/s: the largest one while there is no queue, smoothed while there is one.
    rate: f64,
    /// The time at which a queue was last seen.
    queued_at: Option<Instant>,
    /// Segments that the last acknowledgement covered.
    covered: f64,
    /// The time that the last of these segments took, s. TCP's round trip counts from the first one, which may have
    /// waited at the receiver for the last one.
    newest: Option<f64>,
    /// The smallest value of `newest` so far, s.
    least: Option<f64>,
    /// The smallest round trips of this round and of the last, s; 0 if there was none.
    lows: [f64; 2],
    lows_until: Instant,
    /// The least lateness of data in this period and in the last, s. A period lasts until `lates_until`.
    pub(super) lates: [Option<f64>; 2],
    lates_until: Instant,
    /// Whether the last acknowledgement covered a single segment that was the only data in flight.
    alone: bool,
    /// The largest rates of trains in this period and in the last, bytes/s. A period lasts until `links_until`.
    links: [f64; 2],
    links_until: Instant,
    /// The present train of acknowledgements.
    train: Option<Train>,
    /// Bytes that wait at the bottleneck, estimated from its rate, and the time of that estimate.
    waiting: f64,
    waiting_at: Instant,
    /// The pieces that the path was given, in the order of the stream, without overlaps.
    sent: VecDeque<Sent>,
    /// The end of the highest data that the path has acknowledged, the latest time at which acknowledged data was
    /// given, and the time of the last acknowledgement.
    acknowledged: DataSeq,
    acknowledged_given: Option<Instant>,
    acknowledged_at: Option<Instant>,
    /// The number of pieces in `sent` that end at or before `acknowledged`.
    answered: usize,
    /// Bytes that the path has brought, less the bytes that other paths could not send while they waited for this one.
    balance: f64,
    /// Whether the path has lost something, so that a loss has set its congestion window.
    pub(super) lost: bool,
    /// The time at which the path was last given data.
    used_at: Option<Instant>,
}

impl Path {
    /// The delivery rate, bytes/s; 0 if it is not known.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The rate of the link, bytes/s; 0 if it is not known.
    pub(super) fn link_rate(&self) -> f64 {
        larger(self.links[0], self.links[1])
    }

    /// The smallest round trip of a full segment of `mss` bytes, s. The smallest round trip that TCP has measured may
    /// be that of the handshake, whose packets are short.
    pub(super) fn segment_rtt(&self, s: &SubflowView, mss: f64) -> f64 {
        let (rtt, link) = (base_rtt(s), self.link_rate());
        match self.least {
            Some(least) if link > 0.0 => smaller(larger(least, rtt), rtt + mss / link),
            _ => rtt,
        }
    }

    /// q: the least lateness that acknowledgements showed lately, s. It is above zero if all data of this path waits
    /// behind the data of others. `None` until an acknowledgement has covered two segments, or two in a row each
    /// covered a segment that was alone.
    pub(super) fn least_late(&self) -> Option<f64> {
        least(self.lates[0], self.lates[1])
    }

    /// The delay of an acknowledgement on its way back, s: half of the smallest round trip without transmission.
    fn back(&self, s: &SubflowView, mss: f64) -> f64 {
        let link = self.link_rate();
        let transmission = if link == 0.0 { 0.0 } else { mss / larger(link, self.rate) };
        (self.segment_rtt(s, mss) - transmission) / 2.0
    }

    /// Whether a queue was seen within the last [`BUSY_ROUNDS`] rounds of `rtt` seconds. Then the delivery rate is the
    /// path's capacity.
    pub(super) fn was_busy(&self, now: Instant, rtt: f64) -> bool {
        self.queued_at.is_some_and(|at| now.since(at).as_secs_f64() < BUSY_ROUNDS * rtt)
    }

    /// Whether there is a queue: round trips are longer than the smallest one by more than jitter and delayed
    /// acknowledgements explain.
    pub(super) fn queues(&self, rtt: f64, mss: f64) -> bool {
        self.delays(rtt) * larger(larger(self.link_rate(), self.rate), 1.0) > 2.0 * mss
    }

    /// The time by which a queue lengthens round trips, less an allowance for jitter, s. The queue may also be that of
    /// other traffic. Negative if there is none.
    pub(super) fn delays(&self, rtt: f64) -> f64 {
        self.low() - 1.125 * rtt
    }

    /// The smallest recent round trip, s.
    fn low(&self) -> f64 {
        match self.lows {
            [a, b] if a > 0.0 && b > 0.0 => smaller(a, b),
            [a, b] => larger(a, b),
        }
    }

    /// Updates the estimates after an acknowledgement for the data of `mappings`.
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
        // If the path only gets single segments, their lateness counts although it includes the receiver's timer.
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
            // If the data was not given faster than it was acknowledged, the train measures only how fast it was given;
            // the link may be faster.
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

    /// Whether the last acknowledgement covered more than one segment. One for a single segment may have waited for the
    /// receiver's timer.
    fn covers_several(&self) -> bool {
        self.covered >= 1.5
    }

    /// Updates the estimates after TCP has measured a round trip of `rtt` seconds; `round` is the smoothed one.
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

    /// Records that `range` was given to the path, and should arrive at `due`.
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

    /// The time at which the byte at `at` should arrive, if it was given to this path.
    pub(super) fn due(&self, at: DataSeq) -> Option<Instant> {
        self.sent(at).map(|sent| sent.due)
    }

    /// The part of `range` that the path has not acknowledged. If the path does not carry the range, that is all of it.
    /// Acknowledged data has arrived, and only waits at the receiver for the data before it.
    pub(super) fn outstanding(&self, range: Range<DataSeq>) -> Range<DataSeq> {
        if range.start >= self.acknowledged {
            return range;
        }
        let arrived = |sent: &Sent| sent.range.start < self.acknowledged && Some(sent.at) <= self.acknowledged_given;
        if self.sent(range.start).is_some_and(arrived) { range.start.max(self.acknowledged)..range.end } else { range }
    }

    /// Whether the byte at `at` comes after the data that the path acknowledges next. A path delivers in order, so the
    /// byte is as late as that data.
    pub(super) fn is_behind(&self, at: DataSeq) -> bool {
        at >= self.acknowledged && self.sent(at).is_some_and(|s| s.range.start >= self.acknowledged)
    }

    /// The time until the next acknowledgement, s, if its way back takes `back` seconds. 0 if it is overdue, or if
    /// there is nothing to acknowledge.
    pub(super) fn next_acknowledgement(&self, now: Instant, back: f64) -> f64 {
        let next = self.sent.get(self.answered).map_or(now, |next| next.due) + Duration::from_secs_f64(back);
        if self.sent.len() > self.answered && next > now { next.since(now).as_secs_f64() } else { 0.0 }
    }

    /// The time for which the next acknowledgement has been overdue, less a round trip, s; 0 if it is not overdue. The
    /// acknowledgement of a single segment may wait for the receiver's timer, so the second unacknowledged piece
    /// counts.
    pub(super) fn late(&self, now: Instant, rtt: f64) -> f64 {
        match self.sent.get(self.answered + 1) {
            Some(second) if second.due < now => larger(now.since(second.due).as_secs_f64() - rtt, 0.0),
            _ => 0.0,
        }
    }

    /// The part of the lateness `late` in which the path was silent, without any acknowledgement, s.
    pub(super) fn owes(&self, now: Instant, late: f64) -> f64 {
        match self.acknowledged_at {
            Some(at) if late > 0.0 => smaller(late, now.since(at).as_secs_f64()),
            _ => 0.0,
        }
    }

    /// The end of the last data that the path was given.
    pub(super) fn last_end(&self) -> DataSeq {
        self.sent.back().map_or(DataSeq(0), |s| s.range.end)
    }

    fn sent(&self, at: DataSeq) -> Option<&Sent> {
        // Usually it is one of the first pieces.
        let near = self.sent.as_slices().0.iter().take(NEAR).find(|s| at < s.range.end);
        let sent = near.or_else(|| self.sent.get(self.sent.partition_point(|s| s.range.end <= at)))?;
        (sent.range.start <= at).then_some(sent)
    }

    /// The bytes of this connection that wait at the bottleneck now, if the bottleneck sends `rate` bytes/s.
    pub(super) fn waiting(&mut self, now: Instant, rate: f64) -> f64 {
        let sent = rate * now.since(self.waiting_at).as_secs_f64();
        (self.waiting, self.waiting_at) = (larger(self.waiting - sent, 0.0), now);
        self.waiting
    }

    /// Charges the path for `bytes` that others could not send while they waited for it. At most `most` bytes of those
    /// that the path has brought count.
    pub(super) fn charge(&mut self, bytes: f64, most: f64) {
        self.balance = smaller(self.balance, most) - bytes;
    }

    /// Whether the path was charged more than it has brought. If so, it first pays off `paid` bytes.
    pub(super) fn in_debt(&mut self, paid: f64) -> bool {
        if self.balance < 0.0 {
            self.balance += paid;
        }
        self.balance < 0.0
    }

    /// Whether the path was given no data for `time`.
    pub(super) fn idle(&self, now: Instant, time: Duration) -> bool {
        self.used_at.is_none_or(|at| now.since(at) >= time)
    }
}

/// The smaller one of two numbers, or the only one if the other is missing.
fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(smaller(a, b)),
        _ => a.or(b),
    }
}
