//! The rules of the window that a connection offers: what received data takes of the buffer, and how far the window of a new
//! subflow opens.

use super::rfc;
use crate::seq::DataSeq;
use pathweave_units::Duration;

/// What is known of a connection when its window is made.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct WindowSetting {
    /// The receive buffer at first, bytes.
    pub(crate) buffer: u64,
    /// The buffer grows with what is read.
    pub(crate) grows: bool,
    /// Multipath TCP is asked for.
    pub(crate) mptcp: bool,
    /// Data bytes of a full segment of plain TCP, without and with timestamps if those are asked for.
    pub(crate) largest_segment: u64,
    pub(crate) full_segment: u64,
}

/// A segment that has just arrived on a subflow.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Arrived {
    /// Its data bytes, and whether they wait for a hole of the subflow.
    pub(crate) len: u32,
    pub(crate) out_of_order: bool,
    /// Bytes that wait for a hole of the subflow, these included.
    pub(crate) held: u64,
    /// A full segment has come on this subflow by now.
    pub(crate) saw_full: bool,
    /// The connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

/// What a window is made of. Sizes are bytes of data.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Room {
    /// The receive buffer, and what of it is taken.
    pub(crate) buffer: u64,
    pub(crate) occupied: u64,
    /// A full segment of plain TCP.
    pub(crate) full_segment: u64,
    /// The largest segment that came on the subflow at hand.
    pub(crate) largest_segment: u64,
    /// What is left of the windows offered so far, on all subflows.
    pub(crate) offered: u64,
    /// The most that the subflow at hand may offer, and the smallest step of what it can say.
    pub(crate) limit: u64,
    pub(crate) step: u64,
}

rules!(
    WindowHost,
    Window = window(setting as &WindowSetting),
    /// A host's rules for one connection's window. Sizes are bytes of data. By default the whole buffer is offered, and data
    /// takes its length of it.
    pub(crate) trait WindowRules {
        /// Gives back the memory that is kept for what may come.
        fn shrink(&mut self) {}

        /// The window of a SYN.
        fn of_syn(&self, buffer: u64) -> u64 {
            buffer
        }

        /// What a subflow may offer at first.
        fn first(&self, buffer: u64) -> u64 {
            buffer
        }

        /// The buffer grows if the application has read more than this in the first round trip.
        fn first_space(&self, setting: &WindowSetting) -> u64 {
            10 * setting.full_segment
        }

        /// What a subflow may offer after a segment has arrived on it; before that it was `limit`. It may grow to `clamp`.
        /// `occupied` bytes of `buffer` are taken.
        #[inline]
        fn opened(&self, buffer: u64, limit: u64, clamp: u64, arrived: &Arrived, occupied: u64) -> u64 {
            buffer
        }

        /// The window that could be offered. Asked several times for each segment.
        #[inline]
        fn possible(&self, room: &Room) -> u64 {
            rfc::window(room)
        }

        /// Whether segments are no longer acknowledged at once, because `occupied` bytes of `buffer` are taken.
        fn ends_quick_acks(&self, buffer: u64, occupied: u64) -> bool {
            false
        }

        /// Whether subflows may tell the peer that the connection's window is `possible`. The peer was last told `told`.
        #[inline]
        fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
            true
        }

        /// Whether a subflow tells the peer at once that the window is `possible`. `left`: what it still has of the last one;
        /// `largest_segment`: the largest that came on it.
        fn tells(&self, buffer: u64, largest_segment: u64, left: u64, possible: u64) -> bool {
            rfc::tells(buffer, largest_segment, left, possible)
        }

        /// New data of the stream has arrived.
        #[inline]
        fn received(&mut self, buffer: u64, at: DataSeq, len: u64) {}

        /// The application has read everything before `position`.
        #[inline]
        fn read_to(&mut self, position: DataSeq) {}

        /// How much of `buffer` is taken. `bytes` of the stream are unread or wait for earlier ones, and `held` wait for a
        /// hole of the subflow that asks.
        #[inline]
        fn occupied(&self, buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
            bytes + held
        }

        /// Whether a subflow on which no full segment has come yet makes the window smaller.
        #[inline]
        fn distrusts_new_subflows(&self) -> bool {
            false
        }

        /// `distrusted`: there is such a subflow.
        #[inline]
        fn note_new_subflows(&mut self, distrusted: bool) {}

        /// The buffer, of at most `max` bytes, that is made for `wanted` bytes, and the window that subflows may open to.
        fn grown(&self, wanted: u64, max: u64) -> (u64, u64) {
            (wanted, wanted)
        }

        /// Whether the acknowledgement that a reader causes waits until the reader has read all that it can at once.
        #[inline]
        fn waits_for_rest(&self) -> bool {
            true
        }

        /// How long after reading the acknowledgement leaves that the reader causes; `None`: it leaves at once.
        #[inline]
        fn reading_takes(&self) -> Option<Duration> {
            None
        }
    }
);
