//! Where packets are read to. Data shares this memory for as long as it waits for its reader.

use bytes::Bytes;
use std::collections::VecDeque;

/// Blocks that are kept for use again, at most.
const KEPT_BLOCKS: usize = 8;
/// A batch that fills less than this part of a block is copied out of it, so that little data never keeps a large block alive.
const COPIED_PART: usize = 8;

/// Blocks of memory, each for a batch of packets.
#[derive(Debug)]
pub(crate) struct Memory {
    block_bytes: usize,
    filling: Vec<u8>,
    /// In the order of use; data may still share them.
    used: VecDeque<Bytes>,
}

impl Memory {
    pub(crate) fn new(block_bytes: usize) -> Self {
        Memory { block_bytes, filling: Vec::with_capacity(block_bytes), used: VecDeque::new() }
    }

    /// The block that is filled now.
    pub(crate) fn filling(&mut self) -> &mut Vec<u8> {
        &mut self.filling
    }

    pub(crate) fn room(&self) -> usize {
        self.filling.capacity() - self.filling.len()
    }

    /// What was read, to be shared. The next batch goes to another block.
    pub(crate) fn take(&mut self) -> Bytes {
        if self.filling.len() < self.block_bytes / COPIED_PART {
            let batch = Bytes::copy_from_slice(&self.filling);
            self.filling.clear();
            return batch;
        }
        let next = self.next_block();
        let batch = Bytes::from(std::mem::replace(&mut self.filling, next));
        if self.used.len() < KEPT_BLOCKS {
            self.used.push_back(batch.clone());
        }
        batch
    }

    /// The oldest block, if nobody shares it any more, or else a new one. Nothing of it is zeroed.
    fn next_block(&mut self) -> Vec<u8> {
        match self.used.pop_front().map(Bytes::try_into_mut) {
            Some(Ok(mut block)) => {
                block.clear();
                let block = Vec::from(block);
                if block.capacity() >= self.block_bytes { block } else { Vec::with_capacity(self.block_bytes) }
            }
            // Still in use: its readers free it.
            Some(Err(_)) | None => Vec::with_capacity(self.block_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
