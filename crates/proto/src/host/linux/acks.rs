//! When a kernel acknowledges (`tcp_event_data_recv`, `__tcp_ack_snd_check`): at once at the start, after an idle time and
//! after a duplicate; delayed by a time that follows the gap between segments; and beyond a hole once for all that arrives in
//! a part of a round trip (`net.ipv4.tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`, `tcp_comp_sack_nr`).

use crate::host::Surroundings;
use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// Duplicate acknowledgements that go out at once, the most that wait as one, how long they wait at most, and how much later
/// the timer may run.
const UNCOMPRESSED: u32 = 3;
const MAX_COMPRESSED: u32 = 44;
const COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);
/// Blocks that an acknowledgement surely has room for: before another one comes to the front, what waits goes out.
const EXPECTED_BLOCKS: usize = 2;

/// What the kernel remembers of one subflow's acknowledgements.
#[derive(Debug)]
pub(crate) struct LinuxAcks {
    /// The time between the last two segments.
    gap: Duration,
    /// The delay adapts: the longest one, less while segments come faster.
    delay: Duration,
    pub(crate) compression: Compression,
}

impl LinuxAcks {
    pub(crate) fn new(longest_delay: Duration) -> Self {
        LinuxAcks { gap: Duration::ZERO, delay: longest_delay, compression: Compression::default() }
    }

    /// As before Linux 4.19.
    #[cfg(feature = "host-mptcp-org")]
    pub(crate) fn without_compression(longest_delay: Duration) -> Self {
        let compression = Compression { off: true, ..Compression::default() };
        LinuxAcks { compression, ..LinuxAcks::new(longest_delay) }
    }

    pub(crate) fn note_arrival(&mut self, gap: Duration) {
        self.gap = gap;
    }

    /// A small window is not flooded with acknowledgements.
    pub(crate) fn quick_acks(quick: u32, window: u64, full_segment: u32) -> u32 {
        let budget = window / (2 * u64::from(full_segment.max(1)));
        quick.min(budget.clamp(2, 1 << 20) as u32)
    }

    pub(crate) fn starts_again(&mut self, rto: Duration, longest_delay: Duration) -> bool {
        self.adapt_delay(longest_delay);
        self.gap > rto
    }

    pub(crate) fn delay(&self, longest: Duration) -> Duration {
        self.delay.min(longest)
    }

    /// The delay follows the time between segments (half of the old value plus the gap), at least half of its maximum.
    fn adapt_delay(&mut self, longest: Duration) {
        if self.gap <= longest.div(2) {
            self.delay = self.delay.div(2) + longest.div(2);
        } else if self.gap < self.delay {
            self.delay = self.delay.div(2) + self.gap;
        }
        self.delay = self.delay.min(longest);
    }
}

/// Duplicate acknowledgements that wait as one.
#[derive(Debug, Default)]
pub(crate) struct Compression {
    /// Each goes out at once.
    off: bool,
    /// Those sent for the hole at `.0`; how many wait as one since, and until when.
    duplicates: (u64, u32),
    waiting: u32,
    until: Option<Instant>,
    /// The blocks of an acknowledgement that waited and goes out before a segment changes them, and how long that segment
    /// waits in turn.
    pub(crate) flushed: Option<ArrayVec<(u64, u64), 4>>,
    flushed_until: Option<Instant>,
}

impl Compression {
    /// The first three acknowledgements go out at once, so that the sender sees the loss, then one for all that arrives in a
    /// twentieth of a round trip.
    #[inline(never)]
    pub(crate) fn waits(&mut self, now: Instant, hole: u64, around: &Surroundings) -> bool {
        if self.duplicates.0 != hole {
            self.duplicates = (hole, 0);
        }
        if self.off || !around.sack || self.waiting >= MAX_COMPRESSED || self.duplicates.1 < UNCOMPRESSED {
            self.duplicates.1 += 1;
            return false;
        }
        self.waiting += 1;
        self.until.get_or_insert_with(|| now + Self::time(around));
        true
    }

    fn time(around: &Surroundings) -> Duration {
        let rtt = around.receiver_rtt.unwrap_or(Duration::ZERO);
        let rtt = around.srtt.map_or(rtt, |srtt| rtt.min(srtt));
        rtt.div(20).min(COMPRESSION) + COMPRESSION_SLACK
    }

    /// The block at `place` comes to the front.
    pub(crate) fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {
        if place >= EXPECTED_BLOCKS && self.waiting > 0 {
            self.flushed = Some(blocks.clone());
        }
    }

    pub(crate) fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
        let flushes = self.flushed.is_some();
        if flushes {
            self.flushed_until = Some(now + Self::time(around));
        }
        flushes
    }

    #[inline]
    pub(crate) fn timer(&self) -> Instant {
        self.until.unwrap_or(Instant::FAR_FUTURE)
    }

    pub(crate) fn acknowledged(&mut self) {
        self.flushed = None;
        self.until = self.flushed_until.take();
        self.waiting = u32::from(self.until.is_some());
    }

    pub(crate) fn stop_timer(&mut self) {
        self.until = None;
    }
}
