//! The data that the application has written: its bytes and the ends of its messages (`send_buffer`), and which
//! subflows carry which parts (`send_map`). Schedulers see it, and the sender gives it to subflows.

pub(crate) mod send_buffer;
pub(crate) mod send_map;
