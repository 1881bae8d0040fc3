//! The machine's side of a TUN device, set up with the command `ip`.

use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Most steps of waiting until an address is in use.
const ADDRESS_STEPS: u32 = 1000;
const ADDRESS_STEP: Duration = Duration::from_millis(1);
/// `IFA_F_TENTATIVE` of Linux's `if_addr.h`.
const TENTATIVE: u32 = 0x40;

/// A TUN device and the addresses of its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the device, at most 15 letters.
    pub name: String,
    /// The engine's address.
    pub ours: IpAddr,
    /// The machine's address.
    pub machines: IpAddr,
    /// Size of the largest packet, bytes.
    pub mtu: u16,
    /// The address that others see in place of `ours`, if the machine translates addresses. The engine uses it as its
    /// own address, and so announces an address that others can reach.
    pub public: Option<IpAddr>,
}

impl Interface {
    /// The address that the engine uses as its own: `public` if there is one, else `ours`.
    pub fn address(&self) -> IpAddr {
        self.public.unwrap_or(self.ours)
    }

    /// Sets the device's address, and a route to `ours`. The device must be up.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn configure(&self) -> io::Result<()> {
        let Interface { name, ours, machines, .. } = self;
        // Without duplicate address detection: there is no other host, and an address is not usable during the
        // detection.
        let nodad = if ours.is_ipv6() { " nodad" } else { "" };
        ip(&format!("address add {machines} peer {ours} dev {name}{nodad}"))?;
        if let IpAddr::V6(address) = machines {
            wait_for_address(*address)?;
            ip(&format!("route replace {ours} dev {name}"))?;
        }
        Ok(())
    }
}

/// Waits until an IPv6 address is in use. The kernel checks a new address for duplicates first.
fn wait_for_address(address: Ipv6Addr) -> io::Result<()> {
    let digits: String = address.octets().iter().map(|octet| format!("{octet:02x}")).collect();
    // Address, interface, prefix, scope, flags and name of each.
    let is_usable = |line: &str| {
        let flags = line.split_whitespace().nth(4).and_then(|flags| u32::from_str_radix(flags, 16).ok());
        line.starts_with(&digits) && flags.is_some_and(|flags| flags & TENTATIVE == 0)
    };
    for _ in 0..ADDRESS_STEPS {
        if std::fs::read_to_string("/proc/thread-self/net/if_inet6")?.lines().any(is_usable) {
            return Ok(());
        }
        std::thread::sleep(ADDRESS_STEP);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("the address {address} does not come into use")))
}

/// Runs `ip` with these arguments.
///
/// # Errors
/// If `ip` fails; the error has its message.
pub fn ip(arguments: &str) -> io::Result<()> {
    let output = Command::new("ip").args(arguments.split_whitespace()).stdin(Stdio::null()).output();
    let output = output.map_err(|e| io::Error::new(e.kind(), format!("ip (of iproute2): {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {arguments}: {}", message.trim())))
}
