//! Bytes in several pieces.

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

    /// Takes all pieces out. What the list of them has allocated serves again, where no other chunks share it.
    pub fn clear(&mut self) {
        match Arc::get_mut(&mut self.pieces) {
            Some(pieces) => pieces.clear(),
            None => self.pieces = Arc::default(),
        }
        (self.start, self.len) = (0, 0);
    }

    /// Whether other chunks share the list of pieces: what was cloned from these or sliced, or these from them.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.pieces) > 1
    }

    /// How many pieces the list has, with those of which nothing is meant.
    pub fn piece_count(&self) -> usize {
        self.pieces.len()
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

    /// The `len` bytes from `offset`.
    ///
    /// # Panics
    /// When the range is not within them.
    pub fn slice(&self, offset: u32, len: u32) -> Chunks {
        assert!(u64::from(offset) + u64::from(len) <= u64::from(self.len), "a slice lies within its chunks");
        Chunks { pieces: Arc::clone(&self.pieces), start: self.start + offset, len }
    }

    /// All of them, where they are one piece.
    pub fn as_one(&self) -> Option<Bytes> {
        let (piece, part) = self.parts().next()?;
        (part.len() == self.len as usize).then(|| piece.slice(part))
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
