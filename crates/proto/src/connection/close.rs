//! The end of a connection: DATA_FIN (RFC 8684 §3.3.3), FIN, fast close, abort.

use super::lifecycle::{DataFin, LifePhase};
use super::mode::Mode;
use super::{Connection, ConnectionError, ConnectionEvent, Happening, Kinds, Shared};
use crate::keys::Keys;
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::{Split, SubflowTable};
use crate::tcp::TcpState;
use pathweave_scheduler::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{Key, Mapping, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Segment};

/// Least time until a DATA_FIN is sent again.
const FIRST_DATA_FIN_WAIT: Duration = Duration::from_millis(200);

impl Connection {
    /// Closes our direction after all written data was sent. The peer's direction continues.
    pub fn close(&mut self, now: Instant) {
        self.shared.life.abandon();
        if self.shared.life.data_fin == DataFin::NotRequested {
            self.shared.life.data_fin = DataFin::Requested;
            if !self.is_mptcp() {
                for subflow in self.subflows.iter_mut() {
                    // The FIN follows the stream's tail, which waits for nothing. A DATA_FIN ends no subflow, so with
                    // it the tail waits for earlier short segments as usual.
                    subflow.tcp.set_nagle(false);
                }
            }
            self.schedule(now);
        }
    }

    /// Ends the connection for an application that neither writes nor reads any more. If received data is unread, or
    /// data arrives later, the connection is aborted, so that the peer learns of the loss. Otherwise it closes as after
    /// [`Connection::close`]. The connection is given up if the peer neither acknowledges more data nor ends its
    /// direction for `close_timeout`, and at the latest after 60 times `close_timeout`.
    //= RFC 9293 §3.6.1 (SHLD-3): "If such a host issues a CLOSE call while received data is still pending in the TCP connection, or if new
    //= data is received after CLOSE is called, its TCP implementation SHOULD send a RST to show that data was lost"
    //= tests: leaving::data_that_nobody_reads_any_more_is_answered_by_a_reset
    //= RFC 9293 §3.6.1 (MAY-1): "A host MAY implement a "half-duplex" TCP close sequence, so that an application that has called
    //= CLOSE cannot continue to read data from the connection"
    //= tests: leaving::data_that_nobody_reads_any_more_is_answered_by_a_reset
    pub fn leave(&mut self, now: Instant) {
        self.shared.life.left_at.get_or_insert(now);
        if self.shared.receiver.ready_bytes() > 0 {
            return self.abort(now);
        }
        self.shared.life.progress_at = now;
        self.close(now);
    }

    /// Aborts the connection if this segment brought data for an application that has left.
    #[cold]
    pub(super) fn refuse_unread(&mut self, now: Instant, segment: &Segment) {
        if self.shared.life.error().is_some() || self.shared.receiver.ready_bytes() == 0 {
            return;
        }
        if self.is_mptcp() {
            return self.abort(now);
        }
        // The reset takes its sequence number from the peer's acknowledgement, so the peer accepts it whatever data has
        // not reached it (RFC 5961 §3.2).
        self.shared.control.push_back(segment.resetting_answer());
        self.shared.abort_subflows(self.subflows.iter_mut());
        self.shared.fail(now, ConnectionError::Aborted);
        self.shared.life.abandon();
    }

    /// Ends the connection at once and tells the peer, with fast close or resets.
    //= RFC 8684 §3.5: "Option R (RST): Host A sends a RST containing the MP_FASTCLOSE option on all subflows,
    //= containing the key of Host B"
    //= tests: fastclose::it_carries_the_receivers_key_and_ends_all_subflows
    pub fn abort(&mut self, now: Instant) {
        let key = self.shared.mode.keys().map(|keys| keys.remote);
        for subflow in self.subflows.established_mut() {
            let mut reset = subflow.tcp.reset_segment(now);
            if let Some(receiver) = key {
                reset.options.mptcp.push(MptcpOption::FastClose { receiver });
            }
            self.shared.control.push_back(reset);
        }
        self.shared.abort_subflows(self.subflows.iter_mut());
        self.shared.fail(now, ConnectionError::Aborted);
        self.shared.life.abandon();
    }

    /// Whether this SYN may open a new connection in the place of subflow `id`. If so, a subflow in TIME-WAIT ends.
    //= RFC 9293 §3.6.1 (MAY-2): "it MAY accept a new SYN from the remote TCP endpoint to reopen the connection directly from TIME-WAIT state"
    //= tests: time_wait::a_new_syn_opens_a_connection_in_its_place_and_an_old_one_does_not
    #[cold]
    pub(crate) fn gives_way(&mut self, now: Instant, id: SubflowId, syn: &Segment) -> bool {
        let subflow = self.subflows.at(id).subflow;
        if !subflow.is_between(&syn.dst, &syn.src) || syn.flags.contains(Flags::ACK) {
            return false;
        }
        if subflow.tcp.is_closed() {
            return true;
        }
        if !subflow.tcp.gives_way(syn) {
            return false;
        }
        subflow.tcp.abort();
        self.follow_close(now);
        true
    }

    /// Closes the subflows when both directions have ended at the data level, and the connection when all subflows are
    /// closed.
    pub(super) fn follow_close(&mut self, now: Instant) {
        //= RFC 8684 §3.3.3: "Once a DATA_FIN has been acknowledged, all remaining subflows MUST be closed with standard
        //= FIN exchanges"
        //= tests: dss::the_data_fin_takes_the_number_after_the_data_and_is_acknowledged_before_any_fin
        //= RFC 8684 §3.3.3: "a host MUST NOT close all functioning subflows unless it is safe to do so, i.e., until all outstanding
        //= data has been DATA_ACKed or until the segment with the DATA_FIN flag set is the only outstanding segment"
        //= tests: close::a_half_closed_connection_still_carries_the_other_direction, close::a_data_fin_that_overtakes_data_waits_for_it
        if self.is_mptcp() && self.shared.is_over() {
            self.shared.close_subflows(now, &mut self.subflows);
        }
        if self.shared.life.phase != LifePhase::Connected {
            return;
        }
        if self.is_mptcp() && !self.shared.is_over() {
            return self.forget_ended_subflows(now);
        }
        if self.subflows.iter().all(Subflow::has_ended) {
            self.shared.life.phase = LifePhase::Closed;
            self.shared.news.events.push_back(ConnectionEvent::Closed);
            self.shared.news.record(now, Kinds::CONNECTION, || Happening::Closed);
        }
    }

    /// Removes subflows that have closed in order while the connection continues. If none is left, another join is
    /// tried.
    fn forget_ended_subflows(&mut self, now: Instant) {
        // A subflow in TIME-WAIT carries nothing any more.
        let has_ended = |s: &&Subflow| s.has_ended() && !s.health.is_down();
        loop {
            let ended = self.subflows.iter().find(has_ended).map(|s| s.id);
            // No more subflow has ended.
            let Some(id) = ended else { return };
            self.end_subflow(now, id);
            if self.is_orphaned() {
                self.shared.joins.after_loss(now);
            }
        }
    }

    /// Whether no subflow can carry anything although the stream has not ended: "the MPTCP connection is treated as
    /// closed only after a timeout" (RFC 8684 §3.3.3).
    //= RFC 8684 §3.3.3: "If all subflows have been closed with a FIN exchange but no DATA_FIN has been received and
    //= acknowledged, the MPTCP connection is treated as closed only after a timeout"
    //= tests: close::without_a_data_fin_the_connection_ends_only_after_a_timeout
    pub(super) fn is_orphaned(&self) -> bool {
        self.is_mptcp() && !self.shared.is_over() && self.subflows.iter().all(|s| !s.usable())
    }

    /// Whether some subflow's FIN, ours or the peer's, is still awaited.
    pub(super) fn is_closing(&self) -> bool {
        let over = self.shared.is_over();
        self.subflows.iter().any(|s| s.tcp.fin_outstanding() || (over && s.tcp.awaits_fin()))
    }

    /// Gives the connection up after `close_timeout` without an answer: it fails, or it closes if only the peer's part
    /// of the closing is missing.
    pub(super) fn give_up(&mut self, now: Instant) {
        let over = self.shared.is_over();
        for subflow in self.subflows.iter_mut().filter(|s| s.tcp.is_established() && !s.tcp.in_time_wait()) {
            // A peer that is alive after all learns of the end without a timeout of its own.
            self.shared.control.push_back(subflow.tcp.reset_segment(now));
        }
        self.shared.abort_subflows(self.subflows.iter_mut());
        if over {
            self.follow_close(now);
        } else {
            self.shared.fail(now, ConnectionError::AllPathsDead);
        }
    }

    /// Ends the connection if no subflow is left. As long as neither direction has ended, it first waits
    /// `close_timeout` for new subflows.
    //= RFC 8684 §3.5: "MPTCP's connection will stay alive at the data level, in order to permit break-before-make
    //= handover between subflows"
    //= tests: close::a_connection_that_has_lost_its_last_subflow_to_a_reset_can_be_joined_for_a_while
    pub(super) fn fail_if_alone(&mut self, now: Instant, error: ConnectionError) {
        let any = self.subflows.iter().any(|s| !s.tcp.is_closed());
        if !any && self.shared.is_settled() && self.is_mptcp() && !self.shared.has_an_end() {
            return;
        }
        if any {
            return;
        }
        if self.shared.is_over() { self.follow_close(now) } else { self.shared.fail(now, error) }
    }
}

impl Shared {
    /// Handles plain TCP's FIN: the stream ends where the subflow's sequence does. If bytes before it are missing
    /// nevertheless, the stream cannot be completed. Returns whether the subflow must be reset for that.
    pub(super) fn end_plain_stream(&mut self, subflow: &Subflow) -> bool {
        if self.receiver.complete() || !subflow.tcp.fin_arrived() {
            return false;
        }
        let end = DataSeq(subflow.tcp.bytes_before_fin());
        if self.receiver.next() != end || self.receiver.has_end() {
            return true;
        }
        self.receiver.end_here();
        self.report_end();
        false
    }

    /// Handles the peer's FIN on this subflow, which ends this subflow only. We close our direction of it too, unless it
    /// is the last subflow and some of our data is unacknowledged. Returns whether the subflow must be reset.
    //= RFC 8684 §3.3.3: "a FIN in MPTCP only affects the subflow on which it is sent"
    //= tests: close::the_end_of_one_subflow_is_not_the_end_of_the_stream
    pub(super) fn follow_subflow_fin(&mut self, now: Instant, at: &mut Split<'_>) -> bool {
        if self.is_over() || self.receiver.complete() {
            return false;
        }
        if at.subflow.mappings.has_waiting() {
            // The mapping of the waiting data can no longer arrive.
            return true;
        }
        let map = &self.sender.map;
        if at.others().any(Subflow::usable) || map.assigned_bytes() + map.unassigned_bytes() == 0 {
            self.retire(now, at.subflow);
        }
        self.life.note_answer(now);
        false
    }

    pub(super) fn abort_subflows<'a>(&mut self, subflows: impl Iterator<Item = &'a mut Subflow>) {
        self.addresses.stop_repeating();
        for subflow in subflows {
            subflow.tcp.abort();
        }
    }

    /// After assigning: sends the end of the stream if it is requested and no data is unassigned.
    pub(super) fn after_assigning(&mut self, now: Instant, subflows: &mut SubflowTable) {
        if self.life.data_fin != DataFin::Requested
            || self.sender.map.unassigned_bytes() > 0
            || !self.life.is_connected()
        {
            return;
        }
        match self.mode {
            Mode::Agreed(_) | Mode::Confirmed(_) => self.send_data_fin(now, subflows),
            Mode::Plain => {
                self.close_subflows(now, subflows);
                self.life.data_fin = DataFin::Acked;
            }
            Mode::Negotiating { .. } => {}
        }
    }

    /// Sends the DATA_FIN on every subflow that can carry it, and plans to repeat it after a timeout.
    pub(super) fn send_data_fin(&mut self, now: Instant, subflows: &mut SubflowTable) {
        if self.life.data_fin == DataFin::Requested && self.sender.map.assigned_bytes() == 0 {
            self.life.progress_at = now;
        }
        if !self.fast_detection() {
            // A subflow that has not joined by now never will.
            for subflow in subflows.iter_mut().filter(|s| s.tcp.state() == TcpState::SynSent) {
                subflow.tcp.abort();
                subflow.health.end();
            }
        }
        let times = if let DataFin::Sent { times, .. } = self.life.data_fin { times } else { 0 };
        let mut rto = FIRST_DATA_FIN_WAIT;
        for subflow in subflows.usable_mut() {
            subflow.send_data_fin = true;
            subflow.tcp.signal();
            rto = rto.max(subflow.tcp.rto());
        }
        // The wait doubles each time, as for data. The subflows' own timeouts do not double, because a DATA_FIN is not
        // in flight on any of them.
        let wait = rto.saturating_mul(1 << times.min(16)).min(self.config.tcp.max_rto.max(rto));
        self.life.data_fin = DataFin::Sent { again: now + wait, times: times + 1 };
    }

    //= RFC 8684 §3.5: "Host B answers on the same subflow with a TCP RST and tears down all subflows also through
    //= sending TCP RST signals"
    //= tests: fastclose::on_an_acknowledgement_it_is_answered_by_resets, fastclose::a_wrong_key_is_ignored
    pub(super) fn take_fast_close(&mut self, now: Instant, receiver: Key, at: &mut Split<'_>) {
        // An infinite mapping or an MP_FAIL of the same segment may have made the connection plain TCP.
        let Some(keys) = self.mode.keys() else { return };
        // Not the key of this host: the option may be forged.
        if receiver != keys.local {
            return;
        }
        for subflow in at.all_mut().filter(|s| s.tcp.is_established()) {
            let mut reset = subflow.tcp.reset_segment(now);
            reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::Unspecified });
            self.control.push_back(reset);
        }
        self.abort_subflows(at.all_mut());
        self.fail(now, ConnectionError::Reset);
    }

    /// Ends our direction on every subflow, and aborts joins that are still in their handshake.
    //= RFC 8684 §3.3.3: "Both hosts SHOULD send FINs on all subflows, as a courtesy, to allow middleboxes to clean up state even if
    //= an individual subflow has failed"
    //= tests: close::either_side_first_or_both_at_once
    #[cold]
    fn close_subflows(&mut self, now: Instant, subflows: &mut SubflowTable) {
        self.addresses.stop_repeating();
        for subflow in subflows.iter_mut() {
            if subflow.tcp.can_send() {
                // The FIN may take as long as data may.
                self.life.progress_at = now;
            }
            if subflow.join != Join::Initial && !subflow.tcp.is_established() {
                subflow.tcp.abort();
            }
            subflow.tcp.close(now);
        }
    }

    /// Takes the position of a DATA_FIN in the peer's stream, which is the last octet of its mapping.
    #[cold]
    pub(super) fn take_data_fin(&mut self, subflow: &mut Subflow, keys: &Keys, mapping: Mapping) {
        if self.receiver.take_data_fin(keys, mapping) {
            self.report_end();
            subflow.tcp.ack_now();
        }
    }

    /// Ends our direction of a subflow. Data that it has not sent yet goes to others.
    pub(super) fn retire(&mut self, now: Instant, subflow: &mut Subflow) {
        for range in subflow.tcp.take_unsent() {
            self.sender.map.withdraw(range, subflow.id);
        }
        subflow.tcp.close(now);
    }

    /// Whether one of the directions was closed.
    pub(super) fn has_an_end(&self) -> bool {
        self.life.data_fin != DataFin::NotRequested || self.receiver.has_end()
    }

    /// Whether both directions have ended: all data was sent and received, and both ends are known.
    pub(super) fn is_over(&self) -> bool {
        let sent = self.sender.map.first_unacked() == self.sender.map.written_end();
        self.life.data_fin == DataFin::Acked && sent && self.receiver.complete()
    }

    /// Position after our last byte, which the DATA_FIN takes.
    pub(super) fn end_position(&self) -> DataSeq {
        self.sender.map.written_end()
    }

    #[cold]
    //= RFC 9293 §3.6 (MUST-12): "the local application MUST be informed whether it closed normally or was aborted"
    //= tests: close::a_plain_connection_that_is_reset_before_its_own_end_has_failed, close::either_side_first_or_both_at_once
    pub(super) fn fail(&mut self, now: Instant, error: ConnectionError) {
        if self.life.error().is_none() {
            let was_connected = self.life.is_connected();
            self.life.phase = LifePhase::Failed { error, was_connected, abandoned: false };
            self.news.events.push_back(ConnectionEvent::Failed(error));
            self.news.record(now, Kinds::CONNECTION, || Happening::Failed(error));
        }
    }
}
