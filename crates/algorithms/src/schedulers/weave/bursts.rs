//! Bursts at the far end of the window, on a lane for which the window has no room otherwise.
//!
//! Let F be lanes that fit the window, with the rate r and the delay R from a byte to its acknowledgement. Let a
//! further lane have the rate c and the delay T. A byte that this lane sends far ahead in the stream arrives in time if
//! F needs at least T for the data before it. If the lane sends bytes one by one, each of them needs r·T bytes of the
//! window before it. If it sends B bytes at once at the far end of the window, and the next B bytes after their
//! acknowledgement, it needs less: F fills the window before the burst, meanwhile the window's end advances, and F
//! continues behind the burst. F is never held up as long as the window has room for all this:
//!
//! ```text
//! r·(R + T + B/c) + 2·B ≤ 2·W
//! ```
//!
//! The gain is then B bytes in each T + B/c.

use super::lanes::Lanes;
use super::{Decision, Reason, Weave};
use core::ops::Range;
use pathweave_proto::DataSeq;
use pathweave_proto::scheduler::View;

/// Segments that lanes may have in flight beyond their delay, so that they stay busy although an acknowledgement covers
/// two segments.
const BUSY: f64 = 3.0;
/// The fewest segments of a burst: as many as an acknowledgement covers.
const LEAST: u64 = 2;

/// A burst: a range of the stream at the far end of the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    start: DataSeq,
    /// The part that has not been assigned yet.
    left: Range<DataSeq>,
}

impl Burst {
    /// Whether the byte at `at` belongs to the burst.
    pub(super) fn holds(&self, at: DataSeq) -> bool {
        (self.start..self.left.end).contains(&at)
    }
}

impl Weave {
    /// Considers bursts: the window has room for the first m lanes but not for one more, and that one gets bursts at
    /// the window's far end (see the [module](self)). Returns the number of lanes to use. This is `used`, a choice with
    /// the value `most`, unless bursts are worth more by the hysteresis.
    pub(super) fn weigh_bursts(&self, lanes: &mut Lanes, most: f64, used: usize) -> usize {
        let (mut rate, mut back) = (0.0, f64::INFINITY);
        let (mut most, mut chosen) = (most * (1.0 + self.hysteresis), used);
        for m in 0..lanes.all.len() {
            let first = lanes.all[m];
            if first.in_debt && m > 0 {
                break;
            }
            rate += first.rate;
            back = f64::min(back, first.back());
            let round = first.there + back;
            if rate * round > self.window || self.paths[usize::from(first.id.0)].lost {
                // If a lane has losses, its rate changes with its congestion window, and a burst that was placed for
                // one rate may be late for the next.
                break;
            }
            for (j, lane) in lanes.all.iter().enumerate().skip(m + 1).filter(|(_, lane)| !lane.in_debt) {
                let time = lane.there + back;
                let bytes = (self.window - rate * (round + time) / 2.0) / (1.0 + rate / (2.0 * lane.rate));
                let mss = f64::from(lane.mss);
                let bytes = libm::floor(bytes.min(lane.window) / mss) * mss;
                let value = rate + f64::min(lane.rate, bytes / (time + bytes / lane.rate));
                if bytes >= LEAST as f64 * mss && value > most {
                    (most, chosen) = (value, m + 1);
                    lanes.burst = Some((j, bytes));
                    // The lanes in use get no more of the window than keeps them busy. The rest is for the bursts.
                    lanes.horizon = first.there + BUSY * mss / rate;
                    lanes.holds = rate * round;
                }
            }
        }
        chosen
    }

    /// Assigns a burst at the window's far end to the lane that was chosen for bursts, one burst at a time.
    pub(super) fn burst(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        let (lane, bytes) = lanes.burst?;
        let lane = &lanes.all[lane];
        let mss = lane.segment();
        if self.burst.left.start != view.queue.assigned_end() {
            // Other lanes have taken the data where the burst would have continued.
            self.burst.left.start = self.burst.left.end;
        }
        if self.burst.left.is_empty() && self.path(lane.id).last_end() <= view.first_unacked() {
            // The burst is the last whole segments inside the window.
            let (start, end) = (view.queue.assigned_end(), view.send_window_end.min(view.queue.written_end()));
            let (free, burst) = (end.since(start) / mss, bytes as u64 / mss);
            if burst < LEAST || free < burst {
                return None;
            }
            let start = start + (free - burst) * mss;
            self.burst = Burst { start, left: start..start + burst * mss };
        }
        let most = self.burst.left.start + mss * u64::from(lane.space);
        let range = self.burst.left.start..self.burst.left.end.min(most);
        if range.is_empty() {
            return None;
        }
        self.burst.left.start = range.end;
        let reason =
            Reason::new("a burst of {burst_bytes} at the window's end is worth more than the place that it takes")
                .with("burst_bytes", bytes)
                .with("arrival_ms", lane.arrival * 1e3);
        Some(self.assign(lane, range, reason))
    }
}
