//! Acknowledgements, and the changes that a segment or a timer caused on its subflow.

use super::close::DataFin;
use super::handshake::Mode;
use super::{Connection, ConnectionError, Happening, Kinds, Role, Shared};
use crate::congestion::LossKind;
use crate::paths::subflow::Join;
use crate::scheduler::Event;
use crate::sender::longest_probe_interval;
use crate::seq::{DataSeq, SubflowId};
use crate::tcp::{Changes, Ended, Told, Verdict};
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment};

impl Connection {
    /// Takes what the segment acknowledges at the data level, and the window that comes with it.
    pub(super) fn take_acknowledgement(&mut self, now: Instant, id: SubflowId, segment: &Segment, changes: &Changes) {
        let Some(subflow) = self.subflows.get(id) else { return };
        if !segment.flags.contains(Flags::ACK) || segment.flags.intersects(Flags::SYN | Flags::RST) {
            return;
        }
        let step = subflow.tcp.peer_window_step();
        let backed_off = subflow.tcp.is_backed_off();
        let (ack, window) = match self.shared.mode {
            Mode::Plain | Mode::Negotiating { .. } => {
                //= RFC 8684 §3.7: "After a sender signals an infinite mapping, it MUST only use subflow ACKs to clear its send
                //= buffer"
                //= tests: fallback::options_lost_on_the_way_back_only, checksums::a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping
                (DataSeq(subflow.tcp.acked_offset()), subflow.tcp.peer_window())
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
                let Some(ack) = number.and_then(|n| keys.own_position(n, self.shared.sender.map.first_unacked()))
                else {
                    return;
                };
                // The segment's own window, even if the subflow has ignored it (an old segment, such as a keep-alive).
                // With another window the edge would be where the peer never offered it.
                (ack, u64::from(segment.window) * step)
            }
        };
        let edge = ack + window;
        let fin = u64::from(matches!(self.shared.life.data_fin, DataFin::Sent { .. } | DataFin::Acked));
        if ack > self.shared.sender.map.given_end() + fin {
            // Beyond all data that any subflow was given: ignored.
            return;
        }
        if changes.una_advanced() {
            // Not without a DATA_ACK: if a middlebox removes the option, no data gets through, and the path must not
            // count as alive.
            self.shared.note_living_subflow(now);
        }
        if ack > self.shared.sender.map.written_end() && self.is_mptcp() && self.shared.life.data_fin != DataFin::Acked
        {
            self.shared.life.data_fin = DataFin::Acked;
            self.shared.life.progress_at = now;
        }
        self.shared.fallback.data_ack_seen |= self.is_mptcp() && ack > DataSeq(0);
        // If the subflow has nothing in flight, nothing is retransmitted by itself: lost data then does not wait for a
        // window.
        let out = self.subflows.get(id).is_some_and(|s| s.tcp.queue().packets_out() > 0);
        // An acknowledgement that is older than the latest one is no answer: somebody may have replayed it.
        let answers = changes.verdict == Verdict::Current && !changes.overtaken_ack;
        let into_closed = answers && window == 0 && out && self.shared.sender.map.assigned_bytes() > 0;
        // The window of Multipath TCP does not shrink.
        let into_shrunk = self.shared.sender.peer.end < self.shared.sender.map.assigned_end();
        // If data is in flight and the window has room for it, the acknowledgement answers the data, not a probe.
        let to_probe = self.shared.sender.peer.probe.is_some() && (window == 0 || !self.shared.sender.map.is_waiting());
        if answers && (to_probe || into_closed || into_shrunk) {
            // An answer to a probe, or to data that was sent again into a closed or shrunken window. Repeated old
            // segments do not count.
            self.shared.life.note_answer(now);
            self.shared.life.stream_moved_at = now;
        }
        if into_closed || (backed_off && changes.una_advanced()) {
            self.repeat_in_time(now, id);
        }
        //= RFC 8684 §3.3.5: "It should only update its local receive window values when the largest sequence number
        //= allowed (i.e., DATA_ACK + receive window) increases on the receipt of a DATA_ACK"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        //= RFC 8684 §3.3.5: "if receive window sizes differ on multiple subflows, when sending data MPTCP SHOULD take the largest
        //= of the most recent window sizes as the one to use in calculations"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        //= RFC 8684 §4: "a host SHOULD use the maximum value of those recently seen on the constituent subflows for the
        //= connection-level receive window and also needs to maintain a subflow-level window for subflow-level processing"
        //= tests: zero_window::a_window_that_shrinks_to_nothing_while_data_is_out_only_pauses
        if edge > self.shared.sender.peer.end {
            self.shared.sender.peer.end = edge;
            self.shared.sender.peer.probe = None;
        } else if !self.is_mptcp() && edge + step <= self.shared.sender.peer.end {
            self.obey_shrunk_window(id, edge);
        }
        if answers && self.shared.sender.peer.size == 0 && window > 0 && backed_off && out {
            // What came into the closed window may have been dropped, and waits for a timeout that was doubled meanwhile.
            self.repeat_again(now, id);
        }
        self.shared.sender.peer.announce(window);
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
            self.tell(now, &event);
        }
        self.report_writable();
    }

    /// Limits the doubling of the retransmission timeout, so that the answers keep the connection alive. Data that is
    /// sent again into a closed window is answered, so it is sent again at least as often as a window probe would be.
    /// The same holds for the rest of a loss while only retransmissions are acknowledged: these measure no round trip,
    /// so they do not end the doubling (RFC 6298 §3), and without the limit the next retransmission could come after
    /// the connection is given up.
    #[cold]
    fn repeat_in_time(&mut self, now: Instant, id: SubflowId) {
        let longest = self.shared.longest_repetition();
        if self.subflows.get(id).is_some_and(|s| s.tcp.rto() > longest) {
            self.repeat_again(now, id);
        }
    }

    /// Sets the retransmission timeout of a subflow anew, from now and without the doubling.
    #[cold]
    fn repeat_again(&mut self, now: Instant, id: SubflowId) {
        if let Some(subflow) = self.subflows.get_mut(id) {
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
    fn obey_shrunk_window(&mut self, id: SubflowId, edge: DataSeq) {
        self.shared.sender.peer.end = edge;
        let Some(subflow) = self.subflows.get_mut(id) else { return };
        // Data that waits on the subflow is cut for the old window.
        if subflow.tcp.take_back_fin() {
            self.shared.life.data_fin = DataFin::Requested;
        }
        for range in subflow.tcp.take_unsent() {
            self.shared.sender.map.withdraw(range, id);
        }
    }

    /// Applies the changes that a segment or a timer caused on its subflow.
    pub(super) fn apply_changes(&mut self, now: Instant, id: SubflowId, changes: &Changes) {
        if (!changes.acked.is_empty() || !changes.arrived.is_empty())
            && let Some(subflow) = self.subflows.get_mut(id).filter(|s| s.join == Join::Done { carried: false })
        {
            subflow.join = Join::Done { carried: true };
            self.shared.joins.forget_losses();
        }
        if changes.una_advanced() || (changes.told == Told::Sacked && self.shared.fast_detection()) {
            self.revive(now, id);
        }
        if changes.late {
            self.handle_late_subflow(now, id);
        }
        if let Some(rtt) = changes.rtt {
            self.tell(now, &Event::RttSample { subflow: id, rtt });
        }
        if let Some(kind) = changes.loss {
            self.shared.news.record(now, Kinds::SEGMENTS, || Happening::Lost { subflow: id, kind });
            self.tell(now, &Event::Lost { subflow: id, kind });
            if kind == LossKind::Timeout {
                self.handle_subflow_timeout(id);
            }
        }
        if changes.fin && self.is_mptcp() {
            self.follow_subflow_fin(now, id);
        } else if changes.fin || changes.verdict.is_acceptable() && self.is_plain() {
            self.end_plain_stream(now, id);
        }
        if changes.ended == Some(Ended::NeverEstablished)
            && let Some(subflow) = self.subflows.get_mut(id)
        {
            let reset = subflow.tcp.reset_segment(now);
            self.shared.control.push_back(reset);
        }
        if let Some(ended) = changes.ended {
            match ended {
                Ended::Reset => self.lose_subflow(now, id),
                Ended::Unanswered | Ended::NeverEstablished => self.lose_dark_subflow(now, id),
            }
            let error = match (ended, self.shared.role) {
                _ if self.shared.life.is_connected() => ConnectionError::Reset,
                (Ended::Unanswered | Ended::NeverEstablished, _) => ConnectionError::ConnectTimeout,
                (Ended::Reset, Role::Client) => ConnectionError::Refused,
                (Ended::Reset, Role::Server) => ConnectionError::Reset,
            };
            self.fail_if_alone(now, error);
        }
        self.follow_close(now);
    }
}

impl Shared {
    /// The longest timeout of retransmissions whose answers keep a connection alive. If the next retransmission is lost,
    /// the one after it takes twice as long.
    pub(super) fn longest_repetition(&self) -> Duration {
        longest_probe_interval(self.config.close_timeout).saturating_mul(2).div(3)
    }
}
