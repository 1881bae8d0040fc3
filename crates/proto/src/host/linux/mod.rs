//! A Linux kernel, as measured (`docs/notes/`).

pub(crate) mod acks;
mod connection;
pub(crate) mod send_memory;
pub(crate) mod time;
pub(crate) mod tso;
pub(crate) mod window;

pub(crate) use connection::LinuxConnection;

use super::HostRules;
use super::WindowSetting;
use super::rfc::RfcSubflow;
use acks::LinuxAcks;
use pathweave_units::Duration;
use send_memory::SendMemory;
use time::MeanDeviation;
use tso::Bursts;
use window::Shares;

/// Linux 6.12.
pub(crate) struct Linux;

impl HostRules for Linux {
    type Acks = LinuxAcks;
    type Rtt = MeanDeviation;
    type Window = Shares;

    fn acks(longest_delay: Duration) -> LinuxAcks {
        LinuxAcks::new(longest_delay, true)
    }
    fn rtt() -> MeanDeviation {
        MeanDeviation::default()
    }
    fn window(setting: &WindowSetting) -> Shares {
        Shares::new(setting)
    }
}

/// What the kernel remembers of one subflow.
#[derive(Debug)]
pub(crate) struct LinuxSubflow {
    /// Without: each segment leaves when it may, and timers are the plain host's.
    pub(crate) bursts: Option<Bursts>,
    /// Without: data is counted, and not its memory.
    pub(crate) memory: Option<SendMemory>,
    /// What takes the place of habits that the host does not have.
    pub(crate) plain: RfcSubflow,
    /// A send buffer that bounds the connection's only, and not what may be queued here.
    pub(crate) share: Option<SendMemory>,
    /// An idle time halves the window for each timeout in it. Without: the plain host's rule.
    pub(crate) idle_time_halves: bool,
    /// Windows grow as before Linux 3.16.
    pub(crate) old_growth: bool,
}

impl LinuxSubflow {
    /// `tunes`: the send buffer grows with the window; `cwnd`: the initial window; `mss`: data bytes of a full segment.
    pub(crate) fn new(tunes: bool, cwnd: u32, mss: u32) -> Self {
        LinuxSubflow {
            bursts: Some(Bursts::new(mss)),
            memory: Some(SendMemory::new(tunes, cwnd)),
            plain: RfcSubflow::new(cwnd, mss),
            share: None,
            idle_time_halves: true,
            old_growth: false,
        }
    }

    /// The habits that an mptcp.org kernel's subflow has in common with it.
    #[cfg(feature = "host-mptcp-org")]
    pub(crate) fn of_mptcp_org(tunes: bool, cwnd: u32, mss: u32) -> Self {
        LinuxSubflow {
            bursts: None,
            memory: None,
            plain: RfcSubflow::new(cwnd, mss),
            share: tunes.then(|| SendMemory::new(true, cwnd)),
            idle_time_halves: true,
            old_growth: true,
        }
    }
}
