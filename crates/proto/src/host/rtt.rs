//! Rules for one subflow's round trips: which of them count, and how much they vary. The retransmission timeout is
//! their average plus a margin for this variance.

use pathweave_units::Duration;

/// Shortest timeout for the first data after a repeated SYN (RFC 6298 §5.7).
const AFTER_LATE_OPENING: Duration = Duration::from_secs(3);

rules!(
    RttHost,
    Rtt = rtt(),
    /// A host's rules for one subflow's round trips, and its estimate of their variance.
    pub(crate) trait RttRules {
        /// Takes the first round trip. `nxt`: the next sequence number to send, which marks the end of a round;
        /// `least`: the smallest [`margin`](RttRules::margin).
        fn first(&mut self, rtt: Duration, nxt: u64, least: Duration);

        /// Takes a further round trip. `srtt`: the average before it; `una`: the acknowledged sequence number.
        fn sample(&mut self, srtt: Duration, rtt: Duration, una: u64, nxt: u64, least: Duration);

        /// The variance RTTVAR, as schedulers see it.
        fn variance(&self) -> Duration;

        /// The least time that the timeout adds to the average.
        fn margin(&self) -> Duration;

        /// The timeout of the first data if the SYN had to be repeated. `before`: the timeout until then.
        //= RFC 6298 §5.7: "If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is using an RTO less than
        //= 3 seconds, the RTO MUST be re-initialized to 3 seconds when data transmission begins"
        //= tests: rfc_host::after_a_syn_that_was_repeated_the_first_timeout_is_3_seconds
        fn after_late_opening(&self, before: Duration) -> Duration {
            before.max(AFTER_LATE_OPENING)
        }

        /// Whether RACK uses the echoed timestamp to tell which transmission of a segment was delivered (RFC 8985
        /// §6.2).
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
