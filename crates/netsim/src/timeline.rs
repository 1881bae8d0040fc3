//! Changes of links at given times.

use crate::LinkChange;
use crate::graph::LinkId;
use pathweave_units::Instant;
use std::collections::VecDeque;

/// A change of one link at a given time.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledChange {
    /// When.
    pub at: Instant,
    /// Which link.
    pub link: LinkId,
    /// What.
    pub change: LinkChange,
}

/// Changes to come, by time, then by link, then in the order they were added.
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
    /// Time of the first change; [`Instant::FAR_FUTURE`]: none.
    pub(crate) fn first_time(&self) -> Instant {
        self.changes.front().map_or(Instant::FAR_FUTURE, |change| change.at)
    }
    /// Takes the first change.
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
