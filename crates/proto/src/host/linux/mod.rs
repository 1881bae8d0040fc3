//! A Linux kernel, as measured (`docs/notes/`).

mod connection;
mod fragments;
mod memory;
mod pacing;
mod push;
pub(crate) mod send_memory;
mod tso;
pub(crate) mod wheel;
pub(crate) mod window;

pub(crate) use connection::LinuxConnection;

use pacing::PacingRate;
use pathweave_units::Duration;
use send_memory::SendMemory;
use tso::Bursts;

/// Which of a Linux kernel's habits a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxHost {
    /// Receive windows are shares of the kernel's memory, and what a scheduler queues on another subflow than the one that
    /// is being acknowledged waits for the end of the instant.
    pub kernel_windows: bool,
    /// The send buffer follows the subflows' windows, up to `send_buffer`, and its memory is counted as the kernel counts it.
    pub send_buffer_tuning: bool,
    /// The step of the clock that timers run on; zero: timers are exact.
    pub timer_tick: Duration,
}

impl LinuxHost {
    /// A host whose only habits are those that are always there: bursts of segments, the size of a subflow's queue, and a first
    /// window of about half the receive buffer.
    pub const NO_HABIT: LinuxHost =
        LinuxHost { kernel_windows: false, send_buffer_tuning: false, timer_tick: Duration::ZERO };
}

impl Default for LinuxHost {
    /// All of them, and a clock of 1000 ticks a second.
    fn default() -> Self {
        LinuxHost { kernel_windows: true, send_buffer_tuning: true, timer_tick: Duration::from_millis(1) }
    }
}

/// What the kernel remembers of one subflow.
#[derive(Debug)]
pub(crate) struct LinuxSubflow {
    pub(crate) timer_tick: Duration,
    pub(crate) bursts: Bursts,
    pub(crate) memory: SendMemory,
    pub(crate) pacing: PacingRate,
}

impl LinuxSubflow {
    /// `cwnd`: the initial window; `mss`: data bytes of a full segment.
    pub(crate) fn new(host: &LinuxHost, cwnd: u32, mss: u32) -> Self {
        LinuxSubflow {
            timer_tick: host.timer_tick,
            bursts: Bursts::default(),
            memory: SendMemory::new(host.send_buffer_tuning, cwnd),
            pacing: PacingRate::new(mss),
        }
    }
}
