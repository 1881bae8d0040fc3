//! Kernel memory that a subflow's send queue takes, and the limit of that memory (`tcp_sndbuf_expand`,
//! `docs/notes/linux-6.12-send-buffer-and-segments.md`).

use super::tso::MAX_BURST_BYTES;
use crate::send_queue::SendQueue;

/// Overhead of each buffer of the send queue, bytes.
const BUFFER_OVERHEAD: u64 = 960;
/// Memory that the send buffer has for each segment of the congestion window: twice a full segment with its overhead.
const PER_SEGMENT: u64 = 2 * 4352;

/// The send buffer of one subflow.
#[derive(Debug)]
pub(crate) struct SendMemory {
    /// Whether the send buffer grows only when the kernel would grow it. If not, it grows at once.
    tunes: bool,
    /// Whether the application has fixed the size.
    fixed: bool,
    /// Congestion window for which the send buffer was last sized.
    largest_cwnd: u32,
    /// Whether an acknowledgement came since the size was last checked.
    check_due: bool,
    /// Whether a whole buffer was sent since then.
    buffer_was_sent: bool,
}

impl SendMemory {
    pub(crate) fn new(tunes: bool, cwnd: u32) -> Self {
        SendMemory { tunes, fixed: false, largest_cwnd: cwnd, check_due: false, buffer_was_sent: false }
    }

    /// Fixes the send buffer at its largest size (`SOCK_SNDBUF_LOCK`).
    pub(crate) fn fix(&mut self) {
        (self.tunes, self.fixed) = (false, true);
    }

    /// Size of the send buffer, bytes of memory, at most `max`. It grows with the congestion window and never shrinks.
    pub(crate) fn limit(&self, max: u64) -> u64 {
        if self.fixed {
            return max;
        }
        (PER_SEGMENT * u64::from(self.largest_cwnd.max(10))).min(max)
    }

    /// Notes an acknowledgement. `cwnd`: the congestion window after it.
    pub(crate) fn acknowledged(&mut self, cwnd: u32) {
        if self.tunes {
            self.check_due = true;
        } else {
            self.largest_cwnd = self.largest_cwnd.max(cwnd);
        }
    }

    /// Notes that a segment left. `whole`: it was the last one of its buffer.
    pub(crate) fn sent(&mut self, whole: bool) {
        self.buffer_was_sent = self.tunes && whole;
    }

    /// Grows the send buffer with the congestion window if a writer waits for room and the window is not full
    /// (`tcp_check_space`). This is due after each buffer sent and, with `idle`, after everything that an
    /// acknowledgement let out. Returns whether the send buffer grew.
    pub(crate) fn grow(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
        let due = core::mem::take(&mut self.buffer_was_sent) | (idle && core::mem::take(&mut self.check_due));
        let grows = due && writer_waits && in_flight < cwnd && cwnd > self.largest_cwnd;
        if grows {
            self.largest_cwnd = cwnd;
        }
        grows
    }
}

/// Size of one buffer of the send queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferSize {
    /// Segments of one buffer.
    segments: u32,
    /// Data bytes of one segment.
    mss: u32,
}

impl BufferSize {
    /// A buffer has 64 KiB, or half of the largest window that the peer has offered if that is less.
    pub(crate) fn new(mss: u32, largest_peer_window: u64) -> Self {
        let half = u32::try_from(largest_peer_window / 2).unwrap_or(u32::MAX);
        let segments = (MAX_BURST_BYTES.min(half) / mss.max(1)).max(1);
        BufferSize { segments, mss: mss.max(1) }
    }

    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    fn bytes(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.mss)
    }

    /// Memory of `queue` with `bytes` more. `goes_on`: the new bytes follow the last queued byte.
    pub(crate) fn memory_with(&self, queue: &SendQueue, goes_on: bool, bytes: u64) -> u64 {
        let open = queue.open_buffer().filter(|_| goes_on).unwrap_or(self.segments);
        let in_last = u64::from(self.segments.saturating_sub(open)) * u64::from(self.mss);
        let buffers = bytes.saturating_sub(in_last).div_ceil(self.bytes());
        queued(queue) + bytes + buffers * BUFFER_OVERHEAD
    }

    /// Memory that `bytes` of plain TCP will take once they are queued.
    pub(crate) fn memory_of(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.bytes()) * BUFFER_OVERHEAD
    }

    /// Bytes that a writer adds to `unassigned` bytes if `free` bytes of memory are left. It fills each buffer that it
    /// begins.
    pub(crate) fn fills(&self, unassigned: u64, free: u64) -> u64 {
        let buffer = self.bytes();
        let in_last = unassigned.next_multiple_of(buffer) - unassigned;
        in_last + free.saturating_sub(in_last).div_ceil(buffer + BUFFER_OVERHEAD) * buffer
    }
}

/// Memory of the queued data: its bytes and the overhead of its buffers.
pub(crate) fn queued(queue: &SendQueue) -> u64 {
    queue.queued_bytes() + u64::from(queue.buffers()) * BUFFER_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/notes/linux-6.12-send-buffer-and-segments.md`: "cwnd 10 -> 87040; cwnd 54 -> 470016".
    #[test]
    fn the_send_buffer_follows_the_window_as_measured() {
        let mut memory = SendMemory::new(true, 10);
        assert_eq!(memory.limit(u64::MAX), 87_040);
        memory.acknowledged(54);
        assert!(!memory.grow(false, true, 54, 0), "nobody waits for room");
        memory.acknowledged(54);
        assert!(!memory.grow(true, true, 54, 54), "the window holds back");
        memory.acknowledged(54);
        assert!(memory.grow(true, true, 54, 53));
        assert_eq!((memory.limit(u64::MAX), memory.limit(100_000)), (470_016, 100_000));
        assert!(!memory.grow(true, true, 60, 0), "nothing was acknowledged or sent since");
    }

    /// The same: "an skb holds up to size_goal", and each has 960 bytes of overhead.
    #[test]
    fn a_writer_fills_each_buffer_that_it_begins() {
        let size = BufferSize::new(1424, 1 << 20);
        assert_eq!(size.segments(), 45);
        let buffer = 45 * 1424;
        assert_eq!(size.memory_of(buffer), buffer + 960);
        assert_eq!(size.memory_of(buffer + 1), buffer + 1 + 2 * 960);
        assert_eq!(size.fills(0, 1), buffer);
        assert_eq!(size.fills(buffer - 100, 100), 100);
        assert_eq!(size.fills(buffer - 100, 101), 100 + buffer);
        // A peer with a small window gets shorter buffers.
        assert_eq!(BufferSize::new(1424, 20_000).segments(), 7);
    }
}
