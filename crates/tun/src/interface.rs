//! The machine's side of a TUN device, which `ip` sets up.

use std::io;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// A TUN device and the two addresses that it is between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, at most 15 letters.
    pub name: String,
    /// The engine's address.
    pub ours: IpAddr,
    /// The machine's.
    pub machines: IpAddr,
    /// The largest packet, bytes.
    pub mtu: u16,
}

impl Interface {
    /// Gives the device its address and a route to ours.
    ///
    /// # Errors
    /// Where `ip` cannot.
    pub fn configure(&self) -> io::Result<()> {
        let Interface { name, ours, machines, .. } = self;
        // Without duplicate address detection: there is nobody else, and an address is not usable while that goes on.
        let nodad = if ours.is_ipv6() { " nodad" } else { "" };
        ip(&format!("address add {machines} peer {ours} dev {name}{nodad}"))?;
        ip(&format!("link set {name} up"))
    }
}

/// Runs `ip`.
///
/// # Errors
/// What `ip` says.
pub fn ip(arguments: &str) -> io::Result<()> {
    let output = Command::new("ip").args(arguments.split_whitespace()).stdin(Stdio::null()).output();
    let output = output.map_err(|e| io::Error::new(e.kind(), format!("ip (of iproute2): {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {arguments}: {}", message.trim())))
}
