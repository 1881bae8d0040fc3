//! What a host does beyond what the RFCs ask for.
//!
//! The engine is the same on every host. A kernel adds habits of its own: how it counts memory, when it looks at its timers,
//! which segments leave together. They stand here, one folder for each host, and the engine asks them at few places:
//! [`Host`] is the setting, [`SubflowHost`] is asked by a subflow, [`ConnectionHost`] by the sending and [`WindowHost`] by the
//! receiving half of a connection. Each of the three is an enum with one variant for each host.

mod connection;
pub mod linux;
mod subflow;
mod window;

pub(crate) use connection::{ConnectionHost, Written};
pub(crate) use subflow::{Sending, SubflowHost};
pub(crate) use window::{Arrived, WindowHost, WindowSetting};

use linux::LinuxHost;
use pathweave_units::{Duration, Instant};

/// Whose habits an endpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// Nobody's: what the RFCs say.
    #[default]
    Rfc,
    /// A Linux kernel's.
    Linux(LinuxHost),
}

impl Host {
    /// The settings of a Linux host, where it is one.
    fn linux(&self) -> Option<&LinuxHost> {
        match self {
            Host::Rfc => None,
            Host::Linux(linux) => Some(linux),
        }
    }

    /// The send buffer follows the subflows' windows, and its memory is counted.
    #[inline]
    pub fn tunes_send_buffer(&self) -> bool {
        self.linux().is_some_and(|linux| linux.send_buffer_tuning)
    }

    /// When a timer fires that is set now for `wait`.
    #[inline]
    pub(crate) fn expiry(&self, now: Instant, wait: Duration) -> Instant {
        match self {
            Host::Rfc => now + wait,
            Host::Linux(linux) => linux::wheel::expiry(linux.timer_tick, now, wait),
        }
    }
}
