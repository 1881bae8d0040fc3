//! The estimates of one path: its rate, its round trip, its queue, and when its data should arrive.

use super::base_rtt;
use core::ops::Range;
use pathweave_scheduler::{DataSeq, SubflowView};
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// The least and the most segments that a train of acknowledgements covers before it measures a link's rate. Within
/// these limits it covers a quarter of the congestion window, because jitter disturbs long trains less.
const TRAIN: (u32, u32) = (4, 32);
/// A train's data was a burst if it was given to the path in less than this fraction of the time that its
/// acknowledgements took.
const BURST: f64 = 0.75;
/// Round trips for which a path counts as busy after a queue was seen.
const BUSY_ROUNDS: f64 = 8.0;
/// Jitter: round trips that are longer than the smallest one by at most this fraction show no queue.
const JITTER: f64 = 0.125;
/// Most pieces that are remembered for one path. Older ones are forgotten.
const MOST_SENT: usize = 4096;

/// A piece of data that was given to a path: its range, when it was given, and when it should arrive.
#[derive(Clone, Debug)]
struct Sent {
    range: Range<DataSeq>,
    at: Instant,
    due: Instant,
}

/// A train: acknowledgements between which at most a quarter of a round trip passed.
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
    /// Delivery rate, bytes/s: smoothed while a queue shows that the path is busy, otherwise the largest one so far.
    rate: f64,
    /// The largest rate of a train, bytes/s; 0 if there was none.
    link: f64,
    /// The present train of acknowledgements.
    train: Option<Train>,
    /// The last time at which the path had room and the stream had nothing more to send.
    idle_at: Option<Instant>,
    /// The last time at which a queue was seen while the stream always had more to send.
    queued_at: Option<Instant>,
    /// Segments that the last acknowledgement covered.
    covered: f64,
    /// The time from giving the last of these segments to its acknowledgement, and the least such time so far, s. TCP's
    /// round trip counts from the first segment, which may have waited at the receiver for the last one.
    newest: Option<f64>,
    least: Option<f64>,
    /// The smallest round trips of the present round and of the one before, s; 0 if there was none.
    lows: [f64; 2],
    /// The end of the present round.
    lows_until: Instant,
    /// Bytes that wait at the bottleneck, estimated from its rate, and the time of that estimate.
    waiting: f64,
    waiting_at: Instant,
    /// The pieces that the path was given, in the order of the stream, without overlaps.
    sent: VecDeque<Sent>,
    /// The end of the highest data that the path has acknowledged, and the latest time at which acknowledged data was
    /// given.
    acknowledged: DataSeq,
    acknowledged_given: Option<Instant>,
    /// The time of the last acknowledgement.
    acknowledged_at: Option<Instant>,
    /// The time at which the path was last given data.
    used_at: Option<Instant>,
}

impl Path {
    /// The link's rate and the rate at which the path delivers if it is kept busy, both in bytes/s, and whether they
    /// were measured. `rtt`: the smallest round trip, s. `window`: a congestion window each round trip, bytes/s.
    /// `initial`: an initial window, bytes.
    pub(super) fn rates(
        &self,
        now: Instant,
        rtt: f64,
        window: f64,
        initial: f64,
        in_slow_start: bool,
    ) -> (f64, f64, bool) {
        // A queue shows that the path was busy, so that its delivery rate is its capacity.
        let busy = self.queued_at.is_some_and(|at| now.since(at).as_secs_f64() < BUSY_ROUNDS * rtt);
        let unknown = self.link == 0.0 && !busy;
        let delivered = self.rate.max(if unknown { window.min(initial / rtt) } else { 1.0 });
        let link = self.link.max(delivered);
        let kept_busy = if busy {
            delivered
        } else if in_slow_start {
            link
        } else {
            link.min(window)
        };
        (link, kept_busy, !unknown)
    }

    /// The smallest round trip of a full segment of `mss` bytes, s. The smallest round trip that TCP has measured may
    /// be that of the handshake, whose packets are short.
    pub(super) fn segment_rtt(&self, s: &SubflowView, mss: f64) -> f64 {
        let rtt = base_rtt(s);
        match self.least {
            Some(least) if self.link > 0.0 => least.max(rtt).min(rtt + mss / self.link),
            _ => rtt,
        }
    }

    /// The time by which a queue lengthens round trips, less an allowance for jitter, s. The queue may also be that of
    /// other traffic. Negative if there is none.
    pub(super) fn delays(&self, rtt: f64) -> f64 {
        let low = self.lows.into_iter().filter(|low| *low > 0.0).fold(f64::INFINITY, f64::min);
        if low.is_finite() { low - (1.0 + JITTER) * rtt } else { -rtt }
    }

    /// Records that the path has room and the stream has nothing more to send. Delivery rates that are measured now are
    /// lower bounds of what the path can deliver.
    pub(super) fn idles(&mut self, now: Instant) {
        self.idle_at = Some(now);
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
        let (rtt, mss, round) = (base_rtt(s), f64::from(s.mss.max(1)), s.rtt.smoothed_or_zero());
        self.covered = bytes / mss;
        let given = mappings.last().and_then(|m| self.sent(m.start)).map(|sent| sent.at);
        self.newest = given.map(|at| now.since(at).as_secs_f64());
        self.least = [self.least, self.newest].into_iter().flatten().reduce(f64::min);
        self.measure_link(now, s.window.cwnd, mss, bytes, round, given);
        let end = mappings.iter().map(|m| m.end).max().unwrap_or_default();
        (self.acknowledged, self.acknowledged_at) = (self.acknowledged.max(end), Some(now));
        self.acknowledged_given = self.acknowledged_given.max(given);
        let acked = end.min(first_unacked);
        while self.sent.front().is_some_and(|s| s.range.end <= acked) {
            self.sent.pop_front();
        }
        // The delivery rate is that of the last round, whose data was sent in the round before. If the stream always
        // had more to send in both, the rate is the path's. Otherwise the application may have limited it.
        let at_least = self.idle_at.is_some_and(|at| now.since(at) < round.saturating_mul(2));
        let queue = self.delays(rtt) * self.link.max(self.rate);
        if queue > 2.0 * mss && self.covers_several() && !at_least {
            self.queued_at = Some(now);
            self.rate += (s.delivery.rate - self.rate) / 8.0;
        } else {
            self.rate = self.rate.max(s.delivery.rate);
        }
    }

    /// Adds an acknowledgement of `bytes` to the train, and measures the link if the train is long enough. `round`: the
    /// smoothed round trip. `given`: the time at which the last of these bytes were given to the path.
    fn measure_link(&mut self, now: Instant, cwnd: u32, mss: f64, bytes: f64, round: Duration, given: Option<Instant>) {
        let begins = Train { first: now, last: now, given, bytes: 0.0 };
        let train = match &mut self.train {
            Some(train) if now.since(train.last) <= round.div(4) => train,
            other => {
                *other = Some(begins);
                return;
            }
        };
        (train.last, train.bytes) = (now, train.bytes + bytes);
        if train.bytes >= f64::from((cwnd / 4).clamp(TRAIN.0, TRAIN.1)) * mss && now > train.first {
            let took = now.since(train.first);
            // If the data was not given faster than it was acknowledged, the train shows only how fast it was given.
            let burst = given.zip(train.given).is_some_and(|(last, first)| last.since(first) < took.mul_f64(BURST));
            if burst {
                self.link = self.link.max(train.bytes / took.as_secs_f64());
            }
            self.train = Some(begins);
        }
    }

    /// Whether the last acknowledgement covered more than one segment. The acknowledgement of a single segment may have
    /// waited for the receiver's timer.
    fn covers_several(&self) -> bool {
        self.covered >= 1.5
    }

    /// Updates the smallest round trips after TCP has measured one of `rtt` seconds. `round`: the smoothed round trip.
    pub(super) fn round_trip(&mut self, now: Instant, rtt: f64, round: Duration) {
        let rtt = self.newest.map_or(rtt, |newest| newest.min(rtt));
        if now >= self.lows_until {
            self.lows = [0.0, self.lows[0]];
            self.lows_until = now + round;
        }
        let low = self.lows[0];
        if rtt < low || (low == 0.0 && self.covers_several()) {
            self.lows[0] = rtt;
        }
    }

    /// Records that `range` was given to the path and should arrive at `due`.
    pub(super) fn given(&mut self, now: Instant, range: Range<DataSeq>, due: Instant) {
        self.waiting += range.end.since(range.start) as f64;
        self.used_at = Some(now);
        if self.sent.len() >= MOST_SENT {
            self.sent.pop_front();
        }
        let place = match self.sent.back() {
            Some(last) if range.start < last.range.end => self.sent.partition_point(|s| s.range.end <= range.start),
            _ => self.sent.len(),
        };
        if self.sent.get(place).is_none_or(|next| range.end <= next.range.start) {
            self.sent.insert(place, Sent { range, at: now, due });
        }
    }

    /// The time at which the byte at `at` should arrive, if it was given to this path.
    pub(super) fn due(&self, at: DataSeq) -> Option<Instant> {
        self.sent(at).map(|sent| sent.due)
    }

    /// The part of `range` that the path has not acknowledged; all of `range` if the path does not carry it.
    /// Acknowledged data has arrived, and waits at the receiver for the data before it.
    pub(super) fn outstanding(&self, range: Range<DataSeq>) -> Range<DataSeq> {
        if range.start >= self.acknowledged {
            return range;
        }
        let arrived = |sent: &Sent| Some(sent.at) <= self.acknowledged_given;
        if self.sent(range.start).is_some_and(arrived) { range.start.max(self.acknowledged)..range.end } else { range }
    }

    fn sent(&self, at: DataSeq) -> Option<&Sent> {
        // Usually it is one of the first pieces.
        let near = self.sent.iter().take(4).find(|s| at < s.range.end);
        let sent = near.or_else(|| self.sent.get(self.sent.partition_point(|s| s.range.end <= at)))?;
        (sent.range.start <= at).then_some(sent)
    }

    /// The bytes of this connection that wait at the bottleneck now if it sends `rate` bytes/s.
    pub(super) fn waiting(&mut self, now: Instant, rate: f64) -> f64 {
        let sent = rate * now.since(self.waiting_at).as_secs_f64();
        (self.waiting, self.waiting_at) = ((self.waiting - sent).max(0.0), now);
        self.waiting
    }

    /// The time by which data on the path is overdue beyond a round trip of `rtt` seconds, but at most the time since
    /// the last acknowledgement, s. The second unacknowledged piece counts, because the acknowledgement of a single
    /// segment may wait for the receiver's timer.
    pub(super) fn silent(&self, now: Instant, rtt: f64) -> f64 {
        // Usually a decision follows an acknowledgement at once, and no search is needed.
        let Some(at) = self.acknowledged_at.filter(|at| *at < now) else { return 0.0 };
        let second = self.sent.partition_point(|s| s.range.end <= self.acknowledged) + 1;
        let Some(second) = self.sent.get(second) else { return 0.0 };
        let late = if second.due < now { now.since(second.due).as_secs_f64() - rtt } else { 0.0 };
        late.min(now.since(at).as_secs_f64()).max(0.0)
    }

    /// Whether the path was given no data for at least `time`.
    pub(super) fn unused(&self, now: Instant, time: Duration) -> bool {
        self.used_at.is_none_or(|at| now.since(at) >= time)
    }
}
