//! The window that a connection offers.

use crate::config::ReceiveBuffer;
use crate::seq::DataSeq;
use pathweave_units::{Duration, Instant};

/// Buffer size, its auto-tuning, and the right edge offered so far.
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
}

/// A gain smaller than this is not worth a window of its own (RFC 9293 §3.8.6.2.2), bytes.
const SMALL_GAIN: u64 = 1460;

impl ReceiveWindow {
    pub(crate) fn new(config: ReceiveBuffer) -> Self {
        let (buffer, max, auto) = match config {
            ReceiveBuffer::Fixed(bytes) => (bytes, bytes, false),
            ReceiveBuffer::Auto { initial, max } => (initial.min(max), max, true),
        };
        ReceiveWindow {
            buffer,
            max,
            auto,
            edge: DataSeq(buffer),
            measured_from: Instant::ZERO,
            measured_position: DataSeq(0),
            space: buffer.min(10 * SMALL_GAIN),
        }
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

    fn possible(&self, read: DataSeq) -> DataSeq {
        read + self.buffer
    }

    /// The edge to offer now that the application has read up to `read`.
    pub(crate) fn offer(&mut self, read: DataSeq) -> DataSeq {
        let possible = self.possible(read);
        if possible.since(self.edge) >= SMALL_GAIN.min(self.buffer / 2).max(1) {
            self.edge = possible;
        }
        self.edge
    }

    /// Whether an acknowledgement should tell the peer of room that it does not know of.
    pub(crate) fn update_is_due(&self, read: DataSeq, next: DataSeq) -> bool {
        let gain = self.possible(read).since(self.edge);
        gain >= (2 * SMALL_GAIN).min(self.buffer / 2).max(1) && self.edge.since(next) <= self.buffer / 2
    }

    /// Auto-tuning (CP §2): room for twice what the application read in the longest round trip, grown once per such a
    /// round trip, ahead of the sender's slow start as the kernel does.
    pub(crate) fn tune(&mut self, now: Instant, read: DataSeq, longest_rtt: Option<Duration>, mss: u32) {
        let (true, Some(rtt)) = (self.auto, longest_rtt) else { return };
        if now.since(self.measured_from) < rtt {
            return;
        }
        let copied = read.since(self.measured_position);
        if copied > self.space {
            let wanted = 2 * copied + 16 * u64::from(mss);
            let growth = wanted.saturating_mul(copied - self.space) / self.space.max(1);
            self.buffer = self.buffer.max(wanted.saturating_add(2 * growth).min(self.max));
            self.space = copied;
        }
        self.measured_from = now;
        self.measured_position = read;
    }
}
