//! Rules of a connection's sending half: how much the application may write, how the host divides written data into
//! fragments, and when a subflow's data waits for the end of an instant.

use super::unblocking::{self, Carrier, Obstacle, Remedy};
use pathweave_scheduler::{DataSeq, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// The written data that is not acknowledged.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Written {
    /// First unacknowledged byte.
    pub(crate) una: DataSeq,
    /// End of the written data.
    pub(crate) end: DataSeq,
    /// Bytes that no subflow carries.
    pub(crate) unassigned: u64,
    /// Whether the connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

impl Written {
    pub(crate) fn bytes(&self) -> u64 {
        self.end.since(self.una)
    }
}

/// The subflow that the scheduler picked for the first data that no subflow carries.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "only one host looks at it")]
pub(crate) struct Picked {
    /// Data bytes of a full segment.
    pub(crate) mss: u64,
    /// Segments for which the congestion window has room.
    pub(crate) space: u32,
    /// Congestion window, segments.
    pub(crate) cwnd: u32,
    /// Bytes on the subflow that are not acknowledged.
    pub(crate) in_flight: u64,
    /// The peer's window, bytes.
    pub(crate) window: u64,
    /// The peer's largest window so far, bytes.
    pub(crate) largest_window: u64,
    /// Whether the subflow recovers from no loss and suspects none.
    pub(crate) open: bool,
    /// First byte that no subflow carries.
    pub(crate) start: DataSeq,
    /// End of the written data.
    pub(crate) written_end: DataSeq,
    /// Whether the application has ended the stream.
    pub(crate) ended: bool,
}

rules!(
    ConnectionHost,
    Connection = connection(tunes as bool),
    /// A host's rules for one connection's sending half, and their state. By default written data takes its own length
    /// of the send buffer, and leaves at once on the subflow that the scheduler picks.
    pub(crate) trait ConnectionRules {
        /// Whether the host sizes the send buffer or counts the memory of written data. If not, the buffer has a fixed
        /// size and data takes its own length. The methods for both are then not called, which saves calls at each
        /// segment.
        fn counts_memory(&self) -> bool;

        /// Current size of the send buffer, at most `max` bytes. `subflows`: the sum of the subflows' shares of it.
        fn send_buffer(&self, max: u64, mptcp: bool, subflows: u64) -> u64 {
            subflows.min(max)
        }

        /// The part of the send buffer that unacknowledged data takes. `queued(n)`: the part that the subflows' queues
        /// take with `n` more bytes.
        fn send_memory(&self, written: &Written, queued: impl FnOnce(u64) -> u64) -> u64 {
            written.bytes()
        }

        /// Bytes that a writer may write if `memory` of `limit` is taken. `is_out`: whether data is in flight;
        /// `fills(n)`: bytes that fill the buffers of a subflow if `n` bytes are free.
        fn writable(
            &self,
            written: &Written,
            memory: u64,
            limit: u64,
            is_out: impl FnOnce() -> bool,
            fills: impl FnOnce(u64) -> u64,
        ) -> u64 {
            limit.saturating_sub(memory)
        }

        /// Whether a waiting writer is woken because it can write `writable` bytes. `worth`: the fewest bytes that are
        /// worth waking it.
        fn tells_writer(&self, memory: u64, limit: u64, writable: u64, worth: u64) -> bool {
            writable >= worth
        }

        /// Whether the end of a subflow's handshake wakes a waiting writer that can write anything. If not,
        /// `tells_writer` decides.
        fn joins_wake_writer(&self) -> bool {
            false
        }

        /// Notes that `bytes` were written at `end`. `unsent`: some data before them is unsent.
        #[inline]
        fn append(&mut self, end: DataSeq, bytes: u64, unsent: bool) {}

        /// Notes that a writer has used all the room there was.
        fn writer_found_no_more(&mut self) {}

        /// Whether that writer looks for room once more, now that the waiting data was sent.
        fn writer_looks_again(&mut self) -> bool {
            false
        }

        /// Notes that all data before `una` is acknowledged.
        #[inline]
        fn acknowledge(&mut self, una: DataSeq) {}

        /// Ends of the fragments into which the host divides written data; `None` if it does not divide the data.
        #[inline]
        fn fragment_ends(&self) -> Option<&VecDeque<DataSeq>> {
            None
        }

        /// Whether data for a subflow other than the acknowledged one waits for the end of the instant. `queues`:
        /// whether the scheduler queues data beyond the congestion windows.
        #[inline]
        fn delegates(&self, queues: bool) -> bool {
            false
        }

        /// When data that waits for the end of an instant is to be pushed.
        #[inline]
        fn push_due(&self) -> Option<Instant> {
            None
        }

        /// Whether an address is announced only when the one before it was echoed, or when a subflow has joined. If not,
        /// all addresses are announced together.
        fn announces_one_at_a_time(&self) -> bool {
            false
        }

        /// Whether announcements of addresses, and their echoes, leave only on the first subflow that answers. If not,
        /// they leave with the next acknowledgement on any subflow that answers.
        fn announces_on_first_subflow(&self) -> bool {
            false
        }

        /// Frees the spare capacity of the host's lists.
        fn shrink(&mut self) {}

        /// Forgets the subflows that wait for the end of the instant.
        fn clear_pushes(&mut self) {}

        /// Notes that a segment of `subflow` is being processed. Data that the scheduler assigns to `subflow` meanwhile
        /// leaves at once.
        #[inline]
        fn begin_acknowledgement(&mut self, subflow: SubflowId, queues: bool) {}

        #[inline]
        fn end_acknowledgement(&mut self) {}

        /// The subflow whose segment is being processed, or that gets data at the end of an instant.
        #[inline]
        fn acknowledging(&self) -> Option<SubflowId> {
            None
        }

        /// The subflow that the scheduler picked last, if it has got no data since.
        #[inline]
        fn picked(&self) -> Option<SubflowId> {
            None
        }

        /// Makes subflow `to` wait for its data until the end of the instant.
        fn let_wait(&mut self, now: Instant, to: SubflowId) {}

        /// Notes that `subflow` gets data, so that it is no longer the picked one.
        fn unpick(&mut self, subflow: SubflowId) {}

        /// Returns the next subflow whose wait is over. Data that the scheduler assigns to it leaves at once.
        fn next_pushed(&mut self) -> Option<SubflowId> {
            None
        }

        /// Notes that the scheduler decided on a burst up to `end`.
        fn note_burst(&mut self, end: DataSeq) {}

        /// End of the data that a picked subflow gets from `start` on: the end of the last burst, or of the fragment at
        /// `start` if that is later.
        fn burst_end(&self, start: DataSeq) -> DataSeq {
            start + 1
        }

        /// Whether data may wait although the picked subflow has room for a segment. If not, `leaving` is not called.
        #[inline]
        fn defers(&self) -> bool {
            false
        }

        /// End of the data that leaves at once on the picked subflow; `None` if the data waits for more room there, so
        /// that the scheduler is asked for another subflow.
        fn leaving(&mut self, now: Instant, picked: &Picked) -> Option<DataSeq> {
            Some(picked.written_end)
        }

        /// The obstacle on which the setting `pr` acts. `window_is_full`: the next segment does not fit the receive
        /// window; `all_is_out`: all written data has left, and a writer waits; `limit()`: size of the send buffer.
        fn obstacle(
            &self,
            window_is_full: bool,
            all_is_out: bool,
            written: &Written,
            limit: impl FnOnce() -> u64,
        ) -> Option<Obstacle> {
            window_is_full.then_some(Obstacle::ReceiveWindow)
        }

        /// Whether the helper, which is the fastest subflow with room, may already hold the first unacknowledged
        /// segment.
        fn helper_may_hold(&self) -> bool {
            false
        }

        /// The remedy of `pr` for an obstacle. `holders`: the other subflows that hold the first unacknowledged
        /// segment; `helper_holds`: whether the helper holds it too.
        fn remedy(
            &self,
            now: Instant,
            obstacle: Obstacle,
            helper: &Carrier,
            helper_holds: bool,
            holders: &[Carrier],
        ) -> Remedy {
            unblocking::as_in_the_paper(now, helper, holders)
        }
    }
);
