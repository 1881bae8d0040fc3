//! Pairs of a local and a remote address, packed into numbers so that comparing them is cheap.

use core::net::SocketAddr;

/// Both addresses and both ports of an IPv4 pair as one number; `None` for IPv6.
#[inline]
pub(crate) fn packed(local: &SocketAddr, remote: &SocketAddr) -> Option<u128> {
    let (SocketAddr::V4(local), SocketAddr::V4(remote)) = (local, remote) else { return None };
    let addresses = u64::from(local.ip().to_bits()) << 32 | u64::from(remote.ip().to_bits());
    let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
    Some(u128::from(addresses) << 32 | u128::from(ports))
}

/// Whether two pairs of addresses are equal.
#[inline]
pub(crate) fn is_same(a: (&SocketAddr, &SocketAddr), b: (&SocketAddr, &SocketAddr)) -> bool {
    match (packed(a.0, a.1), packed(b.0, b.1)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
