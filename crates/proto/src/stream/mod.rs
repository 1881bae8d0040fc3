//! What the application has written: its bytes (`send_buffer`), who carries which of them (`send_map`), and where its messages end
//! (`messages`). Schedulers see it, and the sender gives it to subflows.

pub(crate) mod messages;
mod piece_lists;
pub(crate) mod send_buffer;
pub(crate) mod send_map;
