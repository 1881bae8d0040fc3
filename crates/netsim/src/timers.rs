//! The time of each link's next event, and the scheduled changes of links.

use crate::LinkChange;
use crate::graph::LinkId;
use pathweave_units::Instant;
use std::collections::VecDeque;

/// A tournament tree over the times of each link's next event. The earliest time wins; if times are equal, the link
/// with the lower index. A change takes at most logarithmic time in the number of links.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// A complete binary tree: node `i` has the children `2 i` and `2 i + 1`, the root is 1, leaf `j` is
    /// `leaves + j`. Each node holds the earliest time below it.
    tree: Vec<Instant>,
    /// Number of leaves: a power of two.
    leaves: usize,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers { tree: vec![Instant::FAR_FUTURE; 2], leaves: 1 }
    }

    /// Makes room for `links` links.
    pub(crate) fn grow(&mut self, links: usize) {
        if links > self.leaves {
            let leaves = links.next_power_of_two();
            let mut grown = Timers { tree: vec![Instant::FAR_FUTURE; 2 * leaves], leaves };
            for link in 0..self.leaves {
                grown.set(link, self.tree[self.leaves + link]);
            }
            *self = grown;
        }
    }

    /// Sets the time of a link's next event; [`Instant::FAR_FUTURE`] if there is none.
    #[inline]
    pub(crate) fn set(&mut self, link: usize, at: Instant) {
        let mut node = self.leaves + link;
        let mut earliest = at;
        while self.tree[node] != earliest {
            self.tree[node] = earliest;
            if node == 1 {
                return;
            }
            earliest = earliest.min(self.tree[node ^ 1]);
            node /= 2;
        }
    }

    /// Time of the earliest event.
    #[inline]
    pub(crate) fn first_time(&self) -> Instant {
        self.tree[1]
    }

    /// The link with the earliest event.
    #[inline]
    pub(crate) fn first_link(&self) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] > self.tree[node + 1]);
        }
        node - self.leaves
    }
}

/// A change of one link at a given time.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledChange {
    /// The time of the change.
    pub at: Instant,
    /// The link that changes.
    pub link: LinkId,
    /// The setting that changes, and its new value.
    pub change: LinkChange,
}

/// The changes that are still to come, ordered by time, then by link, then in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    changes: VecDeque<ScheduledChange>,
}

impl Timeline {
    /// Adds a change.
    pub fn add(&mut self, change: ScheduledChange) {
        let key = (change.at, change.link);
        let place = self.changes.partition_point(|other| (other.at, other.link) <= key);
        self.changes.insert(place, change);
    }
    /// Time of the first change; [`Instant::FAR_FUTURE`] if there is none.
    pub(crate) fn first_time(&self) -> Instant {
        self.changes.front().map_or(Instant::FAR_FUTURE, |change| change.at)
    }
    /// Removes and returns the first change.
    pub(crate) fn pop(&mut self) -> Option<ScheduledChange> {
        self.changes.pop_front()
    }
}

impl FromIterator<ScheduledChange> for Timeline {
    fn from_iter<I: IntoIterator<Item = ScheduledChange>>(changes: I) -> Self {
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|change| (change.at, change.link));
        Timeline { changes: changes.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_units::Duration;
    use pathweave_units::random::Random;

    #[test]
    fn the_earliest_is_first_and_the_lower_link_wins_ties() {
        let mut timers = Timers::new();
        timers.grow(5);
        assert_eq!(timers.first_time(), Instant::FAR_FUTURE);
        timers.set(4, Instant::from_millis(2));
        timers.set(3, Instant::from_millis(1));
        timers.set(1, Instant::from_millis(1));
        assert_eq!((timers.first_time(), timers.first_link()), (Instant::from_millis(1), 1));
        timers.set(1, Instant::FAR_FUTURE);
        assert_eq!(timers.first_link(), 3);
        timers.set(3, Instant::from_millis(3));
        assert_eq!(timers.first_link(), 4);
    }

    #[test]
    fn it_agrees_with_a_sorted_list_while_growing() {
        let mut random = Random::substream(1, "timers");
        let mut timers = Timers::new();
        let mut list = Vec::new();
        for step in 0..5_000 {
            if step % 50 == 0 {
                list.push(Instant::FAR_FUTURE);
                timers.grow(list.len());
            }
            let link = random.below(list.len() as u64) as usize;
            let at = Instant::from_nanos(random.below(40));
            list[link] = at;
            timers.set(link, at);
            let first = list.iter().enumerate().min_by_key(|&(link, &at)| (at, link)).expect("at least one link");
            assert_eq!((timers.first_link(), timers.first_time()), (first.0, *first.1));
        }
    }

    #[test]
    fn changes_come_by_time_then_link_then_order_of_adding() {
        let change = |at, link, delay| ScheduledChange {
            at: Instant::from_millis(at),
            link: LinkId(link),
            change: LinkChange::Delay(Duration::from_millis(delay)),
        };
        let list = [change(5, 1, 1), change(5, 0, 2), change(1, 9, 3), change(5, 1, 4), change(5, 0, 5)];
        let collected: Timeline = list.iter().cloned().collect();
        let mut added = Timeline::default();
        list.into_iter().for_each(|change| added.add(change));
        for mut timeline in [collected, added] {
            assert_eq!(timeline.first_time(), Instant::from_millis(1));
            let order: Vec<LinkChange> = core::iter::from_fn(|| timeline.pop()).map(|c| c.change).collect();
            assert_eq!(order, [3, 2, 5, 1, 4].map(|d| LinkChange::Delay(Duration::from_millis(d))));
            assert_eq!(timeline.first_time(), Instant::FAR_FUTURE);
        }
    }
}
