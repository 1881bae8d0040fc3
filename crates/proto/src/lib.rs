//! The sans-IO Multipath TCP engine (RFC 8684).
//!
//! Nothing here does input or output, reads a clock or draws randomness of its own. A driver (the simulator, a TUN
//! device) owns an [`Endpoint`] and calls it with four verbs:
//!
//! * `handle_*` takes input: a segment, a router's message, the passing of time;
//! * commands are the application's: connect, write, read, close;
//! * `poll_*` gives output: segments to send, the next timer, events for the application;
//! * everything else is a getter.
//!
//! One mutation, then drain until every `poll_*` returns nothing.

mod address_pair;
pub mod config;
pub mod congestion;
pub mod connection;
pub mod endpoint;
pub mod host;
mod keys;
mod ordered;
pub mod parameter;
mod paths;
mod rate_limiter;
mod receiver;
pub mod scheduler;
mod send_queue;
mod sender;
mod seq;
mod stream;
pub mod subflow_state;
mod tcp;

pub use connection::{
    Amount, Connection, ConnectionError, ConnectionEvent, PacketTooBigVerdict, ReadError, SettingError,
    UnknownConnection, WriteError,
};
pub use endpoint::{
    AcceptError, Accepted, ConnectError, ConnectionHandle, Endpoint, EndpointLimits, Incoming, ListenError,
    ListenerHandle, LocalAddress, PathMtuError, Secrets, UnknownListener,
};
pub use pathweave_wire::PacketTooBig;
pub use seq::{DataSeq, SubflowId, SubflowSet};
