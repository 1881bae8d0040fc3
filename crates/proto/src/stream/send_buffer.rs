//! The application's data until it is acknowledged.

use crate::seq::DataSeq;
use core::ops::Range;
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// Written data from the first unacknowledged byte on. Virtual data needs no storage.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    chunks: VecDeque<(DataSeq, Payload)>,
}

impl SendBuffer {
    pub(crate) fn append(&mut self, at: DataSeq, payload: Payload) {
        if matches!(payload, Payload::Bytes(_)) {
            self.chunks.push_back((at, payload));
        }
    }

    pub(crate) fn acknowledge(&mut self, to: DataSeq) {
        while let Some((start, payload)) = self.chunks.front()
            && *start + u64::from(payload.len()) <= to
        {
            self.chunks.pop_front();
        }
    }

    /// The data of `range`. Bytes are shared, and copied only where a segment spans two writes.
    pub(crate) fn get(&self, range: Range<DataSeq>) -> Payload {
        let len = range.end.since(range.start) as u32;
        if self.chunks.is_empty() {
            return Payload::Virtual { start: range.start.0, len };
        }
        let i = self.chunks.partition_point(|(start, p)| *start + u64::from(p.len()) <= range.start);
        // A segment is mostly of one write.
        if let Some((start, payload)) = self.chunks.get(i)
            && *start <= range.start
            && range.end <= *start + u64::from(payload.len())
        {
            return payload.slice(range.start.since(*start) as u32, len);
        }
        let mut out: Option<Payload> = None;
        let mut at = range.start;
        for (start, payload) in self.chunks.iter().skip(i) {
            if at >= range.end || *start > at {
                break;
            }
            let offset = at.since(*start) as u32;
            let take = (payload.len() - offset).min(range.end.since(at) as u32);
            let part = payload.slice(offset, take);
            out = match out {
                None => Some(part),
                Some(before) => Payload::concat(before, part),
            };
            at = at + u64::from(take);
        }
        out.unwrap_or(Payload::Virtual { start: range.start.0, len })
    }
}
