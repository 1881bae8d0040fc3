//! A sorted list that takes insertions anywhere cheaply, however long it is.
//!
//! Pieces that arrive out of order mostly go to the end and leave from the front, for which a ring buffer is ideal. But
//! a peer can choose to insert in the middle of many thousand pieces, and each insertion into a ring buffer would move
//! half of them. So the list is a ring of rings of bounded length: an insertion moves a part of one ring and, now and
//! then, the list of rings.

use core::ops::Range;
use std::collections::VecDeque;

/// Most items in one ring. Honest peers' lists are mostly shorter.
const RING: usize = 256;

/// A sorted list. A list that never held anything takes only a pointer, as most lists of most connections do.
#[derive(Debug)]
pub(crate) struct Ordered<T>(Option<Box<Rings<T>>>);

/// The rings of a list. Emptied rings are kept for later use, so that a steady state allocates nothing.
#[derive(Debug)]
struct Rings<T> {
    /// Each has at least one item.
    rings: VecDeque<VecDeque<T>>,
    len: usize,
    spare: Vec<VecDeque<T>>,
}

/// A position in the list: that of an item, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    ring: usize,
    index: usize,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(None)
    }
}

impl<T> Ordered<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.len)
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.0.as_ref()?.rings.front()?.front()
    }
    pub(crate) fn back(&self) -> Option<&T> {
        self.0.as_ref()?.rings.back()?.back()
    }

    /// First position whose item does not satisfy `before`. All items in front of it must satisfy it.
    pub(crate) fn partition_point(&self, before: impl Fn(&T) -> bool) -> Place {
        let Some(list) = &self.0 else { return Place { ring: 0, index: 0 } };
        if self.back().is_none_or(&before) {
            return self.end();
        }
        let ring = list.rings.partition_point(|ring| ring.back().is_some_and(&before));
        Place { ring, index: list.rings[ring].partition_point(before) }
    }

    /// The position behind the last item.
    pub(crate) fn end(&self) -> Place {
        Place { ring: self.0.as_ref().map_or(0, |list| list.rings.len()), index: 0 }
    }

    pub(crate) fn get(&self, at: Place) -> Option<&T> {
        self.0.as_ref()?.rings.get(at.ring)?.get(at.index)
    }
    pub(crate) fn get_mut(&mut self, at: Place) -> Option<&mut T> {
        self.0.as_mut()?.rings.get_mut(at.ring)?.get_mut(at.index)
    }

    /// The position before `at`; `None` for the first one.
    pub(crate) fn before(&self, at: Place) -> Option<Place> {
        match at.index.checked_sub(1) {
            Some(index) => Some(Place { ring: at.ring, index }),
            None => {
                let ring = at.ring.checked_sub(1)?;
                Some(Place { ring, index: self.0.as_ref()?.rings[ring].len() - 1 })
            }
        }
    }

    /// The position after that of an item.
    pub(crate) fn after(&self, at: Place) -> Place {
        match self.0.as_ref().is_some_and(|list| at.index + 1 < list.rings[at.ring].len()) {
            true => Place { ring: at.ring, index: at.index + 1 },
            false => Place { ring: at.ring + 1, index: 0 },
        }
    }

    /// Inserts an item before the one at `at`; returns the new item's position.
    pub(crate) fn insert(&mut self, mut at: Place, thing: T) -> Place {
        let list = self.0.get_or_insert_with(|| Box::new(Rings { rings: VecDeque::new(), len: 0, spare: Vec::new() }));
        list.len += 1;
        if at.index == 0 && at.ring > 0 && list.rings[at.ring - 1].len() < RING {
            // The end of the previous ring is the same place as the start of this one, and the list's end has no ring.
            at.ring -= 1;
            at.index = list.rings[at.ring].len();
        } else if at.ring == list.rings.len() {
            let ring = list.spare.pop().unwrap_or_default();
            list.rings.push_back(ring);
        } else if list.rings[at.ring].len() >= RING {
            let mut upper = list.spare.pop().unwrap_or_default();
            upper.extend(list.rings[at.ring].drain(RING / 2..));
            list.rings.insert(at.ring + 1, upper);
            if at.index > RING / 2 {
                at = Place { ring: at.ring + 1, index: at.index - RING / 2 };
            }
        }
        list.rings[at.ring].insert(at.index, thing);
        at
    }

    /// Removes the item at a position.
    pub(crate) fn remove(&mut self, at: Place) -> Option<T> {
        let list = self.0.as_mut()?;
        let ring = list.rings.get_mut(at.ring)?;
        let thing = ring.remove(at.index)?;
        list.len -= 1;
        if ring.is_empty() {
            list.spare.extend(list.rings.remove(at.ring));
        }
        Some(thing)
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let list = self.0.as_mut()?;
        let ring = list.rings.front_mut()?;
        let thing = ring.pop_front()?;
        list.len -= 1;
        if ring.is_empty() {
            list.spare.extend(list.rings.pop_front());
        }
        Some(thing)
    }

    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.before(self.end())?;
        self.remove(last)
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        match &mut self.0 {
            Some(list) if list.len > 0 => {
                list.rings.iter_mut().for_each(VecDeque::shrink_to_fit);
                list.rings.shrink_to_fit();
                list.spare = Vec::new();
            }
            _ => self.0 = None,
        }
    }

    /// The rings, in order.
    fn rings(&self) -> impl DoubleEndedIterator<Item = &VecDeque<T>> {
        self.0.iter().flat_map(|list| &list.rings)
    }
}

impl<T> IntoIterator for Ordered<T> {
    type Item = T;
    type IntoIter = core::iter::Flatten<std::collections::vec_deque::IntoIter<VecDeque<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(|list| list.rings).unwrap_or_default().into_iter().flatten()
    }
}

/// Ranges of numbers that neither overlap nor touch.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Ordered<Range<u64>>);

impl Ranges {
    /// The first part of `range` that is not covered.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let at = self.0.partition_point(|r| r.end <= range.start);
        let (start, next) = match self.0.get(at) {
            Some(r) if r.start <= range.start => (r.end, self.0.get(self.0.after(at))),
            next => (range.start, next),
        };
        let end = next.map_or(range.end, |r| r.start.min(range.end));
        (start < end).then_some(start..end)
    }

    /// Covers `range` and merges it with the ranges that it overlaps or touches.
    pub(crate) fn add(&mut self, mut range: Range<u64>) {
        let at = loop {
            let at = self.0.partition_point(|r| r.end < range.start);
            match self.0.get(at) {
                Some(r) if r.start <= range.end => {
                    range = r.start.min(range.start)..r.end.max(range.end);
                    self.0.remove(at);
                }
                _ => break at,
            }
        };
        self.0.insert(at, range);
    }

    /// All ranges, from the last to the first.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.rings().rev().flat_map(|ring| ring.iter().rev())
    }

    /// Drops the ranges that end at or before `start`.
    pub(crate) fn forget_before(&mut self, start: u64) {
        while self.0.front().is_some_and(|r| r.end <= start) {
            self.0.pop_front();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.forget_before(u64::MAX);
    }

    /// Frees spare capacity, as [`Ordered::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.0.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let mut ranges = Ranges::default();
        [10..20, 30..40, 50..60, 20..25].into_iter().for_each(|r| ranges.add(r));
        assert_eq!(ranges.backwards().cloned().collect::<Vec<_>>(), [50..60, 30..40, 10..25]);
        for (asked, gap) in [(0..5, Some(0..5)), (5..15, Some(5..10)), (10..25, None), (12..35, Some(25..30))] {
            assert_eq!(ranges.first_gap(asked.clone()), gap, "{asked:?}");
        }
        assert_eq!(ranges.first_gap(55..90), Some(60..90));
        ranges.add(24..50);
        assert_eq!(ranges.backwards().collect::<Vec<_>>(), [&(10..60)]);
        ranges.add(70..80);
        ranges.forget_before(60);
        assert_eq!(ranges.backwards().collect::<Vec<_>>(), [&(70..80)]);
        ranges.clear();
        assert_eq!(ranges.first_gap(0..100), Some(0..100));
    }
    use pathweave_units::random::Random;

    /// Insertions at the ends and in the middle, and removals from the front, give the same list as a plain vector.
    #[test]
    fn it_is_a_list_in_order() {
        let mut random = Random::substream(1, "ordered");
        for (removals, spread) in [(0, 1 << 20), (1, 1 << 20), (3, 50_000), (4, 10)] {
            let (mut list, mut expected) = (Ordered::default(), VecDeque::new());
            for _ in 0..20_000 {
                if random.below(5) < removals {
                    assert_eq!(list.pop_front(), expected.pop_front());
                    continue;
                }
                if random.below(10) == 0 {
                    let number = random.below(spread);
                    let (at, i) = (list.partition_point(|n| *n < number), expected.partition_point(|n| *n < number));
                    assert_eq!(list.remove(at), expected.remove(i));
                    continue;
                }
                let number = random.below(spread);
                let (at, i) =
                    (list.partition_point(|n| *n <= number), expected.partition_point(|n: &u64| *n <= number));
                assert_eq!(list.get(at), expected.get(i));
                assert_eq!(list.before(at).and_then(|b| list.get(b)), i.checked_sub(1).and_then(|b| expected.get(b)));
                let now = list.insert(at, number);
                expected.insert(i, number);
                assert_eq!(list.get(now), Some(&number));
                assert_eq!(list.get(list.after(now)), expected.get(i + 1));
                assert_eq!(
                    (list.len(), list.front(), list.back()),
                    (expected.len(), expected.front(), expected.back())
                );
            }
            assert!(list.rings().all(|ring| !ring.is_empty() && ring.len() <= RING));
            assert!(list.into_iter().eq(expected));
        }
    }
}
