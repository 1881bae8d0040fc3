//! The time-dependent rules of a kernel: the variance of round trips, and the window after an idle time.
//!
//! The variance refines Jacobson's estimator (`tcp_rtt_estimator`). It rises at once with the largest deviation of a
//! round, and falls by a quarter of the difference at the end of each round. A sample below the average counts only an
//! eighth if it would raise the variance. After an idle time the window is halved for each timeout that passed (RFC
//! 2861, `tcp_cwnd_restart`).

use crate::congestion::Window;
use crate::host::rtt::RttRules;
use pathweave_units::Duration;

/// The mean deviation of round trips, and its largest value in the current round.
#[derive(Debug, Default)]
pub(crate) struct MeanDeviation {
    mean: Duration,
    /// Four times the largest mean deviation of this round.
    round_max: Duration,
    /// The time that the timeout adds to the average round trip.
    margin: Duration,
    /// The sequence number whose acknowledgement ends this round.
    round_end: u64,
}

impl RttRules for MeanDeviation {
    fn first(&mut self, rtt: Duration, nxt: u64, least: Duration) {
        self.mean = rtt.div(2);
        self.margin = rtt.saturating_mul(2).max(least);
        self.round_max = self.margin;
        self.round_end = nxt;
    }

    #[inline(never)]
    fn sample(&mut self, srtt: Duration, rtt: Duration, una: u64, nxt: u64, least: Duration) {
        let (s, r) = (srtt.as_nanos(), rtt.as_nanos());
        let (deviation, mean) = (r.abs_diff(s), self.mean.as_nanos());
        // The kernel keeps four times the mean deviation; here `mean` is the plain mean.
        let new = if r < s && deviation > mean {
            mean + (deviation - mean) / 32
        } else if deviation >= mean {
            mean + (deviation - mean) / 4
        } else {
            mean - (mean - deviation) / 4
        };
        self.mean = Duration::from_nanos(new);
        let four = self.mean.saturating_mul(4);
        self.round_max = self.round_max.max(four);
        self.margin = self.margin.max(four);
        if una > self.round_end {
            if self.round_max < self.margin {
                self.margin = self.margin - (self.margin - self.round_max).div(4);
            }
            self.round_end = nxt;
            self.round_max = least;
        }
    }

    fn variance(&self) -> Duration {
        self.mean
    }

    fn margin(&self) -> Duration {
        self.margin
    }

    fn after_late_opening(&self, before: Duration) -> Duration {
        before
    }

    /// The kernel looks only at the shortest round trip.
    fn tells_by_echoes(&self) -> bool {
        false
    }

    fn probes_unmeasured(&self) -> bool {
        true
    }

    fn measures_sacked(&self) -> bool {
        true
    }
}

/// Raises the threshold to at least three quarters of the window, and then halves the window for each timeout that
/// passed, down to `least`. The kernel repeats this for each of the `buffers` that are queued while nothing is in
/// flight.
pub(in crate::host) fn halve(window: &mut Window, least: u32, (idle, rto): (Duration, Duration), buffers: u32) {
    for _ in 0..buffers {
        window.ssthresh = window.ssthresh.max(window.cwnd - window.cwnd / 4);
        let mut idle = idle;
        while idle > rto && window.cwnd > least {
            idle -= rto;
            window.cwnd = (window.cwnd / 2).max(least);
        }
    }
}

/// Repetitions of an unanswered SYN (`tcp_syn_retries`). They take 127 s.
pub(in crate::host) const SYN_REPETITIONS: u32 = 6;

/// Time that the kernel adds to the timers of RACK and TLP (`TCP_TIMEOUT_MIN`): two ticks.
pub(super) const SLACK: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_raises_the_margin_at_once_and_it_falls_by_a_quarter_a_round() {
        let ms = Duration::from_millis;
        let mut deviation = MeanDeviation::default();
        deviation.first(ms(50), 10, ms(200));
        for i in 1..100 {
            deviation.sample(ms(50), ms(50), i, i + 10, ms(200));
        }
        assert_eq!(deviation.margin(), ms(200));
        deviation.sample(ms(50), ms(850), 100, 110, ms(200));
        let raised = deviation.margin();
        assert!(raised >= ms(800), "{raised}");
        // The round of the jump ends, then one without any deviation.
        deviation.sample(ms(50), ms(50), 111, 121, ms(200));
        deviation.sample(ms(50), ms(50), 122, 132, ms(200));
        assert!(deviation.margin() < raised && deviation.margin() >= raised.div(2), "{}", deviation.margin());
    }

    #[test]
    fn each_timeout_of_idle_time_halves_the_window() {
        let ms = Duration::from_millis;
        let mut window = Window { cwnd: 100, ssthresh: 20 };
        halve(&mut window, 10, (ms(500), ms(200)), 1);
        assert_eq!(window, Window { cwnd: 25, ssthresh: 75 });
        halve(&mut window, 10, (ms(2000), ms(200)), 1);
        assert_eq!(window, Window { cwnd: 10, ssthresh: 75 });
    }
}
