//! The rules of a Linux kernel, from measurements (`docs/notes/`).

pub(super) mod acks;
mod connection;
pub(super) mod send_memory;
mod subflow;
pub(super) mod time;
mod tso;
pub(super) mod window;

use super::{HostRules, WindowSetting};
use acks::LinuxAcks;
use connection::LinuxConnection;
use pathweave_units::Duration;
use subflow::LinuxSubflow;
use time::MeanDeviation;
use window::Shares;

/// Linux 6.12.
pub(crate) struct Linux;

impl HostRules for Linux {
    type Subflow = LinuxSubflow;
    type Acks = LinuxAcks;
    type Rtt = MeanDeviation;
    type Connection = LinuxConnection;
    type Window = Shares;

    fn subflow(tunes: bool, cwnd: u32, mss: u32) -> LinuxSubflow {
        LinuxSubflow::new(tunes, cwnd, mss)
    }
    fn acks(longest_delay: Duration) -> LinuxAcks {
        LinuxAcks::new(longest_delay, true)
    }
    fn rtt() -> MeanDeviation {
        MeanDeviation::default()
    }
    fn connection(tunes: bool) -> LinuxConnection {
        LinuxConnection::new(tunes)
    }
    fn window(setting: &WindowSetting) -> Shares {
        Shares::new(setting)
    }
}
