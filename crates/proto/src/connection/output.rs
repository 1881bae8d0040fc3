//! The next segment: TCP decides when it leaves; the connection adds data, window and Multipath TCP options.
//!
//! A device that cuts segments itself (segmentation offload) gets several segments as one. They are the segments that
//! would have left one by one: TCP is asked for each and accounts for each, with all consequences for windows, timers
//! and the application. Only new data of one subflow leaves as one, in segments that differ in nothing but sequence
//! number, PSH and FIN. So one mapping covers them all.

use super::{Connection, DataFin, Happening, Kinds, Role, Shared};
use crate::keys::Keys;
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::Split;
use crate::tcp::Outgoing;
use pathweave_scheduler::{DataSeq, SubflowId};
use pathweave_units::Instant;
use pathweave_wire::mptcp::{CapableContent, DataNumber, Dss, Mapping, MpCapable, MpJoin, MptcpOption};
use pathweave_wire::{DataChecksum, Ecn, Flags, Payload, Segment, crypto};

/// A segment to send, or several as one ([`Segment::segment_size`]).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// ECN codepoint of the packet.
    pub ecn: Ecn,
    /// When the segment is to leave: now, or later if it is paced and given out early
    /// ([`Pacing`](crate::config::Pacing)).
    pub departure: Instant,
}

impl Connection {
    /// Puts the next segment to send into `segment`, or at most `max_segments` segments that leave as one.
    pub(crate) fn poll_transmit(&mut self, now: Instant, max_segments: usize, segment: &mut Segment) -> Option<Ecn> {
        if let Some(reset) = self.shared.control.pop_front() {
            *segment = reset;
            return Some(Ecn::NotEct);
        }
        // In turn, so that no subflow waits for the burst of another.
        let mut id = self.shared.next_output;
        for _ in self.subflows.ids() {
            if let Some(out) = self.next_of_subflow(now, id) {
                self.shared.next_output = id;
                let may_announce = self.may_announce(id);
                let mut at = self.subflows.at(id);
                let ecn = self.shared.build(now, &mut at, &out, may_announce, segment);
                if max_segments > 1
                    && let Some(first) = self.shared.first_of_several(at.subflow, &out, segment)
                {
                    self.join_following(now, id, first, max_segments, segment);
                }
                return Some(ecn);
            }
            id = self.subflows.after(id);
        }
        self.shared.look_again(&self.subflows);
        None
    }

    /// When the last data segment that was given out is to leave.
    pub(crate) fn departure(&self) -> Option<Instant> {
        self.subflows.get(self.shared.next_output).map(|s| s.tcp.departure())
    }

    fn next_of_subflow(&mut self, now: Instant, id: SubflowId) -> Option<Outgoing> {
        // While a subflow is in handshake, its only answer is the third ACK.
        let announces = self.announcement_is_due(id);
        let subflow = self.subflows.at(id).subflow;
        let mut grew = subflow.tcp.grow_send_buffer(self.shared.sender.writer_waits, false);
        let next = if announces { Some(Outgoing::Ack) } else { subflow.tcp.next_transmission(now) };
        if next.is_none() {
            subflow.tcp.validate_window();
            grew |= subflow.tcp.grow_send_buffer(self.shared.sender.writer_waits, true);
        }
        if grew {
            self.shared.report_writable(&self.subflows);
        }
        next
    }
}

impl Shared {
    /// Builds the segment. `may_announce`: an address may be announced on an acknowledgement.
    fn build(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        out: &Outgoing,
        may_announce: bool,
        segment: &mut Segment,
    ) -> Ecn {
        let mptcp = self.is_mptcp();
        let occupied = self.occupied(at.subflow.tcp.held_bytes());
        let subflow = &mut *at.subflow;
        let offered = if *out == Outgoing::Syn {
            self.receiver.window.of_syn()
        } else {
            if self.receiver.window.ends_quick_acks(occupied) {
                subflow.tcp.end_quick_acks();
            }
            self.receiver.offer(&subflow.tcp, &subflow.window, occupied)
        };
        self.receiver.note_offered(offered);
        subflow.tcp.header(now, out, offered, segment);
        let ecn = subflow.tcp.ecn_of(out);
        self.add_options(now, subflow, out, may_announce, segment);
        if let Outgoing::Data { data, again, .. } = out
            && data.start < data.end
        {
            let (id, range, again) = (subflow.id, data.start..data.end, *again);
            self.news.record(now, Kinds::SEGMENTS, || Happening::Sent { subflow: id, range, again });
        }
        subflow.tcp.finish(segment);
        if self.fallback.signals.waits_for_room(segment) {
            // MP_FAIL has no room beside data or the end of the stream, so an acknowledgement follows.
            subflow.tcp.signal();
        }
        if mptcp {
            subflow.tcp.set_offered(offered);
            if segment.options.dss.is_some_and(|dss| dss.data_ack.is_some()) {
                subflow.last_data_ack_sent = self.receiver.next();
            }
            if *out == Outgoing::Ack {
                self.acknowledge_sooner(now, at, None);
            }
        }
        ecn
    }

    /// Adds the options of Multipath TCP. `may_announce`: an address may be announced on an acknowledgement.
    fn add_options(
        &mut self,
        now: Instant,
        subflow: &mut Subflow,
        out: &Outgoing,
        may_announce: bool,
        segment: &mut Segment,
    ) {
        if *out == Outgoing::Syn {
            return self.syn_options(subflow, segment);
        }
        let carries_data = matches!(out, Outgoing::Data { data, .. } if data.start < data.end);
        let Some(keys) = self.mode.keys() else {
            if let Outgoing::Data { ssn, again, .. } = out {
                self.add_infinite_mapping(*ssn, *again, segment);
            }
            if !carries_data {
                self.add_signals(now, subflow, segment);
            }
            return;
        };
        // The third ACK of a join carries our HMAC, until the fourth ACK has come.
        if let Join::AwaitFourthAck { local_nonce, remote_nonce } = subflow.join {
            let hmac = crypto::join_hmac(keys.local, keys.remote, local_nonce, remote_nonce);
            let option = MpJoin::Ack { hmac: crypto::join_hmac_160(&hmac) };
            segment.options.mptcp.push(MptcpOption::Join(option));
            return;
        }
        let first = subflow.join == Join::Initial && self.role == Role::Client && self.is_unconfirmed();
        let announce_end = subflow.send_data_fin && matches!(self.life.data_fin, DataFin::Sent { .. });
        let ends_now = announce_end && !matches!(out, Outgoing::Data { .. });
        if first && !ends_now && self.add_capable(&keys, subflow, out, segment) {
            return;
        }
        let acknowledged = keys.wire_data_ack(self.receiver.acknowledged_position());
        //= RFC 8684 §3.3.2: "If data is received with a 64-bit DSN, it MUST be acknowledged with a 64-bit Data ACK"
        //= tests: dss::a_data_ack_is_as_long_as_the_number_of_the_data_that_came_last
        //= RFC 8684 §3.3.1: "an implementation MAY include just the lower 32 bits of the data sequence number in the Data Sequence
        //= Mapping and/or Data ACK as an optimization"
        //= tests: dss::a_data_ack_is_as_long_as_the_number_of_the_data_that_came_last
        // A segment that was cut before the peer's data sequence numbers became long has no room for a long DATA_ACK.
        let long = self.receiver.peer_numbers_are_long && segment.payload.len() <= subflow.tcp.mss();
        let data_ack = Some(if long { DataNumber::Long(acknowledged) } else { DataNumber::Short(acknowledged as u32) });
        //= RFC 8684 §3.7: "A sender MUST include a DSS option with Data Sequence Mapping in every segment until one of the sent
        //= segments has been acknowledged with a DSS option containing a Data ACK"
        //= tests: dss::each_segment_is_one_mapping_and_the_stream_starts_after_the_initial_number
        let mapped = mapped(subflow, out, &segment.payload).filter(|_| carries_data);
        let mapping = mapped.map(|Mapped { ssn, start, len, payload }| {
            let (ssn, dsn) = (ssn as u32, keys.wire_dsn(start));
            let checksum = self.checksum_of(payload, dsn, ssn);
            //= RFC 8684 §3.3.1: "An implementation MUST send the full 64-bit data sequence number if it is transmitting at a
            //= sufficiently high rate that the 32-bit value could wrap within the Maximum Segment Lifetime (MSL)"
            //= tests: dss::each_segment_is_one_mapping_and_the_stream_starts_after_the_initial_number
            Mapping { dsn: DataNumber::Long(dsn), ssn, len: len as u16, checksum }
        });
        let mut dss = Dss { data_ack, mapping, data_fin: false };
        let end = self.end_position();
        if dss.mapping.is_none() {
            //= RFC 8684 §3.3.3: "when the DATA_FIN is not attached to a TCP segment containing data, the DSS MUST have
            //= a subflow sequence number of 0, a Data-Level Length of 1"
            //= tests: dss::the_data_fin_takes_the_number_after_the_data_and_is_acknowledged_before_any_fin
            if announce_end {
                // DATA_FIN without data: one octet, subflow sequence number 0 (RFC 8684 §3.3.3).
                let dsn = DataNumber::Long(keys.wire_dsn(end));
                let checksum = self.checksum.then(|| DataChecksum::default().finish(keys.wire_dsn(end), 0, 1));
                dss.mapping = Some(Mapping { dsn, ssn: 0, len: 1, checksum });
                dss.data_fin = true;
                subflow.send_data_fin = false;
            }
            segment.options.dss = Some(dss);
            self.add_signals(now, subflow, segment);
            self.add_priority(subflow, segment);
            if may_announce {
                self.addresses.add_announcement(now, subflow.tcp.owes_ack(), segment);
            }
        } else {
            segment.options.dss = Some(dss);
        }
    }

    /// Adds MP_CAPABLE to the client's ACK and its first data, until the peer has confirmed (RFC 8684 §3.1).
    #[cold]
    fn add_capable(&self, keys: &Keys, subflow: &Subflow, out: &Outgoing, segment: &mut Segment) -> bool {
        if matches!(out, Outgoing::Data { ssn: 2.., .. }) {
            return false;
        }
        let (data_len, checksum) = match mapped(subflow, out, &segment.payload) {
            Some(Mapped { len, payload, .. }) => {
                (Some(len as u16), self.checksum_of(payload, keys.wire_dsn(DataSeq(0)), 1))
            }
            //= RFC 8684 §3.1: "If A does not immediately have data to send, it MUST include the MP_CAPABLE on the first ACK, but
            //= without the additional data parameters"
            //= tests: mp_capable::keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again
            None => (None, None),
        };
        let content = CapableContent::Ack { sender: keys.local, receiver: keys.remote, data_len, checksum };
        let flags = self.capable_flags();
        segment.options.mptcp.push(MptcpOption::Capable(MpCapable { flags, content }));
        true
    }

    /// Checksum of a mapping that covers a whole segment, if checksums are in use (RFC 8684 §3.3.1).
    //= RFC 8684 §3.3.1: "the data sequence number used in the pseudo-header is always the 64-bit value, irrespective of
    //= what length is used in the DSS option itself"
    //= tests: checksums::they_are_used_if_either_side_asks, checksum::a_known_mapping
    fn checksum_of(&self, payload: &Payload, dsn: u64, ssn: u32) -> Option<u16> {
        self.checksum.then(|| {
            let mut sum = DataChecksum::default();
            sum.add_payload(payload);
            sum.finish(dsn, ssn, payload.len() as u16)
        })
    }
}

/// The data that the mapping of a queued segment covers.
struct Mapped<'a> {
    ssn: u64,
    start: DataSeq,
    len: u32,
    /// The data, for the checksum.
    payload: &'a Payload,
}

/// The mapping of a data segment. Other segments have none. A retransmission declares the mapping of the first
/// transmission, even if the segment was cut since or left with others as one.
//= RFC 8684 §3.3.1: "A sender MUST NOT change this mapping after it has been declared"
//= tests: dss::a_mapping_never_changes, super_segments::each_byte_of_a_subflow_has_one_mapping_however_often_it_is_sent
fn mapped<'a>(subflow: &'a Subflow, out: &Outgoing, payload: &'a Payload) -> Option<Mapped<'a>> {
    let Outgoing::Data { ssn, data, again, .. } = out else { return None };
    let declared = if *again { subflow.tcp.queue().declared_at(*ssn) } else { None };
    Some(declared.map_or(Mapped { ssn: *ssn, start: data.start, len: payload.len(), payload }, |d| Mapped {
        ssn: d.ssn,
        start: d.dsn,
        len: d.len,
        payload: &d.payload,
    }))
}

/// Most bytes in a packet of several segments.
const MAX_PACKET_BYTES: u32 = 65_535;

impl Connection {
    /// Adds segments that follow to `segment`, so that they leave as one: at most `max_segments` in all. `ssn`, `start`: its
    /// place in the subflow's sequence and in the stream.
    fn join_following(
        &mut self,
        now: Instant,
        id: SubflowId,
        (ssn, start): (u64, DataSeq),
        max_segments: usize,
        segment: &mut Segment,
    ) {
        let size = segment.payload.len();
        let most = MAX_PACKET_BYTES.saturating_sub(segment.ip_len()) / size * size + size;
        let (mut len, mut count) = (size, 1);
        while count < max_segments && len.is_multiple_of(size) && len + size <= most {
            if self.announcement_is_due(id) || segment.flags.intersects(Flags::PSH | Flags::FIN) {
                break;
            }
            let subflow = self.subflows.at(id).subflow;
            // Everything that is done for a segment that leaves alone; see `next_of_subflow` and `build`.
            let grew = subflow.tcp.grow_send_buffer(self.shared.sender.writer_waits, false);
            let next = subflow.tcp.next_part(now, start + u64::from(len), size);
            if let Some(part) = &next {
                subflow.tcp.add_part(part, segment);
                let at = start + u64::from(len);
                let range = at..at + u64::from(part.data_len());
                self.shared.news.record(now, Kinds::SEGMENTS, || Happening::Sent { subflow: id, range, again: false });
                len += part.data_len();
                count += 1;
            }
            if grew {
                self.shared.report_writable(&self.subflows);
            }
            if next.is_none() {
                break;
            }
        }
        if count > 1 {
            segment.payload = self.shared.sender.buffer.get(start..start + u64::from(len));
            segment.segment_size = Some(size as u16);
            // Plain TCP has no mapping to extend.
            if let Some(mapping) = segment.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
                mapping.len = len as u16;
                self.subflows.at(id).subflow.tcp.declare_several(ssn, start, len);
            }
        }
    }
}

impl Shared {
    /// Place of the new data in `out`, in the subflow's sequence and in the stream, if more segments may leave as one with it.
    fn first_of_several(&self, subflow: &Subflow, out: &Outgoing, segment: &Segment) -> Option<(u64, DataSeq)> {
        let Outgoing::Data { ssn, data, again: false, .. } = out else { return None };
        let alone = segment.payload.is_empty()
            // A probe of the path's MTU may get lost.
            || segment.payload.len() > subflow.tcp.mss().min(u16::MAX.into())
            // Each paced segment has a departure of its own.
            || subflow.tcp.is_paced()
            || segment.flags.contains(Flags::CWR)
            || !segment.options.mptcp.is_empty()
            // The next segment may have other SACK blocks, or more room for them.
            || subflow.tcp.has_blocks()
            || self.fallback.signals.waits_for_room(segment)
            // Data that another subflow has delivered is no longer in the send buffer.
            || data.start < self.sender.map.first_unacked();
        let mapping = segment.options.dss.and_then(|dss| dss.mapping);
        // An infinite mapping belongs to one segment, and a checksum would have to be computed anew for each.
        let one_mapping = match self.is_mptcp() {
            true => mapping.is_some_and(|m| m.checksum.is_none()),
            false => segment.options.dss.is_none(),
        };
        (!alone && one_mapping).then_some((*ssn, data.start))
    }
}
