//! The subflows of one connection by name, and the joins that wait for a name.

use super::subflow::Subflow;
use core::net::SocketAddr;
use pathweave_scheduler::{SubflowId, SubflowSet};
use pathweave_units::Duration;
use std::collections::VecDeque;

/// Pseudo-name of any join that waits for a name.
pub(crate) const LATE_JOIN: SubflowId = SubflowId(u8::MAX);
/// Most joins that may wait for a name.
const LATE_JOINS: usize = 64;

/// A connection's subflows. A name is an index in the table. A dead subflow keeps its entry until another subflow takes
/// its name, so each name given so far has a subflow.
#[derive(Default)]
pub(crate) struct SubflowTable {
    places: Vec<Subflow>,
    /// Joins that found no free name, oldest first.
    late_joins: VecDeque<Subflow>,
}

/// One subflow of a table, beside the others.
pub(crate) struct Split<'a> {
    before: &'a mut [Subflow],
    pub(crate) subflow: &'a mut Subflow,
    after: &'a mut [Subflow],
    late_joins: &'a mut VecDeque<Subflow>,
}

impl Split<'_> {
    /// The other subflows, ordered by name.
    #[inline]
    pub(crate) fn others(&self) -> impl Iterator<Item = &Subflow> {
        self.before.iter().chain(self.after.iter())
    }

    /// The other subflows, for changes.
    #[inline]
    pub(crate) fn others_mut(&mut self) -> impl Iterator<Item = &mut Subflow> {
        self.before.iter_mut().chain(self.after.iter_mut())
    }

    /// All subflows, ordered by name.
    #[inline]
    pub(crate) fn all(&self) -> impl Iterator<Item = &Subflow> {
        self.before.iter().chain([&*self.subflow]).chain(self.after.iter())
    }

    /// All subflows, for changes.
    #[inline]
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Subflow> {
        self.before.iter_mut().chain([&mut *self.subflow]).chain(self.after.iter_mut())
    }

    /// Drops the joins that wait for a name.
    pub(crate) fn forget_late_joins(&mut self) {
        self.late_joins.clear();
    }
}

impl SubflowTable {
    /// The subflow called `id`, beside the others.
    ///
    /// # Panics
    /// If this name was never given.
    #[inline]
    pub(crate) fn at(&mut self, id: SubflowId) -> Split<'_> {
        let (before, rest) = self.places.split_at_mut(id.index());
        let (subflow, after) = rest.split_first_mut().expect("a name that was given keeps its entry");
        Split { before, subflow, after, late_joins: &mut self.late_joins }
    }

    /// Calls `step` with each of these subflows beside the others.
    pub(crate) fn for_each_of(&mut self, names: SubflowSet, mut step: impl FnMut(&mut Split<'_>)) {
        for id in names.iter() {
            step(&mut self.at(id));
        }
    }

    /// The subflow called `id`.
    #[inline]
    pub(crate) fn get(&self, id: SubflowId) -> Option<&Subflow> {
        self.places.get(id.index())
    }

    /// The subflow called `id`, for changes.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: SubflowId) -> Option<&mut Subflow> {
        self.places.get_mut(id.index())
    }

    /// Number of names given so far, which is the number of subflows, including dead ones.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// All subflows, ordered by name.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subflow> {
        self.places.iter()
    }

    /// All subflows, for changes.
    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Subflow> {
        self.places.iter_mut()
    }

    /// Every name given so far, for loops that change the connection meanwhile.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SubflowId> + use<> {
        (0..self.places.len() as u8).map(SubflowId)
    }

    /// The subflows to which data may be assigned.
    #[inline]
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Subflow> {
        self.iter().filter(|s| s.usable())
    }

    /// The subflows to which data may be assigned, for changes.
    #[inline]
    pub(crate) fn usable_mut(&mut self) -> impl Iterator<Item = &mut Subflow> {
        self.iter_mut().filter(|s| s.usable())
    }

    /// The subflows whose TCP is not closed.
    #[inline]
    pub(crate) fn open(&self) -> impl Iterator<Item = &Subflow> {
        self.iter().filter(|s| !s.tcp.is_closed())
    }

    /// The subflows whose TCP handshake is complete and that are not closed.
    #[inline]
    pub(crate) fn established(&self) -> impl Iterator<Item = &Subflow> {
        self.iter().filter(|s| s.tcp.is_established())
    }

    /// The same subflows as [`SubflowTable::established`], for changes.
    #[inline]
    pub(crate) fn established_mut(&mut self) -> impl Iterator<Item = &mut Subflow> {
        self.iter_mut().filter(|s| s.tcp.is_established())
    }

    /// The longest retransmission timeout of a subflow with data in flight.
    pub(crate) fn longest_timeout(&self) -> Option<Duration> {
        self.usable().filter(|s| s.tcp.queue().packets_out() > 0).map(|s| s.tcp.rto()).max()
    }

    /// Tells every subflow whether data waits that was given to no subflow.
    #[inline]
    pub(crate) fn set_backlog(&mut self, backlog: bool) {
        for subflow in self.iter_mut() {
            subflow.tcp.backlog = backlog;
        }
    }

    /// The subflow whose unsent data comes first in the stream.
    #[inline]
    pub(crate) fn with_first_unsent(&self) -> Option<SubflowId> {
        let unsent = self.iter().filter(|s| s.tcp.queue().unsent() > 0);
        let first = unsent.filter_map(|s| Some((s.tcp.queue().first_unsent()?.dsn, s.id)));
        first.min_by_key(|(dsn, _)| *dsn).map(|(_, id)| id)
    }

    /// The name after `id`; after the last one comes the first.
    #[inline]
    pub(crate) fn after(&self, id: SubflowId) -> SubflowId {
        if id.index() + 1 < self.places.len() { SubflowId(id.0 + 1) } else { SubflowId(0) }
    }

    /// A name for a new subflow, if `limit` allows one. A subflow in TIME-WAIT keeps its name and does not count.
    pub(crate) fn free_name(&self, limit: u8) -> Option<SubflowId> {
        if self.iter().filter(|s| !s.has_ended()).count() >= usize::from(limit) {
            return None;
        }
        // A dead subflow's name is free once no byte refers to it.
        let free = self.iter().find(|s| s.health.is_down() && s.tcp.is_closed()).map(|s| s.id);
        free.or_else(|| (self.len() < SubflowId::MAX_SUBFLOWS).then_some(SubflowId(self.len() as u8)))
    }

    /// Puts a subflow into the entry of its name, in place of the dead subflow that had the name before.
    pub(crate) fn insert(&mut self, subflow: Subflow) {
        let i = subflow.id.index();
        if i == self.places.len() {
            self.places.push(subflow);
        } else {
            self.places[i] = subflow;
        }
    }

    /// Whether `id` is the subflow between these addresses.
    #[inline]
    pub(crate) fn is_between(&self, id: SubflowId, local: &SocketAddr, remote: &SocketAddr) -> bool {
        if id == LATE_JOIN {
            return self.has_late_join(local, remote);
        }
        self.get(id).is_some_and(|s| s.is_between(local, remote))
    }

    /// Whether a join between these addresses waits for a name.
    pub(crate) fn has_late_join(&self, local: &SocketAddr, remote: &SocketAddr) -> bool {
        self.late_joins.iter().any(|s| s.is_between(local, remote))
    }

    /// Lets a join wait for a name. If too many wait, the oldest is dropped.
    pub(crate) fn add_late_join(&mut self, subflow: Subflow) {
        if self.late_joins.len() >= LATE_JOINS {
            self.late_joins.pop_front();
        }
        self.late_joins.push_back(subflow);
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.late_joins.shrink_to_fit();
        for subflow in self.iter_mut() {
            subflow.tcp.shrink();
            subflow.mappings.shrink();
        }
    }

    /// Takes out the waiting join between these addresses.
    pub(crate) fn take_late_join(&mut self, local: &SocketAddr, remote: &SocketAddr) -> Option<Subflow> {
        let i = self.late_joins.iter().position(|s| s.is_between(local, remote))?;
        self.late_joins.remove(i)
    }
}
