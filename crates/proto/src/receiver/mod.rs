//! The receiving half of a connection's data stream: where arriving data belongs (`mappings`), putting it in order
//! (`reassembly`), and the window that is offered for more (`window`).

pub(crate) mod mappings;
pub(crate) mod reassembly;
pub(crate) mod window;

use crate::host::Arrived;
use crate::seq::DataSeq;
use crate::tcp::{Tcp, Waiting, memory_limit};
use bytes::Bytes;
use pathweave_units::Instant;
use pathweave_wire::Payload;
use reassembly::Reassembly;
use window::{ReceiveWindow, Says, SubflowWindow};

/// Data this far beyond the offered window is still taken: the window field's rounding.
const WINDOW_SLACK: u64 = 1 << 14;

/// What waits in all places of a connection, the stream and each subflow, takes so many times what it may in one. Honest data lies in
/// the window, in one place or, where it is repeated, in two.
const PLACES: u64 = 2;

/// What a connection has received and what it still has room for.
///
/// `mptcp`: Multipath TCP is in use.
pub(crate) struct Receiver {
    queue: Reassembly,
    pub(crate) window: ReceiveWindow,
    /// The window in the last segment sent, on any subflow.
    last_offered: u64,
    /// The application has been told of the stream's end.
    end_reported: bool,
    /// Data bytes that arrived more than once at the data level.
    duplicate_bytes: u64,
    /// What waits takes too much memory.
    full: bool,
    /// What waits keeps enough packets alive.
    copies: bool,
    /// The peer's data came last with a data sequence number of 8 bytes.
    pub(crate) peer_numbers_are_long: bool,
    /// The peer hears that there is no room, whatever was offered before.
    closed: bool,
}

impl Receiver {
    pub(crate) fn new(window: ReceiveWindow, packet_memory: u32) -> Self {
        let (queue, last_offered) = (Reassembly::new(packet_memory), window.first());
        Receiver {
            queue,
            window,
            last_offered,
            end_reported: false,
            duplicate_bytes: 0,
            full: false,
            copies: false,
            peer_numbers_are_long: false,
            closed: false,
        }
    }

    /// The first byte that is missing.
    #[inline]
    pub(crate) fn next(&self) -> DataSeq {
        self.queue.next()
    }
    /// What is in order and not read.
    #[inline]
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.queue.ready_bytes()
    }
    /// What waits for something before it.
    #[inline]
    pub(crate) fn held_bytes(&self) -> u64 {
        self.queue.held_bytes()
    }
    /// See [`Reassembly::memory`].
    #[inline]
    pub(crate) fn memory(&self) -> Waiting {
        self.queue.memory()
    }
    /// See [`Reassembly::has_end`].
    #[inline]
    pub(crate) fn has_end(&self) -> bool {
        self.queue.has_end()
    }
    /// See [`Reassembly::complete`].
    #[inline]
    pub(crate) fn complete(&self) -> bool {
        self.queue.complete()
    }
    /// See [`Reassembly::drained`].
    pub(crate) fn drained(&self) -> bool {
        self.queue.drained()
    }
    /// The stream ends where it has come to: plain TCP's FIN.
    pub(crate) fn end_here(&mut self) {
        self.queue.set_end(self.queue.next());
    }
    /// See [`Reassembly::forget_missing_end`].
    pub(crate) fn forget_missing_end(&mut self) {
        self.queue.forget_missing_end();
    }
    /// Gives back the memory that is kept for what may come.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
        self.window.shrink();
    }
    /// Data bytes that arrived more than once at the data level.
    pub(crate) fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }
    /// What our DATA_ACK says: the next byte expected, and the octet of a DATA_FIN that was reached.
    #[inline]
    pub(crate) fn acknowledged_position(&self) -> u64 {
        self.next().0 + u64::from(self.complete())
    }

    /// Whether the end of the stream has been reached and this is the first time that somebody asks.
    pub(crate) fn reports_end(&mut self) -> bool {
        let is_first = self.complete() && !self.end_reported;
        self.end_reported |= is_first;
        is_first
    }

    /// All that waits, on subflows too, takes so much memory: beyond a limit data is dropped, and beyond a limit of blocks data that comes
    /// is copied.
    //= RFC 8684 §3.3.2: "a receiver has the freedom to drop segments after acknowledgment at the subflow level
    //= -- for example, due to memory constraints when many segments arrive out of order"
    //= tests: resources::gaps_on_all_subflows_share_what_a_connection_may_take
    #[inline]
    pub(crate) fn limit_memory(&mut self, waiting: Waiting) {
        let place = memory_limit(self.window.promised());
        self.full = waiting.records > PLACES * place;
        self.copies = waiting.blocks > place;
    }

    /// Only what fills a hole is taken of the next segment.
    #[inline]
    pub(crate) fn take_only_what_is_missing(&mut self) {
        self.full = true;
    }

    /// What waits from now on is copied.
    #[inline]
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Only what fills a hole is taken.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Puts data into its place in the stream; returns how many of its bytes are new.
    #[inline]
    pub(crate) fn insert(&mut self, at: DataSeq, payload: Payload, mptcp: bool) -> u64 {
        let len = u64::from(payload.len());
        // Plain TCP has acknowledged it by now, so that nobody would send it again; what lies beyond the edge was cut off
        // before.
        if mptcp && at + len > self.end_of_room() {
            //= RFC 8684 §3.8: "DSN out of window (during normal operation): drop the data; do not send Data ACKs"
            //= tests: mappings::data_out_of_the_window_is_dropped_and_not_acknowledged_but_comes_again
            return 0;
        }
        if mptcp
            && at > self.next()
            && (self.full || self.queue.is_overfull(self.window.promised()))
            && !self.queue.make_way(at, len)
        {
            //= RFC 8684 §3.3.2: "a receiver has the freedom to drop segments after acknowledgment at the subflow level
            //= -- for example, due to memory constraints when many segments arrive out of order"
            //= tests: resources::gaps_at_the_data_level_take_bounded_memory
            return 0;
        }
        let limit = if self.copies { 0 } else { memory_limit(self.window.promised()) };
        let new = self.queue.insert(at, payload, limit);
        if new > 0 {
            self.window.received(at, len);
        }
        self.duplicate_bytes += len - new;
        new
    }

    /// At most `max` bytes in order.
    pub(crate) fn read(&mut self, max: u64) -> Option<Payload> {
        let out = self.queue.read(max)?;
        self.window.read_to(self.queue.read_position());
        Some(out)
    }

    /// At most `max` bytes in order, where what comes next has bytes.
    pub(crate) fn read_bytes(&mut self, max: u64) -> Option<Bytes> {
        if self.reads_virtual() {
            return None;
        }
        match self.read(max)? {
            Payload::Bytes(bytes) => Some(bytes),
            other => unreachable!("what can be read lies in single pieces: {other:?}"),
        }
    }

    /// What can be read next is virtual.
    pub(crate) fn reads_virtual(&self) -> bool {
        self.queue.reads_virtual()
    }

    /// The first byte that the application has not read.
    pub(crate) fn read_position(&self) -> DataSeq {
        self.queue.read_position()
    }

    /// Data is taken up to here. What lies a little beyond the edge moves that, so that the buffer bounds it too: a peer that disregards
    /// the window fills it once.
    #[inline]
    pub(crate) fn end_of_room(&self) -> DataSeq {
        let (edge, room) = (self.window.edge(), self.read_position() + self.window.promised());
        edge.max(edge.min(room) + WINDOW_SLACK)
    }

    /// How far beyond what has arrived a subflow's segment may lie.
    pub(crate) fn acceptable(&self, mptcp: bool) -> u64 {
        let acceptable = self.end_of_room().since(self.next());
        if mptcp { acceptable.max(self.window.promised()) } else { acceptable }
    }

    /// What of the receive buffer is taken when a subflow that holds `held` bytes beyond a hole of its own looks at it: what is
    /// unread, and what waits for earlier data.
    #[inline]
    pub(crate) fn occupied(&self, held: u64, mptcp: bool) -> u64 {
        self.window.occupied(self.ready_bytes() + self.held_bytes(), held, mptcp)
    }

    /// Opens a subflow's window for what arrived on it, and decides when that is acknowledged.
    pub(crate) fn decide_ack(&self, now: Instant, tcp: &mut Tcp, own: &mut SubflowWindow, mptcp: bool) {
        let held = tcp.held_bytes();
        let occupied = self.occupied(held, mptcp);
        // Data that waits for other subflows' needs no reader of this one's.
        let readable = self.ready_bytes() > 0;
        let taken = mptcp && !readable && self.held_bytes() > 0;
        if let Some((len, out_of_order)) = tcp.noted_data() {
            let arrived = Arrived { len, out_of_order, held, saw_full: tcp.saw_full_segment(), mptcp };
            let opened = self.window.opened(own.limit, own.clamp, &arrived, occupied);
            if opened > own.limit {
                own.limit = opened;
                tcp.window_grew();
            }
        }
        let window = self.window.possible(self.queue.next(), occupied, &Says::of(tcp, own));
        tcp.decide_ack(now, window, taken, readable);
    }

    /// From now on the window is zero: there is no memory for what it has room for. The edge stays where it is, and what comes before it
    /// is taken once there is memory.
    #[cold]
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// There is memory again. Says whether there was none.
    #[cold]
    pub(crate) fn reopen(&mut self) -> bool {
        core::mem::take(&mut self.closed)
    }

    /// The window for the next segment of a subflow with this window of its own.
    pub(crate) fn offer(&mut self, tcp: &Tcp, own: &SubflowWindow, occupied: u64) -> u64 {
        if self.closed {
            return 0;
        }
        self.window.offer(self.queue.next(), occupied, &Says::of(tcp, own))
    }

    /// This window goes out with a segment.
    pub(crate) fn note_offered(&mut self, window: u64) {
        self.last_offered = window;
    }

    /// Whether the connection has so much more room than the peer was told that subflows may tell it.
    pub(crate) fn has_news(&self, occupied: u64, mptcp: bool) -> bool {
        let says = Says { limit: u64::MAX, step: 1, largest_segment: 1 };
        let room = || self.window.possible(self.queue.next(), occupied, &says);
        self.window.is_news(self.last_offered, room, mptcp)
    }

    /// Whether a subflow tells the peer at once of the room that a read has made: a window update costs a segment.
    pub(crate) fn tells(&self, tcp: &Tcp, own: &SubflowWindow, occupied: u64) -> bool {
        let says = Says::of(tcp, own);
        // More than the header has room for cannot be told.
        let possible = self.window.possible(self.queue.next(), occupied, &says).min(tcp.largest_field());
        self.window.tells(says.largest_segment, tcp.window_left(), possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReceiveBuffer;
    use crate::host::Host;

    /// RFC 9293 §3.8.6: what was offered may come, in any order, whatever became of the buffer since.
    #[test]
    fn after_a_smaller_buffer_all_that_was_offered_is_taken() {
        let says = Says { limit: u64::MAX, step: 1, largest_segment: 1 };
        let mut window = ReceiveWindow::new(ReceiveBuffer::Fixed(400_000), true, &Host::Rfc, (1460, 1448));
        window.offer(DataSeq(0), 0, &says);
        let mut receiver = Receiver::new(window, 2048);
        receiver.window.resize(ReceiveBuffer::Fixed(30_000));
        let mut insert = |at: u64| receiver.insert(DataSeq(at), Payload::Virtual { start: at, len: 1000 }, true);
        let new: u64 = (1000..390_000).step_by(1000).map(&mut insert).sum();
        assert_eq!(new, 389_000, "out of order, and far beyond the new buffer");
        assert_eq!(insert(0), 1000);
        assert_eq!(receiver.next(), DataSeq(390_000));
        assert!(receiver.acceptable(true) >= 390_000, "on a subflow with a hole the rest of it may still come");
        assert_eq!(receiver.window.edge(), DataSeq(400_000), "nothing was taken back");
        assert_eq!(receiver.window.offer(DataSeq(390_000), 0, &says), 30_000, "and only the new buffer is offered");
    }

    fn offered(bytes: u64) -> Receiver {
        let mut window = ReceiveWindow::new(ReceiveBuffer::Fixed(bytes), true, &Host::Rfc, (1460, 1448));
        window.offer(DataSeq(0), 0, &Says { limit: u64::MAX, step: 1, largest_segment: 1 });
        Receiver::new(window, 2048)
    }

    fn piece(start: u64, len: u32) -> Payload {
        Payload::Virtual { start, len }
    }

    #[test]
    fn data_is_taken_up_to_the_slack_beyond_the_edge_to_the_byte() {
        let last = 30_000 + WINDOW_SLACK - 1000;
        assert_eq!(offered(30_000).insert(DataSeq(last), piece(last, 1000), true), 1000);
        assert_eq!(offered(30_000).insert(DataSeq(last + 1), piece(last + 1, 1000), true), 0);
    }

    /// Neither what is here already nor what lies beyond the end of the stream is new.
    #[test]
    fn what_is_not_new_is_counted_and_moves_no_edge() {
        let mut receiver = offered(30_000);
        let lens = [0, 0, 500].map(|at| receiver.insert(DataSeq(at), piece(at, 1000), true));
        assert_eq!((lens, receiver.duplicate_bytes()), ([1000, 0, 500], 1500));
        receiver.end_here();
        assert_eq!(receiver.insert(DataSeq(1500), piece(1500, 40_000), true), 0);
        assert_eq!(receiver.window.edge(), DataSeq(30_000));
    }
}
