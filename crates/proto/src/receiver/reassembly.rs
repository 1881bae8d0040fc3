//! Reassembly of the data stream from all subflows.

use crate::ordered::{Ordered, Place};
use crate::tcp::{Lent, WaitingMemory, collect, memory_of};
use pathweave_scheduler::DataSeq;
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// Appends a piece to another one, if both are one range of a virtual stream or the piece is small.
fn join(before: &mut Payload, piece: &Payload) -> bool {
    before.try_merge(piece) || collect(before, piece)
}

#[derive(Debug)]
struct HeldPiece {
    start: DataSeq,
    payload: Payload,
    /// Charge for the packet memory that the piece keeps alive.
    charge: u32,
}

impl HeldPiece {
    fn end(&self) -> DataSeq {
        self.start + u64::from(self.payload.len())
    }
}

/// Data in order for the application, and data that waits for missing data in front of it.
#[derive(Debug)]
pub(crate) struct Reassembly {
    next: DataSeq,
    /// Out-of-order pieces: sorted, disjoint, all beyond `next`.
    held: Ordered<HeldPiece>,
    held_bytes: u64,
    /// Pieces in order, each with the charge for its packet memory.
    ready: VecDeque<(Payload, u32)>,
    ready_bytes: u64,
    lent: Lent,
    /// End of the stream, once a DATA_FIN (or FIN) has announced it.
    end: Option<DataSeq>,
}

impl Reassembly {
    /// An empty stream. `packet_memory` is what one packet keeps alive, bytes.
    pub(crate) fn new(packet_memory: u32) -> Self {
        Reassembly {
            next: DataSeq::default(),
            held: Ordered::default(),
            held_bytes: 0,
            ready: VecDeque::new(),
            ready_bytes: 0,
            lent: Lent::new(packet_memory),
            end: None,
        }
    }
    /// The first byte that is missing.
    pub(crate) fn next(&self) -> DataSeq {
        self.next
    }
    /// The first byte that the application has not read.
    pub(crate) fn read_position(&self) -> DataSeq {
        self.next - self.ready_bytes
    }
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
    /// Memory of all data here, at most, bytes: copied pieces, and pieces that are charged with their packets' memory.
    #[inline]
    pub(crate) fn memory(&self) -> WaitingMemory {
        let records = memory_of(self.held.len() + self.ready.len(), self.held_bytes + self.ready_bytes);
        WaitingMemory { records, blocks: self.lent.charged() }
    }
    /// Whether waiting pieces take more memory than a window of full segments could, so that no more are held.
    pub(crate) fn is_overfull(&self, window: u64) -> bool {
        crate::tcp::exceeds_memory(self.held.len(), self.held_bytes, window)
    }
    /// Makes room for `len` bytes at `start` by dropping data farther ahead in the stream, which is needed later. Its
    /// sender still has it, because no DATA_ACK covers it. Returns whether there is room; if not, nothing is dropped.
    #[cold]
    pub(crate) fn make_way(&mut self, start: DataSeq, len: u64) -> bool {
        let (end, mut needed) = (start + len, memory_of(1, len));
        let mut first = None;
        let mut at = self.held.before(self.held.end());
        while let Some(place) = at
            && let Some(held) = self.held.get(place).filter(|held| held.start >= end)
            && needed > 0
        {
            needed = needed.saturating_sub(memory_of(1, u64::from(held.payload.len())));
            first = Some(held.start);
            at = self.held.before(place);
        }
        let Some(first) = first.filter(|_| needed == 0) else { return false };
        while self.held.back().is_some_and(|held| held.start >= first)
            && let Some(held) = self.held.pop_back()
        {
            self.held_bytes -= u64::from(held.payload.len());
            self.lent.give_back(held.charge);
        }
        true
    }
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.held.shrink();
        self.ready.shrink_to_fit();
    }
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.ready_bytes
    }
    /// Sets the end of the stream, unless there is data beyond `end` already. The first announcement counts; a later
    /// one of another end is ignored.
    //= RFC 8684 §3.3.3: "it is only DATA_ACKed once all data has been successfully received at the connection level"
    //= tests: close::the_first_data_fin_counts_and_waits_for_the_data_before_it
    pub(crate) fn set_end(&mut self, end: DataSeq) {
        if end >= self.held.back().map_or(self.next, HeldPiece::end) {
            self.end.get_or_insert(end);
        }
    }
    /// Forgets the announced end of the stream, unless all data up to it has arrived.
    pub(crate) fn forget_missing_end(&mut self) {
        if !self.complete() {
            self.end = None;
        }
    }
    /// Whether the peer has announced the end of the stream.
    pub(crate) fn has_end(&self) -> bool {
        self.end.is_some()
    }
    /// Whether all data up to the end has come.
    pub(crate) fn complete(&self) -> bool {
        self.end == Some(self.next)
    }
    /// Whether all data up to the end was read.
    pub(crate) fn drained(&self) -> bool {
        self.complete() && self.ready_bytes == 0
    }

    /// Takes arriving data; returns the number of new bytes. Bytes that have come already win over repetitions. Data
    /// that would keep more than `limit` bytes of packet memory alive is copied.
    //= RFC 8684 §3.3.1: "an implementation SHOULD treat the first data that is received at a subflow for the data
    //= sequence space as the data that should be delivered to the application"
    //= tests: mappings::bytes_that_are_delivered_or_waiting_never_change
    pub(crate) fn insert(&mut self, start: DataSeq, payload: Payload, limit: u64) -> u64 {
        let end = start + u64::from(payload.len());
        let end = self.end.map_or(end, |e| e.min(end));
        let from = start.max(self.next);
        if from >= end {
            return 0;
        }
        let len = end.since(from) as u32;
        let payload = if len == payload.len() { payload } else { payload.slice(from.since(start) as u32, len) };
        if from == self.next && self.held.front().is_none_or(|h| h.start >= end) {
            self.arrive(payload, limit);
            self.release();
            return end.since(from);
        }
        let new = self.hold(from, payload, limit);
        self.release();
        new
    }

    /// Appends data that came in order.
    fn arrive(&mut self, payload: Payload, limit: u64) {
        if payload.is_virtual() {
            return self.advance(payload, 0);
        }
        // Data that will be read at once need not be copied, however small it is.
        let (payload, charge) = match self.ready.is_empty() {
            true => {
                let charge = self.lent.share(&payload);
                (payload, charge)
            }
            false => self.lent.keep(payload, limit),
        };
        self.advance(payload, charge);
    }

    fn advance(&mut self, payload: Payload, charge: u32) {
        let len = u64::from(payload.len());
        self.next = self.next + len;
        self.ready_bytes += len;
        if let Some((last, _)) = self.ready.back_mut()
            && join(last, &payload)
        {
            return self.lent.give_back(charge);
        }
        if let Payload::Chunks(chunks) = payload {
            // The charge of all pieces is given back when the last one is read.
            self.ready.extend(chunks.iter().map(|piece| (Payload::Bytes(piece), 0)));
            if let Some((_, of_last)) = self.ready.back_mut() {
                *of_last = charge;
            }
            return;
        }
        if self.ready.is_empty() {
            self.ready.reserve_exact(1);
        }
        self.ready.push_back((payload, charge));
    }

    /// Moves held data that is in order now to `ready`.
    fn release(&mut self) {
        while self.held.front().is_some_and(|h| h.start == self.next) {
            if let Some(held) = self.held.pop_front() {
                self.held_bytes -= u64::from(held.payload.len());
                self.advance(held.payload, held.charge);
            }
        }
    }

    /// Fills the gaps between held pieces with `payload`, which starts at `start`; returns the bytes used.
    fn hold(&mut self, start: DataSeq, payload: Payload, limit: u64) -> u64 {
        let end = start + u64::from(payload.len());
        let mut i = self.held.partition_point(|h| h.end() <= start);
        let mut at = start;
        let mut new = 0;
        while at < end {
            match self.held.get(i) {
                Some(held) if held.start <= at => {
                    at = at.max(held.end());
                    i = self.held.after(i);
                }
                after => {
                    let gap_end = after.map_or(end, |h| h.start.min(end));
                    let piece = payload.slice(at.since(start) as u32, gap_end.since(at) as u32);
                    new += gap_end.since(at);
                    i = self.put(i, at, piece, limit);
                    at = gap_end;
                }
            }
        }
        self.held_bytes += new;
        new
    }

    /// Inserts a piece at `i`, or joins it to a neighbour if that takes little or no copying; returns the position to
    /// continue from.
    fn put(&mut self, i: Place, start: DataSeq, payload: Payload, limit: u64) -> Place {
        let joined = self
            .held
            .before(i)
            .and_then(|b| self.held.get_mut(b))
            .is_some_and(|before| before.end() == start && join(&mut before.payload, &payload));
        if joined {
            return i;
        }
        if let Some(after) = self.held.get_mut(i)
            && after.start == start + u64::from(payload.len())
        {
            let mut longer = payload.clone();
            if longer.try_merge(&after.payload) {
                *after = HeldPiece { start, payload: longer, charge: 0 };
                return i;
            }
        }
        let (payload, charge) = self.lent.keep(payload, limit);
        let i = self.held.insert(i, HeldPiece { start, payload, charge });
        self.held.after(i)
    }

    /// Whether the next data to read is virtual.
    pub(crate) fn reads_virtual(&self) -> bool {
        self.ready.front().is_some_and(|(payload, _)| payload.is_virtual())
    }

    /// Reads at most `max` bytes in order, as far as they are in one piece, without copying.
    pub(crate) fn read(&mut self, max: u64) -> Option<Payload> {
        let (front, charge) = self.ready.front_mut()?;
        let len = front.len();
        let take = u64::from(len).min(max) as u32;
        if take == 0 {
            return None;
        }
        self.ready_bytes -= u64::from(take);
        if take == len {
            self.lent.give_back(*charge);
            return self.ready.pop_front().map(|(payload, _)| payload);
        }
        let out = front.slice(0, take);
        *front = front.slice(take, len - take);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn piece(start: u64, len: u32) -> Payload {
        Payload::Virtual { start, len }
    }

    #[test]
    fn prepends_come_out_in_order() {
        let mut q = Reassembly::new(2048);
        for start in [300, 200, 100] {
            assert_eq!(q.insert(DataSeq(start), piece(start, 100), u64::MAX), 100);
        }
        assert_eq!((q.held_bytes(), q.held.len()), (300, 1));
        assert_eq!(q.insert(DataSeq(500), piece(500, 70), u64::MAX), 70);
        assert_eq!(q.insert(DataSeq(0), piece(0, 150), u64::MAX), 100);
        assert_eq!(q.next(), DataSeq(400));
        assert_eq!(q.read(u64::MAX), Some(piece(0, 400)));
    }

    /// Data that is needed sooner replaces data farther ahead, and no more of it than necessary.
    #[test]
    fn what_is_needed_sooner_takes_the_place_of_what_lies_farther_ahead() {
        let mut q = Reassembly::new(2048);
        for start in [1000, 2000, 3000, 4000] {
            q.insert(DataSeq(start), piece(start, 100), u64::MAX);
        }
        let before = q.memory().records;
        assert!(q.make_way(DataSeq(500), 200));
        q.insert(DataSeq(500), piece(500, 200), u64::MAX);
        assert_eq!((q.held.len(), q.held_bytes()), (3, 400), "3000 and 4000 have gone");
        assert!(q.memory().records <= before);
        assert!(!q.make_way(DataSeq(2000), 100), "itself, and nothing beyond it");
        assert!(!q.make_way(DataSeq(1500), 5000) && q.held.len() == 3, "nothing is dropped in vain");
        assert!(!q.make_way(DataSeq(1500), 400), "2000 alone has not so much");
    }

    #[test]
    fn the_first_end_counts() {
        let mut q = Reassembly::new(2048);
        q.set_end(DataSeq(10));
        q.set_end(DataSeq(5));
        assert!(!q.complete());
        assert_eq!(q.insert(DataSeq(0), piece(0, 20), u64::MAX), 10);
        assert!(q.complete() && !q.drained());
    }

    /// Packets of one byte, each in a block of its own.
    #[test]
    fn small_pieces_that_wait_are_copied_together() {
        let block = |i: u64| Bytes::from(vec![i as u8; 2048]);
        let blocks: Vec<Bytes> = (0..20_000).map(block).collect();
        let mut q = Reassembly::new(2048);
        let insert = |q: &mut Reassembly, at: u64| {
            q.insert(DataSeq(at), Payload::Bytes(blocks[at as usize].slice(5..6)), u64::MAX);
        };
        // Out of order, without gaps; then in order.
        (10_000..20_000).for_each(|at| insert(&mut q, at));
        assert!(q.held.len() < 4, "{} pieces", q.held.len());
        (0..10_000).for_each(|at| insert(&mut q, at));
        assert!(q.held.is_empty() && q.ready.len() < 10, "{} pieces", q.ready.len());
        let shared = blocks.iter().filter(|b| !b.is_unique()).count();
        assert_eq!(shared, 1, "the first was not copied: a reader takes it at once, mostly");
        let mut read = Vec::new();
        while let Some(payload) = q.read(1000) {
            read.extend(payload.to_vec());
        }
        assert!(read.iter().enumerate().all(|(i, byte)| *byte == i as u8) && read.len() == 20_000);
        assert_eq!(q.lent.charged(), 0);
    }

    /// Two pieces share a block and the first is read: the second keeps the block alive and is charged with it.
    #[test]
    fn the_last_piece_of_a_block_is_charged_with_all_of_it() {
        let mut q = Reassembly::new(2048);
        let mut blocks = Vec::new();
        for i in 0..100 {
            let block = Bytes::from(vec![i as u8; 2048]);
            q.insert(DataSeq(300 * i), Payload::Bytes(block.slice(..300)), 20_000);
            q.insert(DataSeq(1_000_000 + 600 * i), Payload::Bytes(block.slice(300..600)), 20_000);
            assert!(q.read(u64::MAX).is_some());
            blocks.push(block);
        }
        let shared = blocks.iter().filter(|b| !b.is_unique()).count();
        assert!((5..=10).contains(&shared), "{shared} blocks of 2048 bytes, where 20,000 bytes are the limit");
    }

    /// Data that would keep too much memory alive is copied, in order and out of order.
    #[test]
    fn beyond_the_limit_data_is_copied() {
        let blocks: Vec<Bytes> = (0..40u8).map(|i| Bytes::from(vec![i; 2048])).collect();
        let mut q = Reassembly::new(2048);
        for (i, block) in (0..).zip(&blocks) {
            // Every other piece is missing at first.
            let at = if i < 20 { 2 * i } else { 2 * (i - 20) + 1 };
            q.insert(DataSeq(at * 1000), Payload::Bytes(block.slice(..1000)), 20_000);
            assert!(q.lent.charged() <= 20_000 + 2048);
        }
        let shared = blocks.iter().filter(|b| !b.is_unique()).count();
        assert!((9..=11).contains(&shared), "{shared} blocks");
        let mut read = 0;
        while let Some(payload) = q.read(u64::MAX) {
            read += payload.len();
        }
        assert_eq!((read, q.lent.charged()), (40_000, 0));
        assert!(blocks.iter().all(Bytes::is_unique));
    }

    proptest! {
        #[test]
        fn every_byte_comes_out_once_in_order_and_never_changes(
            pieces in proptest::collection::vec((0usize..120, 1usize..40), 1..80),
            real: bool,
        ) {
            let stream: Vec<u8> = (0..160u8).collect();
            let mut q = Reassembly::new(2048);
            let mut seen = [false; 160];
            let mut read = Vec::new();
            for (i, (start, len)) in pieces.into_iter().enumerate() {
                let end = (start + len).min(160);
                let payload = if real {
                    // A repetition with other contents must not change data that has come already.
                    let first_seen = seen[start..end].iter().any(|s| *s);
                    let mut copy = stream[start..end].to_vec();
                    if first_seen {
                        for (j, b) in copy.iter_mut().enumerate() {
                            if seen[start + j] { *b ^= i as u8 | 1; }
                        }
                    }
                    Payload::Bytes(Bytes::from(copy))
                } else {
                    piece(start as u64, (end - start) as u32)
                };
                let new = seen[start..end].iter().filter(|s| !**s).count() as u64;
                prop_assert_eq!(q.insert(DataSeq(start as u64), payload, u64::MAX), new);
                seen[start..end].fill(true);
                let next = seen.iter().position(|s| !s).unwrap_or(160);
                prop_assert_eq!(q.next(), DataSeq(next as u64));
                prop_assert_eq!(q.held_bytes() as usize, seen[next..].iter().filter(|s| **s).count());
                while let Some(p) = q.read(7) {
                    match p {
                        Payload::Bytes(b) => read.extend_from_slice(&b),
                        Payload::Chunks(_) => panic!("one piece is read at a time"),
                        Payload::Virtual { start, len } => read.extend(start as u8..(start + u64::from(len)) as u8),
                    }
                }
                prop_assert_eq!(&read[..], &stream[..next]);
            }
        }
    }
}
