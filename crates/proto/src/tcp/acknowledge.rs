//! When the receiving half acknowledges: delayed and immediate acknowledgements (RFC 9293 §3.8.6.3, RFC 5681 §4.2), and
//! one for all that arrives beyond a hole in a part of a round trip.

use super::receive::{Received, Receiver};
use crate::config::TcpConfig;
use crate::host::SubflowHost;
use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// When an acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckDue {
    No,
    At(Instant),
    Now,
}

/// SACK compression, as in the kernel: duplicate acknowledgements that go out at once, the most that wait as one, how
/// long they wait at most, and how much later the timer may run.
const UNCOMPRESSED: u32 = 3;
const MAX_COMPRESSED: u32 = 44;
const COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);
/// What the acknowledgement policy has to know of the rest of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// The timeout without any doubling.
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
    /// The peer understands SACK.
    pub(crate) sack: bool,
    /// What arrived waits for other subflows' data, not for the reader.
    pub(crate) taken: bool,
}

/// When the next acknowledgement leaves.
#[derive(Debug)]
pub(super) struct Acks {
    due: AckDue,
    /// Segments still acknowledged at once, at the start and after an idle time.
    quick: u32,
    /// The window that may be offered grew by the segment just received.
    grew: bool,
    started: bool,
    /// A segment came with PSH, or short: its sender has no more for now.
    pushed: bool,
    /// The segment that [`Receiver::decide_ack`] is to decide on, and the time since the one before.
    noted: Option<(Received, bool, u32)>,
    gap: Duration,
    last_data: Instant,
    /// The delay adapts: the longest one, less while segments come faster.
    delay: Duration,
    /// The next number expected when the last acknowledgement was sent, and the window that it offered.
    pub(super) acked_next: u64,
    offered: u64,
}

impl Acks {
    pub(super) fn new(longest_delay: Duration) -> Self {
        Acks {
            due: AckDue::No,
            quick: 0,
            grew: false,
            started: false,
            pushed: false,
            noted: None,
            gap: Duration::ZERO,
            last_data: Instant::ZERO,
            delay: longest_delay,
            acked_next: 0,
            offered: 0,
        }
    }
}

/// Duplicate acknowledgements that wait as one.
#[derive(Debug, Default)]
pub(super) struct Compression {
    /// Those sent for the hole at `.0`; how many wait as one since, and until when.
    duplicates: (u64, u32),
    pub(super) waiting: u32,
    until: Option<Instant>,
    /// The blocks of an acknowledgement that waited and goes out before a segment changes them, and how long that segment
    /// waits in turn.
    pub(super) flushed: Option<ArrayVec<(u64, u64), 4>>,
    flushed_until: Option<Instant>,
}

/// The peer's timestamps.
#[derive(Debug, Default)]
pub(crate) struct PeerClock {
    /// The newest, to be echoed, and since when it is.
    pub(crate) recent: u32,
    pub(crate) recent_at: Instant,
    /// The round trip as the receiver sees it, from the timestamps of ours that it echoes.
    rtt: Option<Duration>,
    last_echo: u32,
}

impl Receiver {
    /// A data segment or FIN was received; [`Receiver::decide_ack`] follows once its data has found its place.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        received: Received,
        fin: bool,
        pushed: bool,
        len: u32,
        echo: Option<u32>,
    ) {
        self.acks.gap = now.since(self.acks.last_data);
        self.acks.last_data = now;
        self.acks.pushed |= pushed || len < self.full_segment;
        self.acks.noted = Some((received, fin, len));
        if let Some(echo) = echo.filter(|e| *e != 0 && *e != self.clock.last_echo && len >= self.full_segment) {
            self.clock.last_echo = echo;
            self.sample_rtt(now, echo);
        }
    }

    /// The receiver's view of the round trip, from echoed timestamps: the smaller at once, the larger slowly.
    fn sample_rtt(&mut self, now: Instant, echo: u32) {
        let ms = super::ack::timestamp(now).wrapping_sub(echo);
        if ms > i32::MAX as u32 {
            return;
        }
        let sample = Duration::from_millis(u64::from(ms.max(1)));
        self.clock.rtt = Some(match self.clock.rtt {
            Some(old) if sample > old => old + (sample - old).div(8),
            _ => sample,
        });
    }

    pub(crate) fn full_segment(&self) -> u32 {
        self.full_segment
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.clock.rtt
    }

    /// Data bytes of the segment just received, where it brought new data; and whether they wait for a hole.
    pub(crate) fn noted_data(&self) -> Option<(u32, bool)> {
        let (received, _, len) = self.acks.noted?;
        (received != Received::Duplicate).then_some((len, received == Received::OutOfOrder))
    }

    /// Decides when the segment just received is acknowledged. `window` is what the acknowledgement would offer; where it
    /// offers less than the last one did, the acknowledgement waits for the reader, unless the data is `taken`: no reader
    /// waits for it.
    //= RFC 9293 §3.8.6.3: "an ACK should not be excessively delayed; in particular, the delay MUST be less than 0.5
    //= seconds"
    //= tests: delayed_ack::a_lone_segment_is_acknowledged_after_the_delay_at_most
    pub(crate) fn decide_ack(
        &mut self,
        now: Instant,
        window: u64,
        around: &Surroundings,
        config: &TcpConfig,
        host: &SubflowHost,
    ) {
        let Some((received, fin, _)) = self.acks.noted.take() else { return };
        if !self.acks.started {
            self.acks.started = true;
            self.renew_quick(window, config);
        } else if received == Received::InOrder {
            self.adapt_delay(self.acks.gap, config);
            if self.acks.gap > around.rto {
                self.renew_quick(window, config);
            }
        }
        if core::mem::take(&mut self.acks.grew) {
            self.acks.quick |= 1;
        }
        if received == Received::Duplicate && self.duplicate.is_some_and(|d| d.1 <= self.next) {
            self.renew_quick(window, config);
        }
        let unacked = self.next - self.acks.acked_next;
        let at_once = fin
            || (received == Received::Duplicate && self.held.is_empty())
            || self.filled_hole
            || self.acks.quick > 0
            || !config.delayed_ack
            || (unacked > u64::from(self.full_segment) && (around.taken || window >= self.acks.offered));
        self.filled_hole = false;
        if at_once {
            self.compression.flushed = None;
            self.acks.due = AckDue::Now;
        } else if self.compression.flushed.is_some() {
            self.compression.flushed_until = Some(now + self.compression(around));
            self.acks.due = AckDue::Now;
        } else if !self.held.is_empty() {
            self.acknowledge_hole(now, around);
        } else if self.acks.due == AckDue::No {
            self.acks.due = AckDue::At(host.expiry(now, self.acks.delay.min(config.delayed_ack_timeout)));
        }
    }

    /// Segments beyond a hole: the first three acknowledgements at once, so that the sender sees the loss, then one for all
    /// that arrives in a twentieth of a round trip (the kernel's SACK compression).
    #[inline(never)]
    fn acknowledge_hole(&mut self, now: Instant, around: &Surroundings) {
        if self.compression.duplicates.0 != self.next {
            self.compression.duplicates = (self.next, 0);
        }
        if !around.sack || self.compression.waiting >= MAX_COMPRESSED || self.compression.duplicates.1 < UNCOMPRESSED {
            self.compression.duplicates.1 += 1;
            self.acks.due = AckDue::Now;
            return;
        }
        self.compression.waiting += 1;
        if self.compression.until.is_none() {
            self.compression.until = Some(now + self.compression(around));
        }
    }

    fn compression(&self, around: &Surroundings) -> Duration {
        let rtt = self.clock.rtt.unwrap_or(Duration::ZERO);
        let rtt = around.srtt.map_or(rtt, |srtt| rtt.min(srtt));
        rtt.div(20).min(COMPRESSION) + COMPRESSION_SLACK
    }

    /// A small window is not flooded with acknowledgements: the kernel's rule.
    fn renew_quick(&mut self, window: u64, config: &TcpConfig) {
        let budget = window / (2 * u64::from(self.full_segment.max(1)));
        self.acks.quick = self.acks.quick.max(config.quick_acks.min(budget.clamp(2, 1 << 20) as u32));
    }

    /// The offered window grows: the sender is told at once.
    pub(crate) fn window_grew(&mut self) {
        self.acks.grew = true;
    }

    /// The application has read, whose acknowledgement leaves at `at`, or at once. `empty`: nothing waits for it or for earlier data any more.
    pub(crate) fn after_read(&mut self, at: Option<Instant>, empty: bool) {
        if let AckDue::At(_) = self.acks.due {
            let unacked = self.next - self.acks.acked_next;
            if unacked > u64::from(self.full_segment) || (self.acks.pushed && empty) {
                self.ack_by(at);
            }
        }
    }

    /// What the last acknowledgement offered, before the window scale rounded it down.
    pub(crate) fn set_offered(&mut self, window: u64) {
        self.acks.offered = window;
    }

    /// What is left of the window that was offered last.
    pub(crate) fn window_left(&self) -> u64 {
        self.acks.offered.saturating_sub(self.next - self.acks.acked_next)
    }

    /// The delay follows the time between segments (half of the old value plus the gap), at least half of its maximum.
    fn adapt_delay(&mut self, gap: Duration, config: &TcpConfig) {
        let longest = config.delayed_ack_timeout;
        if gap <= longest.div(2) {
            self.acks.delay = self.acks.delay.div(2) + longest.div(2);
        } else if gap < self.acks.delay {
            self.acks.delay = self.acks.delay.div(2) + gap;
        }
        self.acks.delay = self.acks.delay.min(longest);
    }

    pub(crate) fn ack_now(&mut self) {
        self.acks.due = AckDue::Now;
    }
    pub(crate) fn ack_by(&mut self, at: Option<Instant>) {
        self.acks.due = match (self.acks.due, at) {
            (AckDue::Now, _) | (_, None) => AckDue::Now,
            (AckDue::At(sooner), Some(at)) => AckDue::At(sooner.min(at)),
            (AckDue::No, Some(at)) => AckDue::At(at),
        };
    }
    pub(crate) fn ack_is_due(&self) -> bool {
        self.acks.due == AckDue::Now
    }
    pub(crate) fn end_quick_acks(&mut self) {
        self.acks.quick = 0;
    }
    pub(crate) fn owes_ack(&self) -> bool {
        self.next > self.acks.acked_next
    }
    /// When an acknowledgement that waits goes out; the far future where none does.
    #[inline]
    pub(crate) fn ack_timer(&self) -> Instant {
        let compressed = self.compression.until.unwrap_or(Instant::FAR_FUTURE);
        match self.acks.due {
            AckDue::At(delayed) => delayed.min(compressed),
            _ => compressed,
        }
    }
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.ack_timer() <= now {
            self.acks.due = AckDue::Now;
        }
    }
    /// An acknowledgement goes out.
    pub(crate) fn ack_sent(&mut self, offered: u64) {
        if self.acks.due != AckDue::No {
            self.acks.quick = self.acks.quick.saturating_sub(1);
        }
        self.acks.pushed = false;
        self.acks.offered = offered;
        self.acks.due = AckDue::No;
        self.compression.flushed = None;
        self.compression.until = self.compression.flushed_until.take();
        self.compression.waiting = u32::from(self.compression.until.is_some());
        self.acks.acked_next = self.next;
    }
    /// The acknowledgement that has just gone out goes out again, with the next segment.
    pub(crate) fn repeat_ack(&mut self) {
        self.ack_sent(self.acks.offered);
    }
    pub(crate) fn stop_timer(&mut self) {
        self.acks.due = AckDue::No;
        self.compression.until = None;
    }
}
