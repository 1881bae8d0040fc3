//! New connections: SYNs that a listener answers by itself, and SYNs that wait for the application's decision.

use super::cookies::Third;
use super::listener::Policy;
use super::slots::Claim;
use super::{ConnectionHandle, Endpoint, ListenerHandle, LocalAddress, with_ids};
use crate::config::ConnectionConfig;
use crate::connection::{Connection, join, names_capable, offer};
use crate::paths::addresses;
use core::fmt::{Display, Formatter};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_scheduler::parameter::ParameterError;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{Key, MpJoin, MptcpOption};
use pathweave_wire::{Ecn, Flags, Payload, Segment};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Defaults of [`Endpoint::set_incoming_limits`].
const MOST_WAITING: usize = 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A peer's request for a connection, to be answered with [`Endpoint::accept`], [`Endpoint::refuse`] or
/// [`Endpoint::ignore`].
///
/// The endpoint keeps the peer's SYN for a limited time. An `Incoming` that is dropped counts as ignored after that.
#[derive(Debug)]
#[must_use]
pub struct Incoming {
    id: u64,
    /// The listener that the SYN reached.
    pub listener: ListenerHandle,
    /// The address that the peer connects to.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// Whether the peer offers Multipath TCP in a form that we can accept.
    pub multipath: bool,
    /// Whether the peer asks for DSS checksums (RFC 8684 §3.3).
    pub checksum: bool,
}

/// Why a connection could not be accepted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AcceptError {
    /// The request is over: it waited for too long, newer requests took its place, the peer withdrew it, or the
    /// listener is gone.
    Gone,
    /// By now there is a connection between these addresses.
    AddressInUse,
    /// The half-open limit is reached ([`Endpoint::set_half_open_limit`]). The peer was answered with a SYN cookie and
    /// will come again as a new [`Incoming`] when it completes the handshake. This call's settings determined only what
    /// the SYN/ACK offers; the connection gets the settings of the later call.
    NotRemembered,
    /// The scheduler or controller rejects its parameters. The peer was refused.
    Parameter(ParameterError),
}

impl Display for AcceptError {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        match self {
            AcceptError::Gone => f.write_str("the request for a connection is over"),
            AcceptError::AddressInUse => f.write_str("there is already a connection between these addresses"),
            AcceptError::NotRemembered => {
                f.write_str("the half-open limit is reached: the peer comes again when it completes the handshake")
            }
            AcceptError::Parameter(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AcceptError {}

/// A SYN that waits for a decision.
struct WaitingSyn {
    syn: Segment,
    /// The third segment, if the SYN was answered with a cookie.
    third: Option<Box<Third>>,
    listener: ListenerHandle,
    deadline: Instant,
}

/// SYNs that wait for a decision, in order of arrival: at most `most`, each for at most `longest`.
pub(super) struct Backlog {
    waiting: BTreeMap<u64, WaitingSyn>,
    by_addresses: BTreeMap<(SocketAddr, SocketAddr), u64>,
    /// Number of the next SYN, and of the first one that was not polled.
    next: u64,
    told: u64,
    most: usize,
    longest: Duration,
}

impl Default for Backlog {
    fn default() -> Self {
        Backlog {
            waiting: BTreeMap::new(),
            by_addresses: BTreeMap::new(),
            next: 0,
            told: 0,
            most: MOST_WAITING,
            longest: LONGEST_WAIT,
        }
    }
}

impl Backlog {
    /// Keeps a SYN. A repeated SYN replaces the first one, so that the newest timestamp is echoed. A third segment
    /// replaces any SYN.
    pub(super) fn keep(&mut self, now: Instant, listener: ListenerHandle, syn: &Segment, third: Option<Box<Third>>) {
        let addresses = (syn.dst, syn.src);
        // The SYN's data is not used, and would keep a packet's memory alive.
        let syn = Segment { payload: Payload::EMPTY, ..syn.clone() };
        if let Some(waiting) = self.by_addresses.get(&addresses).and_then(|id| self.waiting.get_mut(id)) {
            if third.is_some() || waiting.third.is_none() {
                (waiting.syn, waiting.third) = (syn, third);
            }
            return;
        }
        while self.waiting.len() >= self.most.max(1) {
            let Some((oldest, _)) = self.waiting.first_key_value() else { break };
            self.take(*oldest);
        }
        self.by_addresses.insert(addresses, self.next);
        self.waiting.insert(self.next, WaitingSyn { syn, third, listener, deadline: now + self.longest });
        self.next += 1;
    }

    fn take(&mut self, id: u64) -> Option<WaitingSyn> {
        let waiting = self.waiting.remove(&id)?;
        self.by_addresses.remove(&(waiting.syn.dst, waiting.syn.src));
        Some(waiting)
    }

    /// The next SYN that was not polled.
    fn tell(&mut self) -> Option<Incoming> {
        let (id, waiting) = self.waiting.range(self.told..).next()?;
        self.told = id + 1;
        let (syn, offer) = (&waiting.syn, offer(&waiting.syn));
        Some(Incoming {
            id: *id,
            listener: waiting.listener,
            local: syn.dst,
            remote: syn.src,
            multipath: offer.is_some(),
            checksum: offer.is_some_and(|o| o.checksum_required),
        })
    }

    /// Removes a SYN that the peer resets. Only the exact sequence number counts, so that no attacker can do the same.
    fn reset(&mut self, rst: &Segment) {
        let Some(id) = self.by_addresses.get(&(rst.dst, rst.src)).copied() else { return };
        if self.waiting.get(&id).is_some_and(|w| w.syn.seq.wrapping_add(1) == rst.seq) {
            self.take(id);
        }
    }

    /// When the oldest SYN is forgotten.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(_, w)| w.deadline)
    }

    #[cold]
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((id, waiting)) = self.waiting.first_key_value()
            && waiting.deadline <= now
        {
            self.take(*id);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Whether an address is not the address of one host.
pub(super) fn is_nobodys(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_unspecified() || ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Whether a segment for no connection may be answered. No answer goes to these: segments from or to an address that is
/// not the address of one host; from this host to itself on the same port (LAND); from a loopback address to another
/// address; and segments that begin and end a connection at once.
//= RFC 9293 §3.9.2.3 (MUST-57): "A TCP implementation MUST silently discard an incoming SYN segment that is addressed to a broadcast or multicast
//= address"
//= tests: strangers::what_nobody_can_have_sent_is_not_answered
//= RFC 9293 §3.9.2.3 (MUST-63): "An incoming SYN with an invalid source address MUST be ignored either by TCP or by the IP layer"
//= tests: strangers::what_nobody_can_have_sent_is_not_answered
fn is_believable(segment: &Segment) -> bool {
    let (from, to) = (segment.src.ip().to_canonical(), segment.dst.ip().to_canonical());
    let contradicts =
        segment.flags.contains(Flags::SYN | Flags::FIN) || segment.flags.contains(Flags::SYN | Flags::RST);
    let strays = from.is_loopback() && !to.is_loopback();
    !is_nobodys(from)
        && !is_nobodys(to)
        && !strays
        && segment.src != segment.dst
        && segment.src.port() != 0
        && !contradicts
}

impl Endpoint {
    /// The next request of a peer for a connection ([`Endpoint::listen`]).
    pub fn poll_incoming(&mut self) -> Option<Incoming> {
        self.backlog.tell()
    }

    /// Accepts a connection with these settings. `addresses`: this host's addresses that the connection may use. All of
    /// them are announced except the one that the peer connected to.
    /// [`ConnectionEvent::Connected`](crate::ConnectionEvent::Connected) follows when the peer has completed the
    /// handshake.
    ///
    /// # Errors
    /// If the request is over, the half-open limit is reached, or the scheduler or controller rejects its parameters.
    pub fn accept(
        &mut self,
        now: Instant,
        incoming: Incoming,
        config: ConnectionConfig,
        addresses: &[LocalAddress],
    ) -> Result<ConnectionHandle, AcceptError> {
        let WaitingSyn { syn, third, .. } = self.backlog.take(incoming.id).ok_or(AcceptError::Gone)?;
        if self.is_in_use(&(syn.dst, syn.src)) {
            return Err(AcceptError::AddressInUse);
        }
        let (config, addresses) = (Arc::new(config), with_ids(addresses));
        let opened = match third {
            Some(third) => self
                .open_by_third(now, &syn, &third, Claim::Known, config, &addresses)
                .map(|h| h.ok_or(AcceptError::Gone)),
            None if self.needs_cookies() => {
                self.answer_with_cookie(now, &syn, config, &addresses).map(|()| Err(AcceptError::NotRemembered))
            }
            None => self.open(now, &syn, config, &addresses).map(Ok),
        };
        opened.unwrap_or_else(|error| {
            self.refuse_segment(&syn, None);
            Err(AcceptError::Parameter(error))
        })
    }

    /// Refuses a connection: the peer gets a reset.
    pub fn refuse(&mut self, incoming: Incoming) {
        if let Some(WaitingSyn { syn, .. }) = self.backlog.take(incoming.id) {
            self.refuse_segment(&syn, None);
        }
    }

    /// Leaves a request unanswered. The peer repeats its SYN, which is then a new [`Incoming`].
    pub fn ignore(&mut self, incoming: Incoming) {
        self.backlog.take(incoming.id);
    }

    /// Limits the requests that wait for a decision to `most`, each for at most `longest`. Beyond a limit the oldest is
    /// forgotten without an answer.
    pub fn set_incoming_limits(&mut self, most: usize, longest: Duration) {
        (self.backlog.most, self.backlog.longest) = (most, longest);
    }

    pub(super) fn refuse_incoming_of(&mut self, listener: ListenerHandle) {
        let of_listener = self.backlog.waiting.iter().filter(|(_, w)| w.listener == listener);
        let ids: Vec<u64> = of_listener.map(|(id, _)| *id).collect();
        for WaitingSyn { syn, .. } in ids.into_iter().filter_map(|id| self.backlog.take(id)).collect::<Vec<_>>() {
            self.refuse_segment(&syn, None);
        }
    }

    /// Handles a segment that belongs to no connection.
    #[cold]
    pub(super) fn handle_stranger(&mut self, now: Instant, ecn: Ecn, segment: &Segment) {
        if !is_believable(segment) || self.handle_waited(now, segment) {
            return;
        }
        if segment.flags.contains(Flags::RST) {
            self.backlog.reset(segment);
        } else if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
            self.handle_syn(now, segment);
        } else if !self.open_by_cookie(now, ecn, segment) {
            self.refuse_segment(segment, None);
        }
    }

    /// Whether this SYN has a listener or joins an existing connection. If not, it would be refused, and a connection
    /// in TIME-WAIT between the same addresses would end for nothing.
    #[cold]
    pub(super) fn has_use_for(&self, syn: &Segment) -> bool {
        let joins = match join(syn) {
            Some(MpJoin::Syn { token, .. }) => self.by_token.contains_key(token),
            _ => false,
        };
        joins || self.listeners.at(syn.dst).is_some()
    }

    fn handle_syn(&mut self, now: Instant, syn: &Segment) {
        //= RFC 8684 §3.2: "Demultiplexing subflow SYNs MUST be done using the token"
        //= tests: mp_join::an_unknown_token_is_refused, mp_capable::a_syn_that_also_joins_is_plain_tcp
        if let (Some(MpJoin::Syn { token, .. }), false) = (join(syn), names_capable(syn)) {
            return self.handle_join(now, syn, *token);
        }
        match self.listeners.at(syn.dst) {
            None => self.refuse_segment(syn, None),
            Some(_) if self.ignores_syns() => {}
            Some((listener, Policy::Ask)) => self.backlog.keep(now, listener, syn, None),
            Some((listener, Policy::Accept(config, addresses))) => {
                let (config, addresses) = (config.clone(), addresses.clone());
                if self.needs_cookies() {
                    if self.answer_with_cookie(now, syn, config, &addresses).is_err() {
                        self.refuse_segment(syn, None);
                    }
                    return;
                }
                match self.open(now, syn, config, &addresses) {
                    Ok(handle) => self.slots[handle.index as usize].claim = Claim::Handshake(listener),
                    Err(_) => self.refuse_segment(syn, None),
                }
            }
        }
    }

    /// Opens a connection to answer a SYN.
    fn open(
        &mut self,
        now: Instant,
        syn: &Segment,
        mut config: Arc<ConnectionConfig>,
        addresses: &[addresses::NumberedAddress],
    ) -> Result<ConnectionHandle, ParameterError> {
        let key = self.fresh_key();
        let new = self.new_subflow(now, syn.dst, syn.src);
        if key.is_none() {
            Arc::make_mut(&mut config).mptcp = false;
        }
        let connection = Connection::accept(now, config, key.unwrap_or(Key(0)), new, syn, addresses)?;
        Ok(self.insert_half_open(now, connection, (syn.dst, syn.src)))
    }

    /// Adds a connection that waits for the third segment of its handshake.
    fn insert_half_open(
        &mut self,
        now: Instant,
        connection: Connection,
        addresses: (SocketAddr, SocketAddr),
    ) -> ConnectionHandle {
        let index = self.insert(connection, addresses);
        self.slots[index as usize].half_open = true;
        self.half_open_now += 1;
        self.use_learned_path_mtu(now, index, (addresses.0.ip(), addresses.1.ip()));
        let handle = self.handle_of(index);
        self.touch(index);
        handle
    }

    /// Answers a segment that belongs to no connection with a reset.
    #[cold]
    pub(super) fn refuse_segment(&mut self, segment: &Segment, why: Option<MptcpOption>) {
        let mut reset = segment.resetting_answer();
        reset.options.mptcp.extend(why);
        self.control.push_back(reset);
    }
}
