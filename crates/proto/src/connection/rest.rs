//! Freeing the memory that an idle connection does not need.

use super::Connection;

impl Connection {
    /// Whether no data is in flight, waits to be sent or read, or waits for missing data in front of it.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.shared.sender.is_idle()
            && self.shared.receiver.ready_bytes() + self.shared.receiver.held_bytes() == 0
            && self.subflows.iter().all(|s| s.tcp.queue().is_empty() && s.tcp.held_bytes() == 0 && s.mappings.is_idle())
    }

    /// Frees the spare capacity of all lists. Nothing else changes.
    #[cold]
    pub(crate) fn shrink(&mut self) {
        self.subflows.shrink();
        self.shared.addresses.shrink();
        self.shared.sender.shrink();
        self.shared.receiver.shrink();
        self.shared.host.shrink();
        self.shared.news.shrink();
        self.shared.control.shrink_to_fit();
        self.shared.scheduling.views = Vec::new();
        self.shared.paths = Vec::new();
        self.shared.changes = None;
    }
}
