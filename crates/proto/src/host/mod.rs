//! What a host does beyond what the RFCs ask for.
//!
//! The engine is the same on every host. A kernel adds habits of its own: how it counts memory, when it looks at its timers,
//! which segments leave together. They stand here, one folder for each host, and the engine asks them through [`Host`] (the
//! settings) and [`HostState`] (what a host remembers of one connection).

pub mod linux;
mod subflow;

pub(crate) use subflow::{Sending, SubflowHost};

use linux::LinuxHost;
use linux::fragments::Fragments;
use linux::memory::KernelBuffers;
use linux::push::Delegation;
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

    /// Windows and the memory behind them are the kernel's.
    #[inline]
    pub(crate) fn has_kernel_windows(&self) -> bool {
        self.linux().is_some_and(|linux| linux.kernel_windows)
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

/// What a host remembers of one connection.
#[derive(Default)]
pub(crate) struct HostState {
    /// Where a kernel's send buffer has its fragments.
    pub(crate) fragments: Fragments,
    /// The memory that a kernel counts for what was received.
    pub(crate) received: KernelBuffers,
    /// The subflows that push at the end of the instant.
    pub(crate) delegation: Delegation,
    /// A writer that found no room looks again once what there was has been sent.
    pub(crate) writer_looks_again: bool,
}
