//! Acknowledgements, and the changes that a segment or a timer caused on its subflow.

use super::lifecycle::DataFin;
use super::mode::Mode;
use super::{Connection, ConnectionError, Happening, Kinds, Role, Shared};
use crate::paths::subflow::{Join, Subflow};
use crate::sender::longest_probe_interval;
use crate::tcp::{Changes, Ended, Told, Verdict};
use pathweave_scheduler::{DataSeq, Event, LossKind, SubflowId, SubflowSet};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::ResetReason;
use pathweave_wire::{Flags, Segment};

/// An acknowledgement at the data level, and the state of its subflow.
#[derive(Clone, Copy)]
struct Answer {
    /// The first byte that the peer has not received in order.
    ack: DataSeq,
    /// Size of the peer's window from there on, bytes.
    window: u64,
    /// Whether the acknowledgement is no repetition and not older than the latest one, on its subflow and at the data
    /// level. An attacker may have replayed an older one, or may have acknowledged data that never arrived, so that the
    /// peer's own acknowledgements are older.
    is_current: bool,
    /// Whether the subflow's retransmission timeout was doubled.
    backed_off: bool,
    /// Whether the subflow has data in flight. If not, nothing is retransmitted by itself: lost data then does not wait
    /// for a window.
    out: bool,
}

impl Connection {
    /// Decides when the arrived data is acknowledged, and takes what the segment acknowledges at the data level.
    pub(super) fn take_acknowledgement(&mut self, now: Instant, id: SubflowId, segment: &Segment, changes: &Changes) {
        let (shared, subflow) = (&mut self.shared, self.subflows.at(id).subflow);
        shared.receiver.decide_ack(now, &mut subflow.tcp, &mut subflow.window, shared.is_mptcp());
        // The segment may acknowledge nothing, or data that was never sent.
        let Some(ack) = shared.acknowledge(now, subflow, segment, changes) else { return };
        let newly = self.shared.sender.acknowledge(now, ack);
        if newly > 0 {
            self.shared.host.acknowledge(self.shared.sender.map.first_unacked());
            (self.shared.life.progress_at, self.shared.life.stream_moved_at) = (now, now);
            if self.shared.sender.passing_by {
                self.pass_by_late(now);
            }
        }
        if !changes.acked.is_empty() || newly > 0 {
            let first_unacked = self.shared.sender.map.first_unacked();
            self.shared.news.record(now, Kinds::SEGMENTS, || Happening::Acknowledged {
                subflow: id,
                subflow_bytes: changes.acked.iter().map(|r| r.end.since(r.start)).sum(),
                stream_bytes: newly,
                first_unacked,
            });
            let event = Event::Acked {
                subflow: id,
                mappings: &changes.acked,
                data_ack: ack.min(self.shared.sender.map.written_end()),
                has_sack: changes.has_sack,
            };
            self.shared.tell(now, &event, &self.subflows);
        }
        self.shared.report_writable(&self.subflows);
    }

    /// Applies the changes that a segment or a timer caused on its subflow.
    pub(super) fn apply_changes(&mut self, now: Instant, id: SubflowId, changes: &Changes) {
        let subflow = self.subflows.at(id).subflow;
        if (!changes.acked.is_empty() || !changes.arrived.is_empty()) && subflow.join == (Join::Done { carried: false })
        {
            subflow.join = Join::Done { carried: true };
            self.shared.joins.forget_losses();
        }
        let answers = changes.una_advanced() || (changes.told == Told::Sacked && self.shared.fast_detection());
        if answers && subflow.revive(now) {
            self.follow_revival(now, id);
        }
        if changes.late {
            self.pass_by(now, SubflowSet::only(id));
        }
        if let Some(rtt) = changes.rtt {
            self.shared.tell(now, &Event::RttSample { subflow: id, rtt }, &self.subflows);
        }
        if let Some(kind) = changes.loss {
            self.shared.news.record(now, Kinds::SEGMENTS, || Happening::Lost { subflow: id, kind });
            self.shared.tell(now, &Event::Lost { subflow: id, kind }, &self.subflows);
        }
        let (shared, mut at) = (&mut self.shared, self.subflows.at(id));
        if changes.loss == Some(LossKind::Timeout) {
            shared.handle_subflow_timeout(&mut at);
        }
        if changes.ended == Some(Ended::NeverEstablished) {
            shared.control.push_back(at.subflow.tcp.reset_segment(now));
        }
        if changes.fin && shared.is_mptcp() {
            if shared.follow_subflow_fin(now, &mut at) {
                self.refuse_subflow(now, id, ResetReason::Middlebox);
            }
        } else if (changes.fin || changes.verdict.is_acceptable() && shared.is_plain())
            && shared.end_plain_stream(at.subflow)
        {
            self.reset_subflow(now, id, &[]);
        }
        if let Some(ended) = changes.ended {
            self.follow_end(now, id, ended);
        }
        self.follow_close(now);
    }

    /// Follows the end of a subflow that was not closed in order.
    #[cold]
    fn follow_end(&mut self, now: Instant, id: SubflowId, ended: Ended) {
        if ended != Ended::Reset && self.shared.fast_detection() {
            // The path was silent for long. It counts as dark, so probing it continues.
            self.shared.joins.forget_losses();
        }
        self.lose_subflow(now, id);
        let error = match (ended, self.shared.role) {
            _ if self.shared.life.is_connected() => ConnectionError::Reset,
            (Ended::Unanswered | Ended::NeverEstablished, _) => ConnectionError::ConnectTimeout,
            (Ended::Reset, Role::Client) => ConnectionError::Refused,
            (Ended::Reset, Role::Server) => ConnectionError::Reset,
        };
        self.fail_if_alone(now, error);
    }
}

impl Shared {
    /// Takes the peer's window and the signs of life that come with an acknowledgement at the data level. Returns the
    /// acknowledged position, or nothing if the segment acknowledges nothing.
    fn acknowledge(
        &mut self,
        now: Instant,
        subflow: &mut Subflow,
        segment: &Segment,
        changes: &Changes,
    ) -> Option<DataSeq> {
        if !segment.flags.contains(Flags::ACK) || segment.flags.intersects(Flags::SYN | Flags::RST) {
            return None;
        }
        let (ack, window) = self.acknowledged_by(subflow, segment)?;
        let fin = u64::from(matches!(self.life.data_fin, DataFin::Sent { .. } | DataFin::Acked));
        if ack > self.sender.map.given_end() + fin {
            // Beyond all data that any subflow was given: ignored.
            return None;
        }
        if changes.una_advanced() {
            // Not without a DATA_ACK: if a middlebox removes the option, no data gets through, and the path must not
            // count as alive.
            self.note_living_subflow(now);
        }
        if ack > self.sender.map.written_end() && self.is_mptcp() && self.life.data_fin != DataFin::Acked {
            self.life.data_fin = DataFin::Acked;
            self.life.progress_at = now;
        }
        self.fallback.data_ack_seen |= self.is_mptcp() && ack > DataSeq(0);
        let answer = Answer {
            ack,
            window,
            is_current: changes.verdict == Verdict::Current
                && !changes.overtaken_ack
                && ack >= self.sender.map.first_unacked(),
            backed_off: subflow.tcp.is_backed_off(),
            out: subflow.tcp.queue().packets_out() > 0,
        };
        self.note_answer(now, subflow, answer, changes);
        self.take_window(now, subflow, answer);
        Some(ack)
    }

    /// The position that the segment acknowledges at the data level, and the size of the window from there on.
    fn acknowledged_by(&self, subflow: &Subflow, segment: &Segment) -> Option<(DataSeq, u64)> {
        match self.mode {
            Mode::Plain | Mode::Negotiating { .. } => {
                //= RFC 8684 §3.7: "After a sender signals an infinite mapping, it MUST only use subflow ACKs to clear its send
                //= buffer"
                //= tests: fallback::options_lost_on_the_way_back_only, checksums::a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping
                Some((DataSeq(subflow.tcp.acked_offset()), subflow.tcp.peer_window()))
            }
            //= RFC 8684 §3.3.2: "an implementation MUST NOT use the RCV.WND field of a TCP segment at the connection
            //= level if it does not also carry a DSS option with a Data ACK field"
            //= tests: zero_window::no_byte_beyond_the_window_is_sent_and_a_read_opens_it
            Mode::Agreed(keys) | Mode::Confirmed(keys) => {
                //= RFC 8684 §3.3.2: "an implementation MUST accept either in this situation"
                //= tests: mappings::numbers_of_32_bits_are_taken_by_their_nearest_place
                //= RFC 8684 §3.3.2: "optimizations SHOULD be considered in more advanced implementations, where the Data ACK is
                //= present in segments only when the Data ACK value advances, and this behavior MUST be treated as valid"
                //= tests: dss::a_data_ack_need_not_be_on_every_segment
                //= RFC 8684 §4: "Implementations SHOULD NOT attempt to infer a data-level acknowledgment from the subflow ACKs"
                //= tests: middleboxes::data_that_was_acknowledged_proactively_and_lost_comes_again, dss::a_data_ack_need_not_be_on_every_segment
                let number = segment.options.dss.and_then(|d| d.data_ack);
                let ack = keys.own_position(number?, self.sender.map.first_unacked())?;
                Some((ack, subflow.tcp.window_at_data_ack(segment)))
            }
        }
    }

    /// Notes an answer to a probe of the window, or to data that was sent again into a closed or shrunken window.
    fn note_answer(&mut self, now: Instant, subflow: &mut Subflow, answer: Answer, changes: &Changes) {
        let Answer { window, is_current, .. } = answer;
        let into_closed = is_current && window == 0 && answer.out && self.sender.map.assigned_bytes() > 0;
        // The window of Multipath TCP does not shrink.
        let into_shrunk = self.sender.peer.end < self.sender.map.assigned_end();
        // If data is in flight and the window has room for it, the acknowledgement answers the data, not a probe.
        let to_probe = self.sender.peer.probe.is_some() && (window == 0 || !self.sender.map.is_waiting());
        if is_current && (to_probe || into_closed || into_shrunk) {
            self.life.note_answer(now);
            self.life.stream_moved_at = now;
        }
        if into_closed || (answer.backed_off && changes.una_advanced()) {
            self.repeat_in_time(now, subflow);
        }
    }

    /// Takes the window that the peer offers.
    fn take_window(&mut self, now: Instant, subflow: &mut Subflow, answer: Answer) {
        let Answer { ack, window, .. } = answer;
        let edge = ack + window;
        //= RFC 8684 §3.3.5: "It should only update its local receive window values when the largest sequence number
        //= allowed (i.e., DATA_ACK + receive window) increases on the receipt of a DATA_ACK"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        //= RFC 8684 §3.3.5: "if receive window sizes differ on multiple subflows, when sending data MPTCP SHOULD take the largest
        //= of the most recent window sizes as the one to use in calculations"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        //= RFC 8684 §4: "a host SHOULD use the maximum value of those recently seen on the constituent subflows for the
        //= connection-level receive window and also needs to maintain a subflow-level window for subflow-level processing"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        if edge > self.sender.peer.end {
            self.sender.peer.end = edge;
            self.sender.peer.probe = None;
        } else if !self.is_mptcp() && edge + subflow.tcp.peer_window_step() <= self.sender.peer.end {
            self.obey_shrunk_window(subflow, edge);
        }
        if answer.is_current && self.sender.peer.size == 0 && window > 0 && answer.backed_off && answer.out {
            // What came into the closed window may have been dropped, and waits for a timeout that was doubled meanwhile.
            subflow.tcp.answered_again(now);
        }
        self.sender.peer.announce(window);
    }

    /// Limits the doubling of the retransmission timeout, so that the answers keep the connection alive. Data that is
    /// sent again into a closed window is answered, so it is sent again at least as often as a window probe would be.
    /// The same holds for the rest of a loss while only retransmissions are acknowledged: these measure no round trip,
    /// so they do not end the doubling (RFC 6298 §3), and without the limit the next retransmission could come after
    /// the connection is given up.
    #[cold]
    fn repeat_in_time(&self, now: Instant, subflow: &mut Subflow) {
        if subflow.tcp.rto() > self.longest_repetition() {
            subflow.tcp.answered_again(now);
        }
    }

    /// Handles a peer of plain TCP that has taken back a part of its window, beyond what rounding explains.
    //= RFC 9293 §3.8.6 (MUST-34): "a sending TCP peer MUST be robust against window shrinking, which may cause the "usable window"
    //= (see Section 3.8.6.2.1) to become negative"
    //= tests: window_updates::plain_tcp_obeys_a_window_that_shrinks
    //= RFC 9293 §3.8.6 (SHLD-15): "If this happens, the sender SHOULD NOT send new data"
    //= tests: window_updates::plain_tcp_obeys_a_window_that_shrinks
    #[cold]
    //= RFC 9293 §3.8.6 (MUST-35): "If the window shrinks to zero, the TCP implementation MUST probe it in the standard way"
    //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses, zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_is_probed_more_and_more_seldom
    //= RFC 9293 §3.8.6 (SHLD-16): "SHOULD retransmit normally the old unacknowledged data between SND.UNA and SND.UNA+SND.WND"
    //= tests: window_updates::plain_tcp_obeys_a_window_that_shrinks, window_updates::what_is_out_is_repeated_into_a_window_that_has_shrunk_and_ends_nothing
    //= RFC 9293 §3.8.6 (MAY-7): "The sender MAY also retransmit old data beyond SND.UNA+SND.WND"
    //= tests: window_updates::what_is_out_is_repeated_into_a_window_that_has_shrunk_and_ends_nothing
    //= RFC 7323 §2.4: "Implementations MUST ensure that they handle a shrinking window, as specified in Section 4.2.2.16 of
    //= [RFC1122]"
    //= tests: window_updates::plain_tcp_obeys_a_window_that_shrinks
    fn obey_shrunk_window(&mut self, subflow: &mut Subflow, edge: DataSeq) {
        self.sender.peer.end = edge;
        // Data that waits on the subflow is cut for the old window.
        if subflow.tcp.take_back_fin() {
            self.life.data_fin = DataFin::Requested;
        }
        for range in subflow.tcp.take_unsent() {
            self.sender.map.withdraw(range, subflow.id);
        }
    }

    /// The longest timeout of retransmissions whose answers keep a connection alive. If the next retransmission is lost,
    /// the one after it takes twice as long.
    pub(super) fn longest_repetition(&self) -> Duration {
        longest_probe_interval(self.config.close_timeout).saturating_mul(2).div(3)
    }
}
