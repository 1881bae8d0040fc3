//! The window as a share of a kernel's memory, and what received data takes of it (`docs/notes/linux-6.12-mptcp-receive.md`).
//!
//! The kernel sizes its receive buffer in memory, of which segments take more than their data. The window that it offers is
//! the share of the memory that data would have: a half until it has seen how full segments are, then what full segments
//! leave.
//!
//! Each segment comes in a buffer with its overhead. A buffer that goes on where another ends is joined to it, while both
//! together are small enough (`mptcp_try_coalesce`); one that is read in part is there as a whole.

use crate::host::window::WindowRules;
use crate::host::{Arrived, Room, WindowSetting};
use crate::seq::DataSeq;
use pathweave_units::Duration;
use std::collections::VecDeque;

/// Shares, of 256: at first, and what full segments leave of plain TCP and of Multipath TCP.
const FIRST_SHARE: u64 = 128;
const TCP_SHARE: u64 = 153;
const MPTCP_SHARE: u64 = 152;
/// A data sequence signal with an 8 byte number and a 4 byte acknowledgement, padded.
const SIGNAL_BYTES: u64 = 24;
/// Shorter segments open no window.
const LEAST_OPENING: u32 = 128;
/// How long a reader takes until the acknowledgement that it causes leaves. The acknowledgements that the kernel sends by
/// itself while it takes segments leave earlier, and so not in the same instant.
const READING: Duration = Duration::from_nanos(500);

/// The window that a kernel could offer where `free` of `buffer` may be: whole steps, and none at all where little is free.
pub(in crate::host) fn possible(room: &Room, buffer: u64, mut free: u64) -> u64 {
    if free < buffer / 2 {
        free -= free % room.step;
        if free < buffer / 16 || free < room.full_segment.min(room.buffer / 4) {
            return 0;
        }
    }
    free.min(room.limit).next_multiple_of(room.step)
}

/// Plain TCP looks at its window at each read; with Multipath TCP the whole window must have doubled since the peer was told.
pub(in crate::host) fn is_news(told: u64, possible: u64, mptcp: bool) -> bool {
    !mptcp || (possible > 0 && possible >= 2 * told)
}

/// A window update is worth a segment of its own once the window doubles.
pub(in crate::host) fn tells(buffer: u64, left: u64, possible: u64) -> bool {
    2 * left <= buffer && possible >= 2 * left && possible > 0
}

/// The rules for one connection's window. Sizes are bytes of data where nothing else is said.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Multipath TCP was asked for: its segments are a little shorter.
    mptcp: bool,
    /// The window opens from half of the buffer on.
    opens: bool,
    /// Some subflow has not shown how full its segments are: more of the memory is taken for overhead.
    cautious: bool,
    /// The buffer at first: a subflow that joins later begins with it.
    initial: u64,
    full_segment: u64,
    buffers: KernelBuffers,
}

impl Shares {
    pub(super) fn new(setting: &WindowSetting) -> Self {
        // Nothing has shown yet how full segments are.
        let cautious = setting.mptcp;
        Shares {
            mptcp: setting.mptcp,
            opens: setting.grows || cautious,
            cautious,
            initial: setting.buffer,
            full_segment: setting.full_segment,
            buffers: KernelBuffers::default(),
        }
    }

    fn half(&self) -> u64 {
        self.initial * FIRST_SHARE / self.share()
    }

    fn share(&self) -> u64 {
        if self.mptcp { MPTCP_SHARE } else { TCP_SHARE }
    }

    /// The memory whose share `buffer` is.
    fn memory(&self, buffer: u64) -> u64 {
        (buffer * 256).div_ceil(self.share())
    }

    /// The part of `bytes` of the buffer that may be offered.
    fn offered_of(&self, bytes: u64) -> u64 {
        if self.cautious { bytes * FIRST_SHARE / self.share() } else { bytes }
    }

    /// The part of `buffer` that is taken if data takes `memory` bytes of memory: the window's share was made for single
    /// segments.
    fn occupied_by(&self, buffer: u64, memory: u64) -> u64 {
        let free = self.memory(buffer).saturating_sub(memory);
        buffer.saturating_sub(free * self.share() / 256)
    }

    /// The memory of `bytes` without a gap, in buffers that are as full as they may be.
    fn joined(&self, buffer: u64, bytes: u64) -> u64 {
        let longest = match self.mptcp {
            true => {
                let segment = self.full_segment.saturating_sub(SIGNAL_BYTES).max(1);
                (self.longest_buffer(buffer) / segment).clamp(1, SEGMENTS) * segment
            }
            false => SEGMENTS * self.full_segment,
        };
        bytes + bytes.div_ceil(longest) * OVERHEAD
    }

    /// Buffers of a Multipath TCP stream are joined up to this, bytes.
    fn longest_buffer(&self, buffer: u64) -> u64 {
        self.memory(buffer) / 8
    }
}

impl WindowRules for Shares {
    fn shrink(&mut self) {
        self.buffers.ready.shrink_to_fit();
        self.buffers.waiting.shrink_to_fit();
    }

    /// Whole segments.
    fn of_syn(&self, buffer: u64) -> u64 {
        if !self.opens {
            return buffer;
        }
        let half = self.half();
        (half - half % self.full_segment).min(u64::from(u16::MAX)).max(self.initial.min(self.full_segment))
    }

    fn first(&self, buffer: u64) -> u64 {
        if !self.opens {
            return buffer;
        }
        // Not bound by the 16 bits of a SYN's.
        self.half().saturating_sub(self.full_segment).max(self.initial.min(self.full_segment))
    }

    /// Ten segments, which the kernel takes for longer before the handshake of a Multipath TCP connection has ended.
    fn first_space(&self, setting: &WindowSetting) -> u64 {
        10 * if self.mptcp { setting.largest_segment } else { setting.full_segment }
    }

    /// The kernel's window of a subflow stays what it was at first until a full segment has come, and opens by two segments
    /// for each one that arrives.
    #[inline(never)]
    fn opened(&self, buffer: u64, limit: u64, clamp: u64, arrived: &Arrived, occupied: u64) -> u64 {
        if !arrived.saw_full {
            return limit;
        }
        if !self.opens {
            return buffer;
        }
        if arrived.len < LEAST_OPENING {
            return limit;
        }
        let (len, held) = (u64::from(arrived.len), arrived.held);
        // Data moves out of a subflow's memory at once: only the segment itself counts there, and what waits for a hole of
        // the subflow. A segment that waits counts before it takes its room.
        let there = match (arrived.mptcp, arrived.out_of_order) {
            (true, true) => self.occupied_by(buffer, self.joined(buffer, held.saturating_sub(len))),
            (true, false) => self.occupied_by(buffer, self.joined(buffer, held + len)),
            (false, true) => occupied.saturating_sub(len),
            (false, false) => occupied,
        };
        let room = buffer.saturating_sub(there).min(clamp).saturating_sub(limit);
        limit + room.min((2 * self.full_segment).max(2 * len))
    }

    #[inline(never)]
    fn possible(&self, room: &Room) -> u64 {
        possible(room, self.offered_of(room.buffer), self.offered_of(room.buffer.saturating_sub(room.occupied)))
    }

    fn ends_quick_acks(&self, buffer: u64, occupied: u64) -> bool {
        self.offered_of(buffer.saturating_sub(occupied)) < self.offered_of(buffer) / 2
    }

    #[inline]
    fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
        is_news(told, possible(), mptcp)
    }

    fn tells(&self, buffer: u64, _largest_segment: u64, left: u64, possible: u64) -> bool {
        tells(buffer, left, possible)
    }

    #[inline(never)]
    fn received(&mut self, buffer: u64, at: DataSeq, len: u64) {
        self.buffers.insert(at, len, self.longest_buffer(buffer));
    }

    fn read_to(&mut self, position: DataSeq) {
        self.buffers.read_to(position);
    }

    /// The kernel counts what a Multipath TCP subflow holds only on that subflow.
    #[inline(never)]
    fn occupied(&self, buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
        let memory = if mptcp { self.buffers.memory() } else { self.joined(buffer, bytes + held) };
        self.occupied_by(buffer, memory)
    }

    #[inline]
    fn distrusts_new_subflows(&self) -> bool {
        true
    }

    #[inline]
    fn note_new_subflows(&mut self, distrusted: bool) {
        self.cautious = distrusted;
    }

    /// The kernel's buffer is whole bytes of memory, the window their share in whole bytes. Where segments have not shown how
    /// full they are, more memory is taken for the same window.
    fn grown(&self, wanted: u64, max: u64) -> (u64, u64) {
        let share = if self.cautious { FIRST_SHARE } else { self.share() };
        let memory = wanted * 256 / share;
        ((memory * self.share() / 256).min(max), memory * share / 256)
    }

    #[inline]
    fn waits_for_rest(&self) -> bool {
        false
    }

    #[inline]
    fn reading_takes(&self) -> Option<Duration> {
        Some(READING)
    }
}

/// A buffer's overhead, bytes.
const OVERHEAD: u64 = 960;
/// Segments in one buffer: 17 fragments of pages, and a segment that lies across two pages has two.
const SEGMENTS: u64 = 16;

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
struct KernelBuffers {
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
    fn memory(&self) -> u64 {
        self.bytes + (self.ready.len() + self.waiting.len()) as u64 * OVERHEAD
    }

    /// A segment's data has arrived, none of which was here. Buffers are joined up to `limit` bytes.
    fn insert(&mut self, start: DataSeq, len: u64, limit: u64) {
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
    fn read_to(&mut self, position: DataSeq) {
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
