//! Effects of an acknowledgement on the sending half.

use super::recovery::Delivered;
use super::timestamp::timestamp;
use super::{Changes, Peers, Tcp, Told};
use crate::congestion::{Ack, Controller, Window};
use crate::send_queue::SentSegment;
use arrayvec::ArrayVec;
use core::cell::Cell;
use core::ops::Range;
use pathweave_scheduler::{DataSeq, Growth};
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment};

/// The congestion window, and whether it limits sending.
pub(super) struct Congestion {
    pub(super) window: Window,
    pub(super) controller: Box<dyn Controller>,
    /// How the controller lets the window grow at present.
    pub(super) growth: Growth,
    /// Whether the last round filled the window, its most segments in flight, and the sequence number that ends it.
    pub(super) limited: bool,
    pub(super) max_packets_out: u32,
    pub(super) usage_end: u64,
}

impl Congestion {
    pub(super) fn new(cwnd: u32, controller: Box<dyn Controller>) -> Self {
        Congestion {
            window: Window { cwnd, ssthresh: Window::NO_THRESHOLD },
            controller,
            growth: Growth::default(),
            limited: false,
            max_packets_out: 0,
            usage_end: 0,
        }
    }
}

/// Measurements of delivered and lost data.
#[derive(Debug, Default)]
pub(super) struct DeliveryMeter {
    /// Bytes delivered to the peer in all, and when that number last changed.
    pub(super) bytes: u64,
    pub(super) at: Instant,
    /// Bytes delivered in the last interval, and its length. The rate is computed on demand and kept until it changes.
    pub(super) last: (u64, Duration),
    pub(super) rate: Cell<Option<f64>>,
    pub(super) loss_estimate: f64,
    pub(super) bytes_since_loss: u64,
    pub(super) bytes_between_losses: u64,
}

impl DeliveryMeter {
    /// Delivery rate, bytes per second; 0 before the first measurement.
    pub(super) fn rate(&self) -> f64 {
        self.rate.get().unwrap_or_else(|| {
            let (bytes, interval) = self.last;
            let rate = if interval.is_zero() { 0.0 } else { bytes as f64 / interval.as_secs_f64() };
            self.rate.set(Some(rate));
            rate
        })
    }
}

/// A round trip. It ends when the data that was to be sent next at its start is acknowledged.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) end: u64,
    pub(super) start: Option<Instant>,
}

/// Sending times of the segments that one acknowledgement covers, for measuring round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    /// First segment newly acknowledged; the time includes the receiver's delay, as a timeout must.
    first: Option<Instant>,
    /// Last segment newly acknowledged: the path's own time.
    last: Option<Instant>,
    first_sacked: Option<Instant>,
    last_sacked: Option<Instant>,
    retransmitted: bool,
}

impl Tcp {
    /// Relative number of one of our sequence numbers on the wire, near `una`.
    pub(super) fn own_relative(&self, wire: u32) -> Option<u64> {
        let delta = wire.wrapping_sub(self.opening.isn.wrapping_add(self.send.una as u32)) as i32;
        self.send.una.checked_add_signed(i64::from(delta))
    }

    /// The relative acknowledgement number. `None` if it acknowledges data that was never sent (RFC 9293 §3.10.7.4), or
    /// data so old that no peer acknowledges it any more (RFC 5961 §5.2).
    //= RFC 5961 §5.2: "The ACK value is considered acceptable only if it is in the range of ((SND.UNA - MAX.SND.WND) <=
    //= SEG.ACK <= SND.NXT)"
    //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds, blind_attacks::an_acknowledgement_older_than_any_window_is_challenged_and_its_data_dropped
    pub(super) fn acceptable_ack(&self, segment: &Segment) -> Option<u64> {
        let ack = self.own_relative(segment.ack)?;
        (ack <= self.send.nxt && ack + self.peer_window.largest.max(1) >= self.send.una).then_some(ack)
    }

    /// Handles the acknowledgement number and the SACK blocks of an acceptable segment. Returns false if the number is
    /// not acceptable; the segment is then dropped.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        segment_seq: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) -> bool {
        let Some(ack) = self.acceptable_ack(segment) else { return false };
        changes.overtaken_ack = ack < self.send.una;
        let window_changed = self.update_peer_window(segment, segment_seq, ack);
        //= RFC 9293 §3.8.6 (SHLD-17): "SHOULD NOT time out the connection if data beyond the right window edge is not acknowledged"
        //= tests: window_updates::what_is_out_is_repeated_into_a_window_that_has_shrunk_and_ends_nothing
        if self.peer_window.bytes == 0 && !changes.overtaken_ack {
            // The peer answers what is sent into its shrunken window, so it is not gone.
            self.silence.timeouts = 0;
        }
        let echo = segment.flags.contains(Flags::ECE);
        if ack == self.send.una && !echo && segment.options.sack.is_empty() && self.nothing_is_out() {
            self.congestion.growth = self.with_controller(now, peers, |c, cx| c.growth(cx));
            self.update_pacing();
            return true;
        }
        let mut samples = Samples::default();
        let mut d = self.take_delivered(now, segment, ack, &mut samples, changes);
        // RFC 5681 §2: a duplicate acknowledgement.
        //= RFC 8684 §3: "an MPTCP implementation receiving a duplicate ACK that contains an MPTCP option MUST NOT treat it as a
        //= signal of congestion"
        //= tests: loss_recovery::repeated_acknowledgements_with_signals_are_no_sign_of_congestion
        //= RFC 8684 §4: "A duplicate ACK that includes any MPTCP signaling (with the exception of the DSS option) MUST NOT be
        //= treated as a signal of congestion"
        //= tests: loss_recovery::repeated_acknowledgements_with_signals_are_no_sign_of_congestion
        let says_something = !segment.payload.is_empty() || window_changed || !segment.options.mptcp.is_empty();
        d.duplicate_ack = !d.una_advanced && !says_something && self.queue.packets_out() > 0;
        if !self.sack_recovery() {
            self.count_duplicate_acks(&mut d);
        }
        let rtt = self.sample_rtt(now, segment, &samples, d.una_advanced);
        changes.rtt = rtt;
        if d.una_advanced {
            self.silence.dark_since = None;
        }
        if self.path_mtu.probe.is_some() {
            self.check_mtu_probe(now);
        }
        let round_ended = self.track_round(now, d.una_advanced);
        self.track_delivery(now, &d);

        changes.loss = self.update_recovery(now, peers, &d);
        if d.una_advanced
            || (d.segments > 0 && self.timer_is_probe())
            || (rtt.is_some() && self.tells_of_older_data(&samples))
        {
            self.arm_after_ack(now);
        }
        self.feed_controller(now, peers, &d, rtt, round_ended);
        debug_assert!(self.queue.is_consistent(), "the counters agree with the segments: {:?}", self.queue);
        true
    }

    /// Whether newly SACKed data was sent before the first unacknowledged segment was last sent, and the host restarts
    /// its retransmission timer then.
    fn tells_of_older_data(&self, samples: &Samples) -> bool {
        let (Some(sacked), Some(head)) = (samples.first_sacked, self.queue.head()) else { return false };
        sacked < head.last_sent && self.host.restarts_timeout_at_old_sacks()
    }

    /// Takes what the acknowledgement number and the SACK blocks newly report to have arrived.
    #[inline]
    fn take_delivered(
        &mut self,
        now: Instant,
        segment: &Segment,
        ack: u64,
        samples: &mut Samples,
        changes: &mut Changes,
    ) -> Delivered {
        let echoed =
            segment.options.timestamps.filter(|_| self.agreed.timestamps).map(|t| self.opening.own_time(t.echo));
        let mut d = Delivered {
            una_advanced: ack > self.send.una,
            echoed_timestamp: echoed,
            rack_echo: echoed.filter(|_| self.rtt.tells_by_echoes()),
            congestion_echo: segment.flags.contains(Flags::ECE),
            ..Delivered::default()
        };
        changes.has_sack = !segment.options.sack.is_empty();
        // Segments below this are late if they are acknowledged now. This acknowledgement's own SACKs do not count.
        let sacked_before = self.recovery.highest_sacked;
        if self.sack_recovery() && changes.has_sack {
            self.handle_sack(now, segment, ack, &mut d, samples);
        }
        if d.una_advanced {
            self.advance_una(now, ack, sacked_before, &mut d, samples, &mut changes.acked);
        }
        changes.told = match (d.una_advanced, d.newly_sacked) {
            (true, _) => Told::Acknowledged,
            (false, true) => Told::Sacked,
            (false, false) => Told::Nothing,
        };
        d
    }

    /// Counts duplicate acknowledgements in place of SACK blocks: each one stands for a segment that has left the network.
    fn count_duplicate_acks(&mut self, d: &mut Delivered) {
        if d.una_advanced {
            let gone = d.segments.saturating_sub(1);
            self.recovery.duplicate_acks = self.recovery.duplicate_acks.saturating_sub(gone);
            if self.recovery.state != super::RecoveryState::Recovery {
                self.recovery.duplicate_acks = 0;
            }
        } else if d.duplicate_ack
            && self.recovery.duplicate_acks < self.queue.packets_out()
            && self.recovery.state != super::RecoveryState::Loss
        {
            self.recovery.duplicate_acks += 1;
            d.segments = 1;
        }
    }

    /// Tells the controller what the acknowledgement has delivered, and takes its window and its pacing rate.
    #[inline]
    fn feed_controller(
        &mut self,
        now: Instant,
        peers: Peers<'_>,
        d: &Delivered,
        rtt: Option<Duration>,
        round_ended: bool,
    ) {
        if let Some(idle) = self.send.idle_for.take() {
            self.with_controller(now, peers, |c, cx| c.on_restart(cx, idle));
        }
        if d.segments > 0 {
            self.counters.delivered_segments += u64::from(d.segments);
            let sample = Ack { segments: d.segments, bytes: d.bytes, rtt, round_ended };
            self.with_controller(now, peers, |c, cx| c.on_sample(cx, &sample));
            if self.recovery.in_reduction() {
                self.reduce_window(d);
            } else if d.una_advanced && self.may_grow(d.segments) {
                self.with_controller(now, peers, |c, cx| c.on_ack(cx, &sample));
            }
        }
        self.congestion.growth = self.with_controller(now, peers, |c, cx| c.growth(cx));
        if self.pacer.is_on() {
            let rate = self.with_controller(now, peers, |c, cx| c.pacing_rate(cx));
            self.set_own_pacing_rate(rate);
        }
        self.host.acknowledged(self.congestion.window.cwnd);
        self.update_pacing();
    }

    /// Whether nothing is in flight, as on a side that only receives: an acknowledgement has no effect then.
    fn nothing_is_out(&self) -> bool {
        self.queue.is_empty() && self.send.idle_for.is_none() && self.recovery.is_quiet()
    }

    #[inline(never)]
    fn handle_sack(&mut self, now: Instant, segment: &Segment, ack: u64, d: &mut Delivered, samples: &mut Samples) {
        let mut blocks = segment.options.sack.iter();
        let relative =
            |t: &Tcp, b: &pathweave_wire::SackBlock| Some((t.own_relative(b.left)?, t.own_relative(b.right)?));
        // RFC 2883 §4: a D-SACK is the first block; it is below the acknowledgement, or inside the second block.
        if let Some(first) = segment.options.sack.first().and_then(|b| relative(self, b)) {
            let second = segment.options.sack.get(1).and_then(|b| relative(self, b));
            let inside = second.is_some_and(|s| s.0 <= first.0 && first.1 <= s.1);
            if first.1 <= ack || inside {
                blocks.next();
                let len = first.1.saturating_sub(first.0);
                d.duplicates_end = first.1;
                d.duplicates = (len.div_ceil(u64::from(self.agreed.mss.max(1)))).clamp(1, 64) as u32;
            }
        }
        let previous = core::mem::take(&mut self.recovery.previous_sack);
        // In ascending order: a block below another one of the same acknowledgement is no sign of reordering.
        let mut blocks: ArrayVec<(u64, u64), 4> = blocks.take(4).filter_map(|b| relative(self, b)).collect();
        blocks.sort_unstable();
        for (left, right) in blocks {
            if left >= right || right > self.send.nxt || right <= self.send.una {
                continue;
            }
            // Parts that the last acknowledgement reported are skipped, so that the cost does not grow with the window.
            match previous.iter().find(|p| left <= p.0 && p.1 <= right) {
                Some(&(l, r)) => {
                    self.sack_range(now, left..l, d, samples);
                    self.sack_range(now, r..right, d, samples);
                }
                None => self.sack_range(now, left..right, d, samples),
            }
            self.recovery.highest_sacked = self.recovery.highest_sacked.max(right);
            if !self.recovery.previous_sack.is_full() {
                self.recovery.previous_sack.push((left, right));
            }
        }
    }

    fn sack_range(&mut self, now: Instant, range: Range<u64>, d: &mut Delivered, samples: &mut Samples) {
        let mut at = range.start;
        while let Some((names, end)) = self.queue.next_unsacked(at..range.end) {
            at = end;
            self.sack_names(now, names, d, samples);
        }
        if at > range.start {
            self.queue.note_sacked(range.start, range.end);
        }
    }

    fn sack_names(&mut self, now: Instant, names: Range<u64>, d: &mut Delivered, samples: &mut Samples) {
        for name in names {
            let Some(s) = self.queue.mark_sacked(name) else { continue };
            d.segments += 1;
            d.bytes += u64::from(s.len);
            d.newly_sacked = true;
            if !s.ever_retransmitted {
                samples.first_sacked.get_or_insert(s.last_sent);
                samples.last_sacked = Some(s.last_sent);
                d.original |= s.end() <= self.recovery.high;
                if s.end() < self.recovery.highest_sacked {
                    self.note_late(self.recovery.highest_sacked, s.ssn, d);
                }
            }
            // Without the echoed timestamp, because segments beyond a hole do not change it (RFC 7323 §4.3).
            self.recovery.rack_delivered(&s, now, self.rtt.min(), None);
            self.note_delivery(now, &s);
        }
    }

    #[cold]
    fn note_late(&mut self, delivered_end: u64, ssn: u64, d: &mut Delivered) {
        self.recovery.note_late((delivered_end - ssn).div_ceil(self.agreed.mss.max(1).into()));
        if !core::mem::replace(&mut d.reordered, true) {
            self.recovery.note_reordering();
        }
    }

    fn advance_una(
        &mut self,
        now: Instant,
        ack: u64,
        sacked_before: u64,
        d: &mut Delivered,
        samples: &mut Samples,
        acked: &mut Vec<Range<DataSeq>>,
    ) {
        while let Some(s) = self.queue.pop_acked(ack) {
            if s.len > 0 {
                acked.push(s.data());
            }
            if s.ever_retransmitted {
                samples.retransmitted = true;
            }
            if s.sacked {
                continue;
            }
            d.segments += 1;
            d.bytes += u64::from(s.len);
            if !s.ever_retransmitted {
                samples.first.get_or_insert(s.last_sent);
                samples.last = Some(s.last_sent);
                d.original |= s.end() <= self.recovery.high;
                if s.end() < sacked_before && self.sack_recovery() {
                    self.note_late(sacked_before, s.ssn, d);
                }
            }
            self.recovery.rack_delivered(&s, now, self.rtt.min(), d.rack_echo);
            self.note_delivery(now, &s);
        }
        self.send.una = ack;
        self.silence.timeouts = 0;
        self.silence.early_probes = 0;
        self.recovery.previous_sack.retain(|b| b.1 > ack);
    }

    /// Measures a round trip (RFC 6298 §3 (Karn), RFC 7323 §4).
    fn sample_rtt(&mut self, now: Instant, segment: &Segment, s: &Samples, una_advanced: bool) -> Option<Duration> {
        //= RFC 9293 §3.8.1 (MUST-18): "The RTO MUST be computed according to the algorithm in [10], including Karn's algorithm for
        //= taking RTT samples"
        //= tests: rfc::the_variance_is_that_of_rfc_6298, rtt::the_timeout_is_one_second_before_any_sample_and_at_least_the_minimum_above_the_average_after, loss_recovery::a_repeated_segment_measures_no_round_trip
        //= RFC 6298 §3: "TCP MUST use Karn's algorithm [KP87] for taking RTT samples. That is, RTT samples MUST NOT be made using
        //= segments that were retransmitted"
        //= tests: loss_recovery::a_repeated_segment_measures_no_round_trip
        let direct = if s.retransmitted { None } else { s.first };
        //= RFC 7323 §4.1: "A TSecr value received in a segment MAY be used to update the averaged RTT measurement only if the
        //= segment advances the left edge of the send window, i.e., SND.UNA is increased"
        //= tests: timeouts::what_is_received_beyond_a_hole_measures_no_round_trip
        let sacked = s.first_sacked.filter(|_| self.rtt.measures_sacked());
        // The first answer of a path that was dark, to data sent before that, measures the outage, not a round trip.
        let dark = self.silence.probe_interval.is_some();
        let dark_since = self.silence.dark_since.filter(|_| dark).unwrap_or(Instant::ZERO);
        let sample = match (direct.or(sacked), segment.options.timestamps.filter(|_| self.agreed.timestamps)) {
            (Some(sent), _) if sent < dark_since => return None,
            (Some(sent), _) => now.since(sent),
            (None, Some(t)) if una_advanced && t.echo != 0 && !dark => {
                let ms = timestamp(now).wrapping_sub(self.opening.own_time(t.echo));
                if ms > i32::MAX as u32 {
                    return None;
                }
                Duration::from_millis(u64::from(ms.max(1)))
            }
            _ => return None,
        };
        let own = if s.retransmitted { None } else { s.last };
        if let Some(sent) = s.last_sacked.or(own) {
            self.rtt.sample_min(now.since(sent));
        }
        self.rtt.sample(sample, self.send.una, self.send.nxt);
        self.rtt.reset_backoff();
        Some(sample)
    }

    fn track_round(&mut self, now: Instant, una_advanced: bool) -> bool {
        if !una_advanced {
            return false;
        }
        let ended = self.send.una > self.round.end;
        if ended {
            self.round.end = self.send.nxt;
            self.round.start = (!self.queue.is_empty()).then_some(now);
        }
        if self.queue.packets_out() == 0 {
            self.round.start = None;
        }
        ended
    }

    /// Measures the delivery rate since this segment was sent (draft-ietf-ccwg-bbr §4.1, without its send-rate bound).
    fn note_delivery(&mut self, now: Instant, s: &SentSegment) {
        self.delivery.bytes += u64::from(s.len);
        self.path_mtu.delivered = self.path_mtu.delivered.max(s.len);
        let interval = now.since(s.delivered_at);
        if !interval.is_zero() {
            self.delivery.last = (self.delivery.bytes - s.delivered, interval);
            self.delivery.rate.set(None);
        }
    }

    fn track_delivery(&mut self, now: Instant, d: &Delivered) {
        if d.segments == 0 {
            return;
        }
        self.delivery.at = now;
        self.delivery.bytes_since_loss += d.bytes;
        self.delivery.loss_estimate -= self.delivery.loss_estimate * f64::from(d.segments.min(64)) / 128.0;
    }

    /// Adapts the host's sending rate to the window and the round trip.
    pub(super) fn update_pacing(&mut self) {
        let window = self.congestion.window;
        self.host.update_pacing(window.cwnd, window.ssthresh, self.queue.packets_out(), self.rtt.srtt());
    }

    /// Whether the window may grow by an acknowledgement that delivered this many segments.
    fn may_grow(&self, delivered: u32) -> bool {
        let in_flight = self.in_flight() + delivered;
        self.host.lets_grow(self.congestion.window.cwnd, in_flight, self.is_cwnd_limited())
    }

    /// Whether the window limits sending, or did so lately. Only then may it grow.
    fn is_cwnd_limited(&self) -> bool {
        self.congestion.limited
            || (self.congestion.window.in_slow_start()
                && self.congestion.window.cwnd < 2 * self.congestion.max_packets_out)
    }

    /// After a burst: notes whether the window ended it.
    pub(crate) fn validate_window(&mut self) {
        let limited = self.in_flight() >= self.congestion.window.cwnd;
        let packets_out = self.queue.packets_out();
        if self.send.una >= self.congestion.usage_end
            || limited
            || (!self.congestion.limited && packets_out > self.congestion.max_packets_out)
        {
            self.congestion.limited = limited;
            self.congestion.max_packets_out = packets_out;
            self.congestion.usage_end = self.send.nxt;
        }
    }
}
