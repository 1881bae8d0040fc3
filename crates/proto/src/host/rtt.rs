//! The rules of one subflow's round trips: how far they vary, which is what the retransmission timeout adds to their average,
//! and which of them count.

use pathweave_units::Duration;

/// RFC 6298 §5.7.
const AFTER_LATE_OPENING: Duration = Duration::from_secs(3);

rules!(
    RttHost,
    Rtt = rtt(),
    /// A host's rules for one subflow's round trips, and its estimate of their variance.
    pub(crate) trait RttRules {
        /// Takes the first round trip. `nxt`: the number that is sent next, which marks rounds; `least`: the smallest
        /// [`margin`](RttRules::margin).
        fn first(&mut self, rtt: Duration, nxt: u64, least: Duration);

        /// Takes a further round trip. `srtt`: the average before it; `una`: the number that is acknowledged.
        fn sample(&mut self, srtt: Duration, rtt: Duration, una: u64, nxt: u64, least: Duration);

        /// RTTVAR, as schedulers see it.
        fn variance(&self) -> Duration;

        /// What the timeout adds to the average at least.
        fn margin(&self) -> Duration;

        /// The timeout before the first round trip if the SYN had to be repeated; it was `before`.
        //= RFC 6298 §5.7: "If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than
        //= 3 seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins"
        //= tests: rfc_host::after_a_syn_that_was_repeated_the_first_timeout_is_3_seconds
        fn after_late_opening(&self, before: Duration) -> Duration {
            before.max(AFTER_LATE_OPENING)
        }

        /// Whether RACK tells by the echoed timestamp which transmission of a segment was delivered (RFC 8985 §6.2).
        fn tells_by_echoes(&self) -> bool {
            true
        }

        /// Whether a tail loss probe may follow another one although no round trip was measured between them.
        fn probes_unmeasured(&self) -> bool {
            false
        }

        /// Whether a SACK block measures a round trip too. RFC 7323 §4.1: a measurement may be used "only if the segment
        /// advances the left edge of the send window".
        fn measures_sacked(&self) -> bool {
            false
        }
    }
);
