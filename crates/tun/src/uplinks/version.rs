//! What is different between IPv4 and IPv6: addresses, commands and tables.

use super::{MOST_NUMBER, Purpose};
use crate::ip;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};

/// Of all rules that send packets to the paths' tables, and back: before any rule of the machine's own for the packets of some network, and
/// with a mark (`protocol`) that tells whose they are.
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

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::V4 => "IPv4",
            Version::V6 => "IPv6",
        }
    }

    /// The address of one end of a path.
    pub(super) fn address(self, path: u8, end: u8) -> IpAddr {
        match self {
            Version::V4 => Ipv4Addr::new(198, 18, path, end).into(),
            Version::V6 => Ipv6Addr::new(0xfdb4, 0x6c1e, 0x8d57, path.into(), 0, 0, 0, end.into()).into(),
        }
    }

    /// All paths' addresses.
    fn network(self) -> &'static str {
        match self {
            Version::V4 => "198.18.0.0/16",
            Version::V6 => "fdb4:6c1e:8d57::/48",
        }
    }

    /// The option of `ip`.
    fn option(self) -> &'static str {
        match self {
            Version::V4 => "-4",
            Version::V6 => "-6",
        }
    }

    /// What nftables calls it.
    fn family(self) -> &'static str {
        match self {
            Version::V4 => "ip",
            Version::V6 => "ip6",
        }
    }

    fn table(self) -> String {
        format!("{} pathweave", self.family())
    }

    /// Removes what an earlier run left, and makes the rule and the table of nftables that all paths share.
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

    /// Where packets of a routing table leave the machine.
    pub(super) fn route(self, gateway: Option<IpAddr>, device: &str, table: u32) -> io::Result<()> {
        let via = gateway.map_or(String::new(), |gateway| format!("via {gateway}"));
        self.ip(&format!("route replace default {via} dev {device} table {table}"))
    }

    /// What comes from the engine takes this routing table, and leaves under the uplink's address. What comes to that goes to the engine, if it
    /// is a server's.
    pub(super) fn connect(self, ours: IpAddr, uplink: IpAddr, table: u32) -> io::Result<()> {
        self.ip(&format!("rule add from {ours} lookup {table} {RULES}"))?;
        let table = self.table();
        nft(&format!(
            "add element {table} uplinks {{ {ours} : {uplink} }}\nadd element {table} engines {{ {uplink} : {ours} }}\n"
        ))
    }

    /// The opposite. What is not there any more is no mistake.
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

/// Gives commands to `nft`, all or nothing of them.
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
