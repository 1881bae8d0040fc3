//! What a connection's sender is doing, for those who measure where the time goes.

use super::Connection;
use crate::seq::{DataSeq, SubflowId};

/// What keeps a sender from sending more, or that nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is nothing new to send, or nobody to send it to yet.
    NoData,
    /// Some subflow has room in its congestion window, and the window that the peer offers is full.
    WindowFull,
    /// Every subflow's congestion window, or its send buffer, is full.
    CongestionWindowsFull,
    /// There is data, room in a congestion window and room in the peer's window, and still nothing was assigned: the scheduler
    /// waits.
    SchedulerWaits,
}

impl Connection {
    /// What keeps this connection from sending more. To be asked when the connection is drained: what could be sent has left.
    pub fn progress(&self) -> Progress {
        let usable = || self.subflows.usable();
        if !self.life.is_connected() || self.sender.map.unassigned_bytes() == 0 || usable().next().is_none() {
            return Progress::NoData;
        }
        if self.sender.is_held_back_by_window() {
            return Progress::WindowFull;
        }
        // A backup has room all the time, and it is not for use while another subflow lives.
        let first_choice = || usable().filter(|s| !s.backup && s.is_alive());
        let send_buffer = self.config.send_buffer;
        let room = match first_choice().next() {
            Some(_) => first_choice().any(|s| s.has_space(send_buffer)),
            None => usable().any(|s| s.has_space(send_buffer)),
        };
        if room { Progress::SchedulerWaits } else { Progress::CongestionWindowsFull }
    }

    /// The subflow that carries the byte at `at`; nothing for a byte that is acknowledged or assigned to nobody.
    pub fn holder_of(&self, at: DataSeq) -> Option<SubflowId> {
        let (_, owners) = self.sender.map.span_at(at)?;
        owners.iter().next()
    }
}
