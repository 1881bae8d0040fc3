//! The window as a share of a kernel's memory, and the memory that received data takes
//! (`docs/notes/linux-6.12-mptcp-receive.md`).
//!
//! The kernel sizes its receive buffer in memory. A segment takes more memory than its data has bytes, so the offered
//! window is only a share of the memory: one half until the kernel has seen how full segments are, then the share of
//! the data in full segments.
//!
//! Each segment arrives in a buffer with its overhead. A buffer is joined to the one that ends where it begins, as long
//! as both together are small enough (`mptcp_try_coalesce`). A partly read buffer keeps all of its memory.

use crate::host::window::WindowRules;
use crate::host::{Arrived, Room, WindowSetting};
use pathweave_scheduler::DataSeq;
use pathweave_units::Duration;
use std::collections::VecDeque;

/// Share of the memory that is offered at first, in 256ths.
const FIRST_SHARE: u64 = 128;
/// Share of the data in full segments of plain TCP, in 256ths.
const TCP_SHARE: u64 = 153;
/// Share of the data in full segments of Multipath TCP, in 256ths.
const MPTCP_SHARE: u64 = 152;
/// Bytes of a data sequence signal with an 8 byte number and a 4 byte acknowledgement, padded.
const SIGNAL_BYTES: u64 = 24;
/// Shortest segment that opens the window, data bytes.
const LEAST_OPENING: u32 = 128;
/// Time from reading until the acknowledgement that it causes leaves. It separates this acknowledgement from those that
/// the kernel sends in the same instant while it processes segments.
const READING: Duration = Duration::from_nanos(500);

/// The window that a kernel can offer if `free` of `buffer` bytes are free: whole steps, and zero if little is free.
pub(in crate::host) fn possible(room: &Room, buffer: u64, mut free: u64) -> u64 {
    if free < buffer / 2 {
        free -= free % room.step;
        if free < buffer / 16 || free < room.full_segment.min(room.buffer / 4) {
            return 0;
        }
    }
    free.min(room.limit).next_multiple_of(room.step)
}

/// Whether the window `possible` may be announced. With Multipath TCP it must be twice the window `told`, which was
/// announced last. Plain TCP considers its window at each read.
pub(in crate::host) fn is_news(told: u64, possible: u64, mptcp: bool) -> bool {
    !mptcp || (possible > 0 && possible >= 2 * told)
}

/// Whether a window update is worth a segment of its own: at most half of the buffer was left, and the window at least
/// doubles.
pub(in crate::host) fn tells(buffer: u64, left: u64, possible: u64) -> bool {
    2 * left <= buffer && possible >= 2 * left && possible > 0
}

/// The rules for one connection's window. Sizes are bytes of data unless memory is named.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Whether Multipath TCP is requested. Its segments are a little shorter.
    mptcp: bool,
    /// Whether the window of a new subflow starts at half of the buffer and opens from there.
    opens: bool,
    /// Whether some subflow has not shown how full its segments are. If so, more memory is set aside for overhead.
    cautious: bool,
    /// Initial size of the buffer. A subflow that joins later begins with it.
    initial: u64,
    full_segment: u64,
    /// Data bytes of a segment, as a SYN counts them: its window is a multiple. A host that connects does not know yet
    /// that the peer's segments have timestamps (`tcp_connect_init`).
    syn_segment: u64,
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
            syn_segment: if setting.connects { setting.largest_segment } else { setting.full_segment },
            buffers: KernelBuffers::default(),
        }
    }

    fn half(&self) -> u64 {
        self.initial * FIRST_SHARE / self.share()
    }

    fn share(&self) -> u64 {
        if self.mptcp { MPTCP_SHARE } else { TCP_SHARE }
    }

    /// The memory that belongs to a window of `buffer` bytes.
    fn memory(&self, buffer: u64) -> u64 {
        (buffer * 256).div_ceil(self.share())
    }

    /// The part of `bytes` of the buffer that may be offered.
    fn offered_of(&self, bytes: u64) -> u64 {
        if self.cautious { bytes * FIRST_SHARE / self.share() } else { bytes }
    }

    /// The part of `buffer` that is taken if data takes `memory` bytes of memory.
    fn occupied_by(&self, buffer: u64, memory: u64) -> u64 {
        let free = self.memory(buffer).saturating_sub(memory);
        buffer.saturating_sub(free * self.share() / 256)
    }

    /// Memory of `bytes` without a gap, if they are in as few buffers as possible.
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

    /// Longest buffer of a Multipath TCP stream, data bytes. Buffers are joined up to this size.
    fn longest_buffer(&self, buffer: u64) -> u64 {
        self.memory(buffer) / 8
    }
}

impl WindowRules for Shares {
    fn shrink(&mut self) {
        self.buffers.ready.shrink_to_fit();
        self.buffers.waiting.shrink_to_fit();
    }

    /// Half of the initial buffer, rounded down to whole segments.
    fn of_syn(&self, buffer: u64) -> u64 {
        if !self.opens {
            return buffer;
        }
        let half = self.half();
        (half - half % self.syn_segment).min(u64::from(u16::MAX)).max(self.initial.min(self.full_segment))
    }

    fn first(&self, buffer: u64) -> u64 {
        if !self.opens {
            return buffer;
        }
        // The 16 bits of a SYN's window do not bound this one.
        self.half().saturating_sub(self.full_segment).max(self.initial.min(self.full_segment))
    }

    /// Ten segments. Before the handshake of a Multipath TCP connection has ended, the kernel assumes longer segments.
    fn first_space(&self, setting: &WindowSetting) -> u64 {
        10 * if self.mptcp { setting.largest_segment } else { setting.full_segment }
    }

    /// The kernel keeps a subflow's first window until a full segment has arrived. Then it opens the window by two
    /// segments for each segment that arrives.
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
        // Data in order leaves a subflow's memory at once, so only the segment itself counts there, and data that waits
        // for a hole of the subflow. An out-of-order segment does not count itself yet.
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

    /// The kernel counts data that waits for a hole of a Multipath TCP subflow only on that subflow.
    #[inline(never)]
    fn occupied(&self, buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
        let memory = if mptcp { self.buffers.memory() } else { self.joined(buffer, bytes + held) };
        self.occupied_by(buffer, memory)
    }

    /// `mptcp_data_queue_ofo` (`docs/notes/linux-6.12-shared-window.md`).
    #[inline]
    fn drops_beyond_edge(&self) -> bool {
        true
    }

    #[inline]
    fn distrusts_new_subflows(&self) -> bool {
        true
    }

    #[inline]
    fn note_new_subflows(&mut self, distrusted: bool) {
        self.cautious = distrusted;
    }

    /// Both sizes are rounded as in the kernel: the buffer is whole bytes of memory, and the window is their share in
    /// whole bytes. As long as segments have not shown how full they are, the same window takes more memory.
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

/// Overhead of a buffer, bytes.
const OVERHEAD: u64 = 960;
/// Most segments in one buffer. A buffer has 17 fragments of pages, and a segment across two pages takes two of them.
const SEGMENTS: u64 = 16;

#[derive(Clone, Copy, Debug)]
struct Buffer {
    start: DataSeq,
    end: DataSeq,
    segments: u64,
}

impl Buffer {
    /// Joins `next` to this buffer if it begins at this one's end and both together have at most `limit` bytes and 16
    /// segments. Returns whether it did.
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
    /// Buffers in order that are not read yet.
    ready: VecDeque<Buffer>,
    /// Buffers beyond a hole, sorted.
    waiting: VecDeque<Buffer>,
    /// The first missing byte.
    next: DataSeq,
    /// Data bytes in all buffers.
    bytes: u64,
}

impl KernelBuffers {
    /// Memory of all buffers, bytes.
    fn memory(&self) -> u64 {
        self.bytes + (self.ready.len() + self.waiting.len()) as u64 * OVERHEAD
    }

    /// Adds the data of a segment that has arrived. Buffers are joined up to `limit` bytes.
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
            // Bytes that arrived twice count once.
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

    /// Removes the buffers that end at or before `position`: the application has read them.
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
    fn a_syn_offers_longer_segments_than_its_answer() {
        let window = |connects| {
            let buffer = 131_072 * TCP_SHARE / 256;
            let (largest_segment, full_segment) = (1460, 1448);
            let setting = WindowSetting { buffer, grows: true, mptcp: false, connects, largest_segment, full_segment };
            Shares::new(&setting).of_syn(buffer)
        };
        assert_eq!([true, false].map(window), [44 * 1460, 45 * 1448]);
    }

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
