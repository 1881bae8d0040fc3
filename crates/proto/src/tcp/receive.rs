//! The receiving half: reassembly, acknowledgement policy, SACK blocks.

use crate::config::TcpConfig;
use crate::host::SubflowHost;
use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::Mapping;
use pathweave_wire::{Payload, SackBlock, SackBlocks};
use std::collections::VecDeque;

/// Data that came in order on the subflow.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Relative subflow sequence number of the first byte.
    pub(crate) ssn: u64,
    pub(crate) payload: Payload,
    /// The mapping that came with it, for its first byte's segment.
    pub(crate) mapping: Option<Mapping>,
    /// The mapping's last octet is a DATA_FIN, which is no data.
    pub(crate) data_fin: bool,
}

#[derive(Debug)]
struct Held {
    arrival: Arrival,
    fin: bool,
}

impl Held {
    fn end(&self) -> u64 {
        self.arrival.ssn + u64::from(self.arrival.payload.len()) + u64::from(self.fin)
    }
}

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
/// Blocks that an acknowledgement surely has room for: before another one comes to the front, what waits goes out.
const EXPECTED_BLOCKS: usize = 2;

/// What a piece that waits takes beside its bytes, and what small windows may take in any case, bytes.
const PIECE_OVERHEAD: u64 = 256;
const LEAST_MEMORY: u64 = 64 << 10;

/// Whether so many pieces of so many bytes take more memory than a window of full segments could: twice the window.
pub(crate) fn exceeds_memory(pieces: usize, bytes: u64, window: u64) -> bool {
    pieces as u64 * PIECE_OVERHEAD + bytes > window.saturating_mul(2).saturating_add(LEAST_MEMORY)
}

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

#[derive(Debug)]
pub(crate) struct Receiver {
    next: u64,
    /// Out-of-order segments: sorted, disjoint.
    held: VecDeque<Held>,
    held_bytes: u64,
    /// The window that bounds the memory of what is held.
    pub(crate) held_window: u64,
    /// Out-of-order ranges, the one that changed last first (RFC 2018 §4).
    blocks: ArrayVec<(u64, u64), 4>,
    duplicate: Option<(u64, u64)>,
    fin: bool,
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
    /// The last segment left nothing held that was held before.
    filled_hole: bool,
    /// Duplicate acknowledgements sent for the hole at `.0`; how many wait as one since, and until when.
    duplicate_acks: (u64, u32),
    compressed: u32,
    compressed_until: Option<Instant>,
    /// The blocks of an acknowledgement that waited and goes out before a segment changes them, and how long that segment
    /// waits in turn.
    flushed: Option<ArrayVec<(u64, u64), 4>>,
    flushed_until: Option<Instant>,
    /// The window that the last acknowledgement offered.
    offered: u64,
    rtt: Option<Duration>,
    last_echo: u32,
    /// `next` when the last acknowledgement was sent.
    acked_next: u64,
    last_data: Instant,
    /// The kernel's adaptive delay: 40 ms, less while segments come faster.
    delay: Duration,
    /// The largest segment seen: what a full segment is.
    full_segment: u32,
    /// The peer's newest timestamp, to be echoed, and its validity.
    pub(crate) recent_timestamp: u32,
    pub(crate) recent_timestamp_at: Instant,
    /// ECN: congestion was experienced and not yet answered by CWR.
    pub(crate) echo_congestion: bool,
}

/// What [`Receiver::receive`] made of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    InOrder,
    OutOfOrder,
    Duplicate,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Receiver {
            next: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            held_window: 0,
            blocks: ArrayVec::new(),
            duplicate: None,
            fin: false,
            due: AckDue::No,
            quick: 0,
            grew: false,
            started: false,
            pushed: false,
            noted: None,
            gap: Duration::ZERO,
            filled_hole: false,
            duplicate_acks: (0, 0),
            compressed: 0,
            compressed_until: None,
            flushed: None,
            flushed_until: None,
            offered: 0,
            rtt: None,
            last_echo: 0,
            acked_next: 0,
            last_data: Instant::ZERO,
            delay: config.delayed_ack_timeout,
            full_segment: 536,
            recent_timestamp: 0,
            recent_timestamp_at: Instant::ZERO,
            echo_congestion: false,
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }
    /// Reports the part of `start..end` that is here already as a duplicate.
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64) {
        let end = end.min(self.next);
        if start > 0 && start < end {
            self.duplicate = Some((start, end));
        }
    }
    /// What the last acknowledgement said.
    pub(crate) fn acked_next(&self) -> u64 {
        self.acked_next
    }
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
    pub(crate) fn fin_in_order(&self) -> bool {
        self.fin
    }
    pub(crate) fn start(&mut self) {
        self.next = 1;
        self.acked_next = 1;
    }

    /// Takes a segment's data (`ssn` is its first byte), appends what is in order now to `out`.
    pub(crate) fn receive(&mut self, mut arrival: Arrival, fin: bool, out: &mut Vec<Arrival>) -> Received {
        let (start, len) = (arrival.ssn, u64::from(arrival.payload.len()));
        let end = start + len + u64::from(fin);
        self.full_segment = self.full_segment.max(len as u32);
        if end <= self.next {
            if len > 0 || fin {
                self.duplicate = Some((start, end));
            }
            return Received::Duplicate;
        }
        if start > self.next {
            if exceeds_memory(self.held.len(), self.held_bytes, self.held_window) {
                // Dropped before it is reported, so that nothing that was reported is ever taken back (RFC 2018 §8).
                return Received::Duplicate;
            }
            return self.hold(arrival, fin);
        }
        if start < self.next {
            self.duplicate = Some((start, self.next));
            let cut = (self.next - start).min(len) as u32;
            trim_front(&mut arrival, cut);
        }
        let had_held = !self.held.is_empty();
        // What is already held wins over a repetition of it, so that delivered bytes never change: the segment fills the gaps
        // between.
        while let Some(first) = self.held.front()
            && first.arrival.ssn < end
        {
            let before = first.arrival.ssn.saturating_sub(arrival.ssn).min(u64::from(arrival.payload.len())) as u32;
            let rest = arrival.payload.len() - before;
            let mut piece = arrival.clone();
            trim_back(&mut piece, before);
            self.accept(piece, false, out);
            self.release_held(out);
            trim_front(&mut arrival, before);
            let past = self.next.saturating_sub(arrival.ssn).min(u64::from(rest)) as u32;
            trim_front(&mut arrival, past);
        }
        if end > self.next {
            self.accept(arrival, fin, out);
        }
        self.release_held(out);
        let next = self.next;
        self.blocks.retain(|b| b.1 > next);
        self.filled_hole = had_held && self.held.is_empty();
        Received::InOrder
    }

    /// Moves to `out` what is in order now.
    fn release_held(&mut self, out: &mut Vec<Arrival>) {
        while self.held.front().is_some_and(|h| h.arrival.ssn <= self.next) {
            let Some(mut held) = self.held.pop_front() else { break };
            self.held_bytes -= u64::from(held.arrival.payload.len());
            if held.end() <= self.next {
                continue;
            }
            let cut = (self.next - held.arrival.ssn) as u32;
            trim_front(&mut held.arrival, cut);
            self.accept(held.arrival, held.fin, out);
        }
    }

    fn accept(&mut self, arrival: Arrival, fin: bool, out: &mut Vec<Arrival>) {
        self.next += u64::from(arrival.payload.len());
        if !arrival.payload.is_empty() {
            out.push(arrival);
        }
        if fin && !self.fin {
            self.fin = true;
            self.next += 1;
        }
    }

    #[inline(never)]
    fn hold(&mut self, mut arrival: Arrival, mut fin: bool) -> Received {
        let (mut start, end) = (arrival.ssn, arrival.ssn + u64::from(arrival.payload.len()) + u64::from(fin));
        let i = self.held.partition_point(|h| h.arrival.ssn <= start);
        if let Some(before) = i.checked_sub(1).and_then(|i| self.held.get(i))
            && before.end() > start
        {
            if before.end() >= end {
                self.duplicate = Some((start, end));
                return Received::Duplicate;
            }
            self.duplicate = Some((start, before.end()));
            let cut = (before.end() - start).min(u64::from(arrival.payload.len())) as u32;
            start = before.end();
            trim_front(&mut arrival, cut);
        }
        // Segments wholly inside the new one are kept as they are; the new one is cut before the first of them. The rest
        // comes again with a retransmission: repacketised overlaps are too rare for more.
        let mut new_end = end;
        if let Some(after) = self.held.get(i)
            && after.arrival.ssn < end
        {
            new_end = after.arrival.ssn;
            fin = false;
            trim_back(&mut arrival, (new_end - start) as u32);
        }
        if new_end <= start {
            self.duplicate = Some((start, end));
            return Received::Duplicate;
        }
        self.held_bytes += u64::from(arrival.payload.len());
        self.held.insert(i, Held { arrival, fin });
        self.note_block(start, new_end);
        Received::OutOfOrder
    }

    /// The block around `start..end` becomes the first one reported.
    fn note_block(&mut self, start: u64, end: u64) {
        let (mut left, mut right) = (start, end);
        let place = self.blocks.iter().position(|b| b.0 <= end && b.1 >= start).unwrap_or(self.blocks.len());
        if place >= EXPECTED_BLOCKS && self.compressed > 0 {
            self.flushed = Some(self.blocks.clone());
        }
        self.blocks.retain(|b| {
            let touches = b.0 <= right && b.1 >= left;
            if touches {
                left = left.min(b.0);
                right = right.max(b.1);
            }
            !touches
        });
        if self.blocks.is_full() {
            self.blocks.pop();
        }
        self.blocks.insert(0, (left, right));
    }

    /// The SACK blocks to report, at most `limit`; a D-SACK first (RFC 2883 §4).
    #[inline(never)]
    pub(crate) fn sack_blocks(&mut self, peer_isn: u32, limit: usize) -> SackBlocks {
        let wire = |(left, right): (u64, u64)| SackBlock {
            left: peer_isn.wrapping_add(left as u32),
            right: peer_isn.wrapping_add(right as u32),
        };
        let mut out = SackBlocks::new();
        let blocks = self.flushed.as_ref().unwrap_or(&self.blocks);
        let reported = self.duplicate.take().into_iter().chain(blocks.iter().copied());
        out.extend(reported.take(limit).map(wire));
        out
    }

    pub(crate) fn has_blocks(&self) -> bool {
        !self.blocks.is_empty() || self.duplicate.is_some()
    }

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
        self.gap = now.since(self.last_data);
        self.last_data = now;
        self.pushed |= pushed || len < self.full_segment;
        self.noted = Some((received, fin, len));
        if let Some(echo) = echo.filter(|e| *e != 0 && *e != self.last_echo && len >= self.full_segment) {
            self.last_echo = echo;
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
        self.rtt = Some(match self.rtt {
            Some(old) if sample > old => old + (sample - old).div(8),
            _ => sample,
        });
    }

    pub(crate) fn full_segment(&self) -> u32 {
        self.full_segment
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Data bytes of the segment just received, where it brought new data; and whether they wait for a hole.
    pub(crate) fn noted_data(&self) -> Option<(u32, bool)> {
        let (received, _, len) = self.noted?;
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
        let Some((received, fin, _)) = self.noted.take() else { return };
        if !self.started {
            self.started = true;
            self.renew_quick(window, config);
        } else if received == Received::InOrder {
            self.adapt_delay(self.gap, config);
            if self.gap > around.rto {
                self.renew_quick(window, config);
            }
        }
        if core::mem::take(&mut self.grew) {
            self.quick |= 1;
        }
        if received == Received::Duplicate && self.duplicate.is_some_and(|d| d.1 <= self.next) {
            self.renew_quick(window, config);
        }
        let unacked = self.next - self.acked_next;
        let at_once = fin
            || (received == Received::Duplicate && self.held.is_empty())
            || self.filled_hole
            || self.quick > 0
            || !config.delayed_ack
            || (unacked > u64::from(self.full_segment) && (around.taken || window >= self.offered));
        self.filled_hole = false;
        if at_once {
            self.flushed = None;
            self.due = AckDue::Now;
        } else if self.flushed.is_some() {
            self.flushed_until = Some(now + self.compression(around));
            self.due = AckDue::Now;
        } else if !self.held.is_empty() {
            self.acknowledge_hole(now, around);
        } else if self.due == AckDue::No {
            self.due = AckDue::At(host.expiry(now, self.delay.min(config.delayed_ack_timeout)));
        }
    }

    /// Segments beyond a hole: the first three acknowledgements at once, so that the sender sees the loss, then one for all
    /// that arrives in a twentieth of a round trip (the kernel's SACK compression).
    #[inline(never)]
    fn acknowledge_hole(&mut self, now: Instant, around: &Surroundings) {
        if self.duplicate_acks.0 != self.next {
            self.duplicate_acks = (self.next, 0);
        }
        if !around.sack || self.compressed >= MAX_COMPRESSED || self.duplicate_acks.1 < UNCOMPRESSED {
            self.duplicate_acks.1 += 1;
            self.due = AckDue::Now;
            return;
        }
        self.compressed += 1;
        if self.compressed_until.is_none() {
            self.compressed_until = Some(now + self.compression(around));
        }
    }

    fn compression(&self, around: &Surroundings) -> Duration {
        let rtt = self.rtt.unwrap_or(Duration::ZERO);
        let rtt = around.srtt.map_or(rtt, |srtt| rtt.min(srtt));
        rtt.div(20).min(COMPRESSION) + COMPRESSION_SLACK
    }

    /// A small window is not flooded with acknowledgements: the kernel's rule.
    fn renew_quick(&mut self, window: u64, config: &TcpConfig) {
        let budget = window / (2 * u64::from(self.full_segment.max(1)));
        self.quick = self.quick.max(config.quick_acks.min(budget.clamp(2, 1 << 20) as u32));
    }

    /// The offered window grows: the sender is told at once.
    pub(crate) fn window_grew(&mut self) {
        self.grew = true;
    }

    /// The application has read, whose acknowledgement leaves at `at`, or at once. `empty`: nothing waits for it or for earlier data any more.
    pub(crate) fn after_read(&mut self, at: Option<Instant>, empty: bool) {
        if let AckDue::At(_) = self.due {
            let unacked = self.next - self.acked_next;
            if unacked > u64::from(self.full_segment) || (self.pushed && empty) {
                self.ack_by(at);
            }
        }
    }

    /// What the last acknowledgement offered, before the window scale rounded it down.
    pub(crate) fn set_offered(&mut self, window: u64) {
        self.offered = window;
    }

    /// What is left of the window that was offered last.
    pub(crate) fn window_left(&self) -> u64 {
        self.offered.saturating_sub(self.next - self.acked_next)
    }

    /// The delay follows the time between segments (half of the old value plus the gap), at least half of its maximum.
    fn adapt_delay(&mut self, gap: Duration, config: &TcpConfig) {
        let longest = config.delayed_ack_timeout;
        if gap <= longest.div(2) {
            self.delay = self.delay.div(2) + longest.div(2);
        } else if gap < self.delay {
            self.delay = self.delay.div(2) + gap;
        }
        self.delay = self.delay.min(longest);
    }

    pub(crate) fn ack_now(&mut self) {
        self.due = AckDue::Now;
    }
    pub(crate) fn ack_by(&mut self, at: Option<Instant>) {
        self.due = match (self.due, at) {
            (AckDue::Now, _) | (_, None) => AckDue::Now,
            (AckDue::At(sooner), Some(at)) => AckDue::At(sooner.min(at)),
            (AckDue::No, Some(at)) => AckDue::At(at),
        };
    }
    pub(crate) fn ack_is_due(&self) -> bool {
        self.due == AckDue::Now
    }
    pub(crate) fn end_quick_acks(&mut self) {
        self.quick = 0;
    }
    pub(crate) fn owes_ack(&self) -> bool {
        self.next > self.acked_next
    }
    /// When an acknowledgement that waits goes out; the far future where none does.
    #[inline]
    pub(crate) fn ack_timer(&self) -> Instant {
        let compressed = self.compressed_until.unwrap_or(Instant::FAR_FUTURE);
        match self.due {
            AckDue::At(delayed) => delayed.min(compressed),
            _ => compressed,
        }
    }
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.ack_timer() <= now {
            self.due = AckDue::Now;
        }
    }
    /// An acknowledgement goes out.
    pub(crate) fn ack_sent(&mut self, offered: u64) {
        if self.due != AckDue::No {
            self.quick = self.quick.saturating_sub(1);
        }
        self.pushed = false;
        self.offered = offered;
        self.due = AckDue::No;
        self.flushed = None;
        self.compressed_until = self.flushed_until.take();
        self.compressed = u32::from(self.compressed_until.is_some());
        self.acked_next = self.next;
    }
    pub(crate) fn stop_timer(&mut self) {
        self.due = AckDue::No;
        self.compressed_until = None;
    }
}

/// Removes `cut` bytes from the front and moves the mapping with them.
fn trim_front(arrival: &mut Arrival, cut: u32) {
    if cut == 0 {
        return;
    }
    arrival.payload = arrival.payload.slice(cut, arrival.payload.len() - cut);
    arrival.ssn += u64::from(cut);
}

fn trim_back(arrival: &mut Arrival, keep: u32) {
    if keep < arrival.payload.len() {
        arrival.payload = arrival.payload.slice(0, keep);
    }
}
