//! One Multipath TCP connection.

mod receive_queue;
mod receive_window;
mod send_buffer;
mod send_map;

pub use send_map::SendMap;
