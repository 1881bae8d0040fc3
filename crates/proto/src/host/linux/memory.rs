//! What data that was received takes of a kernel's memory (`docs/notes/linux-6.12-mptcp-receive.md`).
//!
//! Each segment comes in a buffer with its overhead. A buffer that goes on where another ends is joined to it, while both
//! together are small enough (`mptcp_try_coalesce`); one that is read in part is there as a whole.

use crate::seq::DataSeq;
use std::collections::VecDeque;

/// A buffer's overhead, bytes.
pub(crate) const OVERHEAD: u64 = 960;
/// Segments in one buffer: 17 fragments of pages, and a segment that lies across two pages has two.
pub(crate) const SEGMENTS: u64 = 16;

#[derive(Clone, Copy, Debug)]
struct Buffer {
    start: DataSeq,
    end: DataSeq,
    segments: u64,
}

impl Buffer {
    /// Takes in what goes on where this one ends, if both are no longer than `limit` bytes.
    fn join(&mut self, next: &Buffer, limit: u64) -> bool {
        let fits = next.end.since(self.start) <= limit && self.segments + next.segments <= SEGMENTS;
        if self.end != next.start || !fits {
            return false;
        }
        self.end = next.end;
        self.segments += next.segments;
        true
    }
}

/// The buffers of one connection's stream.
#[derive(Debug, Default)]
pub(crate) struct KernelBuffers {
    /// In order and not read yet.
    ready: VecDeque<Buffer>,
    /// Beyond a hole, sorted.
    waiting: VecDeque<Buffer>,
    /// The first byte that is missing.
    next: DataSeq,
    bytes: u64,
}

impl KernelBuffers {
    /// What all of it takes, bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.bytes + (self.ready.len() + self.waiting.len()) as u64 * OVERHEAD
    }

    /// A segment's data has arrived, none of which was here. Buffers are joined up to `limit` bytes.
    pub(crate) fn insert(&mut self, start: DataSeq, len: u64, limit: u64) {
        let buffer = Buffer { start: start.max(self.next), end: start + len, segments: 1 };
        if buffer.start >= buffer.end {
            return;
        }
        self.bytes += buffer.end.since(buffer.start);
        if buffer.start > self.next {
            let i = self.waiting.partition_point(|w| w.start < buffer.start);
            let before = i.checked_sub(1).and_then(|b| self.waiting.get_mut(b));
            if !before.is_some_and(|b| b.join(&buffer, limit)) {
                self.waiting.insert(i, buffer);
            }
            return;
        }
        self.queue(buffer, limit);
        while let Some(mut waiting) = self.waiting.pop_front_if(|w| w.start <= self.next) {
            // What came twice counts once.
            let twice = self.next.since(waiting.start).min(waiting.end.since(waiting.start));
            self.bytes -= twice;
            waiting.start = waiting.start + twice;
            if waiting.start < waiting.end {
                self.queue(waiting, limit);
            }
        }
    }

    fn queue(&mut self, buffer: Buffer, limit: u64) {
        self.next = buffer.end;
        if !self.ready.back_mut().is_some_and(|last| last.join(&buffer, limit)) {
            self.ready.push_back(buffer);
        }
    }

    /// All before `position` has been read.
    pub(crate) fn read_to(&mut self, position: DataSeq) {
        while let Some(read) = self.ready.pop_front_if(|b| b.end <= position) {
            self.bytes -= read.end.since(read.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_up_to_the_limit_and_what_is_read_in_part_stays() {
        let mut buffers = KernelBuffers::default();
        // A hole, then ten segments of which nine fit the limit.
        for i in 1..=10 {
            buffers.insert(DataSeq(i * 1000), 1000, 9500);
        }
        assert_eq!(buffers.memory(), 10_000 + 2 * OVERHEAD);
        // The hole's segment does not fit the nine.
        buffers.insert(DataSeq(0), 1000, 9500);
        assert_eq!(buffers.memory(), 11_000 + 3 * OVERHEAD);
        buffers.read_to(DataSeq(9999));
        assert_eq!(buffers.memory(), 10_000 + 2 * OVERHEAD);
        buffers.read_to(DataSeq(10_000));
        assert_eq!(buffers.memory(), 1000 + OVERHEAD);
        buffers.read_to(DataSeq(11_000));
        assert_eq!(buffers.memory(), 0);
    }

    #[test]
    fn a_buffer_has_sixteen_segments_at_most() {
        let mut buffers = KernelBuffers::default();
        for i in 0..17 {
            buffers.insert(DataSeq(i * 10), 10, 1 << 20);
        }
        assert_eq!(buffers.memory(), 170 + 2 * OVERHEAD);
    }
}
