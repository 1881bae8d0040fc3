//! The window that a connection offers.

use crate::config::ReceiveBuffer;
use crate::host::linux::memory::{OVERHEAD, SEGMENTS};
use crate::seq::DataSeq;
use pathweave_units::{Duration, Instant};

/// What a subflow's own acknowledgements may offer of the connection's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowWindow {
    /// The most now: it opens as data arrives.
    pub(crate) limit: u64,
    /// What that may open to, where it is less than the buffer.
    pub(crate) clamp: u64,
}

impl Default for SubflowWindow {
    fn default() -> Self {
        SubflowWindow { limit: 0, clamp: u64::MAX }
    }
}

/// Buffer size, its auto-tuning, and the right edge offered so far. All sizes are bytes of data.
///
/// Auto-tuning is the kernel's: the buffer follows what the application reads in a round trip (as CP §2 asks: twice the
/// rate times the longest round trip), and the offered window opens by two segments for each one that arrives.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    buffer: u64,
    /// What it was at first: a subflow that joins later begins with it.
    initial: u64,
    max: u64,
    auto: bool,
    /// Nothing at or beyond this may be sent by the peer. Never moves back (RFC 9293 §3.8.6).
    edge: DataSeq,
    measured_from: Instant,
    measured_position: DataSeq,
    /// How long a measurement takes: the longest round trip when it was last looked at.
    round: Option<Duration>,
    space: u64,
    /// Some subflow has not shown how full its segments are: the kernel then takes more of the memory for overhead.
    cautious: bool,
    /// Multipath TCP was asked for: its segments are a little shorter.
    mptcp: bool,
}

/// A full segment of plain TCP over Ethernet with timestamps, bytes: the unit of the kernel's rules.
const FULL_SEGMENT: u64 = 1448;
/// What the kernel takes a segment for before the handshake of a Multipath TCP connection has ended: without timestamps.
const FIRST_SEGMENT: u64 = 1460;
/// The part of its memory, of 256, that the kernel offers as window: a half until it has seen how full segments are, then
/// what full segments leave.
const FIRST_SHARE: u64 = 128;
const TCP_SHARE: u64 = 153;
const MPTCP_SHARE: u64 = 152;
/// Data of a full Multipath TCP segment, bytes.
const MPTCP_SEGMENT: u64 = 1424;

impl ReceiveWindow {
    /// `cautious`: nothing has shown yet how full segments are, and that counts.
    pub(crate) fn new(config: ReceiveBuffer, mptcp: bool, cautious: bool) -> Self {
        let (buffer, max, auto) = match config {
            // A kernel's window opens from half of a fixed buffer on.
            ReceiveBuffer::Fixed(bytes) => (bytes, bytes, cautious),
            ReceiveBuffer::Auto { initial, max } => (initial.min(max), max, true),
        };
        let mut window = ReceiveWindow {
            buffer,
            initial: buffer,
            max,
            auto,
            edge: DataSeq(0),
            measured_from: Instant::ZERO,
            measured_position: DataSeq(0),
            round: None,
            space: buffer.min(10 * if mptcp { FIRST_SEGMENT } else { FULL_SEGMENT }),
            cautious,
            mptcp,
        };
        window.edge = DataSeq(window.of_syn());
        window
    }

    /// The connection is established: the first round trip of auto-tuning begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.measured_from = now;
    }

    /// The window of a SYN: whole segments.
    pub(crate) fn of_syn(&self) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let half = self.half();
        (half - half % FULL_SEGMENT).min(u64::from(u16::MAX)).max(self.initial.min(FULL_SEGMENT))
    }

    /// What a subflow may offer at first. The kernel's window is not bound by the 16 bits of a SYN's.
    pub(crate) fn first(&self, kernel: bool) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let first = self.half().saturating_sub(FULL_SEGMENT).max(self.initial.min(FULL_SEGMENT));
        if kernel { first } else { first.min(self.of_syn()) }
    }

    fn half(&self) -> u64 {
        self.initial * FIRST_SHARE / self.share()
    }

    /// The memory whose share the buffer is.
    fn memory(&self) -> u64 {
        (self.buffer * 256).div_ceil(self.share())
    }

    fn share(&self) -> u64 {
        if self.mptcp { MPTCP_SHARE } else { TCP_SHARE }
    }

    pub(crate) fn buffer(&self) -> u64 {
        self.buffer
    }
    /// The largest window that may ever be offered: it fixes the window scale.
    pub(crate) fn largest(&self) -> u64 {
        self.max
    }
    /// The offered edge without moving it.
    pub(crate) fn edge(&self) -> DataSeq {
        self.edge
    }

    /// A subflow's own limit after `len` more bytes arrived on it, which may grow to `clamp`; `occupied` bytes wait in the
    /// buffer.
    pub(crate) fn opened(&self, limit: u64, clamp: u64, len: u32, occupied: u64) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let room = self.buffer.saturating_sub(occupied).min(clamp).saturating_sub(limit);
        let step = (2 * FULL_SEGMENT).max(2 * u64::from(len));
        if len >= 128 { limit + room.min(step) } else { limit }
    }

    /// What of the buffer is taken where `memory` bytes of a kernel's memory are: the window's share was made for single segments.
    pub(crate) fn occupied_by(&self, memory: u64) -> u64 {
        let free = self.memory().saturating_sub(memory);
        self.buffer.saturating_sub(free * self.share() / 256)
    }

    /// The memory of `bytes` without a gap, in buffers that are as full as they may be.
    pub(crate) fn joined(&self, bytes: u64) -> u64 {
        let longest = match self.mptcp {
            true => (self.longest_buffer() / MPTCP_SEGMENT).clamp(1, SEGMENTS) * MPTCP_SEGMENT,
            false => SEGMENTS * FULL_SEGMENT,
        };
        bytes + bytes.div_ceil(longest) * OVERHEAD
    }

    /// Buffers of a Multipath TCP stream are joined up to this, bytes.
    pub(crate) fn longest_buffer(&self) -> u64 {
        self.memory() / 8
    }

    /// The part of `bytes` of the buffer that may be offered.
    fn offered_of(&self, bytes: u64) -> u64 {
        if self.cautious { bytes * FIRST_SHARE / self.share() } else { bytes }
    }

    /// The window that could be offered with `occupied` bytes in the buffer, by a subflow with this limit and step.
    pub(crate) fn possible(&self, limit: u64, occupied: u64, step: u64) -> u64 {
        let buffer = self.offered_of(self.buffer);
        let mut free = self.offered_of(self.buffer.saturating_sub(occupied));
        let segment = FULL_SEGMENT.min(self.buffer / 4);
        if free < buffer / 2 {
            free -= free % step;
            if free < buffer / 16 || free < segment {
                return 0;
            }
        }
        free.min(limit).next_multiple_of(step)
    }

    /// Less than half of the buffer is free: the kernel stops acknowledging each segment at once (`__tcp_select_window`).
    pub(crate) fn is_tight(&self, occupied: u64) -> bool {
        self.offered_of(self.buffer.saturating_sub(occupied)) < self.offered_of(self.buffer) / 2
    }

    /// Offers a window on a subflow: moves the edge where that is further than before, and returns the window, which is
    /// relative to `next`.
    pub(crate) fn offer(&mut self, next: DataSeq, limit: u64, occupied: u64, step: u64) -> u64 {
        let possible = self.possible(limit, occupied, step);
        self.edge = self.edge.max(next + possible);
        self.edge.since(next)
    }

    /// Auto-tuning, at each read: what was read in a round trip, doubled, with room for the sender's growth.
    ///
    /// `fresh`: some subflow has not received a full segment yet. Then more memory is taken for the same window. Where the
    /// buffer grows, the answer is the window that subflows may open to.
    pub(crate) fn tune(
        &mut self,
        now: Instant,
        read: DataSeq,
        longest_rtt: Option<Duration>,
        fresh: bool,
    ) -> Option<u64> {
        let elapsed = now.since(self.measured_from);
        if self.round.is_some_and(|rtt| elapsed < rtt) {
            return None;
        }
        self.round = longest_rtt;
        self.cautious = fresh;
        if longest_rtt.is_none_or(|rtt| elapsed < rtt) {
            return None;
        }
        let mut opened = None;
        let copied = read.since(self.measured_position);
        if self.auto && copied > self.space {
            let wanted = 2 * copied + 16 * FULL_SEGMENT;
            let growth = wanted.saturating_mul(copied - self.space) / self.space.max(1);
            let wanted = wanted.saturating_add(2 * growth).min(self.max);
            // The kernel's buffer is whole bytes of memory, the window their share in whole bytes.
            let share = if fresh { FIRST_SHARE } else { self.share() };
            let memory = wanted * 256 / share;
            let buffer = (memory * self.share() / 256).min(self.max);
            if buffer > self.buffer {
                self.buffer = buffer;
                opened = Some(memory * share / 256);
            }
            self.space = copied;
        }
        self.measured_from = now;
        self.measured_position = read;
        opened
    }
}
