//! The sending half of a connection: how much the peer takes, giving the stream to subflows (`dispatch`), what holds data back, and
//! what others carry once more (`reinjection`). The stream itself is a room of its own, because schedulers see it.

pub(crate) mod dispatch;
pub(crate) mod reinjection;

use crate::paths::table::SubflowTable;
use crate::scheduler::BlockedBy;
use crate::seq::{DataSeq, SubflowSet};
use crate::stream::send_buffer::{Messages, SendBuffer};
use crate::stream::send_map::SendMap;
use pathweave_units::{Duration, Instant};
use reinjection::Reinjection;

/// What a connection has to send, and who carries it.
pub(crate) struct Sender {
    /// The stream and who carries what of it.
    pub(crate) map: SendMap,
    pub(crate) buffer: SendBuffer,
    /// Where the application's messages end.
    pub(crate) messages: Messages,
    /// Where its records end: no segment has bytes of two.
    pub(crate) records: Messages,
    /// How much the peer takes.
    pub(crate) peer: PeerWindow,
    /// What holds data back although some subflow has window space, as we last told the scheduler.
    pub(crate) blocked: Option<Blocked>,
    /// While something holds data back: the time up to which that has been counted.
    pub(crate) limited_since: Option<Instant>,
    /// How long there was something to deliver.
    pub(crate) busy: Busy,
    /// What another subflow must carry again.
    pub(crate) reinjection: Reinjection,
    /// Some subflow is late, and others send again what it carries.
    pub(crate) passing_by: bool,
    /// Mainline's connection-level retransmission timer.
    pub(crate) data_timer: Option<Instant>,
    /// When to check whether the stream has come to a halt.
    pub(crate) check: Option<Instant>,
    /// When the first unacknowledged byte last moved on, or when data was first outstanding.
    pub(crate) moved_at: Instant,
    /// The most bytes that may be written and not sent yet, where the application has set that.
    pub(crate) unsent_limit: Option<u64>,
    /// The application waits for room in the send buffer.
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
            peer: PeerWindow::default(),
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

    /// The peer has acknowledged everything before `ack` at the data level. Returns how many bytes of that are new.
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

    /// Gives back the memory that is kept for what may come.
    pub(crate) fn shrink(&mut self) {
        self.map.shrink();
        self.buffer.shrink();
        self.messages.shrink();
        self.records.shrink();
        self.reinjection.shrink();
    }

    /// Where the message ends that the first unassigned byte belongs to, if we know.
    pub(crate) fn message_end(&self) -> Option<DataSeq> {
        if self.messages.is_empty() {
            return None;
        }
        self.messages.end_of(self.map.first_unassigned()?.start)
    }

    /// Nothing is written, out, or waiting for a window. A side that only receives is asked this with each segment.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.map.unassigned_bytes() + self.map.assigned_bytes() == 0
            && self.reinjection.is_empty()
            && self.blocked.is_none()
            && self.peer.probe.is_none()
            && self.data_timer.is_none()
    }

    /// Plans a probe of the peer's window if data is waiting and nothing is in flight: no acknowledgement would come then. A closed
    /// window would stay closed if its update were lost, and a piece that is too small to be worth sending would never go out.
    /// Returns whether this wait begins now. `waits`: the scheduler has named a time to wait until.
    //= RFC 9293 §3.8.6.1 (MUST-37): "As long as the receiving TCP peer continues to send acknowledgments in response to the probe
    //= segments, the sending TCP peer MUST allow the connection to stay open"
    //= tests: zero_window::a_closed_window_may_last_for_hours
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

    /// What waits in spite of an open window is tried again after a timeout. That is no new wait.
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

/// A closed window is probed this often at least: of two answers in a row one may get lost before the peer is taken for dead.
pub(crate) fn longest_probe_interval(close_timeout: Duration) -> Duration {
    close_timeout.saturating_mul(2).div(5).min(Duration::from_secs(60))
}

/// How long there was something to deliver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    /// Since when there has been.
    since: Option<Instant>,
    before: Duration,
}

impl Busy {
    /// Something is written.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// All is acknowledged.
    fn end(&mut self, now: Instant) {
        self.before = self.until(now);
        self.since = None;
    }

    pub(crate) fn until(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

/// How much the peer takes.
#[derive(Debug, Default)]
pub(crate) struct PeerWindow {
    /// The first byte beyond it.
    pub(crate) end: DataSeq,
    /// Its size as the peer last announced it, and the largest of all, bytes.
    pub(crate) size: u64,
    pub(crate) largest: u64,
    /// When it is probed next, and how often it has been probed. If it is open but small: when a small piece goes out anyway.
    pub(crate) probe: Option<(Instant, u32)>,
    /// There is data, no subflow carries any, and nothing has been acknowledged since.
    pub(crate) stuck: bool,
    /// It is time to send a piece although it is small.
    pub(crate) overridden: bool,
}

impl PeerWindow {
    /// The window that the handshake has told.
    pub(crate) fn begin(&mut self, bytes: u64) {
        (self.end, self.size, self.largest) = (DataSeq(bytes), bytes, bytes);
    }

    /// The peer announces this size.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.size = bytes;
        self.largest = self.largest.max(bytes);
    }
}

/// What holds a connection back. The scheduler is told of every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) by: BlockedBy,
    /// The first byte not acknowledged, which everything waits for, and the subflows that carry it.
    head: DataSeq,
    pub(crate) holders: SubflowSet,
    /// The subflows that could send if there were anything to send.
    with_space: SubflowSet,
}

impl Sender {
    /// What holds data back now, if anything does and some subflow has window space.
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

    /// Whether data is waiting and the peer's window has no room for it: either none at all, or so little that silly window
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
                // What is out will open it, or there is too little to be worth a segment.
                edge && len < segment && (self.map.assigned_bytes() > 0 || 2 * len < self.peer.largest)
            }
        }
    }

    /// Whether the peer's window holds data back that some subflow has room for.
    pub(crate) fn is_held_back_by_window(&self) -> bool {
        self.blocked.is_some_and(|b| b.by == BlockedBy::SendWindow)
    }

    /// Whether everything written is out, and the application has more than the send buffer takes.
    pub(crate) fn buffer_is_full(&self) -> bool {
        self.writer_waits && self.map.unassigned_bytes() == 0 && self.map.assigned_bytes() > 0
    }
}
