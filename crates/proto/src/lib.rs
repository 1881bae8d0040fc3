//! The Multipath TCP engine (RFC 8684).
//!
//! The engine does no input or output, reads no clock and draws no randomness of its own. A program around it owns an
//! [`Endpoint`], which holds all connections of a host, and calls it in four ways:
//!
//! * `handle_*` gives it input: a segment, a router's message, the passing of time.
//! * Commands come from the application: connect, write, read, close.
//! * `poll_*` fetches its output: segments to send, the next timer, events for the application.
//! * All other methods are getters.
//!
//! After each `handle_*` and each command, call every `poll_*` until it returns `None`. The crate `pathweave-driver`
//! does this in a fixed order; its documentation has a whole program to copy. By hand, it looks like this:
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_proto::config::ConnectionConfig;
//! use pathweave_proto::{ConnectionEvent, Endpoint, LocalAddress, Secrets};
//! use pathweave_units::Instant;
//!
//! // A client and a server. Real programs take the secret bytes from the operating system.
//! let [mut client, mut server] = [[1; 32], [2; 32]].map(|seed| Endpoint::new(Secrets::new(seed)));
//! let registry = Registry::builtin();
//! let (scheduler, controller) = (registry.choose_scheduler("minrtt", &[])?, registry.choose_controller("lia", &[])?);
//! let config = ConnectionConfig::new(scheduler, controller);
//! let local = |address: &str| LocalAddress { address: address.parse().unwrap(), meta: Default::default() };
//!
//! let now = Instant::ZERO;
//! server.listen_and_accept("10.0.0.2:80".parse()?, config.clone(), &[local("10.0.0.2")])?;
//! let (from, to) = ("10.0.0.1:0".parse()?, "10.0.0.2:80".parse()?);
//! let connection = client.connect(now, from, to, config, &[local("10.0.0.1")])?;
//!
//! // The network: each segment arrives at once.
//! while let Some(transmit) = client.poll_transmit(now, 1) {
//!     server.handle_segment(now, transmit.ecn, &transmit.segment);
//!     while let Some(transmit) = server.poll_transmit(now, 1) {
//!         client.handle_segment(now, transmit.ecn, &transmit.segment);
//!     }
//! }
//! assert_eq!(client.poll_event(), Some((connection, ConnectionEvent::Connected)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address_pair;
pub mod config;
pub mod congestion;
pub mod connection;
pub mod endpoint;
pub mod host;
mod keys;
mod ordered;
mod paths;
mod rate_limiter;
mod receiver;
mod send_buffer;
mod send_queue;
mod sender;
mod tcp;

pub use connection::{
    Amount, Connection, ConnectionError, ConnectionEvent, PacketTooBigVerdict, ReadError, SettingError,
    UnknownConnection, WriteError,
};
pub use endpoint::{
    AcceptError, Accepted, ConnectError, ConnectionHandle, Endpoint, EndpointLimits, Incoming, ListenError,
    ListenerHandle, LocalAddress, PathMtuError, Secrets, UnknownListener,
};
pub use pathweave_scheduler as scheduler;
pub use pathweave_scheduler::{DataSeq, SubflowId, SubflowSet, parameter};
pub use pathweave_wire::PacketTooBig;
