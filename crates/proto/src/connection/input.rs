//! The way of an arriving segment through the connection.

use super::handshake::HandshakeStep;
use super::{Connection, ConnectionError, ConnectionEvent, Happening, Kinds, Shared};
use crate::keys::Keys;
use crate::paths::subflow::Subflow;
use crate::paths::table::Split;
use crate::receiver::mappings::MappingError;
use crate::tcp::{Arrival, Changes, Ended, Input, Peers, Verdict};
use pathweave_scheduler::{DataSeq, Event, SubflowId};
use pathweave_units::Instant;
use pathweave_wire::mptcp::{Dss, MptcpOption, ResetReason};
use pathweave_wire::{Ecn, Flags, Payload, Segment};

impl Connection {
    /// Processes a segment of subflow `id`. If `no_memory` is set, its data is dropped because there is no memory for
    /// it. Returns whether an acknowledgement tells the peer about that.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        id: SubflowId,
        ecn: Ecn,
        segment: &Segment,
        no_memory: bool,
    ) -> bool {
        let acceptable = self.shared.receiver.acceptable(self.shared.is_mptcp());
        let mut at = self.subflows.at(id);
        if at.subflow.tcp.is_closed() {
            self.shared.refuse_segment(segment);
            return false;
        }
        let step = self.shared.take_handshake_options(now, &mut at, segment, acceptable);
        if core::mem::take(&mut self.shared.fallback.revived) {
            self.shared.tell(now, &Event::SubflowUp(id), &self.subflows);
        }
        let of_capable;
        let dss = match step {
            HandshakeStep::GoOn => segment.options.dss.as_ref(),
            HandshakeStep::GoOnWith(dss) => {
                of_capable = dss;
                Some(&of_capable)
            }
            HandshakeStep::Ignore => return false,
            HandshakeStep::Reset(reason) => {
                self.refuse_subflow(now, id, reason);
                self.schedule(now);
                return false;
            }
        };
        let without_data;
        let dss = match dss {
            Some(dss) if no_memory => {
                // The mapping comes again with the data.
                without_data = Dss { mapping: None, ..*dss };
                Some(&without_data)
            }
            _ => dss,
        };
        let mut changes = self.shared.changes.take().unwrap_or_default();
        changes.clear();
        let (full, copies) = (self.shared.receiver.is_full(), self.shared.receiver.copies());
        let input = Input { segment, ecn, dss, full, copies, no_memory };
        let tells = self.pass_to_tcp(now, id, input, acceptable, &mut changes);
        if changes.verdict.is_acceptable() {
            match self.receive(now, id, segment, dss, &mut changes) {
                Ok(()) => self.take_acknowledgement(now, id, segment, &changes),
                Err(error) => self.refuse_data(now, id, error),
            }
        }
        self.apply_changes(now, id, &changes);
        if self.shared.life.left_at.is_some() {
            self.refuse_unread(now, segment);
        }
        if changes.established {
            // The new subflow adds to the send buffer.
            match self.shared.host.joins_wake_writer() {
                true => self.shared.wake_writer(&self.subflows),
                false => self.shared.report_writable(&self.subflows),
            }
        }
        self.shared.changes = Some(changes);
        self.shared.host.begin_acknowledgement(id, self.shared.config.scheduler.queues());
        self.schedule(now);
        self.shared.host.end_acknowledgement();
        self.shared.news.record_health(now, &mut self.subflows);
        tells
    }

    /// Passes a segment to the subflow's TCP, and answers a segment that TCP finds wrong. Returns whether an
    /// acknowledgement tells the peer that there is no memory.
    fn pass_to_tcp(
        &mut self,
        now: Instant,
        id: SubflowId,
        input: Input<'_>,
        acceptable: u64,
        changes: &mut Changes,
    ) -> bool {
        let (shared, at) = (&mut self.shared, self.subflows.at(id));
        let own = shared.fill_paths(&at);
        let subflow = at.subflow;
        let peers = Peers { paths: &shared.paths, own };
        subflow.tcp.handle_segment(now, input, acceptable, peers, changes);
        let segment = input.segment;
        shared.answer(now, subflow, segment, changes);
        let tells = changes.no_memory && shared.tell_that_there_is_no_room(now, subflow);
        if changes.established {
            shared.subflow_established(now, subflow);
        }
        let is_up = subflow.usable() && subflow.health.open();
        if is_up {
            shared.raise(now, subflow);
        }
        if subflow.health.is_stale() && !changes.una_advanced() {
            subflow.tcp.probe_again(now);
        }
        if changes.verdict == Verdict::Current {
            // An attacker who has seen old segments can replay them.
            subflow.keep_alive.heard(now);
        }
        if changes.verdict.is_acceptable() && changes.una_advanced() {
            // Not if an older acknowledgement arrives late.
            let no_data_ack = segment.options.dss.is_none_or(|dss| dss.data_ack.is_none());
            let plain = no_data_ack && segment.options.mptcp.is_empty();
            subflow.answered_plainly = plain && subflow.tcp.acknowledges_data(segment);
        }
        if is_up {
            self.shared.tell(now, &Event::SubflowUp(id), &self.subflows);
        }
        tells
    }

    /// Takes the options and the data of an acceptable segment.
    fn receive(
        &mut self,
        now: Instant,
        id: SubflowId,
        segment: &Segment,
        dss: Option<&Dss>,
        changes: &mut Changes,
    ) -> Result<(), MappingError> {
        let (shared, mut at) = (&mut self.shared, self.subflows.at(id));
        let mut result = shared.take_options(now, &mut at, segment, dss, changes.verdict == Verdict::Current);
        if result.is_ok() {
            result = shared.take_arrivals(now, &mut at, changes);
        }
        if result.is_ok() && changes.fin && shared.is_mptcp() {
            result = shared.take_plain_fin(now, &mut at, dss.is_none() && segment.options.mptcp.is_empty());
        }
        if core::mem::take(&mut self.shared.fallback.revived) {
            self.shared.tell(now, &Event::SubflowUp(id), &self.subflows);
        }
        result
    }

    /// Announces the window again once there is memory, if the peer was told that there is none.
    #[cold]
    pub(crate) fn tell_of_room(&mut self) {
        if self.shared.receiver.reopen() {
            self.subflows.established_mut().for_each(|s| s.tcp.ack_now());
        }
    }

    /// Resets a subflow because of a violation and tells the peer the reason.
    //= RFC 8684 §3.6: "In order to let the receiving host know why a subflow is being closed or rejected, the TCP RST packet MAY
    //= include the MP_TCPRST option"
    //= tests: mp_join::a_wrong_hmac_is_refused, checksums::one_that_is_there_or_missing_against_the_negotiation_is_a_reset
    #[cold]
    pub(super) fn refuse_subflow(&mut self, now: Instant, id: SubflowId, reason: ResetReason) {
        self.reset_subflow(now, id, &[MptcpOption::Reset { transient: false, reason }]);
    }

    /// Resets a subflow; the reset carries `options`.
    #[cold]
    pub(super) fn reset_subflow(&mut self, now: Instant, id: SubflowId, options: &[MptcpOption]) {
        let subflow = self.subflows.at(id).subflow;
        let mut reset = subflow.tcp.reset_segment(now);
        reset.options.mptcp.extend_from_slice(options);
        subflow.tcp.abort();
        self.shared.control.push_back(reset);
        self.lose_subflow(now, id);
        self.fail_if_alone(now, ConnectionError::Reset);
    }
}

impl Shared {
    /// Fills `paths` for the congestion controller: with all subflows if it is coupled, otherwise with this one alone.
    /// Returns the index of this one in it.
    pub(super) fn fill_paths(&mut self, at: &Split<'_>) -> usize {
        self.paths.clear();
        if !self.config.congestion.coupled() {
            self.paths.reserve_exact(1);
            self.paths.push(at.subflow.tcp.path_state());
            return 0;
        }
        let mut own = 0;
        for subflow in at.all() {
            if subflow.id == at.subflow.id {
                own = self.paths.len();
            } else if !subflow.usable() {
                continue;
            }
            self.paths.push(subflow.tcp.path_state());
        }
        own
    }

    /// Takes the segment's options, except those of the handshake and the mapping of new data, which other steps take.
    /// `current`: the segment is no repetition.
    fn take_options(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        segment: &Segment,
        dss: Option<&Dss>,
        current: bool,
    ) -> Result<(), MappingError> {
        let Some(keys) = self.mode.keys() else {
            let fin = segment.flags.contains(Flags::FIN);
            return dss.map_or(Ok(()), |dss| self.check_signal_of_plain(dss, fin));
        };
        match dss {
            Some(dss) => self.take_data_signal(now, at, &keys, dss, segment.sequence_len() == 0)?,
            None => self.miss_data_signal(at.subflow, segment)?,
        }
        //= RFC 8684 §3.4.1: "As with all MPTCP signals, the receiver MUST undertake standard TCP validity checks, e.g.,
        //= per [RFC5961], before acting upon it"
        //= tests: blind_attacks::signals_of_a_segment_that_is_not_acceptable_do_not_count
        //= RFC 8684 §3: "standard TCP validity checks (such as ensuring that the sequence number and acknowledgment number are
        //= within the window) MUST be undertaken before processing any MPTCP signals"
        //= tests: blind_attacks::signals_of_a_segment_that_is_not_acceptable_do_not_count
        //= RFC 8684 §3.4.2: "Typical TCP validity tests on the subflow (e.g., ensuring that sequence and ACK numbers are correct)
        //= MUST also be undertaken"
        //= tests: blind_attacks::signals_of_a_segment_that_is_not_acceptable_do_not_count
        if current && !segment.options.mptcp.is_empty() {
            for option in &segment.options.mptcp {
                self.take_signal(now, at, option)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn take_signal(&mut self, now: Instant, at: &mut Split<'_>, option: &MptcpOption) -> Result<(), MappingError> {
        match *option {
            MptcpOption::AddAddress { id, address, port, hmac } => self.take_address(now, id, address, port, hmac),
            MptcpOption::RemoveAddress { ids } if self.config.accept_removals => {
                self.take_removal(now, ids.as_slice(), at)
            }
            MptcpOption::Priority { backup } if self.config.accept_priorities => at.subflow.backup = backup,
            MptcpOption::FastClose { receiver } => self.take_fast_close(now, receiver, at),
            MptcpOption::Fail { .. } => self.take_fail(now, at)?,
            _ => {}
        }
        Ok(())
    }

    /// Answers a segment that TCP has not accepted.
    #[inline]
    fn answer(&mut self, now: Instant, subflow: &mut Subflow, segment: &Segment, changes: &Changes) {
        if changes.ended == Some(Ended::Reset) {
            self.note_reset(subflow, segment);
        }
        if changes.verdict == Verdict::Refused {
            self.refuse_segment(segment);
        }
        if changes.verdict == Verdict::Crossing && self.challenges.allows(now) {
            self.control.extend(subflow.tcp.crossing_answer(now, self.receiver.window.of_syn()));
        }
        //= RFC 9293 §3.10.7.4: "If an incoming segment is not acceptable, an acknowledgment should be sent in reply (unless the RST bit
        //= is set"
        //= tests: blind_attacks::an_old_empty_segment_is_answered_ten_times_in_five_seconds
        if (changes.verdict == Verdict::Challenged || changes.outdated) && self.challenges.allows(now) {
            subflow.tcp.ack_now();
        }
    }

    /// Announces a closed window at once, because there was no memory for an acceptable segment's data; from then on
    /// the peer probes until there is room. The data may be forged, so the answers count as challenges. Returns whether
    /// there is an answer.
    #[cold]
    fn tell_that_there_is_no_room(&mut self, now: Instant, subflow: &mut Subflow) -> bool {
        let tells = self.challenges.allows(now);
        if tells {
            self.receiver.close();
            subflow.tcp.ack_now();
        }
        tells
    }

    /// Takes the DSS option. `empty`: the segment has neither data nor a FIN.
    fn take_data_signal(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        keys: &Keys,
        dss: &Dss,
        empty: bool,
    ) -> Result<(), MappingError> {
        self.confirm();
        at.subflow.data_signal_seen = true;
        // The option has only a DATA_ACK.
        let Some(mapping) = dss.mapping else { return Ok(()) };
        if mapping.len == 0 && !dss.data_fin {
            if empty {
                // The option maps nothing. An infinite mapping comes with the data that it is for, as in the kernel.
                return Ok(());
            }
            return self.take_infinite_mapping(now, at, keys, mapping);
        }
        //= RFC 8684 §3.3: "If a checksum is present but its use had not been negotiated in the MP_CAPABLE handshake,
        //= the receiver MUST close the subflow with a RST, as it is not behaving as negotiated"
        //= tests: checksums::one_that_is_there_or_missing_against_the_negotiation_is_a_reset
        //= RFC 8684 §3.3: "If a checksum is not present when its use has been negotiated, the receiver MUST close the subflow with
        //= a RST, as it is considered broken"
        //= tests: checksums::one_that_is_there_or_missing_against_the_negotiation_is_a_reset
        if mapping.checksum.is_some() != self.checksum {
            //= RFC 8684 §3.3: "this RST SHOULD be accompanied by an MP_TCPRST option (Section 3.6) with the reason code for an
            //= "MPTCP- specific error""
            //= tests: checksums::one_that_is_there_or_missing_against_the_negotiation_is_a_reset
            return Err(MappingError::Reset(ResetReason::MptcpError));
        }
        if dss.data_fin && (mapping.len == 1 || !self.checksum) {
            self.verify_data_fin(keys, mapping)?;
            self.take_data_fin(at.subflow, keys, mapping);
        }
        if at.subflow.mappings.has_waiting() {
            let before = self.receiver.next();
            // Data that arrived earlier may wait for a mapping on a segment without new data.
            let (mappings, option) = (&mut at.subflow.mappings, (mapping, dss.data_fin));
            let result = self.receiver.learn_late(now, keys, self.checksum, mappings, option);
            self.note_data_fin(at.subflow);
            result?;
            self.report_data(before);
        }
        Ok(())
    }

    fn take_arrivals(&mut self, now: Instant, at: &mut Split<'_>, changes: &mut Changes) -> Result<(), MappingError> {
        if changes.arrived.is_empty() {
            return Ok(());
        }
        let before = self.receiver.next();
        let mut first = 0;
        let mut result = Ok(());
        for arrival in &mut changes.arrived {
            let taken = self.take_arrival(now, at, arrival);
            match taken {
                Ok(new) => first += new,
                Err(error) => {
                    result = result.and(Err(error));
                    if !matches!(error, MappingError::Checksum { .. }) {
                        break;
                    }
                    // Nothing more of the subflow is delivered until it is plain TCP.
                    at.subflow.mappings.failed = true;
                }
            }
        }
        at.subflow.first_bytes += first;
        if self.receiver.next().since(before) > first {
            at.subflow.tcp.fills_hole_of_stream();
            // At the end of this instant, because a reader may enlarge the window until then.
            self.acknowledge_sooner(now, at, Some(now));
        }
        if first > 0 {
            let (subflow, next) = (at.subflow.id, self.receiver.next());
            self.news.record(now, Kinds::SEGMENTS, || Happening::Received { subflow, new_bytes: first, next });
        }
        self.report_data(before);
        result
    }

    /// Takes the data of a segment. Returns the number of new bytes.
    fn take_arrival(&mut self, now: Instant, at: &mut Split<'_>, arrival: &mut Arrival) -> Result<u64, MappingError> {
        let Some(keys) = self.mode.keys() else {
            if let Some(mapping) = arrival.mapping {
                // The data was held back, before the fallback, for missing data in front of it.
                self.check_mapping_of_plain(mapping)?;
            }
            return self.insert_plain(arrival.ssn, core::mem::take(&mut arrival.payload));
        };
        if let Some(mapping) = &arrival.mapping {
            self.note_length_of(at, mapping.dsn);
        }
        match self.receiver.place(&keys, self.checksum, &at.subflow.mappings, arrival) {
            Some(place) => Ok(self.insert_data(place, core::mem::take(&mut arrival.payload))),
            None => self.take_mapped(now, at, &keys, arrival),
        }
    }

    /// Takes data whose mapping does not cover exactly its segment. Returns the number of new bytes.
    #[inline(never)]
    fn take_mapped(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        keys: &Keys,
        arrival: &mut Arrival,
    ) -> Result<u64, MappingError> {
        let mappings = &mut at.subflow.mappings;
        self.receiver.learn(keys, mappings, arrival);
        let unmapped = !mappings.failed && !mappings.covers(arrival.ssn);
        if unmapped && self.may_fall_back(at, arrival.ssn) {
            self.fall_back(now, at)?;
            return self.insert_plain(arrival.ssn, core::mem::take(&mut arrival.payload));
        }
        let result = self.receiver.take_mapped(now, keys, self.checksum, &mut at.subflow.mappings, arrival);
        self.note_data_fin(at.subflow);
        result
    }

    /// Acknowledges at once if a DATA_FIN that came with data was taken.
    fn note_data_fin(&mut self, subflow: &mut Subflow) {
        if subflow.mappings.take_data_fin() {
            subflow.tcp.ack_now();
            self.report_end();
        }
    }

    /// Reports data beyond `before` to the application.
    pub(super) fn report_data(&mut self, before: DataSeq) {
        // One event reports all data that has come since: the application may not have polled yet, and a peer may send
        // segments of one byte.
        if self.receiver.next() > before && self.news.events.back() != Some(&ConnectionEvent::Readable) {
            self.news.events.push_back(ConnectionEvent::Readable);
        }
        self.report_end();
    }

    /// Notes a reset by the peer. If its reason is not transient, this pair of addresses is not tried again.
    //= RFC 8684 §3.6: "The host MAY use this information to decide, for example, whether it tries to re-establish the subflow
    //= immediately, later, or never"
    //= tests: resets::a_path_that_was_closed_for_good_is_not_joined_again
    //= RFC 8684 §3.6: "the recipient of this segment MAY try to re-establish a subflow for this connection over the failed path"
    //= tests: resets::a_path_that_was_closed_for_good_is_not_joined_again
    #[cold]
    fn note_reset(&mut self, subflow: &Subflow, reset: &Segment) {
        if reset.options.mptcp.iter().any(|o| matches!(o, MptcpOption::Reset { transient: false, .. })) {
            self.joins.close_path(subflow.tcp.local.ip(), subflow.tcp.remote);
        }
    }

    /// Takes data of plain TCP, which must continue where the stream ends so far. Any other data, such as data that
    /// came out of order before the fallback, would be misplaced. No data follows a stream's end, because the
    /// application may know of the end.
    fn insert_plain(&mut self, ssn: u64, payload: Payload) -> Result<u64, MappingError> {
        let at = DataSeq(ssn - 1);
        if at != self.receiver.next() || self.receiver.complete() {
            return Err(MappingError::Reset(ResetReason::Middlebox));
        }
        Ok(self.insert_data(at, payload))
    }

    /// Puts data into its place in the stream; returns the number of new bytes.
    pub(super) fn insert_data(&mut self, at: DataSeq, payload: Payload) -> u64 {
        let mptcp = self.is_mptcp();
        self.receiver.insert(at, payload, mptcp)
    }

    /// Answers a segment of a subflow that is over with a reset (RFC 9293 §3.10.7.1), because the peer does not know.
    #[cold]
    pub(super) fn refuse_segment(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            self.control.push_back(segment.resetting_answer());
        }
    }

    /// Reports the end of the peer's stream to the application.
    pub(super) fn report_end(&mut self) {
        if self.receiver.reports_end() {
            self.news.events.push_back(ConnectionEvent::Readable);
        }
    }
}
