//! Selection of the subflow's next segment, and its header.

use super::timestamp::timestamp;
use super::{Tcp, TcpState};
use crate::host::Sending;
use crate::send_queue::SentSegment;
use core::ops::Range;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, MAX_OPTION_BYTES, Segment};

/// One transmission, chosen and accounted for. The connection adds window and Multipath TCP options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// A SYN or a SYN/ACK.
    Syn,
    /// A data segment or a FIN; `name` is its name in the queue.
    Data { name: u64, ssn: u64, data: Range<DataSeq>, fin: bool, again: bool },
    /// An acknowledgement without data.
    Ack,
    /// An acknowledgement with an old sequence number, which the peer must answer.
    WindowProbe,
}

/// The subflow's send sequence (RFC 9293 §3.3.1), and the flags that hold segments back.
#[derive(Debug)]
pub(super) struct SendSpace {
    /// First unacknowledged sequence number, next one to send, and end of the queue.
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) queued_end: u64,
    /// Whether a FIN is queued.
    pub(super) fin_queued: bool,
    /// End of the last segment sent that was not full (Minshall's variant of Nagle's rule).
    pub(super) small_end: u64,
    pub(super) nagle: bool,
    /// Whether data is queued beyond the congestion window, so that schedulers' grants determine the buffers.
    pub(super) queues: bool,
    pub(super) last_sent: Option<Instant>,
    /// Idle time before data left again, if the controller was not told of it yet.
    pub(super) idle_for: Option<Duration>,
}

impl SendSpace {
    pub(super) fn new() -> Self {
        SendSpace {
            una: 0,
            nxt: 0,
            queued_end: 1,
            fin_queued: false,
            small_end: 0,
            nagle: true,
            queues: false,
            last_sent: None,
            idle_for: None,
        }
    }
}

/// Segments that are due to leave, and flags that they are to carry.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// A tail loss probe, and a probe of the peer's window.
    pub(super) loss_probe: bool,
    pub(super) window_probe: bool,
    /// An acknowledgement that carries a signal of the connection.
    pub(super) signal: bool,
    /// CWR, the answer to an echo of congestion (RFC 3168 §6.1.2).
    pub(super) cwr: bool,
}

impl Outgoing {
    /// Number of data bytes.
    pub(crate) fn data_len(&self) -> u32 {
        match self {
            Outgoing::Data { data, .. } => data.end.since(data.start) as u32,
            _ => 0,
        }
    }
}

impl Tcp {
    /// Chooses the next transmission and accounts for it.
    pub(crate) fn next_transmission(&mut self, now: Instant) -> Option<Outgoing> {
        if self.state == TcpState::Closed {
            return None;
        }
        if self.opening.syn_due {
            self.opening.syn_due = false;
            self.opening.syn_sent_at = now;
            self.arm_syn(now);
            return Some(Outgoing::Syn);
        }
        if matches!(self.state, TcpState::SynSent | TcpState::SynReceived) {
            return None;
        }
        if let Some(data) = self.next_data(now) {
            return Some(data);
        }
        if self.due.window_probe {
            self.due.window_probe = false;
            return Some(Outgoing::WindowProbe);
        }
        if core::mem::take(&mut self.due.signal) || self.receiver.ack_is_due() {
            return Some(Outgoing::Ack);
        }
        None
    }

    /// As [`Tcp::next_transmission`], but only if that is new data from `at` on, of at most `most` bytes.
    pub(crate) fn next_part(&mut self, now: Instant, at: DataSeq, most: u32) -> Option<Outgoing> {
        let next = self.queue.first_unsent()?;
        let follows = next.dsn == at && (1..=most).contains(&next.len);
        let other = self.due.loss_probe || self.queue.lost_out > 0 || self.recovery.state == super::RecoveryState::Loss;
        let probes = self.path_mtu.raise_at <= now;
        if !follows || other || probes || self.state == TcpState::Closed || self.opening.syn_due {
            return None;
        }
        self.next_data(now)
    }

    //= RFC 5681 §2: "At any given time, a TCP MUST NOT send data with a sequence number higher than the sum of the highest
    //= acknowledged sequence number and the minimum of cwnd and rwnd"
    //= tests: congestion::no_more_is_out_than_the_first_window_and_the_handshake_adds_nothing_to_it
    //= RFC 5681 §3: "a TCP MUST NOT be more aggressive than the following algorithms allow (that is, MUST NOT send data when
    //= the value of cwnd computed by the following algorithms would not allow the data to be sent)"
    //= tests: congestion::no_more_is_out_than_the_first_window_and_the_handshake_adds_nothing_to_it
    //= RFC 6675 §4: "NextSeg () MUST return the sequence number range of the next segment that is to be transmitted, per the
    //= following rules"
    //= tests: loss_recovery::a_loss_halves_the_window
    //= RFC 6675 §5: "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments as follows"
    //= tests: congestion::at_most_half_of_what_was_out_leaves_in_a_round_trip_until_losses_are_repaired
    //= RFC 6675 §5: "The scoreboard MUST be queried via NextSeg () for the sequence number range of the next segment to
    //= transmit (if any), and the given segment sent"
    //= tests: loss_recovery::a_loss_halves_the_window
    fn next_data(&mut self, now: Instant) -> Option<Outgoing> {
        if self.due.loss_probe {
            self.due.loss_probe = false;
            if self.queue.packets_out() > 0 && self.recovery.probe.is_none() {
                return Some(self.loss_probe(now));
            }
        }
        let repairs = self.queue.lost_out > 0 || self.recovery.state == super::RecoveryState::Loss;
        if (self.queue.unsent() == 0 && !repairs) || self.in_flight() >= self.congestion.window.cwnd {
            if !repairs && self.queue.first_unsent().is_some_and(|s| s.fin) && self.host.sends_fin_beyond_window() {
                return Some(self.send_new(now));
            }
            self.pacing_rests();
            return None;
        }
        if self.pacing_holds(now) {
            return None;
        }
        if self.recovery.state == super::RecoveryState::Loss {
            let possible = self.may_send_new(now);
            if self.tries_new_data(possible) {
                return possible.then(|| self.send_new(now));
            }
        }
        if let Some(name) = self.queue.next_to_retransmit() {
            return self.retransmit(now, name);
        }
        self.may_send_new(now).then(|| self.send_new(now))
    }

    /// Whether new data may leave during duplicate acknowledgements (limited transmit, RFC 3042).
    //= RFC 5681 §3.2: "On the first and second duplicate ACKs received at a sender, a TCP SHOULD send a segment of previously
    //= unsent data per [RFC3042] provided that the receiver's advertised window allows"
    //= tests: congestion::the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays
    //= RFC 5681 §3.2: "the TCP sender MUST NOT change cwnd to reflect these two segments [RFC3042]"
    //= tests: congestion::the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays
    //= RFC 5681 §3.2: "a sender using SACK [RFC2018] MUST NOT send new data unless the incoming duplicate acknowledgment
    //= contains new SACK information"
    //= tests: congestion::duplicates_that_sack_nothing_new_let_nothing_out
    //= RFC 6675 §5: "The TCP MAY transmit previously unsent data segments as per Limited Transmit [RFC5681], except that the
    //= number of octets which may be sent is governed by pipe and cwnd"
    //= tests: congestion::the_first_two_duplicates_let_one_new_segment_out_each_and_the_window_stays
    fn limited_transmit_allows(&self) -> bool {
        self.config.limited_transmit
            || self.recovery.state != super::RecoveryState::Disorder
            || self.queue.packets_out() < self.congestion.window.cwnd
    }

    /// Whether Nagle's rule keeps `next` back, in Minshall's variant (RFC 9293 §3.7.4): the stream's short tail waits for
    /// an earlier short segment.
    #[inline]
    fn nagle_keeps(&self, next: &SentSegment) -> bool {
        let full = next.len >= self.agreed.mss;
        let last = self.queue.unsent() == 1;
        self.send.nagle && last && !full && !next.fin && !self.send.fin_queued && self.small_outstanding()
    }

    /// Whether Nagle's rule alone keeps the first unsent segment, for which the window has room.
    pub(crate) fn nagle_holds(&self) -> bool {
        let has_room = self.in_flight() < self.congestion.window.cwnd;
        has_room && self.queue.first_unsent().is_some_and(|next| self.nagle_keeps(next))
    }

    /// Whether the first unsent segment may leave now, given room in the window.
    //= RFC 9293 §3.9.1.2 (MUST-60): "MUST NOT buffer data indefinitely"
    //= tests: push::the_last_segment_of_all_that_is_there_is_pushed_and_nothing_stays_behind, zero_window::nagle_holds_a_short_tail_only_while_a_short_segment_is_out
    fn may_send_new(&mut self, now: Instant) -> bool {
        let Some(next) = self.queue.first_unsent() else { return false };
        if self.nagle_keeps(next) {
            return false;
        }
        if !self.limited_transmit_allows() {
            return false;
        }
        self.host.is_in_burst() || self.begin_burst(now)
    }

    /// Whether the host lets the first unsent segment begin a burst. Segments that join a burst are not asked about.
    #[inline(never)]
    fn begin_burst(&mut self, now: Instant) -> bool {
        use super::RecoveryState as R;
        // Data that is queued beyond the window of this subflow's last acknowledgement may leave, because another
        // subflow brought the larger window.
        let edge = (self.send.una + self.peer_window.bytes).max(self.send.queued_end);
        let sending = Sending {
            queue: &self.queue,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
            cwnd: self.congestion.window.cwnd,
            in_flight: self.in_flight(),
            mss: self.agreed.mss,
            recovering: matches!(self.recovery.state, R::Reduction | R::Recovery | R::Loss),
            last_sent: self.send.last_sent,
            offered: edge.saturating_sub(self.send.nxt),
            peer_window: self.peer_window.bytes,
            nagle_holds: self.send.nagle && self.small_outstanding(),
            fin_queued: self.send.fin_queued,
            backlog: self.backlog,
            queues: self.send.queues,
        };
        self.host.begin_burst(now, &sending)
    }

    /// Restarts the window after an idle period (RFC 5681 §4.1), or as the host does it.
    #[inline(never)]
    fn restart_after_idle(&mut self, now: Instant) {
        let Some(last) = self.send.last_sent else { return };
        self.send.idle_for = Some(now.since(last));
        if !self.config.restart_after_idle {
            return;
        }
        let rto = self.rtt.base_rto();
        let idle = now.since(last);
        let least = self.config.initial_window.min(self.congestion.window.cwnd);
        if idle <= rto {
            return;
        }
        let Tcp { host, congestion, queue, send, .. } = self;
        host.restart(&mut congestion.window, least, idle, rto, queue, send.queues);
    }

    fn send_new(&mut self, now: Instant) -> Outgoing {
        if self.path_mtu.raise_at <= now {
            self.join_mtu_probe();
        }
        if self.queue.packets_out() == 0 {
            self.restart_after_idle(now);
            self.round.start = Some(now);
            self.round.end = self.send.nxt;
            if self.delivery.at < now {
                // The rate is measured from the first segment of a flight.
                self.delivery.at = now;
            }
        }
        let left = self.host.sent();
        // The queued data leaves its buffer with the burst; the rest gets a buffer of its own.
        let splits = self.send.queues && left.last;
        let leaves = self.leaves_at(now);
        let name = self.queue.mark_sent(leaves, left.first, splits, self.delivery.bytes, self.delivery.at);
        if self.pushes() {
            self.queue.mark_push(name);
        }
        if self.queue.get(name).is_some_and(|s| s.len > 0 && s.len < self.agreed.mss) {
            self.send.small_end = self.queue.get(name).map_or(0, |s| s.end());
        }
        if self.recovery.in_reduction() {
            self.recovery.prr.out += 1;
        }
        self.send.last_sent = Some(now);
        let out = self.account(now, name, false);
        self.send.nxt = self.send.nxt.max(self.queue.get(name).map_or(0, |s| s.end()));
        self.arm_after_sending(now);
        out
    }

    //= RFC 6298 §5: "An implementation MUST manage the retransmission timer(s) in such a way that a segment is never
    //= retransmitted too early, i.e., less than one RTO after the previous transmission of that segment"
    //= tests: timeouts::the_timer_repeats_nothing_sooner_than_a_timeout_after_it_was_last_sent
    #[inline(never)]
    fn retransmit(&mut self, now: Instant, name: u64) -> Option<Outgoing> {
        if self.queue.get(name).is_some_and(|s| self.is_too_large(s.len)) {
            // A probe of the path's MTU is sent again in pieces, of which this is the first.
            self.queue.divide(self.agreed.mss, name..name + 1);
            self.postpone_mtu_probe(now);
        }
        self.queue.mark_retransmitted(name, self.leaves_at(now), self.delivery.bytes, self.delivery.at);
        if self.recovery.in_reduction() {
            self.recovery.prr.out += 1;
        }
        self.note_retransmission(timestamp(now));
        let head = self.queue.sent_names().start == name;
        if head || self.timers.retransmit.is_none() {
            self.arm_rto(now);
        }
        Some(self.account(now, name, true))
    }

    /// Whether a tail loss probe leaves next.
    pub(crate) fn loss_probe_is_due(&self) -> bool {
        self.due.loss_probe
    }

    /// Sends a tail loss probe (RFC 8985 §7.3): new data if there is some, otherwise the last segment again.
    #[inline(never)]
    fn loss_probe(&mut self, now: Instant) -> Outgoing {
        // With timestamps each answer measures a round trip, whatever it acknowledges.
        if !self.agreed.timestamps {
            self.rtt.probe_sent();
        }
        if self.queue.first_unsent().is_some() {
            let out = self.send_new(now);
            self.recovery.probe = Some((self.send.nxt, false));
            self.arm_rto(now);
            return out;
        }
        //= RFC 8985 §7.3: "If such an unsent segment is not available, then the sender SHOULD retransmit the highest-sequence
        //= segment sent so far and set TLP.is_retrans to true"
        //= tests: loss_recovery::a_lost_tail_is_probed_after_two_round_trips
        let last = self.queue.sent_names().end - 1;
        self.queue.mark_retransmitted(last, self.leaves_at(now), self.delivery.bytes, self.delivery.at);
        self.recovery.probe = Some((self.send.nxt, true));
        self.arm_rto(now);
        self.account(now, last, true)
    }

    fn account(&mut self, now: Instant, name: u64, again: bool) -> Outgoing {
        let s = *self.queue.get(name).expect("a segment was just marked as sent");
        if s.len > 0 {
            self.counters.data_segments_sent += 1;
            self.counters.data_bytes_sent += u64::from(s.len);
            self.counters.retransmitted_segments += u64::from(again);
            self.pace(now, s.len);
        }
        Outgoing::Data { name, ssn: s.ssn, data: s.data(), fin: s.fin, again }
    }

    /// Asks the peer for its window with an old sequence number (RFC 9293 §3.8.6.1).
    pub(crate) fn probe_window(&mut self) {
        self.due.window_probe = true;
    }

    /// Makes an acknowledgement without data leave, whatever else leaves, because it carries a signal of the
    /// connection.
    pub(crate) fn signal(&mut self) {
        self.due.signal = true;
    }

    /// Notes that other subflows' data has waited for the segment just received; see
    /// [`SubflowReceiver::fills_hole_of_stream`](super::receive::SubflowReceiver::fills_hole_of_stream).
    pub(crate) fn fills_hole_of_stream(&mut self) {
        self.receiver.fills_hole_of_stream();
    }

    /// Makes an acknowledgement leave as soon as possible.
    pub(crate) fn ack_now(&mut self) {
        self.receiver.ack_now();
    }

    /// Builds the segment: numbers, flags, timestamps, data. `window` is the receive window after the acknowledgement,
    /// in bytes.
    pub(crate) fn header(&mut self, now: Instant, out: &Outgoing, window: u64, segment: &mut Segment) {
        //= RFC 9293 §3.9.1.1 (MUST-45): "TCP implementations MUST use the same local address that was used in those previous
        //= segments"
        //= tests: handshake::segments_of_a_connection_have_the_addresses_of_its_first
        segment.reset(self.local, self.remote);
        segment.seq = self.opening.isn.wrapping_add(match out {
            Outgoing::Syn => 0,
            Outgoing::Data { ssn, .. } => *ssn as u32,
            Outgoing::Ack => self.send.nxt as u32,
            Outgoing::WindowProbe => (self.send.una.max(1) - 1) as u32,
        });
        if self.opening.peer_synced {
            segment.flags |= Flags::ACK;
            segment.ack = self.opening.peer_isn.wrapping_add(self.receiver.next() as u32);
        }
        //= RFC 7323 §3.2: "the TSopt MUST be sent in every non-<RST> segment for the duration of the connection"
        //= tests: acceptance::timestamps_are_in_every_segment_or_in_none
        //= RFC 7323 §3.2: "MAY send a TSopt in <SYN,ACK> only if it received a TSopt in the initial <SYN> segment for the
        //= connection"
        //= tests: acceptance::timestamps_are_in_every_segment_or_in_none
        if self.agreed.timestamps
            || (*out == Outgoing::Syn && self.state == TcpState::SynSent && self.config.timestamps)
        {
            segment.options.timestamps = Some(self.timestamps(now));
        }
        match out {
            //= RFC 9293 §3.2 (MUST-65): "MUST NOT be sent in other segments"
            //= tests: handshake::each_syn_names_the_segment_size_and_nothing_else_does
            Outgoing::Syn => self.syn_header(segment, window),
            _ => {
                let field = window >> self.agreed.window_shift;
                segment.window = field.min(u64::from(u16::MAX)) as u16;
                if self.receiver.echo_congestion {
                    segment.flags |= Flags::ECE;
                }
            }
        }
        if let Outgoing::Data { name, fin, data, again, .. } = out {
            segment.payload = self.queue.payload(*name).cloned().unwrap_or_default();
            if *fin {
                segment.flags |= Flags::FIN;
            }
            if data.start < data.end {
                self.set_push(*name, *again, segment);
                if self.due.cwr {
                    self.due.cwr = false;
                    segment.flags |= Flags::CWR;
                }
            }
        }
    }

    /// Whether the segment just sent gets PSH: at the end of all data, or at the end of a buffer that ended a
    /// scheduler's grant.
    //= RFC 9293 §3.9.1.2 (MUST-61): "MUST set the PSH bit in the last buffered segment (i.e., when there is no more queued data to
    //= be sent)"
    //= tests: push::the_last_segment_of_all_that_is_there_is_pushed_and_nothing_stays_behind
    fn pushes(&self) -> bool {
        let pushed = self.send.queues && self.host.pushes_grants() && self.queue.last_sent_is_pushed();
        let at_end = self.queue.unsent() == 0 && !self.backlog;
        at_end || pushed
    }

    /// Sets PSH for a segment marked for it, at the end of a record, or at the end of a burst of several segments. A
    /// retransmission has the flag that the original had, unless that was only for the end of its burst.
    fn set_push(&self, name: u64, again: bool, segment: &mut Segment) {
        let ends_burst = !again && self.host.pushes_burst();
        if ends_burst || self.queue.get(name).is_some_and(|s| s.psh || s.ends_record) {
            segment.flags |= Flags::PSH;
        }
    }

    /// Adds `part`, which leaves with the segment before it: as [`Tcp::header`] and [`Tcp::finish`], but without a
    /// header of its own.
    pub(crate) fn add_part(&mut self, part: &Outgoing, segment: &mut Segment) {
        if let Outgoing::Data { name, fin, .. } = part {
            if *fin {
                segment.flags |= Flags::FIN;
            }
            self.set_push(*name, false, segment);
        }
        self.receiver.repeat_ack();
    }

    /// Whether there are SACK blocks to report.
    pub(crate) fn has_blocks(&self) -> bool {
        self.receiver.has_blocks()
    }

    /// Adds SACK blocks in the option space that all else has left.
    pub(crate) fn finish(&mut self, segment: &mut Segment) {
        if segment.flags.contains(Flags::ACK) && self.agreed.sack && self.receiver.has_blocks() {
            let mut room = segment.options.free_sack_blocks();
            if !segment.payload.is_empty() {
                let left = self.path_mtu.mtu.saturating_sub(segment.ip_len());
                room = room.min((left.saturating_sub(4) / 8) as usize);
            }
            if room > 0 {
                segment.options.sack = self.receiver.sack_blocks(self.opening.peer_isn, room);
            }
        }
        debug_assert!(segment.options.wire_len() <= MAX_OPTION_BYTES, "options fit the header: {:?}", segment.options);
        if segment.flags.contains(Flags::ACK) {
            self.receiver.ack_sent(u64::from(segment.window) << self.agreed.window_shift);
        }
    }

    /// The ECN codepoint of a segment (RFC 3168 §6.1): only new data is ECN-capable.
    //= RFC 9293 §3.8.2 (SHLD-8): "A TCP endpoint SHOULD implement ECN as described in RFC 3168"
    //= tests: ecn::it_is_asked_for_and_agreed_on_in_the_handshake, ecn::a_mark_is_echoed_until_answered_and_halves_the_window_once
    pub(crate) fn ecn_of(&self, out: &Outgoing) -> Ecn {
        match out {
            Outgoing::Data { data, again: false, .. } if self.agreed.ecn && data.start < data.end => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }
}
