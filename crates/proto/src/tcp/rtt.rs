//! Round-trip time estimation and the retransmission timeout (RFC 6298).
//!
//! The variance follows the kernel's refinement of Jacobson's estimator: it rises at once with the largest deviation of a
//! round and falls by a quarter of the difference at the end of each round, and a sample below the average counts an eighth
//! towards it. The configured minimum bounds the variance term, as in the kernel, so the timeout is never below it either.

use crate::subflow_state::RoundTrip;
use pathweave_units::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    min_rto: Duration,
    max_rto: Duration,
    srtt: Option<Duration>,
    mean_deviation: Duration,
    round_max_deviation: Duration,
    rttvar: Duration,
    round_end: u64,
    latest: Option<Duration>,
    min: Option<Duration>,
    max: Option<Duration>,
    backoff: u32,
}

/// Before the first sample (RFC 6298 §2.1).
const INITIAL_RTO: Duration = Duration::from_secs(1);

impl Rtt {
    pub(crate) fn new(min_rto: Duration, max_rto: Duration) -> Self {
        Rtt {
            min_rto,
            max_rto,
            srtt: None,
            mean_deviation: Duration::ZERO,
            round_max_deviation: Duration::ZERO,
            rttvar: Duration::ZERO,
            round_end: 0,
            latest: None,
            min: None,
            max: None,
            backoff: 0,
        }
    }

    /// A sample for the smoothed time. `una` and `nxt` mark rounds: the variance decays once per round.
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        self.latest = Some(rtt);
        self.max = Some(self.max.map_or(rtt, |m| m.max(rtt)));
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.mean_deviation = rtt.div(2);
            self.rttvar = rtt.saturating_mul(2).max(self.min_rto);
            self.round_max_deviation = self.rttvar;
            self.round_end = nxt;
            return;
        };
        let (s, r) = (srtt.as_nanos(), rtt.as_nanos());
        self.srtt = Some(Duration::from_nanos(if r >= s { s + (r - s) / 8 } else { s - (s - r) / 8 }));
        let deviation = r.abs_diff(s);
        let mdev = self.mean_deviation.as_nanos();
        // The kernel keeps four times the mean deviation; here `mean_deviation` is the plain mean.
        let new = if r < s && deviation > mdev {
            mdev + (deviation - mdev) / 32
        } else if deviation >= mdev {
            mdev + (deviation - mdev) / 4
        } else {
            mdev - (mdev - deviation) / 4
        };
        self.mean_deviation = Duration::from_nanos(new);
        let four = self.mean_deviation.saturating_mul(4);
        if four > self.round_max_deviation {
            self.round_max_deviation = four;
            if four > self.rttvar {
                self.rttvar = four;
            }
        }
        if una > self.round_end {
            if self.round_max_deviation < self.rttvar {
                self.rttvar = self.rttvar - (self.rttvar - self.round_max_deviation).div(4);
            }
            self.round_end = nxt;
            self.round_max_deviation = self.min_rto;
        }
    }

    /// A sample for the smallest time: that of the segment sent last, which a delayed acknowledgement affects least.
    pub(crate) fn sample_min(&mut self, rtt: Duration) {
        self.min = Some(self.min.map_or(rtt, |m| m.min(rtt)));
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    /// What schedulers and snapshots see.
    pub(crate) fn state(&self) -> RoundTrip {
        let (smoothed, variation) = (self.srtt, self.mean_deviation);
        RoundTrip { smoothed, variation, min: self.min, max: self.max, latest: self.latest }
    }
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min
    }
    /// RFC 6298 §5.5.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
    }
    /// An acknowledgement of data that was sent once (Karn): the doubling ends.
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
    /// The timeout without any doubling.
    pub(crate) fn base_rto(&self) -> Duration {
        let Some(srtt) = self.srtt else { return INITIAL_RTO };
        (srtt + self.rttvar.max(self.min_rto)).min(self.max_rto)
    }
    /// The timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        self.base_rto().saturating_mul(1 << self.backoff).min(self.max_rto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_timeout_is_one_second_before_any_sample_and_at_least_the_minimum_above_the_average_after() {
        let mut rtt = Rtt::new(MS(200), MS(120_000));
        assert_eq!(rtt.rto(), MS(1000));
        for i in 0..100 {
            rtt.sample(MS(50), i, i + 10);
        }
        assert_eq!(rtt.srtt(), Some(MS(50)));
        assert_eq!(rtt.rto(), MS(250));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(1000));
    }

    #[test]
    fn a_jump_raises_the_timeout_at_once() {
        let mut rtt = Rtt::new(MS(200), MS(120_000));
        for i in 0..100 {
            rtt.sample(MS(50), i, i + 10);
        }
        rtt.sample(MS(850), 101, 111);
        // Average 150 ms, mean deviation 200 ms.
        assert!(rtt.rto() >= MS(900), "{}", rtt.rto());
    }
}
