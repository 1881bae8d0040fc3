//! When frames leave: constant rate, token bucket, trace, or at once.
//!
//! Work is counted in bits · 10⁹, so that work divided by a rate in bits per second is nanoseconds without rounding
//! in between: a transmission that is paused or whose rate changes goes on exactly where it was.

use crate::trace::{Cursor, OPPORTUNITY_BYTES, Trace};
use pathweave_units::{Bitrate, Duration, Instant};

/// What limits the rate of a link. `T` is what stands for a trace, as in [`LinkConfig`](crate::LinkConfig).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shaper<T = Trace> {
    /// Nothing: frames leave as they come.
    #[default]
    Unlimited,
    /// One frame after the other at this rate. A rate of zero stops the link; waiting frames go on waiting.
    Constant(Bitrate),
    /// Delivery opportunities of 1500 bytes at the times of a mahimahi trace, which starts when it is set (at time zero
    /// for a link's first).
    Trace(T),
    /// A token bucket like Linux's tbf without a peak rate: a frame leaves at once when the bucket holds tokens for all
    /// of it (sch_tbf.c, `tbf_dequeue`). Frames count with their Ethernet header, as in tbf. The bucket starts full.
    /// Tokens are whole nanoseconds and rates whole bytes per second, as in the kernel: a frame's cost is rounded down.
    TokenBucket {
        /// Rate at which tokens come.
        rate: Bitrate,
        /// Depth of the bucket in bytes; at most 4 GiB count. A frame that is longer than the bucket is deep is
        /// dropped.
        burst_bytes: u64,
    },
}

impl<T> Shaper<T> {
    /// The same rate limit with a trace from `read`.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn try_map_trace<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<Shaper<U>, E> {
        Ok(match self {
            Shaper::Unlimited => Shaper::Unlimited,
            Shaper::Constant(rate) => Shaper::Constant(rate),
            Shaper::Trace(trace) => Shaper::Trace(read(trace)?),
            Shaper::TokenBucket { rate, burst_bytes } => Shaper::TokenBucket { rate, burst_bytes },
        })
    }
}

/// Bits · 10⁹.
pub(crate) type Work = u64;

/// The work of sending one byte.
const PER_BYTE: Work = 8_000_000_000;

/// The work that one opportunity of a trace does.
pub(crate) const OPPORTUNITY: Work = work(OPPORTUNITY_BYTES);

/// The work of sending `bytes`; exact up to 2 GiB.
pub(crate) const fn work(bytes: u64) -> Work {
    bytes.saturating_mul(PER_BYTE)
}

/// The frame at the head: how much of it is left, and when that will have been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// What was left at `since`.
    pub(crate) left: Work,
    pub(crate) since: Instant,
    /// When it leaves, if nothing changes; [`Instant::FAR_FUTURE`] when stopped, and with a trace.
    pub(crate) done: Instant,
}

/// State of a [`Shaper`].
#[derive(Clone, Debug)]
pub(crate) enum Serializer {
    Unlimited,
    Constant { rate: u64 },
    Bucket(Bucket),
    Trace(Cursor),
}

impl Serializer {
    pub(crate) fn new(shaper: &Shaper, now: Instant) -> Self {
        match shaper {
            Shaper::Unlimited => Serializer::Unlimited,
            Shaper::Constant(rate) => Serializer::Constant { rate: rate.as_bps() },
            Shaper::Trace(trace) => Serializer::Trace(Cursor::new(trace.clone(), now)),
            Shaper::TokenBucket { rate, burst_bytes } => {
                Serializer::Bucket(Bucket::new(rate.as_bps(), *burst_bytes, now))
            }
        }
    }

    /// Bits per second; a trace's mean. `None` when unlimited.
    pub(crate) fn rate(&self) -> Option<u64> {
        match self {
            Serializer::Unlimited => None,
            Serializer::Constant { rate } => Some(*rate),
            Serializer::Bucket(bucket) => Some(bucket.rate),
            Serializer::Trace(cursor) => Some(cursor.trace().mean_rate().as_bps()),
        }
    }

    /// Resumes the head at `now`: computes when it leaves.
    #[inline]
    pub(crate) fn resume(&mut self, head: &mut Head, now: Instant) {
        head.since = now;
        head.done = match self {
            Serializer::Unlimited => now,
            Serializer::Constant { rate } => finish(now, head.left, *rate),
            Serializer::Bucket(bucket) => {
                let cost = bucket.cost_ns(head.left);
                bucket.refill(now, cost);
                match cost.saturating_sub(bucket.level_ns) {
                    wait if bucket.rate > 0 => now + Duration::from_nanos(wait),
                    _ => Instant::FAR_FUTURE,
                }
            }
            Serializer::Trace(_) => Instant::FAR_FUTURE,
        };
    }

    /// Stops the head at `now`: keeps what is left of it.
    pub(crate) fn pause(&mut self, head: &mut Head, now: Instant) {
        match self {
            Serializer::Unlimited => head.left = 0,
            Serializer::Constant { rate } => {
                let done = now.since(head.since).as_nanos().saturating_mul(*rate);
                head.left = head.left.saturating_sub(done);
            }
            Serializer::Bucket(_) | Serializer::Trace(_) => {}
        }
        head.since = now;
        head.done = Instant::FAR_FUTURE;
    }

    /// The head leaves, at its time.
    #[inline]
    pub(crate) fn depart(&mut self, head: &Head) {
        if let Serializer::Bucket(bucket) = self {
            let cost = bucket.cost_ns(head.left);
            bucket.refill(head.done, cost);
            bucket.level_ns = bucket.level_ns.saturating_sub(cost);
        }
    }
}

/// A token bucket in the kernel's arithmetic (`psched_ratecfg_precompute`, `psched_l2t_ns`): a token is a nanosecond, and
/// a frame costs its bytes · `mult` / 2^`shift` of them.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// Bits per second.
    rate: u64,
    mult: u64,
    shift: u32,
    /// The work of the longest frame that may pass.
    pub(crate) longest: Work,
    depth_ns: u64,
    level_ns: u64,
    at: Instant,
}

impl Bucket {
    fn new(rate: u64, burst_bytes: u64, now: Instant) -> Self {
        // Less than a byte per second counts as a byte per second, unless it is zero.
        let bytes_per_second = (rate / 8).max(1);
        let mut factor: u64 = 1_000_000_000;
        let mut shift = 0;
        while factor / bytes_per_second < 1 << 31 && factor < 1 << 63 {
            factor <<= 1;
            shift += 1;
        }
        let longest = work(burst_bytes.min(u32::MAX.into()));
        let mult = factor / bytes_per_second;
        let mut bucket = Bucket { rate, mult, shift, longest, depth_ns: 0, level_ns: 0, at: now };
        bucket.depth_ns = bucket.cost_ns(longest);
        bucket.level_ns = bucket.depth_ns;
        bucket
    }

    /// What a frame costs.
    fn cost_ns(&self, frame: Work) -> u64 {
        ((frame / PER_BYTE) * self.mult) >> self.shift
    }

    /// Tokens come until `now`, up to the depth, or to `need_ns` where the depth was lowered under a waiting frame.
    fn refill(&mut self, now: Instant, need_ns: u64) {
        let earned = if self.rate > 0 { now.since(self.at).as_nanos() } else { 0 };
        self.level_ns = self.level_ns.saturating_add(earned).min(self.depth_ns.max(need_ns));
        self.at = self.at.max(now);
    }
}

/// When `left` is done at `rate` bits per second, rounded up.
#[inline]
fn finish(now: Instant, left: Work, rate: u64) -> Instant {
    match (left, rate) {
        (0, _) => now,
        (_, 0) => Instant::FAR_FUTURE,
        _ => now + Duration::from_nanos(left.div_ceil(rate)),
    }
}
