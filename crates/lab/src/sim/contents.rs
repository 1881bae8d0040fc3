//! Contents of the applications' streams.

use bytes::Bytes;
use pathweave_wire::Payload;

/// Most bytes of one write of virtual payload.
const VIRTUAL_WRITE: u64 = 1 << 30;
/// Most bytes of one write of real bytes.
const REAL_WRITE: u64 = 1 << 16;
/// Period of the real bytes: a prime, so that neighbouring segments differ.
const PERIOD: u64 = 251;

/// The contents of every stream.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// No contents: a payload only names its part of the stream. It counts as zeros.
    Virtual,
    /// Byte number n is n modulo [`PERIOD`]. Holds enough for one write from any position in the period.
    Real(Bytes),
}

impl Contents {
    pub(super) fn real() -> Self {
        Contents::Real((0..REAL_WRITE + PERIOD).map(|i| (i % PERIOD) as u8).collect::<Vec<u8>>().into())
    }

    /// The stream from `start` on: `len` bytes, or fewer if that exceeds one write.
    pub(super) fn from(&self, start: u64, len: u64) -> Payload {
        match self {
            Contents::Virtual => Payload::Virtual { start, len: len.min(VIRTUAL_WRITE) as u32 },
            Contents::Real(bytes) => {
                let at = (start % PERIOD) as usize;
                Payload::Bytes(bytes.slice(at..at + len.min(REAL_WRITE) as usize))
            }
        }
    }

    /// Number of the bytes read from `start` on that differ from the written ones. A virtual payload has no contents
    /// that could differ.
    pub(super) fn differing(&self, start: u64, read: &Payload) -> u64 {
        if let Payload::Virtual { .. } = read {
            return 0;
        }
        let written = |i: u64| match self {
            Contents::Virtual => 0,
            Contents::Real(_) => (i % PERIOD) as u8,
        };
        read.chunks().flatten().zip(start..).filter(|(byte, i)| *byte != written(*i)).count() as u64
    }
}
