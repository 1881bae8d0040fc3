//! Memory into which packets are read. Received data shares this memory until the application has read it.

use bytes::Bytes;
use std::collections::VecDeque;

/// Most blocks that are kept for reuse. A new block costs more than the packets read into it, because the system
/// provides its pages one by one. Some blocks stay in use while data of several subflows waits out of order.
const KEPT_BLOCKS: usize = 32;
/// A batch that fills less than 1/`COPIED_PART` of a block is copied out of it, so that a little data never keeps a
/// large block alive.
const COPIED_PART: usize = 8;

/// Blocks of memory, each for a batch of packets.
#[derive(Debug)]
pub(crate) struct Memory {
    block_bytes: usize,
    filling: Vec<u8>,
    /// Blocks in the order of use. Waiting data may still share them.
    used: VecDeque<Bytes>,
}

impl Memory {
    pub(crate) fn new(block_bytes: usize) -> Self {
        Memory { block_bytes, filling: Vec::with_capacity(block_bytes), used: VecDeque::new() }
    }

    /// The block that is being filled.
    pub(crate) fn filling(&mut self) -> &mut Vec<u8> {
        &mut self.filling
    }

    /// Most bytes that the smallest piece of a batch can keep alive.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    pub(crate) fn room(&self) -> usize {
        self.filling.capacity() - self.filling.len()
    }

    /// Returns the batch as shared memory. The next batch uses another block.
    pub(crate) fn take(&mut self) -> Bytes {
        if self.filling.len() < self.block_bytes / COPIED_PART {
            let batch = Bytes::copy_from_slice(&self.filling);
            self.filling.clear();
            return batch;
        }
        let next = self.next_block();
        let batch = Bytes::from(std::mem::replace(&mut self.filling, next));
        self.used.push_back(batch.clone());
        batch
    }

    /// A block that no data shares any more, or a new one. If there are several, the block used last, because it is
    /// still in the processor's cache. The memory is not zeroed.
    fn next_block(&mut self) -> Vec<u8> {
        let free = self.used.iter().rposition(Bytes::is_unique);
        let block = free.and_then(|i| self.used.remove(i)).and_then(|block| block.try_into_mut().ok());
        match block {
            Some(mut block) => {
                block.clear();
                let block = Vec::from(block);
                if block.capacity() >= self.block_bytes { block } else { Vec::with_capacity(self.block_bytes) }
            }
            None => {
                if self.used.len() == KEPT_BLOCKS {
                    // Its readers free it.
                    self.used.pop_front();
                }
                Vec::with_capacity(self.block_bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::SocketAddr;
    use pathweave_algorithms::Registry;
    use pathweave_proto::config::{ConnectionConfig, ReceiveBuffer};
    use pathweave_proto::{Endpoint, Secrets};
    use pathweave_units::Instant;
    use pathweave_wire::{Ecn, Flags, Payload, Segment};

    /// Each batch leaves one short segment behind a gap. The blocks that these segments share take no more memory than
    /// the window allows.
    #[test]
    fn data_that_waits_keeps_few_blocks_alive() {
        const WINDOW: u64 = 64 << 10;
        const BLOCK: usize = 128 << 10;
        let mut memory = Memory::new(BLOCK);
        let registry = Registry::builtin();
        let scheduler = registry.choose_scheduler("minrtt", &[]).expect("it is built in");
        let controller = registry.choose_controller("reno", &[]).expect("it is built in");
        let receive_buffer = ReceiveBuffer::Fixed(WINDOW);
        let mut config =
            ConnectionConfig { receive_buffer, mptcp: false, ..ConnectionConfig::new(scheduler, controller) };
        config.tcp.packet_memory = memory.block_bytes() as u32;
        let (mut server, now) = (Endpoint::new(Secrets::new([1; 32])), Instant::from_secs(1));
        let at = SocketAddr::from(([10, 0, 0, 2], 80));
        server.listen_and_accept(at, config, &[]).expect("nobody listens");
        let mut segment = Segment::new(SocketAddr::from(([10, 0, 0, 1], 5000)), at);
        (segment.flags, segment.window) = (Flags::SYN, 65_535);
        server.handle_segment(now, Ecn::NotEct, &segment);
        let answer = server.poll_transmit(now, 1).expect("a SYN/ACK").segment;
        (segment.flags, segment.seq, segment.ack) = (Flags::ACK, 1, answer.seq.wrapping_add(1));
        let mut batches = Vec::new();
        for n in 0..200 {
            memory.filling().resize(BLOCK, n as u8);
            let batch = memory.take();
            segment.seq = 2 + 301 * n;
            segment.payload = Payload::Bytes(batch.slice(..300));
            server.handle_segment(now, Ecn::NotEct, &segment);
            batches.push(batch);
        }
        drop((memory, segment));
        let handle = server.poll_accept().expect("it is open").connection;
        let held: Option<u64> = server.connection(handle).map(|c| c.subflows().map(|s| s.held_bytes).sum());
        assert_eq!(held, Some(200 * 300));
        let kept = batches.iter().filter(|batch| !batch.is_unique()).count() * BLOCK;
        assert!(kept > 0 && kept as u64 <= 4 * WINDOW, "{kept} bytes");
    }

    #[test]
    fn a_block_is_used_again_once_nobody_shares_it() {
        let mut memory = Memory::new(1 << 10);
        memory.filling().resize(1000, 1);
        let first = memory.filling().as_ptr();
        let batch = memory.take();
        assert_eq!(batch.as_ptr(), first, "it is shared, not copied");
        memory.filling().resize(1000, 2);
        drop(batch);
        drop(memory.take());
        assert_eq!(memory.filling().as_ptr(), first);
        assert_eq!((memory.filling().len(), memory.room()), (0, 1 << 10));
    }

    #[test]
    fn a_block_that_was_shared_for_long_is_used_again() {
        let mut memory = Memory::new(1 << 10);
        let mut blocks = std::collections::BTreeSet::new();
        let (mut waiting, mut others) = (VecDeque::new(), Vec::new());
        for _ in 0..100 {
            blocks.insert(memory.filling().as_ptr());
            memory.filling().resize(1000, 1);
            waiting.push_back(memory.take());
            if waiting.len() > 10 {
                waiting.pop_front();
                // Were the block given back to the system, this would have it.
                others.push(Vec::<u8>::with_capacity(1 << 10));
            }
        }
        assert!(blocks.len() <= 13, "{} blocks for ten that wait", blocks.len());
        assert!(memory.used.len() <= KEPT_BLOCKS);
    }

    #[test]
    fn a_block_that_is_shared_is_left_alone() {
        let mut memory = Memory::new(1 << 10);
        memory.filling().resize(1000, 1);
        let batch = memory.take();
        for _ in 0..3 {
            memory.filling().resize(1000, 2);
            memory.take();
        }
        assert_eq!(batch, vec![1; 1000]);
    }

    #[test]
    fn little_data_does_not_keep_a_block_alive() {
        let mut memory = Memory::new(1 << 10);
        let block = memory.filling().as_ptr();
        memory.filling().extend([7; 100]);
        assert_eq!(memory.take(), vec![7; 100]);
        assert_eq!(memory.filling().as_ptr(), block);
    }
}
