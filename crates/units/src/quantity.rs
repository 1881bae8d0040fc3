//! Quantities whose unit is in the type, and the ECN codepoint of an IP header.

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
    /// The probability of an impossible event.
    pub const ZERO: Probability = Probability(0.0);

    /// The probability `p`; `None` if `p` is not a number from 0 to 1.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }
    /// The number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// The ECN codepoint of an IP header (explicit congestion notification, RFC 3168 §5). Cast to a number, it is the
/// header's two bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the last two bits of an IPv4 type of service or an IPv6 traffic class.
    pub const fn from_traffic_class(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it: every codepoint but `NotEct`.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    #[test]
    fn the_number_is_the_headers_two_bits() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(Ecn::from_traffic_class(0xb8 | ecn as u8), ecn);
        }
        assert_eq!(Ecn::Ect0 as u8, 2, "RFC 3168 §5, figure 1: ECT(0) is 10");
    }
}
