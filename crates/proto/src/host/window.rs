//! Rules for the window that a connection offers: how much of the receive buffer data takes, and how far a new
//! subflow's window opens.

use pathweave_scheduler::DataSeq;
use pathweave_units::Duration;

/// Settings of a connection on which its window depends.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct WindowSetting {
    /// Initial size of the receive buffer, bytes.
    pub(crate) buffer: u64,
    /// Whether the buffer grows with the amount that the application reads.
    pub(crate) grows: bool,
    /// Whether Multipath TCP is requested.
    pub(crate) mptcp: bool,
    /// Whether this host connects, instead of being connected to.
    pub(crate) connects: bool,
    /// Data bytes of a full segment of plain TCP without timestamps.
    pub(crate) largest_segment: u64,
    /// The same with timestamps, if those are requested.
    pub(crate) full_segment: u64,
}

/// A segment that has just arrived on a subflow.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Arrived {
    /// Data bytes of the segment.
    pub(crate) len: u32,
    /// Whether the data waits for a hole in the subflow's sequence.
    pub(crate) out_of_order: bool,
    /// All bytes that wait for a hole in the subflow's sequence, including those of this segment.
    pub(crate) held: u64,
    /// Whether a full segment has arrived on this subflow so far.
    pub(crate) saw_full: bool,
    /// Whether the connection uses Multipath TCP.
    pub(crate) mptcp: bool,
}

/// Quantities from which the offered window is computed. Sizes are bytes of data.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "some hosts look at less")]
pub(crate) struct Room {
    /// Size of the receive buffer.
    pub(crate) buffer: u64,
    /// The part of the buffer that is taken.
    pub(crate) occupied: u64,
    /// A full segment of plain TCP.
    pub(crate) full_segment: u64,
    /// Largest segment that has arrived on this subflow.
    pub(crate) largest_segment: u64,
    /// Unused rest of the windows offered so far, on all subflows.
    pub(crate) offered: u64,
    /// Largest window that this subflow may offer.
    pub(crate) limit: u64,
    /// Granularity of the window in this subflow's header.
    pub(crate) step: u64,
}

rules!(
    WindowHost,
    Window = window(setting as &WindowSetting),
    /// A host's rules for one connection's window. Sizes are bytes of data. By default the whole buffer is offered, and
    /// data takes its own length of the buffer.
    pub(crate) trait WindowRules {
        /// Frees the spare capacity of the host's lists.
        fn shrink(&mut self) {}

        /// The window of a SYN.
        fn of_syn(&self, buffer: u64) -> u64 {
            buffer
        }

        /// Largest window that a new subflow may offer.
        fn first(&self, buffer: u64) -> u64 {
            buffer
        }

        /// Bytes that the application may read in the first round trip before the buffer grows.
        fn first_space(&self, setting: &WindowSetting) -> u64 {
            10 * setting.full_segment
        }

        /// Largest window that a subflow may offer after a segment has arrived on it. `limit`: the largest window
        /// before; `clamp`: the bound of its growth; `occupied`: bytes of `buffer` that are taken.
        #[inline]
        fn opened(&self, buffer: u64, limit: u64, clamp: u64, arrived: &Arrived, occupied: u64) -> u64 {
            buffer
        }

        /// The window that can be offered. This is called several times for each segment.
        #[inline]
        fn possible(&self, room: &Room) -> u64 {
            offered(room)
        }

        /// Whether quick acknowledgements end because `occupied` bytes of `buffer` are taken.
        fn ends_quick_acks(&self, buffer: u64, occupied: u64) -> bool {
            false
        }

        /// Whether subflows may announce the connection's window `possible`. `told`: the window announced last.
        #[inline]
        fn is_news(&self, told: u64, possible: impl FnOnce() -> u64, mptcp: bool) -> bool {
            true
        }

        /// Whether a subflow announces the window `possible` at once. `left`: the unused rest of the last window;
        /// `largest_segment`: the largest segment that has arrived on the subflow.
        fn tells(&self, buffer: u64, largest_segment: u64, left: u64, possible: u64) -> bool {
            is_worth_telling(buffer, largest_segment, left, possible)
        }

        /// Notes that `len` new bytes of the stream have arrived at `at`.
        #[inline]
        fn received(&mut self, buffer: u64, at: DataSeq, len: u64) {}

        /// Notes that the application has read everything before `position`.
        #[inline]
        fn read_to(&mut self, position: DataSeq) {}

        /// The part of `buffer` that is taken. `bytes`: bytes of the stream that are unread or wait for earlier ones;
        /// `held`: bytes that wait for a hole in the sequence of the subflow at hand.
        #[inline]
        fn occupied(&self, buffer: u64, bytes: u64, held: u64, mptcp: bool) -> u64 {
            bytes + held
        }

        /// Whether Multipath TCP data beyond a hole is dropped if it ends beyond the offered edge. If not, data a little
        /// beyond the edge is taken.
        #[inline]
        fn drops_beyond_edge(&self) -> bool {
            false
        }

        /// Whether the window is smaller while some subflow has not received a full segment.
        #[inline]
        fn distrusts_new_subflows(&self) -> bool {
            false
        }

        /// Notes whether some subflow has not received a full segment yet (`distrusted`).
        #[inline]
        fn note_new_subflows(&mut self, distrusted: bool) {}

        /// Returns the new size of a buffer that should hold `wanted` bytes, at most `max`, and the window that
        /// subflows may open to.
        fn grown(&self, wanted: u64, max: u64) -> (u64, u64) {
            (wanted, wanted)
        }

        /// Whether an acknowledgement caused by reading waits until the reader has read all available data.
        #[inline]
        fn waits_for_rest(&self) -> bool {
            true
        }

        /// Time from reading until the acknowledgement that it causes leaves; `None`: at once.
        #[inline]
        fn reading_takes(&self) -> Option<Duration> {
            None
        }
    }
);

/// Smallest step by which the window's right edge moves, bytes: the peer's largest segment, or half of a small buffer.
//= RFC 9293 §3.8.6.2.2 (MUST-39): "A TCP implementation MUST include a SWS avoidance algorithm in the receiver"
//= tests: zero_window::the_right_edge_moves_by_whole_segments
#[inline]
fn least_step(buffer: u64, largest_segment: u64) -> u64 {
    largest_segment.min(buffer / 2).max(1)
}

/// The window that can be offered, bytes. This is the free space, if it exceeds the rest of the last window by a whole
/// step. Otherwise it is the rest of the last window, as far as that is free.
#[inline]
fn offered(room: &Room) -> u64 {
    let free = room.buffer.saturating_sub(room.occupied).min(room.limit).next_multiple_of(room.step);
    // A rest below one step of the window scale is sent as a zero window. If no data is left to be read, no later read
    // would open the window again.
    let closed_for_good = room.occupied == 0 && room.offered < room.step;
    let stays = free < room.offered + least_step(room.buffer, room.largest_segment) && !closed_for_good;
    if stays { free.min(room.offered) } else { free }
}

/// Whether the window `possible` is announced at once, if `left` of the last window is unused. The RFCs leave this
/// open. A window update is worth a segment if it lets the peer send a full segment that it could not send before, or
/// if the window moves by half of the buffer. Smaller changes go with the next acknowledgement of data.
fn is_worth_telling(buffer: u64, largest_segment: u64, left: u64, possible: u64) -> bool {
    let step = least_step(buffer, largest_segment);
    let more = possible.saturating_sub(left);
    more >= step && (left < step || more >= buffer / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(occupied: u64, offered: u64) -> Room {
        Room { buffer: 10_000, occupied, full_segment: 1000, largest_segment: 1000, offered, limit: u64::MAX, step: 1 }
    }

    #[test]
    fn a_window_moves_by_a_full_segment_at_least() {
        assert_eq!(offered(&room(4000, 5001)), 5001, "999 more are none");
        assert_eq!(offered(&room(4000, 5000)), 6000);
        assert_eq!(offered(&room(9500, 0)), 0, "500 free after a window of none");
        assert_eq!(offered(&Room { buffer: 1000, ..room(400, 100) }), 600, "half of a small buffer");
        let coarse = Room { step: 16_384, ..room(0, 10_000) };
        assert_eq!(offered(&coarse), 16_384, "the window of a SYN is finer than those that follow");
        assert_eq!(offered(&room(4000, 7000)), 6000, "the edge stays where it is: that is for its owner to see to");
    }

    /// The scale may be larger than the buffer needs (`least_window_shift`). The window of an empty buffer is not zero
    /// in the header all the same, because no later read would open it.
    #[test]
    fn the_window_of_an_empty_buffer_is_never_scaled_away() {
        for shift in 0..=14 {
            let step = 1 << shift;
            for buffer in [1, 2, 500, 1523, 16_383, 16_384, 16_385, 1 << 20] {
                for before in [0, 1, 1523, step - 1, step, 20_000] {
                    let window = offered(&Room { buffer, step, ..room(0, before) });
                    assert!(window >> shift > 0, "{window} of {buffer} after {before} in steps of {step}");
                }
            }
        }
    }

    #[test]
    fn a_peer_is_told_when_it_could_not_send_or_has_much_more_room() {
        assert!(is_worth_telling(10_000, 1000, 999, 2000));
        assert!(!is_worth_telling(10_000, 1000, 999, 1900), "no full step");
        assert!(!is_worth_telling(10_000, 1000, 3000, 7999), "the next acknowledgement says it");
        assert!(is_worth_telling(10_000, 1000, 3000, 8000), "half of the buffer");
    }
}
