//! Bursts at the far end of the window, on a lane for which it has no room otherwise.
//!
//! Let F be lanes that the window fits, with the rate r and the delay R from a byte to its acknowledgement, and let a further lane have
//! the rate c and the delay T. A byte of it at the far end of the window arrives before its turn where F needs T for what is before it.
//! With bytes one by one that takes r·T of the window. B bytes at once, the next B after their acknowledgement, take less: F fills what
//! is before the burst, and meanwhile the window's end moves on, so that F goes on behind it. F is never held up as long as the window
//! has room for both of these,
//!
//! ```text
//! r·(R + T + B/c) + 2·B ≤ 2·W
//! ```
//!
//! and then the burst is gained: B bytes in each T + B/c.

use super::lanes::Lanes;
use super::{Decision, Reason, Weave};
use core::ops::Range;
use pathweave_proto::DataSeq;
use pathweave_proto::scheduler::View;

/// Segments beyond their delay that keep lanes busy while an acknowledgement covers two.
const BUSY: f64 = 3.0;
/// Fewer segments make no burst: an acknowledgement covers two.
const LEAST: u64 = 2;

/// A burst.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    start: DataSeq,
    /// What has not gone out yet.
    left: Range<DataSeq>,
}

impl Burst {
    /// Whether the byte at `at` belongs to it.
    pub(super) fn holds(&self, at: DataSeq) -> bool {
        (self.start..self.left.end).contains(&at)
    }
}

impl Weave {
    /// Where the window has room for some lanes and not for one more, that one may have bursts at the window's far end: see the
    /// [module](super). They replace the choice of `used` lanes, whose value is `most`, where they are worth more by the hysteresis.
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
                // With losses a rate goes up and down with its congestion window, and a burst that is placed for one rate may be late
                // for the next.
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
                    // No more than keeps them busy: the rest of the window is the bursts'.
                    lanes.horizon = first.there + BUSY * mss / rate;
                    lanes.holds = rate * round;
                }
            }
        }
        chosen
    }

    /// Where the window does not fit all lanes: a burst at its far end, one at a time, on a lane beyond those that are used.
    pub(super) fn burst(&mut self, view: &View<'_>, lanes: &Lanes) -> Option<Decision> {
        let (lane, bytes) = lanes.burst?;
        let lane = &lanes.all[lane];
        let mss = lane.segment();
        if self.burst.left.start != view.queue.assigned_end() {
            // Others went on where it would have.
            self.burst.left.start = self.burst.left.end;
        }
        if self.burst.left.is_empty() && self.path(lane.id).last_end() <= view.first_unacked() {
            // The last whole segments inside the window.
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
