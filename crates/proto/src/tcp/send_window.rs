//! The window that the peer offers on one subflow.

use super::Tcp;
use pathweave_wire::{Flags, Segment};

/// The peer's window.
//= RFC 9293 §3.1 (REC-1): "It is RECOMMENDED that implementations will reserve 32-bit fields for the send and receive window sizes
//= in the connection record and do all window computations with 32 bits"
//= tests: zero_window::scaled_windows_are_rounded_but_kept
//= RFC 8684 §3.3.5: "The sender MUST also remember the receive windows advertised by each subflow"
//= tests: window_updates::an_old_segment_does_not_bring_back_an_old_window
#[derive(Debug, Default)]
pub(super) struct SubflowSendWindow {
    /// The last window and the largest of all, bytes.
    pub(super) bytes: u64,
    pub(super) largest: u64,
    /// Sequence number of the segment that brought the last update (RFC 9293 §3.10.7.4: SND.WL1). The number that it
    /// acknowledged (SND.WL2) is never above `una`, so it needs no field.
    pub(super) seq: u64,
    /// Low 32 bits of the last DATA_ACK on this subflow.
    pub(super) data_ack: Option<u32>,
}

impl Tcp {
    /// Takes the window of an acceptable segment that is no older than the last update; returns whether it changed.
    //= RFC 9293 §3.10.7.4: "The check here prevents using old segments to update the window"
    //= tests: window_updates::an_old_segment_does_not_bring_back_an_old_window, window_updates::what_acknowledges_new_data_updates_the_window_also_where_a_later_segment_came_first
    pub(super) fn update_peer_window(&mut self, segment: &Segment, seq: u64, ack: u64) -> bool {
        if ack < self.send.una {
            return false;
        }
        // A segment that acknowledges new data is newer than any window update seen before, whatever happened to the
        // segments between. If its window were ignored, the old one would count from the new acknowledgement, and the
        // edge would be where the peer never offered it. A segment that acknowledges nothing new acknowledges as much
        // as the last update did, so its sequence number alone decides.
        if ack == self.send.una && seq < self.peer_window.seq {
            return false;
        }
        //= RFC 7323 §2.2: "The window field in a segment where the SYN bit is set (i.e., a <SYN> or <SYN,ACK>) MUST NOT be scaled"
        //= tests: handshake::a_peers_syn_has_no_scaled_window
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.agreed.peer_window_shift };
        //= RFC 9293 §3.1 (MUST-1): "The window size MUST be treated as an unsigned number, or else large window sizes will appear
        //= like negative windows and TCP will not work"
        //= tests: zero_window::scaled_windows_are_rounded_but_kept
        let window = u64::from(segment.window) << shift;
        let repeats = ack == self.send.una && seq == self.peer_window.seq;
        let shrinks = repeats && (1..self.peer_window.bytes).contains(&window);
        let mut changed = false;
        if !shrinks || self.host.takes_window_of_repetition() {
            changed = window != self.peer_window.bytes;
            self.peer_window.bytes = window;
            self.peer_window.largest = self.peer_window.largest.max(window);
            self.peer_window.seq = seq;
        }
        if let Some(data_ack) = segment.options.dss.and_then(|dss| dss.data_ack) {
            let low = data_ack.expand(0) as u32;
            // The window counts from the DATA_ACK. But without SACK, duplicates caused by a loss must be counted even
            // while the DATA_ACK advances.
            changed |= self.peer_window.data_ack.replace(low) != Some(low) && self.sack_recovery();
        }
        changed
    }

    /// The window that counts from the DATA_ACK of `segment`, bytes.
    pub(crate) fn window_at_data_ack(&self, segment: &Segment) -> u64 {
        match self.host.takes_window_of_repetition() {
            // The segment's own window, even if the subflow has ignored it (an old segment, such as a keep-alive).
            // With another window the edge would be where the peer never offered it.
            true => u64::from(segment.window) * self.peer_window_step(),
            false => self.peer_window.bytes,
        }
    }
}
