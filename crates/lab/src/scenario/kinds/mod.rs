//! Parsers of values that come in kinds, some with parts.

mod connection;
mod link;
mod traffic;

pub(crate) use connection::{AlgorithmParser, PacingParser, PathManagerParser, ReceiveBufferParser, WorkloadParser};
pub(crate) use link::{JitterParser, LossParser, QueueParser, RateParser, ReorderParser, TraceParser};
pub(crate) use traffic::TrafficPatternParser;
