//! Web pages. The connections of a page ask for its objects one after the other, each with a request, and the server
//! answers.

use super::contents::Contents;
use pathweave_proto::{ConnectionHandle, Endpoint};
use pathweave_units::Instant;
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// The objects of a page that were not requested yet.
#[derive(Clone, Debug)]
pub(super) struct Page {
    objects: u64,
    bytes: u64,
    asked: u64,
}

impl Page {
    /// A page of `objects` objects with `bytes` together.
    pub(super) fn new(objects: u32, bytes: u64) -> Self {
        Page { objects: u64::from(objects), bytes, asked: 0 }
    }

    /// Size of the next object, bytes.
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

/// The requests of one connection, at the client's and the server's end.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Index of the connection's page.
    pub(super) page: usize,
    /// Size of a request, bytes.
    size: u64,
    /// Bytes of requests that were written, and that are due.
    written: u64,
    due: u64,
    /// Bytes of requests that the server has read.
    read: u64,
    /// Stream offsets at which the answers end that the server has not begun yet.
    unanswered: VecDeque<u64>,
    /// Stream offset at which the last answer ends.
    end: u64,
}

impl Requests {
    pub(super) fn new(page: usize, size: u64) -> Self {
        Requests { page, size, written: 0, due: 0, read: 0, unanswered: VecDeque::new(), end: 0 }
    }

    /// Stream offset at which the last requested answer ends.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Requests the next object. Returns the stream offset at which it will end; `None` if there is none left.
    pub(super) fn ask(&mut self, page: &mut Page) -> Option<u64> {
        self.end += page.next()?;
        self.due += self.size;
        self.unanswered.push_back(self.end);
        Some(self.end)
    }

    /// Writes the due bytes of the client's requests.
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

    /// Reads requests at the server. Returns the end of the last answer that is now to be written, and the number of
    /// bytes that differ from the written ones.
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
