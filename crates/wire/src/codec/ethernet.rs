//! Ethernet headers for captures. libpcap, which tcpdump uses, rejects a file with two link types, and one with several
//! interfaces of raw IP. So every packet of a capture gets an Ethernet header.

use core::net::IpAddr;

/// Bytes of an Ethernet header without VLAN.
pub const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// The header of a frame from `src` to `dst`, with made-up hardware addresses.
pub fn ethernet_header(src: IpAddr, dst: IpAddr) -> [u8; ETHERNET_BYTES] {
    let mut header = [0; ETHERNET_BYTES];
    header[..6].copy_from_slice(&hardware_address(dst));
    header[6..12].copy_from_slice(&hardware_address(src));
    header[12..].copy_from_slice(if src.is_ipv4() { &ETHERTYPE_IPV4 } else { &ETHERTYPE_IPV6 });
    header
}

/// A locally administered address made of the last four octets of an IP address.
fn hardware_address(ip: IpAddr) -> [u8; 6] {
    let octets = match ip {
        IpAddr::V4(a) => a.octets(),
        IpAddr::V6(a) => {
            let [.., a, b, c, d] = a.octets();
            [a, b, c, d]
        }
    };
    [0x02, 0, octets[0], octets[1], octets[2], octets[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_both_addresses_and_the_version() {
        let [client, server] = ["10.0.1.1", "10.0.1.2"].map(|a| a.parse().expect("an address"));
        assert_eq!(ethernet_header(client, server), [2, 0, 10, 0, 1, 2, 2, 0, 10, 0, 1, 1, 8, 0]);
        let [client, server] = ["fd00::1:2", "fd00::3:4"].map(|a| a.parse().expect("an address"));
        assert_eq!(ethernet_header(client, server), [2, 0, 0, 3, 0, 4, 2, 0, 0, 1, 0, 2, 0x86, 0xdd]);
    }
}
