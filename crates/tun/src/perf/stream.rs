//! The source and the sink of a direction's data, independent of the kind of connection.

use super::{Amount, Processor, Request, Totals};
use bytes::Bytes;
use pathweave_units::{Duration, Instant};
use sha2::{Digest, Sha256};

/// Size of the pieces in which data is generated and written, bytes.
pub const PIECE_BYTES: usize = 256 << 10;

/// Generates the data of one direction, up to an amount or a time.
#[derive(Debug)]
pub struct Source {
    /// Bytes left to send, or the time at which sending ends.
    left: u64,
    until: Option<Instant>,
    /// The piece that is sent repeatedly if data is not verified.
    piece: Bytes,
    hash: Option<Sha256>,
    /// Bytes of data given out so far.
    pub written: u64,
}

impl Source {
    /// A source that begins at `now`.
    pub fn new(amount: Amount, verify: bool, now: Instant) -> Self {
        let (left, until) = match amount {
            Amount::Bytes(bytes) => (bytes, None),
            Amount::Time(time) => (u64::MAX, Some(now + time)),
        };
        let hash = verify.then(Sha256::new);
        Source { left, until, piece: piece_from(0), hash, written: 0 }
    }

    /// A source without data.
    pub fn nothing(verify: bool) -> Self {
        Source { left: 0, until: None, piece: Bytes::new(), hash: verify.then(Sha256::new), written: 0 }
    }

    /// The next piece of data; `None` at the end.
    pub fn next(&mut self, now: Instant) -> Option<Bytes> {
        if self.left == 0 || self.until.is_some_and(|until| until <= now) {
            return None;
        }
        if self.hash.is_some() {
            self.piece = piece_from(self.written);
        }
        let piece = self.piece.slice(..self.piece.len().min(usize::try_from(self.left).unwrap_or(usize::MAX)));
        self.left -= piece.len() as u64;
        self.count(&piece);
        Some(piece)
    }

    /// Counts and hashes data that this source did not generate.
    pub(super) fn count(&mut self, data: &[u8]) {
        self.written += data.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(data);
        }
    }

    /// Time at which sending ends, if a time limits it and has not passed.
    pub fn until(&self) -> Option<Instant> {
        self.until.filter(|_| self.left > 0)
    }

    /// Hash of the data given out; zeros if data is not verified.
    pub fn hash(&self) -> [u8; 32] {
        self.hash.clone().map_or([0; 32], |hash| hash.finalize().into())
    }
}

/// Bytes that differ at every offset of the stream (SplitMix64 of the offset).
fn piece_from(start: u64) -> Bytes {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    for i in 0..PIECE_BYTES as u64 / 8 {
        let mut word = (start + 8 * i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        piece.extend_from_slice(&(word ^ (word >> 31)).to_be_bytes());
    }
    piece.into()
}

/// Receives the data of one direction. The last bytes are held back until it is known whether they are data.
#[derive(Debug, Default)]
pub struct Sink {
    /// Number of bytes at the stream's end that are not data.
    tail_bytes: usize,
    tail: Vec<u8>,
    hash: Option<Sha256>,
    /// Bytes of data so far, without the last `tail_bytes`.
    pub received: u64,
    /// Time of the first arrival.
    pub first: Option<Instant>,
    /// Time of the last arrival.
    pub last: Option<Instant>,
    /// Begin and end of the period in which data counts, from the first arrival on, and the bytes that arrived in it.
    omit: Duration,
    counts_until: Option<Duration>,
    counted: u64,
    /// Longest time between two arrivals of data.
    pub longest_pause: Duration,
    /// Pauses longer than `longest_pause`, with the bytes that had arrived before each. The bytes after them may turn
    /// out not to be data.
    pauses: Vec<(u64, Duration)>,
}

impl Sink {
    /// A sink for a stream whose last `tail_bytes` are not data.
    pub fn new(tail_bytes: usize, verify: bool) -> Self {
        Sink { tail_bytes, hash: verify.then(Sha256::new), ..Sink::default() }
    }

    /// Counts only data that arrives between `omit` and `until` after the first arrival.
    pub(super) fn counting(mut self, omit: Duration, until: Option<Duration>) -> Self {
        (self.omit, self.counts_until) = (omit, until);
        self
    }

    /// Receives bytes of the stream.
    pub fn take(&mut self, now: Instant, bytes: &[u8]) {
        let time = now.since(*self.first.get_or_insert(now));
        let pause = now.since(self.last.replace(now).unwrap_or(now));
        if pause > self.longest_pause {
            self.pauses.push((self.received + self.tail.len() as u64, pause));
        }
        if time >= self.omit && self.counts_until.is_none_or(|until| time < until) {
            self.counted += bytes.len() as u64;
        }
        let data = match bytes.len().checked_sub(self.tail_bytes) {
            Some(data) => {
                let tail = std::mem::take(&mut self.tail);
                self.count(&tail);
                self.count(&bytes[..data]);
                self.tail = tail;
                self.tail.clear();
                &bytes[data..]
            }
            None => {
                let surplus = (self.tail.len() + bytes.len()).saturating_sub(self.tail_bytes);
                let before: Vec<u8> = self.tail.drain(..surplus).collect();
                self.count(&before);
                bytes
            }
        };
        self.tail.extend_from_slice(data);
        let all = self.received;
        self.pauses.retain(|(at, pause)| {
            let is_between_data = *at < all;
            if is_between_data {
                self.longest_pause = self.longest_pause.max(*pause);
            }
            !is_between_data
        });
    }

    fn count(&mut self, data: &[u8]) {
        self.received += data.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(data);
        }
    }

    /// The bytes at the end that are not data, once the stream is complete.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Hash of the received data; zeros if data is not verified.
    pub fn hash(&self) -> [u8; 32] {
        self.hash.clone().map_or([0; 32], |hash| hash.finalize().into())
    }

    /// Bytes that count, and the length of the period in which they arrived, nanoseconds.
    fn counted(&self) -> (u64, u64) {
        match self.counts_until {
            Some(until) => (self.counted, (until - self.omit).as_nanos()),
            None => (self.received, self.nanoseconds()),
        }
    }

    /// Time from the first to the last arrival, nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.first.zip(self.last).map_or(0, |(first, last)| last.since(first).as_nanos())
    }
}

/// Totals of one side, without its processor time.
pub(super) fn totals(source: &Source, sink: &Sink) -> Totals {
    let (counted, counted_nanoseconds) = sink.counted();
    Totals {
        received: sink.received,
        written: source.written,
        nanoseconds: sink.nanoseconds(),
        counted,
        counted_nanoseconds,
        longest_pause_nanoseconds: sink.longest_pause.as_nanos(),
        processor: Processor::default(),
        received_hash: sink.hash(),
        written_hash: source.hash(),
    }
}

impl Amount {
    fn longer_by(self, omit: Duration) -> Self {
        match self {
            Amount::Time(time) => Amount::Time(time + omit),
            Amount::Bytes(_) => self,
        }
    }
}

impl Request {
    /// The data that an end sends from `now` on. `sends` says whether the client asked for data in that direction. An
    /// echo's data comes from elsewhere, so its source is empty.
    pub(super) fn source(&self, sends: bool, now: Instant) -> Source {
        match sends && !self.echo {
            true => Source::new(self.amount.longer_by(self.omit), self.verify, now),
            false => Source::nothing(self.verify),
        }
    }

    /// The receiving end of a direction. The last `tail_bytes` of the stream are not data.
    pub(super) fn sink(&self, tail_bytes: usize) -> Sink {
        let counts_until = match self.amount {
            Amount::Time(time) if !self.omit.is_zero() => Some(self.omit + time),
            _ => None,
        };
        Sink::new(tail_bytes, self.verify).counting(self.omit, counts_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_nanos(5);

    #[test]
    fn what_a_source_makes_a_sink_verifies_in_pieces_of_any_length() {
        for piece in [1, 7, 88, 1000, 1 << 20] {
            let mut source = Source::new(Amount::Bytes(600_001), true, NOW);
            let mut all = Vec::new();
            while let Some(bytes) = source.next(NOW) {
                all.extend_from_slice(&bytes);
            }
            assert_eq!(all.len(), 600_001);
            all.extend([9; 88]);
            let mut sink = Sink::new(88, true);
            all.chunks(piece).for_each(|bytes| sink.take(NOW, bytes));
            assert_eq!((sink.received, sink.hash()), (600_001, source.hash()), "pieces of {piece}");
            assert_eq!(sink.tail(), [9; 88]);
        }
    }

    #[test]
    fn a_source_ends_when_its_time_is_over() {
        let mut source = Source::new(Amount::Time(Duration::from_secs(1)), false, NOW);
        assert!(source.next(NOW).is_some());
        assert_eq!(source.until(), Some(NOW + Duration::from_secs(1)));
        assert_eq!(source.next(NOW + Duration::from_secs(1)), None);
    }

    #[test]
    fn what_is_omitted_and_what_comes_late_does_not_count() {
        let mut sink = Sink::new(0, false).counting(Duration::from_secs(1), Some(Duration::from_secs(3)));
        for (millis, bytes) in [(0, 1), (500, 10), (1000, 100), (2500, 1000), (3000, 10_000)] {
            sink.take(NOW + Duration::from_millis(millis), &vec![0; bytes]);
        }
        assert_eq!(sink.counted(), (1100, 2_000_000_000));
        assert_eq!((sink.received, sink.nanoseconds()), (11_111, 3_000_000_000));
        let mut all = Sink::new(0, false).counting(Duration::ZERO, None);
        all.take(NOW, &[0; 5]);
        all.take(NOW + Duration::from_secs(1), &[0; 5]);
        assert_eq!(all.counted(), (10, 1_000_000_000));
    }

    #[test]
    fn the_longest_pause_is_between_two_arrivals() {
        let at = |ms| NOW + Duration::from_millis(ms);
        let mut sink = Sink::new(0, false);
        [0, 10, 250, 255].map(at).iter().for_each(|now| sink.take(*now, b"x"));
        assert_eq!(sink.longest_pause, Duration::from_millis(240));
        // Bytes behind the data do not count.
        let mut sink = Sink::new(2, false);
        for (ms, bytes) in [(0, "data"), (50, "data"), (900, "en")] {
            sink.take(at(ms), bytes.as_bytes());
        }
        assert_eq!(sink.longest_pause, Duration::from_millis(50));
    }

    #[test]
    fn no_two_places_of_the_stream_have_the_same_bytes() {
        let (a, b) = (piece_from(0), piece_from(PIECE_BYTES as u64));
        assert_ne!(a, b);
        assert_ne!(a[..64], a[64..128]);
    }
}
