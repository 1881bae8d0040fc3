//! Web pages: the connections of a page ask for its objects one after the other, each with a request, and the server answers.

use super::contents::Contents;
use pathweave_proto::{ConnectionHandle, Endpoint};
use pathweave_units::Instant;
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// The objects of a page that nobody has asked for yet.
#[derive(Clone, Debug)]
pub(super) struct Page {
    objects: u64,
    bytes: u64,
    asked: u64,
}

impl Page {
    /// `objects` objects that are `bytes` large together.
    pub(super) fn new(objects: u32, bytes: u64) -> Self {
        Page { objects: u64::from(objects), bytes, asked: 0 }
    }

    /// Bytes of the next object.
    fn next(&mut self) -> Option<u64> {
        if self.asked == self.objects {
            return None;
        }
        // Object number n ends at the share n + 1 of all bytes, so that their sum is exact.
        let end = |n: u64| (u128::from(self.bytes) * u128::from(n) / u128::from(self.objects)) as u64;
        self.asked += 1;
        Some(end(self.asked) - end(self.asked - 1))
    }
}

/// What one connection has asked for: the client's end and the server's.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Index of its page.
    pub(super) page: usize,
    /// Bytes of a request.
    size: u64,
    /// Bytes of requests that were written, and that there are to write.
    written: u64,
    due: u64,
    /// Bytes of requests that the server has read.
    read: u64,
    /// Where the answers end that the server has not begun yet, as offsets of its stream.
    unanswered: VecDeque<u64>,
    /// Where the last answer ends.
    end: u64,
}

impl Requests {
    pub(super) fn new(page: usize, size: u64) -> Self {
        Requests { page, size, written: 0, due: 0, read: 0, unanswered: VecDeque::new(), end: 0 }
    }

    /// Where the last answer ends that was asked for.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The client asks for the next object. Returns where it will end; `None`: there is none left.
    pub(super) fn ask(&mut self, page: &mut Page) -> Option<u64> {
        self.end += page.next()?;
        self.due += self.size;
        self.unanswered.push_back(self.end);
        Some(self.end)
    }

    /// The client writes what is due of its requests.
    pub(super) fn write(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        client: ConnectionHandle,
        contents: &Contents,
    ) {
        while self.written < self.due {
            let payload = contents.from(self.written, self.due - self.written);
            let Ok(taken) = endpoint.write(now, client, payload) else { break };
            self.written += taken;
        }
    }

    /// The server reads requests. Returns where the last answer ends that it now has to write, and the bytes that are not what was
    /// written.
    pub(super) fn read(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        server: ConnectionHandle,
        contents: &Contents,
    ) -> (Option<u64>, u64) {
        let mut altered = 0;
        while let Ok(payload) = endpoint.read(now, server, u64::MAX) {
            altered += match payload {
                Payload::Virtual { start, .. } => u64::from(start != self.read),
                _ => contents.differing(self.read, &payload),
            };
            self.read += u64::from(payload.len());
        }
        let whole = (self.read / self.size) as usize;
        let answered = (self.due / self.size) as usize - self.unanswered.len();
        let last = self.unanswered.drain(..whole.saturating_sub(answered)).next_back();
        (last, altered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pages_objects_are_as_large_as_the_page() {
        let mut page = Page::new(7, 100);
        let sizes: Vec<u64> = core::iter::from_fn(|| page.next()).collect();
        assert_eq!(sizes.len(), 7);
        assert_eq!(sizes.iter().sum::<u64>(), 100);
        assert!(sizes.iter().all(|s| (14..=15).contains(s)), "{sizes:?}");
    }
}
