//! The data of a segment, in one piece or several. Every layer uses this one type.

use bytes::Bytes;
use std::sync::Arc;

/// Data of a stream: either real bytes, or virtual data that says only which part of the stream it is.
///
/// Virtual data makes large simulations cheap and still proves integrity: it names the stream offset of its first
/// byte, so a receiver notices any byte that is missing, repeated or out of order.
#[derive(Clone, Debug)]
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
    /// Shared bytes in several pieces, for example if a segment spans two writes of the application.
    Chunks(Chunks),
}

impl Payload {
    /// No data.
    pub const EMPTY: Payload = Payload::Virtual { start: 0, len: 0 };

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Payload::Virtual { len, .. } => *len,
            Payload::Bytes(b) => b.len() as u32,
            Payload::Chunks(chunks) => chunks.len(),
        }
    }

    /// Whether there is no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the payload is virtual: a range of the stream without contents.
    #[inline]
    pub fn is_virtual(&self) -> bool {
        matches!(self, Payload::Virtual { .. })
    }

    /// The `len` bytes from `offset`.
    ///
    /// # Panics
    /// If the range exceeds the payload.
    pub fn slice(&self, offset: u32, len: u32) -> Payload {
        assert!(u64::from(offset) + u64::from(len) <= u64::from(self.len()), "a slice lies within its payload");
        match self {
            Payload::Virtual { start, .. } => Payload::Virtual { start: start + u64::from(offset), len },
            Payload::Bytes(b) => Payload::Bytes(b.slice(offset as usize..(offset + len) as usize)),
            Payload::Chunks(chunks) => {
                let chunks = chunks.slice(offset, len);
                chunks.as_one().map_or(Payload::Chunks(chunks), Payload::Bytes)
            }
        }
    }

    /// The real bytes, whether they are in one piece or in several. A virtual payload has none.
    fn pieces(&self) -> (Option<&Bytes>, Option<&Chunks>) {
        match self {
            Payload::Virtual { .. } => (None, None),
            Payload::Bytes(bytes) => (Some(bytes), None),
            Payload::Chunks(chunks) => (None, Some(chunks)),
        }
    }

    /// The bytes in order, as shared pieces. A virtual payload has none.
    pub fn chunks(&self) -> impl Iterator<Item = Bytes> + '_ {
        let (one, several) = self.pieces();
        one.cloned().into_iter().chain(several.into_iter().flat_map(Chunks::iter))
    }

    /// The bytes in order, as the slices of memory that hold them: what a device writes after the header. A virtual
    /// payload has none.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let (one, several) = self.pieces();
        one.map(|bytes| &bytes[..]).into_iter().chain(several.into_iter().flat_map(Chunks::slices))
    }

    /// A copy of the bytes in one piece. A virtual payload has none.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len() as usize);
        self.slices().for_each(|slice| all.extend_from_slice(slice));
        all
    }

    /// Extends `self` by `next` if both are virtual and `next` starts where `self` ends. Returns whether it did.
    pub fn try_merge(&mut self, next: &Payload) -> bool {
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

    /// Appends `next` to `self`. Bytes are shared, not copied. Returns whether it did.
    ///
    /// Nothing changes if only one of the two is virtual, if two virtual payloads are not neighbours in the stream, or
    /// if the result would have more than `u32::MAX` bytes.
    pub fn try_append(&mut self, next: &Payload) -> bool {
        if self.is_virtual() || next.is_virtual() {
            return self.try_merge(next);
        }
        if self.len().checked_add(next.len()).is_none() {
            return false;
        }
        if !matches!(self, Payload::Chunks(_)) {
            *self = Payload::Chunks(self.chunks().collect());
        }
        if let Payload::Chunks(chunks) = self {
            chunks.extend(next.chunks());
        }
        true
    }
}

impl Default for Payload {
    fn default() -> Self {
        Payload::EMPTY
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Payload::Bytes(bytes)
    }
}

/// Two payloads are equal if they have the same bytes, whatever their pieces are. Virtual payloads are equal if they
/// are the same range of the stream.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        match (self, other) {
            (Payload::Virtual { start, len }, Payload::Virtual { start: s, len: l }) => start == s && len == l,
            (Payload::Virtual { .. }, _) | (_, Payload::Virtual { .. }) => false,
            (Payload::Bytes(a), Payload::Bytes(b)) => a == b,
            _ => self.len() == other.len() && self.chunks().flatten().eq(other.chunks().flatten()),
        }
    }
}

impl Eq for Payload {}

/// Shared bytes in several pieces. Slicing neither copies nor allocates.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    /// No piece is empty. Only the `len` bytes from `start` on belong to these chunks: a slice shares the whole list.
    pieces: Arc<Vec<Bytes>>,
    start: u32,
    len: u32,
}

impl Chunks {
    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all pieces. The memory of the list is kept for the next pieces, unless other chunks share the list.
    pub fn clear(&mut self) {
        match Arc::get_mut(&mut self.pieces) {
            Some(pieces) => pieces.clear(),
            None => self.pieces = Arc::default(),
        }
        (self.start, self.len) = (0, 0);
    }

    /// Whether other chunks share the list of pieces, because one is a clone or a slice of the other.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.pieces) > 1
    }

    /// The number of pieces in the list, which after [`Chunks::slice`] includes pieces outside of the slice.
    pub fn piece_count(&self) -> usize {
        self.pieces.len()
    }

    /// The pieces that hold bytes of these chunks, each with the range of its bytes that belongs to them.
    fn parts(&self) -> impl Iterator<Item = (&Bytes, core::ops::Range<usize>)> + '_ {
        let (mut skip, mut left) = (self.start as usize, self.len as usize);
        self.pieces.iter().filter_map(move |piece| {
            let from = skip.min(piece.len());
            skip -= from;
            let to = piece.len().min(from + left);
            left -= to - from;
            (from < to).then_some((piece, from..to))
        })
    }

    /// The pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.parts().map(|(piece, part)| piece.slice(part))
    }

    /// The pieces in order, as slices of memory.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + '_ {
        self.parts().map(|(piece, part)| &piece[part])
    }

    /// The `len` bytes from `offset`.
    ///
    /// # Panics
    /// If the range exceeds the chunks.
    pub fn slice(&self, offset: u32, len: u32) -> Chunks {
        assert!(u64::from(offset) + u64::from(len) <= u64::from(self.len), "a slice lies within its chunks");
        Chunks { pieces: Arc::clone(&self.pieces), start: self.start + offset, len }
    }

    /// All the bytes as one shared piece, if they are in one.
    pub fn as_one(&self) -> Option<Bytes> {
        let (piece, part) = self.parts().next()?;
        (part.len() == self.len as usize).then(|| piece.slice(part))
    }
}

impl Extend<Bytes> for Chunks {
    /// # Panics
    /// If there would be more than `u32::MAX` bytes.
    fn extend<T: IntoIterator<Item = Bytes>>(&mut self, more: T) {
        let all: usize = self.pieces.iter().map(Bytes::len).sum();
        if (self.start, self.len as usize) != (0, all) {
            *self = Chunks { pieces: Arc::new(self.iter().collect()), start: 0, len: self.len };
        }
        // If clones or slices share the list, the list is copied, but not the bytes.
        let pieces = Arc::make_mut(&mut self.pieces);
        for bytes in more.into_iter().filter(|b| !b.is_empty()) {
            let len = u32::try_from(bytes.len()).ok().and_then(|len| self.len.checked_add(len));
            self.len = len.expect("chunks have fewer than 2³² bytes");
            pieces.push(bytes);
        }
    }
}

impl FromIterator<Bytes> for Chunks {
    /// # Panics
    /// If there would be more than `u32::MAX` bytes.
    fn from_iter<T: IntoIterator<Item = Bytes>>(pieces: T) -> Self {
        let mut chunks = Chunks::default();
        chunks.extend(pieces);
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(payload: &Payload) -> Vec<u8> {
        let all = payload.to_vec();
        assert_eq!(all, payload.chunks().flatten().collect::<Vec<u8>>());
        all
    }

    #[test]
    fn a_slice_within_one_piece_is_that_piece() {
        let text = Bytes::from_static(b"hello world");
        let chunks: Chunks = [text.slice(..5), Bytes::new(), text.slice(5..)].into_iter().collect();
        let payload = Payload::Chunks(chunks);
        let Payload::Bytes(piece) = payload.slice(6, 4) else { panic!("it lies in the second piece") };
        assert_eq!(piece.as_ptr(), text[6..].as_ptr(), "it is shared");
        assert!(matches!(payload.slice(3, 4), Payload::Chunks(_)));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in proptest::collection::vec(any::<u8>(), 1..60),
            cuts in proptest::collection::vec(0usize..60, 0..6),
            slices in proptest::collection::vec((0u32..60, 0u32..60), 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut payload = Payload::Bytes(Bytes::new());
            for cut in cuts.windows(2) {
                prop_assert!(payload.try_append(&Bytes::copy_from_slice(&bytes[cut[0]..cut[1]]).into()));
            }
            prop_assert_eq!(&payload, &Payload::Bytes(bytes.clone().into()));
            let mut expected = &bytes[..];
            for (offset, len) in slices {
                let offset = offset.min(payload.len());
                let len = len.min(payload.len() - offset);
                payload = payload.slice(offset, len);
                expected = &expected[offset as usize..(offset + len) as usize];
                prop_assert_eq!(bytes_of(&payload), expected);
                prop_assert_eq!(payload.len() as usize, expected.len());
            }
            prop_assert!(payload.try_append(&Bytes::from_static(b"more").into()));
            prop_assert_eq!(bytes_of(&payload), [expected, b"more"].concat());
        }
    }
}
