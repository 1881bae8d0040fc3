//! Rules for the time at which one subflow's receiver acknowledges.

use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// State of the rest of the connection on which the acknowledgement rules depend.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Surroundings {
    /// Retransmission timeout without backoff.
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
    /// Round-trip time as the receiver measures it from the timestamps that the peer echoes.
    pub(crate) receiver_rtt: Option<Duration>,
    /// Whether the peer understands SACK.
    pub(crate) sack: bool,
    /// Whether the arrived data waits for data of other subflows, not for the reader.
    pub(crate) taken: bool,
    /// Whether data is ready to be read.
    pub(crate) readable: bool,
}

rules!(
    AckHost,
    Acks = acks(longest_delay as Duration),
    /// A host's rules for one subflow's acknowledgements. The default ones are those of RFC 9293 §3.8.6.3 and RFC 5681 §4.2.
    pub(crate) trait AckRules {
        /// Notes that data or a FIN has arrived. `gap`: the time since the previous arrival.
        fn note_arrival(&mut self, gap: Duration) {}

        /// Whether a timestamp that a short or empty segment echoes first gives no round trip to a full one that echoes it
        /// later.
        #[inline]
        fn counts_each_echo(&self) -> bool {
            false
        }

        /// How many of the next `quick` segments are acknowledged at once. `window`: the window that would be offered;
        /// `full_segment`: bytes of a full segment.
        fn quick_acks(&self, quick: u32, window: u64, full_segment: u32) -> u32 {
            quick
        }

        /// Whether quick acknowledgements restart, as at the start of the connection. Called for each segment in order.
        #[inline]
        fn starts_again(&mut self, rto: Duration, longest_delay: Duration) -> bool {
            false
        }

        /// Whether a duplicate segment restarts quick acknowledgements.
        fn starts_again_after_duplicate(&self) -> bool {
            false
        }

        /// Whether the acknowledgement of a second full segment waits for the application, whose reading enlarges the
        /// window. `smaller`: the acknowledgement would offer a smaller window than the last one; `many`: more than
        /// four full segments are unacknowledged.
        #[inline]
        fn waits_for_reader(&self, smaller: bool, many: bool, around: &Surroundings) -> bool {
            around.readable && !many
        }

        /// Whether an acknowledgement that waits for the application leaves at the end of this instant at the latest.
        /// If not, it waits as long as the acknowledgement of a lone segment.
        #[inline]
        fn waits_an_instant(&self) -> bool {
            true
        }

        /// Whether reading ends the delay of an acknowledgement. `full`: more than one full segment is unacknowledged;
        /// `over`: everything is read, and the sender has no more data for now.
        #[inline]
        fn answers_reading(&self, full: bool, over: bool) -> bool {
            full
        }

        /// Whether a short segment is acknowledged at once if data of other subflows has waited for it.
        fn answers_hole_of_stream(&self) -> bool {
            true
        }

        /// Whether a DATA_ACK also leaves on another subflow if it reaches the peer sooner there.
        #[inline]
        fn shares_data_acks(&self) -> bool {
            true
        }

        /// How long the acknowledgement of a lone segment waits, at most `longest`.
        #[inline]
        fn delay(&self, longest: Duration) -> Duration {
            longest
        }

        /// Whether the acknowledgement of a segment beyond a hole waits, so that later segments share it. `hole`: the first missing
        /// byte.
        //= RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order to accelerate loss recovery."
        //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
        //= RFC 9293 §3.10.7.4 (MAY-13): "A TCP implementation MAY send an ACK segment acknowledging RCV.NXT when a valid segment
        //= arrives that is in the window but not at the left window edge"
        //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
        //= RFC 5681 §3.2: "A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment arrives"
        //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
        //= RFC 5681 §4.2: "the receiver SHOULD send an immediate duplicate ACK when it receives a data segment above a gap in the
        //= sequence space"
        //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
        fn waits_beyond_hole(&mut self, now: Instant, hole: u64, around: &Surroundings) -> bool {
            false
        }

        /// Called before the SACK block at `place` moves to the front of `blocks`. A new block has the place behind the
        /// last one.
        fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {}

        /// Notes that the acknowledgement of the current segment leaves at once, with the current SACK blocks.
        #[inline]
        fn answers_at_once(&mut self) {}

        /// Whether an acknowledgement that waited beyond a hole leaves now. It reports the data that arrived before the
        /// current segment. The current segment's own acknowledgement then waits.
        fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
            false
        }

        /// The SACK blocks to report instead of the current ones, if they differ.
        fn flushed_blocks(&self) -> Option<&ArrayVec<(u64, u64), 4>> {
            None
        }

        /// When an acknowledgement that waits beyond a hole leaves; the far future if none waits.
        #[inline]
        fn timer(&self) -> Instant {
            Instant::FAR_FUTURE
        }

        /// Notes that an acknowledgement leaves.
        #[inline]
        fn acknowledged(&mut self) {}

        /// Cancels the timer of an acknowledgement that waits beyond a hole.
        fn stop_timer(&mut self) {}
    }
);
