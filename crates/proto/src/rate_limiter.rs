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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_times_in_a_period() {
        let mut limiter = RateLimiter::new(2, Duration::from_secs(5));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let allowed: Vec<bool> = [1, 1, 2, 5, 6, 7, 7].map(|s| limiter.allows(at(s))).to_vec();
        assert_eq!(allowed, [true, true, false, false, true, true, false]);
    }
}
