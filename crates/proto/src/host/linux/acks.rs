//! When a kernel acknowledges (`tcp_event_data_recv`, `__tcp_ack_snd_check`): at once at the start, after an idle time and
//! after a duplicate; delayed by a time that follows the gap between segments; and beyond a hole once for all that arrives in
//! a part of a round trip (`net.ipv4.tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`, `tcp_comp_sack_nr`).

use crate::host::Surroundings;
use crate::host::acks::AckRules;
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
    compression: Compression,
}

impl LinuxAcks {
    /// `compresses`: acknowledgements beyond a hole are compressed, as since Linux 4.19.
    pub(in crate::host) fn new(longest_delay: Duration, compresses: bool) -> Self {
        let compression = Compression { off: !compresses, ..Compression::default() };
        LinuxAcks { gap: Duration::ZERO, delay: longest_delay, compression }
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

impl AckRules for LinuxAcks {
    #[inline]
    fn note_arrival(&mut self, gap: Duration) {
        self.gap = gap;
    }

    /// A small window is not flooded with acknowledgements.
    fn quick_acks(&self, quick: u32, window: u64, full_segment: u32) -> u32 {
        let budget = window / (2 * u64::from(full_segment.max(1)));
        quick.min(budget.clamp(2, 1 << 20) as u32)
    }

    /// After an idle time of more than `rto`.
    fn starts_again(&mut self, rto: Duration, longest_delay: Duration) -> bool {
        self.adapt_delay(longest_delay);
        self.gap > rto
    }

    fn starts_again_after_duplicate(&self) -> bool {
        true
    }

    #[inline]
    fn waits_for_reader(&self, smaller: bool, _many: bool, around: &Surroundings) -> bool {
        smaller && !around.taken
    }

    #[inline]
    fn waits_an_instant(&self) -> bool {
        false
    }

    #[inline]
    fn answers_reading(&self, full: bool, over: bool) -> bool {
        full || over
    }

    /// The kernel takes it for any other segment. Its reader, who then has all that waited to read, causes the acknowledgement.
    fn answers_hole_of_stream(&self) -> bool {
        false
    }

    #[inline]
    fn shares_data_acks(&self) -> bool {
        false
    }

    #[inline]
    fn delay(&self, longest: Duration) -> Duration {
        self.delay.min(longest)
    }

    fn waits_beyond_hole(&mut self, now: Instant, hole: u64, around: &Surroundings) -> bool {
        self.compression.waits(now, hole, around)
    }

    fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {
        self.compression.before_new_block(place, blocks);
    }

    #[inline]
    fn answers_at_once(&mut self) {
        self.compression.flushed = None;
    }

    fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
        self.compression.flushes(now, around)
    }

    fn flushed_blocks(&self) -> Option<&ArrayVec<(u64, u64), 4>> {
        self.compression.flushed.as_ref()
    }

    #[inline]
    fn timer(&self) -> Instant {
        self.compression.until.unwrap_or(Instant::FAR_FUTURE)
    }

    #[inline]
    fn acknowledged(&mut self) {
        self.compression.acknowledged();
    }

    fn stop_timer(&mut self) {
        self.compression.until = None;
    }
}

/// Duplicate acknowledgements that wait as one.
#[derive(Debug, Default)]
struct Compression {
    /// Each goes out at once.
    off: bool,
    /// Those sent for the hole at `.0`; how many wait as one since, and until when.
    duplicates: (u64, u32),
    waiting: u32,
    until: Option<Instant>,
    /// The blocks of an acknowledgement that waited and goes out before a segment changes them, and how long that segment
    /// waits in turn.
    flushed: Option<ArrayVec<(u64, u64), 4>>,
    flushed_until: Option<Instant>,
}

impl Compression {
    /// The first three acknowledgements go out at once, so that the sender sees the loss, then one for all that arrives in a
    /// twentieth of a round trip.
    #[inline(never)]
    fn waits(&mut self, now: Instant, hole: u64, around: &Surroundings) -> bool {
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
    fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {
        if place >= EXPECTED_BLOCKS && self.waiting > 0 {
            self.flushed = Some(blocks.clone());
        }
    }

    fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
        let flushes = self.flushed.is_some();
        if flushes {
            self.flushed_until = Some(now + Self::time(around));
        }
        flushes
    }

    fn acknowledged(&mut self) {
        self.flushed = None;
        self.until = self.flushed_until.take();
        self.waiting = u32::from(self.until.is_some());
    }
}
