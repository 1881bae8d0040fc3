//! The subflows of a connection and the addresses they run between.

pub(crate) mod subflow;
pub(crate) mod table;
