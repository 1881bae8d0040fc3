//! Bytes in several pieces.

use crate::Payload;
use bytes::Bytes;
use std::sync::Arc;

/// Shared bytes in several pieces. Slicing neither copies nor allocates.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    /// None is empty. What lies before `start` and behind `start + len` is not meant.
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

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces, each with the part of it that is meant.
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

    /// The pieces as they lie in memory, in order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + '_ {
        self.parts().map(|(piece, part)| &piece[part])
    }

    /// The `len` bytes from `offset`, as one piece where they are.
    ///
    /// # Panics
    /// When the range is not within them.
    pub fn slice(&self, offset: u32, len: u32) -> Payload {
        assert!(u64::from(offset) + u64::from(len) <= u64::from(self.len), "a slice lies within its chunks");
        let chunks = Chunks { pieces: Arc::clone(&self.pieces), start: self.start + offset, len };
        let first = chunks.parts().next().filter(|(_, part)| part.len() == len as usize);
        match first.map(|(piece, part)| piece.slice(part)) {
            Some(bytes) => Payload::Bytes(bytes),
            None => Payload::Chunks(chunks),
        }
    }
}

impl Extend<Bytes> for Chunks {
    /// # Panics
    /// When there would be more than `u32::MAX` bytes.
    fn extend<T: IntoIterator<Item = Bytes>>(&mut self, more: T) {
        let all: usize = self.pieces.iter().map(Bytes::len).sum();
        if (self.start, self.len as usize) != (0, all) {
            *self = Chunks { pieces: Arc::new(self.iter().collect()), start: 0, len: self.len };
        }
        // Shared only with what was made of it before; then the list of pieces is copied, not what is in them.
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
    /// When there would be more than `u32::MAX` bytes.
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
        let Payload::Bytes(piece) = chunks.slice(6, 4) else { panic!("it lies in the second piece") };
        assert_eq!(piece.as_ptr(), text[6..].as_ptr(), "it is shared");
        assert!(matches!(chunks.slice(3, 4), Payload::Chunks(_)));
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
