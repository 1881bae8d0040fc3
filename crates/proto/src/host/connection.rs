//! The rules of a connection that sends: how much the application may write, how the host keeps it in pieces, and when a
//! subflow's data waits for the end of an instant.

use super::unblocking::{self, Carrier, Obstacle, Remedy};
use crate::seq::{DataSeq, SubflowId};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// What was written and is not acknowledged.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Written {
    /// First byte not acknowledged, and the end.
    pub(crate) una: DataSeq,
    pub(crate) end: DataSeq,
    /// Bytes that no subflow carries.
    pub(crate) unassigned: u64,
    /// The connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

impl Written {
    pub(crate) fn bytes(&self) -> u64 {
        self.end.since(self.una)
    }
}

rules!(
    ConnectionHost,
    Connection = connection(tunes as bool),
    /// A host's rules for one connection that sends, and what they remember. By default written data takes its length of the
    /// send buffer, and leaves at once on the subflow that the scheduler picks.
    pub(crate) trait ConnectionRules {
        /// Whether the host sizes the send buffer, or counts the memory of written data. If not, the buffer has a fixed size, data
        /// takes its length, and the questions about both are not asked: some would come with each segment.
        fn counts_memory(&self) -> bool;

        /// The send buffer in force, of at most `max` bytes. `subflows`: their shares of it together.
        fn send_buffer(&self, max: u64, mptcp: bool, subflows: u64) -> u64 {
            subflows.min(max)
        }

        /// The part of the send buffer that unacknowledged data takes. `queued(n)`: the part that the subflows' queues take, with
        /// `n` bytes more.
        fn send_memory(&self, written: &Written, queued: impl FnOnce(u64) -> u64) -> u64 {
            written.bytes()
        }

        /// Bytes that a writer may write if `memory` of `limit` is taken. `is_out`: something is on its way; `fills(n)`: how many
        /// bytes fill the buffers of a subflow if `n` bytes are free.
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

        /// Whether a waiting writer learns now that it can write `writable` bytes. `worth`: fewer are not worth it.
        fn tells_writer(&self, memory: u64, limit: u64, writable: u64, worth: u64) -> bool {
            writable >= worth
        }

        /// `bytes` are written at `end`. `unsent`: something written before is not sent yet.
        #[inline]
        fn append(&mut self, end: DataSeq, bytes: u64, unsent: bool) {}

        /// A writer has been given all the room there was.
        fn writer_found_no_more(&mut self) {}

        /// Whether that writer looks for room again now, because what there was has been sent.
        fn writer_looks_again(&mut self) -> bool {
            false
        }

        /// All before `una` is acknowledged.
        #[inline]
        fn acknowledge(&mut self, una: DataSeq) {}

        /// The ends of the pieces in which the host keeps written data; `None`: the host keeps no pieces.
        #[inline]
        fn fragment_ends(&self) -> Option<&VecDeque<DataSeq>> {
            None
        }

        /// Whether data for another subflow than the one that is being acknowledged waits for the end of the instant. `queues`:
        /// the scheduler queues data beyond the congestion windows.
        #[inline]
        fn delegates(&self, queues: bool) -> bool {
            false
        }

        /// When something that waits for the end of an instant is to be pushed.
        #[inline]
        fn push_due(&self) -> Option<Instant> {
            None
        }

        /// Gives back the memory that is kept for what may come.
        fn shrink(&mut self) {}

        /// Nothing waits any more.
        fn clear_pushes(&mut self) {}

        /// A segment of `subflow` is processed, and what the scheduler picks for that goes there at once.
        #[inline]
        fn begin_acknowledgement(&mut self, subflow: SubflowId, queues: bool) {}

        #[inline]
        fn end_acknowledgement(&mut self) {}

        /// The subflow whose segment is processed, or that is pushed to at the end of an instant.
        #[inline]
        fn acknowledging(&self) -> Option<SubflowId> {
            None
        }

        /// The subflow that is pushed to next, if one was picked before.
        #[inline]
        fn picked(&self) -> Option<SubflowId> {
            None
        }

        /// Lets `to` push at the end of the instant.
        fn let_wait(&mut self, now: Instant, to: SubflowId) {}

        /// Something is pushed to `subflow`, which may have been picked.
        fn unpick(&mut self, subflow: SubflowId) {}

        /// The next subflow whose wait is over: what the scheduler picks for it goes there now.
        fn next_pushed(&mut self) -> Option<SubflowId> {
            None
        }

        /// A burst up to `end` was decided.
        fn note_burst(&mut self, end: DataSeq) {}

        /// The end of the data that a picked subflow gets from `start` on: the rest of the last burst, or at least of a piece.
        fn burst_end(&self, start: DataSeq) -> DataSeq {
            start + 1
        }

        /// The obstacle that `pr` acts on. `window_is_full`: the next segment does not fit the receive window; `all_is_out`: all
        /// written data is out, and a writer waits; `limit()`: the send buffer.
        fn obstacle(
            &self,
            window_is_full: bool,
            all_is_out: bool,
            written: &Written,
            limit: impl FnOnce() -> u64,
        ) -> Option<Obstacle> {
            window_is_full.then_some(Obstacle::ReceiveWindow)
        }

        /// The fastest subflow with room helps. Whether that may be a subflow that holds the first unacknowledged segment.
        fn helper_may_hold(&self) -> bool {
            false
        }

        /// The remedy of `pr` for an obstacle. `holders`: the other subflows that hold the first segment; `helper_holds`: the
        /// helper holds it too.
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
