//! The part of a subflow's snapshot about its TCP that schedulers do not see: values of Linux's `tcp_info` that are
//! nowhere else.

use super::recovery::RecoveryState;
use super::{Tcp, TcpState};
use pathweave_units::Instant;

/// State of one subflow's TCP at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpInfo {
    /// The state of RFC 9293 §3.3.2.
    pub state: TcpState,
    /// Whether losses are being repaired, and why (`tcpi_ca_state`).
    pub recovery: RecoveryState,
    /// Whether the two SYNs have agreed on timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether the two SYNs have agreed on SACK (RFC 2018).
    pub sack: bool,
    /// Whether the two SYNs have agreed on explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Window scale of the window fields that we send.
    pub window_shift: u8,
    /// Window scale of the window fields that the peer sends.
    pub peer_window_shift: u8,
    /// Segment size that our SYN announced, in bytes; TCP options count, the fixed headers do not.
    pub offered_mss: u32,
    /// Data bytes of the largest segment received.
    pub largest_received: u32,
    /// Sent segments that the peer has reported with SACK.
    pub sacked: u32,
    /// Sent segments that count as lost.
    pub lost: u32,
    /// Segments whose retransmission is in the network.
    pub retransmitted: u32,
    /// Retransmission timeouts in a row.
    pub timeouts_in_a_row: u32,
    /// Number of doublings of the retransmission timeout.
    pub backoff: u32,
    /// Acknowledgements that showed reordering.
    pub reordering_events: u32,
    /// Largest number of segments by which a segment was late, at least 3.
    pub reordering: u32,
    /// When data was last received.
    pub last_data_received: Option<Instant>,
    /// The window that the peer last offered on this subflow, bytes.
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
