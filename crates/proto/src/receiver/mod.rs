//! The receiving half of a connection's data stream.

pub(crate) mod reassembly;
