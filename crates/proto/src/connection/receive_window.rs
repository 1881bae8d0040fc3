//! The window that a connection offers.

use crate::config::ReceiveBuffer;
use crate::seq::DataSeq;
use pathweave_units::{Duration, Instant};

/// Buffer size, its auto-tuning, and the right edge offered so far. All sizes are bytes of data.
///
/// Auto-tuning is the kernel's: the buffer follows what the application reads in a round trip (as CP §2 asks: twice the
/// rate times the longest round trip), and the offered window opens by two segments for each one that arrives.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    buffer: u64,
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
/// The part of its memory, of 256, that the kernel offers as window: a half until it has seen how full segments are, then
/// what full segments leave.
const FIRST_SHARE: u64 = 128;
const TCP_SHARE: u64 = 153;
const MPTCP_SHARE: u64 = 152;
/// Data of a full Multipath TCP segment; how many the kernel joins in one buffer; a buffer's overhead, bytes.
const MPTCP_SEGMENT: u64 = 1424;
const SEGMENTS_PER_BUFFER: u64 = 16;
const BUFFER_OVERHEAD: u64 = 960;

impl ReceiveWindow {
    /// `cautious`: nothing has shown yet how full segments are, and that counts.
    pub(crate) fn new(config: ReceiveBuffer, mptcp: bool, cautious: bool) -> Self {
        let (buffer, max, auto) = match config {
            ReceiveBuffer::Fixed(bytes) => (bytes, bytes, false),
            ReceiveBuffer::Auto { initial, max } => (initial.min(max), max, true),
        };
        let mut window = ReceiveWindow {
            buffer,
            max,
            auto,
            edge: DataSeq(0),
            measured_from: Instant::ZERO,
            measured_position: DataSeq(0),
            round: None,
            space: buffer.min(10 * FULL_SEGMENT),
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
        (half - half % FULL_SEGMENT).min(u64::from(u16::MAX)).max(self.buffer.min(FULL_SEGMENT))
    }

    /// What a subflow may offer at first. The kernel's window is not bound by the 16 bits of a SYN's.
    pub(crate) fn first(&self, kernel: bool) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let first = self.half().saturating_sub(FULL_SEGMENT).max(self.buffer.min(FULL_SEGMENT));
        if kernel { first } else { first.min(self.of_syn()) }
    }

    fn half(&self) -> u64 {
        self.buffer * FIRST_SHARE / self.share()
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

    /// A subflow's own limit after `len` more bytes arrived on it; `occupied` bytes wait in the buffer.
    pub(crate) fn opened(&self, limit: u64, len: u32, occupied: u64) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let room = self.buffer.saturating_sub(occupied).saturating_sub(limit);
        let step = (2 * FULL_SEGMENT).max(2 * u64::from(len));
        if len >= 128 { limit + room.min(step) } else { limit }
    }

    /// What waiting data takes of the buffer in the kernel's accounts, `runs` bytes without a gap each: neighbours share a
    /// buffer's overhead, with Multipath TCP up to an eighth of the memory, and the window's share was made for single
    /// segments.
    pub(crate) fn kernel_occupancy(&self, runs: impl IntoIterator<Item = u64>, mptcp: bool) -> u64 {
        let segment = if mptcp { MPTCP_SEGMENT } else { FULL_SEGMENT };
        let memory = self.memory();
        let eighth = if mptcp { memory / 8 / segment } else { SEGMENTS_PER_BUFFER };
        let shared = eighth.clamp(1, SEGMENTS_PER_BUFFER) * segment;
        let taken: u64 = runs.into_iter().map(|bytes| bytes + bytes.div_ceil(shared) * BUFFER_OVERHEAD).sum();
        let free = memory.saturating_sub(taken);
        self.buffer.saturating_sub(free * self.share() / 256)
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

    /// Offers a window on a subflow: moves the edge where that is further than before, and returns the window, which is
    /// relative to `next`.
    pub(crate) fn offer(&mut self, next: DataSeq, limit: u64, occupied: u64, step: u64) -> u64 {
        let possible = self.possible(limit, occupied, step);
        self.edge = self.edge.max(next + possible);
        self.edge.since(next)
    }

    /// Auto-tuning, at each read: what was read in a round trip, doubled, with room for the sender's growth.
    ///
    /// `fresh`: some subflow has not received a full segment yet.
    pub(crate) fn tune(&mut self, now: Instant, read: DataSeq, longest_rtt: Option<Duration>, fresh: bool) {
        let elapsed = now.since(self.measured_from);
        if self.round.is_some_and(|rtt| elapsed < rtt) {
            return;
        }
        self.round = longest_rtt;
        self.cautious = fresh;
        if longest_rtt.is_none_or(|rtt| elapsed < rtt) {
            return;
        }
        let copied = read.since(self.measured_position);
        if self.auto && copied > self.space {
            let wanted = 2 * copied + 16 * FULL_SEGMENT;
            let growth = wanted.saturating_mul(copied - self.space) / self.space.max(1);
            let wanted = wanted.saturating_add(2 * growth).min(self.max);
            // The kernel's buffer is whole bytes of memory, the window their share in whole bytes.
            let rounded = wanted * 256 / self.share() * self.share() / 256;
            self.buffer = self.buffer.max(rounded);
            self.space = copied;
        }
        self.measured_from = now;
        self.measured_position = read;
    }
}
