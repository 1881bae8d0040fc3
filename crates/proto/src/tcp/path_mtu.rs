//! How large a segment the path takes (RFC 1191, RFC 8201, RFC 4821).
//!
//! A message of a router is believed where it quotes a segment of ours that is out and that is larger than what the router
//! says; where segments that large have arrived before, it is believed only once a retransmission timeout has passed and the
//! segment is still not acknowledged (RFC 5927 §7.2). What is believed is never below the least MTU of the address family.
//!
//! Where no message comes, a black hole is found by trying (RFC 4821 §7.7): after [`SILENT_TIMEOUTS`] timeouts in a row, twice
//! as many where segments that large have arrived before, only the first segment goes out again in smaller pieces. If a piece
//! is acknowledged, no larger segment is, and one times out as often again, the path takes the smaller size only. A path that
//! was dark for a while takes the old size again, and keeps it.
//!
//! What was too large goes out again in pieces. The window does not shrink for it, because its size was the reason, not congestion.

use super::Tcp;
use super::mtu_probe::MtuProbe;
use crate::config::{PathMtuDiscovery, TIMESTAMP_BYTES, largest_segment, least_mtu};
use core::net::IpAddr;
use pathweave_units::Instant;

/// Timeouts in a row after which a smaller segment is tried.
const SILENT_TIMEOUTS: u32 = 2;
/// Sizes to go down to where nobody says which, bytes: Ethernet with PPPoE, the least of IPv6, a plateau of RFC 1191 §7.1, the
/// least of IPv4.
pub(super) const STEPS: [u32; 4] = [1492, 1280, 1006, 552];

/// What networks take, for a router that names no size: RFC 1191 §7.1, table 7-1.
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];

/// Whether a message that a packet was too large is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketTooBigVerdict {
    /// It is: segments are smaller from now on.
    Taken,
    /// It will be, if the quoted segment is not acknowledged before its retransmission timeout: segments of that size have
    /// arrived before.
    Waits,
    /// No subflow has these addresses.
    UnknownSubflow,
    /// The quoted sequence number is not that of a segment that is out.
    NotInFlight,
    /// The quoted segment is not larger than what the path is said to take.
    NotTooBig,
    /// Every path takes what this one is said not to take: 1280 bytes with IPv6 (RFC 8201 §4).
    TooSmall,
}

/// What is known of the path's MTU. All sizes are bytes.
#[derive(Debug)]
pub(super) struct PathMtu {
    /// Of the largest IP packet.
    pub(super) mtu: u32,
    /// TCP options of a data segment, all of them, and those that can be left away.
    options: u32,
    spared: u32,
    /// Data of the largest segment that was delivered, since the last trial began.
    pub(super) delivered: u32,
    /// The same of the time before, since the size was last changed.
    delivered_before: u32,
    /// What a message says of the segment that begins here: its sequence number, and the MTU.
    claim: Option<(u64, u32)>,
    /// The first segment goes out in pieces of this MTU: is it the size?
    trial: Option<u32>,
    /// The MTU that the path was said to have; it may have become smaller.
    pub(super) limit: u32,
    /// A smaller one was found out, and nobody has asked since.
    learned: bool,
    /// A larger segment that is out, and when one is tried.
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
    /// Data segments have this many bytes of options, beside TCP's own.
    pub(crate) fn reserve_options(&mut self, bytes: u32) {
        let timestamps = if self.agreed.timestamps { TIMESTAMP_BYTES } else { 0 };
        (self.path_mtu.options, self.path_mtu.spared) = (timestamps + bytes, 0);
        self.agreed.mss = self.data_bytes(self.path_mtu.mtu);
    }

    /// From now on so many more are left room for. What has been cut already goes out without them.
    pub(crate) fn reserve_more_options(&mut self, bytes: u32) {
        self.path_mtu.options = self.path_mtu.options - self.path_mtu.spared + bytes;
        self.path_mtu.spared = bytes;
        self.agreed.mss = self.data_bytes(self.path_mtu.mtu);
    }

    /// A segment with so much data is too large for the path, if all options are left away that can be.
    pub(super) fn is_too_large(&self, data: u32) -> bool {
        data > self.agreed.mss + self.path_mtu.spared
    }

    /// The size of the largest IP packet on the path, bytes.
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

    /// The path is said to take IP packets of at most `mtu` bytes.
    #[cold]
    pub(crate) fn configure_path_mtu(&mut self, now: Instant, mtu: u32) {
        self.path_mtu.limit = mtu;
        self.set_path_mtu(now, mtu);
    }

    /// The path takes IP packets of at most `mtu` bytes from now on. What is queued or out and larger is cut.
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
        debug_assert!(self.queue.is_consistent(), "the counters are those of the segments: {:?}", self.queue);
    }

    /// A message says that the segment with this sequence number was too large for a link that takes `mtu` bytes; 0: the
    /// router does not say how many (RFC 1191 §5).
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
            // A whole window may come back: what is said of its first segment counts, which a timeout sends again.
            let first = self.path_mtu.claim.filter(|(first, _)| (self.send.una..at).contains(first));
            self.path_mtu.claim = first.or(Some((at, mtu)));
            return PacketTooBigVerdict::Waits;
        }
        self.learn_path_mtu(now, mtu);
        PacketTooBigVerdict::Taken
    }

    /// The size of the IP packet with so much data, bytes.
    fn packet_bytes(&self, data: u32) -> u32 {
        let mtu = self.path_mtu.mtu;
        data + self.path_mtu.options + mtu - largest_segment(mtu, self.local.is_ipv4())
    }

    /// It was found out that the path takes no larger packets.
    #[cold]
    fn learn_path_mtu(&mut self, now: Instant, mtu: u32) {
        self.set_path_mtu(now, mtu);
        self.path_mtu.learned = true;
    }

    /// The path is known to take no larger packets, from another subflow; the answer is whether that is news.
    pub(crate) fn limit_path_mtu(&mut self, now: Instant, mtu: u32) -> bool {
        let is_news = mtu < self.path_mtu.mtu;
        if is_news {
            self.set_path_mtu(now, mtu);
        }
        is_news
    }

    /// The addresses that it is between.
    pub(crate) fn address_pair(&self) -> (IpAddr, IpAddr) {
        (self.local.ip(), self.remote.ip())
    }

    /// What was found out since this was asked last.
    #[inline]
    pub(crate) fn take_learned_path_mtu(&mut self) -> Option<u32> {
        core::mem::take(&mut self.path_mtu.learned).then_some(self.path_mtu.mtu)
    }

    /// The next smaller size that makes a difference, where nobody says which.
    fn step_below(&self, mtu: u32) -> Option<u32> {
        let least = least_mtu(self.local.is_ipv4());
        STEPS.into_iter().find(|step| *step <= mtu - mtu / 8 && *step >= least)
    }

    /// A retransmission timeout: was the first segment too large?
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
            // Neither does that size arrive.
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
