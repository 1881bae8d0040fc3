//! The receiving half of a connection's data stream: where arriving data belongs (`mappings`), reassembly
//! (`reassembly`), and the window that is offered for more (`window`).

pub(crate) mod mappings;
pub(crate) mod reassembly;
pub(crate) mod window;

use crate::host::Arrived;
use crate::tcp::{Tcp, WaitingMemory, memory_limit};
use bytes::Bytes;
use pathweave_scheduler::DataSeq;
use pathweave_units::Instant;
use pathweave_wire::Payload;
use reassembly::Reassembly;
use window::{ReceiveWindow, Says, SubflowWindow};

/// Bytes beyond the offered window that are still accepted, because the window field is rounded.
const WINDOW_SLACK: u64 = 1 << 14;

/// Memory of the waiting data in all places of a connection, the stream and each subflow, as a multiple of the limit
/// for one place. Honest data is inside the window: in one place or, if it is repeated, in two.
const PLACES: u64 = 2;

/// The data that a connection has received, and the room that it has for more.
///
/// In its methods, `mptcp` says whether Multipath TCP is in use.
pub(crate) struct StreamReceiver {
    queue: Reassembly,
    pub(crate) window: ReceiveWindow,
    /// The window in the last segment sent, on any subflow.
    last_offered: u64,
    /// Whether the application was told of the stream's end.
    end_reported: bool,
    /// Data bytes that arrived more than once at the data level.
    duplicate_bytes: u64,
    /// Whether waiting data takes too much memory.
    full: bool,
    /// Whether waiting data keeps enough packets alive, so that more is copied.
    copies: bool,
    /// Whether the peer's last data had a data sequence number of 8 bytes.
    pub(crate) peer_numbers_are_long: bool,
    /// Whether a window of zero is announced, whatever was offered before.
    closed: bool,
}

impl StreamReceiver {
    pub(crate) fn new(window: ReceiveWindow, packet_memory: u32) -> Self {
        let (queue, last_offered) = (Reassembly::new(packet_memory), window.first());
        StreamReceiver {
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
    /// Bytes that are in order and not read.
    #[inline]
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.queue.ready_bytes()
    }
    /// Bytes that wait for missing data in front of them.
    #[inline]
    pub(crate) fn held_bytes(&self) -> u64 {
        self.queue.held_bytes()
    }
    /// Memory of the data; see [`Reassembly::memory`].
    #[inline]
    pub(crate) fn memory(&self) -> WaitingMemory {
        self.queue.memory()
    }
    /// Whether the end of the stream is known.
    #[inline]
    pub(crate) fn has_end(&self) -> bool {
        self.queue.has_end()
    }
    /// Whether all data up to the end of the stream has come.
    #[inline]
    pub(crate) fn complete(&self) -> bool {
        self.queue.complete()
    }
    /// Whether all data up to the end of the stream was read.
    pub(crate) fn drained(&self) -> bool {
        self.queue.drained()
    }
    /// Ends the stream at the next byte, as plain TCP's FIN does.
    pub(crate) fn end_here(&mut self) {
        self.queue.set_end(self.queue.next());
    }
    /// See [`Reassembly::forget_missing_end`].
    pub(crate) fn forget_missing_end(&mut self) {
        self.queue.forget_missing_end();
    }
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
        self.window.shrink();
    }
    /// Data bytes that arrived more than once at the data level.
    pub(crate) fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }
    /// The position that our DATA_ACK acknowledges: the next expected byte, plus one for a DATA_FIN that was reached.
    #[inline]
    pub(crate) fn acknowledged_position(&self) -> u64 {
        self.next().0 + u64::from(self.complete())
    }

    /// Whether the end of the stream has been reached and was not reported before. True only once.
    pub(crate) fn reports_end(&mut self) -> bool {
        let is_first = self.complete() && !self.end_reported;
        self.end_reported |= is_first;
        is_first
    }

    /// Applies the memory limits to all waiting data, that on subflows included: beyond one limit new data is dropped,
    /// and beyond a limit of packet blocks it is copied.
    //= RFC 8684 §3.3.2: "a receiver has the freedom to drop segments after acknowledgment at the subflow level
    //= -- for example, due to memory constraints when many segments arrive out of order"
    //= tests: resources::gaps_on_all_subflows_share_what_a_connection_may_take
    #[inline]
    pub(crate) fn limit_memory(&mut self, waiting: WaitingMemory) {
        let place = memory_limit(self.window.promised());
        self.full = waiting.records > PLACES * place;
        self.copies = waiting.blocks > place;
    }

    /// Lets only data that fills a hole be accepted from the next segment.
    #[inline]
    pub(crate) fn take_only_what_is_missing(&mut self) {
        self.full = true;
    }

    /// Whether waiting data is copied from now on.
    #[inline]
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Whether only data that fills a hole is accepted.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Puts data into its place in the stream; returns the number of new bytes.
    #[inline]
    pub(crate) fn insert(&mut self, at: DataSeq, payload: Payload, mptcp: bool) -> u64 {
        let len = u64::from(payload.len());
        // Plain TCP has acknowledged the data already, so no peer would send it again; data beyond the edge was cut off
        // before.
        let end_of_room = match at > self.next() && self.window.drops_beyond_edge() {
            true => self.window.edge(),
            false => self.end_of_room(),
        };
        if mptcp && at + len > end_of_room {
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

    /// Reads at most `max` bytes in order.
    pub(crate) fn read(&mut self, max: u64) -> Option<Payload> {
        let out = self.queue.read(max)?;
        self.window.read_to(self.queue.read_position());
        Some(out)
    }

    /// Reads at most `max` bytes in order, if the next data has bytes.
    pub(crate) fn read_bytes(&mut self, max: u64) -> Option<Bytes> {
        if self.reads_virtual() {
            return None;
        }
        match self.read(max)? {
            Payload::Bytes(bytes) => Some(bytes),
            other => unreachable!("readable data is in single pieces: {other:?}"),
        }
    }

    /// Whether the next data to read is virtual.
    pub(crate) fn reads_virtual(&self) -> bool {
        self.queue.reads_virtual()
    }

    /// The first byte that the application has not read.
    pub(crate) fn read_position(&self) -> DataSeq {
        self.queue.read_position()
    }

    /// End of the data that is accepted. Data a little beyond the edge moves the edge, so the buffer is a limit too: a
    /// peer that ignores the window can fill the buffer only once.
    #[inline]
    pub(crate) fn end_of_room(&self) -> DataSeq {
        let (edge, room) = (self.window.edge(), self.read_position() + self.window.promised());
        edge.max(edge.min(room) + WINDOW_SLACK)
    }

    /// Number of bytes beyond the next expected one that a subflow's segment may cover.
    pub(crate) fn acceptable(&self, mptcp: bool) -> u64 {
        let acceptable = self.end_of_room().since(self.next());
        if mptcp { acceptable.max(self.window.promised()) } else { acceptable }
    }

    /// Bytes of the receive buffer in use, from the view of a subflow that holds `held` bytes beyond a hole of its own:
    /// unread data, and data that waits for earlier data.
    #[inline]
    pub(crate) fn occupied(&self, held: u64, mptcp: bool) -> u64 {
        self.window.occupied(self.ready_bytes() + self.held_bytes(), held, mptcp)
    }

    /// Opens a subflow's window for the data that arrived on it, and decides when that data is acknowledged.
    pub(crate) fn decide_ack(&self, now: Instant, tcp: &mut Tcp, own: &mut SubflowWindow, mptcp: bool) {
        let held = tcp.held_bytes();
        let occupied = self.occupied(held, mptcp);
        // Data that waits for other subflows does not wait for the reader.
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

    /// Announces a window of zero from now on, because there is no memory for the data. The edge stays, and data in
    /// front of it is accepted once there is memory.
    #[cold]
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Ends that, because there is memory again. Returns whether the window was closed.
    #[cold]
    pub(crate) fn reopen(&mut self) -> bool {
        core::mem::take(&mut self.closed)
    }

    /// Returns the window for the next segment of a subflow, and moves the edge if it is larger than before. `own` is
    /// the subflow's own window.
    pub(crate) fn offer(&mut self, tcp: &Tcp, own: &SubflowWindow, occupied: u64) -> u64 {
        if self.closed {
            return 0;
        }
        self.window.offer(self.queue.next(), occupied, &Says::of(tcp, own))
    }

    /// Notes that a segment leaves with this window.
    pub(crate) fn note_offered(&mut self, window: u64) {
        self.last_offered = window;
    }

    /// Whether the connection has enough additional room, compared with the last announced window, for a subflow to
    /// announce it.
    pub(crate) fn has_news(&self, occupied: u64, mptcp: bool) -> bool {
        let says = Says { limit: u64::MAX, step: 1, largest_segment: 1 };
        let room = || self.window.possible(self.queue.next(), occupied, &says);
        self.window.is_news(self.last_offered, room, mptcp)
    }

    /// Whether a subflow announces at once the room that reading has made. A window update costs a segment.
    pub(crate) fn tells(&self, tcp: &Tcp, own: &SubflowWindow, occupied: u64) -> bool {
        let says = Says::of(tcp, own);
        // More than the header can express cannot be announced.
        let possible = self.window.possible(self.queue.next(), occupied, &says).min(tcp.largest_field());
        self.window.tells(says.largest_segment, tcp.window_left(), possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReceiveBuffer;
    use crate::host::Host;

    /// RFC 9293 §3.8.6: data that was offered room may come, in any order, even if the buffer has become smaller.
    #[test]
    fn after_a_smaller_buffer_all_that_was_offered_is_taken() {
        let says = Says { limit: u64::MAX, step: 1, largest_segment: 1 };
        let mut window = ReceiveWindow::new(ReceiveBuffer::Fixed(400_000), (true, true), &Host::Rfc, (1460, 1448));
        window.offer(DataSeq(0), 0, &says);
        let mut receiver = StreamReceiver::new(window, 2048);
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

    fn offered(bytes: u64) -> StreamReceiver {
        offered_by(&Host::Rfc, bytes)
    }

    fn offered_by(host: &Host, bytes: u64) -> StreamReceiver {
        let mut window = ReceiveWindow::new(ReceiveBuffer::Fixed(bytes), (true, true), host, (1460, 1448));
        window.offer(DataSeq(0), 0, &Says { limit: u64::MAX, step: 1, largest_segment: 1 });
        StreamReceiver::new(window, 2048)
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

    /// The kernel drops data beyond a hole that ends beyond the edge, but takes data in order.
    #[cfg(feature = "host-linux")]
    #[test]
    fn a_linux_host_takes_nothing_beyond_a_hole_and_the_edge() {
        let mut receiver = offered_by(&Host::Linux, 30_000);
        let edge = receiver.window.edge().0;
        let mut insert = |at: u64, len: u32| receiver.insert(DataSeq(at), piece(at, len), true);
        assert_eq!((insert(edge - 999, 1000), insert(edge - 1000, 1000)), (0, 1000));
        let to_hole = u32::try_from(edge).expect("it is small") - 1000;
        assert_eq!((insert(0, to_hole), insert(edge, 1000)), (u64::from(to_hole), 1000));
    }

    /// Neither repeated data nor data beyond the end of the stream counts as new.
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
