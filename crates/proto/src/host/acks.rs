//! What a host adds to when one subflow's receiver acknowledges.

use super::Host;
#[cfg(feature = "host-linux")]
use super::linux::acks::LinuxAcks;
use arrayvec::ArrayVec;
use pathweave_units::{Duration, Instant};

/// What the acknowledgement policy has to know of the rest of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// The timeout without any doubling.
    pub(crate) rto: Duration,
    pub(crate) srtt: Option<Duration>,
    /// The round trip as the receiver sees it.
    pub(crate) receiver_rtt: Option<Duration>,
    /// The peer understands SACK.
    pub(crate) sack: bool,
    /// What arrived waits for other subflows' data, not for the reader.
    pub(crate) taken: bool,
    /// There is data that a reader could read.
    pub(crate) readable: bool,
}

/// A host's rules for one subflow's acknowledgements.
#[derive(Debug)]
pub(crate) enum AckHost {
    Rfc,
    #[cfg(feature = "host-linux")]
    Linux(Box<LinuxAcks>),
}

impl AckHost {
    /// `longest_delay`: of an acknowledgement.
    pub(crate) fn new(host: &Host, longest_delay: Duration) -> Self {
        match host {
            #[cfg(feature = "host-linux")]
            Host::Linux => AckHost::Linux(Box::new(LinuxAcks::new(longest_delay))),
            #[cfg(feature = "host-mptcp-org")]
            Host::MptcpOrg => AckHost::Linux(Box::new(LinuxAcks::without_compression(longest_delay))),
            Host::Rfc => AckHost::Rfc,
        }
    }

    /// Data or a FIN has arrived, so long after the one before.
    #[inline]
    pub(crate) fn note_arrival(&mut self, gap: Duration) {
        match self {
            AckHost::Rfc => {}
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.note_arrival(gap),
        }
    }

    /// How many of the first `quick` segments are acknowledged at once where `window` would be offered for segments of
    /// `full_segment` bytes.
    pub(crate) fn quick_acks(&self, quick: u32, window: u64, full_segment: u32) -> u32 {
        match self {
            AckHost::Rfc => quick,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => LinuxAcks::quick_acks(quick, window, full_segment),
        }
    }

    /// Whether segments are acknowledged at once again, as at the start, because the one that has just arrived in order came
    /// after an idle time of more than `rto`.
    #[inline]
    pub(crate) fn starts_again(&mut self, rto: Duration, longest_delay: Duration) -> bool {
        match self {
            AckHost::Rfc => false,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.starts_again(rto, longest_delay),
        }
    }

    /// Whether the acknowledgement of a second full segment waits for the reader, who makes the window larger. A kernel's does where it would
    /// offer a smaller one than the last did (`smaller`).
    #[inline]
    pub(crate) fn waits_for_reader(&self, smaller: bool, many: bool, around: &Surroundings) -> bool {
        match self {
            AckHost::Rfc => around.readable && !many,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => smaller && !around.taken,
        }
    }

    /// Whether it waits only for a reader that reads at once, and leaves at this instant's end at the latest. A kernel's waits as long as that of a
    /// lone segment.
    #[inline]
    pub(crate) fn waits_an_instant(&self) -> bool {
        match self {
            AckHost::Rfc => true,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => false,
        }
    }

    /// Whether reading is a reason to acknowledge before the delay is over, where more than a full segment is not acknowledged
    /// (`full`) or all is read and the sender has no more for now (`over`).
    #[inline]
    pub(crate) fn answers_reading(&self, full: bool, over: bool) -> bool {
        match self {
            AckHost::Rfc => full,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => full || over,
        }
    }

    /// Whether a short segment that other subflows' data has waited for is acknowledged at once. A kernel takes it for any other
    /// segment, and its reader, who has all that waited to read, asks for the acknowledgement.
    pub(crate) fn answers_hole_of_stream(&self) -> bool {
        match self {
            AckHost::Rfc => true,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => false,
        }
    }

    /// Whether another subflow acknowledges the connection's data too, where its DATA_ACK is back sooner. A kernel's does not.
    #[inline]
    pub(crate) fn shares_data_acks(&self) -> bool {
        match self {
            AckHost::Rfc => true,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => false,
        }
    }

    /// Whether they are where something came again that had been received.
    pub(crate) fn starts_again_after_duplicate(&self) -> bool {
        match self {
            AckHost::Rfc => false,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(_) => true,
        }
    }

    /// How long a lone segment's acknowledgement waits, at most `longest`.
    #[inline]
    pub(crate) fn delay(&self, longest: Duration) -> Duration {
        match self {
            AckHost::Rfc => longest,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.delay(longest),
        }
    }

    /// A segment lies beyond a hole that begins at `hole`. Whether its acknowledgement waits, to be one with those that follow.
    //= RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order to accelerate loss recovery."
    //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
    //= RFC 9293 §3.10.7.4 (MAY-13): "A TCP implementation MAY send an ACK segment acknowledging RCV.NXT when a valid segment
    //= arrives that is in the window but not at the left window edge"
    //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
    //= RFC 5681 §3.2: "A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment arrives"
    //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
    //= RFC 5681 §4.2: "the receiver SHOULD send an immediate duplicate ACK when it receives a data segment above a gap in the
    //= sequence space"
    //= tests: delayed_ack::each_segment_beyond_a_hole_is_acknowledged_at_once
    pub(crate) fn waits_beyond_hole(&mut self, now: Instant, hole: u64, around: &Surroundings) -> bool {
        match self {
            AckHost::Rfc => false,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.waits(now, hole, around),
        }
    }

    /// The SACK blocks are about to change so that the first of `blocks` may not be reported any more.
    pub(crate) fn before_new_block(&mut self, place: usize, blocks: &ArrayVec<(u64, u64), 4>) {
        match self {
            AckHost::Rfc => {}
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.before_new_block(place, blocks),
        }
    }

    /// An acknowledgement of the segment at hand goes out at once, with the blocks as they are now.
    #[inline]
    pub(crate) fn answers_at_once(&mut self) {
        match self {
            AckHost::Rfc => {}
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.flushed = None,
        }
    }

    /// Whether what waited goes out now, as it was before the segment at hand, which waits in turn.
    pub(crate) fn flushes(&mut self, now: Instant, around: &Surroundings) -> bool {
        match self {
            AckHost::Rfc => false,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.flushes(now, around),
        }
    }

    /// The blocks to report instead of the present ones.
    pub(crate) fn flushed_blocks(&self) -> Option<&ArrayVec<(u64, u64), 4>> {
        match self {
            AckHost::Rfc => None,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.flushed.as_ref(),
        }
    }

    /// When an acknowledgement that waits because of a hole goes out; the far future where none does.
    #[inline]
    pub(crate) fn timer(&self) -> Instant {
        match self {
            AckHost::Rfc => Instant::FAR_FUTURE,
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.timer(),
        }
    }

    /// An acknowledgement goes out.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        match self {
            AckHost::Rfc => {}
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.acknowledged(),
        }
    }

    pub(crate) fn stop_timer(&mut self) {
        match self {
            AckHost::Rfc => {}
            #[cfg(feature = "host-linux")]
            AckHost::Linux(linux) => linux.compression.stop_timer(),
        }
    }
}
