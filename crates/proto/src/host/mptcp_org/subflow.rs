//! The rules of mptcp.org's kernel for one subflow's sending half. The size of the queue and the pacing rate are those
//! of the plain host.

use crate::congestion::Window;
use crate::host::linux::send_memory::SendMemory;
use crate::host::linux::time;
use crate::host::rfc::RfcSubflow;
use crate::host::subflow::{Left, SubflowRules};
use crate::send_queue::SendQueue;
use pathweave_units::Duration;

/// State of one subflow's sending half.
#[derive(Debug)]
pub(crate) struct MptcpOrgSubflow {
    plain: RfcSubflow,
    /// The subflow's share of the connection's send buffer, if the buffer grows. The share does not bound the subflow's
    /// queue.
    share: Option<SendMemory>,
}

impl MptcpOrgSubflow {
    /// See [`HostRules::subflow`](crate::host::HostRules::subflow).
    pub(super) fn new(tunes: bool, cwnd: u32, mss: u32) -> Self {
        MptcpOrgSubflow { plain: RfcSubflow::new(cwnd, mss), share: tunes.then(|| SendMemory::new(true, cwnd)) }
    }
}

impl SubflowRules for MptcpOrgSubflow {
    fn set_plain_mss(&mut self, bytes: u32) {
        self.plain.set_plain_mss(bytes);
    }

    fn update_pacing(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>) {
        self.plain.update_pacing(cwnd, ssthresh, packets_out, srtt);
    }

    fn pacing_rate(&self) -> f64 {
        self.plain.pacing_rate()
    }

    fn acknowledged(&mut self, cwnd: u32) {
        self.plain.acknowledged(cwnd);
        if let Some(share) = &mut self.share {
            share.acknowledged(cwnd);
        }
    }

    fn send_buffer(&self, max: u64) -> u64 {
        self.plain.send_buffer(max)
    }

    fn share_of_send_buffer(&self, max: u64) -> u64 {
        self.share.as_ref().map_or_else(|| self.send_buffer(max), |share| share.limit(u64::MAX))
    }

    fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
        self.share.as_mut().is_some_and(|share| share.grow(writer_waits, idle, cwnd, in_flight))
    }

    fn fix_send_buffer(&mut self) {
        self.share = None;
    }

    fn sent(&mut self) -> Left {
        if let Some(share) = &mut self.share {
            share.sent(Left::ALONE.last);
        }
        Left::ALONE
    }

    /// `tcp_syn_retries`.
    fn syn_repetitions(&self) -> u32 {
        time::SYN_REPETITIONS
    }

    /// The same rule as in today's Linux.
    fn restart(&self, window: &mut Window, least: u32, idle: Duration, rto: Duration, queue: &SendQueue, queues: bool) {
        let buffers = if queues { queue.unsent_buffers() } else { 1 };
        time::halve(window, least, (idle, rto), buffers);
    }

    /// The window grows if all but three of its segments were in flight (`tcp_is_cwnd_limited` before Linux 3.16,
    /// without segmentation offload).
    fn lets_grow(&self, cwnd: u32, in_flight: u32, _limited: bool) -> bool {
        in_flight + 3 >= cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_that_was_used_but_for_three_segments() {
        let subflow = MptcpOrgSubflow::new(false, 10, 1424);
        let grows = |cwnd, in_flight| subflow.lets_grow(cwnd, in_flight, false);
        assert!(grows(10, 10) && grows(10, 7));
        assert!(!grows(10, 6));
        assert!(grows(2, 0));
    }
}
