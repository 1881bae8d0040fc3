//! The rules of one subflow that sends: which segments leave together, what they take of the send buffer, and how fast a
//! window is sent.

use crate::congestion::Window;
use crate::send_queue::SendQueue;
use pathweave_units::{Duration, Instant};

/// The state of a subflow, for the decision which segments leave together.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Sending<'a> {
    pub(crate) queue: &'a SendQueue,
    /// Smallest and smoothed round-trip time.
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) srtt: Option<Duration>,
    /// Congestion window and segments in flight.
    pub(crate) cwnd: u32,
    pub(crate) in_flight: u32,
    /// Data bytes of a full segment.
    pub(crate) mss: u32,
    /// Losses are being repaired, or the window is being reduced.
    pub(crate) recovering: bool,
    pub(crate) last_sent: Option<Instant>,
    /// Bytes from the next new one on that the peer's window has room for, and that window.
    pub(crate) offered: u64,
    pub(crate) peer_window: u64,
    /// Nagle's rule holds a short segment back.
    pub(crate) nagle_holds: bool,
    pub(crate) fin_queued: bool,
    /// More stream data follows what is queued on this subflow.
    pub(crate) backlog: bool,
    /// Data is queued beyond the congestion window.
    pub(crate) queues: bool,
}

/// Position of a segment within its burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Left {
    /// A segment that leaves by itself.
    pub(crate) const ALONE: Left = Left { first: true, last: true };
}

rules!(
    SubflowHost,
    Subflow = subflow(tunes as bool, cwnd as u32, mss as u32),
    /// A host's rules for one subflow that sends, and what they remember. By default each segment leaves as soon as it may, and
    /// queued data takes its length of the send buffer. How fast a window is sent and how much is queued is each host's.
    pub(crate) trait SubflowRules {
        /// Takes the data bytes of a full segment, without Multipath TCP's options, which the handshake has settled.
        fn set_plain_mss(&mut self, bytes: u32);

        /// An acknowledgement was taken, or the handshake has ended: the rate may be another one.
        fn update_pacing(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>);

        /// The rate at which data leaves if it is paced, bytes/s; 0 before the first round trip was measured.
        fn pacing_rate(&self) -> f64;

        /// An acknowledgement of something new was taken, after which the congestion window is `cwnd`.
        fn acknowledged(&mut self, cwnd: u32);

        /// How much may be queued on this subflow, at most `max` bytes.
        fn send_buffer(&self, max: u64) -> u64;

        /// The subflow's share of a connection's send buffer that grows with the subflows' windows, at most `max` bytes.
        #[inline]
        fn share_of_send_buffer(&self, max: u64) -> u64 {
            self.send_buffer(max)
        }

        /// Makes the send buffer larger if it is too small for the window, and says whether it did. `idle`: nothing more goes
        /// out now.
        #[inline]
        fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
            false
        }

        /// The application has set the size of the send buffer.
        fn fix_send_buffer(&mut self) {}

        /// The part of the send buffer that `queue` takes.
        #[inline]
        fn memory(&self, queue: &SendQueue) -> u64 {
            queue.queued_bytes()
        }

        /// The part of the send buffer that `queue` takes with `bytes` more. `goes_on`: these follow the last queued byte.
        fn memory_with(&self, queue: &SendQueue, goes_on: bool, bytes: u64, mss: u32, peer_window: u64) -> u64 {
            queue.queued_bytes() + bytes
        }

        /// The part of the send buffer that `bytes` will take once they are queued.
        fn memory_of(&self, bytes: u64, mss: u32, peer_window: u64) -> u64 {
            bytes
        }

        /// How much a writer adds to `unassigned` bytes if `free` bytes of the send buffer are left.
        fn fills(&self, unassigned: u64, free: u64, mss: u32, peer_window: u64) -> u64 {
            free
        }

        /// How many segments of `mss` bytes share a buffer. `peer_window`: the largest that the peer has offered.
        #[inline]
        fn buffer_segments(&self, mss: u32, peer_window: u64) -> u32 {
            1
        }

        /// A segment, data or a timer came to this subflow: what the host held back may leave now.
        #[inline]
        fn look_again(&mut self) {}

        /// Whether the next segment belongs to the burst of the one before. If not, [`begin_burst`](SubflowRules::begin_burst) is
        /// asked first.
        #[inline]
        fn is_in_burst(&self) -> bool {
            true
        }

        /// Begins a burst with the first unsent segment, for which the windows have room; false: the host holds it back.
        fn begin_burst(&mut self, now: Instant, sending: &Sending<'_>) -> bool {
            true
        }

        /// A new segment leaves.
        #[inline]
        fn sent(&mut self) -> Left {
            Left::ALONE
        }

        /// Whether PSH marks the segment that has just left, as the last one of a burst of several.
        #[inline]
        fn pushes_burst(&self) -> bool {
            false
        }

        /// Whether PSH marks the end of what a scheduler's grant put into the buffers.
        #[inline]
        fn pushes_grants(&self) -> bool {
            false
        }

        /// Whether the segment with the FIN leaves although the congestion window has no room for it.
        fn sends_fin_beyond_window(&self) -> bool {
            false
        }

        /// Whether an acknowledgement is answered that the peer may have sent before our last data reached it.
        fn answers_overtaken(&self) -> bool {
            false
        }

        /// How often the SYN of a new connection is repeated: 7 times take 247 s.
        //= RFC 9293 §3.8.3 (MUST-23): "R2 for a SYN segment MUST be set large enough to provide retransmission of the segment for at
        //= least 3 minutes"
        //= tests: handshake::a_syn_that_nobody_answers_is_given_up_after_more_than_3_minutes
        fn syn_repetitions(&self) -> u32 {
            7
        }

        /// Sending begins again after an idle time of more than a timeout. `least`: the smaller of the initial and the present
        /// window; `queue`: what waits; `queues`: it may be more than the window.
        //= RFC 5681 §4.1: "TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not sent data in an
        //= interval exceeding the retransmission timeout."
        //= tests: penalisation::the_window_restarts_after_an_idle_time_where_that_is_asked_for
        fn restart(
            &self,
            window: &mut Window,
            least: u32,
            idle: Duration,
            rto: Duration,
            queue: &SendQueue,
            queues: bool,
        ) {
            window.cwnd = least;
        }

        /// Whether an acknowledgement lets the window grow. `in_flight`: segments that were out when it came; `limited`: the
        /// window is, or lately was, what limits sending.
        #[inline]
        fn lets_grow(&self, cwnd: u32, in_flight: u32, limited: bool) -> bool {
            limited
        }

        /// Added to the timers of RFC 8985.
        #[inline]
        fn timer_slack(&self) -> Duration {
            Duration::ZERO
        }
    }
);
