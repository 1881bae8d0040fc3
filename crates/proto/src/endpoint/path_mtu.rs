//! How large a packet each path takes.

use super::Endpoint;
use super::slots::Slot;
use crate::config::least_mtu;
use crate::connection::{Connection, PacketTooBigVerdict};
use crate::paths::table::LATE_JOIN;
use core::net::IpAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::PacketTooBig;
use std::collections::BTreeMap;

/// How long new connections use a size that was found out: what RFC 1191 §6.3 and RFC 8201 §5.3 suggest.
const LEARNED_FOR: Duration = Duration::from_secs(600);
/// How many pairs of addresses have such a size at most. The one that was found out first gives way.
const LEARNED_PATHS: usize = 1024;

/// A local and a remote address.
type Pair = (IpAddr, IpAddr);

/// The largest IP packet between two addresses, bytes.
#[derive(Debug, Default)]
pub(super) struct PathMtus {
    /// Where it is not what a connection's settings say.
    configured: BTreeMap<Pair, u32>,
    /// Where it turned out to be less, and when that was.
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

/// Why a path MTU is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuError {
    /// One address is of IPv4, the other of IPv6.
    MixedFamilies,
    /// No path is taken to have less than this many bytes: 552 (IPv4), or 1280 (IPv6, RFC 8200 §5).
    TooSmall {
        /// The least that is taken.
        least: u32,
    },
}

impl core::fmt::Display for PathMtuError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PathMtuError::MixedFamilies => f.write_str("a path has two addresses of one family"),
            PathMtuError::TooSmall { least } => write!(f, "a path takes packets of at least {least} bytes"),
        }
    }
}

impl core::error::Error for PathMtuError {}

impl Endpoint {
    /// Sets the size of the largest IP packet between two addresses, in bytes: that of the route or of the link behind it.
    /// Subflows that begin from now on use it instead of [`TcpConfig::mtu`](crate::config::TcpConfig::mtu), and name it in
    /// the MSS option of their SYN. Those that exist use it too: what they have queued or out and is larger is cut, and larger
    /// segments go out as far as the peer's MSS option allows.
    ///
    /// # Errors
    /// When the addresses are of two families, and when `mtu` is smaller than any path's.
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

    /// Takes the message of a router that a packet of ours was too large for the next link. The answer says whether the
    /// message is believed. Where it is, all connections between the same addresses use the size, and so do those that begin
    /// within ten minutes; and so it is where one connection finds a smaller size by timeouts.
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

    /// Tells all connections what this one has found out, if it has.
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

    /// A connection's subflows between these addresses use what is known of their path.
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
        // The order of the addresses is not that of the times.
        (0..most).for_each(|n| mtus.learn(at(n), pair(most - n), 1300));
        assert!((0..most).all(|n| mtus.learned(at(most), &pair(most - n)) == Some(1300)));
        mtus.learn(at(most), pair(most + 1), 1280);
        assert_eq!(mtus.learned.len(), LEARNED_PATHS);
        assert_eq!(mtus.learned(at(most), &pair(most)), None, "the oldest");
        assert_eq!(mtus.learned(at(most), &pair(most - 1)), Some(1300));
        // Those whose time is over go first.
        let later = at(most) + LEARNED_FOR;
        mtus.learn(later, pair(most + 2), 1280);
        assert_eq!(mtus.learned.len(), 1);
    }
}
