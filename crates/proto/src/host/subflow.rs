//! Rules of one subflow's sending half: which segments leave together, how much of the send buffer they take, and how
//! fast a window is sent.

use crate::congestion::Window;
use crate::send_queue::SendQueue;
use pathweave_units::{Duration, Instant};

/// State of a subflow from which the host decides which segments leave together.
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
    /// Whether losses are being repaired, or the window is being reduced.
    pub(crate) recovering: bool,
    pub(crate) last_sent: Option<Instant>,
    /// New bytes that the peer's window has room for.
    pub(crate) offered: u64,
    /// The peer's whole window, bytes.
    pub(crate) peer_window: u64,
    /// Whether Nagle's rule holds a short segment back.
    pub(crate) nagle_holds: bool,
    pub(crate) fin_queued: bool,
    /// Whether more stream data follows the data that is queued on this subflow.
    pub(crate) backlog: bool,
    /// Whether data may be queued beyond the congestion window.
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
    /// A host's rules for one subflow's sending half, and their state. By default each segment leaves as soon as it
    /// may, and queued data takes its own length of the send buffer. The pacing rate and the size of the queue have no
    /// default.
    pub(crate) trait SubflowRules {
        /// Sets the size of a full segment after the handshake: data bytes, without Multipath TCP's options.
        fn set_plain_mss(&mut self, bytes: u32);

        /// Updates the pacing rate after an acknowledgement or after the handshake.
        fn update_pacing(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>);

        /// The rate at which data leaves if it is paced, bytes/s; 0 before the first round trip was measured.
        fn pacing_rate(&self) -> f64;

        /// Notes an acknowledgement that reported progress. `cwnd`: the congestion window after it.
        fn acknowledged(&mut self, cwnd: u32);

        /// Bytes that may be queued on this subflow, at most `max`.
        fn send_buffer(&self, max: u64) -> u64;

        /// The subflow's share of a connection's send buffer that grows with the subflows' windows, at most `max` bytes.
        #[inline]
        fn share_of_send_buffer(&self, max: u64) -> u64 {
            self.send_buffer(max)
        }

        /// Grows the send buffer if it is too small for the congestion window. Returns whether it grew. `idle`: no more
        /// data leaves now.
        #[inline]
        fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
            false
        }

        /// Notes that the application has fixed the size of the send buffer.
        fn fix_send_buffer(&mut self) {}

        /// The part of the send buffer that `queue` takes.
        #[inline]
        fn memory(&self, queue: &SendQueue) -> u64 {
            queue.queued_bytes()
        }

        /// The part of the send buffer that `queue` takes with `bytes` more. `goes_on`: the new bytes follow the last
        /// queued byte.
        fn memory_with(&self, queue: &SendQueue, goes_on: bool, bytes: u64, mss: u32, peer_window: u64) -> u64 {
            queue.queued_bytes() + bytes
        }

        /// The part of the send buffer that `bytes` will take once they are queued.
        fn memory_of(&self, bytes: u64, mss: u32, peer_window: u64) -> u64 {
            bytes
        }

        /// Bytes that a writer adds to `unassigned` bytes if `free` bytes of the send buffer are left.
        fn fills(&self, unassigned: u64, free: u64, mss: u32, peer_window: u64) -> u64 {
            free
        }

        /// Segments of `mss` bytes that share a buffer. `peer_window`: the largest window that the peer has offered.
        #[inline]
        fn buffer_segments(&self, mss: u32, peer_window: u64) -> u32 {
            1
        }

        /// Reconsiders a burst that was held back, after a segment, new data or a timer event came to this subflow.
        #[inline]
        fn look_again(&mut self) {}

        /// Whether the next segment belongs to the same burst as the last one. If not,
        /// [`begin_burst`](SubflowRules::begin_burst) is called first.
        #[inline]
        fn is_in_burst(&self) -> bool {
            true
        }

        /// Begins a burst with the first unsent segment, for which the windows have room. Returns false if the host
        /// holds the burst back.
        fn begin_burst(&mut self, now: Instant, sending: &Sending<'_>) -> bool {
            true
        }

        /// Notes that a new segment leaves. Returns its position in the burst.
        #[inline]
        fn sent(&mut self) -> Left {
            Left::ALONE
        }

        /// Whether the segment that has just left carries PSH because it ends a burst of several segments.
        #[inline]
        fn pushes_burst(&self) -> bool {
            false
        }

        /// Whether PSH marks the end of the data that one assignment of the scheduler queued.
        #[inline]
        fn pushes_grants(&self) -> bool {
            false
        }

        /// Whether the segment with the FIN leaves although the congestion window has no room for it.
        fn sends_fin_beyond_window(&self) -> bool {
            false
        }

        /// Whether a segment without data and with an old sequence number is answered even if later segments may have
        /// overtaken it on its way.
        fn answers_overtaken(&self) -> bool {
            false
        }

        /// How often an unanswered SYN of a new connection is repeated. Seven repetitions take 247 s.
        //= RFC 9293 §3.8.3 (MUST-23): "R2 for a SYN segment MUST be set large enough to provide retransmission of the segment for at
        //= least 3 minutes"
        //= tests: handshake::a_syn_that_nobody_answers_is_given_up_after_more_than_3_minutes
        fn syn_repetitions(&self) -> u32 {
            7
        }

        /// Reduces the congestion window when sending restarts after an idle time longer than the timeout. `least`: the
        /// smaller of the initial and the current window; `queue`: the waiting data; `queues`: whether data may be
        /// queued beyond the window.
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

        /// Whether an acknowledgement lets the window grow. `in_flight`: segments in flight when the acknowledgement
        /// came; `limited`: whether the window limits sending, or did so recently.
        #[inline]
        fn lets_grow(&self, cwnd: u32, in_flight: u32, limited: bool) -> bool {
            limited
        }

        /// Whether a smaller window counts that comes with an acknowledgement which repeats the one before. If not, the
        /// window before stays the subflow's, and it counts from each DATA_ACK that comes on this subflow. A window of
        /// zero always counts.
        fn takes_window_of_repetition(&self) -> bool {
            true
        }

        /// Whether the retransmission timer starts anew when a segment is selectively acknowledged that was sent before
        /// the first unacknowledged one was last sent. If not, only new data that is acknowledged restarts it
        /// (RFC 6298 §5.3).
        fn restarts_timeout_at_old_sacks(&self) -> bool {
            false
        }

        /// Time added to each timer of RFC 8985 (RACK and TLP).
        #[inline]
        fn timer_slack(&self) -> Duration {
            Duration::ZERO
        }
    }
);
