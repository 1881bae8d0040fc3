//! The sending half of a connection's data stream.

pub(crate) mod send_buffer;
pub(crate) mod send_map;
