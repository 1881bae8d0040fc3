//! The waiting room of a link: a FIFO and its limit.

use crate::{Codel, Packet};
use pathweave_units::{Duration, Instant};
use std::collections::VecDeque;

/// How much may wait for transmission. What does not fit is dropped on arrival (drop-tail).
///
/// Waiting means: not yet in transmission. With a constant rate the frame being sent does not count; with a token
/// bucket the frame at the head waits for tokens in the queue and counts, as in Linux; with a trace a frame counts
/// until its first delivery opportunity, as in mahimahi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of frames (without the link's overhead).
    Bytes(u64),
    /// At most what the link sends in this time, at its rate or at its trace's mean rate, overhead included; always
    /// room for one packet. Without effect on an unlimited link.
    Time(Duration),
}

/// The waiting room of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// What fits.
    pub limit: QueueLimit,
    /// CoDel, in addition to the limit.
    pub codel: Option<Codel>,
}

impl From<QueueLimit> for Queue {
    /// A drop-tail queue.
    fn from(limit: QueueLimit) -> Self {
        Queue { limit, codel: None }
    }
}

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
