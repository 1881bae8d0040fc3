//! Waiting for a larger part of the window, as in versions 0.86 to 0.88 with segmentation offload (`mptcp_write_xmit` of
//! `mptcp_output.c`, `tcp_tso_should_defer` of `tcp_output.c`).
//!
//! The kernel writes the stream into buffers of several segments. "If it is not possible to send the TSO segment on the
//! best subflow right now try to look for another subflow. If there is no subflow available defer the segment to avoid
//! the call to mptso_fragment" (`mptcp_write_xmit`). So a buffer whose subflow has room for a small part of it goes to
//! another subflow, or waits. A buffer that leaves is cut at the congestion window.
//!
//! Deviations:
//!
//! - Data never leaves beyond the connection's window. The kernel compares only a buffer's first segment with it.
//! - Each buffer has the largest size if the application has written that much. In the kernel, the buffer that a writer
//!   could not fill before its beginning left is smaller.
//! - A clock tick takes 4 ms, the kernel's default (`CONFIG_HZ=250`). The papers do not state theirs.

use crate::host::connection::Picked;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};

/// Largest buffer, bytes (`sk_gso_max_size`, `GSO_MAX_SIZE`).
const LARGEST: u64 = 65_536;
/// A buffer leaves if this part of the window is free (`tcp_tso_win_divisor`).
const DIVISOR: u64 = 3;
/// A clock tick.
const TICK: Duration = Duration::from_millis(4);

/// State of one connection's deferral.
#[derive(Debug, Default)]
pub(super) struct Deferral {
    /// End of the first buffer that has not left as a whole.
    buffer_end: Option<DataSeq>,
    /// When a buffer began to wait (`tso_deferred`).
    since: Option<Instant>,
}

impl Deferral {
    /// End of the data that leaves at once on the picked subflow; `None` if the data waits.
    pub(super) fn leaving(&mut self, now: Instant, picked: &Picked) -> Option<DataSeq> {
        let mss = picked.mss.max(1);
        // `tcp_bound_to_half_wnd`.
        let largest = (LARGEST.min(picked.largest_window / 2) / mss).max(1) * mss;
        let buffer_end = match self.buffer_end {
            Some(end) if end > picked.start => end,
            _ => picked.start + largest,
        };
        self.buffer_end = Some(buffer_end);
        let end = buffer_end.min(picked.written_end);
        let (length, free) = (end.since(picked.start), u64::from(picked.space) * mss);
        let leaving = end.min(picked.start + free);
        // A buffer of one segment has nothing to wait for.
        if length <= mss {
            return Some(leaving);
        }
        let is_last = picked.written_end <= buffer_end;
        // "Defer for less than two clock ticks."
        let waited = self.since.is_some_and(|since| ticks(now) - ticks(since) > 1);
        let room = free.min(picked.window.saturating_sub(picked.in_flight));
        let window = picked.window.min(u64::from(picked.cwnd) * mss);
        let leaves = !picked.open
            || waited
            || is_last && picked.ended
            // "If a full-sized TSO skb can be sent, do it."
            || room >= largest
            // "Middle in queue won't get any more data, full sendable already?"
            || !is_last && room >= length
            // "If at least some fraction of a window is available, just use it."
            || room >= window / DIVISOR;
        self.since = if leaves { None } else { self.since.or(Some(now)) };
        leaves.then_some(leaving)
    }
}

fn ticks(at: Instant) -> u64 {
    at.since(Instant::ZERO).as_nanos() / TICK.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A megabyte is written from 1000 on, in segments of 1000 bytes. The congestion window of 100 segments and the
    /// window of 90 kB have room for `segments`.
    fn picked(segments: u32) -> Picked {
        Picked {
            mss: 1000,
            space: segments,
            cwnd: 100,
            in_flight: 90_000 - 1000 * u64::from(segments),
            window: 90_000,
            largest_window: 1_000_000,
            open: true,
            start: DataSeq(1000),
            written_end: DataSeq(1_001_000),
            ended: false,
        }
    }

    fn leaving(picked: &Picked) -> Option<u64> {
        Deferral::default().leaving(at(0), picked).map(|end| end.0 - 1000)
    }

    #[test]
    fn a_buffer_waits_until_a_third_of_the_window_is_free_and_leaves_cut_at_the_room() {
        assert_eq!(leaving(&picked(29)), None);
        assert_eq!(leaving(&picked(30)), Some(30_000));
        let small = Picked { cwnd: 60, ..picked(20) };
        assert_eq!(leaving(&small), Some(20_000), "a third of the smaller window");
    }

    #[test]
    fn the_peers_window_leaves_room_only_for_what_is_not_on_this_subflow() {
        assert_eq!(leaving(&Picked { in_flight: 61_000, ..picked(90) }), None);
        assert_eq!(leaving(&Picked { in_flight: 0, ..picked(90) }), Some(65_000), "the largest buffer");
    }

    #[test]
    fn nothing_waits_in_loss_recovery_at_the_end_of_the_stream_or_in_one_segment() {
        assert_eq!(leaving(&Picked { open: false, ..picked(2) }), Some(2000));
        let short = Picked { written_end: DataSeq(5000), ..picked(2) };
        assert_eq!(leaving(&short), None, "more may follow");
        assert_eq!(leaving(&Picked { ended: true, ..short.clone() }), Some(2000));
        assert_eq!(leaving(&Picked { written_end: DataSeq(2000), ..picked(2) }), Some(1000));
    }

    #[test]
    fn a_wait_ends_after_two_ticks() {
        let mut deferral = Deferral::default();
        for (ms, leaves) in [(1, false), (7, false), (8, true), (9, false), (15, false), (16, true)] {
            assert_eq!(deferral.leaving(at(ms), &picked(2)).is_some(), leaves, "{ms} ms");
        }
    }

    #[test]
    fn the_rest_of_a_buffer_leaves_if_it_fits_and_more_follows() {
        let mut deferral = Deferral::default();
        assert_eq!(deferral.leaving(at(0), &picked(63)), Some(DataSeq(64_000)));
        let rest = Picked { start: DataSeq(64_000), ..picked(2) };
        assert_eq!(deferral.leaving(at(0), &rest), Some(DataSeq(66_000)));
        assert_eq!(deferral.leaving(at(0), &Picked { start: DataSeq(66_000), ..picked(2) }), None, "the next buffer");
    }

    #[test]
    fn a_small_window_makes_small_buffers() {
        let small = Picked { window: 40_000, largest_window: 40_000, in_flight: 20_000, ..picked(60) };
        assert_eq!(leaving(&small), Some(20_000));
    }
}
