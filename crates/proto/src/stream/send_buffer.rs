//! The application's data until it is acknowledged.

use crate::seq::DataSeq;
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
    /// The pieces that were written, each with the place of its first byte.
    Bytes(VecDeque<(DataSeq, Payload)>),
}

impl SendBuffer {
    /// Appends `payload` at `at`, where the stream ends.
    ///
    /// # Panics
    /// When it is virtual and what was written before is not, or the other way round; and when it is virtual and another part
    /// of the stream.
    pub(crate) fn append(&mut self, at: DataSeq, payload: Payload) {
        if let SendBuffer::Unused = self {
            *self = match payload {
                Payload::Virtual { .. } => SendBuffer::Virtual,
                Payload::Bytes(_) => SendBuffer::Bytes(VecDeque::new()),
            };
        }
        match (self, payload) {
            (SendBuffer::Virtual, Payload::Virtual { start, .. }) => {
                assert_eq!(start, at.0, "a virtual payload starts where the stream ends");
            }
            (SendBuffer::Bytes(pieces), payload @ Payload::Bytes(_)) => pieces.push_back((at, payload)),
            (SendBuffer::Virtual, _) => panic!("bytes are written to a connection whose first write was virtual"),
            (_, _) => panic!("a virtual payload is written to a connection whose first write was of bytes"),
        }
    }

    pub(crate) fn acknowledge(&mut self, to: DataSeq) {
        let SendBuffer::Bytes(pieces) = self else { return };
        while let Some((start, payload)) = pieces.front()
            && *start + u64::from(payload.len()) <= to
        {
            pieces.pop_front();
        }
    }

    /// The data of `range`, which was written and is not acknowledged. Bytes are shared, and copied only where a segment spans
    /// two writes.
    pub(crate) fn get(&self, range: Range<DataSeq>) -> Payload {
        let len = range.end.since(range.start) as u32;
        let SendBuffer::Bytes(pieces) = self else { return Payload::Virtual { start: range.start.0, len } };
        let i = pieces.partition_point(|(start, p)| *start + u64::from(p.len()) <= range.start);
        // A segment is mostly of one write.
        if let Some((start, payload)) = pieces.get(i)
            && *start <= range.start
            && range.end <= *start + u64::from(payload.len())
        {
            return payload.slice(range.start.since(*start) as u32, len);
        }
        let mut out: Option<Payload> = None;
        let mut at = range.start;
        for (start, payload) in pieces.iter().skip(i).take_while(|(start, _)| *start < range.end) {
            let offset = at.since(*start) as u32;
            let take = (payload.len() - offset).min(range.end.since(at) as u32);
            let part = payload.slice(offset, take);
            out = match out {
                None => Some(part),
                Some(before) => Payload::concat(before, part),
            };
            at = at + u64::from(take);
        }
        out.filter(|p| p.len() == len).expect("what is not acknowledged is in the send buffer")
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
