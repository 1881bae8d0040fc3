//! The subflows of a connection and the addresses they run between.

pub(crate) mod addresses;
pub(crate) mod health;
pub(crate) mod joins;
mod special;
pub(crate) mod subflow;
pub(crate) mod table;
