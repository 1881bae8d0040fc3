//! The kernel's rules for one subflow's sending half: segments leave in bursts, and queued data takes memory.

use super::send_memory::{self, BufferSize, SendMemory};
use super::time;
use super::tso::Bursts;
use crate::congestion::Window;
use crate::host::Sending;
use crate::host::subflow::{Left, SubflowRules};
use crate::send_queue::SendQueue;
use pathweave_units::{Duration, Instant};

/// State of one subflow's sending half.
#[derive(Debug)]
pub(crate) struct LinuxSubflow {
    bursts: Bursts,
    memory: SendMemory,
}

impl LinuxSubflow {
    /// See [`HostRules::subflow`](crate::host::HostRules::subflow).
    pub(super) fn new(tunes: bool, cwnd: u32, mss: u32) -> Self {
        LinuxSubflow { bursts: Bursts::new(mss), memory: SendMemory::new(tunes, cwnd) }
    }
}

impl SubflowRules for LinuxSubflow {
    fn set_plain_mss(&mut self, bytes: u32) {
        self.bursts.pacing.set_plain_mss(bytes);
    }

    fn update_pacing(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>) {
        self.bursts.pacing.update(cwnd, ssthresh, packets_out, srtt);
    }

    fn pacing_rate(&self) -> f64 {
        self.bursts.pacing.bytes_per_second()
    }

    fn acknowledged(&mut self, cwnd: u32) {
        self.memory.acknowledged(cwnd);
    }

    fn send_buffer(&self, max: u64) -> u64 {
        self.memory.limit(max)
    }

    fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
        self.memory.grow(writer_waits, idle, cwnd, in_flight)
    }

    fn fix_send_buffer(&mut self) {
        self.memory.fix();
    }

    fn memory(&self, queue: &SendQueue) -> u64 {
        send_memory::queued(queue)
    }

    fn memory_with(&self, queue: &SendQueue, goes_on: bool, bytes: u64, mss: u32, peer_window: u64) -> u64 {
        BufferSize::new(mss, peer_window).memory_with(queue, goes_on, bytes)
    }

    fn memory_of(&self, bytes: u64, mss: u32, peer_window: u64) -> u64 {
        BufferSize::new(mss, peer_window).memory_of(bytes)
    }

    /// A writer fills each buffer that it begins.
    fn fills(&self, unassigned: u64, free: u64, mss: u32, peer_window: u64) -> u64 {
        BufferSize::new(mss, peer_window).fills(unassigned, free)
    }

    fn buffer_segments(&self, mss: u32, peer_window: u64) -> u32 {
        BufferSize::new(mss, peer_window).segments()
    }

    fn look_again(&mut self) {
        self.bursts.look_again();
    }

    fn is_in_burst(&self) -> bool {
        !self.bursts.is_over()
    }

    fn begin_burst(&mut self, now: Instant, sending: &Sending<'_>) -> bool {
        self.bursts.begin(now, sending)
    }

    fn sent(&mut self) -> Left {
        let left = self.bursts.sent();
        self.memory.sent(left.last);
        left
    }

    fn pushes_burst(&self) -> bool {
        self.bursts.was_long()
    }

    fn pushes_grants(&self) -> bool {
        true
    }

    /// `tcp_cwnd_test`.
    fn sends_fin_beyond_window(&self) -> bool {
        true
    }

    fn answers_overtaken(&self) -> bool {
        true
    }

    /// `tcp_syn_retries`: 127 s.
    fn syn_repetitions(&self) -> u32 {
        time::SYN_REPETITIONS
    }

    /// The window halves once for each timeout in the idle time. The kernel repeats this for each buffer that is queued
    /// while nothing is in flight.
    fn restart(&self, window: &mut Window, least: u32, idle: Duration, rto: Duration, queue: &SendQueue, queues: bool) {
        let buffers = if queues { queue.unsent_buffers() } else { 1 };
        time::halve(window, least, (idle, rto), buffers);
    }

    /// `tcp_may_update_window`, `ack_update_msk` (`docs/notes/linux-6.12-shared-window.md`).
    fn takes_window_of_repetition(&self) -> bool {
        false
    }

    /// `tcp_clean_rtx_queue` (`docs/notes/linux-6.12-timers.md`).
    fn restarts_timeout_at_old_sacks(&self) -> bool {
        true
    }

    fn timer_slack(&self) -> Duration {
        time::SLACK
    }
}
