//! Mappings of data sequence numbers onto a subflow that do not cover exactly one segment each (RFC 8684 §3.3.1), and
//! their checksums.
//!
//! A segment whose own mapping covers exactly the segment is handled without this module. It handles the other cases:
//!
//! * A mapping that reaches beyond its segment is kept until its data has come.
//! * Data without a mapping waits for one: "Implementations MAY hold onto such unmapped data for a short while". It
//!   takes at most a receive window, beside the window that is offered, and waits for at most a second if another
//!   subflow is alive; then the subflow is reset. The kernel resets at once, because it always has the mapping before
//!   the data.
//! * A mapping that overlaps a known one and differs from it is ignored: "A mapping is fixed".
//! * If checksums are in use, data waits until all data of its mapping has come, and is delivered only if the checksum
//!   is right.

use super::StreamReceiver;
use crate::keys::Keys;
use crate::ordered::Ordered;
use crate::tcp::{Arrival, SMALL, WaitingMemory, collect, copied, exceeds_memory, memory_of};
use core::ops::Range;
use pathweave_scheduler::DataSeq;
use pathweave_units::{Duration, Instant};
use pathweave_wire::DataChecksum;
use pathweave_wire::Payload;
use pathweave_wire::mptcp::{DataNumber, Mapping, ResetReason};

/// How long data waits for its mapping: the "short while" of RFC 8684 §3.3.1.
//= RFC 8684 §3.3.1: "Implementations MAY hold onto such unmapped data for a short while, in the expectation that a mapping will
//= arrive shortly"
//= tests: mappings::a_mapping_that_comes_after_its_data_is_taken, mappings::data_that_is_never_mapped_resets_a_subflow_that_joined
const MAPPING_WAIT: Duration = Duration::from_secs(1);

/// Why data of a subflow cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MappingError {
    /// The subflow is broken and must be reset.
    Reset(ResetReason),
    /// The peer has found a wrong checksum, and its data on the subflow is not contiguous, so the subflow cannot become
    /// plain TCP. `dsn` is the number on the wire of the next byte that is missing.
    NotContiguous { dsn: u64 },
    /// The checksum of the mapping that starts at these positions is wrong. `dsn` is the number on the wire, `ssn` the
    /// position in the subflow.
    Checksum { dsn: u64, ssn: u64 },
}

/// A declared mapping, some of whose data is missing.
#[derive(Debug)]
struct Known {
    /// Position of its first byte in the subflow, in full, not modulo 2³².
    ssn: u64,
    /// Bytes of the subflow; a DATA_FIN does not count.
    len: u64,
    /// Data sequence number of the first byte as on the wire, with all 64 bits.
    dsn: u64,
    option: Mapping,
    data_fin: bool,
    /// With checksums: the sum, the pieces and the length of the data that has come so far, in order.
    sum: DataChecksum,
    pieces: Vec<Payload>,
    taken: u64,
}

impl Known {
    fn end(&self) -> u64 {
        self.ssn + self.len
    }

    /// Keeps a piece until the rest of the mapping has come. Small pieces are copied together into memory of their own.
    fn keep(&mut self, piece: Payload) {
        let waits = self.taken < self.len && piece.len() < SMALL as u32;
        if !self.pieces.last_mut().is_some_and(|last| collect(last, &piece)) {
            self.pieces.push(if waits { copied(&piece) } else { piece });
        }
    }
}

/// One subflow's mappings that reach beyond the segments that carried them, and the data that waits for mappings.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// Sorted and disjoint.
    known: Ordered<Known>,
    /// Data that is in order on the subflow but covered by no known mapping: positions in the subflow and contents, in
    /// order.
    waiting: Ordered<(u64, Payload)>,
    waiting_bytes: u64,
    waits_since: Option<Instant>,
    /// Number and bytes of the pieces of the one mapping with a checksum that has come in part.
    partial: (usize, u64),
    /// An emptied list of pieces, for the next mapping.
    spare: Vec<Payload>,
    /// Whether a checksum was wrong on the only subflow, so that all data waits until the peer has agreed to plain TCP.
    pub(crate) failed: bool,
    /// Whether a completed mapping included a DATA_FIN.
    data_fin_taken: bool,
}

impl Mappings {
    /// Whether nothing is kept, so that a segment's own mapping alone decides.
    pub(crate) fn is_idle(&self) -> bool {
        self.known.is_empty() && self.waiting.is_empty()
    }

    /// Whether a DATA_FIN was taken with the data before it since the last call.
    pub(crate) fn take_data_fin(&mut self) -> bool {
        core::mem::take(&mut self.data_fin_taken)
    }

    /// Whether the mapping of the subflow's byte `at` is known.
    pub(crate) fn covers(&mut self, at: u64) -> bool {
        self.covering(at).is_ok()
    }

    /// Memory of the waiting data, at most, bytes; `packet_memory` is what one packet keeps alive.
    #[inline]
    pub(crate) fn memory(&self, packet_memory: u32) -> WaitingMemory {
        let (pieces, bytes) = self.partial;
        let records = self.waiting.len() + self.known.len() + pieces;
        let blocks = pieces as u64 * u64::from(packet_memory);
        WaitingMemory { records: memory_of(records, self.waiting_bytes + bytes), blocks }
    }

    /// Whether data waits for a mapping.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.known.shrink();
        self.waiting.shrink();
        self.spare = Vec::new();
    }

    /// When data has waited long enough for its mapping.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.waits_since.map(|t| t + MAPPING_WAIT)
    }

    /// Lets the data wait without a time limit. Only its amount is limited then.
    pub(crate) fn wait_as_long_as_needed(&mut self) {
        self.waits_since = None;
    }

    /// Restarts the time limit of the waiting data.
    pub(crate) fn wait_again(&mut self, now: Instant) {
        self.waits_since = self.waits_since.map(|_| now);
    }

    /// Takes all data that was not delivered, for a subflow that becomes plain TCP.
    pub(crate) fn take_waiting(&mut self) -> Vec<(u64, Payload)> {
        let Mappings { known, waiting, .. } = core::mem::take(self);
        let mut all: Vec<(u64, Payload)> = waiting.into_iter().collect();
        for known in known {
            let mut at = known.ssn;
            for piece in known.pieces {
                let len = u64::from(piece.len());
                all.push((at, piece));
                at += len;
            }
        }
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// Keeps a mapping that covers some of `start..end` of the subflow; returns the range that it covers. A mapping
    /// that contradicts a known one is ignored. After a wrong checksum all mappings are, because all data waits then.
    fn learn(&mut self, option: Mapping, data_fin: bool, dsn: u64, (start, end): (u64, u64)) -> Option<Range<u64>> {
        let ssn = near(option.ssn, start)?;
        let len = u64::from(option.len).saturating_sub(u64::from(data_fin));
        if self.failed || len == 0 || ssn == 0 || ssn + len <= start || ssn >= end {
            //= RFC 8684 §3.3.1: "The mapping provided by a Data Sequence Mapping MUST apply to some or all of the
            //= subflow sequence space in the TCP segment that carries the option"
            //= tests: mappings::a_mapping_that_comes_after_its_data_is_taken
            return None;
        }
        let i = self.known.partition_point(|k| k.end() <= ssn);
        //= RFC 8684 §3.3.1: "A mapping is fixed, in that the subflow sequence number is bound to the data sequence
        //= number after the mapping has been processed"
        //= tests: mappings::a_mapping_that_contradicts_a_known_one_is_rejected
        if self.known.get(i).is_some_and(|k| k.ssn < ssn + len) {
            return None;
        }
        let sum = DataChecksum::default();
        let pieces = core::mem::take(&mut self.spare);
        self.known.insert(i, Known { ssn, len, dsn, option, data_fin, sum, pieces, taken: 0 });
        Some(ssn..ssn + len)
    }

    /// The known mapping of the subflow's byte `at`; if there is none, the start of the next one.
    //= RFC 8684 §3.3.1: "It does not need to be included in every MPTCP packet, as long as the subflow sequence space
    //= in that packet is covered by a mapping known at the receiver"
    //= tests: mappings::one_mapping_may_cover_many_segments
    fn covering(&mut self, at: u64) -> Result<&mut Known, u64> {
        let i = self.known.partition_point(|k| k.end() <= at);
        match self.known.get_mut(i) {
            Some(k) if k.ssn <= at => Ok(k),
            Some(k) => Err(k.ssn),
            None => Err(u64::MAX),
        }
    }

    /// Drops the mappings of data in front of byte `end` of the subflow. All of that data has arrived. Mappings of data
    /// that waits stay.
    fn forget_before(&mut self, end: u64) {
        let first = self.waiting.front().map_or(end, |w| w.0.min(end));
        while self.known.front().is_some_and(|k| k.end() <= first)
            && let Some(known) = self.known.pop_front()
        {
            self.spare = known.pieces;
            self.spare.clear();
        }
    }

    /// Drops the mapping that starts at `ssn`, all of whose data is delivered.
    fn forget(&mut self, ssn: u64) {
        let place = self.known.partition_point(|k| k.ssn < ssn);
        if self.known.get(place).is_some_and(|k| k.ssn == ssn) {
            self.known.remove(place);
        }
    }

    /// Takes the first waiting piece that ends after `at`, if it begins before `end`.
    fn take_waiting_in(&mut self, at: u64, end: u64) -> Option<(u64, Payload)> {
        let place = self.waiting.partition_point(|(start, piece)| start + u64::from(piece.len()) <= at);
        self.waiting.get(place).filter(|(start, _)| *start < end)?;
        let (start, piece) = self.waiting.remove(place)?;
        self.waiting_bytes -= u64::from(piece.len());
        Some((start, piece))
    }

    /// Lets data wait. It is copied out of its packets, which it could keep alive for a second, and small pieces are
    /// collected.
    //= RFC 8684 §3.3.1: "even if a mapping does not exist from the subflow space to the data-level space, the data SHOULD still be
    //= ACKed at the subflow (if it is in-window)"
    //= tests: mappings::a_mapping_that_comes_after_its_data_is_taken
    fn wait(&mut self, now: Instant, at: u64, payload: Payload) {
        self.waiting_bytes += u64::from(payload.len());
        self.waits_since.get_or_insert(now);
        let place = self.waiting.partition_point(|w| w.0 < at);
        let before = self.waiting.before(place).and_then(|before| self.waiting.get_mut(before));
        let before = before.filter(|(start, piece)| start + u64::from(piece.len()) == at);
        if !before.is_some_and(|(_, piece)| collect(piece, &payload)) {
            self.waiting.insert(place, (at, copied(&payload)));
        }
    }
}

/// The number nearest to `near` with these low 32 bits.
fn near(low: u32, near: u64) -> Option<u64> {
    near.checked_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

impl StreamReceiver {
    /// Position of a segment's data in the stream of Multipath TCP, if its own mapping covers exactly the segment.
    pub(crate) fn place(
        &self,
        keys: &Keys,
        checksums: bool,
        mappings: &Mappings,
        arrival: &Arrival,
    ) -> Option<DataSeq> {
        let mapping = arrival.mapping?;
        let offset = (arrival.ssn as u32).wrapping_sub(mapping.ssn);
        let covered = u64::from(offset) + u64::from(arrival.payload.len()) + u64::from(arrival.data_fin);
        if checksums || covered != u64::from(mapping.len) || !mappings.is_idle() {
            return None;
        }
        let start = keys.peer_position(mapping.dsn, self.next())?;
        Some(start + u64::from(offset))
    }

    /// Keeps the mapping of a segment with data.
    pub(crate) fn learn(&self, keys: &Keys, mappings: &mut Mappings, arrival: &Arrival) {
        let near = keys.wire_data_ack(self.next().0);
        if let Some(option) = arrival.mapping {
            let end = arrival.ssn + u64::from(arrival.payload.len());
            mappings.learn(option, arrival.data_fin, option.dsn.expand(near), (arrival.ssn, end));
        }
    }

    /// Takes the data of a segment whose mapping does not cover exactly the segment, after [`StreamReceiver::learn`]. Returns
    /// the number of new bytes.
    pub(crate) fn take_mapped(
        &mut self,
        now: Instant,
        keys: &Keys,
        checksums: bool,
        mappings: &mut Mappings,
        arrival: &mut Arrival,
    ) -> Result<u64, MappingError> {
        let mut new = 0;
        let (ssn, payload) = (arrival.ssn, core::mem::take(&mut arrival.payload));
        let end = ssn + u64::from(payload.len());
        if mappings.failed {
            mappings.wait(now, ssn, payload);
        } else {
            new = self.map_piece(now, keys, checksums, mappings, (ssn, payload))?;
            mappings.forget_before(end);
        }
        self.limit_waiting(mappings).map(|()| new)
    }

    /// Takes a mapping on a segment without new data, for which data may be waiting. Returns the number of new bytes.
    #[inline(never)]
    pub(crate) fn learn_late(
        &mut self,
        now: Instant,
        keys: &Keys,
        checksums: bool,
        mappings: &mut Mappings,
        (option, data_fin): (Mapping, bool),
    ) -> Result<u64, MappingError> {
        let near = keys.wire_data_ack(self.next().0);
        let (Some(first), Some(last)) = (mappings.waiting.front(), mappings.waiting.back()) else { return Ok(0) };
        let range = (first.0, last.0 + u64::from(last.1.len()));
        let Some(covered) = mappings.learn(option, data_fin, option.dsn.expand(near), range) else { return Ok(0) };
        let since = mappings.waits_since.take();
        let mut result = Ok(0);
        let mut looked_at = covered.start;
        // Data in front of the mapping and behind it is not looked at; it may be thousands of pieces.
        while let Some((at, payload)) = mappings.take_waiting_in(looked_at, covered.end) {
            looked_at = at + u64::from(payload.len());
            match &mut result {
                Ok(new) => match self.map_piece(now, keys, checksums, mappings, (at, payload)) {
                    Ok(more) => *new += more,
                    Err(error) => result = Err(error),
                },
                Err(_) => mappings.wait(now, at, payload),
            }
        }
        if result.is_ok() {
            mappings.forget_before(range.1);
            if !checksums && covered.end <= range.1 {
                mappings.forget(covered.start);
            }
        }
        if mappings.has_waiting() {
            mappings.waits_since = since;
        }
        let new = result?;
        self.limit_waiting(mappings).map(|()| new)
    }

    /// Delivers the part of a piece of the subflow's data that known mappings cover; the rest waits.
    fn map_piece(
        &mut self,
        now: Instant,
        keys: &Keys,
        checksums: bool,
        mappings: &mut Mappings,
        (start, payload): (u64, Payload),
    ) -> Result<u64, MappingError> {
        let (mut new, mut at) = (0, start);
        let end = start + u64::from(payload.len());
        let part = |from: u64, to: u64| payload.slice((from - start) as u32, (to - from) as u32);
        while at < end {
            let next = self.next();
            let part_end = match mappings.covering(at) {
                Ok(known) => known.end().min(end),
                Err(start) => start.min(end),
            };
            let piece = part(at, part_end);
            let from = core::mem::replace(&mut at, part_end);
            // With checksums, a mapping whose first data is gone cannot be verified, and counts as none.
            let known = mappings.covering(from).ok().filter(|k| !checksums || k.ssn + k.taken == from);
            let Some(known) = known else {
                if !self.full {
                    mappings.wait(now, from, piece);
                }
                continue;
            };
            if !checksums {
                let dsn = known.dsn.wrapping_add(from - known.ssn);
                if let Some(place) = keys.peer_position(DataNumber::Long(dsn), next) {
                    new += self.insert(place, piece, true);
                }
                continue;
            }
            known.sum.add_payload(&piece);
            known.taken += part_end - from;
            known.keep(piece);
            let (rest, partial) = (known.len - known.taken, (known.pieces.len(), known.taken));
            mappings.partial = if rest > 0 { partial } else { (0, 0) };
            if rest > 0 {
                continue;
            }
            match self.finish_mapping(now, keys, mappings, from) {
                Ok(delivered) => new += delivered,
                Err(error) => {
                    if at < end {
                        mappings.wait(now, at, part(at, end));
                    }
                    return Err(error);
                }
            }
        }
        Ok(new)
    }

    /// Handles a mapping all of whose data has come: delivers the data if the checksum is right.
    fn finish_mapping(
        &mut self,
        now: Instant,
        keys: &Keys,
        mappings: &mut Mappings,
        at: u64,
    ) -> Result<u64, MappingError> {
        let next = self.next();
        let i = mappings.known.partition_point(|k| k.end() <= at);
        let Some(mut known) = mappings.known.remove(i) else { return Ok(0) };
        let Known { option, dsn, ssn, .. } = known;
        let right = option.checksum.is_some_and(|c| known.sum.matches(dsn, option.ssn, option.len, c));
        if !right {
            // The data is kept in case the peer agrees to plain TCP.
            let mut place = ssn;
            for piece in known.pieces {
                let len = u64::from(piece.len());
                mappings.wait(now, place, piece);
                place += len;
            }
            return Err(MappingError::Checksum { dsn, ssn });
        }
        let (mut new, mut offset) = (0, 0);
        for piece in known.pieces.drain(..) {
            let len = u64::from(piece.len());
            if let Some(place) = keys.peer_position(DataNumber::Long(dsn.wrapping_add(offset)), next) {
                new += self.insert(place, piece, true);
            }
            offset += len;
        }
        mappings.spare = known.pieces;
        if known.data_fin {
            mappings.data_fin_taken |= self.take_data_fin(keys, option);
        }
        Ok(new)
    }

    /// Takes the position of a DATA_FIN in the peer's stream, which is the last octet of its mapping. Returns whether
    /// it is possible.
    #[cold]
    pub(crate) fn take_data_fin(&mut self, keys: &Keys, mapping: Mapping) -> bool {
        let Some(start) = keys.peer_position(mapping.dsn, self.next()) else { return false };
        let end = start + u64::from(mapping.len.saturating_sub(1));
        if end > self.end_of_room() {
            //= RFC 8684 §3.8: "DSN out of window (during normal operation): drop the data; do not send Data ACKs"
            //= tests: close::a_data_fin_that_cannot_be_the_end_is_ignored
            return false;
        }
        self.queue.set_end(end);
        true
    }

    /// Fails if a subflow has too much unmapped data: "If a mapping for that subflow-level sequence space does not
    /// arrive within a receive window of data, that subflow SHOULD be treated as broken, closed with a RST" (RFC 8684
    /// §3.3.1).
    //= RFC 8684 §3.3.1: "If a mapping for that subflow-level sequence space does not arrive within a receive window of
    //= data, that subflow SHOULD be treated as broken, closed with a RST, and any unmapped data silently discarded"
    //= tests: mappings::a_receive_window_of_unmapped_data_is_too_much, mappings::data_that_is_never_mapped_resets_a_subflow_that_joined, fallback::options_lost_for_good_on_the_only_subflow_end_the_connection
    //= RFC 8684 §3.7: "the subflow SHOULD be treated as broken and closed with a RST, since no data can be delivered to the
    //= application layer and no fallback signal can be reliably sent"
    //= tests: mappings::a_receive_window_of_unmapped_data_is_too_much, fallback::options_lost_in_the_middle_break_a_subflow_of_several
    //= RFC 8684 §3.7: "This RST SHOULD include the MP_TCPRST option (Section 3.6) with a "Middlebox interference" reason code"
    //= tests: mappings::a_receive_window_of_unmapped_data_is_too_much
    fn limit_waiting(&self, mappings: &Mappings) -> Result<(), MappingError> {
        let window = self.window.promised();
        let records = mappings.waiting.len() + mappings.known.len();
        let too_much = mappings.waiting_bytes > window || exceeds_memory(records, mappings.waiting_bytes, window);
        if too_much { Err(MappingError::Reset(ResetReason::Middlebox)) } else { Ok(()) }
    }
}
