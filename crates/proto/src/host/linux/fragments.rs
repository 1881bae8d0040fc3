//! The pieces in which a kernel holds what was written to a Multipath TCP connection (`mptcp_sendmsg`,
//! `docs/notes/linux-6.12-send-buffer-and-segments.md`).
//!
//! Chunks of 32 KiB are filled with fragments, each with a header. What is written while something written before is still
//! unsent goes on in the last fragment, else it begins one. A scheduler's burst ends where a fragment ends.

use crate::seq::DataSeq;
use std::collections::VecDeque;

const CHUNK: u64 = 32_768;
/// A fragment's header, bytes.
const HEADER: u64 = 40;
/// With less room than this in a chunk the next one is begun.
const LEAST_ROOM: u64 = 32 + HEADER;
/// The data of a fragment that fills a chunk.
pub(crate) const FULL: u64 = CHUNK - HEADER;

/// The fragments of one connection.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// Where each ends that is not acknowledged as a whole.
    ends: VecDeque<DataSeq>,
    /// Room in the chunk of the last one.
    room: u64,
}

impl Fragments {
    /// Where they end, in order.
    pub(crate) fn ends(&self) -> &VecDeque<DataSeq> {
        &self.ends
    }

    /// Where the first of them ends that ends at or after `at`.
    pub(crate) fn end_from(&self, at: DataSeq) -> Option<DataSeq> {
        self.ends.get(self.ends.partition_point(|e| *e < at)).copied()
    }

    /// The memory of their headers, bytes.
    pub(crate) fn overhead(&self) -> u64 {
        self.ends.len() as u64 * HEADER
    }

    /// `bytes` are written at `end`. `unsent`: some of what was written before is.
    pub(crate) fn append(&mut self, mut end: DataSeq, mut bytes: u64, mut unsent: bool) {
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

    /// How many bytes a writer writes that stops at the first piece begun with `limit` bytes of memory in use, of which are
    /// `memory` now.
    pub(crate) fn fills(&self, mut memory: u64, limit: u64, unsent: bool) -> u64 {
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

    /// All before `una` is acknowledged.
    pub(crate) fn acknowledge(&mut self, una: DataSeq) {
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
