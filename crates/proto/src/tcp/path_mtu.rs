//! The largest segment that the path takes (RFC 1191, RFC 8201, RFC 4821).
//!
//! A router's message is believed if it quotes a segment of ours that is in flight and larger than the router's MTU. If
//! segments that large have arrived before, the message is believed only after a retransmission timeout without an
//! acknowledgement of the quoted segment (RFC 5927 §7.2). A believed MTU is never below the least MTU of the address
//! family.
//!
//! If no message comes, a black hole is found by trying (RFC 4821 §7.7): after [`SILENT_TIMEOUTS`] timeouts in a row,
//! or twice as many if segments that large have arrived before, the first segment alone is sent again in smaller
//! pieces. If a piece is acknowledged, no larger segment is, and one times out as often again, the path takes only the
//! smaller size. A path that was only dark for a while takes the old size again and keeps it.
//!
//! Segments that were too large are sent again in pieces. The window does not shrink, because their size was the
//! reason, not congestion.

use super::Tcp;
use crate::config::{PathMtuDiscovery, TIMESTAMP_BYTES, largest_segment, least_mtu};
use core::net::IpAddr;
use pathweave_units::Instant;

/// Timeouts in a row after which a smaller segment is tried.
const SILENT_TIMEOUTS: u32 = 2;
/// MTUs to try if no router names one, bytes: Ethernet with PPPoE, the least of IPv6, a plateau of RFC 1191 §7.1, the
/// least of IPv4.
pub(super) const STEPS: [u32; 4] = [1492, 1280, 1006, 552];

/// Common MTUs, for a router that names none: RFC 1191 §7.1, table 7-1.
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// Whether a message that a packet was too large is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketTooBigVerdict {
    /// The message is believed: segments are smaller from now on.
    Taken,
    /// The message will be believed if the quoted segment is not acknowledged before its retransmission timeout.
    /// Segments of that size have arrived before.
    Waits,
    /// No subflow has these addresses.
    UnknownSubflow,
    /// The quoted sequence number is not that of a segment in flight.
    NotInFlight,
    /// The quoted segment fits into the MTU of the message.
    NotTooBig,
    /// The MTU of the message is smaller than every path's: 1280 bytes with IPv6 (RFC 8201 §4).
    TooSmall,
}

/// A larger segment in flight that probes for a larger MTU.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuProbe {
    /// Sequence number and data bytes of the segment.
    pub(super) at: u64,
    pub(super) len: u32,
    /// The MTU that it fills.
    pub(super) mtu: u32,
}

/// Knowledge of the path's MTU. All sizes are in bytes.
#[derive(Debug)]
pub(super) struct PathMtu {
    /// Size of the largest IP packet.
    pub(super) mtu: u32,
    /// Option bytes of a data segment: all, and those that may be omitted.
    options: u32,
    spared: u32,
    /// Data of the largest segment that was delivered since the last trial began.
    pub(super) delivered: u32,
    /// Data of the largest segment delivered since the MTU last changed, up to the start of the last trial.
    delivered_before: u32,
    /// A message that is not believed yet: the sequence number of the quoted segment, and the MTU.
    claim: Option<(u64, u32)>,
    /// MTU of a trial: the first segment is sent again in pieces of this size to see if the size was the reason.
    trial: Option<u32>,
    /// The MTU that was configured. The path's may have become smaller.
    pub(super) limit: u32,
    /// Whether a smaller MTU was discovered that was not taken yet.
    learned: bool,
    /// A probe in flight, and when the next one is tried.
    pub(super) probe: Option<MtuProbe>,
    pub(super) raise_at: Instant,
}

impl PathMtu {
    pub(super) fn new(mtu: u32) -> Self {
        PathMtu {
            mtu,
            options: 0,
            spared: 0,
            delivered: 0,
            delivered_before: 0,
            claim: None,
            trial: None,
            limit: mtu,
            learned: false,
            probe: None,
            raise_at: Instant::FAR_FUTURE,
        }
    }
}

/// The plateau of RFC 1191 §7.1 below the size of a packet that was too large.
fn plateau_below(packet: u32) -> u32 {
    PLATEAUS.into_iter().find(|plateau| *plateau < packet).unwrap_or(0)
}

impl Tcp {
    /// Reserves this many bytes of options in data segments, beside TCP's own.
    pub(crate) fn reserve_options(&mut self, bytes: u32) {
        let timestamps = if self.agreed.timestamps { TIMESTAMP_BYTES } else { 0 };
        (self.path_mtu.options, self.path_mtu.spared) = (timestamps + bytes, 0);
        self.agreed.mss = self.data_bytes(self.path_mtu.mtu);
    }

    /// Reserves this many more bytes of options from now on. Segments that are cut already are sent without these
    /// options.
    pub(crate) fn reserve_more_options(&mut self, bytes: u32) {
        self.path_mtu.options = self.path_mtu.options - self.path_mtu.spared + bytes;
        self.path_mtu.spared = bytes;
        self.agreed.mss = self.data_bytes(self.path_mtu.mtu);
    }

    /// Whether a segment with this much data is too large for the path, even without the options that may be omitted.
    pub(super) fn is_too_large(&self, data: u32) -> bool {
        data > self.agreed.mss + self.path_mtu.spared
    }

    /// Size of the largest IP packet on the path, bytes.
    pub(crate) fn path_mtu(&self) -> u32 {
        self.path_mtu.mtu
    }

    /// Data bytes of a segment that fills a packet of `mtu` bytes.
    pub(super) fn data_bytes(&self, mtu: u32) -> u32 {
        //= RFC 9293 §3.7.1 (MUST-16): "MUST be the smaller of the send MSS (that reflects the available reassembly buffer size at
        //= the remote host, the EMTU_R [19]) and the largest transmission size permitted by the IP layer (EMTU_S [19])"
        //= tests: path_mtu::each_path_is_filled_to_its_own_mtu, path_mtu::the_peers_smaller_path_mtu_binds_as_well
        let segment = largest_segment(mtu, self.local.is_ipv4()).min(self.agreed.peer_mss);
        segment.saturating_sub(self.path_mtu.options).max(1)
    }

    /// Configures the path's MTU as `mtu` bytes.
    #[cold]
    pub(crate) fn configure_path_mtu(&mut self, now: Instant, mtu: u32) {
        self.path_mtu.limit = mtu;
        self.set_path_mtu(now, mtu);
    }

    /// Uses an MTU of `mtu` bytes from now on. Larger segments that are queued or in flight are cut.
    //= RFC 5681 §3.1: "cwnd SHOULD be reduced by the ratio of the old segment size to the new segment size"
    //= tests: path_mtu::a_smaller_size_leaves_the_window_its_segments
    #[cold]
    pub(super) fn set_path_mtu(&mut self, now: Instant, mtu: u32) {
        self.path_mtu.mtu = mtu;
        self.postpone_mtu_probe(now);
        if !self.opening.peer_synced {
            return;
        }
        self.agreed.mss = self.data_bytes(mtu);
        (self.path_mtu.delivered, self.path_mtu.delivered_before) = (0, 0);
        self.path_mtu.trial = None;
        let timestamps = if self.agreed.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.host.set_plain_mss(self.largest_segment().saturating_sub(timestamps));
        self.host.look_again();
        if self.queue.iter().any(|s| s.len > self.agreed.mss) {
            self.queue.divide(self.agreed.mss, 0..u64::MAX);
            if self.queue.lost_out > 0 {
                self.repair_without_reduction();
            }
        }
        debug_assert!(self.queue.is_consistent(), "the counters agree with the segments: {:?}", self.queue);
    }

    /// Handles a message that the segment with this sequence number was too large for a link whose MTU is `mtu` bytes;
    /// 0: the router does not name it (RFC 1191 §5).
    #[cold]
    pub(crate) fn handle_packet_too_big(&mut self, now: Instant, sequence: u32, mtu: u32) -> PacketTooBigVerdict {
        let ipv4 = self.local.is_ipv4();
        //= RFC 8201 §4: "If a node receives a Packet Too Big message reporting a next-hop MTU that is less than the IPv6
        //= minimum link MTU, it must discard it"
        //= tests: path_mtu::messages_that_cannot_be_true_are_not_believed
        if !ipv4 && mtu < least_mtu(ipv4) {
            return PacketTooBigVerdict::TooSmall;
        }
        let at = self.own_relative(sequence);
        let Some(segment) = at.and_then(|at| self.queue.sent_at(at)) else { return PacketTooBigVerdict::NotInFlight };
        let (at, len) = (segment.ssn, segment.len);
        let mtu = match mtu {
            0 => plateau_below(self.packet_bytes(len)),
            mtu => mtu,
        };
        let mtu = mtu.max(least_mtu(ipv4));
        let fits = self.data_bytes(mtu);
        if mtu >= self.path_mtu.mtu || len <= fits {
            return PacketTooBigVerdict::NotTooBig;
        }
        if self.path_mtu.delivered.max(self.path_mtu.delivered_before) > fits {
            // A whole window may be reported. The claim on its first segment counts, because a timeout sends that one
            // again.
            let first = self.path_mtu.claim.filter(|(first, _)| (self.send.una..at).contains(first));
            self.path_mtu.claim = first.or(Some((at, mtu)));
            return PacketTooBigVerdict::Waits;
        }
        self.learn_path_mtu(now, mtu);
        PacketTooBigVerdict::Taken
    }

    /// Size of the IP packet with this much data, bytes.
    fn packet_bytes(&self, data: u32) -> u32 {
        let mtu = self.path_mtu.mtu;
        data + self.path_mtu.options + mtu - largest_segment(mtu, self.local.is_ipv4())
    }

    /// Notes a discovered MTU.
    #[cold]
    fn learn_path_mtu(&mut self, now: Instant, mtu: u32) {
        self.set_path_mtu(now, mtu);
        self.path_mtu.learned = true;
    }

    /// Takes an MTU that another subflow has discovered. Returns whether it is smaller than this subflow's.
    pub(crate) fn limit_path_mtu(&mut self, now: Instant, mtu: u32) -> bool {
        let is_news = mtu < self.path_mtu.mtu;
        if is_news {
            self.set_path_mtu(now, mtu);
        }
        is_news
    }

    /// The local and the remote address.
    pub(crate) fn address_pair(&self) -> (IpAddr, IpAddr) {
        (self.local.ip(), self.remote.ip())
    }

    /// The discovered MTU, if it was not taken yet.
    #[inline]
    pub(crate) fn take_learned_path_mtu(&mut self) -> Option<u32> {
        core::mem::take(&mut self.path_mtu.learned).then_some(self.path_mtu.mtu)
    }

    /// The next smaller MTU to try if no router names one; it is smaller by at least an eighth.
    fn step_below(&self, mtu: u32) -> Option<u32> {
        let least = least_mtu(self.local.is_ipv4());
        STEPS.into_iter().find(|step| *step <= mtu - mtu / 8 && *step >= least)
    }

    /// After a retransmission timeout: considers whether the first segment was too large.
    pub(super) fn doubt_path_mtu(&mut self, now: Instant) {
        self.give_up_mtu_probe(now);
        if let Some((_, mtu)) =
            self.path_mtu.claim.take_if(|(at, _)| *at <= self.send.una).filter(|c| c.0 == self.send.una)
        {
            return self.learn_path_mtu(now, mtu);
        }
        if self.config.path_mtu_discovery == PathMtuDiscovery::Messages {
            return;
        }
        let Some(head) = self.queue.head() else { return };
        let (head, name) = (head.len, self.queue.sent_names().start);
        let proved = self.path_mtu.delivered.max(self.path_mtu.delivered_before) >= head;
        let needed = if proved { 2 * SILENT_TIMEOUTS } else { SILENT_TIMEOUTS };
        if !self.silence.timeouts.is_multiple_of(needed) {
            return;
        }
        let tried = match self.path_mtu.trial {
            // This size does not arrive either.
            Some(mtu) if self.path_mtu.delivered == 0 => mtu,
            Some(mtu) if (self.path_mtu.delivered..head).contains(&self.data_bytes(mtu)) => {
                return self.learn_path_mtu(now, mtu);
            }
            _ => self.path_mtu.mtu,
        };
        let Some(step) = self.step_below(tried) else { return };
        let fits = self.data_bytes(step);
        if head > fits {
            self.path_mtu.trial = Some(step);
            self.path_mtu.delivered_before = self.path_mtu.delivered_before.max(self.path_mtu.delivered);
            self.path_mtu.delivered = 0;
            self.queue.divide(fits, name..name + 1);
        }
    }
}
