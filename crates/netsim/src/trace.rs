//! Traces: links described as a list of delivery opportunities, in mahimahi's format.
//!
//! The format and its meaning are mahimahi's (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP",
//! USENIX ATC 2015):
//!
//! - Each line is a whole number of milliseconds, and lines do not decrease. A line is one opportunity to deliver 1500
//!   bytes at that time; several equal lines are several opportunities.
//! - The trace repeats. Its period is its last time, unless [`Trace::lasting`] gives it another one.
//! - Small packets share an opportunity. A packet that is longer than the rest of an opportunity continues in the next.
//! - Opportunities that no packet uses are lost. A packet that arrives exactly at the time of an opportunity is too
//!   late for it.
//!
//! Mahimahi counts packets as it reads them from a TUN device, without a link-layer header (in its code an opportunity
//! has 1504 bytes, and each packet has 4 more bytes of TUN header). If frames here count their Ethernet header, give
//! the link an overhead of -14 bytes: a packet of 1500 bytes then fills one opportunity exactly.

use pathweave_units::{Bitrate, Duration, Instant};
use std::fmt::Write as _;
use std::sync::Arc;
use thiserror::Error;

mod cellular;

pub use cellular::{Cellular, CellularError};

/// The bytes that one delivery opportunity can carry.
pub const OPPORTUNITY_BYTES: u64 = 1500;
/// The most opportunities of a trace that is repeated.
const MOST_OPPORTUNITIES: u64 = 100_000_000;

/// A periodic list of delivery opportunities, which is cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Times in milliseconds from the start of a period: not empty, not decreasing, the last one above zero.
    millis: Arc<[u32]>,
    /// Milliseconds after which it starts over; at least the last of `millis`.
    period: u32,
}

/// Why a text or a list is not a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no line.
    #[error("the trace is empty; expected at least one line with a number of milliseconds")]
    Empty,
    /// A line is not a whole number that fits 32 bits.
    #[error("line {line}: {value:?} is not a time; expected a whole number of milliseconds from 0 to {}", u32::MAX)]
    NotANumber {
        /// The line's number, from 1.
        line: usize,
        /// The text of the line, at most 40 characters of it.
        value: String,
    },
    /// A time is less than the time on the line before.
    #[error("line {line}: {value} comes after {previous}; times must not decrease")]
    Decreasing {
        /// The line's number, from 1.
        line: usize,
        /// The time on this line, in milliseconds.
        value: u32,
        /// The time on the line before, in milliseconds.
        previous: u32,
    },
    /// All times are zero, so the period would be zero too.
    #[error("line {line}: the last time is 0; it is the trace's period and must be at least 1 millisecond")]
    NoPeriod {
        /// The number of the last line, from 1.
        line: usize,
    },
    /// The trace would have too many opportunities if it was repeated until the end of a longer trace.
    #[error(
        "repeated over {length}, it has more than {MOST_OPPORTUNITIES} opportunities; the other direction's trace must be shorter"
    )]
    TooLong {
        /// How long the longer one is.
        length: Duration,
    },
}

impl Trace {
    /// Reads mahimahi's text.
    ///
    /// # Errors
    /// If the text is not a trace. The error names the line, its text, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut millis = Vec::with_capacity(text.len() / 5);
        for (i, line) in text.lines().enumerate() {
            // `u32::from_str` would take a sign.
            let digits = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
            let time = line.parse().ok().filter(|_| digits);
            millis.push(time.ok_or_else(|| TraceError::NotANumber { line: i + 1, value: shown(line) })?);
        }
        Trace::from_millis(millis)
    }

    /// A trace with opportunities at these times in milliseconds. Errors count times like lines, from 1.
    ///
    /// # Errors
    /// If the list is empty, decreases, or ends with zero.
    pub fn from_millis(millis: impl Into<Arc<[u32]>>) -> Result<Self, TraceError> {
        let millis = millis.into();
        for (i, pair) in millis.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return Err(TraceError::Decreasing { line: i + 2, value: pair[1], previous: pair[0] });
            }
        }
        match millis.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoPeriod { line: millis.len() }),
            Some(&period) => Ok(Trace { millis, period }),
        }
    }

    /// Mahimahi's text: one line per opportunity.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.millis.len() * 6);
        for time in self.millis.iter() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{time}");
        }
        text
    }

    /// Times of the opportunities of one period, in milliseconds.
    pub fn millis(&self) -> &[u32] {
        &self.millis
    }
    /// The time after which the trace repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period.into())
    }
    /// The number of opportunities after `from` and up to `to`, both measured from the trace's start.
    pub fn opportunities(&self, from: Duration, to: Duration) -> u64 {
        // At the exact end of a period, both its last opportunities and those at time zero of the next period count.
        let up_to = |t: Duration| {
            let periods = t.as_nanos() / self.period().as_nanos();
            let rest = t.as_nanos() % self.period().as_nanos() / 1_000_000;
            let inside = self.millis.partition_point(|m| u64::from(*m) <= rest) as u64;
            periods * self.millis.len() as u64 + inside
        };
        up_to(to).saturating_sub(up_to(from))
    }
    /// A trace that repeats this one for `length`, in whole milliseconds, and then starts over. It is the same trace if
    /// `length` is its period.
    ///
    /// # Errors
    /// If it would have more than 100 million opportunities.
    pub fn lasting(&self, length: Duration) -> Result<Trace, TraceError> {
        let last = u32::try_from(length.as_millis()).unwrap_or(u32::MAX).max(1);
        if last == self.period {
            return Ok(self.clone());
        }
        let repetitions = u64::from(last.div_ceil(self.period));
        if repetitions.saturating_mul(self.millis.len() as u64) > MOST_OPPORTUNITIES {
            return Err(TraceError::TooLong { length });
        }
        let starts = (0..repetitions).map(|n| n * u64::from(self.period));
        let all = starts.flat_map(|start| self.millis.iter().map(move |m| start + u64::from(*m)));
        let millis: Vec<u32> = all.map_while(|m| u32::try_from(m).ok().filter(|m| *m <= last)).collect();
        match millis.last() {
            None | Some(0) => Err(TraceError::NoPeriod { line: millis.len() }),
            Some(_) => Ok(Trace { millis: millis.into(), period: last }),
        }
    }

    /// The same trace started at `offset`. The part before `offset` moves to the end of the period.
    ///
    /// The last time of a trace must be its period, so the cut is at the first opportunity at or after `offset`.
    pub fn rotated(&self, offset: Duration) -> Trace {
        let period = self.period;
        let wanted = (offset.as_millis() % u64::from(period)) as u32;
        let cut = self.millis.iter().copied().find(|m| *m >= wanted).unwrap_or(period);
        let split = self.millis.partition_point(|m| *m <= cut);
        let (before, after) = self.millis.split_at(split);
        let moved = after.iter().map(|m| m - cut).chain(before.iter().map(|m| m + (period - cut)));
        Trace { millis: moved.collect(), period }
    }
    /// The mean rate: what the opportunities of a period can carry, divided by the period.
    pub fn mean_rate(&self) -> Bitrate {
        let bits = self.millis.len() as u64 * OPPORTUNITY_BYTES * 8;
        Bitrate::from_bps(bits.saturating_mul(1000) / self.period().as_millis().max(1))
    }
}

/// The first 40 characters of a line, for an error.
fn shown(line: &str) -> String {
    line.chars().take(40).collect()
}

/// A position in a trace that a link plays.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    trace: Trace,
    /// Start of the current period.
    base: Instant,
    /// Index of the next opportunity.
    index: usize,
}

impl Cursor {
    /// The beginning of `trace`, which starts to play at `start`.
    pub(crate) fn new(trace: Trace, start: Instant) -> Self {
        Cursor { trace, base: start, index: 0 }
    }
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }
    /// Time of the next opportunity.
    pub(crate) fn next(&self) -> Instant {
        self.base + Duration::from_millis(u64::from(self.trace.millis[self.index]))
    }
    /// Time of the opportunity `n` after the next one.
    pub(crate) fn nth(&self, n: u64) -> Instant {
        let length = self.trace.millis.len() as u64;
        let index = self.index as u64 + n;
        let base = self.base + self.trace.period().saturating_mul(index / length);
        base + Duration::from_millis(u64::from(self.trace.millis[(index % length) as usize]))
    }
    /// Uses up the next opportunity.
    pub(crate) fn take(&mut self) {
        self.index += 1;
        if self.index == self.trace.millis.len() {
            self.index = 0;
            self.base += self.trace.period();
        }
    }
    /// Skips all opportunities up to and including `now`, in logarithmic time.
    pub(crate) fn skip_past(&mut self, now: Instant) {
        if self.next() > now {
            return;
        }
        let period = self.trace.period();
        let periods = now.since(self.base).as_nanos() / period.as_nanos();
        self.base += period.saturating_mul(periods);
        let elapsed = now.since(self.base).as_millis();
        self.index = self.trace.millis.partition_point(|&t| u64::from(t) <= elapsed);
        if self.index == self.trace.millis.len() {
            self.index = 0;
            self.base += period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(millis: &[u32]) -> Trace {
        Trace::from_millis(millis).expect("a valid trace")
    }

    #[test]
    fn a_text_is_read_and_written() {
        let parsed = Trace::parse("0\n5\n5\n20\n").expect("a valid text");
        assert_eq!(parsed, trace(&[0, 5, 5, 20]));
        assert_eq!(parsed.to_text(), "0\n5\n5\n20\n");
        assert_eq!(Trace::parse("0\r\n5\r\n5\r\n20"), Ok(parsed));
    }

    #[test]
    fn the_mean_rate_counts_1500_bytes_per_line_over_the_last_time() {
        assert_eq!(trace(&[1]).mean_rate(), Bitrate::from_mbps(12));
        assert_eq!(trace(&[0, 5, 5, 20]).mean_rate(), Bitrate::from_bps(2_400_000));
        assert_eq!(trace(&[0, 5, 5, 20]).period(), Duration::from_millis(20));
    }

    #[test]
    fn a_rotated_trace_goes_on_where_it_is_cut() {
        let whole = trace(&[0, 5, 5, 20]);
        // The cut is at 5: first comes the rest of the period, then the part before the cut. The period stays 20.
        assert_eq!(whole.rotated(Duration::from_millis(3)).millis(), [15, 15, 20, 20]);
        assert_eq!(whole.rotated(Duration::from_millis(9)).millis(), [0, 5, 5, 20]);
        for offset in [0, 1, 5, 19, 20, 33] {
            let rotated = whole.rotated(Duration::from_millis(offset));
            assert_eq!((rotated.period(), rotated.mean_rate()), (whole.period(), whole.mean_rate()), "{offset}");
            assert!(rotated.millis().is_sorted());
        }
    }

    #[test]
    fn a_trace_lasts_longer_by_playing_again_from_its_start() {
        let short = trace(&[0, 5, 5, 20]);
        let longer = short.lasting(Duration::from_millis(48)).expect("it is short");
        assert_eq!(
            (longer.millis(), longer.period()),
            (&[0, 5, 5, 20, 20, 25, 25, 40, 40, 45, 45][..], Duration::from_millis(48))
        );
        assert_eq!(short.lasting(short.period()), Ok(short.clone()));
        let mut cursor = Cursor::new(longer.clone(), Instant::ZERO);
        (0..11).for_each(|_| cursor.take());
        assert_eq!(cursor.next(), Instant::from_millis(48), "it starts over after its period, not after its last time");
        let days = Duration::from_secs(172_800);
        assert_eq!(trace(&[1]).lasting(days), Err(TraceError::TooLong { length: days }));
        assert_eq!(trace(&[20]).lasting(Duration::from_millis(7)), Err(TraceError::NoPeriod { line: 0 }));
    }

    #[test]
    fn opportunities_are_counted_over_periods() {
        let trace = trace(&[0, 5, 5, 20]);
        let count = |from, to| trace.opportunities(Duration::from_millis(from), Duration::from_millis(to));
        assert_eq!((count(0, 4), count(0, 5), count(5, 19), count(5, 20)), (0, 2, 0, 2));
        assert_eq!(count(0, 200), 40);
    }

    #[test]
    fn errors_name_the_line_the_value_and_what_is_allowed() {
        let message = |text: &str| Trace::parse(text).expect_err("no trace").to_string();
        assert_eq!(message(""), "the trace is empty; expected at least one line with a number of milliseconds");
        assert_eq!(
            message("0\nfive\n"),
            "line 2: \"five\" is not a time; expected a whole number of milliseconds from 0 to 4294967295"
        );
        assert_eq!(message("3\n7\n6\n"), "line 3: 6 comes after 7; times must not decrease");
        assert_eq!(
            message("0\n0\n"),
            "line 2: the last time is 0; it is the trace's period and must be at least 1 millisecond"
        );
    }

    #[test]
    fn only_plain_whole_numbers_are_times() {
        for bad in ["+5", "-1", "1.5", " 5", "5 ", "0x5", "", "4294967296", "5,6"] {
            assert_eq!(
                Trace::parse(&format!("1\n{bad}\n9\n")),
                Err(TraceError::NotANumber { line: 2, value: bad.to_owned() })
            );
        }
    }

    #[test]
    fn a_cursor_wraps_at_the_last_time() {
        let mut cursor = Cursor::new(trace(&[0, 5, 5, 20]), Instant::from_millis(100));
        let mut times = Vec::new();
        for n in 0..10 {
            assert_eq!(Cursor::new(trace(&[0, 5, 5, 20]), Instant::from_millis(100)).nth(n), cursor.next());
            times.push(cursor.next().as_nanos() / 1_000_000);
            cursor.take();
        }
        assert_eq!(times, [100, 105, 105, 120, 120, 125, 125, 140, 140, 145]);
    }

    #[test]
    fn skipping_equals_taking_one_by_one() {
        let traces =
            [trace(&[0, 5, 5, 20]), trace(&[0, 5, 5, 20]).lasting(Duration::from_millis(29)).expect("it is short")];
        for (trace, nanos) in traces.iter().flat_map(|t| (0..90_000_000).step_by(250_000).map(move |nanos| (t, nanos)))
        {
            let now = Instant::from_nanos(nanos);
            let mut skipped = Cursor::new(trace.clone(), Instant::ZERO);
            skipped.skip_past(now);
            let mut taken = Cursor::new(trace.clone(), Instant::ZERO);
            while taken.next() <= now {
                taken.take();
            }
            assert_eq!(skipped.next(), taken.next(), "at {now}");
            assert_eq!(skipped.nth(1), taken.nth(1), "at {now}");
        }
    }
}
