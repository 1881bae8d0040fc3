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
pub(crate) mod timer_wheel;
mod window;

pub(crate) use acks::{AckHost, Surroundings};
pub(crate) use connection::{ConnectionHost, Written};
pub(crate) use rtt::RttHost;
#[cfg(feature = "host-linux")]
pub(crate) use subflow::Left;
pub(crate) use subflow::{Sending, SubflowHost};
pub(crate) use window::{Arrived, Room, WindowHost, WindowSetting};

/// Whose habits an endpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// The plain host follows the RFCs.
    #[default]
    Rfc,
    /// A Linux kernel. Receive windows are shares of the kernel's memory. Segments leave in bursts, some of which wait for the
    /// next acknowledgement. What a scheduler queues on another subflow than the one that is being acknowledged waits for the
    /// end of the instant. Acknowledgements are compressed, and their delay adapts. The variance of round trips, the slack of
    /// timers and the window after an idle time are the kernel's.
    #[cfg(feature = "host-linux")]
    Linux,
    /// An mptcp.org kernel.
    #[cfg(feature = "host-mptcp-org")]
    MptcpOrg,
}
