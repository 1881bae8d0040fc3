//! The subflows of a connection, and the addresses between which they run.

pub(crate) mod addresses;
pub(crate) mod health;
pub(crate) mod joins;
pub(crate) mod keep_alive;
mod special;
pub(crate) mod subflow;
pub(crate) mod table;
