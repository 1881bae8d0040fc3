//! What a host does beyond what the RFCs ask for.
//!
//! The engine is the same on every host. A kernel adds habits of its own: how it counts memory, when it looks at its timers,
//! which segments leave together. They stand here, one folder for each host, and the engine asks them at few places:
//! [`Host`] is the setting, `SubflowHost` and `AckHost` are asked by a subflow that sends and by one that receives,
//! `ConnectionHost` by the sending and `WindowHost` by the receiving half of a connection. Each of the four is an enum with one
//! variant for each host.

// What only a host asks for is left over without that host.
#![cfg_attr(not(all(feature = "host-linux", feature = "host-mptcp-org")), allow(dead_code, unused_variables))]

mod acks;
mod connection;
#[cfg(feature = "host-linux")]
pub mod linux;
#[cfg(feature = "host-mptcp-org")]
pub mod mptcp_org;
mod rfc;
mod rtt;
mod subflow;
mod window;

pub(crate) use acks::{AckHost, Surroundings};
pub(crate) use connection::{ConnectionHost, Written};
pub(crate) use rtt::RttHost;
#[cfg(feature = "host-linux")]
pub(crate) use subflow::Left;
pub(crate) use subflow::{Sending, SubflowHost};
pub(crate) use window::{Arrived, Room, WindowHost, WindowSetting};

#[cfg(feature = "host-linux")]
use linux::LinuxHost;
#[cfg(feature = "host-mptcp-org")]
use mptcp_org::MptcpOrgHost;
use pathweave_units::{Duration, Instant};

/// Whose habits an endpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// Nobody's: what the RFCs say.
    #[default]
    Rfc,
    /// A Linux kernel's.
    #[cfg(feature = "host-linux")]
    Linux(LinuxHost),
    /// An mptcp.org kernel's.
    #[cfg(feature = "host-mptcp-org")]
    MptcpOrg(MptcpOrgHost),
}

impl Host {
    /// The send buffer follows the subflows' windows, and its memory is counted.
    #[inline]
    pub fn tunes_send_buffer(&self) -> bool {
        match self {
            #[cfg(feature = "host-linux")]
            Host::Linux(linux) => linux.send_buffer_tuning,
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg(org) => org.send_buffer_tuning,
            _ => false,
        }
    }

    /// When a timer fires that is set now for `wait`.
    #[inline]
    pub(crate) fn expiry(&self, now: Instant, wait: Duration) -> Instant {
        match self {
            #[cfg(feature = "host-linux")]
            Host::Linux(linux) => linux::time::expiry(linux.timer_tick, now, wait),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg(org) => linux::time::expiry(org.timer_tick, now, wait),
            _ => now + wait,
        }
    }
}
