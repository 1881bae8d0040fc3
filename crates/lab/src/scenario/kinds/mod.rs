//! Parsers of values that come in kinds, some with parts.

mod connection;
mod link;

pub(crate) use connection::{AlgorithmParser, PathManagerParser, ReceiveBufferParser, WorkloadParser};
pub(crate) use link::{JitterParser, LossParser, QueueParser, RateParser, ReorderParser, TraceParser};
