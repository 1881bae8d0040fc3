//! One Multipath TCP connection.

mod send_map;

pub use send_map::SendMap;
