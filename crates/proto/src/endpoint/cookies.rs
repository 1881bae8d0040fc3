//! SYN cookies: SYNs are answered without any memory of them while the half-open limit is reached (RFC 4987 §3.6).
//!
//! The SYN/ACK holds everything that must be known of a handshake, and the third segment brings it back. The sequence
//! number holds the time of sending, the peer's segment size and a keyed hash of addresses and numbers. The timestamp's
//! last bits hold the other TCP options; without timestamps the connection does without these options, as in Linux. The
//! key of Multipath TCP is a keyed hash too, so that the key in the third segment can be verified (RFC 8684 §3.1; Linux
//! accepts any key there as its own).

use super::listener::Policy;
use super::secrets::Secrets;
use super::slots::Claim;
use super::{ConnectionHandle, Endpoint};
use crate::config::ConnectionConfig;
use crate::connection::{Connection, echoed_keys, is_lone_data_fin, offer};
use crate::paths::addresses;
use crate::paths::joins::NewSubflow;
use crate::tcp::{Origin, timestamp};
use pathweave_scheduler::parameter::ParameterError;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{CapableContent, Key, MpCapable, MptcpOption};
use pathweave_wire::{Ecn, Flags, Segment, Timestamps, crypto};
use std::sync::Arc;

/// Length of a period. A cookie is valid in the period in which it was made and in the next one.
const PERIOD: Duration = Duration::from_secs(64);
/// Segment sizes of peers that a cookie can express. The largest that does not exceed the peer's own is used.
const SEGMENT_SIZES: [u16; 4] = [536, 1220, 1440, 1460];
/// Bits of a cookie, from below: the hash, the segment size, the period.
const HASH_BITS: u32 = 25;
const SIZE_BITS: u32 = 2;
/// Bits of a timestamp, from below: the window scale (15: none), SACK, ECN.
const SCALE_MASK: u32 = 15;
const SACK: u32 = 16;
const ECN: u32 = 32;
const OPTIONS_MASK: u32 = 63;

/// When the last cookie was sent. No segment can bring one back more than two periods later.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    sent_at: Option<Instant>,
}

/// The third segment of a handshake that was answered with a cookie.
pub(super) struct Third {
    /// Our key of Multipath TCP.
    key: Key,
    ecn: Ecn,
    segment: Segment,
}

/// The state of a handshake that a cookie expresses.
struct Cookie {
    /// The peer's first sequence number, and the time of its SYN in periods.
    peer_isn: u32,
    period: u64,
    /// Index in [`SEGMENT_SIZES`].
    size: u32,
}

impl Cookie {
    /// Our first sequence number and our key of Multipath TCP.
    fn numbers(&self, secrets: &Secrets, like: &Segment) -> (u32, Key) {
        let Cookie { peer_isn, period, size } = *self;
        let of = [peer_isn, period as u32, size];
        let [hash, high, low, _] = crypto::keyed_numbers(&secrets.cookie_key(), like.dst, like.src, &of);
        let places = (period as u32) << (HASH_BITS + SIZE_BITS) | size << HASH_BITS;
        (places | hash & ((1 << HASH_BITS) - 1), Key(u64::from(high) << 32 | u64::from(low)))
    }
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos()
}

/// The options of a SYN, packed into the last bits of a timestamp.
fn option_bits(syn: &Segment) -> u32 {
    let scale = syn.options.window_scale.map_or(SCALE_MASK, |shift| u32::from(shift.min(14)));
    let sack = if syn.options.sack_permitted { SACK } else { 0 };
    let ecn = if syn.flags.contains(Flags::ECE | Flags::CWR) { ECN } else { 0 };
    scale | sack | ecn
}

/// Reconstructs the SYN of a handshake from its third segment. `None` if the segment has no cookie of ours, or comes
/// too late.
fn syn_of(now: Instant, secrets: &Secrets, segment: &Segment) -> Option<(Segment, Key)> {
    let (isn, peer_isn) = (segment.ack.wrapping_sub(1), segment.seq.wrapping_sub(1));
    let size = isn >> HASH_BITS & ((1 << SIZE_BITS) - 1);
    let newest = period(now);
    let made = |period: u64| Cookie { peer_isn, period, size }.numbers(secrets, segment);
    let (_, key) =
        [Some(newest), newest.checked_sub(1)].into_iter().flatten().map(made).find(|(own, _)| *own == isn)?;
    let mut syn = Segment::new(segment.src, segment.dst);
    (syn.flags, syn.seq, syn.window) = (Flags::SYN, peer_isn, segment.window);
    syn.options.mss = Some(SEGMENT_SIZES[size as usize]);
    if let Some(Timestamps { value, echo }) = segment.options.timestamps {
        syn.options.timestamps = Some(Timestamps { value, echo: 0 });
        let bits = echo & OPTIONS_MASK;
        syn.options.window_scale = Some(bits & SCALE_MASK).filter(|scale| *scale <= 14).map(|scale| scale as u8);
        syn.options.sack_permitted = bits & SACK != 0;
        if bits & ECN != 0 {
            syn.flags |= Flags::ECE | Flags::CWR;
        }
    }
    //= RFC 8684 §3.1: "If the server behaves in a stateless manner, it has to generate its own key in a verifiable fashion"
    //= tests: syn_cookies::multipath_tcp_survives_a_full_table, syn_cookies::a_key_that_is_not_ours_is_plain_tcp
    if let Some((receiver, flags)) = echoed_keys(segment)
        && receiver == key
    {
        syn.options.mptcp.push(MptcpOption::Capable(MpCapable { flags, content: CapableContent::Syn }));
    }
    Some((syn, key))
}

impl Endpoint {
    /// Whether a SYN is answered with a cookie because the half-open limit is reached.
    pub(super) fn needs_cookies(&self) -> bool {
        self.half_open_now >= self.half_open_limit.max(1)
    }

    /// Answers a SYN with a cookie and keeps no state of it.
    #[cold]
    pub(super) fn answer_with_cookie(
        &mut self,
        now: Instant,
        syn: &Segment,
        mut config: Arc<ConnectionConfig>,
        addresses: &[addresses::NumberedAddress],
    ) -> Result<(), ParameterError> {
        let mut new = self.new_subflow(now, syn.dst, syn.src);
        let named = syn.options.mss.unwrap_or(0);
        let size = SEGMENT_SIZES.iter().rposition(|size| *size <= named).unwrap_or(0) as u32;
        let cookie = Cookie { peer_isn: syn.seq, period: period(now), size };
        let (sequence, key) = cookie.numbers(&self.secrets, syn);
        // The last value with these bits that is not ahead of our clock.
        let clock = timestamp(now).wrapping_add(new.origin.timestamp);
        let behind = clock.wrapping_sub(option_bits(syn)) & OPTIONS_MASK;
        new.origin = Origin { sequence, timestamp: new.origin.timestamp.wrapping_sub(behind) };
        //= RFC 8684 §3.1: "if uniqueness is not met and there is no way to generate an alternative verifiable key, then the
        //= connection MUST fall back to using regular TCP by not sending an MP_CAPABLE in the SYN/ACK"
        //= tests: syn_cookies::a_key_whose_token_is_in_use_is_plain_tcp
        if self.by_token.contains_key(&crypto::token(key)) {
            Arc::make_mut(&mut config).mptcp = false;
        }
        let mut connection = Connection::accept(now, config, key, new, syn, addresses)?;
        let mut answer = Segment::default();
        if connection.poll_transmit(now, 1, &mut answer).is_some() {
            if answer.options.timestamps.is_none() {
                // Without timestamps no later segment brings these options back.
                (answer.options.window_scale, answer.options.sack_permitted) = (None, false);
                answer.flags = answer.flags.without(Flags::ECE);
            }
            self.control.push_back(answer);
            self.cookies.sent_at = Some(now);
        }
        Ok(())
    }

    /// Opens the connection if a segment is the third one of a handshake that was answered with a cookie. Returns
    /// whether the segment needs no other answer.
    #[cold]
    pub(super) fn open_by_cookie(&mut self, now: Instant, ecn: Ecn, segment: &Segment) -> bool {
        let recent = self.cookies.sent_at.is_some_and(|at| now.since(at) < PERIOD.saturating_mul(2));
        if !recent || !segment.flags.contains(Flags::ACK) || segment.flags.intersects(Flags::SYN | Flags::RST) {
            return false;
        }
        let Some((listener, policy)) = self.listeners.at(segment.dst) else { return false };
        let Some((syn, key)) = syn_of(now, &self.secrets, segment) else {
            // Data whose third segment was lost or overtaken is not reset, because the peer will repeat what is
            // missing.
            return !segment.payload.is_empty();
        };
        if self.ignores_syns() || is_lone_data_fin(segment) {
            // The repetition may bring our key, or come when there is room for the connection.
            return true;
        }
        let third = Third { key, ecn, segment: segment.clone() };
        match policy.clone() {
            Policy::Ask => {
                self.backlog.keep(now, listener, &syn, Some(Box::new(third)));
                true
            }
            Policy::Accept(config, addresses) => {
                let claim = Claim::Handshake(listener);
                matches!(self.open_by_third(now, &syn, &third, claim, config, &addresses), Ok(Some(_)))
            }
        }
    }

    /// Opens the connection that a cookie expresses and passes its third segment to it. `None` if its key is in use.
    pub(super) fn open_by_third(
        &mut self,
        now: Instant,
        syn: &Segment,
        third: &Third,
        claim: Claim,
        mut config: Arc<ConnectionConfig>,
        addresses: &[addresses::NumberedAddress],
    ) -> Result<Option<ConnectionHandle>, ParameterError> {
        if offer(syn).is_some() && self.by_token.contains_key(&crypto::token(third.key)) {
            return Ok(None);
        }
        if offer(syn).is_none() {
            Arc::make_mut(&mut config).mptcp = false;
        }
        let new = self.new_subflow(now, syn.dst, syn.src);
        let sequence = third.segment.ack.wrapping_sub(1);
        let new = NewSubflow { origin: Origin { sequence, ..new.origin }, ..new };
        let mut connection = Connection::accept(now, config, third.key, new, syn, addresses)?;
        connection.has_answered();
        let index = self.insert(connection, (syn.dst, syn.src));
        self.slots[index as usize].claim = claim;
        self.use_learned_path_mtu(now, index, (syn.dst.ip(), syn.src.ip()));
        let handle = self.handle_of(index);
        self.handle_segment(now, third.ecn, &third.segment);
        Ok(Some(handle))
    }
}
