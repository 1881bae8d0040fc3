//! The waiting room of a link: how much may wait there.

use crate::Codel;
use pathweave_units::Duration;

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
