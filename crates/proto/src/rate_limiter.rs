//! A limit on how often something is done.

use pathweave_units::{Duration, Instant};

/// At most so many times in a period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimiter {
    limit: u32,
    period: Duration,
    started: Option<Instant>,
    count: u32,
}

impl RateLimiter {
    pub(crate) fn new(limit: u32, period: Duration) -> Self {
        RateLimiter { limit, period, started: None, count: 0 }
    }

    /// Whether it may be done once more now; counts it if so.
    //= RFC 5961 §7: "in any 5 second window, no more than 10 challenge ACKs should be sent"
    //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if self.started.is_none_or(|t| now.since(t) >= self.period) {
            self.started = Some(now);
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.count <= self.limit
    }
}

/// So many at once, and then one more in each interval. Debts are made up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    most: u32,
    interval: Duration,
    left: i64,
    /// What there was at this time: since then, one has come in each interval.
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

    /// Takes one, where one is left.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let left = self.left > 0;
        self.left -= i64::from(left);
        left
    }

    /// So many more were used than there may have been.
    pub(crate) fn charge(&mut self, number: u32) {
        self.left -= i64::from(number);
    }

    /// When there is one again.
    pub(crate) fn next(&mut self, now: Instant) -> Instant {
        self.refill(now);
        if self.left > 0 { now } else { self.counted_at + self.interval.saturating_mul((1 - self.left) as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_comes_back_one_in_each_interval_after_its_debts() {
        let mut allowance = Allowance::new(2, Duration::from_secs(8));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let taken: Vec<bool> = [1, 1, 2, 8, 9, 15, 16].map(|s| allowance.take(at(s))).to_vec();
        assert_eq!(taken, [true, true, false, true, false, false, true]);
        allowance.charge(3);
        assert_eq!(allowance.next(at(17)), at(48));
        assert_eq!([47, 48, 49].map(|s| allowance.take(at(s))), [false, true, false]);
        // However long nothing was asked for, no more than so many wait.
        assert_eq!([1000; 3].map(|s| allowance.take(at(s))), [true, true, false]);
    }

    #[test]
    fn so_many_times_in_a_period() {
        let mut limiter = RateLimiter::new(2, Duration::from_secs(5));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let allowed: Vec<bool> = [1, 1, 2, 5, 6, 7, 7].map(|s| limiter.allows(at(s))).to_vec();
        assert_eq!(allowed, [true, true, false, false, true, true, false]);
    }
}
