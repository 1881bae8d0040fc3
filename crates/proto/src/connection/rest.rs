//! A connection that rests keeps no memory for what may come.

use super::Connection;

impl Connection {
    /// Whether nothing is out, nothing waits to be sent, to be read or for what is missing before it.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.sender.is_idle()
            && self.receiver.ready_bytes() + self.receiver.held_bytes() == 0
            && self.subflows.iter().all(|s| s.tcp.queue().is_empty() && s.tcp.held_bytes() == 0 && s.mappings.is_idle())
    }

    /// Gives back what lists have room for beyond what is in them. Nothing else changes.
    #[cold]
    pub(crate) fn shrink(&mut self) {
        self.subflows.shrink();
        self.addresses.shrink();
        self.sender.shrink();
        self.receiver.shrink();
        self.host.shrink();
        self.news.shrink();
        self.control.shrink_to_fit();
        self.scheduling.views = Vec::new();
        self.paths = Vec::new();
        self.changes = None;
    }
}
