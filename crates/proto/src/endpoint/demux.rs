//! Finds the subflow that a segment belongs to.

use crate::address_pair::packed;
use core::net::SocketAddr;
use pathweave_scheduler::SubflowId;
use std::collections::BTreeMap;

/// Index of a connection in its endpoint, and one of its subflows.
type Owner = (u32, SubflowId);

/// Subflows by their pair of addresses, local and remote.
///
/// Each segment needs a look-up, so pairs of IPv4 addresses are packed into numbers, which compare in a few
/// instructions. The maps are ordered trees, not hash tables, so that an attacker's choice of addresses cannot make
/// look-ups slow.
#[derive(Debug, Default)]
pub(crate) struct Demux {
    v4: BTreeMap<u128, Owner>,
    other: BTreeMap<(SocketAddr, SocketAddr), Owner>,
}

impl Demux {
    #[inline]
    pub(crate) fn get(&self, local: &SocketAddr, remote: &SocketAddr) -> Option<Owner> {
        match packed(local, remote) {
            Some(key) => self.v4.get(&key).copied(),
            None => self.other.get(&(*local, *remote)).copied(),
        }
    }

    pub(crate) fn insert(&mut self, pair: (SocketAddr, SocketAddr), owner: Owner) {
        match packed(&pair.0, &pair.1) {
            Some(key) => self.v4.insert(key, owner),
            None => self.other.insert(pair, owner),
        };
    }

    pub(crate) fn len(&self) -> usize {
        self.v4.len() + self.other.len()
    }

    pub(crate) fn remove(&mut self, pair: (SocketAddr, SocketAddr)) {
        match packed(&pair.0, &pair.1) {
            Some(key) => self.v4.remove(&key),
            None => self.other.remove(&pair),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_both_families_are_told_apart() {
        let pairs = [
            ("10.0.0.1:1", "10.0.0.2:2"),
            ("10.0.0.1:2", "10.0.0.2:1"),
            ("10.0.0.2:1", "10.0.0.1:2"),
            ("[::1]:1", "[::2]:2"),
            ("[::1]:2", "[::2]:1"),
        ];
        let pairs = pairs.map(|(l, r)| (l.parse().expect("an address"), r.parse().expect("an address")));
        let mut demux = Demux::default();
        for (i, pair) in (0..).zip(pairs) {
            demux.insert(pair, (i, SubflowId(i as u8)));
        }
        for (i, pair) in (0..).zip(pairs) {
            assert_eq!(demux.get(&pair.0, &pair.1), Some((i, SubflowId(i as u8))));
            demux.remove(pair);
            assert_eq!(demux.get(&pair.0, &pair.1), None);
        }
    }
}
