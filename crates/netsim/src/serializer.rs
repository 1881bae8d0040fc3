//! When frames leave: constant rate, token bucket, trace, or at once.
//!
//! Work is counted in bits · 10⁹, so that work divided by a rate in bits per second is nanoseconds without rounding
//! in between: a transmission that is paused or whose rate changes goes on exactly where it was.

use crate::trace::{Cursor, OPPORTUNITY_BYTES, Trace};
use pathweave_units::{Bitrate, Duration, Instant};

/// What limits the rate of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shaper {
    /// Nothing: frames leave when they come.
    #[default]
    Unlimited,
    /// One frame after the other at this rate. Rate zero stops the link; what waits, waits.
    Constant(Bitrate),
    /// Delivery opportunities of 1500 bytes at the times of a mahimahi trace, which starts when it is set (at time zero
    /// for a link's first).
    Trace(Trace),
    /// A token bucket as Linux' tbf without a peak rate: a frame leaves at once when the bucket holds tokens for all of
    /// it (sch_tbf.c, `tbf_dequeue`). Frames count with their Ethernet header, as in tbf. The bucket starts full.
    TokenBucket {
        /// Rate at which tokens come.
        rate: Bitrate,
        /// Depth of the bucket in bytes. A longer frame is dropped.
        burst_bytes: u32,
    },
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

/// The frame at the head: how much is left of it, and until when that takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// What was left at `since`. With a token bucket: tokens needed.
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
                let depth = work(u64::from(*burst_bytes));
                Serializer::Bucket(Bucket { rate: rate.as_bps(), depth, level: depth, at: now })
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

    /// Goes on with the head at `now`: computes when it leaves.
    #[inline]
    pub(crate) fn resume(&mut self, head: &mut Head, now: Instant) {
        head.since = now;
        head.done = match self {
            Serializer::Unlimited => now,
            Serializer::Constant { rate } => finish(now, head.left, *rate),
            Serializer::Bucket(bucket) => {
                bucket.refill(now, head.left);
                finish(now, head.left.saturating_sub(bucket.level), bucket.rate)
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
            bucket.refill(head.done, head.left);
            bucket.level = bucket.level.saturating_sub(head.left);
        }
    }
}

/// A token bucket; tokens are [`Work`].
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    pub(crate) depth: Work,
    level: Work,
    at: Instant,
}

impl Bucket {
    /// Tokens come until `now`, up to the depth, or to `need` where the depth was lowered under a waiting frame.
    fn refill(&mut self, now: Instant, need: Work) {
        let earned = now.since(self.at).as_nanos().saturating_mul(self.rate);
        self.level = self.level.saturating_add(earned).min(self.depth.max(need));
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
