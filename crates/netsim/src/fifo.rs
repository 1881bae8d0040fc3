//! Packets that wait, first come first served.

use crate::Packet;
use pathweave_units::Instant;
use std::collections::VecDeque;

/// A packet on a link, before it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Entry<P> {
    /// The caller's packet.
    pub(crate) packet: P,
    /// Number of packets handed to the link before this one.
    pub(crate) sequence: u64,
    /// When it was handed over.
    pub(crate) entered: Instant,
}

/// Packets waiting, first come first served.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    entries: VecDeque<Entry<P>>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Self {
        Fifo { entries: VecDeque::new(), bytes: 0 }
    }
    pub(crate) fn push(&mut self, entry: Entry<P>) {
        self.bytes += u64::from(entry.packet.len_bytes());
        self.entries.push_back(entry);
    }
    pub(crate) fn pop(&mut self) -> Option<Entry<P>> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.packet.len_bytes());
        Some(entry)
    }
    pub(crate) fn first(&self) -> Option<&Entry<P>> {
        self.entries.front()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub(crate) fn packets(&self) -> u64 {
        self.entries.len() as u64
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
