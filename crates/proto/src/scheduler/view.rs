//! What a scheduler sees.

use crate::congestion::{Growth, Phase};
use crate::seq::{DataSeq, SubflowId};
use crate::stream::send_map::SendMap;
use core::ops::Range;
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// One subflow as a scheduler sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubflowView {
    /// Its name.
    pub id: SubflowId,
    /// Carries data only while no other subflow can (RFC 8684 §3.3.8).
    pub backup: bool,
    /// Shows no sign of life: no new data should go there while another subflow lives.
    pub stale: bool,
    /// The path's priority as configured; lower is preferred.
    pub priority: u32,
    /// The path's cost per gigabyte as configured.
    pub cost: f64,
    /// Bytes left of the path's quota, where it has one.
    pub quota_left: Option<u64>,

    /// Smoothed round-trip time; nothing before the first sample.
    pub srtt: Option<Duration>,
    /// Round-trip time variation (RFC 6298).
    pub rttvar: Duration,
    /// Smallest round-trip time of the subflow's life.
    pub min_rtt: Option<Duration>,
    /// Largest round-trip time of the subflow's life.
    pub max_rtt: Option<Duration>,
    /// The latest round-trip time sample.
    pub latest_rtt: Option<Duration>,

    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments.
    pub ssthresh: u32,
    /// Segments sent and thought to be in the network.
    pub in_flight: u32,
    /// Segments sent and not yet cumulatively acknowledged (in flight, SACKed or lost).
    pub unacked: u32,
    /// Segments assigned and not yet sent.
    pub unsent: u32,
    /// Bytes assigned and not yet acknowledged: sent or not.
    pub queued_bytes: u64,
    /// The same with the buffer overhead that a kernel counts (`sk_wmem_queued`).
    pub queued_memory: u64,
    /// Bytes that the subflow's send buffer still takes.
    pub send_buffer_space: u64,
    /// Data bytes of a full segment.
    pub mss: u32,

    /// Part of the segments sent that were lost, smoothed, 0 to 1.
    pub loss: f64,
    /// Rate of newly acknowledged data over the last round, bytes per second; 0 before the first.
    pub delivery_rate: f64,
    /// The rate at which the window would be sent, bytes per second (the kernel's pacing rate).
    pub pacing_rate: f64,
    /// How the controller will grow the window.
    pub growth: Growth,
    /// Phase of congestion control.
    pub phase: Phase,
    /// When the current round's first segment was sent; nothing while nothing is out.
    pub round_start: Option<Instant>,
    /// When the last new data was sent.
    pub last_sent: Option<Instant>,
    /// The window was not filled when last checked.
    pub app_limited: bool,
}

impl SubflowView {
    /// Segments that the congestion window lets out now, beyond those assigned already.
    pub fn window_space(&self) -> u32 {
        self.cwnd.saturating_sub(self.in_flight.saturating_add(self.unsent))
    }

    /// Whether a segment can go out now.
    pub fn has_space(&self) -> bool {
        self.window_space() > 0 && self.send_buffer_space > 0
    }

    /// The smoothed round-trip time, or zero before the first sample.
    pub fn srtt_or_zero(&self) -> Duration {
        self.srtt.unwrap_or(Duration::ZERO)
    }
}

/// A connection as a scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Now.
    pub now: Instant,
    /// All subflows that can carry data, in order of their names. Dead ones and those in handshake are not in it.
    pub subflows: &'a [SubflowView],
    /// What is assigned to whom, from the first unacknowledged byte on.
    pub queue: &'a SendMap,
    /// No byte at or after this may be sent: the peer's DATA_ACK plus its window.
    pub send_window_end: DataSeq,
    /// The whole send window that the peer offers, bytes (BLEST's |M|).
    pub send_window: u64,
    /// Bytes that the connection's send buffer still takes from the application.
    pub send_buffer_free: u64,
    /// The connection's send buffer, bytes.
    pub send_buffer: u64,
    /// End of the message or chunk that the first unassigned byte belongs to, where the application marks such ends.
    pub message_end: Option<DataSeq>,
    /// Where the fragments of a kernel's send buffer end, in order, those that are acknowledged left out; nothing where the
    /// send buffer is no kernel's.
    pub fragment_ends: Option<&'a VecDeque<DataSeq>>,
}

impl View<'_> {
    /// Where the first fragment of a kernel's send buffer ends that ends at `at` or after it.
    pub fn fragment_end(&self, at: DataSeq) -> Option<DataSeq> {
        let ends = self.fragment_ends?;
        ends.get(ends.partition_point(|e| *e < at)).copied()
    }

    /// The subflow called `id`.
    pub fn subflow(&self, id: SubflowId) -> Option<&SubflowView> {
        self.subflows.iter().find(|s| s.id == id)
    }

    /// The subflows that a scheduler should choose from: those that live and are no backups; where there is none,
    /// those that live; where there is none, all.
    pub fn candidates(&self) -> impl Iterator<Item = &SubflowView> + Clone {
        let some = |backup_too: bool, stale_too: bool| {
            self.subflows.iter().any(|s| (backup_too || !s.backup) && (stale_too || !s.stale))
        };
        let (backup_too, stale_too) = if some(false, false) {
            (false, false)
        } else if some(true, false) {
            (true, false)
        } else {
            (true, true)
        };
        self.subflows.iter().filter(move |s| (backup_too || !s.backup) && (stale_too || !s.stale))
    }

    /// First byte not acknowledged at the data level.
    pub fn first_unacked(&self) -> DataSeq {
        self.queue.first_unacked()
    }

    /// Room between the highest assigned byte and the end of the send window, bytes.
    pub fn send_window_free(&self) -> u64 {
        self.send_window_end.since(self.queue.assigned_end())
    }

    /// The first unassigned range that lies inside the send window.
    pub fn sendable(&self) -> Option<Range<DataSeq>> {
        self.queue.sendable(self.send_window_end)
    }

    /// At most `segments` full segments of subflow `s` from the first unassigned byte inside the send window.
    pub fn next_for(&self, s: &SubflowView, segments: u32) -> Option<Range<DataSeq>> {
        let range = self.sendable()?;
        let end = range.end.min(range.start + u64::from(s.mss) * u64::from(segments));
        Some(range.start..end)
    }

    /// What of `range` can go out on `s` now: what lies inside the send window, without a last segment that the window
    /// cuts short while data is in flight; such a one waits for more window (RFC 9293 §3.8.6.2.1).
    ///
    /// A scheduler that chooses between several ranges needs it, so that one that would wait does not hide the others.
    pub fn inside_window(&self, s: &SubflowView, range: Range<DataSeq>) -> Option<Range<DataSeq>> {
        let mut end = range.end.min(self.queue.written_end());
        if end >= self.send_window_end {
            end = self.send_window_end;
            if end < self.queue.written_end() && self.bytes_in_flight() > 0 {
                end = end - end.since(range.start) % u64::from(s.mss.max(1));
            }
        }
        (range.start < end).then_some(range.start..end)
    }

    /// Bytes assigned and not acknowledged at the data level.
    pub fn bytes_in_flight(&self) -> u64 {
        self.queue.assigned_bytes()
    }

    /// The available buffer of CP: the smaller of free receive window and free send buffer, bytes.
    pub fn available_buffer(&self) -> u64 {
        self.send_window_free().min(self.send_buffer_free + self.queue.unassigned_bytes())
    }
}
