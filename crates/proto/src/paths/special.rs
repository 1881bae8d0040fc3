//! The addresses that a peer may announce: those at which a host of its own can be.
//!
//! The tables follow IANA's registries of special-purpose addresses
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>,
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>) and of the space of IPv6
//! (<https://www.iana.org/assignments/ipv6-address-space>). Each entry names its RFC. An address that many hosts have
//! (anycast) may lead to another host than the peer, so it counts as no single host's.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of host that an address can belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A host anywhere.
    Host,
    /// A host of a private network.
    Private,
    /// A host of this link: a peer that is itself at such an address.
    Link,
    /// A host of a laboratory or of an example: a peer that is itself at such an address.
    Laboratory,
    /// No host, this host itself, or many hosts.
    Nobody,
    /// Packets are forwarded to the IPv4 address that begins at this bit of an IPv6 address.
    Holds(u32),
}
use Place::{Holds, Host, Laboratory, Link, Nobody, Private};

/// Entries of IPv4: the prefix, its length in bits, and the kind of host. All other addresses belong to hosts.
const IPV4: [([u8; 4], u32, Place); 18] = [
    ([0, 0, 0, 0], 8, Nobody),           // this network: RFC 791
    ([10, 0, 0, 0], 8, Private),         // RFC 1918
    ([100, 64, 0, 0], 10, Private),      // shared by customers of a provider: RFC 6598
    ([127, 0, 0, 0], 8, Nobody),         // loopback: RFC 1122
    ([169, 254, 0, 0], 16, Link),        // link-local: RFC 3927
    ([172, 16, 0, 0], 12, Private),      // RFC 1918
    ([192, 0, 0, 0], 24, Nobody),        // protocols of the IETF, DS-Lite, anycast of PCP and TURN: RFC 6890
    ([192, 0, 2, 0], 24, Laboratory),    // documentation: RFC 5737
    ([192, 31, 196, 0], 24, Nobody),     // AS112: RFC 7535
    ([192, 52, 193, 0], 24, Nobody),     // AMT: RFC 7450
    ([192, 88, 99, 0], 24, Nobody),      // relays of 6to4: RFC 7526
    ([192, 168, 0, 0], 16, Private),     // RFC 1918
    ([192, 175, 48, 0], 24, Nobody),     // AS112: RFC 7534
    ([198, 18, 0, 0], 15, Laboratory),   // benchmarks: RFC 2544
    ([198, 51, 100, 0], 24, Laboratory), // documentation: RFC 5737
    ([203, 0, 113, 0], 24, Laboratory),  // documentation: RFC 5737
    ([224, 0, 0, 0], 4, Nobody),         // multicast: RFC 5771
    ([240, 0, 0, 0], 4, Nobody),         // reserved, and the broadcast: RFC 1112, RFC 8190
];

/// Entries of IPv6: the prefix's first three groups, its length in bits, and the kind of host. The first entry that
/// holds an address counts. Addresses in none of them belong to no host:
///
/// * `::` and `::1`, IPv4-compatible (`::/96`) and IPv4-mapped addresses (`::ffff:0:0/96`): RFC 4291;
/// * IPv4-translated addresses (`::ffff:0:0:0/96`): RFC 2765;
/// * translation within one network, whose addresses hold IPv4 addresses at places that differ (`64:ff9b:1::/48`): RFC 8215;
/// * discard-only (`100::/64`): RFC 6666; dummy (`100:0:0:1::/64`): RFC 9780;
/// * identifiers of segment routing (`5f00::/16`): RFC 9602;
/// * site-local (`fec0::/10`): RFC 3879; multicast (`ff00::/8`): RFC 4291;
/// * what is reserved by the IETF: RFC 4291.
const IPV6: [([u16; 3], u32, Place); 10] = [
    ([0x64, 0xff9b, 0], 96, Holds(96)),   // translation: RFC 6052
    ([0x2001, 0, 0], 23, Nobody),         // protocols of the IETF, Teredo (RFC 4380), benchmarks (RFC 5180): RFC 2928
    ([0x2001, 0xdb8, 0], 32, Laboratory), // documentation: RFC 3849
    ([0x2002, 0, 0], 16, Holds(16)),      // 6to4: RFC 3056
    ([0x2620, 0x4f, 0x8000], 48, Nobody), // AS112: RFC 7534
    ([0x3fff, 0, 0], 20, Laboratory),     // documentation: RFC 9637
    ([0x2000, 0, 0], 3, Host),            // global unicast: RFC 4291
    ([0xfc00, 0, 0], 7, Private),         // unique local: RFC 4193
    ([0xfe80, 0, 0], 10, Link),           // link-local: RFC 4291
    ([0, 0, 0], 0, Nobody),
];

/// The identifiers of interfaces that hold an IPv4 address in their last 32 bits (ISATAP: RFC 5214 §6.1).
const ISATAP: [u32; 2] = [0x0000_5efe, 0x0200_5efe];

fn place_of_v4(address: Ipv4Addr) -> Place {
    let bits = u32::from(address);
    let holds =
        |&&(prefix, length, _): &&([u8; 4], u32, Place)| (bits ^ u32::from_be_bytes(prefix)) >> (32 - length) == 0;
    IPV4.iter().find(holds).map_or(Host, |entry| entry.2)
}

fn place_of_v6(address: Ipv6Addr) -> Place {
    let bits = u128::from(address);
    let holds = |&&([a, b, c], length, _): &&([u16; 3], u32, Place)| {
        let prefix = u128::from(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0));
        (bits ^ prefix).checked_shr(128 - length).is_none_or(|rest| rest == 0)
    };
    match IPV6.iter().find(holds).map_or(Nobody, |entry| entry.2) {
        Host | Private if ISATAP.contains(&((bits >> 32) as u32)) => Holds(96),
        place => place,
    }
}

fn place(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(v4) => place_of_v4(v4),
        IpAddr::V6(v6) => place_of_v6(v6),
    }
}

/// Whether a peer that is reached at `peer` can have a host at `address`. An IPv6 address that holds an IPv4 address is judged as that,
/// and holds none of a private network.
//= RFC 8684 §3.4.1: "a host MAY advertise such addresses"
//= tests: add_addr::an_announced_address_is_echoed_and_joined_whoever_sends, add_addr::addresses_that_nobody_else_has_are_ignored_without_an_echo
pub(super) fn can_be_a_hosts(address: IpAddr, peer: IpAddr) -> bool {
    match (place(address), address) {
        (Host | Private, _) => true,
        (own @ (Link | Laboratory), _) => place(peer.to_canonical()) == own,
        (Holds(bit), IpAddr::V6(v6)) => {
            let held = u128::from(v6) >> (96 - bit);
            place_of_v4(Ipv4Addr::from(held as u32)) == Host
        }
        (Nobody | Holds(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_be(address: &str, peer: &str) -> bool {
        can_be_a_hosts(address.parse().expect("an address"), peer.parse().expect("an address"))
    }

    /// An address of each entry of both registries, of 27 November 2026.
    #[test]
    fn no_special_address_is_a_hosts_but_those_of_private_networks() {
        let nobodys = [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "192.0.0.1",
            "192.0.0.8",
            "192.0.0.9",
            "192.0.0.10",
            "192.0.0.170",
            "192.0.2.1",
            "192.31.196.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.88.99.2",
            "192.175.48.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.5",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::10.0.0.9",
            "::9.9.9.9",
            "::ffff:10.0.0.9",
            "::ffff:9.9.9.9",
            "::ffff:0:9.9.9.9",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.9",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::9.9.9.9",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:0:909:909::f6f6:f6f6",
            "2001:1::1",
            "2001:1::2",
            "2001:1::3",
            "2001:2::1",
            "2001:3::1",
            "2001:4:112::1",
            "2001:10::1",
            "2001:20::1",
            "2001:30::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:9::1",
            "2002:e000:5::1",
            "2620:4f:8000::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "2a00::5efe:127.0.0.1",
            "2a00::200:5efe:10.0.0.9",
        ];
        for address in nobodys {
            assert!(!can_be(address, "9.9.9.9") && !can_be(address, "10.0.0.2"), "{address}");
        }
        let hosts = [
            "9.9.9.9",
            "1.0.0.1",
            "10.0.0.9",
            "100.64.0.1",
            "100.128.0.1",
            "172.31.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.168.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2001:200::1",
            "2003::1",
            "2620:fe::fe",
            "2a00::1",
            "3ffe::1",
            "fd00::1",
            "64:ff9b::9.9.9.9",
            "2002:909:909::1",
            "2a00::5efe:9.9.9.9",
        ];
        for address in hosts {
            assert!(can_be(address, "9.9.9.9") && can_be(address, "2a00::2"), "{address}");
        }
    }

    #[test]
    fn a_peer_on_the_link_or_in_a_laboratory_may_have_more_addresses_there() {
        for (address, peer) in [
            ("169.254.3.4", "169.254.1.1"),
            ("169.254.3.4", "fe80::1"),
            ("fe80::2", "::ffff:169.254.1.1"),
            ("198.18.5.5", "198.19.1.1"),
            ("2001:db8::5", "192.0.2.1"),
        ] {
            assert!(can_be(address, peer), "{address} of {peer}");
        }
        assert!(!can_be("169.254.169.254", "198.18.0.1") && !can_be("127.0.0.2", "127.0.0.1"));
    }
}
