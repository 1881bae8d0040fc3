//! Measures what a connection carries, as iperf3 does.
//!
//! The client says what it wants in the first bytes of the connection ([`Request`]): data up, down or both ways, an amount or a
//! time. The server does its part and ends its stream with what it saw ([`Totals`]); with `verify` that includes
//! hashes of all data, which the client compares.
//!
//! Either side is our engine over TUN devices ([`engine`]) or the kernel's Multipath TCP ([`kernel`]).

pub mod engine;
mod following;
pub mod kernel;
mod measurement;
mod meter;
mod patient;
mod processor;
mod request;
mod stream;

pub use measurement::{Interval, Measurement, SubflowFigures, cookie, rate, system};
pub use processor::Processor;
pub use request::{Amount, Request, Totals};
pub use stream::{PIECE_BYTES, Sink, Source};

/// The port of a server, where none is given. iperf3 has 5201.
pub const PORT: u16 = 5210;
