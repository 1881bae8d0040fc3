//! Host rules: decisions that the RFCs leave open, and deviations of kernels from the RFCs.
//!
//! The engine is the same on every host. It asks five kinds of rules, one trait each: `SubflowRules` (the sending half
//! of a subflow), `AckRules` (its receiving half), `RttRules` (its round trips), `ConnectionRules` (the sending half of
//! a connection) and `WindowRules` (its receiving half). The default methods are the rules of the plain host, which
//! follows the RFCs and makes the remaining decisions in the simplest way.
//!
//! A kernel has a folder or a file here, a `mod` line and an entry in `hosts!`. For each kind of rules, its
//! implementation of `HostRules` names a type and makes its values. The type is the plain host's, or one of the
//! kernel's own that overrides the methods in which the kernel differs.

#[macro_use]
mod dispatch;

/// Passes the list of all hosts, followed by further arguments, to a macro. An entry has documentation, the feature
/// that the host needs (the plain host, which is first, needs none), a variant of [`Host`], and the type that
/// implements the host's `HostRules`.
macro_rules! hosts {
    ($macro:ident!($($arguments:tt)*)) => {
        $macro! {
            [
                /// The plain host, which follows the RFCs.
                Rfc = $crate::host::rfc::Rfc;
                /// Linux 6.12. Receive windows are shares of the kernel's memory. Segments leave in bursts, and a burst
                /// may wait for the next acknowledgement. Data that the scheduler queues on another subflow while an
                /// acknowledgement is processed leaves at the end of that instant. Acknowledgements are compressed, and
                /// their delay adapts. The variance of round trips, the slack of timers and the window after an idle
                /// time are the kernel's.
                #[cfg(feature = "host-linux")]
                Linux = $crate::host::linux::Linux;
                /// The out-of-tree kernel of mptcp.org, which most papers used for their measurements.
                #[cfg(feature = "host-mptcp-org")]
                MptcpOrg = $crate::host::mptcp_org::MptcpOrg;
                /// The kernel of mptcp.org in its versions 0.86 to 0.88, with segmentation offload. A buffer of up to
                /// 64 KiB waits, for less than two clock ticks, until its subflow has room for it or for a third of the
                /// window. Meanwhile another subflow may get it.
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

/// The rules of a host, one type for each kind. For a kind in which the host does not differ from the plain host, that
/// is the type of [`rfc`].
pub(crate) trait HostRules {
    /// Rules of one subflow's sending half.
    type Subflow: SubflowRules;
    /// Rules for when one subflow's acknowledgements leave.
    type Acks: AckRules;
    /// Rules for one subflow's retransmission timeout, which follows from its round trips.
    type Rtt: RttRules;
    /// Rules of a connection's sending half.
    type Connection: ConnectionRules;
    /// Rules for the receive window that a connection offers.
    type Window: WindowRules;

    /// Makes the rules of a subflow. `tunes`: whether the send buffer grows with the congestion window. `cwnd`: the
    /// initial window, segments. `mss`: data bytes of a full segment.
    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> Self::Subflow;
    /// Makes the rules of a subflow's acknowledgements. `longest_delay`: the longest time for which one may wait.
    fn acks(longest_delay: Duration) -> Self::Acks;
    /// Makes the rules of a subflow's timeout.
    fn rtt() -> Self::Rtt;
    /// Makes the rules of a connection. `tunes`: whether the send buffer grows with the subflows' windows.
    fn connection(tunes: bool) -> Self::Connection;
    /// Makes the rules of a connection's receive window.
    fn window(setting: &WindowSetting) -> Self::Window;
}
