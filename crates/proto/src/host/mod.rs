//! What a host decides where the RFCs leave a choice, and what kernels do otherwise.
//!
//! The engine is the same on every host. It asks five kinds of rules, each of which is a trait: `SubflowRules` (the sending
//! half of a subflow), `AckRules` (its receiving half), `RttRules` (its round trips), `ConnectionRules` (the sending half of
//! a connection) and `WindowRules` (its receiving half). The default methods are the rules of the plain host, which follows
//! the RFCs and decides the rest as simply as it can be decided.
//!
//! A kernel is a folder here, a `mod` line and a line in `hosts!`. Its `HostRules` say which type has its rules of each kind;
//! that type overrides what the kernel does otherwise.

#[macro_use]
mod dispatch;

/// All hosts: passes the list, after which come its other arguments, to a macro. Each line has the variant of [`Host`] and
/// the type whose `HostRules` it follows. The first one is the plain host.
macro_rules! hosts {
    ($macro:ident!($($arguments:tt)*)) => {
        $macro! {
            [
                /// The plain host follows the RFCs.
                Rfc = $crate::host::rfc::Rfc;
                /// A Linux kernel. Receive windows are shares of the kernel's memory. Segments leave in bursts, some of which
                /// wait for the next acknowledgement. What a scheduler queues on another subflow than the one that is being
                /// acknowledged waits for the end of the instant. Acknowledgements are compressed, and their delay adapts. The
                /// variance of round trips, the slack of timers and the window after an idle time are the kernel's.
                #[cfg(feature = "host-linux")]
                Linux = $crate::host::linux::Linux;
                /// The out-of-tree kernel of mptcp.org, with which most papers measured.
                #[cfg(feature = "host-mptcp-org")]
                MptcpOrg = $crate::host::mptcp_org::MptcpOrg;
            ],
            $($arguments)*
        }
    };
}

mod acks;
mod connection;
#[cfg(feature = "host-linux")]
mod linux;
#[cfg(feature = "host-mptcp-org")]
mod mptcp_org;
mod rfc;
mod rtt;
mod subflow;
pub(crate) mod timer_wheel;
mod unblocking;
mod window;

pub(crate) use acks::{AckHost, Surroundings};
pub(crate) use connection::{ConnectionHost, Written};
pub(crate) use rtt::RttHost;
pub(crate) use subflow::{Sending, SubflowHost};
pub(crate) use unblocking::{Carrier, Penalty, Remedy};
pub(crate) use window::{Arrived, Room, WindowHost, WindowSetting};

use acks::AckRules;
use connection::ConnectionRules;
use pathweave_units::Duration;
use rtt::RttRules;
use subflow::SubflowRules;
use window::WindowRules;

macro_rules! variants_of_host {
    (
        [
            $(#[doc = $about_plain:literal])* $plain:ident = $_0:path;
            $($(#[doc = $about:literal])* #[cfg($($when:tt)*)] $host:ident = $_1:path;)*
        ],
    ) => {
        /// Which host's rules a connection follows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Host {
            $(#[doc = $about_plain])*
            #[default]
            $plain,
            $($(#[doc = $about])* #[cfg($($when)*)] $host,)*
        }
    };
}
hosts!(variants_of_host!());

/// The rules that a host follows: a type for each kind. A host that has none of its own of a kind takes those of [`rfc`].
pub(crate) trait HostRules {
    /// The rules of one subflow that sends.
    type Subflow: SubflowRules;
    /// When one subflow acknowledges.
    type Acks: AckRules;
    /// How one subflow's round trips make its timeout.
    type Rtt: RttRules;
    /// The rules of a connection that sends.
    type Connection: ConnectionRules;
    /// How a connection makes the window that it offers.
    type Window: WindowRules;

    /// `tunes`: the send buffer grows with the congestion window; `cwnd`: the initial window; `mss`: data bytes of a full
    /// segment.
    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> Self::Subflow;
    /// `longest_delay`: of an acknowledgement.
    fn acks(longest_delay: Duration) -> Self::Acks;
    fn rtt() -> Self::Rtt;
    /// `tunes`: the send buffer grows with the subflows' windows.
    fn connection(tunes: bool) -> Self::Connection;
    fn window(setting: &WindowSetting) -> Self::Window;
}
