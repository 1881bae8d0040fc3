//! A Linux kernel, as measured (`docs/notes/`).

pub(crate) mod acks;
mod connection;
pub(crate) mod send_memory;
pub(crate) mod time;
pub(crate) mod tso;
pub(crate) mod window;

pub(crate) use connection::LinuxConnection;

use super::rfc::RfcSubflow;
use pathweave_units::Duration;
use send_memory::SendMemory;
use tso::Bursts;

/// Which of a Linux kernel's habits a host has. Each of them can be had alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxHost {
    /// All habits that have no setting of their own. Receive windows are shares of the kernel's memory. Segments leave in bursts,
    /// of which some wait for the next acknowledgement, and what a scheduler queues on another subflow than the one that is
    /// being acknowledged waits for the end of the instant. Acknowledgements are compressed, their delay adapts; the variance
    /// of round trips, the slack of timers and the window after an idle time are the kernel's.
    pub other_habits: bool,
    /// The send buffer follows the subflows' windows, up to `send_buffer`, and its memory is counted as the kernel counts it.
    pub send_buffer_tuning: bool,
    /// The step of the clock that timers run on; zero: timers are exact.
    pub timer_tick: Duration,
}

impl LinuxHost {
    /// A host that has none of them, as [`Host::Rfc`](super::Host::Rfc).
    pub const NO_HABIT: LinuxHost =
        LinuxHost { other_habits: false, send_buffer_tuning: false, timer_tick: Duration::ZERO };
}

impl Default for LinuxHost {
    /// All of them, and a clock of 1000 ticks a second.
    fn default() -> Self {
        LinuxHost { other_habits: true, send_buffer_tuning: true, timer_tick: Duration::from_millis(1) }
    }
}

/// What the kernel remembers of one subflow.
#[derive(Debug)]
pub(crate) struct LinuxSubflow {
    pub(crate) timer_tick: Duration,
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
    /// `cwnd`: the initial window; `mss`: data bytes of a full segment.
    pub(crate) fn new(host: &LinuxHost, cwnd: u32, mss: u32) -> Self {
        let counts_memory = host.other_habits || host.send_buffer_tuning;
        LinuxSubflow {
            timer_tick: host.timer_tick,
            bursts: host.other_habits.then(|| Bursts::new(mss)),
            memory: counts_memory.then(|| SendMemory::new(host.send_buffer_tuning, cwnd)),
            plain: RfcSubflow::new(cwnd, mss),
            share: None,
            idle_time_halves: host.other_habits,
            old_growth: false,
        }
    }

    /// The habits that an mptcp.org kernel's subflow has in common with it.
    #[cfg(feature = "host-mptcp-org")]
    pub(crate) fn of_mptcp_org(host: &super::mptcp_org::MptcpOrgHost, cwnd: u32, mss: u32) -> Self {
        LinuxSubflow {
            timer_tick: host.timer_tick,
            bursts: None,
            memory: None,
            plain: RfcSubflow::new(cwnd, mss),
            share: host.send_buffer_tuning.then(|| SendMemory::new(true, cwnd)),
            idle_time_halves: true,
            old_growth: true,
        }
    }
}
