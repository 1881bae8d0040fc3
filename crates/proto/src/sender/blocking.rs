//! What holds data back although some subflow has window space: the peer's window, or the connection's own send buffer.

use super::Sender;
use crate::paths::table::SubflowTable;
use crate::scheduler::BlockedBy;
use crate::seq::{DataSeq, SubflowSet};

/// What holds a connection back. The scheduler is told of every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) by: BlockedBy,
    /// The first byte not acknowledged, which everything waits for, and the subflows that carry it.
    head: DataSeq,
    pub(crate) holders: SubflowSet,
    /// The subflows that could send if there were anything to send.
    with_space: SubflowSet,
}

impl Sender {
    /// What holds data back now, if anything does and some subflow has window space.
    pub(crate) fn blocked_now(&self, subflows: &SubflowTable, send_buffer: u64) -> Option<Blocked> {
        let by = match self.window_is_full(subflows) {
            true => BlockedBy::SendWindow,
            false if self.buffer_is_full() => BlockedBy::SendBuffer,
            false => return None,
        };
        let free = subflows.usable().filter(|s| s.has_space(send_buffer));
        let with_space = free.fold(SubflowSet::EMPTY, |all, s| all.with(s.id));
        if with_space.is_empty() {
            return None;
        }
        Some(Blocked { by, head: self.map.first_unacked(), holders: self.holders(), with_space })
    }

    /// Whether data is waiting and the peer's window has no room for it: either none at all, or so little that silly window
    /// avoidance holds the segment back.
    #[inline]
    pub(crate) fn window_is_full(&self, subflows: &SubflowTable) -> bool {
        if self.map.unassigned_bytes() == 0 {
            return false;
        }
        match self.map.sendable(self.peer.end) {
            None => true,
            Some(range) => {
                let segment = subflows.usable().map(|s| u64::from(s.tcp.mss())).max().unwrap_or(0);
                let edge = range.end == self.peer.end && range.end < self.map.written_end();
                edge && range.end.since(range.start) < segment && self.map.assigned_bytes() > 0
            }
        }
    }

    /// Whether the peer's window holds data back that some subflow has room for.
    pub(crate) fn is_held_back_by_window(&self) -> bool {
        self.blocked.is_some_and(|b| b.by == BlockedBy::SendWindow)
    }

    /// Whether everything written is out, and the application has more than the send buffer takes.
    pub(crate) fn buffer_is_full(&self) -> bool {
        self.writer_waits && self.map.unassigned_bytes() == 0 && self.map.assigned_bytes() > 0
    }
}
