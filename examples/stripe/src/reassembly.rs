//! Puts the pieces of all legs in order.

use std::collections::BTreeMap;

/// The stream at the receiver.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// The next byte to deliver: all bytes before this place were delivered.
    next: u64,
    /// Pieces that wait for bytes before them, by place. They may overlap.
    waiting: BTreeMap<u64, Vec<u8>>,
    /// Most bytes from `next` on that may wait.
    window: u64,
    /// The place after the last byte, once it is known.
    end: Option<u64>,
}

impl Reassembly {
    /// An empty stream. At most `window` bytes from the next one on may wait.
    pub(crate) fn new(window: u64) -> Self {
        Reassembly { next: 0, waiting: BTreeMap::new(), window, end: None }
    }

    /// Takes a piece, and appends all bytes that have become in order to `out`.
    ///
    /// # Errors
    /// If the piece ends beyond the window.
    pub(crate) fn insert(&mut self, place: u64, piece: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let end = place.saturating_add(piece.len() as u64);
        if end > self.next.saturating_add(self.window) {
            return Err(format!(
                "a piece ends at {end}, beyond the window of {} bytes from {}",
                self.window, self.next
            ));
        }
        if piece.is_empty() {
            self.end = Some(place);
        } else if place > self.next {
            let is_longer = |other: &Vec<u8>| other.len() >= piece.len();
            if !self.waiting.get(&place).is_some_and(is_longer) {
                self.waiting.insert(place, piece.to_vec());
            }
        } else {
            self.deliver(place, piece, out);
        }
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() <= self.next) {
            let (place, piece) = first.remove_entry();
            self.deliver(place, &piece, out);
        }
        Ok(())
    }

    /// Appends the part of a piece that was not delivered yet. The piece begins at or before the next place.
    fn deliver(&mut self, place: u64, piece: &[u8], out: &mut Vec<u8>) {
        if let Some(new) = piece.get((self.next - place) as usize..) {
            out.extend_from_slice(new);
            self.next += new.len() as u64;
        }
    }

    /// Whether all bytes were delivered.
    pub(crate) fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// The place before which all bytes have arrived. The stream's end counts as one byte.
    pub(crate) fn arrived(&self) -> u64 {
        self.next + u64::from(self.is_complete())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts pieces of the stream 0, 1, 2, ... by their ends; returns what was delivered.
    fn deliver(pieces: &[(u64, u64)]) -> (Vec<u8>, Reassembly) {
        let (mut out, mut reassembly) = (Vec::new(), Reassembly::new(100));
        for (start, end) in pieces {
            let piece: Vec<u8> = (*start..*end).map(|n| n as u8).collect();
            assert_eq!(reassembly.insert(*start, &piece, &mut out), Ok(()));
        }
        (out, reassembly)
    }

    #[test]
    fn pieces_come_in_any_order_twice_and_overlapping() {
        for pieces in [
            &[(0, 4), (4, 9)][..],
            &[(4, 9), (0, 4)],
            &[(4, 9), (4, 9), (0, 4), (0, 4), (4, 9)],
            &[(2, 6), (2, 4), (5, 9), (0, 3)],
            &[(2, 4), (2, 9), (0, 2)],
            &[(1, 9), (3, 5), (0, 2)],
        ] {
            let (out, reassembly) = deliver(pieces);
            assert_eq!(out, (0..9).collect::<Vec<u8>>(), "{pieces:?}");
            assert_eq!((reassembly.arrived(), reassembly.waiting.len()), (9, 0), "{pieces:?}");
        }
    }

    #[test]
    fn the_end_counts_when_all_before_it_is_there() {
        assert_eq!(deliver(&[(0, 3), (5, 5)]).1.arrived(), 3);
        assert_eq!(deliver(&[(5, 5), (3, 5), (0, 3)]).1.arrived(), 6);
        assert_eq!(deliver(&[(0, 0)]).1.arrived(), 1);
    }

    #[test]
    fn a_piece_beyond_the_window_is_refused() {
        let error = Reassembly::new(100).insert(98, b"abc", &mut Vec::new()).expect_err("it is too far ahead");
        assert_eq!(error, "a piece ends at 101, beyond the window of 100 bytes from 0");
    }
}
