//! The application's data until it is acknowledged: its bytes, the lists of pieces for segments that span several
//! writes, and the ends of the application's messages.
//!
//! TCP delivers a stream of bytes without the ends of messages. A scheduler that wants a message to arrive as a whole
//! needs them ([`View::message_end`](pathweave_scheduler::View)). They are not sent to the peer.

use bytes::Bytes;
use core::ops::Range;
use pathweave_scheduler::DataSeq;
use pathweave_wire::{Chunks, Payload};
use std::collections::VecDeque;

/// Written data from the first unacknowledged byte on.
///
/// The first write decides whether the stream is virtual or has bytes. Data that was not written as bytes is never sent
/// as bytes.
#[derive(Debug, Default)]
pub(crate) enum SendBuffer {
    /// Nothing was written yet.
    #[default]
    Unused,
    /// A virtual stream: its positions are its content.
    Virtual,
    /// The written pieces, none empty, each with the position of its first byte; and the lists of pieces for segments
    /// that span several.
    Bytes(VecDeque<(DataSeq, Bytes)>, PieceLists),
}

impl SendBuffer {
    /// Appends `payload` at `at`, the end of the stream.
    ///
    /// # Panics
    /// If it is virtual and earlier data has bytes, or the other way round, or if it is virtual and does not start at
    /// `at`.
    pub(crate) fn append(&mut self, at: DataSeq, payload: Payload) {
        let mut at = at;
        match (&mut *self, payload) {
            (SendBuffer::Virtual | SendBuffer::Unused, Payload::Virtual { start, .. }) => {
                assert_eq!(start, at.0, "a virtual payload starts where the stream ends");
                *self = SendBuffer::Virtual;
            }
            (SendBuffer::Bytes(..), Payload::Virtual { .. }) => {
                panic!("virtual data is written to a connection whose first write was bytes")
            }
            (_, Payload::Bytes(bytes)) => self.append_bytes(at, bytes),
            (_, Payload::Chunks(chunks)) => {
                for bytes in chunks.iter() {
                    let len = bytes.len() as u64;
                    self.append_bytes(at, bytes);
                    at = at + len;
                }
            }
        }
    }

    /// Appends one piece that is not empty, like [`SendBuffer::append`].
    ///
    /// # Panics
    /// If earlier data is virtual.
    pub(crate) fn append_bytes(&mut self, at: DataSeq, bytes: Bytes) {
        if let SendBuffer::Unused = self {
            *self = SendBuffer::Bytes(VecDeque::new(), PieceLists::default());
        }
        let SendBuffer::Bytes(pieces, _) = self else {
            panic!("bytes are written to a connection whose first write was virtual");
        };
        pieces.push_back((at, bytes));
    }

    /// Appends `more` of the stream to `first`, as [`Payload::try_append`] does.
    pub(crate) fn append_to(&mut self, first: &mut Payload, more: &Payload) -> bool {
        match self {
            SendBuffer::Bytes(_, lists) if !first.is_virtual() && !more.is_virtual() => {
                *first = Payload::Chunks(lists.list(first.chunks().chain(more.chunks())));
                true
            }
            _ => first.try_append(more),
        }
    }

    pub(crate) fn acknowledge(&mut self, to: DataSeq) {
        let SendBuffer::Bytes(pieces, lists) = self else { return };
        while let Some((start, bytes)) = pieces.front()
            && *start + bytes.len() as u64 <= to
        {
            pieces.pop_front();
        }
        lists.reclaim();
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        let SendBuffer::Bytes(pieces, lists) = self else { return };
        pieces.shrink_to_fit();
        lists.shrink();
    }

    /// The data of `range`, which must be written and unacknowledged. Its bytes are shared, not copied.
    pub(crate) fn get(&mut self, range: Range<DataSeq>) -> Payload {
        let len = range.end.since(range.start) as u32;
        let SendBuffer::Bytes(pieces, lists) = self else { return Payload::Virtual { start: range.start.0, len } };
        let i = pieces.partition_point(|(start, bytes)| *start + bytes.len() as u64 <= range.start);
        let part = |(start, bytes): &(DataSeq, Bytes)| {
            let from = range.start.since(*start) as usize;
            let to = (range.end.since(*start) as usize).min(bytes.len());
            bytes.slice(from..to)
        };
        let payload = match pieces.get(i).filter(|(start, _)| *start <= range.start) {
            // Most segments are part of one write.
            Some(piece) if range.end <= piece.0 + piece.1.len() as u64 => Payload::Bytes(part(piece)),
            Some(_) => {
                let parts = pieces.range(i..).take_while(|(start, _)| *start < range.end).map(part);
                Payload::Chunks(lists.list(parts))
            }
            None => Payload::EMPTY,
        };
        assert_eq!(payload.len(), len, "unacknowledged data is in the send buffer");
        payload
    }
}

/// Number of lists that are kept for reuse; further lists are allocated.
const LISTS: usize = 256;
/// Pieces for which the free lists have room in all, so that they take at most 128 KiB.
const FREE_PIECES: usize = 4096;

/// Lists in use by segments, oldest first, and free lists.
#[derive(Debug, Default)]
pub(crate) struct PieceLists {
    out: VecDeque<Chunks>,
    /// Free lists, each with the number of pieces that it held.
    free: Vec<(Chunks, usize)>,
    free_pieces: usize,
}

impl PieceLists {
    /// Makes a list of these pieces.
    pub(crate) fn list(&mut self, pieces: impl Iterator<Item = Bytes>) -> Chunks {
        self.reclaim();
        let (mut list, room) = self.free.pop().unwrap_or_default();
        self.free_pieces -= room;
        list.extend(pieces);
        if self.out.len() == LISTS {
            // The segment of the oldest list has long been unacknowledged.
            self.out.pop_front();
        }
        self.out.push_back(list.clone());
        list
    }

    /// Takes back lists that no segment uses any more and empties them, so that they keep no data of the application
    /// alive.
    #[inline]
    pub(crate) fn reclaim(&mut self) {
        while let Some(mut list) = self.out.pop_front_if(|list| !list.is_shared()) {
            let room = list.piece_count();
            if self.free_pieces + room <= FREE_PIECES {
                list.clear();
                self.free_pieces += room;
                self.free.push((list, room));
            }
        }
    }

    /// Frees spare capacity.
    fn shrink(&mut self) {
        self.reclaim();
        self.out.shrink_to_fit();
        (self.free, self.free_pieces) = (Vec::new(), 0);
    }
}

/// The ends of messages, or of records, that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    ends: VecDeque<DataSeq>,
}

impl Messages {
    /// Adds a message that ends in front of the byte `end`. If the previous one ended there too, nothing was written in
    /// between.
    pub(crate) fn append(&mut self, end: DataSeq) {
        if self.ends.back() != Some(&end) {
            self.ends.push_back(end);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Drops the ends of messages that are acknowledged, up to `una`.
    pub(crate) fn acknowledge(&mut self, una: DataSeq) {
        while self.ends.pop_front_if(|e| *e <= una).is_some() {}
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.ends.shrink_to_fit();
    }

    /// The end of the message that the byte at `at` belongs to, if it is known.
    pub(crate) fn end_of(&self, at: DataSeq) -> Option<DataSeq> {
        self.ends.get(self.ends.partition_point(|e| *e <= at)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Payload {
        Payload::Bytes(text.as_bytes().into())
    }

    #[test]
    #[should_panic(expected = "bytes are written to a connection whose first write was virtual")]
    fn bytes_after_virtual_data_are_refused() {
        let mut buffer = SendBuffer::default();
        buffer.append(DataSeq(0), Payload::Virtual { start: 0, len: 10 });
        buffer.append(DataSeq(10), bytes("ten"));
    }

    #[test]
    #[should_panic(expected = "virtual data is written to a connection whose first write was bytes")]
    fn virtual_data_after_bytes_is_refused_even_when_they_are_acknowledged() {
        let mut buffer = SendBuffer::default();
        buffer.append(DataSeq(0), bytes("three"));
        buffer.acknowledge(DataSeq(5));
        buffer.append(DataSeq(5), Payload::Virtual { start: 5, len: 10 });
    }

    #[test]
    #[should_panic(expected = "a virtual payload starts where the stream ends")]
    fn virtual_data_of_another_place_is_refused() {
        SendBuffer::default().append(DataSeq(0), Payload::Virtual { start: 1, len: 10 });
    }

    #[test]
    #[should_panic(expected = "unacknowledged data is in the send buffer")]
    fn bytes_that_are_gone_do_not_become_zeros() {
        let mut buffer = SendBuffer::default();
        buffer.append(DataSeq(0), bytes("three"));
        buffer.acknowledge(DataSeq(5));
        buffer.get(DataSeq(0)..DataSeq(5));
    }

    fn pieces(n: usize) -> impl Iterator<Item = Bytes> {
        (0..n).map(|i| Bytes::copy_from_slice(&[i as u8, 0]))
    }

    #[test]
    fn a_list_serves_again_and_holds_nothing_meanwhile() {
        let mut lists = PieceLists::default();
        let data = Bytes::from(vec![1, 2, 3]);
        let first = lists.list([data.slice(..1), data.slice(1..)].into_iter());
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len()), (1, 0), "its segment has it");
        assert!(!data.is_unique());
        drop(first);
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len()), (0, 1));
        assert!(data.is_unique(), "nothing of it is kept");
        let second = lists.list(pieces(3));
        assert_eq!((second.len(), lists.free.len()), (6, 0));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut lists = PieceLists::default();
        let out: Vec<Chunks> = (0..2 * LISTS).map(|_| lists.list(pieces(2))).collect();
        assert_eq!(lists.out.len(), LISTS);
        drop(out);
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len(), lists.free_pieces), (0, LISTS, 2 * LISTS));
        let long: Vec<Chunks> = (0..3).map(|_| lists.list(pieces(FREE_PIECES / 2))).collect();
        assert_eq!(lists.free_pieces, 2 * LISTS - 6);
        drop(long);
        lists.reclaim();
        assert!(lists.out.is_empty() && lists.free_pieces <= FREE_PIECES && lists.free.len() == LISTS - 2);
    }

    #[test]
    fn a_byte_belongs_to_the_message_that_ends_after_it() {
        let mut messages = Messages::default();
        assert_eq!(messages.end_of(DataSeq(0)), None);
        messages.append(DataSeq(100));
        messages.append(DataSeq(100));
        messages.append(DataSeq(250));
        let end_of = |messages: &Messages, at| messages.end_of(DataSeq(at)).map(|e| e.0);
        assert_eq!([0, 99, 100, 249].map(|at| end_of(&messages, at)), [100, 100, 250, 250].map(Some));
        assert_eq!(end_of(&messages, 250), None, "where that one ends is not known yet");
        messages.acknowledge(DataSeq(99));
        assert_eq!(end_of(&messages, 99), Some(100));
        messages.acknowledge(DataSeq(250));
        assert!(messages.ends.is_empty());
    }
}
