//! The acknowledgement rules of a kernel (`tcp_event_data_recv`, `__tcp_ack_snd_check`). At the start, after an idle
//! time and after a duplicate, each segment is acknowledged at once. Other acknowledgements are delayed by a time that
//! follows the gap between segments. Beyond a hole, one acknowledgement covers all segments of a part of a round trip
//! (`net.ipv4.tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`, `tcp_comp_sack_nr`).

use crate::host::Surroundings;
use crate::host::acks::AckRules;
use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// Duplicate acknowledgements that leave at once, before compression begins.
const UNCOMPRESSED: u32 = 3;
/// Most duplicate acknowledgements that are compressed into one.
const MAX_COMPRESSED: u32 = 44;
/// Longest wait of a compressed acknowledgement.
const COMPRESSION: Duration = Duration::from_millis(1);
/// Time by which the timer of that wait may be late.
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);
/// SACK blocks that surely fit an acknowledgement. A waiting acknowledgement leaves before a further block comes to the
/// front.
const EXPECTED_BLOCKS: usize = 2;

/// State of one subflow's acknowledgement rules.
#[derive(Debug)]
pub(crate) struct LinuxAcks {
    /// The time between the last two segments.
    gap: Duration,
    /// Current delay of acknowledgements: the longest one, or less while segments arrive faster.
    delay: Duration,
    compression: Compression,
}

impl LinuxAcks {
    /// `compresses`: whether acknowledgements beyond a hole are compressed, as in Linux 4.19 and later.
    pub(in crate::host) fn new(longest_delay: Duration, compresses: bool) -> Self {
        let compression = Compression { off: !compresses, ..Compression::default() };
        LinuxAcks { gap: Duration::ZERO, delay: longest_delay, compression }
    }

    /// Adapts the delay to the time between segments: half of the old delay plus that time, but at least half of the
    /// longest delay.
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

    /// `tcp_rcv_rtt_measure_ts` notes the echo before it looks at the length. Kernels of the time before compression did
    /// not remember echoes.
    #[inline]
    fn counts_each_echo(&self) -> bool {
        !self.compression.off
    }

    /// One quick acknowledgement for each two full segments of the window, so that a small window is not flooded; at
    /// least two.
    fn quick_acks(&self, quick: u32, window: u64, full_segment: u32) -> u32 {
        let budget = window / (2 * u64::from(full_segment.max(1)));
        quick.min(budget.clamp(2, 1 << 20) as u32)
    }

    /// Quick acknowledgements restart after an idle time of more than `rto`.
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

    /// The kernel treats such a segment as any other. The acknowledgement leaves when the application reads the data
    /// that waited.
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

/// Duplicate acknowledgements that are compressed into one.
#[derive(Debug, Default)]
struct Compression {
    /// Whether there is no compression: each duplicate acknowledgement leaves at once.
    off: bool,
    /// The first missing byte, and the count of duplicate acknowledgements sent for it.
    duplicates: (u64, u32),
    /// Duplicate acknowledgements that wait as one.
    waiting: u32,
    /// The end of their wait.
    until: Option<Instant>,
    /// The SACK blocks of a waiting acknowledgement that leaves now, before the current segment changes the blocks.
    flushed: Option<ArrayVec<(u64, u64), 4>>,
    /// The end of the wait of the current segment's acknowledgement, once those blocks have left.
    flushed_until: Option<Instant>,
}

impl Compression {
    /// The first three acknowledgements leave at once, so that the sender sees the loss. After them, one
    /// acknowledgement covers all segments of a twentieth of a round trip.
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

    /// Keeps the blocks of a waiting acknowledgement if the block at `place` may push one of them out.
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
