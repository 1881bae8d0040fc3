//! The largest packet that each path takes.

use super::Endpoint;
use super::slots::Slot;
use crate::config::least_mtu;
use crate::connection::{Connection, PacketTooBigVerdict};
use crate::paths::table::LATE_JOIN;
use core::net::IpAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::PacketTooBig;
use std::collections::BTreeMap;

/// How long new connections use a discovered MTU, as RFC 1191 §6.3 and RFC 8201 §5.3 suggest.
const LEARNED_FOR: Duration = Duration::from_secs(600);
/// Most pairs of addresses with a discovered MTU. Beyond it the oldest discovery is forgotten.
const LEARNED_PATHS: usize = 1024;

/// A local and a remote address.
type Pair = (IpAddr, IpAddr);

/// Size of the largest IP packet between two addresses, bytes.
#[derive(Debug, Default)]
pub(super) struct PathMtus {
    /// MTUs set by the application, in place of the one in a connection's settings.
    configured: BTreeMap<Pair, u32>,
    /// Discovered MTUs that are smaller, and when each was discovered.
    learned: BTreeMap<Pair, (u32, Instant)>,
}

impl PathMtus {
    pub(super) fn configured(&self, pair: &Pair) -> Option<u32> {
        self.configured.get(pair).copied()
    }

    fn configure(&mut self, pair: Pair, mtu: u32) {
        self.configured.insert(pair, mtu);
        self.learned.remove(&pair);
    }

    fn learned(&self, now: Instant, pair: &Pair) -> Option<u32> {
        let (mtu, at) = self.learned.get(pair).copied()?;
        (now < at + LEARNED_FOR).then_some(mtu)
    }

    fn learn(&mut self, now: Instant, pair: Pair, mtu: u32) {
        self.learned.insert(pair, (mtu, now));
        if self.learned.len() > LEARNED_PATHS {
            self.learned.retain(|_, (_, at)| now < *at + LEARNED_FOR);
        }
        if self.learned.len() > LEARNED_PATHS {
            let oldest = self.learned.iter().min_by_key(|(_, (_, at))| *at).map(|(pair, _)| *pair);
            oldest.map(|pair| self.learned.remove(&pair));
        }
    }
}

/// Why a path MTU is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathMtuError {
    /// One address is IPv4, the other IPv6.
    MixedFamilies,
    /// The value is below the least path MTU: 552 bytes (IPv4) or 1280 (IPv6, RFC 8200 §5).
    TooSmall {
        /// Least path MTU, bytes.
        least: u32,
    },
}

impl core::fmt::Display for PathMtuError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PathMtuError::MixedFamilies => f.write_str("the two addresses of a path must be of the same family"),
            PathMtuError::TooSmall { least } => write!(f, "a path MTU must be at least {least} bytes"),
        }
    }
}

impl core::error::Error for PathMtuError {}

impl Endpoint {
    /// Sets the size of the largest IP packet between two addresses, in bytes, as known from the route or its link. New
    /// subflows use it instead of [`TcpConfig::mtu`](crate::config::TcpConfig::mtu), and announce it in the MSS option
    /// of their SYN. Existing ones use it too: larger segments that are queued or in flight are cut, and later segments
    /// may grow as far as the peer's MSS option allows.
    ///
    /// # Errors
    /// If the addresses are of different families, or `mtu` is too small for any path.
    pub fn set_path_mtu(&mut self, now: Instant, local: IpAddr, remote: IpAddr, mtu: u32) -> Result<(), PathMtuError> {
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(PathMtuError::MixedFamilies);
        }
        let least = least_mtu(local.is_ipv4());
        if mtu < least {
            return Err(PathMtuError::TooSmall { least });
        }
        self.path_mtus.configure((local, remote), mtu);
        for index in 0..self.slots.len() {
            if let Some(connection) = self.slots[index].connection.as_deref_mut() {
                connection.set_path_mtu(now, local, remote, mtu);
                self.touch(index as u32);
            }
        }
        Ok(())
    }

    /// Handles a router's message that a packet of ours was too large for the next link. Returns whether the message is
    /// believed. If it is, all connections between the same addresses use the size, and so do those that begin within
    /// ten minutes. The same holds if one connection discovers a smaller size by timeouts.
    pub fn handle_packet_too_big(&mut self, now: Instant, message: &PacketTooBig) -> PacketTooBigVerdict {
        let found = self.by_addresses.get(&message.local, &message.remote).filter(|(_, id)| *id != LATE_JOIN);
        let Some((index, subflow)) = found else { return PacketTooBigVerdict::UnknownSubflow };
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else {
            return PacketTooBigVerdict::UnknownSubflow;
        };
        if !connection.table().is_between(subflow, &message.local, &message.remote) {
            return PacketTooBigVerdict::UnknownSubflow;
        }
        let verdict = connection.handle_packet_too_big(now, subflow, message.sequence, message.mtu);
        self.share_learned_path_mtus(now, index);
        self.touch(index);
        verdict
    }

    /// Shares the MTUs that this connection has discovered with all others.
    //= RFC 8201 §5.2: "Any packetization layer instance (for example, a TCP connection) that is actively using the path must
    //= be notified if the PMTU estimate is decreased"
    //= tests: learned_path_mtu::what_one_connection_finds_out_all_between_the_same_addresses_use
    #[inline]
    pub(super) fn share_learned_path_mtus(&mut self, now: Instant, index: u32) {
        let learned = |slot: &mut Slot| slot.connection.as_deref_mut().and_then(Connection::take_learned_path_mtu);
        while let Some((pair, mtu)) = learned(&mut self.slots[index as usize]) {
            self.path_mtus.learn(now, pair, mtu);
            for any in 0..self.slots.len() as u32 {
                self.use_learned_path_mtu(now, any, pair);
            }
        }
    }

    /// Applies the discovered MTU between these addresses to a connection's subflows.
    pub(super) fn use_learned_path_mtu(&mut self, now: Instant, index: u32, pair: Pair) {
        let Some(mtu) = self.path_mtus.learned(now, &pair) else { return };
        let connection = self.slots[index as usize].connection.as_deref_mut();
        if connection.is_some_and(|c| c.limit_path_mtu(now, pair, mtu)) {
            self.touch(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn pair(n: u32) -> Pair {
        (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::from_bits(n).into())
    }

    #[test]
    fn what_is_learned_takes_a_bounded_place() {
        let mut mtus = PathMtus::default();
        let at = |n: u32| Instant::ZERO + Duration::from_millis(u64::from(n));
        let most = LEARNED_PATHS as u32;
        // The addresses are in another order than the times.
        (0..most).for_each(|n| mtus.learn(at(n), pair(most - n), 1300));
        assert!((0..most).all(|n| mtus.learned(at(most), &pair(most - n)) == Some(1300)));
        mtus.learn(at(most), pair(most + 1), 1280);
        assert_eq!(mtus.learned.len(), LEARNED_PATHS);
        assert_eq!(mtus.learned(at(most), &pair(most)), None, "the oldest");
        assert_eq!(mtus.learned(at(most), &pair(most - 1)), Some(1300));
        // Expired entries go first.
        let later = at(most) + LEARNED_FOR;
        mtus.learn(later, pair(most + 2), 1280);
        assert_eq!(mtus.learned.len(), 1);
    }
}
