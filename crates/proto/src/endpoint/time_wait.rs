//! Connections in TIME-WAIT, which only wait for old segments. The newest keep their whole state, so that it can be
//! inspected; of older ones only the [`TimeWait`] record stays.

use super::slots::Addresses;
use super::{ConnectionHandle, Endpoint};
use crate::connection::Connection;
use crate::tcp::{TimeWait, Waited};
use pathweave_scheduler::SubflowId;
use pathweave_units::Instant;
use pathweave_wire::Segment;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Connections in TIME-WAIT that keep their whole state.
const WHOLE: usize = 1024;
/// Most records. Beyond it those that end first are forgotten. Linux has the same number (`tcp_max_tw_buckets`).
const RECORDS: usize = 1 << 18;

/// Records of subflows in TIME-WAIT whose connections are gone, and the connections that will become records next.
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

    pub(super) fn remove(&mut self, addresses: Addresses) {
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

/// Whether a subflow gives way to this SYN ([`Connection::gives_way`]). Its record stays until the new handshake is
/// complete, because the SYN may be a blind attacker's.
#[cold]
pub(super) fn gives_way(
    time_waits: &mut TimeWaits,
    now: Instant,
    connection: &mut Connection,
    id: SubflowId,
    syn: &Segment,
) -> bool {
    let addresses = (syn.dst, syn.src);
    let record = connection.time_waits().find(|(between, _)| *between == addresses);
    let gives_way = connection.gives_way(now, id, syn);
    if let (true, Some((_, record))) = (gives_way, record) {
        time_waits.insert(addresses, record);
    }
    gives_way
}

impl Endpoint {
    /// Notes that a connection only waits for old segments and has reported its end. If too many do, the oldest becomes
    /// a record.
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

    /// Handles a segment for a connection that is only a record. Returns whether the segment needs nothing more.
    #[cold]
    pub(super) fn handle_waited(&mut self, now: Instant, segment: &Segment) -> bool {
        let addresses = (segment.dst, segment.src);
        let Some(mut record) = self.time_waits.records.get(&addresses).copied() else { return false };
        let may_open = self.has_use_for(segment);
        match record.take(now, segment, may_open) {
            Waited::Answer(answer) => {
                self.time_waits.insert(addresses, record);
                self.control.extend(answer.map(|answer| *answer));
                true
            }
            Waited::Over => {
                self.time_waits.remove(addresses);
                true
            }
            // The record stays until the new handshake is complete.
            Waited::GivesWay => false,
        }
    }

    /// Acknowledges a repeated FIN of an earlier connection between the addresses of a half-open one. The half-open one
    /// may come from a blind attacker's SYN, which must not keep the earlier peer from closing.
    #[cold]
    pub(super) fn repeats_earlier_end(&mut self, now: Instant, segment: &Segment) -> bool {
        let record = self.time_waits.records.get(&(segment.dst, segment.src));
        record.is_some_and(|record| record.repeats_fin(segment)) && self.handle_waited(now, segment)
    }
}
