//! Quantities whose unit is in the type.

use crate::Duration;
use core::fmt;

/// Bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

impl Bitrate {
    /// `n` bits per second.
    pub const fn from_bps(n: u64) -> Self {
        Bitrate(n)
    }
    /// `n` megabits (10⁶ bits) per second.
    pub const fn from_mbps(n: u64) -> Self {
        Bitrate(n.saturating_mul(1_000_000))
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Megabits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time to send `bytes` at this rate, rounded up; [`Duration::MAX`] at rate zero.
    pub const fn time_to_send(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(self.0 as u128);
        if nanos > u64::MAX as u128 {
            return Duration::MAX;
        }
        Duration::from_nanos(nanos as u64)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n > 0 && n % 1_000_000_000 == 0 => write!(f, "{}Gbps", n / 1_000_000_000),
            n if n > 0 && n % 1_000_000 == 0 => write!(f, "{}Mbps", n / 1_000_000),
            n if n > 0 && n % 1_000 == 0 => write!(f, "{}kbps", n / 1_000),
            n => write!(f, "{n}bps"),
        }
    }
}

/// A probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);

    /// `p` where it is from 0 to 1.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }
    /// The number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}
