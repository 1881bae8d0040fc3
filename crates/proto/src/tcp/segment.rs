//! What an arriving segment does (RFC 9293 §3.10.7).

use super::receive::Arrival;
use super::{Changes, Ended, Peers, State, Tcp, Verdict};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::Dss;
use pathweave_wire::{Ecn, Flags, Payload, Segment};

/// How long a timestamp can be compared with (RFC 7323 §5.5).
const TIMESTAMP_VALID: Duration = Duration::from_secs(24 * 24 * 3600);

/// An acknowledgement that lies less than this, and less than a window, behind what was acknowledged may have been overtaken by data: its
/// sender needs no answer.
const OVERTAKEN: u64 = 1 << 16;

/// A host that answers such ones too does so this often (Linux: `tcp_invalid_ratelimit`).
const BETWEEN_ANSWERS: Duration = Duration::from_millis(500);

/// A segment that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) segment: &'a Segment,
    /// Its packet's codepoint.
    pub(crate) ecn: Ecn,
    /// Its data sequence signal, or the one that its MP_CAPABLE stands for.
    pub(crate) dss: Option<&'a Dss>,
    /// All that waits takes too much memory: next to nothing beyond a hole is kept.
    pub(crate) full: bool,
    /// What is kept is copied.
    pub(crate) copies: bool,
    /// There is no memory for its data: new data is left, with a FIN behind it, and all else counts.
    pub(crate) no_memory: bool,
}

impl Tcp {
    /// Handles an arriving segment. `acceptable` is how many bytes beyond the next one expected may be taken.
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
            State::Closed => {}
            State::SynSent => self.handle_in_syn_sent(now, input.segment, peers, changes),
            _ => self.handle_synchronised(now, input, acceptable, peers, changes),
        }
    }

    /// Whether the numbers are such that handshake options of the segment count: it could change this state, which is not the end.
    pub(crate) fn is_plausible(&self, segment: &Segment, acceptable: u64) -> bool {
        match self.state {
            State::SynSent => !segment.flags.contains(Flags::ACK) || segment.ack == self.opening.isn.wrapping_add(1),
            _ => {
                let next = self.receiver.next();
                let delta = segment.seq.wrapping_sub(self.opening.peer_isn.wrapping_add(next as u32)) as i32;
                let Some(seq) = next.checked_add_signed(i64::from(delta)) else { return false };
                let len = u64::from(segment.sequence_len());
                let in_window = seq + len >= next && seq <= next + acceptable;
                let acknowledges = match self.state {
                    // Nothing but our SYN is out.
                    State::SynReceived => segment.ack == self.opening.isn.wrapping_add(1),
                    _ => self.acceptable_ack(segment).is_some(),
                };
                in_window && segment.flags.contains(Flags::ACK) && acknowledges
            }
        }
    }

    /// Whether a segment begins where the next byte is expected.
    pub(crate) fn is_next(&self, segment: &Segment) -> bool {
        segment.seq == self.opening.peer_isn.wrapping_add(self.receiver.next() as u32)
    }

    /// A plausible segment acknowledges something after our SYN, which is more than a FIN. There is none before the subflow is open.
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
        //= RFC 7323 §5.3: "If there is a Timestamps option in the arriving segment, SEG.TSval < TS.Recent, TS.Recent is valid (see
        //= later discussion), and if the RST bit is not set, then treat the arriving segment as not acceptable"
        //= tests: blind_attacks::an_old_empty_segment_is_answered_ten_times_in_five_seconds
        //= RFC 7323 §3.2: "A TCP MUST NOT abort a TCP connection because any segment lacks an expected TSopt"
        //= tests: acceptance::segments_that_lack_their_timestamps_end_nothing
        if let (true, Some(t)) = (self.agreed.timestamps, segment.options.timestamps) {
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
            if old && valid && !segment.flags.contains(Flags::RST) {
                return self.reject(segment, seq, changes);
            }
        }
        if segment.flags.contains(Flags::RST) {
            // RFC 5961 §3.2.
            //= RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next expected sequence
            //= number (RCV.NXT), then TCP MUST reset the connection"
            //= tests: fastclose::resets_count_only_at_the_exact_number
            //= RFC 9293 §3.4 (MUST-66): "A TCP receiver MUST process the RST and URG fields of all incoming segments, even when the
            //= receive window is zero"
            //= tests: acceptance::a_reset_counts_with_data_and_where_the_window_is_closed
            //= RFC 9293 §3.5.3 (SHLD-2): "TCP implementations SHOULD allow a received RST segment to include data"
            //= tests: acceptance::a_reset_counts_with_data_and_where_the_window_is_closed
            if seq == next {
                self.abort();
                changes.ended = Some(Ended::Reset);
                changes.verdict = Verdict::Current;
            //= RFC 5961 §3.2: "In all other cases, where the SEQ-field does not match and is outside the window, the receiver MUST
            //= silently discard the segment"
            //= tests: blind_attacks::a_reset_outside_of_the_window_is_not_answered
            } else if (next..next + acceptable).contains(&seq) {
                //= RFC 5961 §3.2: "If the RST bit is set and the sequence number does not exactly match the next expected sequence
                //= value, yet is within the current receive window (RCV.NXT < SEG.SEQ < RCV.NXT+RCV.WND), TCP MUST send an
                //= acknowledgment (challenge ACK)"
                //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds
                changes.verdict = Verdict::Challenged;
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            // The peer's SYN again. With an acknowledgement it is nobody's: a simultaneous open stays in SYN-SENT here.
            if self.state == State::SynReceived && seq == 0 && !segment.flags.contains(Flags::ACK) {
                self.opening.syn_due = true;
                return;
            }
            //= RFC 5961 §4.2: "If the SYN bit is set, irrespective of the sequence number, TCP MUST send an ACK (also referred to as
            //= challenge ACK) to the remote peer"
            //= tests: blind_attacks::blind_resets_syns_and_acknowledgements_are_challenged_ten_times_in_five_seconds
            changes.verdict = Verdict::Challenged;
            return;
        }
        let old_probe = len == 0 && seq + 1 == next;
        // Without data it may lie at the edge itself.
        if seq + len.min(1) > next + acceptable {
            return self.reject(segment, seq, changes);
        }
        //= RFC 7323 §3.2: "When the ACK bit is not set, the receiver MUST ignore the value of the TSecr field"
        //= tests: acceptance::only_acceptable_segments_in_order_set_the_timestamp_that_others_are_held_against
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if seq + len < next {
                // An old one, such as a keep-alive probe: it completes no handshake.
                return;
            }
            if segment.ack != self.opening.isn.wrapping_add(1) {
                //= RFC 9293 §3.10.7.4: "If the segment acknowledgment is not acceptable, form a reset segment"
                //= tests: handshake::only_the_acknowledgement_of_the_syn_ack_completes_the_handshake
                changes.verdict = Verdict::Refused;
                return;
            }
            self.send.una = 1;
            self.establish(now, peers, changes);
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
        // What lies beyond the edge is cut off before anything is acknowledged: the connection has no place for it.
        if seq + len > next + acceptable {
            let room = (next + acceptable).saturating_sub(seq).min(u64::from(segment.payload.len()));
            self.handle_data(now, input, seq, segment.payload.slice(0, room as u32), false, changes);
        } else {
            let fin = segment.flags.contains(Flags::FIN);
            self.handle_data(now, input, seq, segment.payload.clone(), fin, changes);
        }
        self.follow_fins(now, segment.flags.contains(Flags::FIN));
    }

    /// Whether a segment without data that lies before what was acknowledged is answered: "If an incoming segment is not acceptable, an
    /// acknowledgment should be sent in reply" (RFC 9293 §3.10.7.4).
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

    /// Remembers the timestamp of an acceptable segment for the next acknowledgement, where it is the earliest that this
    /// covers (RFC 7323 §4.3). Of what lies wholly before that, of what came out of order, and of what acknowledges the
    /// impossible it would let one forged segment silence the peer (§5.3).
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

    /// Answers what is not acceptable (RFC 9293 §3.10.7.4 first step), unless it is a reset. Data that is here already is
    /// reported as a duplicate (RFC 2883 §4): its sender may have repeated it for nothing.
    ///
    /// Where it has no data, the answer counts as a challenge: two ends that take each other's acknowledgements for old ones would
    /// answer each other for ever.
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

    /// Takes as much of the data, and of a FIN behind it, as there is a place for.
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
        if len == 0 && !fin {
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
        // Of segments that have arrived as one each counts, and each is one's length: but they are acknowledged together.
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
        let echo = segment.options.timestamps.filter(|_| self.agreed.timestamps).map(|t| self.opening.own_time(t.echo));
        self.receiver.note(now, received, changes.fin, pushed, len, echo);
    }

    /// State changes of FINs, ours acknowledged and the peer's received. `fin`: the segment has one.
    fn follow_fins(&mut self, now: Instant, fin: bool) {
        let ours_acked = self.send.fin_queued && self.send.una == self.send.queued_end;
        let theirs = self.receiver.fin_in_order();
        self.state = match (self.state, ours_acked, theirs) {
            (State::Established, _, true) => State::CloseWait,
            (State::FinWait1, true, true) | (State::Closing, true, _) | (State::FinWait2, _, true) => {
                return self.start_time_wait(now);
            }
            (State::FinWait1, true, false) => State::FinWait2,
            (State::FinWait1, false, true) => State::Closing,
            (State::LastAck, true, _) => return self.abort(),
            (state, _, _) => state,
        };
        if self.state == State::TimeWait && fin {
            self.start_time_wait(now);
        }
    }
}
