//! The stream at the sender: its unacknowledged bytes, the legs that carry them, and the scheduler's view of both.

use crate::frame::Acknowledgement;
use core::ops::Range;
use pathweave_scheduler::{Blocked, DataSeq, Event, Instant, SendMap, SubflowId, SubflowView, View};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) map: SendMap,
    /// The bytes from the first unacknowledged one on.
    bytes: VecDeque<u8>,
    /// Most bytes that `bytes` holds.
    room: u64,
    /// Whether all of the input was read.
    pub(crate) has_end: bool,
    /// Whether the receiver has acknowledged all bytes and the stream's end.
    pub(crate) is_complete: bool,
    /// The end of the receiver's window, and its size.
    window_end: DataSeq,
    window: u64,
    /// The legs that are up, as the scheduler sees them, in the order of their names.
    pub(crate) legs: Vec<SubflowView>,
    /// What the scheduler was last told to block the stream; `None` if nothing does.
    blocked: Option<Blocked>,
}

impl Stream {
    /// An empty stream that holds at most `room` bytes.
    pub(crate) fn new(room: u64) -> Self {
        Stream {
            map: SendMap::new(),
            bytes: VecDeque::new(),
            room,
            has_end: false,
            is_complete: false,
            window_end: DataSeq(0),
            window: 0,
            legs: Vec::new(),
            blocked: None,
        }
    }

    /// Whether there is nothing more to send, so that rates that are measured now are lower bounds.
    pub(crate) fn is_used_up(&self) -> bool {
        self.map.unassigned_bytes() == 0
    }

    /// Bytes that may be written now.
    pub(crate) fn free(&self) -> u64 {
        self.room.saturating_sub(self.bytes.len() as u64)
    }

    /// Appends bytes and returns their range.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Range<DataSeq> {
        let start = self.map.written_end();
        self.map.append(bytes.len() as u64);
        self.bytes.extend(bytes);
        start..self.map.written_end()
    }

    /// The bytes of a range that is written and not acknowledged.
    pub(crate) fn bytes(&self, range: &Range<DataSeq>) -> impl Iterator<Item = u8> + '_ {
        let at = |place: DataSeq| place.since(self.map.first_unacked()) as usize;
        self.bytes.range(at(range.start)..at(range.end)).copied()
    }

    /// Notes an acknowledgement. If a later one has overtaken it on another leg, it changes nothing but the window's
    /// size.
    pub(crate) fn acknowledge(&mut self, news: Acknowledgement) {
        let (place, end) = (DataSeq(news.place), self.map.written_end());
        self.is_complete |= self.has_end && place > end;
        let newly = self.map.acknowledge(place);
        self.bytes.drain(..newly as usize);
        self.window_end = self.window_end.max(place.min(end) + news.window);
        self.window = news.window;
    }

    /// Takes the pieces back that `leg` carries, so that the scheduler assigns them again.
    pub(crate) fn take_back(&mut self, leg: SubflowId, pieces: impl Iterator<Item = Range<DataSeq>>) {
        pieces.for_each(|piece| self.map.withdraw(piece, leg));
    }

    /// Takes all data back that `leg` was given and the receiver has not acknowledged. TCP's acknowledgement is not
    /// enough: it may be a proxy's, and data that waits in the receiver's socket may be lost with the connection.
    pub(crate) fn take_all_back(&mut self, leg: SubflowId) {
        self.map.withdraw(self.map.first_unacked()..self.map.assigned_end(), leg);
    }

    /// The part of `range` that may be sent.
    pub(crate) fn clip(&self, range: Range<DataSeq>) -> Range<DataSeq> {
        range.start.max(self.map.first_unacked())..range.end.min(self.map.written_end()).min(self.window_end)
    }

    /// The stream and its legs as the scheduler sees them.
    pub(crate) fn view(&self, now: Instant) -> View<'_> {
        View {
            now,
            subflows: &self.legs,
            queue: &self.map,
            send_window_end: self.window_end,
            send_window: self.window,
            send_buffer_free: self.free(),
            send_buffer: self.room,
            // The input is a stream of bytes: it has no messages.
            message_end: None,
            fragment_ends: None,
        }
    }

    /// The event to tell the scheduler, if one is due: [`Event::WindowBlocked`] if the receiver's window or the buffer
    /// is full although a leg has room, [`Event::WindowUnblocked`] if that is over.
    pub(crate) fn blocked(&mut self, now: Instant) -> Option<Event<'static>> {
        let blocked = self.view(now).blocked(!self.has_end && self.free() == 0);
        let before = std::mem::replace(&mut self.blocked, blocked);
        (blocked != before).then(|| Blocked::event(blocked))
    }
}
