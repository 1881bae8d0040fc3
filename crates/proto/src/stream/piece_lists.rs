//! Lists of pieces, for segments whose data was written in several: made once, and used again when the segment is gone.

use bytes::Bytes;
use pathweave_wire::Chunks;
use std::collections::VecDeque;

/// How many lists are looked after; what is made beyond that is allocated.
const LISTS: usize = 256;
/// How many pieces the free lists have room for in all, so that they take at most 128 KiB.
const FREE_PIECES: usize = 4096;

/// The lists that are out with segments, oldest first, and those that are free.
#[derive(Debug, Default)]
pub(crate) struct PieceLists {
    out: VecDeque<Chunks>,
    /// Each with the pieces that it had.
    free: Vec<(Chunks, usize)>,
    free_pieces: usize,
}

impl PieceLists {
    /// A list of these pieces.
    pub(crate) fn list(&mut self, pieces: impl Iterator<Item = Bytes>) -> Chunks {
        self.reclaim();
        let (mut list, room) = self.free.pop().unwrap_or_default();
        self.free_pieces -= room;
        list.extend(pieces);
        if self.out.len() == LISTS {
            // Its segment has not been acknowledged for long.
            self.out.pop_front();
        }
        self.out.push_back(list.clone());
        list
    }

    /// Takes back what no segment shares any more, so that it keeps nothing of the application's alive.
    #[inline]
    pub(crate) fn reclaim(&mut self) {
        while let Some(mut list) = self.out.pop_front_if(|list| !list.is_shared()) {
            let room = list.piece_count();
            if self.free_pieces + room <= FREE_PIECES {
                list.clear();
                self.free_pieces += room;
                self.free.push((list, room));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(n: usize) -> impl Iterator<Item = Bytes> {
        (0..n).map(|i| Bytes::copy_from_slice(&[i as u8, 0]))
    }

    #[test]
    fn a_list_serves_again_and_holds_nothing_meanwhile() {
        let mut lists = PieceLists::default();
        let data = Bytes::from(vec![1, 2, 3]);
        let first = lists.list([data.slice(..1), data.slice(1..)].into_iter());
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len()), (1, 0), "its segment has it");
        assert!(!data.is_unique());
        drop(first);
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len()), (0, 1));
        assert!(data.is_unique(), "nothing of it is kept");
        let second = lists.list(pieces(3));
        assert_eq!((second.len(), lists.free.len()), (6, 0));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut lists = PieceLists::default();
        let out: Vec<Chunks> = (0..2 * LISTS).map(|_| lists.list(pieces(2))).collect();
        assert_eq!(lists.out.len(), LISTS);
        drop(out);
        lists.reclaim();
        assert_eq!((lists.out.len(), lists.free.len(), lists.free_pieces), (0, LISTS, 2 * LISTS));
        let long: Vec<Chunks> = (0..3).map(|_| lists.list(pieces(FREE_PIECES / 2))).collect();
        assert_eq!(lists.free_pieces, 2 * LISTS - 6);
        drop(long);
        lists.reclaim();
        assert!(lists.out.is_empty() && lists.free_pieces <= FREE_PIECES && lists.free.len() == LISTS - 2);
    }
}
