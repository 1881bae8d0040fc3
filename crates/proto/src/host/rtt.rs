//! How far a host takes round trips to vary, which is what its retransmission timeout adds to their average.

use super::Host;
#[cfg(feature = "host-linux")]
use super::linux::time::MeanDeviation;
use pathweave_units::Duration;

/// RFC 6298 §5.7.
const AFTER_LATE_OPENING: Duration = Duration::from_secs(3);

/// A host's estimate of the variance of one subflow's round trips.
#[derive(Clone, Debug)]
pub(crate) enum RttHost {
    /// RTTVAR.
    Rfc(Duration),
    #[cfg(feature = "host-linux")]
    Linux(MeanDeviation),
}

impl RttHost {
    pub(crate) fn new(host: &Host) -> Self {
        match host {
            #[cfg(feature = "host-linux")]
            Host::Linux => RttHost::Linux(MeanDeviation::default()),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg => RttHost::Linux(MeanDeviation::default()),
            Host::Rfc => RttHost::Rfc(Duration::ZERO),
        }
    }

    /// The first round trip. `nxt`: what is sent next, which marks rounds; `least`: of [`RttHost::margin`].
    //= RFC 6298 §2.2: "RTTVAR <- R/2"
    //= tests: rtt::the_variance_is_that_of_rfc_6298
    pub(crate) fn first(&mut self, rtt: Duration, nxt: u64, least: Duration) {
        match self {
            RttHost::Rfc(variance) => *variance = rtt.div(2),
            #[cfg(feature = "host-linux")]
            RttHost::Linux(linux) => linux.first(rtt, nxt, least),
        }
    }

    /// A further round trip, where the average was `srtt`. `una`: what is acknowledged.
    //= RFC 6298 §2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|"
    //= tests: rtt::the_variance_is_that_of_rfc_6298
    #[inline]
    pub(crate) fn sample(&mut self, srtt: Duration, rtt: Duration, (una, nxt): (u64, u64), least: Duration) {
        match self {
            RttHost::Rfc(variance) => {
                let deviation = srtt.as_nanos().abs_diff(rtt.as_nanos());
                let old = variance.as_nanos();
                *variance = Duration::from_nanos(old - old / 4 + deviation / 4);
            }
            #[cfg(feature = "host-linux")]
            RttHost::Linux(linux) => linux.sample(srtt, rtt, (una, nxt), least),
        }
    }

    /// RTTVAR, as schedulers see it.
    pub(crate) fn variance(&self) -> Duration {
        match self {
            RttHost::Rfc(variance) => *variance,
            #[cfg(feature = "host-linux")]
            RttHost::Linux(linux) => linux.mean(),
        }
    }

    /// What the timeout adds to the average at least.
    //= RFC 6298 §2.3: "RTO <- SRTT + max (G, K*RTTVAR)"
    //= tests: rtt::the_variance_is_that_of_rfc_6298
    #[inline]
    pub(crate) fn margin(&self) -> Duration {
        match self {
            RttHost::Rfc(variance) => variance.saturating_mul(4),
            #[cfg(feature = "host-linux")]
            RttHost::Linux(linux) => linux.margin(),
        }
    }

    /// The timeout before the first round trip, where the SYN had to be repeated; it was `before`.
    //= RFC 6298 §5.7: "If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than
    //= 3 seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins"
    //= tests: rfc_host::after_a_syn_that_was_repeated_the_first_timeout_is_3_seconds
    pub(crate) fn after_late_opening(&self, before: Duration) -> Duration {
        match self {
            RttHost::Rfc(_) => before.max(AFTER_LATE_OPENING),
            #[cfg(feature = "host-linux")]
            RttHost::Linux(_) => before,
        }
    }

    /// Whether RACK tells by the echoed timestamp which transmission of a segment was delivered (RFC 8985 §6.2). The kernel tells it by
    /// the shortest round trip alone.
    pub(crate) fn tells_by_echoes(&self) -> bool {
        match self {
            RttHost::Rfc(_) => true,
            #[cfg(feature = "host-linux")]
            RttHost::Linux(_) => false,
        }
    }

    /// Whether a tail loss probe may follow another one with no round trip measured between them, as the kernel's does.
    pub(crate) fn probes_unmeasured(&self) -> bool {
        match self {
            RttHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            RttHost::Linux(_) => true,
        }
    }

    /// Whether a SACK block measures a round trip too. RFC 7323 §4.1: a measurement may be used "only if the segment
    /// advances the left edge of the send window".
    pub(crate) fn measures_sacked(&self) -> bool {
        match self {
            RttHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            RttHost::Linux(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_is_that_of_rfc_6298() {
        let ms = Duration::from_millis;
        let mut host = RttHost::new(&Host::Rfc);
        host.first(ms(80), 1, ms(200));
        assert_eq!((host.variance(), host.margin()), (ms(40), ms(160)));
        // 3/4 · 40 + 1/4 · 20, whichever way the sample lies.
        host.sample(ms(80), ms(100), (1, 2), ms(200));
        assert_eq!(host.variance(), ms(35));
        host.sample(ms(80), ms(60), (2, 3), ms(200));
        assert_eq!(host.variance(), Duration::from_micros(31_250));
    }
}
