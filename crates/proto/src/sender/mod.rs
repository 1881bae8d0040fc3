//! The sending half of a connection: how much the peer takes (`peer_window`), giving the stream to subflows (`dispatch`), what holds
//! data back (`blocking`), and what others carry once more (`reinjection`). The stream itself is a room of its own, because
//! schedulers see it.

pub(crate) mod blocking;
pub(crate) mod dispatch;
pub(crate) mod peer_window;
pub(crate) mod reinjection;

use crate::paths::table::SubflowTable;
use crate::seq::DataSeq;
use crate::stream::messages::Messages;
use crate::stream::send_buffer::SendBuffer;
use crate::stream::send_map::SendMap;
use blocking::Blocked;
use pathweave_units::{Duration, Instant};
use peer_window::PeerWindow;
use reinjection::Reinjection;

/// What a connection has to send, and who carries it.
pub(crate) struct Sender {
    /// The stream and who carries what of it.
    pub(crate) map: SendMap,
    pub(crate) buffer: SendBuffer,
    /// Where the application's messages end.
    pub(crate) messages: Messages,
    /// How much the peer takes.
    pub(crate) peer: PeerWindow,
    /// What holds data back although some subflow has window space, as we last told the scheduler.
    pub(crate) blocked: Option<Blocked>,
    /// While the peer's window holds data back: the time up to which that has been counted.
    pub(crate) window_limited_since: Option<Instant>,
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
    /// The application waits for room in the send buffer.
    pub(crate) writer_waits: bool,
}

impl Sender {
    pub(crate) fn new(now: Instant) -> Self {
        Sender {
            map: SendMap::new(),
            buffer: SendBuffer::default(),
            messages: Messages::default(),
            peer: PeerWindow::default(),
            blocked: None,
            window_limited_since: None,
            reinjection: Reinjection::default(),
            passing_by: false,
            data_timer: None,
            check: None,
            moved_at: now,
            writer_waits: false,
        }
    }

    /// The peer has acknowledged everything before `ack` at the data level. Returns how many bytes of that are new.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant, ack: DataSeq) -> u64 {
        let newly = self.map.acknowledge(ack);
        if newly > 0 {
            self.buffer.acknowledge(ack);
            self.messages.acknowledge(self.map.first_unacked());
            self.moved_at = now;
            self.data_timer = None;
        }
        newly
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
    /// Returns whether a probe was planned that was not planned before. `waits`: the scheduler has named a time to wait until.
    pub(crate) fn arm_window_probe(&mut self, now: Instant, subflows: &SubflowTable, waits: bool) -> bool {
        let needed = self.map.unassigned_bytes() > 0
            && self.map.assigned_bytes() == 0
            && (self.peer.end <= self.map.first_unacked() || !waits);
        if !needed {
            self.peer.probe = None;
            return false;
        }
        if self.peer.probe.is_some() {
            return false;
        }
        let rto = subflows.usable().map(|s| s.tcp.rto()).min();
        self.peer.probe = rto.map(|rto| (now + rto, 0));
        self.peer.probe.is_some()
    }

    /// Probes the peer's closed window on every subflow.
    //= RFC 9293 §3.8.6.1: "Probing of zero (offered) windows MUST be supported"
    //= tests: zero_window::a_closed_window_may_last_for_hours, zero_window::a_lost_window_update_is_probed_for
    #[cold]
    pub(crate) fn probe_window(&mut self, now: Instant, subflows: &mut SubflowTable, times: u32) {
        let longest = Duration::from_secs(60);
        let mut rto = Duration::from_secs(1);
        for subflow in subflows.usable_mut() {
            subflow.tcp.probe_window();
            rto = subflow.tcp.rto();
        }
        self.peer.probe = Some((now + rto.saturating_mul(1 << times.min(16)).min(longest), times + 1));
    }
}
