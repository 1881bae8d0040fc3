//! Connections of which nothing is left but to wait for old segments: the newest are kept as they were, so that their ends can be looked at,
//! of older ones only what [`TimeWait`] holds.

use super::slots::Addresses;
use super::{ConnectionHandle, Endpoint};
use crate::tcp::{TimeWait, Waited};
use pathweave_units::Instant;
use pathweave_wire::Segment;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Connections in TIME-WAIT that keep all of their state.
const WHOLE: usize = 1024;
/// What is remembered of others; then those that end first are forgotten. Linux has the same number (`tcp_max_tw_buckets`).
const RECORDS: usize = 1 << 18;

/// The subflows in TIME-WAIT whose connections are gone, and the connections that are next.
#[derive(Debug, Default)]
pub(super) struct TimeWaits {
    whole: VecDeque<ConnectionHandle>,
    records: BTreeMap<Addresses, TimeWait>,
    ends: BTreeSet<(Instant, Addresses)>,
}

impl TimeWaits {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn holds(&self, addresses: &Addresses) -> bool {
        !self.records.is_empty() && self.records.contains_key(addresses)
    }

    fn insert(&mut self, addresses: Addresses, record: TimeWait) {
        self.remove(addresses);
        self.ends.insert((record.end(), addresses));
        self.records.insert(addresses, record);
        while self.records.len() > RECORDS
            && let Some((_, first)) = self.ends.first().copied()
        {
            self.remove(first);
        }
    }

    fn remove(&mut self, addresses: Addresses) {
        if let Some(record) = self.records.remove(&addresses) {
            self.ends.remove(&(record.end(), addresses));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ends.first().map(|(at, _)| *at)
    }

    #[cold]
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((_, first)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.remove(first);
        }
    }
}

impl Endpoint {
    /// A connection only waits for old segments, and everybody has heard of its end. If too many do, the oldest becomes a record.
    #[cold]
    pub(super) fn note_lingering(&mut self, index: u32) {
        if core::mem::replace(&mut self.slots[index as usize].lingers, true) {
            return;
        }
        self.time_waits.whole.push_back(self.handle_of(index));
        while self.time_waits.whole.len() > WHOLE
            && let Some(oldest) = self.time_waits.whole.pop_front()
        {
            let Some(connection) = self.connection(oldest) else { continue };
            let records: Vec<_> = connection.time_waits().collect();
            self.release(oldest.index);
            records.into_iter().for_each(|(addresses, record)| self.time_waits.insert(addresses, record));
        }
    }

    /// A segment for a connection of which only a record is left. Returns whether there is one, and it is done.
    #[cold]
    pub(super) fn handle_waited(&mut self, now: Instant, segment: &Segment) -> bool {
        let addresses = (segment.dst, segment.src);
        let Some(mut record) = self.time_waits.records.get(&addresses).copied() else { return false };
        match record.take(now, segment) {
            Waited::Answer(answer) => {
                self.time_waits.insert(addresses, record);
                self.control.extend(answer.map(|answer| *answer));
                true
            }
            Waited::Over { reopens } => {
                self.time_waits.remove(addresses);
                !reopens
            }
        }
    }
}
