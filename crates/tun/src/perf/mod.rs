//! Measures the throughput of a connection, as iperf3 does.
//!
//! The client says in the first bytes of the connection what it wants ([`Request`]): data up, down or both ways, and an
//! amount or a time. The server does its part and ends its stream with its own figures ([`Totals`]). With `verify`
//! these include hashes of all data, which the client compares.
//!
//! Either side is the engine over TUN devices ([`engine`]) or the kernel's Multipath TCP ([`kernel`]).

pub mod engine;
mod following;
pub mod kernel;
mod kernel_figures;
mod measurement;
mod meter;
mod patient;
mod processor;
mod request;
mod stream;

pub use measurement::{Interval, Measurement, Served, SubflowFigures, cookie, rate, system};
pub use processor::Processor;
pub use request::{Amount, Request, Totals};
pub use stream::{PIECE_BYTES, Sink, Source};

/// The trouble of a measurement that was stopped.
pub const STOPPED: &str = "interrupted";

/// Says that no connection to this server came to be, and why.
fn no_connection(remote: std::net::SocketAddr, why: &str) -> String {
    format!("no connection to {remote}: {why}")
}

/// Default port of a server. iperf3 uses 5201.
pub const PORT: u16 = 5210;
