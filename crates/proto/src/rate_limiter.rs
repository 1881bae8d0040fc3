//! Limits on how often something is done.

use pathweave_units::{Duration, Instant};

/// Sub-intervals of a period that are counted separately.
const PARTS: usize = 7;

/// Sliding-window limiter: allows at most `limit` (<= 255) events in any window of length `period`. Counts are kept in
/// eight sub-intervals that together cover the window. Keeping the time of each event would take 80 bytes of a
/// connection, and a counter that restarts each period would let twice as many through around a restart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimiter {
    limit: u32,
    period: Duration,
    /// Number of the newest sub-interval, and the events in it and in those before, by their numbers modulo 8.
    newest: u64,
    counts: [u8; PARTS + 1],
}

impl RateLimiter {
    pub(crate) fn new(limit: u32, period: Duration) -> Self {
        RateLimiter { limit, period, newest: 0, counts: [0; PARTS + 1] }
    }

    /// Whether one more event is allowed now; counts it if so.
    //= RFC 5961 §7: "in any 5 second window, no more than 10 challenge ACKs should be sent"
    //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds, blind_attacks::in_any_five_seconds_there_are_ten_challenges_at_most
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        let part = now.since(Instant::ZERO).as_nanos() / self.period.as_nanos().div_ceil(PARTS as u64);
        while self.newest < part {
            // Sub-intervals older than the window are dropped.
            self.newest = (self.newest + 1).max(part.saturating_sub(PARTS as u64));
            self.counts[self.newest as usize % (PARTS + 1)] = 0;
        }
        let done: u32 = self.counts.iter().map(|n| u32::from(*n)).sum();
        let allowed = done < self.limit;
        self.counts[part as usize % (PARTS + 1)] += u8::from(allowed);
        allowed
    }
}

/// Token bucket: allows a burst of `most` events, then one more in each interval. Events charged beyond that are paid
/// back first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    most: u32,
    interval: Duration,
    left: i64,
    /// Time for which `left` is right; since then, one event has been added in each interval.
    counted_at: Instant,
}

impl Allowance {
    pub(crate) fn new(most: u32, interval: Duration) -> Self {
        Allowance { most, interval, left: most.into(), counted_at: Instant::ZERO }
    }

    fn refill(&mut self, now: Instant) {
        let intervals = now.since(self.counted_at).as_nanos() / self.interval.as_nanos();
        self.left = self.left.saturating_add(intervals as i64).min(self.most.into());
        self.counted_at += self.interval.saturating_mul(intervals);
    }

    /// Takes one event from the budget, if one is left.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let left = self.left > 0;
        self.left -= i64::from(left);
        left
    }

    /// Charges `number` events that happened, even beyond the budget.
    pub(crate) fn charge(&mut self, number: u32) {
        self.left -= i64::from(number);
    }

    /// When an event is allowed again.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        self.refill(now);
        if self.left > 0 { now } else { self.counted_at + self.interval.saturating_mul((1 - self.left) as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_units::random::Random;

    #[test]
    fn an_allowance_comes_back_one_in_each_interval_after_its_debts() {
        let mut allowance = Allowance::new(2, Duration::from_secs(8));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let taken: Vec<bool> = [1, 1, 2, 8, 9, 15, 16].map(|s| allowance.take(at(s))).to_vec();
        assert_eq!(taken, [true, true, false, true, false, false, true]);
        allowance.charge(3);
        assert_eq!(allowance.next(at(17)), at(48));
        assert_eq!([47, 48, 49].map(|s| allowance.take(at(s))), [false, true, false]);
        // However long no event was asked for, at most `most` accumulate.
        assert_eq!([1000; 3].map(|s| allowance.take(at(s))), [true, true, false]);
    }

    #[test]
    fn wherever_a_period_begins_it_has_so_many_at_most() {
        let period = Duration::from_secs(5);
        let mut random = Random::substream(1, "attempts");
        let (mut limiter, mut now) = (RateLimiter::new(10, period), Instant::ZERO);
        let mut done = Vec::new();
        for _ in 0..1000 {
            now += Duration::from_millis(random.below(2000));
            for _ in 0..random.below(8) {
                if limiter.allows(now) {
                    done.push(now);
                }
            }
        }
        assert!(done.len() > 500, "it opens again and again: {}", done.len());
        assert!(done.windows(11).all(|w| w[10].since(w[0]) >= period));
    }

    #[test]
    fn so_many_times_in_a_period() {
        let mut limiter = RateLimiter::new(2, Duration::from_secs(5));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let allowed: Vec<bool> = [1, 1, 2, 5, 7, 7, 7].map(|s| limiter.allows(at(s))).to_vec();
        assert_eq!(allowed, [true, true, false, false, true, true, false]);
    }
}
