//! The application at one end: its writes, reads and close.

use crate::draw::Draw;
use pathweave_units::{Duration, Instant};

/// When an application closes its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// After the application has written everything.
    AfterWriting,
    /// At this time, with the data written by then.
    At(Instant),
    /// After the end of the other direction.
    AfterTheEnd,
    /// The application aborts the connection.
    Abort(Instant),
    /// The application leaves at this time: its written data is still to be sent, and it reads nothing more.
    Leave(Instant),
}

/// When an application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    AtOnce,
    /// Not between these two times.
    Stalls(Instant, Instant),
    /// At most this many bytes at a time, this often.
    Slowly(u64, Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Bytes to write in all, and the most at a time.
    pub(crate) bytes: u64,
    pub(crate) chunk: u64,
    /// The time between writes.
    pub(crate) pause: Duration,
    pub(crate) first: Instant,
    pub(crate) close: Close,
    pub(crate) reader: Reader,
}

impl Plan {
    pub(crate) fn draw(d: &mut Draw) -> Plan {
        let bytes = if d.chance(0.2) { 0 } else { d.spread(1, 300_000) };
        let close = match d.between(0, 19) {
            0..=8 => Close::AfterWriting,
            9..=13 => Close::AfterTheEnd,
            14..=18 => Close::At(d.at_millis(1, 20_000)),
            _ => Close::Abort(d.at_millis(1, 20_000)),
        };
        let reader = match d.between(0, 9) {
            0..=5 => Reader::AtOnce,
            6..=7 => {
                let from = d.at_millis(1, 2000);
                Reader::Stalls(from, from + d.millis(10, 60_000))
            }
            _ => Reader::Slowly(d.spread(1, 20_000), d.millis(1, 1000)),
        };
        Plan {
            bytes,
            chunk: d.spread(1, 100_000).max(bytes / 500),
            pause: if d.chance(0.5) { Duration::ZERO } else { d.millis(1, 2000) },
            first: if d.chance(0.6) { Instant::ZERO } else { d.at_millis(1, 5000) },
            close,
            reader,
        }
    }
}

/// Progress of the application at one end.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// The time of the next write; `None` if the application waits for room.
    pub(crate) next_write: Option<Instant>,
    pub(crate) next_read: Option<Instant>,
    /// Whether the application has closed in order, and whether it is gone (has left or aborted).
    pub(crate) closed: bool,
    pub(crate) gone: bool,
    /// Whether the application has read the end of the stream.
    pub(crate) saw_end: bool,
}

/// Byte `at` of the stream from an end: seven bits, so that a changed byte can be told by its eighth.
pub(crate) fn byte_at(server: bool, at: u64) -> u8 {
    (at.wrapping_add(u64::from(server) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as u8
}
/// The bit that the network changes in a byte.
pub(crate) const CHANGED: u8 = 0x80;
