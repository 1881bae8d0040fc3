//! The names by which an application finds an endpoint's connections and listeners.

/// Name of a connection of one endpoint. The handle of a forgotten connection finds nothing, even if another connection
/// has its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionHandle {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// Name of a listener of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerHandle(pub(super) u32);
