//! How large a packet each path takes.

use super::Endpoint;
use crate::config::least_mtu;
use crate::connection::PacketTooBigVerdict;
use crate::paths::table::LATE_JOIN;
use core::net::{IpAddr, SocketAddr};
use pathweave_units::Instant;

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

/// A router's message that it cannot forward a packet of ours: ICMPv4 "fragmentation needed" (RFC 1191), or ICMPv6 "packet too
/// big" (RFC 8201). Whoever takes it from the wire has checked its checksum and that it quotes a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The source of the quoted packet: our address and port.
    pub local: SocketAddr,
    /// Its destination.
    pub remote: SocketAddr,
    /// The TCP sequence number of the quoted packet.
    pub sequence: u32,
    /// The largest IP packet that the next link takes, bytes; 0 where a router does not say (RFC 1191 §5).
    pub mtu: u32,
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
        self.path_mtus.insert((local, remote), mtu);
        for index in 0..self.slots.len() {
            if let Some(connection) = self.slots[index].connection.as_deref_mut() {
                connection.set_path_mtu(now, local, remote, mtu);
                self.touch(index as u32);
            }
        }
        Ok(())
    }

    /// Takes the message of a router that a packet of ours was too large for the next link. The answer says whether the
    /// message is believed; other connections over the same path find out by messages of their own.
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
        self.touch(index);
        verdict
    }
}
