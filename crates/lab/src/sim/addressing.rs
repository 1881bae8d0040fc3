//! The addresses of the hosts, and the paths that they belong to.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The addresses of a path's two ends: 10.P.P.1 and .2, where P is the path's number from 1.
pub(super) fn addresses(path: usize) -> (IpAddr, IpAddr) {
    let [high, low] = (path as u16 + 1).to_be_bytes();
    (IpAddr::V4(Ipv4Addr::new(10, high, low, 1)), IpAddr::V4(Ipv4Addr::new(10, high, low, 2)))
}

/// The path that has this address at one of its ends.
pub fn path_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(address) = address else { return None };
    let [_, high, low, _] = address.octets();
    usize::from(u16::from_be_bytes([high, low])).checked_sub(1)
}

/// The path, one of `paths`, that has its client at one of the two ends of a subflow.
pub(super) fn path_between(paths: &[usize], local: SocketAddr, remote: SocketAddr) -> Option<usize> {
    let is_of_client = |end: SocketAddr| {
        let path = path_of(end.ip()).filter(|p| paths.contains(p))?;
        (addresses(path).0 == end.ip()).then_some(path)
    };
    is_of_client(local).or_else(|| is_of_client(remote))
}
