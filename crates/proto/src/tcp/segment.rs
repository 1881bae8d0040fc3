//! Processing of an arriving segment (RFC 9293 §3.10.7).

use super::receive::Arrival;
use super::{Changes, Ended, Peers, Tcp, TcpState, Verdict};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::Dss;
use pathweave_wire::{Ecn, Flags, Payload, Segment};

/// Age up to which timestamps can be compared (RFC 7323 §5.5).
const TIMESTAMP_VALID: Duration = Duration::from_secs(24 * 24 * 3600);

/// An acknowledgement whose sequence number is behind by at most this many bytes, or by at most a window, may have been
/// overtaken by data, so its sender needs no answer.
const OVERTAKEN: u64 = 1 << 16;

/// Interval between answers of a host that answers such acknowledgements too (Linux: `tcp_invalid_ratelimit`).
const BETWEEN_ANSWERS: Duration = Duration::from_millis(500);

/// A segment that has arrived, and how its data may be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) segment: &'a Segment,
    /// ECN codepoint of the packet.
    pub(crate) ecn: Ecn,
    /// Data sequence signal of the segment, or the one that its MP_CAPABLE implies.
    pub(crate) dss: Option<&'a Dss>,
    /// Whether waiting data takes too much memory, so that data beyond a hole is no longer kept.
    pub(crate) full: bool,
    /// Whether kept data is copied.
    pub(crate) copies: bool,
    /// Whether there is no memory for the segment's data. New data and a FIN behind it are then dropped; all else
    /// counts.
    pub(crate) no_memory: bool,
}

impl Tcp {
    /// Processes an arriving segment. `acceptable` is the number of bytes beyond the next expected one that may be
    /// accepted.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        input: Input<'_>,
        acceptable: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) {
        self.host.look_again();
        match self.state {
            TcpState::Closed => {}
            TcpState::SynSent => self.handle_in_syn_sent(now, input.segment, peers, changes),
            _ => self.handle_synchronised(now, input, acceptable, peers, changes),
        }
    }

    /// Whether the segment's numbers are right for the present state, so that its handshake options count. The subflow
    /// must not be closed.
    pub(crate) fn is_plausible(&self, segment: &Segment, acceptable: u64) -> bool {
        match self.state {
            TcpState::SynSent => !segment.flags.contains(Flags::ACK) || segment.ack == self.opening.isn.wrapping_add(1),
            _ => {
                let next = self.receiver.next();
                let delta = segment.seq.wrapping_sub(self.opening.peer_isn.wrapping_add(next as u32)) as i32;
                let Some(seq) = next.checked_add_signed(i64::from(delta)) else { return false };
                let len = u64::from(segment.sequence_len());
                let in_window = seq + len >= next && seq <= next + acceptable;
                let acknowledges = match self.state {
                    // Nothing but our SYN is out.
                    TcpState::SynReceived => segment.ack == self.opening.isn.wrapping_add(1),
                    _ => self.acceptable_ack(segment).is_some(),
                };
                in_window && segment.flags.contains(Flags::ACK) && acknowledges
            }
        }
    }

    /// Whether a segment begins where the next byte is expected. A reset must do so (RFC 5961 §3.2).
    pub(crate) fn is_next(&self, segment: &Segment) -> bool {
        segment.seq == self.opening.peer_isn.wrapping_add(self.receiver.next() as u32)
    }

    /// Whether a plausible segment acknowledges data, not only our SYN or a FIN. Before the subflow is open, none does.
    pub(crate) fn acknowledges_data(&self, segment: &Segment) -> bool {
        let has_data = self.send.queued_end - u64::from(self.send.fin_queued) > 1;
        has_data && self.own_relative(segment.ack).is_some_and(|ack| ack > 1)
    }

    fn handle_synchronised(
        &mut self,
        now: Instant,
        input: Input<'_>,
        acceptable: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) {
        let segment = input.segment;
        self.receiver.held_window = if input.full { 0 } else { acceptable };
        self.receiver.copies = input.copies;
        let next = self.receiver.next();
        let delta = segment.seq.wrapping_sub(self.opening.peer_isn.wrapping_add(next as u32)) as i32;
        let seq = next.checked_add_signed(i64::from(delta));
        let len = u64::from(segment.sequence_len());
        let Some(seq) = seq else {
            return self.reject(segment, 0, changes);
        };
        if self.is_outdated(now, segment) {
            return self.reject(segment, seq, changes);
        }
        if segment.flags.contains(Flags::RST) {
            return self.handle_reset(seq, acceptable, changes);
        }
        if segment.flags.contains(Flags::SYN) {
            return self.handle_late_syn(segment, seq, changes);
        }
        let old_probe = len == 0 && seq + 1 == next;
        // A segment without data may be exactly at the edge.
        if seq + len.min(1) > next + acceptable {
            return self.reject(segment, seq, changes);
        }
        //= RFC 7323 §3.2: "When the ACK bit is not set, the receiver MUST ignore the value of the TSecr field"
        //= tests: acceptance::only_acceptable_segments_in_order_set_the_timestamp_that_others_are_held_against
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if self.state == TcpState::SynReceived && !self.complete_handshake(now, segment, seq, peers, changes) {
            return;
        }
        //= RFC 5961 §5.2: "All incoming segments whose ACK value doesn't satisfy the above condition MUST be discarded and an ACK sent
        //= back"
        //= tests: blind_attacks::an_acknowledgement_older_than_any_window_is_challenged_and_its_data_dropped
        //= RFC 9293 §3.10.7.4 (MAY-12): "RFC 5961 [9], Section 5 describes a potential blind data injection attack, and mitigation
        //= that implementations MAY choose to include"
        //= tests: blind_attacks::an_acknowledgement_older_than_any_window_is_challenged_and_its_data_dropped
        if !self.handle_ack(now, segment, seq, peers, changes) {
            changes.verdict = Verdict::Challenged;
            return;
        }
        self.take_timestamp(now, segment, seq, len);
        changes.verdict = if seq + len >= next { Verdict::Current } else { Verdict::Acceptable };
        if old_probe {
            self.receiver.ack_now();
        } else if len == 0 && seq < self.receiver.acked_next() {
            changes.outdated = self.answers_old(now, seq, acceptable);
        }
        if input.no_memory && seq + len > next {
            changes.no_memory = true;
            return self.follow_fins(now, false);
        }
        // Data beyond the edge is cut off before anything is acknowledged, because the connection has no room for it.
        if seq + len > next + acceptable {
            let room = (next + acceptable).saturating_sub(seq).min(u64::from(segment.payload.len()));
            self.handle_data(now, input, seq, segment.payload.slice(0, room as u32), false, changes);
        } else {
            let fin = segment.flags.contains(Flags::FIN);
            self.handle_data(now, input, seq, segment.payload.clone(), fin, changes);
        }
        self.follow_fins(now, segment.flags.contains(Flags::FIN));
    }

    /// Whether the segment's timestamp is older than one that came before (PAWS, RFC 7323 §5). A reset's does not count.
    #[inline]
    fn is_outdated(&self, now: Instant, segment: &Segment) -> bool {
        //= RFC 7323 §5.3: "If there is a Timestamps option in the arriving segment, SEG.TSval < TS.Recent, TS.Recent is valid (see
        //= later discussion), and if the RST bit is not set, then treat the arriving segment as not acceptable"
        //= tests: blind_attacks::an_old_empty_segment_is_answered_ten_times_in_five_seconds
        //= RFC 7323 §3.2: "A TCP MUST NOT abort a TCP connection because any segment lacks an expected TSopt"
        //= tests: acceptance::segments_that_lack_their_timestamps_end_nothing
        let (true, Some(t)) = (self.agreed.timestamps, segment.options.timestamps) else { return false };
        let old = (t.value.wrapping_sub(self.receiver.clock.recent) as i32) < 0;
        // §5.5: after 24 days the comparison means nothing.
        //= RFC 7323 §5.5: "To detect how long the connection has been idle, the TCP MAY update a clock or timestamp value
        //= associated with the connection whenever TS.Recent is updated"
        //= tests: sequence_numbers::an_idle_time_of_half_the_timestamp_clock_does_not_block
        //= RFC 7323 §5.5: "We therefore require that an implementation of PAWS include a mechanism to "invalidate" the
        //= TS.Recent value when a connection is idle for more than 24 days"
        //= tests: sequence_numbers::an_idle_time_of_half_the_timestamp_clock_does_not_block
        let valid = now.since(self.receiver.clock.recent_at) < TIMESTAMP_VALID;
        //= RFC 7323 §5.2: "When an <RST> segment is received, it MUST NOT be subjected to the PAWS check by verifying an
        //= acceptable value in SEG.TSval"
        //= tests: acceptance::a_reset_with_an_older_timestamp_counts
        old && valid && !segment.flags.contains(Flags::RST)
    }

    /// Handles a reset at `seq` (RFC 5961 §3.2).
    #[cold]
    fn handle_reset(&mut self, seq: u64, acceptable: u64, changes: &mut Changes) {
        //= RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next expected sequence
        //= number (RCV.NXT), then TCP MUST reset the connection"
        //= tests: fastclose::resets_count_only_at_the_exact_number
        //= RFC 9293 §3.4 (MUST-66): "A TCP receiver MUST process the RST and URG fields of all incoming segments, even when the
        //= receive window is zero"
        //= tests: acceptance::a_reset_counts_with_data_and_where_the_window_is_closed
        //= RFC 9293 §3.5.3 (SHLD-2): "TCP implementations SHOULD allow a received RST segment to include data"
        //= tests: acceptance::a_reset_counts_with_data_and_where_the_window_is_closed
        if seq == self.receiver.next() {
            self.abort();
            changes.ended = Some(Ended::Reset);
            changes.verdict = Verdict::Current;
        //= RFC 5961 §3.2: "In all other cases, where the SEQ-field does not match and is outside the window, the receiver MUST
        //= silently discard the segment"
        //= tests: blind_attacks::a_reset_outside_of_the_window_is_not_answered
        } else if (self.receiver.next()..self.receiver.next() + acceptable).contains(&seq) {
            //= RFC 5961 §3.2: "If the RST bit is set and the sequence number does not exactly match the next expected sequence
            //= value, yet is within the current receive window (RCV.NXT < SEG.SEQ < RCV.NXT+RCV.WND), TCP MUST send an
            //= acknowledgment (challenge ACK)"
            //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds
            changes.verdict = Verdict::Challenged;
        }
    }

    /// Handles a SYN at `seq` after our own was answered.
    #[cold]
    fn handle_late_syn(&mut self, segment: &Segment, seq: u64, changes: &mut Changes) {
        // The peer's SYN again. With an acknowledgement it is no honest peer's, because after a simultaneous open
        // this side stays in SYN-SENT.
        if self.state == TcpState::SynReceived && seq == 0 && !segment.flags.contains(Flags::ACK) {
            self.opening.syn_due = true;
            return;
        }
        //= RFC 5961 §4.2: "If the SYN bit is set, irrespective of the sequence number, TCP MUST send an ACK (also referred to as
        //= challenge ACK) to the remote peer"
        //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds
        changes.verdict = Verdict::Challenged;
    }

    /// Completes the handshake if the segment acknowledges our SYN/ACK. Returns whether it does.
    #[cold]
    fn complete_handshake(
        &mut self,
        now: Instant,
        segment: &Segment,
        seq: u64,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) -> bool {
        if seq + u64::from(segment.sequence_len()) < self.receiver.next() {
            // An old segment, such as a keep-alive probe, completes no handshake.
            return false;
        }
        if segment.ack != self.opening.isn.wrapping_add(1) {
            //= RFC 9293 §3.10.7.4: "If the segment acknowledgment is not acceptable, form a reset segment"
            //= tests: handshake::only_the_acknowledgement_of_the_syn_ack_completes_the_handshake
            changes.verdict = Verdict::Refused;
            return false;
        }
        self.send.una = 1;
        self.establish(now, peers, changes);
        true
    }

    /// Whether a segment without data and with an old sequence number is answered: "If an incoming segment is not
    /// acceptable, an acknowledgment should be sent in reply" (RFC 9293 §3.10.7.4).
    #[cold]
    fn answers_old(&mut self, now: Instant, seq: u64, acceptable: u64) -> bool {
        if !self.host.answers_overtaken() {
            return seq + acceptable.max(OVERTAKEN) < self.receiver.acked_next();
        }
        let due = self.receiver.answered_old.is_none_or(|at| now.since(at) >= BETWEEN_ANSWERS);
        if due {
            self.receiver.answered_old = Some(now);
        }
        due
    }

    /// Remembers the timestamp of an acceptable segment for the next acknowledgement, if the segment is the earliest
    /// that this will cover (RFC 7323 §4.3). Not of a segment that is wholly older, out of order, or acknowledges the
    /// impossible: otherwise one forged segment could silence the peer (§5.3).
    //= RFC 7323 §5.3: "If an arriving segment satisfies SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent (see Section 4.3),
    //= then record its timestamp in TS.Recent"
    //= tests: acceptance::only_acceptable_segments_in_order_set_the_timestamp_that_others_are_held_against
    fn take_timestamp(&mut self, now: Instant, segment: &Segment, seq: u64, len: u64) {
        let acked = self.receiver.acked_next();
        if let (true, Some(t)) = (self.agreed.timestamps, segment.options.timestamps)
            && (seq..=seq + len).contains(&acked)
        {
            self.receiver.clock.recent = t.value;
            self.receiver.clock.recent_at = now;
        }
    }

    /// Answers an unacceptable segment, unless it is a reset (RFC 9293 §3.10.7.4, first step). Data that has arrived
    /// already is reported as a duplicate (RFC 2883 §4), because its sender may have repeated it needlessly.
    ///
    /// If the segment has no data, the answer counts as a challenge: otherwise two ends that take each other's
    /// acknowledgements for old ones would answer each other for ever.
    #[cold]
    fn reject(&mut self, segment: &Segment, seq: u64, changes: &mut Changes) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.payload.is_empty() && !segment.flags.contains(Flags::FIN) {
            changes.verdict = Verdict::Challenged;
            return;
        }
        self.receiver.note_duplicate(seq, seq + u64::from(segment.payload.len()));
        self.receiver.ack_now();
    }

    /// Takes the data, and a FIN behind it, as far as there is room.
    #[inline]
    fn handle_data(
        &mut self,
        now: Instant,
        input: Input<'_>,
        seq: u64,
        payload: Payload,
        fin: bool,
        changes: &mut Changes,
    ) {
        let segment = input.segment;
        let len = payload.len();
        let echo = segment.options.timestamps.filter(|_| self.agreed.timestamps).map(|t| self.opening.own_time(t.echo));
        if len == 0 && !fin {
            // The kernel measures nothing by the end of the handshake, nor by plain acknowledgements, which take a
            // shorter way (`tcp_rcv_established`).
            let has_signal = segment.options.dss.is_some() || !segment.options.mptcp.is_empty();
            if has_signal && !changes.established {
                self.receiver.take_echo(now, 0, echo);
            }
            return;
        }
        if self.agreed.ecn {
            if segment.flags.contains(Flags::CWR) {
                self.receiver.echo_congestion = false;
            }
            if input.ecn == Ecn::Ce {
                self.receiver.echo_congestion = true;
            }
        }
        let first = changes.arrived.len();
        let arrival = Arrival {
            ssn: seq,
            payload,
            mapping: input.dss.and_then(|d| d.mapping),
            data_fin: input.dss.is_some_and(|d| d.data_fin),
        };
        // Segments that have arrived joined count one by one, each with its own length, but they are acknowledged
        // together.
        let part = segment.segment_size.map_or(len, |size| len.min(u32::from(size)));
        self.counters.data_segments_received += u64::from(segment.part_count());
        self.receiver.full_segment = self.receiver.full_segment.max(part);
        let had_fin = self.receiver.fin_in_order();
        let received = self.receiver.receive(arrival, fin, &mut changes.arrived);
        if received == super::receive::Received::Duplicate {
            self.counters.duplicate_segments_received += 1;
        }
        debug_assert!(changes.arrived.len() >= first, "arrivals are only appended");
        changes.fin = self.receiver.fin_in_order() && !had_fin;
        let short = segment
            .segment_size
            .is_some_and(|size| part < self.receiver.full_segment || !len.is_multiple_of(size.max(1).into()));
        let pushed = short || segment.flags.contains(Flags::PSH);
        self.receiver.note(now, received, changes.fin, pushed, len, echo);
    }

    /// Changes the state after FINs: ours acknowledged, or the peer's received. `fin`: the segment has a FIN.
    fn follow_fins(&mut self, now: Instant, fin: bool) {
        let ours_acked = self.send.fin_queued && self.send.una == self.send.queued_end;
        let theirs = self.receiver.fin_in_order();
        self.state = match (self.state, ours_acked, theirs) {
            (TcpState::Established, _, true) => TcpState::CloseWait,
            (TcpState::FinWait1, true, true) | (TcpState::Closing, true, _) | (TcpState::FinWait2, _, true) => {
                return self.start_time_wait(now);
            }
            (TcpState::FinWait1, true, false) => TcpState::FinWait2,
            (TcpState::FinWait1, false, true) => TcpState::Closing,
            (TcpState::LastAck, true, _) => return self.abort(),
            (state, _, _) => state,
        };
        if self.state == TcpState::TimeWait && fin {
            self.start_time_wait(now);
        }
    }
}
