//! What a subflow's snapshot says of its TCP, beside what schedulers see: the part of Linux's `tcp_info` that has no other place.

use super::recovery::State as RecoveryState;
use super::{State, Tcp};
use pathweave_units::Instant;

/// One subflow's TCP at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// The state of RFC 9293 §3.3.2.
    pub state: State,
    /// Whether losses are being repaired, and why (`tcpi_ca_state`).
    pub recovery: RecoveryState,
    /// The two SYNs have agreed on timestamps (RFC 7323).
    pub timestamps: bool,
    /// They have agreed on SACK (RFC 2018).
    pub sack: bool,
    /// They have agreed on explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Shift of the window fields that we send.
    pub window_shift: u8,
    /// Shift of the window fields that the peer sends.
    pub peer_window_shift: u8,
    /// The segment size that our SYN names, data and option bytes.
    pub offered_mss: u32,
    /// The longest segment that has come, data bytes.
    pub largest_received: u32,
    /// Segments of those sent that the peer has reported with SACK.
    pub sacked: u32,
    /// Segments of those sent that are taken for lost.
    pub lost: u32,
    /// Segments of which a repetition is in the network.
    pub retransmitted: u32,
    /// Retransmission timeouts in a row.
    pub timeouts_in_a_row: u32,
    /// How often the retransmission timeout is doubled.
    pub backoff: u32,
    /// Acknowledgements that showed that segments were reordered.
    pub reordering_events: u32,
    /// The most segments that one was late by, at least 3.
    pub reordering: u32,
    /// When data last came.
    pub last_data_received: Option<Instant>,
    /// The window that the peer last offered here, bytes.
    pub peer_window: u64,
}

impl Tcp {
    pub(crate) fn info(&self) -> TcpInfo {
        TcpInfo {
            state: self.state,
            recovery: self.recovery.state,
            timestamps: self.agreed.timestamps,
            sack: self.agreed.sack,
            ecn: self.agreed.ecn,
            window_shift: self.agreed.window_shift,
            peer_window_shift: self.agreed.peer_window_shift,
            offered_mss: self.offered_mss(),
            largest_received: self.receiver.full_segment(),
            sacked: self.queue.sacked_out,
            lost: self.queue.lost_out,
            retransmitted: self.queue.retransmitted_out,
            timeouts_in_a_row: self.silence.timeouts,
            backoff: self.rtt.backoff(),
            reordering_events: self.recovery.rack.reordering_events,
            reordering: self.recovery.rack.reordering,
            last_data_received: self.receiver.last_data(),
            peer_window: self.peer_window.bytes,
        }
    }
}
