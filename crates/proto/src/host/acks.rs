//! The rules of when one subflow's receiver acknowledges.

use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// What the acknowledgement policy has to know of the rest of the connection.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Surroundings {
    /// The timeout without any doubling.
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
    /// The round trip as the receiver sees it.
    pub(crate) receiver_rtt: Option<Duration>,
    /// The peer understands SACK.
    pub(crate) sack: bool,
    /// What arrived waits for other subflows' data, not for the reader.
    pub(crate) taken: bool,
    /// There is data that a reader could read.
    pub(crate) readable: bool,
}

rules!(
    AckHost,
    Acks = acks(longest_delay as Duration),
    /// A host's rules for one subflow's acknowledgements. The default ones are those of RFC 9293 §3.8.6.3 and RFC 5681 §4.2.
    pub(crate) trait AckRules {
        /// Data or a FIN has arrived, `gap` after the data or FIN before.
        fn note_arrival(&mut self, gap: Duration) {}

        /// How many of the first `quick` segments are acknowledged at once. `window`: what would be offered; `full_segment`:
        /// bytes of a full segment.
        fn quick_acks(&self, quick: u32, window: u64, full_segment: u32) -> u32 {
            quick
        }

        /// Whether segments are acknowledged at once again, as at the start. Asked for each segment in order.
        #[inline]
        fn starts_again(&mut self, rto: Duration, longest_delay: Duration) -> bool {
            false
        }

        /// Whether a duplicate segment has the effect of [`starts_again`](AckRules::starts_again).
        fn starts_again_after_duplicate(&self) -> bool {
            false
        }

        /// Whether the acknowledgement of a second full segment waits for the reader, whose reading makes the window larger.
        /// `smaller`: the acknowledgement would offer a smaller window than the last one; `many`: more than four full segments
        /// are not acknowledged.
        #[inline]
        fn waits_for_reader(&self, smaller: bool, many: bool, around: &Surroundings) -> bool {
            around.readable && !many
        }

        /// Whether that acknowledgement leaves at the end of this instant at the latest. If not, it waits as long as that of a
        /// lone segment.
        #[inline]
        fn waits_an_instant(&self) -> bool {
            true
        }

        /// Whether reading ends the delay of an acknowledgement. `full`: more than a full segment is not acknowledged; `over`:
        /// all is read, and the sender has no more for now.
        #[inline]
        fn answers_reading(&self, full: bool, over: bool) -> bool {
            full
        }

        /// Whether a short segment that other subflows' data has waited for is acknowledged at once.
        fn answers_hole_of_stream(&self) -> bool {
            true
        }

        /// Whether another subflow acknowledges the connection's data too if its DATA_ACK is back sooner.
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

        /// The SACK block at `place` will come to the front. `blocks`: the blocks before this.
        fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {}

        /// An acknowledgement of the segment at hand leaves at once, with the SACK blocks as they are now.
        #[inline]
        fn answers_at_once(&mut self) {}

        /// Whether the acknowledgement that waited beyond a hole leaves now. It reports what had arrived before the segment at
        /// hand, whose acknowledgement waits in turn.
        fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
            false
        }

        /// The SACK blocks to report instead of the present ones.
        fn flushed_blocks(&self) -> Option<&ArrayVec<(u64, u64), 4>> {
            None
        }

        /// When an acknowledgement that waits beyond a hole leaves; the far future if none waits.
        #[inline]
        fn timer(&self) -> Instant {
            Instant::FAR_FUTURE
        }

        /// An acknowledgement leaves.
        #[inline]
        fn acknowledged(&mut self) {}

        /// Ends the wait of an acknowledgement beyond a hole.
        fn stop_timer(&mut self) {}
    }
);
