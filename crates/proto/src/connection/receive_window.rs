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
    space: u64,
    /// Some subflow has not shown how full its segments are: the kernel then takes more of the memory for overhead.
    cautious: bool,
}

/// A full segment of plain TCP over Ethernet with timestamps, bytes: the unit of the kernel's rules.
const FULL_SEGMENT: u64 = 1448;
/// The part of a fresh buffer that is offered at first: the kernel takes half of the memory for overhead until it has
/// seen how full segments are, and 153/256 of it is what is offered then.
const FIRST_SHARE: (u64, u64) = (128, 153);
/// Data of a full Multipath TCP segment; how many the kernel joins in one buffer; a buffer's overhead, bytes.
const MPTCP_SEGMENT: u64 = 1424;
const SEGMENTS_PER_BUFFER: u64 = 17;
const BUFFER_OVERHEAD: u64 = 960;
/// The part of its receive memory that the kernel offers as window, for full Multipath TCP segments.
const KERNEL_SHARE: (u64, u64) = (152, 256);
/// The same for a Multipath TCP segment, whose data is a little shorter.
const CAUTIOUS_SHARE: (u64, u64) = (128, 152);

impl ReceiveWindow {
    pub(crate) fn new(config: ReceiveBuffer) -> Self {
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
            space: buffer.min(10 * FULL_SEGMENT),
            cautious: false,
        };
        window.edge = DataSeq(window.first());
        window
    }

    /// The window of a SYN, and what a subflow may offer at first.
    pub(crate) fn first(&self) -> u64 {
        if !self.auto {
            return self.buffer;
        }
        let (part, whole) = FIRST_SHARE;
        (self.buffer * part / whole).min(65_535).saturating_sub(FULL_SEGMENT).max(self.buffer.min(FULL_SEGMENT))
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

    /// What `bytes` of waiting data take of the buffer in the kernel's accounts: neighbours share a buffer's overhead, and
    /// the window's share was made for single segments.
    pub(crate) fn kernel_occupancy(bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let buffers = 1 + bytes / (SEGMENTS_PER_BUFFER * MPTCP_SEGMENT);
        (bytes + buffers * BUFFER_OVERHEAD) * KERNEL_SHARE.0 / KERNEL_SHARE.1
    }

    /// What of the buffer is for data.
    fn usable(&self) -> u64 {
        let (part, whole) = CAUTIOUS_SHARE;
        if self.cautious { self.buffer * part / whole } else { self.buffer }
    }

    /// The window that could be offered with `occupied` bytes in the buffer, by a subflow with this limit and step.
    pub(crate) fn possible(&self, limit: u64, occupied: u64, step: u64) -> u64 {
        let buffer = self.usable();
        let mut free = buffer.saturating_sub(occupied);
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
        let Some(rtt) = longest_rtt else { return };
        if now.since(self.measured_from) < rtt {
            return;
        }
        self.cautious = fresh;
        let copied = read.since(self.measured_position);
        if self.auto && copied > self.space {
            let wanted = 2 * copied + 16 * FULL_SEGMENT;
            let growth = wanted.saturating_mul(copied - self.space) / self.space.max(1);
            self.buffer = self.buffer.max(wanted.saturating_add(2 * growth).min(self.max));
            self.space = copied;
        }
        self.measured_from = now;
        self.measured_position = read;
    }
}
