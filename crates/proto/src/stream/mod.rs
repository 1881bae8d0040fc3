//! What the application has written: its bytes and where its messages end (`send_buffer`), and who carries which of them (`send_map`).
//! Schedulers see it, and the sender gives it to subflows.

pub(crate) mod send_buffer;
pub(crate) mod send_map;
