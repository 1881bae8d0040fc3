//! The receiving half: reassembly and SACK blocks. The timing of acknowledgements is in `acknowledge`.

use super::acknowledge::{Acks, PeerClock};
use super::lent::{Lent, WaitingMemory};
use crate::config::TcpConfig;
use crate::host::Host;
use crate::ordered::Ordered;
use arrayvec::ArrayVec;
use pathweave_units::Instant;
use pathweave_wire::mptcp::Mapping;
use pathweave_wire::{Payload, SackBlock, SackBlocks};

/// Data that is in order on the subflow.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Relative subflow sequence number of the first byte.
    pub(crate) ssn: u64,
    pub(crate) payload: Payload,
    /// The mapping that came with the segment of the first byte.
    pub(crate) mapping: Option<Mapping>,
    /// Whether the mapping's last octet is a DATA_FIN, which is not data.
    pub(crate) data_fin: bool,
}

#[derive(Debug)]
pub(super) struct HeldArrival {
    arrival: Arrival,
    fin: bool,
    /// Charge for the packet memory that the data keeps alive.
    charge: u32,
}

impl HeldArrival {
    fn end(&self) -> u64 {
        self.arrival.ssn + u64::from(self.arrival.payload.len()) + u64::from(self.fin)
    }
}

/// Size of a full segment before any has come (RFC 9293 §3.7.1).
const DEFAULT_SEGMENT: u32 = 536;
/// Memory of a waiting piece beside its bytes, and memory that even a small window may take, bytes.
const PIECE_OVERHEAD: u64 = 256;
const LEAST_MEMORY: u64 = 64 << 10;

/// Memory that data waiting behind a window may take, bytes: twice the window, which is more than full segments need.
pub(crate) fn memory_limit(window: u64) -> u64 {
    window.saturating_mul(2).saturating_add(LEAST_MEMORY)
}

/// Memory of this many pieces with this many bytes in all.
#[inline]
pub(crate) fn memory_of(pieces: usize, bytes: u64) -> u64 {
    pieces as u64 * PIECE_OVERHEAD + bytes
}

/// Whether this many pieces with this many bytes in all exceed the memory for a window.
pub(crate) fn exceeds_memory(pieces: usize, bytes: u64, window: u64) -> bool {
    memory_of(pieces, bytes) > memory_limit(window)
}

#[derive(Debug)]
pub(crate) struct SubflowReceiver {
    pub(super) next: u64,
    /// Out-of-order segments, sorted and disjoint.
    pub(super) held: Ordered<HeldArrival>,
    held_bytes: u64,
    lent: Lent,
    /// The window that bounds the memory of held segments; zero: no more are held.
    pub(crate) held_window: u64,
    /// Whether held segments are copied from now on, because the connection keeps enough packets alive.
    pub(crate) copies: bool,
    /// Out-of-order ranges; the one that changed last comes first (RFC 2018 §4).
    pub(super) blocks: ArrayVec<(u64, u64), 4>,
    pub(super) duplicate: Option<(u64, u64)>,
    fin: bool,
    /// Whether the last segment filled the hole, so that nothing is held any more.
    pub(super) filled_hole: bool,
    /// Data bytes of the largest segment seen, which counts as a full segment.
    pub(super) full_segment: u32,
    /// ECN: whether congestion was experienced and not yet answered with CWR.
    pub(crate) echo_congestion: bool,
    /// When a segment without data and with an old sequence number was last answered.
    pub(super) answered_old: Option<Instant>,
    pub(super) acks: Acks,
    pub(crate) clock: PeerClock,
}

/// How [`SubflowReceiver::receive`] classified a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    InOrder,
    OutOfOrder,
    Duplicate,
}

impl SubflowReceiver {
    pub(crate) fn new(config: &TcpConfig, host: &Host) -> Self {
        SubflowReceiver {
            next: 0,
            held: Ordered::default(),
            held_bytes: 0,
            lent: Lent::new(config.packet_memory),
            held_window: 0,
            copies: false,
            blocks: ArrayVec::new(),
            duplicate: None,
            fin: false,
            filled_hole: false,
            full_segment: DEFAULT_SEGMENT,
            echo_congestion: false,
            answered_old: None,
            acks: Acks::new(host, config.delayed_ack_timeout),
            clock: PeerClock::default(),
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }
    /// Reports the part of `start..end` that has arrived already as a duplicate.
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64) {
        let end = end.min(self.next);
        if start > 0 && start < end {
            self.duplicate = Some((start, end));
        }
    }
    /// The number that the last acknowledgement acknowledged.
    pub(crate) fn acked_next(&self) -> u64 {
        self.acks.acked_next
    }
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
    /// Memory of the held segments, at most, bytes.
    #[inline]
    pub(crate) fn memory(&self) -> WaitingMemory {
        WaitingMemory { records: memory_of(self.held.len(), self.held_bytes), blocks: self.lent.charged() }
    }
    /// Frees spare capacity, as [`Ordered::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.held.shrink();
    }
    pub(crate) fn fin_in_order(&self) -> bool {
        self.fin
    }
    pub(crate) fn start(&mut self) {
        self.next = 1;
        self.acks.acked_next = 1;
    }

    /// Takes a segment's data, whose first byte is `arrival.ssn`, and appends data that is in order now to `out`.
    //= RFC 9293 §3.10.7.4 (SHLD-31): "Segments with higher beginning sequence numbers SHOULD be held for later processing"
    //= tests: loss_recovery::any_one_segment_is_repaired_without_a_timeout
    pub(crate) fn receive(&mut self, mut arrival: Arrival, fin: bool, out: &mut Vec<Arrival>) -> Received {
        let (start, len) = (arrival.ssn, u64::from(arrival.payload.len()));
        let end = start + len + u64::from(fin);
        if end <= self.next {
            if len > 0 || fin {
                self.duplicate = Some((start, end));
            }
            return Received::Duplicate;
        }
        if start > self.next {
            if self.held_window == 0 || exceeds_memory(self.held.len(), self.held_bytes, self.held_window) {
                // Dropped before it is reported, so that nothing reported is ever taken back (RFC 2018 §8).
                return Received::Duplicate;
            }
            return self.hold(arrival, fin);
        }
        if start < self.next {
            self.duplicate = Some((start, self.next));
            let cut = (self.next - start).min(len) as u32;
            trim_front(&mut arrival, cut);
        }
        let had_held = !self.held.is_empty();
        // Data that is already held wins over a repetition of it, so that delivered bytes never change. The segment
        // only fills the gaps between held data.
        while let Some(first) = self.held.front()
            && first.arrival.ssn < end
        {
            let before = first.arrival.ssn.saturating_sub(arrival.ssn).min(u64::from(arrival.payload.len())) as u32;
            let rest = arrival.payload.len() - before;
            let mut piece = arrival.clone();
            piece.payload = piece.payload.slice(0, before);
            self.accept(piece, false, out);
            self.release_held(out);
            trim_front(&mut arrival, before);
            let past = self.next.saturating_sub(arrival.ssn).min(u64::from(rest)) as u32;
            trim_front(&mut arrival, past);
        }
        if end > self.next {
            self.accept(arrival, fin, out);
        }
        self.release_held(out);
        let next = self.next;
        self.blocks.retain(|b| b.1 > next);
        self.filled_hole = had_held && self.held.is_empty();
        Received::InOrder
    }

    /// Moves held data that is in order now to `out`.
    fn release_held(&mut self, out: &mut Vec<Arrival>) {
        while self.held.front().is_some_and(|h| h.arrival.ssn <= self.next) {
            let Some(mut held) = self.held.pop_front() else { break };
            self.held_bytes -= u64::from(held.arrival.payload.len());
            self.lent.give_back(held.charge);
            if held.end() <= self.next {
                continue;
            }
            let cut = (self.next - held.arrival.ssn) as u32;
            trim_front(&mut held.arrival, cut);
            self.accept(held.arrival, held.fin, out);
        }
    }

    fn accept(&mut self, arrival: Arrival, fin: bool, out: &mut Vec<Arrival>) {
        self.next += u64::from(arrival.payload.len());
        if !arrival.payload.is_empty() {
            if out.is_empty() {
                // Usually it is the only one.
                out.reserve_exact(1);
            }
            out.push(arrival);
        }
        if fin && !self.fin {
            self.fin = true;
            self.next += 1;
        }
    }

    #[inline(never)]
    fn hold(&mut self, mut arrival: Arrival, mut fin: bool) -> Received {
        let (mut start, end) = (arrival.ssn, arrival.ssn + u64::from(arrival.payload.len()) + u64::from(fin));
        let i = self.held.partition_point(|h| h.arrival.ssn <= start);
        if let Some(before) = self.held.before(i).and_then(|i| self.held.get(i))
            && before.end() > start
        {
            if before.end() >= end {
                self.duplicate = Some((start, end));
                return Received::Duplicate;
            }
            self.duplicate = Some((start, before.end()));
            let cut = (before.end() - start).min(u64::from(arrival.payload.len())) as u32;
            start = before.end();
            trim_front(&mut arrival, cut);
        }
        // Held segments inside the new one are kept; the new one is cut in front of the first of them. A retransmission
        // brings the rest again: overlaps after repacketisation are too rare for more.
        let mut new_end = end;
        if let Some(after) = self.held.get(i)
            && after.arrival.ssn < end
        {
            new_end = after.arrival.ssn;
            fin = false;
            arrival.payload = arrival.payload.slice(0, (new_end - start) as u32);
        }
        if new_end <= start {
            self.duplicate = Some((start, end));
            return Received::Duplicate;
        }
        self.held_bytes += u64::from(arrival.payload.len());
        let limit = if self.copies { 0 } else { memory_limit(self.held_window) };
        let (payload, charge) = self.lent.keep(core::mem::take(&mut arrival.payload), limit);
        arrival.payload = payload;
        self.held.insert(i, HeldArrival { arrival, fin, charge });
        self.note_block(start, new_end);
        Received::OutOfOrder
    }

    /// Merges `start..end` into the SACK blocks; its block becomes the first one.
    fn note_block(&mut self, start: u64, end: u64) {
        let (mut left, mut right) = (start, end);
        let place = self.blocks.iter().position(|b| b.0 <= end && b.1 >= start).unwrap_or(self.blocks.len());
        self.acks.host.before_new_block(place, &self.blocks);
        self.blocks.retain(|b| {
            let touches = b.0 <= right && b.1 >= left;
            if touches {
                left = left.min(b.0);
                right = right.max(b.1);
            }
            !touches
        });
        if self.blocks.is_full() {
            self.blocks.pop();
        }
        self.blocks.insert(0, (left, right));
    }

    /// The SACK blocks to report, at most `limit`; a D-SACK comes first (RFC 2883 §4).
    #[inline(never)]
    pub(crate) fn sack_blocks(&mut self, peer_isn: u32, limit: usize) -> SackBlocks {
        let wire = |(left, right): (u64, u64)| SackBlock {
            left: peer_isn.wrapping_add(left as u32),
            right: peer_isn.wrapping_add(right as u32),
        };
        let mut out = SackBlocks::new();
        let blocks = self.acks.host.flushed_blocks().unwrap_or(&self.blocks);
        let reported = self.duplicate.take().into_iter().chain(blocks.iter().copied());
        out.extend(reported.take(limit).map(wire));
        out
    }

    pub(crate) fn has_blocks(&self) -> bool {
        !self.blocks.is_empty() || self.duplicate.is_some()
    }
}

/// Removes `cut` bytes from the front. The mapping stays that of the whole segment.
fn trim_front(arrival: &mut Arrival, cut: u32) {
    if cut == 0 {
        return;
    }
    arrival.payload = arrival.payload.slice(cut, arrival.payload.len() - cut);
    arrival.ssn += u64::from(cut);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_memory_as_the_limit_is_not_too_much() {
        for window in [0, 1000, 1 << 20] {
            let bytes = memory_limit(window) - memory_of(3, 0);
            assert!(!exceeds_memory(3, bytes, window));
            assert!(exceeds_memory(3, bytes + 1, window));
        }
    }
}
