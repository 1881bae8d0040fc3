//! Rate limits, which decide when frames leave: constant rate, token bucket, trace, or no limit.
//!
//! Work is counted in bits · 10⁹, so that work divided by a rate in bits per second is a time in nanoseconds. Nothing
//! is rounded in between, so a transmission that is paused, or whose rate changes, continues exactly where it was.

use crate::trace::{Cursor, OPPORTUNITY_BYTES, Trace};
use pathweave_units::{Bitrate, Duration, Instant};

/// The rate limit of a link. `T` is the type of a trace, as in [`LinkConfig`](crate::LinkConfig).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shaper<T = Trace> {
    /// No limit: frames leave as soon as they come.
    #[default]
    Unlimited,
    /// One frame after the other at this rate. At a rate of zero, frames wait until the rate changes.
    Constant(Bitrate),
    /// Delivery opportunities of 1500 bytes at the times of a mahimahi trace. The trace starts when it is set; for a
    /// link's first trace, this is time zero.
    Trace(T),
    /// A token bucket like Linux's tbf without a peak rate: a frame leaves at once if the bucket holds tokens for all
    /// of it (sch_tbf.c, `tbf_dequeue`). Frames count with their Ethernet header, as in tbf. The bucket starts full.
    /// As in the kernel, tokens are whole nanoseconds, rates are whole bytes per second, and a frame's cost is rounded
    /// down.
    TokenBucket {
        /// Rate at which the bucket fills.
        rate: Bitrate,
        /// Depth of the bucket in bytes; a depth above 4 GiB counts as 4 GiB. A frame longer than the depth is dropped.
        burst_bytes: u64,
    },
}

impl<T> Shaper<T> {
    /// The same rate limit, with the trace replaced by what `read` makes of it.
    ///
    /// # Errors
    /// If `read` fails.
    pub fn try_map_trace<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<Shaper<U>, E> {
        Ok(match self {
            Shaper::Unlimited => Shaper::Unlimited,
            Shaper::Constant(rate) => Shaper::Constant(rate),
            Shaper::Trace(trace) => Shaper::Trace(read(trace)?),
            Shaper::TokenBucket { rate, burst_bytes } => Shaper::TokenBucket { rate, burst_bytes },
        })
    }
}

/// An amount of work in bits · 10⁹.
pub(crate) type Work = u64;

/// The work of sending one byte.
const PER_BYTE: Work = 8_000_000_000;

/// The work that one opportunity of a trace can do.
pub(crate) const OPPORTUNITY: Work = work(OPPORTUNITY_BYTES);

/// The work of sending `bytes`; exact up to 2 GiB.
pub(crate) const fn work(bytes: u64) -> Work {
    bytes.saturating_mul(PER_BYTE)
}

/// The frame in transmission: how much of it is left, and when it will have been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The work that was left at `since`.
    pub(crate) left: Work,
    pub(crate) since: Instant,
    /// When the frame will have been sent, if nothing changes; [`Instant::FAR_FUTURE`] if it is stopped, or with a
    /// trace.
    pub(crate) done: Instant,
}

/// The state of a [`Shaper`] in a link that runs.
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

    /// The rate in bits per second; for a trace, its mean rate. `None` if there is no limit.
    pub(crate) fn rate(&self) -> Option<u64> {
        match self {
            Serializer::Unlimited => None,
            Serializer::Constant { rate } => Some(*rate),
            Serializer::Bucket(bucket) => Some(bucket.rate),
            Serializer::Trace(cursor) => Some(cursor.trace().mean_rate().as_bps()),
        }
    }

    /// Starts or resumes the head at `now`: computes when it will have been sent.
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

    /// Stops the head at `now` and remembers how much of it is left.
    pub(crate) fn pause(&self, head: &mut Head, now: Instant) {
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

    /// Accounts for the head when it leaves, at `head.done`.
    #[inline]
    pub(crate) fn depart(&mut self, head: &Head) {
        if let Serializer::Bucket(bucket) = self {
            let cost = bucket.cost_ns(head.left);
            bucket.refill(head.done, cost);
            bucket.level_ns = bucket.level_ns.saturating_sub(cost);
        }
    }
}

/// A token bucket with the kernel's arithmetic (`psched_ratecfg_precompute`, `psched_l2t_ns`): a token is a nanosecond,
/// and a frame costs bytes · `mult` / 2^`shift` tokens.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// Bits per second.
    pub(crate) rate: u64,
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
        // A rate below one byte per second counts as one byte per second. For a rate of zero, `refill` adds nothing.
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

    /// The cost of a frame, in tokens.
    fn cost_ns(&self, frame: Work) -> u64 {
        ((frame / PER_BYTE) * self.mult) >> self.shift
    }

    /// Adds the tokens earned until `now`, up to the depth. The limit is `need_ns` if that is more: the depth may have
    /// been lowered below the cost of a frame that already waits.
    fn refill(&mut self, now: Instant, need_ns: u64) {
        let earned = if self.rate > 0 { now.since(self.at).as_nanos() } else { 0 };
        self.level_ns = self.level_ns.saturating_add(earned).min(self.depth_ns.max(need_ns));
        self.at = self.at.max(now);
    }
}

/// The time at which `left`, begun at `now`, is done at `rate` bits per second, rounded up.
#[inline]
fn finish(now: Instant, left: Work, rate: u64) -> Instant {
    match (left, rate) {
        (0, _) => now,
        (_, 0) => Instant::FAR_FUTURE,
        _ => now + Duration::from_nanos(left.div_ceil(rate)),
    }
}
