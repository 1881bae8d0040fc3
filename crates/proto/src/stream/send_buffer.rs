//! The application's data until it is acknowledged.

use super::piece_lists::PieceLists;
use crate::seq::DataSeq;
use bytes::Bytes;
use core::ops::Range;
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// Written data from the first unacknowledged byte on.
///
/// The first write decides whether the stream is virtual or has bytes. Nothing is made up: what was not written as bytes is
/// never sent as bytes.
#[derive(Debug, Default)]
pub(crate) enum SendBuffer {
    /// Nothing was written.
    #[default]
    Unused,
    /// The stream's numbers say all.
    Virtual,
    /// The pieces that were written, each with the place of its first byte, none of them empty; and the lists of those
    /// segments that span several.
    Bytes(VecDeque<(DataSeq, Bytes)>, PieceLists),
}

impl SendBuffer {
    /// Appends `payload` at `at`, where the stream ends.
    ///
    /// # Panics
    /// When it is virtual and what was written before is not, or the other way round; and when it is virtual and another part
    /// of the stream.
    pub(crate) fn append(&mut self, at: DataSeq, payload: Payload) {
        let mut at = at;
        match (&mut *self, payload) {
            (SendBuffer::Virtual | SendBuffer::Unused, Payload::Virtual { start, .. }) => {
                assert_eq!(start, at.0, "a virtual payload starts where the stream ends");
                *self = SendBuffer::Virtual;
            }
            (SendBuffer::Bytes(..), Payload::Virtual { .. }) => {
                panic!("a virtual payload is written to a connection whose first write was of bytes")
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

    /// [`SendBuffer::append`] of one piece that is not empty.
    ///
    /// # Panics
    /// When what was written before is virtual.
    pub(crate) fn append_bytes(&mut self, at: DataSeq, bytes: Bytes) {
        if let SendBuffer::Unused = self {
            *self = SendBuffer::Bytes(VecDeque::new(), PieceLists::default());
        }
        let SendBuffer::Bytes(pieces, _) = self else {
            panic!("bytes are written to a connection whose first write was virtual");
        };
        pieces.push_back((at, bytes));
    }

    /// Puts `more` of the stream behind `first`, as [`Payload::try_append`] does.
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

    /// The data of `range`, which was written and is not acknowledged. Bytes are shared.
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
            // A segment is mostly of one write.
            Some(piece) if range.end <= piece.0 + piece.1.len() as u64 => Payload::Bytes(part(piece)),
            Some(_) => {
                let parts = pieces.range(i..).take_while(|(start, _)| *start < range.end).map(part);
                Payload::Chunks(lists.list(parts))
            }
            None => Payload::EMPTY,
        };
        assert_eq!(payload.len(), len, "what is not acknowledged is in the send buffer");
        payload
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
    #[should_panic(expected = "a virtual payload is written to a connection whose first write was of bytes")]
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
    #[should_panic(expected = "what is not acknowledged is in the send buffer")]
    fn bytes_that_are_gone_do_not_become_zeros() {
        let mut buffer = SendBuffer::default();
        buffer.append(DataSeq(0), bytes("three"));
        buffer.acknowledge(DataSeq(5));
        buffer.get(DataSeq(0)..DataSeq(5));
    }
}
