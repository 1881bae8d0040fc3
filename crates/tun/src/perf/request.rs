//! Messages between client and server beside the data.

use super::Processor;
use pathweave_units::Duration;

/// First bytes of a request and of totals: a mark and the version.
const MAGIC: [u8; 8] = *b"pwperf04";
const UP: u8 = 1;
const DOWN: u8 = 2;
const VERIFY: u8 = 4;
const ECHO: u8 = 8;
/// Value of the amount on the wire if a time limits the transfer.
const UNTIL_TIME: u64 = u64::MAX;

/// Amount of data in a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many bytes.
    Bytes(u64),
    /// As much as can be sent in this time.
    Time(Duration),
}

/// The client's wishes for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether the client sends data.
    pub up: bool,
    /// Whether the server sends data.
    pub down: bool,
    /// Whether all bytes are generated and hashed, to verify that each arrived unchanged.
    pub verify: bool,
    /// Whether the server sends received data back.
    pub echo: bool,
    /// Amount of data in each direction.
    pub amount: Amount,
    /// Data that arrives within this time after the first bytes does not count, and a timed transfer takes longer by
    /// this time. Mostly used to leave slow start out, as iperf3's `--omit`.
    pub omit: Duration,
}

impl Request {
    /// Length of a request on the wire, bytes.
    pub const BYTES: usize = 32;

    /// Whether the client sends anything after the request. If not, the client ends its stream only after the server
    /// has, because Linux opens no further subflows to a peer that has ended its stream.
    pub(super) fn client_sends(&self) -> bool {
        self.up || self.echo
    }

    /// The request in the format of the wire.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..8].copy_from_slice(&MAGIC);
        for (flag, is_set) in [(UP, self.up), (DOWN, self.down), (VERIFY, self.verify), (ECHO, self.echo)] {
            out[8] |= if is_set { flag } else { 0 };
        }
        let (bytes, time) = match self.amount {
            Amount::Bytes(bytes) => (bytes, Duration::ZERO),
            Amount::Time(time) => (UNTIL_TIME, time),
        };
        out[9..16].copy_from_slice(&self.omit.as_micros().to_be_bytes()[1..]);
        out[16..24].copy_from_slice(&bytes.to_be_bytes());
        out[24..].copy_from_slice(&time.as_nanos().to_be_bytes());
        out
    }

    /// Reads a request from its bytes. `None` if the bytes are not a request.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (flags_and_omit, rest) = rest.split_first_chunk::<8>()?;
        let [flags, omit @ ..] = *flags_and_omit;
        let omit = omit.iter().fold(0, |micros, byte| micros << 8 | u64::from(*byte));
        let (amount, time) = rest.split_first_chunk::<8>()?;
        let time = u64::from_be_bytes(*time.first_chunk()?);
        let amount = match u64::from_be_bytes(*amount) {
            UNTIL_TIME => Amount::Time(Duration::from_nanos(time)),
            bytes => Amount::Bytes(bytes),
        };
        let has = |flag| flags & flag != 0;
        (*magic == MAGIC).then_some(Request {
            up: has(UP),
            down: has(DOWN),
            verify: has(VERIFY),
            echo: has(ECHO),
            amount,
            omit: Duration::from_micros(omit),
        })
    }
}

/// Figures of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes received.
    pub received: u64,
    /// Bytes of data written to the stream. All of them were sent only if the measurement is complete.
    pub written: u64,
    /// Time from the first to the last byte received; if none was received, of sending. Nanoseconds.
    pub nanoseconds: u64,
    /// Received bytes that count: all except those in the time that [`Request::omit`] leaves out.
    pub counted: u64,
    /// Length of the period in which received bytes count, nanoseconds.
    pub counted_nanoseconds: u64,
    /// Longest time between two arrivals, nanoseconds.
    pub longest_pause_nanoseconds: u64,
    /// Processor time of the process.
    pub processor: Processor,
    /// SHA-256 of all received data; zeros without `verify`.
    pub received_hash: [u8; 32],
    /// SHA-256 of all written data; zeros without `verify`.
    pub written_hash: [u8; 32],
}

impl Totals {
    /// Length of totals on the wire, bytes.
    pub const BYTES: usize = 136;

    /// The totals in the format of the wire.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..8].copy_from_slice(&MAGIC);
        let numbers = [
            self.received,
            self.written,
            self.nanoseconds,
            self.counted,
            self.counted_nanoseconds,
            self.longest_pause_nanoseconds,
            self.processor.nanoseconds,
            self.processor.system_nanoseconds,
        ];
        for (number, place) in numbers.into_iter().zip(out[8..72].chunks_exact_mut(8)) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        out[72..104].copy_from_slice(&self.received_hash);
        out[104..].copy_from_slice(&self.written_hash);
        out
    }

    /// Reads totals from their bytes. `None` if the bytes are not totals, because the server's stream ended too early.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let number = |i: usize| bytes[8 * (i + 1)..].first_chunk().map_or(0, |n| u64::from_be_bytes(*n));
        let hash = |at: usize| bytes[at..].first_chunk().copied().unwrap_or_default();
        bytes.starts_with(&MAGIC).then(|| Totals {
            received: number(0),
            written: number(1),
            nanoseconds: number(2),
            counted: number(3),
            counted_nanoseconds: number(4),
            longest_pause_nanoseconds: number(5),
            processor: Processor { nanoseconds: number(6), system_nanoseconds: number(7) },
            received_hash: hash(72),
            written_hash: hash(104),
        })
    }

    /// Whether each side received all that the other sent, in both directions.
    pub fn agree_with(&self, other: &Totals) -> bool {
        (self.written, self.written_hash) == (other.received, other.received_hash)
            && (self.received, self.received_hash) == (other.written, other.written_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_totals_survive_as_bytes() {
        let request = Request {
            up: true,
            down: false,
            verify: true,
            echo: false,
            amount: Amount::Bytes(7),
            omit: Duration::ZERO,
        };
        assert_eq!(Request::read(&request.bytes()), Some(request));
        let timed = Request {
            down: true,
            up: false,
            amount: Amount::Time(Duration::from_secs(3)),
            omit: Duration::from_micros(1 << 40 | 5),
            ..request
        };
        assert_eq!(Request::read(&timed.bytes()), Some(timed));
        let mut other = timed.bytes();
        other[0] = b'x';
        assert_eq!(Request::read(&other), None);
        let totals = Totals {
            received: 1,
            written: 2,
            nanoseconds: 3,
            counted: 6,
            counted_nanoseconds: 7,
            longest_pause_nanoseconds: 8,
            processor: Processor { nanoseconds: 9, system_nanoseconds: 10 },
            received_hash: [4; 32],
            written_hash: [5; 32],
        };
        assert_eq!(Totals::read(&totals.bytes()), Some(totals));
    }

    /// If a stream ended too early, its last bytes are data and not totals.
    #[test]
    fn data_is_not_taken_for_totals() {
        assert_eq!(Totals::read(&[7; Totals::BYTES]), None);
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let client =
            Totals { received: 1, written: 2, received_hash: [1; 32], written_hash: [2; 32], ..Totals::default() };
        let server =
            Totals { received: 2, written: 1, received_hash: [2; 32], written_hash: [1; 32], ..Totals::default() };
        assert!(client.agree_with(&server));
        assert!(!client.agree_with(&Totals { received_hash: [3; 32], ..server }));
        assert!(!client.agree_with(&Totals { written: 2, ..server }));
    }
}
