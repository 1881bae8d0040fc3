//! What a host adds to one subflow: which segments leave together, what they take of its memory, when timers fire.

use super::Host;
#[cfg(feature = "host-linux")]
use super::linux::{
    LinuxSubflow,
    send_memory::{self, BufferSize},
    time,
    tso::Bursts,
};
#[cfg(feature = "host-mptcp-org")]
use super::mptcp_org;
use super::rfc::RfcSubflow;
use crate::congestion::Window;
use crate::send_queue::SendQueue;
use pathweave_units::{Duration, Instant};

/// What a host looks at where it decides what leaves together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending<'a> {
    pub(crate) queue: &'a SendQueue,
    /// Smallest and smoothed round-trip time.
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) srtt: Option<Duration>,
    /// Congestion window and segments in flight.
    pub(crate) cwnd: u32,
    pub(crate) in_flight: u32,
    /// Data bytes of a full segment.
    pub(crate) mss: u32,
    /// Losses are being repaired, or the window is being reduced.
    pub(crate) recovering: bool,
    pub(crate) last_sent: Option<Instant>,
    /// Bytes from the next new one on that the peer's window has room for, and that window.
    pub(crate) offered: u64,
    pub(crate) peer_window: u64,
    /// Nagle's rule holds a short segment back.
    pub(crate) nagle_holds: bool,
    pub(crate) fin_queued: bool,
    /// The stream goes on behind what is queued here.
    pub(crate) backlog: bool,
    /// Data is queued beyond the congestion window.
    pub(crate) queues: bool,
}

/// The place of a segment that leaves among those that leave together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) first: bool,
    pub(crate) last: bool,
}

/// What a host remembers of one subflow.
#[derive(Debug)]
pub(crate) enum SubflowHost {
    Rfc(RfcSubflow),
    #[cfg(feature = "host-linux")]
    Linux(Box<LinuxSubflow>),
}

impl SubflowHost {
    /// `tunes`: the send buffer grows with the window; `cwnd`: the initial window; `mss`: data bytes of a full segment.
    pub(crate) fn new(host: &Host, tunes: bool, cwnd: u32, mss: u32) -> Self {
        match host {
            #[cfg(feature = "host-linux")]
            Host::Linux => SubflowHost::Linux(Box::new(LinuxSubflow::new(tunes, cwnd, mss))),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg => SubflowHost::Linux(Box::new(LinuxSubflow::of_mptcp_org(tunes, cwnd, mss))),
            Host::Rfc => SubflowHost::Rfc(RfcSubflow::new(cwnd, mss)),
        }
    }

    /// The segment with the FIN does not wait for room in the congestion window (`tcp_cwnd_test`).
    pub(crate) fn sends_fin_beyond_window(&self) -> bool {
        self.answers_overtaken()
    }

    /// Also an acknowledgement that data may have overtaken is answered.
    pub(crate) fn answers_overtaken(&self) -> bool {
        match self {
            SubflowHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => linux.bursts.is_some(),
        }
    }

    /// How often the SYN of a new connection is repeated.
    //= RFC 9293 §3.8.3 (MUST-23): "R2 for a SYN segment MUST be set large enough to provide retransmission of the segment for at
    //= least 3 minutes"
    //= tests: handshake::a_syn_that_nobody_answers_is_given_up_after_more_than_3_minutes
    pub(crate) fn syn_repetitions(&self) -> u32 {
        match self {
            // 247 s in all.
            SubflowHost::Rfc(_) => 7,
            // 127 s: `tcp_syn_retries`.
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(_) => 6,
        }
    }

    /// A segment, data or a timer came to this subflow: what the host held back is looked at again.
    #[inline]
    pub(crate) fn look_again(&mut self) {
        match self {
            SubflowHost::Rfc(_) => {}
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                if let Some(bursts) = &mut linux.bursts {
                    bursts.look_again();
                }
            }
        }
    }

    /// Whether the next segment may leave without a question, as it does with the one before: else
    /// [`SubflowHost::begin_burst`] is asked.
    #[inline]
    pub(crate) fn is_in_burst(&self) -> bool {
        match self {
            SubflowHost::Rfc(_) => true,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => linux.bursts.as_ref().is_none_or(|bursts| !bursts.is_over()),
        }
    }

    /// Begins a burst with the first unsent segment, for which the windows have room; false where the host holds it back.
    pub(crate) fn begin_burst(&mut self, now: Instant, sending: &Sending<'_>) -> bool {
        match self {
            SubflowHost::Rfc(_) => true,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => linux.bursts.as_mut().is_none_or(|bursts| bursts.begin(now, sending)),
        }
    }

    /// A new segment leaves.
    #[inline]
    pub(crate) fn sent(&mut self) -> Left {
        match self {
            SubflowHost::Rfc(_) => Left { first: true, last: true },
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                let alone = Left { first: true, last: true };
                let left = linux.bursts.as_mut().map_or(alone, Bursts::sent);
                if let Some(memory) = linux.memory.as_mut().or(linux.share.as_mut()) {
                    memory.sent(left.last);
                }
                left
            }
        }
    }

    /// The segment that has just left ended a burst of several, which the host marks with PSH.
    #[inline]
    pub(crate) fn pushes_burst(&self) -> bool {
        match self {
            SubflowHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => linux.bursts.as_ref().is_some_and(Bursts::was_long),
        }
    }

    /// The host marks the end of what a scheduler's grant put into its buffers with PSH.
    #[inline]
    pub(crate) fn pushes_grants(&self) -> bool {
        match self {
            SubflowHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => linux.memory.is_some(),
        }
    }

    /// Sending begins again after an idle time of more than a timeout. `least`: the smaller of the initial and the present window;
    /// `queue` is what waits, `queues` says that it may be more than the window.
    //= RFC 5681 §4.1: "TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not sent data in an
    //= interval exceeding the retransmission timeout."
    //= tests: penalisation::the_window_restarts_after_an_idle_time_where_that_is_asked_for
    pub(crate) fn restart(
        &self,
        window: &mut Window,
        least: u32,
        (idle, rto): (Duration, Duration),
        queue: &SendQueue,
        queues: bool,
    ) {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.idle_time_halves => {
                let buffers = if queues { queue.unsent_buffers() } else { 1 };
                time::halve(window, least, (idle, rto), buffers);
            }
            _ => window.cwnd = least,
        }
    }

    /// Whether an acknowledgement lets the window grow, of which `in_flight` segments were out when it came; `limited`: the window
    /// is, or lately was, what limits sending.
    #[inline]
    pub(crate) fn lets_grow(&self, cwnd: u32, in_flight: u32, limited: bool) -> bool {
        match self {
            #[cfg(feature = "host-mptcp-org")]
            SubflowHost::Linux(linux) if linux.old_growth => mptcp_org::grows(cwnd, in_flight),
            _ => limited,
        }
    }

    /// Added to the timers of RFC 8985.
    #[inline]
    pub(crate) fn timer_slack(&self) -> Duration {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.bursts.is_some() => time::SLACK,
            _ => Duration::ZERO,
        }
    }

    /// The handshake has settled the data bytes of a full segment, without Multipath TCP's options.
    pub(crate) fn set_plain_mss(&mut self, bytes: u32) {
        match self {
            SubflowHost::Rfc(rfc) => rfc.set_mss(bytes),
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                linux.plain.set_mss(bytes);
                if let Some(bursts) = &mut linux.bursts {
                    bursts.pacing.set_plain_mss(bytes);
                }
            }
        }
    }

    /// An acknowledgement was taken, or the handshake has ended.
    #[inline]
    pub(crate) fn update_pacing(&mut self, cwnd: u32, ssthresh: u32, packets_out: u32, srtt: Option<Duration>) {
        match self {
            SubflowHost::Rfc(rfc) => rfc.update_pacing(cwnd, srtt),
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => match &mut linux.bursts {
                Some(bursts) => bursts.pacing.update(cwnd, ssthresh, packets_out, srtt),
                None => linux.plain.update_pacing(cwnd, srtt),
            },
        }
    }

    /// Bytes per second; 0 before the first round trip was measured.
    #[inline]
    pub(crate) fn pacing_rate(&self) -> f64 {
        match self {
            SubflowHost::Rfc(rfc) => rfc.pacing_rate(),
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => match &linux.bursts {
                Some(bursts) => bursts.pacing.bytes_per_second(),
                None => linux.plain.pacing_rate(),
            },
        }
    }

    /// An acknowledgement of something new was taken, after which the congestion window is `cwnd`.
    #[inline]
    pub(crate) fn acknowledged(&mut self, cwnd: u32) {
        match self {
            SubflowHost::Rfc(rfc) => rfc.acknowledged(cwnd),
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                match &mut linux.memory {
                    Some(memory) => memory.acknowledged(cwnd),
                    None => linux.plain.acknowledged(cwnd),
                }
                if let Some(share) = &mut linux.share {
                    share.acknowledged(cwnd);
                }
            }
        }
    }

    /// The send buffer may have become too small for the window, where a writer waits for room. `idle`: nothing more goes out
    /// now. Says whether it grew.
    #[inline]
    pub(crate) fn grow_send_buffer(&mut self, writer_waits: bool, idle: bool, cwnd: u32, in_flight: u32) -> bool {
        match self {
            SubflowHost::Rfc(_) => false,
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                let memory = linux.memory.as_mut().or(linux.share.as_mut());
                memory.is_some_and(|memory| memory.grow(writer_waits, idle, cwnd, in_flight))
            }
        }
    }

    /// The application has set the size of the send buffer.
    pub(crate) fn fix_send_buffer(&mut self) {
        match self {
            SubflowHost::Rfc(_) => {}
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => {
                if let Some(memory) = linux.memory.as_mut().or(linux.share.as_mut()) {
                    memory.fix();
                }
            }
        }
    }

    /// How much of its memory the host gives this subflow for what is queued, at most `max` bytes.
    #[inline]
    pub(crate) fn send_buffer(&self, max: u64) -> u64 {
        match self {
            SubflowHost::Rfc(rfc) => rfc.send_buffer(max),
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) => match &linux.memory {
                Some(memory) => memory.limit(max),
                None => linux.plain.send_buffer(max),
            },
        }
    }

    /// What it adds to the connection's send buffer, where that follows the subflows' windows, at most `max` bytes.
    #[inline]
    pub(crate) fn share_of_send_buffer(&self, max: u64) -> u64 {
        match self {
            #[cfg(feature = "host-mptcp-org")]
            SubflowHost::Linux(linux) if let Some(share) = &linux.share => share.limit(u64::MAX),
            _ => self.send_buffer(max),
        }
    }

    /// What `queue` takes of it.
    #[inline]
    pub(crate) fn memory(&self, queue: &SendQueue) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.memory.is_some() => send_memory::queued(queue),
            _ => queue.queued_bytes(),
        }
    }

    /// What `queue` takes of it once `bytes` more are queued, which go on where its last segment ends, or not.
    pub(crate) fn memory_with(&self, queue: &SendQueue, goes_on: bool, bytes: u64, mss: u32, peer_window: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.memory.is_some() => {
                BufferSize::new(mss, peer_window).memory_with(queue, goes_on, bytes)
            }
            _ => queue.queued_bytes() + bytes,
        }
    }

    /// What `bytes` that are not queued yet take of it.
    pub(crate) fn memory_of(&self, bytes: u64, mss: u32, peer_window: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.memory.is_some() => BufferSize::new(mss, peer_window).memory_of(bytes),
            _ => bytes,
        }
    }

    /// How much a writer adds to `unassigned` bytes where `free` bytes of memory are left: each buffer begun is filled.
    pub(crate) fn fills(&self, unassigned: u64, free: u64, mss: u32, peer_window: u64) -> u64 {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.memory.is_some() => {
                BufferSize::new(mss, peer_window).fills(unassigned, free)
            }
            _ => free,
        }
    }

    /// Segments of `mss` bytes that share a buffer, where the peer has offered at most `peer_window`.
    #[inline]
    pub(crate) fn buffer_segments(&self, mss: u32, peer_window: u64) -> u32 {
        match self {
            #[cfg(feature = "host-linux")]
            SubflowHost::Linux(linux) if linux.memory.is_some() => BufferSize::new(mss, peer_window).segments(),
            _ => 1,
        }
    }
}
