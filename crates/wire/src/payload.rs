//! The data of a segment: one type in every layer.

use bytes::{Bytes, BytesMut};

/// Stream data: real bytes, or only its place in the stream.
///
/// Virtual payload makes large simulations cheap and still proves integrity: it names the stream offset of its first
/// byte, so a receiver notices any byte that is missing, repeated or out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// `len` bytes of the stream from offset `start`, without contents.
    Virtual {
        /// Offset of the first byte in the sender's stream.
        start: u64,
        /// Number of bytes.
        len: u32,
    },
    /// Shared bytes; slicing does not copy.
    Bytes(Bytes),
}

impl Payload {
    /// No data.
    pub const EMPTY: Payload = Payload::Virtual { start: 0, len: 0 };

    /// Number of bytes.
    pub fn len(&self) -> u32 {
        match self {
            Payload::Virtual { len, .. } => *len,
            Payload::Bytes(b) => b.len() as u32,
        }
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `len` bytes from `offset`.
    ///
    /// # Panics
    /// When the range is not within the payload.
    pub fn slice(&self, offset: u32, len: u32) -> Payload {
        assert!(u64::from(offset) + u64::from(len) <= u64::from(self.len()), "a slice lies within its payload");
        match self {
            Payload::Virtual { start, .. } => Payload::Virtual { start: start + u64::from(offset), len },
            Payload::Bytes(b) => Payload::Bytes(b.slice(offset as usize..(offset + len) as usize)),
        }
    }

    /// `self` followed by `next`, when that needs no copy: virtual payloads that are neighbours in the stream.
    pub fn try_append(&mut self, next: &Payload) -> bool {
        match (self, next) {
            (Payload::Virtual { start, len }, Payload::Virtual { start: s, len: l })
                if *start + u64::from(*len) == *s =>
            {
                let Some(sum) = len.checked_add(*l) else { return false };
                *len = sum;
                true
            }
            _ => false,
        }
    }

    /// `a` followed by `b`; copies when they are bytes.
    ///
    /// Returns nothing when one is virtual and the other is not, or when two virtual ones are no neighbours.
    pub fn concat(mut a: Payload, b: Payload) -> Option<Payload> {
        if a.try_append(&b) {
            return Some(a);
        }
        match (a, b) {
            (Payload::Bytes(x), Payload::Bytes(y)) => {
                let mut joined = BytesMut::with_capacity(x.len() + y.len());
                joined.extend_from_slice(&x);
                joined.extend_from_slice(&y);
                Some(Payload::Bytes(joined.freeze()))
            }
            _ => None,
        }
    }
}

impl Default for Payload {
    fn default() -> Self {
        Payload::EMPTY
    }
}
