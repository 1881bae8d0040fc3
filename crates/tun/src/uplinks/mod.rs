//! The engine on a machine whose addresses and routes change: a path for each address from which a client can reach its server, or at which
//! clients can reach a server, as long as they can.
//!
//! A path is a TUN device between the engine at 198.18.N.2 and the machine at 198.18.N.1, from a range that no network uses (RFC 2544,
//! RFC 6890), or between such addresses of a local prefix of IPv6 that was drawn by chance (RFC 4193). The machine forwards what comes from
//! the engine's end over the uplink, under the uplink's address: a rule, a routing table and an entry of an nftables map for each path. What
//! others send to a server's port at the uplink's address, it forwards to the engine, which takes that address for its own there and announces it.
//! All of it is removed at the end, and what an earlier run left behind at the start.

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

/// Path number N has the routing table 7000 + N.
const FIRST_TABLE: u32 = 7000;
const MOST_NUMBER: u8 = 250;
const TABLES: Range<u32> = FIRST_TABLE..FIRST_TABLE + 1 + MOST_NUMBER as u32;

/// Which paths there are to be.
#[derive(Clone, Debug)]
pub struct UplinkOptions {
    /// Begin of the names of TUN devices; a number follows.
    pub device: String,
    /// The largest packet, bytes.
    pub mtu: u16,
    /// What uplinks are used for; the first that fits. Others are used: by a client for a subflow, by a server for an announcement.
    pub endpoints: Vec<Endpoint>,
    /// Is told of each change.
    pub notify: fn(&Change),
}

/// What paths are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The engine connects to this address.
    Connect(IpAddr),
    /// Others, wherever they are, connect to this port of the machine, over the IP version of this address.
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

/// What became of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// There is one more.
    Up(Path),
    /// There is one less.
    Down(Path),
}

/// A path of the engine over an uplink of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where packets leave the machine.
    pub uplink: Uplink,
    /// The device between engine and machine.
    pub interface: Interface,
    /// What it is used for.
    pub flags: Flags,
    number: u8,
}

/// Keeps paths as the machine's uplinks are.
pub struct Follower {
    options: UplinkOptions,
    purpose: Purpose,
    version: Version,
    _forwarding: Forwarding,
    netlink: Netlink,
    paths: Vec<Path>,
    /// The number of the path that came last.
    last: u8,
}

impl Follower {
    /// Prepares the machine; there is no path yet.
    ///
    /// # Errors
    /// Where the machine does not allow it, or `nft` (of nftables) is missing.
    pub fn open(options: UplinkOptions, purpose: Purpose) -> io::Result<Self> {
        let version = purpose.version();
        version.prepare(purpose)?;
        let forwarding = Forwarding::on(version)?;
        let netlink = Netlink::open()?;
        Ok(Follower { options, purpose, version, _forwarding: forwarding, netlink, paths: Vec::new(), last: 0 })
    }

    /// The paths of now, for a start: those that are no backup first, and the preferred ones of them.
    ///
    /// # Errors
    /// Where the machine cannot be asked or set up, or has no address for the purpose.
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

    /// The paths of now.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// What has changed since the last call.
    ///
    /// # Errors
    /// Where the machine cannot be asked or set up.
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

    /// A new path. It has addresses that no path had lately: a subflow from there may still wait for answers. `None`: all are in use.
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
