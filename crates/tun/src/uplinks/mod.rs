//! The engine on a machine whose addresses and routes change. Each address from which a client can reach its server is
//! a path for as long as the route exists. On a server, each address that clients can reach is a path.
//!
//! A path is a TUN device between the engine at 198.18.N.2 and the machine at 198.18.N.1, from a range that no network
//! uses (RFC 2544, RFC 6890). With IPv6, these addresses are from a local prefix that was drawn at random (RFC 4193).
//! The machine forwards the engine's packets over the uplink, with the uplink's address as their source. Each path has
//! a rule, a routing table and an entry of an nftables map for that.
//!
//! Packets to a server's port at the uplink's address are forwarded to the engine. The engine uses the uplink's address
//! as its own on that path, and announces it.
//!
//! All these settings are removed at the end, and what a killed run left behind is removed at the start.

mod endpoint;
mod forwarding;
mod machine;
mod version;

pub use endpoint::{Endpoint, Flags};
pub use machine::Uplink;

use crate::Interface;
use forwarding::Forwarding;
use machine::Netlink;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use version::Version;

/// First routing table: path number N uses table 7000 + N.
const FIRST_TABLE: u32 = 7000;
const MOST_NUMBER: u8 = 250;
const TABLES: Range<u32> = FIRST_TABLE..FIRST_TABLE + 1 + MOST_NUMBER as u32;

/// Settings of the paths.
#[derive(Clone, Debug)]
pub struct UplinkOptions {
    /// Prefix of the TUN devices' names; a number follows.
    pub device: String,
    /// Size of the largest packet, bytes.
    pub mtu: u16,
    /// Uses of addresses; the first match counts. An address without a match is used by a client for a subflow, and
    /// announced by a server.
    pub endpoints: Vec<Endpoint>,
    /// Called for each change of the paths.
    pub notify: fn(&Change),
}

/// The peers that the paths lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The engine connects to this address.
    Connect(IpAddr),
    /// Clients at any address connect to this port of the machine, over the IP version of this address.
    Listen(SocketAddr),
}

impl Purpose {
    fn version(self) -> Version {
        match self {
            Purpose::Connect(remote) => Version::of(remote),
            Purpose::Listen(at) => Version::of(at.ip()),
        }
    }
}

/// A change of the paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new path.
    Up(Path),
    /// A path that is gone.
    Down(Path),
}

/// A path of the engine over an uplink of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The machine's address and link on which the path's packets leave.
    pub uplink: Uplink,
    /// The device between engine and machine.
    pub interface: Interface,
    /// Uses of the path's address.
    pub flags: Flags,
    number: u8,
}

/// Adds and removes paths as the machine's uplinks change.
pub struct Follower {
    options: UplinkOptions,
    purpose: Purpose,
    version: Version,
    _forwarding: Forwarding,
    netlink: Netlink,
    paths: Vec<Path>,
    /// Number of the newest path.
    last: u8,
}

impl Follower {
    /// Prepares the machine, without any path yet.
    ///
    /// # Errors
    /// If the machine does not allow it, or `nft` (of nftables) is missing.
    pub fn open(options: UplinkOptions, purpose: Purpose) -> io::Result<Self> {
        let version = purpose.version();
        version.prepare(purpose)?;
        let forwarding = Forwarding::on(version)?;
        let netlink = Netlink::open()?;
        Ok(Follower { options, purpose, version, _forwarding: forwarding, netlink, paths: Vec::new(), last: 0 })
    }

    /// Makes the first paths and returns them: paths that are not backups first, and among them the preferred ones
    /// first.
    ///
    /// # Errors
    /// If the machine cannot be asked or set up, or has no address for the purpose.
    pub fn start(&mut self) -> io::Result<&[Path]> {
        self.compare()?;
        self.paths.sort_by_key(|path| (path.flags.backup, path.uplink.metric));
        if self.paths.is_empty() {
            let what = match self.purpose {
                Purpose::Connect(remote) => format!("has a route to {remote}"),
                Purpose::Listen(_) => format!("is one of {} and has a route", self.version.name()),
            };
            let message = format!("no address of this machine that may be used {what}");
            return Err(io::Error::new(io::ErrorKind::NotConnected, message));
        }
        Ok(&self.paths)
    }

    /// The present paths.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Applies and returns the changes since the last call.
    ///
    /// # Errors
    /// If the machine cannot be asked or set up.
    pub fn changes(&mut self) -> io::Result<Vec<Change>> {
        if self.netlink.has_news()? { self.compare() } else { Ok(Vec::new()) }
    }

    fn compare(&mut self) -> io::Result<Vec<Change>> {
        let uplinks = self.netlink.machine()?.uplinks(self.purpose, &self.options.device, TABLES);
        let mut changes = Vec::new();
        let is_same = |a: &Uplink, b: &Uplink| (&a.device, a.address) == (&b.device, b.address);
        for path in self.paths.extract_if(.., |path| !uplinks.iter().any(|uplink| is_same(uplink, &path.uplink))) {
            path.disconnect();
            changes.push(Change::Down(path));
        }
        for uplink in uplinks {
            if let Some(path) = self.paths.iter_mut().find(|path| is_same(&path.uplink, &uplink)) {
                if path.uplink.gateway != uplink.gateway {
                    path.uplink = uplink;
                    path.route()?;
                }
                continue;
            }
            let flags = Endpoint::flags_of(&self.options.endpoints, &uplink);
            if flags.fit(self.purpose)
                && let Some(path) = self.path(uplink, flags)
            {
                // An uplink that goes at this moment is gone at the next look.
                if path.connect().is_ok() {
                    changes.push(Change::Up(path.clone()));
                    self.paths.push(path);
                } else {
                    path.disconnect();
                }
            }
        }
        changes.iter().for_each(self.options.notify);
        Ok(changes)
    }

    /// Makes a new path. Its addresses are not those of a recent path, because a subflow from there may still wait for
    /// answers. `None` if all numbers are in use.
    fn path(&mut self, uplink: Uplink, flags: Flags) -> Option<Path> {
        let after_last = (u16::from(self.last)..).map(|n| (n % u16::from(MOST_NUMBER)) as u8 + 1);
        let number = after_last
            .take(usize::from(MOST_NUMBER))
            .find(|number| self.paths.iter().all(|path| path.number != *number))?;
        self.last = number;
        let interface = Interface {
            name: format!("{}{number}", self.options.device),
            ours: self.version.address(number, 2),
            machines: self.version.address(number, 1),
            mtu: self.options.mtu,
            public: matches!(self.purpose, Purpose::Listen(_)).then_some(uplink.address),
        };
        Some(Path { uplink, interface, flags, number })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.version.clean_up();
    }
}

impl Path {
    fn table(&self) -> u32 {
        FIRST_TABLE + u32::from(self.number)
    }

    fn connect(&self) -> io::Result<()> {
        self.route()?;
        Version::of(self.uplink.address).connect(self.interface.ours, self.uplink.address, self.table())
    }

    fn route(&self) -> io::Result<()> {
        Version::of(self.uplink.address).route(self.uplink.gateway, &self.uplink.device, self.table())
    }

    fn disconnect(&self) {
        Version::of(self.uplink.address).disconnect(self.interface.ours, self.uplink.address, self.table());
    }
}
