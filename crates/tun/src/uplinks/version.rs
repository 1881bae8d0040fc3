//! Addresses, commands and tables that differ between IPv4 and IPv6.

use super::{MOST_NUMBER, Purpose};
use crate::ip;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};

/// Options of all rules for the paths' tables: a priority before the machine's own rules, and a mark (`protocol`) that
/// identifies the rules as ours.
const RULES: &str = "priority 7 protocol 98";

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V4,
    V6,
}

impl Version {
    pub(super) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Version::V4 } else { Version::V6 }
    }

    /// Name of the version.
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::V4 => "IPv4",
            Version::V6 => "IPv6",
        }
    }

    /// Address of one end of a path.
    pub(super) fn address(self, path: u8, end: u8) -> IpAddr {
        match self {
            Version::V4 => Ipv4Addr::new(198, 18, path, end).into(),
            Version::V6 => Ipv6Addr::new(0xfdb4, 0x6c1e, 0x8d57, path.into(), 0, 0, 0, end.into()).into(),
        }
    }

    /// The network of all paths' addresses.
    fn network(self) -> &'static str {
        match self {
            Version::V4 => "198.18.0.0/16",
            Version::V6 => "fdb4:6c1e:8d57::/48",
        }
    }

    /// The option of `ip` that selects this version.
    fn option(self) -> &'static str {
        match self {
            Version::V4 => "-4",
            Version::V6 => "-6",
        }
    }

    /// Name of the address family in nftables.
    fn family(self) -> &'static str {
        match self {
            Version::V4 => "ip",
            Version::V6 => "ip6",
        }
    }

    fn table(self) -> String {
        format!("{} pathweave", self.family())
    }

    /// Removes what a killed run left behind, and makes the rule and the nftables table that all paths share.
    pub(super) fn prepare(self, purpose: Purpose) -> io::Result<()> {
        self.remove_rules();
        let (table, family) = (self.table(), self.family());
        let address = if self == Version::V4 { "ipv4_addr" } else { "ipv6_addr" };
        // A table has to be there to be deleted.
        nft(&format!(
            "add table {table}\ndelete table {table}\nadd table {table}\n\
             add map {table} uplinks {{ type {address} : {address} ; }}\n\
             add chain {table} leaving {{ type nat hook postrouting priority 100 ; }}\n\
             add rule {table} leaving snat to {family} saddr map @uplinks\n\
             add map {table} engines {{ type {address} : {address} ; }}\n"
        ))?;
        let network = self.network();
        self.ip(&format!("rule add to {network} lookup main {RULES}"))?;
        if let Purpose::Listen(at) = purpose {
            nft(&format!(
                "add chain {table} arriving {{ type nat hook prerouting priority -100 ; }}\n\
                 add rule {table} arriving tcp dport {} dnat to {family} daddr map @engines\n",
                at.port()
            ))?;
            // Answers to neighbours of any link leave on that link.
            self.ip(&format!("rule add from {network} lookup main suppress_prefixlength 0 {RULES}"))?;
        }
        Ok(())
    }

    /// Removes all rules and the table of nftables.
    pub(super) fn clean_up(self) {
        self.remove_rules();
        let _ = nft(&format!("delete table {}\n", self.table()));
    }

    /// Sets the default route of a routing table.
    pub(super) fn route(self, gateway: Option<IpAddr>, device: &str, table: u32) -> io::Result<()> {
        let via = gateway.map_or(String::new(), |gateway| format!("via {gateway}"));
        self.ip(&format!("route replace default {via} dev {device} table {table}"))
    }

    /// Sets up a path: packets from the engine use this routing table and leave with the uplink's address. On a server,
    /// packets to the uplink's address are forwarded to the engine.
    pub(super) fn connect(self, ours: IpAddr, uplink: IpAddr, table: u32) -> io::Result<()> {
        self.ip(&format!("rule add from {ours} lookup {table} {RULES}"))?;
        let table = self.table();
        nft(&format!(
            "add element {table} uplinks {{ {ours} : {uplink} }}\nadd element {table} engines {{ {uplink} : {ours} }}\n"
        ))
    }

    /// Undoes [`Version::connect`]. Settings that are already gone are ignored.
    pub(super) fn disconnect(self, ours: IpAddr, uplink: IpAddr, table: u32) {
        let _ = self.ip(&format!("rule del from {ours} lookup {table} {RULES}"));
        let _ = self.ip(&format!("route flush table {table}"));
        let _ = nft(&format!("delete element {} uplinks {{ {ours} }}\n", self.table()));
        let _ = nft(&format!("delete element {} engines {{ {uplink} }}\n", self.table()));
    }

    fn remove_rules(self) {
        for _ in 0..MOST_NUMBER {
            if self.ip(&format!("rule del {RULES}")).is_err() {
                return;
            }
        }
    }

    fn ip(self, arguments: &str) -> io::Result<()> {
        ip(&format!("{} {arguments}", self.option()))
    }
}

/// Runs commands of `nft`, all or none of them.
fn nft(commands: &str) -> io::Result<()> {
    let mut nft = Command::new("nft");
    let nft = nft.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut nft = nft.spawn().map_err(|e| io::Error::new(e.kind(), format!("nft (of nftables): {e}")))?;
    if let Some(mut input) = nft.stdin.take() {
        input.write_all(commands.as_bytes())?;
    }
    let output = nft.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("nft: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}
