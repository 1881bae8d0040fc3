//! Parsers of values that have several kinds. Some kinds have parts: `uniform:amplitude=2ms`.

mod connection;
mod link;
mod traffic;

pub(crate) use connection::{
    ControllerParser, PacingParser, PathManagerParser, ReceiveBufferParser, SchedulerParser, WorkloadParser,
};
pub(crate) use link::{JitterParser, LossParser, QueueParser, RateParser, ReorderParser, TraceParser};
pub(crate) use traffic::TrafficPatternParser;
