//! Draws numbers, times and sizes from one seed.

use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};

/// The time after which every connection must have ended.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// A source of random draws.
pub(crate) struct Draw(pub(crate) Random);

impl Draw {
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }
    /// A number from `low` to `high`, with each order of magnitude (of 4) equally likely.
    pub(crate) fn spread(&mut self, low: u64, high: u64) -> u64 {
        let mut ends = vec![low];
        while ends.last().is_some_and(|e| *e < high) {
            let next = (ends[ends.len() - 1].max(1) * 4).min(high);
            ends.push(next);
        }
        let i = self.0.below(ends.len() as u64 - 1) as usize;
        self.between(ends[i], ends[i + 1])
    }
    /// Zero with the probability `none`, otherwise a number up to `most`.
    pub(crate) fn mostly_none(&mut self, none: f64, most: f64) -> f64 {
        if self.chance(none) { 0.0 } else { self.0.unit() * most }
    }
    pub(crate) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.spread(low, high))
    }
    pub(crate) fn at_millis(&mut self, low: u64, high: u64) -> Instant {
        Instant::ZERO + self.millis(low, high)
    }
    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize].clone()
    }
}
