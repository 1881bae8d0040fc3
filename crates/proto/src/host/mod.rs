//! Host rules: decisions that the RFCs leave open, and deviations of kernels from the RFCs.
//!
//! The engine is the same on every host. It asks five kinds of rules, one trait each: `SubflowRules` (the sending half
//! of a subflow), `AckRules` (its receiving half), `RttRules` (its round trips), `ConnectionRules` (the sending half of
//! a connection) and `WindowRules` (its receiving half). The default methods are the rules of the plain host, which
//! follows the RFCs and makes the remaining decisions in the simplest way.
//!
//! A kernel has a folder or a file here, a `mod` line and a line in `hosts!`. Its `HostRules` names and makes one type
//! for each kind of rules: the plain host's type, or one of its own, which overrides the methods in which the kernel
//! differs.

#[macro_use]
mod dispatch;

/// Passes the list of all hosts, followed by further arguments, to a macro. Each line has a variant of [`Host`] and the
/// type that implements its `HostRules`. The first line is the plain host. The others have one or more lines of
/// documentation, then the feature that they need.
macro_rules! hosts {
    ($macro:ident!($($arguments:tt)*)) => {
        $macro! {
            [
                /// The plain host follows the RFCs.
                Rfc = $crate::host::rfc::Rfc;
                /// A Linux kernel. Receive windows are shares of the kernel's memory. Segments leave in bursts, and a
                /// burst may wait for the next acknowledgement. While an acknowledgement is processed, data that the
                /// scheduler queues on another subflow waits until the end of the instant. Acknowledgements are
                /// compressed, and their delay adapts. The variance of round trips, the slack of timers and the window
                /// after an idle time are the kernel's.
                #[cfg(feature = "host-linux")]
                Linux = $crate::host::linux::Linux;
                /// The out-of-tree kernel of mptcp.org, which most papers used for their measurements.
                #[cfg(feature = "host-mptcp-org")]
                MptcpOrg = $crate::host::mptcp_org::MptcpOrg;
                /// The kernel of mptcp.org in its versions 0.86 to 0.88, with segmentation offload. Data waits for a larger part of its subflow's
                /// window, and meanwhile another subflow may get it.
                #[cfg(feature = "host-mptcp-org")]
                Mptcp088 = $crate::host::mptcp_org::Mptcp088;
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
pub(crate) use connection::{ConnectionHost, Picked, Written};
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

/// The rules of a host, one type for each kind. For a kind in which a host does not differ, it names the type of
/// [`rfc`].
pub(crate) trait HostRules {
    /// Rules of one subflow's sending half.
    type Subflow: SubflowRules;
    /// Rules for the time of one subflow's acknowledgements.
    type Acks: AckRules;
    /// Rules that derive one subflow's timeout from its round trips.
    type Rtt: RttRules;
    /// Rules of a connection's sending half.
    type Connection: ConnectionRules;
    /// Rules for the receive window that a connection offers.
    type Window: WindowRules;

    /// `tunes`: the send buffer grows with the congestion window; `cwnd`: the initial window; `mss`: data bytes of a full
    /// segment.
    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> Self::Subflow;
    /// `longest_delay`: the longest time for which an acknowledgement may wait.
    fn acks(longest_delay: Duration) -> Self::Acks;
    fn rtt() -> Self::Rtt;
    /// `tunes`: the send buffer grows with the subflows' windows.
    fn connection(tunes: bool) -> Self::Connection;
    fn window(setting: &WindowSetting) -> Self::Window;
}
