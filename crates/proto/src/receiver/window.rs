//! The window that a connection offers.

use crate::config::ReceiveBuffer;
use crate::host::{Arrived, Host, Room, WindowHost, WindowSetting};
use crate::tcp::Tcp;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};

/// Fraction of the buffer that an additional segment must gain to be worth sending.
const WORTH_A_SEGMENT: f64 = 1.0 / 32.0;

/// Smallest buffer, bytes. A kernel offers only half of its buffer at first, and a window of zero would never open.
const LEAST_BUFFER: u64 = 2;

/// First and largest size of the buffer, bytes, and whether it grows.
fn sizes(config: ReceiveBuffer) -> (u64, u64, bool) {
    let (initial, max, grows) = match config {
        ReceiveBuffer::Fixed(bytes) => (bytes, bytes, false),
        ReceiveBuffer::Auto { initial, max } => (initial.min(max), max, true),
    };
    (initial.max(LEAST_BUFFER), max.max(LEAST_BUFFER), grows)
}

/// Limits of what a subflow's acknowledgements may offer of the connection's window, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowWindow {
    /// Present limit, which opens as data arrives.
    pub(crate) limit: u64,
    /// Value up to which the limit may open, if that is less than the buffer.
    pub(crate) clamp: u64,
}

impl Default for SubflowWindow {
    fn default() -> Self {
        SubflowWindow { limit: 0, clamp: u64::MAX }
    }
}

/// The windows that a subflow can express. Sizes are bytes of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Says {
    /// Largest window that it may offer.
    pub(crate) limit: u64,
    /// Granularity of the window in its header.
    pub(crate) step: u64,
    /// Largest segment that was received on it.
    pub(crate) largest_segment: u64,
}

impl Says {
    /// The limits of a subflow with the window `own`.
    pub(crate) fn of(tcp: &Tcp, own: &SubflowWindow) -> Self {
        Says { limit: own.limit, step: tcp.window_step(), largest_segment: tcp.largest_received().into() }
    }
}

/// Size of the receive buffer, its auto-tuning, and the right edge offered so far. All sizes are bytes of data.
///
/// Auto-tuning follows the amount that the application reads in a round trip, as CP §2 asks: twice the rate times the
/// longest round trip, with room for a sender whose rate still grows.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    buffer: u64,
    /// Largest size of the buffer so far. Data that was offered this room may still come.
    promised: u64,
    max: u64,
    /// Whether the buffer grows with the amount that is read.
    grows: bool,
    /// End of the offered window: the peer may not send bytes from here on. It never moves back (RFC 9293 §3.8.6).
    edge: DataSeq,
    measured_from: Instant,
    measured_position: DataSeq,
    /// Duration of a measurement: the longest round trip when that was last looked at.
    round: Option<Duration>,
    /// Bytes read in the last measurement that counted.
    space: u64,
    /// Reading rate in the last measured round trip, bytes/s; 0 before the first, and if no timestamps measure round
    /// trips. A pause counts in the round trip in which it ends.
    rate: f64,
    /// Data bytes of a full segment of plain TCP.
    full_segment: u64,
    host: WindowHost,
}

impl ReceiveWindow {
    /// The window of a new connection. `mptcp`: whether Multipath TCP is requested; `connects`: whether this host
    /// connects. `largest_segment` and `full_segment` are data bytes of segments of plain TCP,
    /// without timestamps and with those that are asked for.
    pub(crate) fn new(
        config: ReceiveBuffer,
        (mptcp, connects): (bool, bool),
        host: &Host,
        (largest_segment, full_segment): (u64, u64),
    ) -> Self {
        let (buffer, max, grows) = sizes(config);
        let setting = WindowSetting { buffer, grows, mptcp, connects, largest_segment, full_segment };
        let host = WindowHost::new(host, &setting);
        ReceiveWindow {
            buffer,
            promised: buffer,
            max,
            grows,
            edge: DataSeq(host.of_syn(buffer)),
            measured_from: Instant::ZERO,
            measured_position: DataSeq(0),
            round: None,
            space: buffer.min(host.first_space(&setting)),
            rate: 0.0,
            full_segment,
            host,
        }
    }

    /// Begins the first measurement of auto-tuning, when the connection is established.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.measured_from = now;
    }

    /// The window of a SYN.
    pub(crate) fn of_syn(&self) -> u64 {
        self.host.of_syn(self.buffer)
    }

    /// The limit that a subflow's window starts with.
    pub(crate) fn first(&self) -> u64 {
        self.host.first(self.buffer)
    }

    /// Bytes that may still come of windows offered so far, at most.
    pub(crate) fn promised(&self) -> u64 {
        self.promised
    }

    /// Changes the buffer. The edge stays.
    pub(crate) fn resize(&mut self, config: ReceiveBuffer) {
        let (initial, max, grows) = sizes(config);
        let buffer = if grows { self.buffer.max(initial).min(max) } else { initial };
        (self.buffer, self.max, self.grows) = (buffer, max, grows);
        self.promised = self.promised.max(self.buffer);
    }
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.host.shrink();
    }
    /// The largest window that may ever be offered, which determines the window scale.
    pub(crate) fn largest(&self) -> u64 {
        self.max
    }
    /// The offered edge.
    pub(crate) fn edge(&self) -> DataSeq {
        self.edge
    }

    /// Notes new data of the stream. Data accepted a little beyond the edge moves the edge, because it takes room in
    /// the buffer; otherwise the window could stay closed for ever to the data in front of it.
    #[inline]
    pub(crate) fn received(&mut self, at: DataSeq, len: u64) {
        self.edge = self.edge.max(at + len);
        self.host.received(self.buffer, at, len);
    }

    /// Notes that all data before `position` was read.
    #[inline]
    pub(crate) fn read_to(&mut self, position: DataSeq) {
        self.host.read_to(position);
    }

    /// Bytes of the receive buffer in use, from the view of a subflow that holds `held` bytes beyond a hole of its own.
    /// `bytes` of the stream are unread or wait for earlier ones.
    #[inline]
    pub(crate) fn occupied(&self, bytes: u64, held: u64, mptcp: bool) -> u64 {
        self.host.occupied(self.buffer, bytes, held, mptcp)
    }

    /// A subflow's new limit, at most `clamp`, after a segment has arrived on it. `occupied` bytes wait in the buffer.
    #[inline]
    pub(crate) fn opened(&self, limit: u64, clamp: u64, arrived: &Arrived, occupied: u64) -> u64 {
        self.host.opened(self.buffer, limit, clamp, arrived, occupied)
    }

    /// The window that a subflow with these limits could offer from `next` on, with `occupied` bytes in the buffer.
    #[inline]
    pub(crate) fn possible(&self, next: DataSeq, occupied: u64, says: &Says) -> u64 {
        let offered = self.edge.max(next).since(next);
        let (buffer, full_segment) = (self.buffer, self.full_segment);
        let Says { limit, step, largest_segment } = *says;
        self.host.possible(&Room { buffer, occupied, full_segment, largest_segment, offered, limit, step })
    }

    /// Whether so little of the buffer is free that segments are no longer acknowledged at once.
    pub(crate) fn ends_quick_acks(&self, occupied: u64) -> bool {
        self.host.ends_quick_acks(self.buffer, occupied)
    }

    /// Whether a subflow should announce `possible`, the window of the whole connection, because it is much larger than
    /// `told`, the last announced one.
    #[inline]
    pub(crate) fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
        self.host.is_news(told, possible, mptcp)
    }

    /// Whether a subflow announces at once that the window is `possible`, if `left` of the last one is unused.
    /// `largest_segment` is the size of the largest segment received on it.
    pub(crate) fn tells(&self, largest_segment: u64, left: u64, possible: u64) -> bool {
        self.host.tells(self.buffer, largest_segment, left, possible)
    }

    /// Offers a window on a subflow: moves the edge if the window reaches farther than before. Returns the window,
    /// relative to `next`.
    //= RFC 9293 §3.8.6.1 (MAY-8): "A TCP implementation MAY keep its offered receive window closed indefinitely"
    //= tests: zero_window::a_closed_window_may_last_for_hours
    pub(crate) fn offer(&mut self, next: DataSeq, occupied: u64, says: &Says) -> u64 {
        let possible = self.possible(next, occupied, says);
        //= RFC 8684 §3.3.4: "As in TCP, a receiver MUST NOT shrink the right edge of the receive window (i.e., DATA_ACK + receive
        //= window)"
        //= tests: settings::a_smaller_receive_buffer_takes_back_nothing_that_was_offered
        //= RFC 7323 §2.4: "The receiver MUST honor, as in window, any segment that would have been in window for any <ACK> sent by
        //= the receiver"
        //= tests: settings::a_smaller_receive_buffer_takes_back_nothing_that_was_offered, zero_window::scaled_windows_are_rounded_but_kept
        //= RFC 7323 §2.4: "When window scaling is in effect, the receiver SHOULD track the actual maximum window sequence number"
        //= tests: zero_window::scaled_windows_are_rounded_but_kept
        self.edge = self.edge.max(next + possible);
        self.edge.since(next)
    }

    /// Whether a DATA_ACK that arrives sooner by `gain` saves enough of the window to be worth a segment.
    pub(crate) fn is_worth_a_segment(&self, gain: Duration) -> bool {
        self.rate * gain.as_secs_f64() >= WORTH_A_SEGMENT * self.buffer as f64
    }

    /// Whether data beyond a hole that ends beyond the edge is dropped; see `WindowRules::drops_beyond_edge`.
    #[inline]
    pub(crate) fn drops_beyond_edge(&self) -> bool {
        self.host.drops_beyond_edge()
    }

    /// Whether the window is smaller while some subflow has not received a full segment.
    #[inline]
    pub(crate) fn distrusts_new_subflows(&self) -> bool {
        self.host.distrusts_new_subflows()
    }

    /// Whether acknowledging waits until a reader has read the rest; see `WindowRules::waits_for_rest`.
    #[inline]
    pub(crate) fn waits_for_rest(&self) -> bool {
        self.host.waits_for_rest()
    }

    /// Time that a reader takes until the acknowledgement that it causes leaves; `None`: it leaves at once.
    #[inline]
    pub(crate) fn reading_takes(&self) -> Option<Duration> {
        self.host.reading_takes()
    }

    /// Auto-tuning, at each read: the buffer should hold twice the amount read in a round trip, with room for the
    /// sender's growth.
    ///
    /// `distrusted`: some subflow makes the window smaller (see [`ReceiveWindow::distrusts_new_subflows`]). If the
    /// buffer grows, returns the window that subflows may open to.
    pub(crate) fn tune(
        &mut self,
        now: Instant,
        read: DataSeq,
        longest_rtt: Option<Duration>,
        distrusted: bool,
    ) -> Option<u64> {
        let elapsed = now.since(self.measured_from);
        if self.round.is_some_and(|rtt| elapsed < rtt) {
            return None;
        }
        self.round = longest_rtt;
        self.host.note_new_subflows(distrusted);
        if longest_rtt.is_none_or(|rtt| elapsed < rtt) {
            return None;
        }
        let mut opened = None;
        let copied = read.since(self.measured_position);
        self.rate = copied as f64 / elapsed.as_secs_f64();
        if self.grows && copied > self.space {
            let wanted = 2 * copied + 16 * self.full_segment;
            let growth = wanted.saturating_mul(copied - self.space) / self.space.max(1);
            let wanted = wanted.saturating_add(2 * growth).min(self.max);
            let (buffer, window) = self.host.grown(wanted, self.max);
            if buffer > self.buffer {
                self.buffer = buffer;
                self.promised = self.promised.max(buffer);
                opened = Some(window);
            }
            self.space = copied;
        }
        self.measured_from = now;
        self.measured_position = read;
        opened
    }
}
