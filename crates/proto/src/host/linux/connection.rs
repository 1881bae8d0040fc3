//! A kernel's state of one connection's sending half: the size of the send buffer, the fragments that hold written
//! data, and the pushes that wait for the end of an instant (`docs/notes/linux-6.12-send-buffer-and-segments.md`).
//!
//! With tuning, memory is data plus the overhead of its buffers. A writer fills each buffer that it has begun. It stops
//! when memory has reached the limit, and continues when memory has come down to two thirds of the limit
//! (`sk_stream_is_writeable`).
//!
//! Written data is held in chunks of 32 KiB. Chunks are filled with fragments, each of which has a header
//! (`mptcp_sendmsg`). New data extends the last fragment if older data is still unsent; otherwise it begins a fragment.
//! A scheduler's burst ends at the end of a fragment.
//!
//! Each acknowledgement asks the scheduler for a subflow. If the scheduler picks the acknowledged subflow, the data
//! goes there at once. Another subflow gets its data after all packets of the instant have been processed
//! (`mptcp_subflow_delegate`); the window at that time decides how much. Until then no other subflow is picked, and an
//! acknowledgement of the picked subflow pushes its data at once.

use crate::host::Written;
use crate::host::connection::ConnectionRules;
use pathweave_scheduler::{DataSeq, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// Send buffer of a Multipath TCP socket in addition to those of its subflows, bytes of memory.
const LEAST_SEND_BUFFER: u64 = 4096;

/// State of one connection's sending half.
#[derive(Debug)]
pub(crate) struct LinuxConnection {
    /// Whether the send buffer follows the subflows' windows.
    tunes: bool,
    fragments: Fragments,
    delegation: Delegation,
    /// Whether a writer that found no more room looks once more before it waits. For this look any room is enough; a
    /// waiting writer needs a third of the buffer (`sk_stream_wait_memory`).
    writer_looks_again: bool,
}

impl LinuxConnection {
    pub(super) fn new(tunes: bool) -> Self {
        LinuxConnection {
            tunes,
            fragments: Fragments::default(),
            delegation: Delegation::default(),
            writer_looks_again: false,
        }
    }
}

impl ConnectionRules for LinuxConnection {
    #[inline]
    fn counts_memory(&self) -> bool {
        self.tunes
    }

    fn send_buffer(&self, _max: u64, mptcp: bool, subflows: u64) -> u64 {
        if mptcp { subflows + LEAST_SEND_BUFFER } else { subflows }
    }

    fn send_memory(&self, written: &Written, queued: impl FnOnce(u64) -> u64) -> u64 {
        match written.bytes() {
            0 => 0,
            bytes if written.mptcp => bytes + self.fragments.overhead(),
            _ => queued(written.unassigned),
        }
    }

    fn writable(
        &self,
        written: &Written,
        memory: u64,
        limit: u64,
        is_out: impl FnOnce() -> bool,
        fills: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let free = limit.saturating_sub(memory);
        if free == 0 {
            return 0;
        }
        if !written.mptcp {
            return fills(free);
        }
        if written.end.0 < FULL {
            // The send buffer has 20480 bytes until the first fragment leaves.
            return FULL - written.end.0;
        }
        if written.end.0 == FULL && written.una.0 == 0 && !is_out() {
            // Only the first fragment was written, and none of it has left.
            return 0;
        }
        self.fragments.fills(memory, limit, written.unassigned > 0)
    }

    fn tells_writer(&self, memory: u64, limit: u64, writable: u64, worth: u64) -> bool {
        if self.tunes { 3 * memory <= 2 * limit } else { writable >= worth }
    }

    /// A subflow's sockets share their queue of waiting processes (`mptcp_sock_graft`, `__subflow_state_change`).
    fn joins_wake_writer(&self) -> bool {
        self.tunes
    }

    #[inline]
    fn append(&mut self, end: DataSeq, bytes: u64, unsent: bool) {
        if self.tunes {
            self.fragments.append(end, bytes, unsent);
        }
    }

    fn writer_found_no_more(&mut self) {
        self.writer_looks_again = self.tunes;
    }

    fn writer_looks_again(&mut self) -> bool {
        core::mem::take(&mut self.writer_looks_again)
    }

    #[inline]
    fn acknowledge(&mut self, una: DataSeq) {
        self.fragments.acknowledge(una);
    }

    #[inline]
    fn fragment_ends(&self) -> Option<&VecDeque<DataSeq>> {
        self.tunes.then_some(&self.fragments.ends)
    }

    #[inline]
    fn delegates(&self, queues: bool) -> bool {
        queues
    }

    #[inline]
    fn push_due(&self) -> Option<Instant> {
        (!self.delegation.waiting.is_empty()).then_some(self.delegation.at)
    }

    /// The path manager announces one address each time its worker runs: after the handshake, after an echo, and after
    /// a join (`mptcp_pm_create_subflow_or_signal_addr`).
    fn announces_one_at_a_time(&self) -> bool {
        true
    }

    /// The worker acknowledges on the first active subflow (`mptcp_pm_nl_addr_send_ack`).
    fn announces_on_first_subflow(&self) -> bool {
        true
    }

    fn shrink(&mut self) {
        self.fragments.ends.shrink_to_fit();
        self.delegation.waiting.shrink_to_fit();
    }

    fn clear_pushes(&mut self) {
        self.delegation.waiting.clear();
        self.delegation.picked = None;
    }

    #[inline]
    fn begin_acknowledgement(&mut self, subflow: SubflowId, queues: bool) {
        if queues {
            self.delegation.acknowledging = Some(subflow);
        }
    }

    #[inline]
    fn end_acknowledgement(&mut self) {
        self.delegation.acknowledging = None;
    }

    #[inline]
    fn acknowledging(&self) -> Option<SubflowId> {
        self.delegation.acknowledging
    }

    #[inline]
    fn picked(&self) -> Option<SubflowId> {
        self.delegation.picked
    }

    fn let_wait(&mut self, now: Instant, to: SubflowId) {
        let Delegation { waiting, at, picked, .. } = &mut self.delegation;
        (*at, *picked) = (now, Some(to));
        if !waiting.contains(&to) {
            waiting.push_back(to);
        }
    }

    fn unpick(&mut self, subflow: SubflowId) {
        self.delegation.picked.take_if(|picked| *picked == subflow);
    }

    fn next_pushed(&mut self) -> Option<SubflowId> {
        let subflow = self.delegation.waiting.pop_front()?;
        self.unpick(subflow);
        self.delegation.acknowledging = Some(subflow);
        Some(subflow)
    }

    fn note_burst(&mut self, end: DataSeq) {
        self.delegation.burst_end = self.fragments.end_from(end).unwrap_or(end);
    }

    fn burst_end(&self, start: DataSeq) -> DataSeq {
        let border = self.fragments.end_from(start + 1).unwrap_or(start + 1);
        self.delegation.burst_end.max(border)
    }
}

/// Subflows that get data at the end of an instant.
#[derive(Debug, Default)]
struct Delegation {
    /// These subflows, in the order in which they were picked.
    waiting: VecDeque<SubflowId>,
    /// The instant.
    at: Instant,
    /// The subflow that was picked last, until data is pushed to it.
    picked: Option<SubflowId>,
    /// The subflow whose segment is being processed, or that is being pushed to.
    acknowledging: Option<SubflowId>,
    /// The end of the last burst.
    burst_end: DataSeq,
}

const CHUNK: u64 = 32_768;
/// A fragment's header, bytes.
const HEADER: u64 = 40;
/// A chunk with less room than this gets no further fragment.
const LEAST_ROOM: u64 = 32 + HEADER;
/// Data bytes of a fragment that fills a chunk.
const FULL: u64 = CHUNK - HEADER;

/// The fragments of one connection.
#[derive(Debug, Default)]
struct Fragments {
    /// Ends of the fragments that are not wholly acknowledged.
    ends: VecDeque<DataSeq>,
    /// Free bytes in the last fragment's chunk.
    room: u64,
}

impl Fragments {
    /// The first end of a fragment at or after `at`.
    fn end_from(&self, at: DataSeq) -> Option<DataSeq> {
        self.ends.get(self.ends.partition_point(|e| *e < at)).copied()
    }

    /// Memory of the fragments' headers, bytes.
    fn overhead(&self) -> u64 {
        self.ends.len() as u64 * HEADER
    }

    /// Appends `bytes` at `end`. `unsent`: some of the data before them is unsent.
    fn append(&mut self, mut end: DataSeq, mut bytes: u64, mut unsent: bool) {
        while bytes > 0 {
            let goes_on = unsent && self.room > 0;
            if !goes_on {
                self.begin();
            }
            let piece = bytes.min(self.room);
            (end, bytes, self.room) = (end + piece, bytes - piece, self.room - piece);
            match self.ends.back_mut().filter(|_| goes_on) {
                Some(last) => *last = end,
                None => self.ends.push_back(end),
            }
            unsent = true;
        }
    }

    /// Begins a fragment, in a new chunk if there is no room in the last one.
    fn begin(&mut self) {
        // Headers are aligned.
        let room = self.room / 8 * 8;
        self.room = if room < LEAST_ROOM { FULL } else { room - HEADER };
    }

    /// Bytes that a writer writes until memory has reached `limit`. It begins fragments while less memory is in use,
    /// and fills each. `memory`: bytes in use now.
    fn fills(&self, mut memory: u64, limit: u64, unsent: bool) -> u64 {
        let (mut room, mut goes_on, mut bytes) = (self.room, unsent && self.room > 0, 0);
        while memory < limit {
            if !goes_on {
                let left = room / 8 * 8;
                room = if left < LEAST_ROOM { FULL } else { left - HEADER };
                memory += HEADER;
            }
            (bytes, memory, room, goes_on) = (bytes + room, memory + room, 0, false);
        }
        bytes
    }

    /// Removes the fragments that end at or before `una`: their data is acknowledged.
    fn acknowledge(&mut self, una: DataSeq) {
        while self.ends.pop_front_if(|e| *e <= una).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(fragments: &Fragments) -> Vec<u64> {
        fragments.ends.iter().map(|e| e.0).collect()
    }

    #[test]
    fn blocks_fill_chunks_and_go_on_while_something_is_unsent() {
        let mut fragments = Fragments::default();
        fragments.append(DataSeq(0), 65_536, false);
        assert_eq!(ends(&fragments), [FULL, 2 * FULL, 65_536]);
        fragments.append(DataSeq(65_536), 65_536, true);
        assert_eq!(ends(&fragments), [FULL, 2 * FULL, 3 * FULL, 4 * FULL, 131_072]);
        assert_eq!(fragments.end_from(DataSeq(FULL + 1)), Some(DataSeq(2 * FULL)));
        assert_eq!(fragments.overhead(), 5 * HEADER);
        fragments.acknowledge(DataSeq(2 * FULL));
        assert_eq!(ends(&fragments), [3 * FULL, 4 * FULL, 131_072]);
    }

    #[test]
    fn what_follows_when_all_is_sent_begins_a_fragment_in_the_same_chunk() {
        let mut fragments = Fragments::default();
        fragments.append(DataSeq(0), 80, false);
        fragments.append(DataSeq(80), 65_536, false);
        assert_eq!(ends(&fragments), [80, FULL - HEADER, 2 * FULL - HEADER, 65_616]);
    }

    #[test]
    fn a_writer_stops_at_a_piece_that_begins_beyond_the_limit() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.fills(0, 20_480, false), FULL);
        fragments.append(DataSeq(0), 80, false);
        // The rest of the chunk, then another one.
        assert_eq!(fragments.fills(120, 20_480, true), FULL - 80);
        assert_eq!(fragments.fills(120, 40_000, false), FULL - 80 - HEADER + FULL);
        assert_eq!(fragments.fills(40_000, 40_000, false), 0);
    }
}
