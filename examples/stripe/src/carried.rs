//! The unacknowledged pieces of a connection. Their acknowledgements measure round trips and the delivery rate.
//!
//! `TCP_INFO` has neither in a form that a scheduler can use. Of the round trip it has the smoothed and the smallest
//! value, but not the latest. Its `delivery_rate` never falls in this program: a socket without unsent data counts as
//! limited by the application, and the kernel lets rates of such a socket only rise.

use core::ops::Range;
use pathweave_scheduler::{DataSeq, Duration, Instant};
use std::collections::VecDeque;

#[derive(Debug)]
struct Piece {
    range: Range<DataSeq>,
    /// The end of the piece among all bytes of the connection, heads included.
    end: u64,
    /// When the piece was sent.
    at: Instant,
    /// The stream's bytes that were delivered before the piece was sent, and the time of the last of these deliveries.
    delivered: u64,
    delivered_at: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Carried {
    pieces: VecDeque<Piece>,
    /// Bytes of the stream in `pieces`.
    pub(crate) bytes: u64,
    /// Bytes of the stream that were acknowledged, and the time of the last acknowledgement.
    delivered: u64,
    delivered_at: Instant,
    /// Delivery rate, bytes/s; 0 before the first acknowledgement.
    pub(crate) rate: f64,
    /// The latest and the longest round trip, from the write of a piece to its acknowledgement.
    pub(crate) latest: Option<Duration>,
    pub(crate) longest: Option<Duration>,
    /// When the present round began; `None` if nothing is in flight.
    pub(crate) round_start: Option<Instant>,
    pub(crate) last_sent: Option<Instant>,
}

impl Carried {
    /// Notes a piece that is sent now. `end`: the piece's end among all bytes of the connection.
    pub(crate) fn add(&mut self, now: Instant, range: Range<DataSeq>, end: u64) {
        if self.pieces.is_empty() {
            // The delivery rate does not count the pause that ends now.
            (self.delivered_at, self.round_start) = (now, Some(now));
        }
        self.bytes += range.end.since(range.start);
        self.last_sent = Some(now);
        let (delivered, delivered_at) = (self.delivered, self.delivered_at);
        self.pieces.push_back(Piece { range, end, at: now, delivered, delivered_at });
    }

    /// Removes the pieces that end within the first `until` bytes of the connection, which are acknowledged now.
    /// Returns their ranges of the stream.
    pub(crate) fn acknowledge(&mut self, now: Instant, until: u64) -> Vec<Range<DataSeq>> {
        let count = self.pieces.iter().take_while(|piece| piece.end <= until).count();
        let acked: Vec<Piece> = self.pieces.drain(..count).collect();
        let Some(last) = acked.last() else { return Vec::new() };
        let bytes: u64 = acked.iter().map(|piece| piece.range.end.since(piece.range.start)).sum();
        self.bytes -= bytes;
        self.delivered += bytes;
        self.delivered_at = now;
        // The delivery rate of draft-ietf-ccwg-bbr §4.1, without its bound by the rate of sending.
        let interval = now.since(last.delivered_at).as_secs_f64();
        if interval > 0.0 {
            self.rate = (self.delivered - last.delivered) as f64 / interval;
        }
        self.latest = Some(now.since(last.at));
        self.longest = self.longest.max(self.latest);
        if self.pieces.is_empty() {
            self.round_start = None;
        } else if self.round_start.is_some_and(|start| last.at >= start) {
            self.round_start = Some(now);
        }
        acked.into_iter().map(|piece| piece.range).collect()
    }

    /// The pieces that are not acknowledged.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<DataSeq>> + '_ {
        self.pieces.iter().map(|piece| piece.range.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn range(n: u64) -> Range<DataSeq> {
        DataSeq(1000 * n)..DataSeq(1000 * (n + 1))
    }

    /// Ten pieces of 1000 bytes leave at once. A link of 1 MB/s delivers one each millisecond after a round trip of 20
    /// ms.
    #[test]
    fn round_trips_and_rate_are_those_of_the_link() {
        let mut carried = Carried::default();
        (0..10).for_each(|n| carried.add(ms(0), range(n), 1012 * (n + 1)));
        assert_eq!((carried.bytes, carried.rate, carried.latest), (10_000, 0.0, None));
        for n in 0..10 {
            assert_eq!(carried.acknowledge(ms(20 + n), 1012 * (n + 1)), [range(n)]);
            assert_eq!(carried.latest, Some(Duration::from_millis(20 + n)));
            carried.add(ms(20 + n), range(10 + n), 1012 * (11 + n));
        }
        for n in 0..10 {
            carried.acknowledge(ms(40 + n), 1012 * (11 + n));
        }
        // The last piece left at 29 ms, after the delivery of the first ten. At 49 ms, ten more are delivered: 10 KB in
        // 20 ms.
        assert_eq!((carried.rate, carried.bytes), (500_000.0, 0));
        assert_eq!((carried.longest, carried.round_start), (Some(Duration::from_millis(29)), None));
    }

    #[test]
    fn a_pause_does_not_count_for_the_rate() {
        let mut carried = Carried::default();
        carried.add(ms(0), range(0), 1012);
        carried.acknowledge(ms(20), 1012);
        carried.add(ms(5000), range(1), 2024);
        carried.acknowledge(ms(5020), 2024);
        assert_eq!(carried.rate, 50_000.0);
    }

    #[test]
    fn a_piece_is_acknowledged_when_all_of_it_is() {
        let mut carried = Carried::default();
        carried.add(ms(0), range(0), 1012);
        assert_eq!(carried.acknowledge(ms(20), 1011), []);
        assert_eq!(carried.ranges().collect::<Vec<_>>(), [range(0)]);
        assert_eq!(carried.acknowledge(ms(21), 1012), [range(0)]);
    }
}
