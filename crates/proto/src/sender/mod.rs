//! The sending half of a connection: the peer's window, giving the stream to subflows (`dispatch`), the limits that
//! hold data back, and data that is sent again on other subflows (`reinjection`). Which subflow carries which part of
//! the stream is in a [`SendMap`], which schedulers see.

pub(crate) mod dispatch;
pub(crate) mod reinjection;

use crate::paths::table::SubflowTable;
use crate::send_buffer::{Messages, SendBuffer};
use pathweave_scheduler::{BlockedBy, DataSeq, SendMap, SubflowSet};
use pathweave_units::{Duration, Instant};
use reinjection::Reinjection;

/// The data that a connection sends, and which subflows carry it.
pub(crate) struct Sender {
    /// The stream, and the subflows that carry each part.
    pub(crate) map: SendMap,
    pub(crate) buffer: SendBuffer,
    /// Ends of the application's messages.
    pub(crate) messages: Messages,
    /// Ends of the application's records. No segment has bytes of two records.
    pub(crate) records: Messages,
    /// The peer's window.
    pub(crate) peer: ConnectionSendWindow,
    /// The limit that holds data back although some subflow has window space, as last told to the scheduler.
    pub(crate) blocked: Option<Blocked>,
    /// While a limit holds data back: the time up to which that was counted.
    pub(crate) limited_since: Option<Instant>,
    /// How long there was data to deliver.
    pub(crate) busy: Busy,
    /// Ranges that other subflows must send again.
    pub(crate) reinjection: Reinjection,
    /// Whether some subflow is late, so that others send its data again.
    pub(crate) passing_by: bool,
    /// Mainline Linux's connection-level retransmission timer.
    pub(crate) data_timer: Option<Instant>,
    /// When to check whether the stream stands still.
    pub(crate) check: Option<Instant>,
    /// When the first unacknowledged byte last moved on, or when data was first outstanding.
    pub(crate) moved_at: Instant,
    /// Limit of the bytes that are written and not sent yet, if the application has set one.
    pub(crate) unsent_limit: Option<u64>,
    /// Whether the application waits for room in the send buffer.
    pub(crate) writer_waits: bool,
    /// The application has set the size of the send buffer, which therefore no longer follows the subflows' windows.
    pub(crate) fixed_buffer: bool,
}

impl Sender {
    pub(crate) fn new(now: Instant) -> Self {
        Sender {
            map: SendMap::new(),
            buffer: SendBuffer::default(),
            messages: Messages::default(),
            records: Messages::default(),
            peer: ConnectionSendWindow::default(),
            blocked: None,
            limited_since: None,
            busy: Busy::default(),
            reinjection: Reinjection::default(),
            passing_by: false,
            data_timer: None,
            check: None,
            moved_at: now,
            unsent_limit: None,
            writer_waits: false,
            fixed_buffer: false,
        }
    }

    /// Notes that the peer has acknowledged all data before `ack` at the data level. Returns the number of newly
    /// acknowledged bytes.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant, ack: DataSeq) -> u64 {
        let newly = self.map.acknowledge(ack);
        if newly > 0 {
            self.buffer.acknowledge(ack);
            self.messages.acknowledge(self.map.first_unacked());
            self.records.acknowledge(self.map.first_unacked());
            self.moved_at = now;
            self.data_timer = None;
            self.peer.stuck = false;
            if self.map.first_unacked() == self.map.written_end() {
                self.busy.end(now);
            }
        }
        newly
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.map.shrink();
        self.buffer.shrink();
        self.messages.shrink();
        self.records.shrink();
        self.reinjection.shrink();
    }

    /// End of the message that the first unassigned byte belongs to, if it is known.
    pub(crate) fn message_end(&self) -> Option<DataSeq> {
        if self.messages.is_empty() {
            return None;
        }
        self.messages.end_of(self.map.first_unassigned()?.start)
    }

    /// Whether no data is written, in flight or waiting for a window. On a side that only receives, this is called for
    /// each segment.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.map.unassigned_bytes() + self.map.assigned_bytes() == 0
            && self.reinjection.is_empty()
            && self.blocked.is_none()
            && self.peer.probe.is_none()
            && self.data_timer.is_none()
    }

    /// Plans a probe of the peer's window if data waits and nothing is in flight, because no acknowledgement would come
    /// then. A closed window would stay closed if its update were lost, and a piece too small to be worth sending would
    /// never leave. Returns whether this wait begins now. `waits`: the scheduler has named a time to wait until.
    //= RFC 9293 §3.8.6.1 (MUST-37): "As long as the receiving TCP peer continues to send acknowledgments in response to the probe
    //= segments, the sending TCP peer MUST allow the connection to stay open"
    //= tests: zero_window::a_closed_window_may_last_for_hours, leaving::a_peer_whose_window_stays_closed_is_given_up
    pub(crate) fn arm_window_probe(&mut self, now: Instant, subflows: &SubflowTable, waits: bool) -> bool {
        let stuck = self.map.unassigned_bytes() > 0 && self.map.assigned_bytes() == 0;
        let begins = stuck && !self.peer.stuck;
        self.peer.stuck = stuck;
        if !stuck || (waits && self.peer.end > self.map.first_unacked()) {
            self.peer.probe = None;
            return begins;
        }
        if self.peer.probe.is_some() {
            return begins;
        }
        let rto = shortest_timeout(subflows);
        //= RFC 9293 §3.8.6.1 (SHLD-29): "The transmitting host SHOULD send the first zero-window probe when a zero window has
        //= existed for the retransmission timeout period"
        //= tests: zero_window::a_closed_window_is_probed_after_a_timeout_and_then_more_and_more_seldom
        self.peer.probe = rto.map(|rto| (now + rto, 0));
        begins
    }

    /// Plans another attempt, after a timeout, to send data that waits in spite of an open window. It counts as the
    /// same wait.
    #[cold]
    pub(crate) fn override_again(&mut self, now: Instant, subflows: &SubflowTable) {
        let rto = shortest_timeout(subflows);
        self.peer.probe = self.peer.probe.zip(rto).map(|((_, times), rto)| (now + rto, times));
    }

    /// Probes the peer's closed window on every subflow.
    //= RFC 9293 §3.8.6.1 (MUST-36): "Probing of zero (offered) windows MUST be supported"
    //= tests: zero_window::a_closed_window_may_last_for_hours, zero_window::a_lost_window_update_is_probed_for
    #[cold]
    pub(crate) fn probe_window(
        &mut self,
        now: Instant,
        subflows: &mut SubflowTable,
        times: u32,
        close_timeout: Duration,
    ) {
        let longest = longest_probe_interval(close_timeout);
        let mut rto = Duration::from_secs(1);
        for subflow in subflows.usable_mut() {
            subflow.tcp.probe_window();
            rto = subflow.tcp.rto();
        }
        //= RFC 9293 §3.8.6.1 (SHLD-30): "SHOULD increase exponentially the interval between successive probes"
        //= tests: zero_window::a_closed_window_is_probed_after_a_timeout_and_then_more_and_more_seldom
        self.peer.probe = Some((now + rto.saturating_mul(1 << times.min(16)).min(longest), times + 1));
    }
}

/// The shortest retransmission timeout of the subflows that can carry data.
fn shortest_timeout(subflows: &SubflowTable) -> Option<Duration> {
    subflows.usable().map(|s| s.tcp.rto()).min()
}

/// Longest interval between probes of a closed window. It is so short that one of two successive answers may get lost
/// before the peer counts as dead.
pub(crate) fn longest_probe_interval(close_timeout: Duration) -> Duration {
    close_timeout.saturating_mul(2).div(5).min(Duration::from_secs(60))
}

/// Total time during which there was data to deliver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    /// Start of the present such time, if there is data now.
    since: Option<Instant>,
    before: Duration,
}

impl Busy {
    /// Notes that data was written.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Notes that all data is acknowledged.
    fn end(&mut self, now: Instant) {
        self.before = self.until(now);
        self.since = None;
    }

    pub(crate) fn until(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

/// The window that the peer offers, and probes of it.
#[derive(Debug, Default)]
pub(crate) struct ConnectionSendWindow {
    /// End of the window: the first byte beyond it.
    pub(crate) end: DataSeq,
    /// Size of the window as the peer last announced it, and the largest so far, bytes.
    pub(crate) size: u64,
    pub(crate) largest: u64,
    /// Time of the next probe, and the number of probes so far. If the window is open but small: when a small piece
    /// leaves anyway.
    pub(crate) probe: Option<(Instant, u32)>,
    /// Whether there is data that no subflow carries, and nothing was acknowledged since.
    pub(crate) stuck: bool,
    /// Whether a piece may leave although it is small.
    pub(crate) overridden: bool,
}

impl ConnectionSendWindow {
    /// Sets the window that the handshake has announced.
    pub(crate) fn begin(&mut self, bytes: u64) {
        (self.end, self.size, self.largest) = (DataSeq(bytes), bytes, bytes);
    }

    /// Takes a newly announced size.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.size = bytes;
        self.largest = self.largest.max(bytes);
    }
}

/// A limit that holds a connection back. The scheduler is told of every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) by: BlockedBy,
    /// The first unacknowledged byte, for which all data waits, and the subflows that carry it.
    head: DataSeq,
    pub(crate) holders: SubflowSet,
    /// The subflows that could send if there were data that may leave.
    with_space: SubflowSet,
}

impl Sender {
    /// The limit that holds data back now, if there is one and some subflow has window space.
    pub(crate) fn blocked_now(&self, subflows: &SubflowTable, send_buffer: u64) -> Option<Blocked> {
        let by = match self.window_is_full(subflows) {
            true => BlockedBy::SendWindow,
            false if self.buffer_is_full() => BlockedBy::SendBuffer,
            false => return None,
        };
        let free = subflows.usable().filter(|s| s.has_space(send_buffer));
        let with_space = free.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
        if with_space.is_empty() {
            return None;
        }
        Some(Blocked { by, head: self.map.first_unacked(), holders: self.holders(), with_space })
    }

    /// Whether data waits and the peer's window has no room for it: none at all, or so little that silly window
    /// avoidance holds the segment back.
    #[inline]
    pub(crate) fn window_is_full(&self, subflows: &SubflowTable) -> bool {
        if self.map.unassigned_bytes() == 0 {
            return false;
        }
        match self.map.sendable(self.peer.end) {
            None => true,
            Some(range) => {
                let segment = subflows.usable().map(|s| u64::from(s.tcp.mss())).max().unwrap_or(0);
                let edge = range.end == self.peer.end && range.end < self.map.written_end();
                let len = range.end.since(range.start);
                // An acknowledgement of data in flight will open the window, or the piece is too small to be worth a
                // segment.
                edge && len < segment && (self.map.assigned_bytes() > 0 || 2 * len < self.peer.largest)
            }
        }
    }

    /// Whether the peer's window holds back data for which some subflow has room.
    pub(crate) fn is_held_back_by_window(&self) -> bool {
        self.blocked.is_some_and(|b| b.by == BlockedBy::SendWindow)
    }

    /// Whether all written data has left, and the application has more than the send buffer takes.
    pub(crate) fn buffer_is_full(&self) -> bool {
        self.writer_waits && self.map.unassigned_bytes() == 0 && self.map.assigned_bytes() > 0
    }
}
