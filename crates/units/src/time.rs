//! Points and lengths of time in nanoseconds. The driver chooses what time zero is; in the simulator it is the start of
//! the run.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A length of time in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// The duration of zero nanoseconds.
    pub const ZERO: Duration = Duration(0);
    /// The longest representable time, about 584 years.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Duration(n)
    }
    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Duration(n.saturating_mul(1_000))
    }
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Duration(n.saturating_mul(1_000_000))
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Duration(n.saturating_mul(1_000_000_000))
    }
    /// `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates, and maps NaN to 0.
        Duration((s * 1e9 + 0.5) as u64)
    }
    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Whether this is zero nanoseconds.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self + other`, at most [`Duration::MAX`].
    pub const fn saturating_add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
    /// `self - other`, at least zero.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// `self · n`, at most [`Duration::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
    /// `self / n`, rounded down.
    ///
    /// # Panics
    /// If `n` is zero.
    pub const fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
    /// `self · x`, rounded to the nearest nanosecond; a negative or NaN `x` gives zero.
    pub fn mul_f64(self, x: f64) -> Duration {
        Duration((self.0 as f64 * x + 0.5) as u64)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        self.saturating_add(other)
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Saturates at zero.
    fn sub(self, other: Duration) -> Duration {
        self.saturating_sub(other)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % 1_000_000_000 == 0 => write!(f, "{}s", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
            n => write!(f, "{n}ns"),
        }
    }
}

/// A point in time: nanoseconds since the driver's zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The driver's time zero.
    pub const ZERO: Instant = Instant(0);
    /// The end of representable time. A timer set to it never fires.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// `n` nanoseconds after zero.
    pub const fn from_nanos(n: u64) -> Self {
        Instant(n)
    }
    /// `n` milliseconds after zero.
    pub const fn from_millis(n: u64) -> Self {
        Instant(n.saturating_mul(1_000_000))
    }
    /// `n` seconds after zero.
    pub const fn from_secs(n: u64) -> Self {
        Instant(n.saturating_mul(1_000_000_000))
    }
    /// Nanoseconds since zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since zero.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Time since `earlier`; zero if `earlier` is later than `self`.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    /// Saturates at [`Instant::FAR_FUTURE`].
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    /// Saturates at zero.
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}s", self.as_secs_f64())
    }
}
