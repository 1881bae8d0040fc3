//! Round-trip time estimation and the retransmission timeout (RFC 6298).
//!
//! The host determines how the variance is estimated. The configured minimum bounds the variance term, so the timeout
//! is never below it either.

use crate::host::{Host, RttHost};
use pathweave_scheduler::RoundTrip;
use pathweave_units::Duration;

#[derive(Debug)]
pub(crate) struct Rtt {
    /// Timeout before the first sample.
    initial_rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
    srtt: Option<Duration>,
    host: RttHost,
    latest: Option<Duration>,
    min: Option<Duration>,
    max: Option<Duration>,
    backoff: u32,
    /// Whether a tail loss probe was sent since the last measured round trip.
    probed: bool,
}

/// Timeout before the first sample (RFC 6298 §2.1).
//= RFC 6298 §2: "Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver, the
//= sender SHOULD set RTO <- 1 second"
//= tests: rtt::the_timeout_is_one_second_before_any_sample_and_at_least_the_minimum_above_the_average_after, handshake::a_lost_syn_is_repeated_after_one_second_then_two
const INITIAL_RTO: Duration = Duration::from_secs(1);

impl Rtt {
    pub(crate) fn new(host: &Host, min_rto: Duration, max_rto: Duration) -> Self {
        Rtt {
            initial_rto: INITIAL_RTO,
            min_rto,
            max_rto,
            srtt: None,
            host: RttHost::new(host),
            latest: None,
            min: None,
            max: None,
            backoff: 0,
            probed: false,
        }
    }

    /// Takes a sample for the smoothed time. `una` and `nxt` mark rounds.
    //= RFC 6298 §2.2: "When the first RTT measurement R is made, the host MUST set SRTT <- R"
    //= tests: rtt::the_average_moves_by_an_eighth_of_the_difference
    //= RFC 6298 §2.3: "updating RTTVAR and SRTT MUST be computed in the above order"
    //= tests: rtt::a_jump_raises_the_timeout_at_once
    //= RFC 6298 §2.3: "The above SHOULD be computed using alpha=1/8 and beta=1/4"
    //= tests: rtt::the_average_moves_by_an_eighth_of_the_difference, rfc::the_variance_is_that_of_rfc_6298
    //= RFC 6298 §3: "A TCP implementation MUST take at least one RTT measurement per RTT (unless that is not possible per
    //= Karn's algorithm)"
    //= tests: timeouts::each_round_trip_is_measured
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        self.latest = Some(rtt);
        self.probed = false;
        self.max = Some(self.max.map_or(rtt, |m| m.max(rtt)));
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            return self.host.first(rtt, nxt, self.min_rto);
        };
        let (s, r) = (srtt.as_nanos(), rtt.as_nanos());
        self.srtt = Some(Duration::from_nanos(if r >= s { s + (r - s) / 8 } else { s - (s - r) / 8 }));
        self.host.sample(srtt, rtt, una, nxt, self.min_rto);
    }

    /// Takes a sample for the smallest time: that of the segment sent last, which a delayed acknowledgement affects
    /// least.
    pub(crate) fn sample_min(&mut self, rtt: Duration) {
        self.min = Some(self.min.map_or(rtt, |m| m.min(rtt)));
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    /// The values that schedulers and snapshots see.
    pub(crate) fn state(&self) -> RoundTrip {
        let (smoothed, variation) = (self.srtt, self.host.variance());
        RoundTrip { smoothed, variation, min: self.min, max: self.max, latest: self.latest }
    }
    /// Whether a segment that is SACKed for the first time measures a round trip too.
    pub(crate) fn measures_sacked(&self) -> bool {
        self.host.measures_sacked()
    }
    /// Whether echoed timestamps tell originals from retransmissions; see `RttRules::tells_by_echoes`.
    pub(crate) fn tells_by_echoes(&self) -> bool {
        self.host.tells_by_echoes()
    }
    /// Notes that a tail loss probe leaves.
    pub(crate) fn probe_sent(&mut self) {
        self.probed = true;
    }
    /// Whether another tail loss probe may follow.
    //= RFC 8985 §7.3: "When the PTO timer expires, the sender MUST check whether both of the following conditions are met before sending
    //= a loss probe ... the sender has obtained an RTT measurement since the last loss probe transmission"
    //= tests: rack::after_a_probe_a_round_trip_is_measured_before_the_next
    pub(crate) fn allows_probe(&self) -> bool {
        !self.probed || self.host.probes_unmeasured()
    }
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min
    }
    /// Adapts the initial timeout after an opening whose SYN timed out.
    #[cold]
    pub(crate) fn opened_late(&mut self) {
        self.initial_rto = self.host.after_late_opening(self.initial_rto);
    }
    /// Doubles the timeout (RFC 6298 §5.5).
    //= RFC 6298 §5: "The host MUST set RTO <- RTO * 2 ("back off the timer")"
    //= tests: rtt::the_timeout_is_one_second_before_any_sample_and_at_least_the_minimum_above_the_average_after, loss_recovery::timeouts_double
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
    }
    /// Ends the doubling, after an acknowledgement of data that was sent once (Karn).
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
    /// Number of doublings of the timeout.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }
    /// The timeout without any doubling.
    //= RFC 6298 §4: "if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be rounded to G seconds"
    //= tests: rtt::the_timeout_is_one_second_before_any_sample_and_at_least_the_minimum_above_the_average_after
    pub(crate) fn base_rto(&self) -> Duration {
        let Some(srtt) = self.srtt else { return self.initial_rto };
        (srtt + self.host.margin().max(self.min_rto)).min(self.max_rto)
    }
    /// Whether the timeout was doubled since the last measured round trip.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }
    /// The timeout in force.
    //= RFC 6298 §2.5: "A maximum value MAY be placed on RTO provided it is at least 60 seconds"
    //= tests: loss_recovery::data_is_sent_again_for_more_than_a_hundred_seconds_and_not_for_ever
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
        let mut rtt = Rtt::new(&Host::Rfc, MS(200), MS(120_000));
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
    fn the_average_moves_by_an_eighth_of_the_difference() {
        let mut rtt = Rtt::new(&Host::Rfc, MS(200), MS(120_000));
        rtt.sample(MS(80), 0, 10);
        assert_eq!(rtt.srtt(), Some(MS(80)));
        rtt.sample(MS(160), 10, 20);
        assert_eq!(rtt.srtt(), Some(MS(90)));
        rtt.sample(MS(10), 20, 30);
        assert_eq!(rtt.srtt(), Some(MS(80)));
    }

    #[test]
    fn a_jump_raises_the_timeout_at_once() {
        let mut rtt = Rtt::new(&Host::Rfc, MS(200), MS(120_000));
        for i in 0..100 {
            rtt.sample(MS(50), i, i + 10);
        }
        rtt.sample(MS(850), 101, 111);
        // Average 150 ms, mean deviation 200 ms.
        assert!(rtt.rto() >= MS(900), "{}", rtt.rto());
    }
}
