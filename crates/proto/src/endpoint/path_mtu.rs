//! How large a packet each path takes.

use super::Endpoint;
use crate::config::least_mtu;
use core::net::IpAddr;

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
    /// the MSS option of their SYN.
    ///
    /// # Errors
    /// When the addresses are of two families, and when `mtu` is smaller than any path's.
    pub fn set_path_mtu(&mut self, local: IpAddr, remote: IpAddr, mtu: u32) -> Result<(), PathMtuError> {
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(PathMtuError::MixedFamilies);
        }
        let least = least_mtu(local.is_ipv4());
        if mtu < least {
            return Err(PathMtuError::TooSmall { least });
        }
        self.path_mtus.insert((local, remote), mtu);
        Ok(())
    }
}
