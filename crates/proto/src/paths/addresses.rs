//! Both hosts' addresses: announcing and removing ours, and taking what the peer announces and removes (RFC 8684 §3.4).

use super::special;
use super::subflow::PathMeta;
use crate::keys::Keys;
use crate::rate_limiter::{Allowance, RateLimiter};
use core::net::{IpAddr, SocketAddr};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{AddressId, AddressIds, MptcpOption};
use pathweave_wire::{Segment, crypto};
use std::collections::VecDeque;

/// Attempts at an announcement without an echo.
const TRIES: u32 = 8;
/// First wait for an echo; doubled after each attempt.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Most announcements and removals of the peer that are accepted per period, together with the probes that removals
/// cause. Further ones are ignored as if they were lost.
const ADDRESSES: u32 = 32;
const ADDRESS_PERIOD: Duration = Duration::from_secs(1);

/// Interval at which a peer may announce addresses in place of removed ones, after as many as are in use at a time.
const ADDRESS_INTERVAL: Duration = Duration::from_secs(10);

/// One of this host's addresses: its identifier, and what is configured for the path that starts there.
pub(crate) type NumberedAddress = (AddressId, IpAddr, PathMeta);

/// One of the peer's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteAddress {
    pub(crate) id: AddressId,
    pub(crate) address: SocketAddr,
    /// Whether the address has answered with something that only the peer can know. An unproved address may be a third
    /// party's.
    pub(crate) proved: bool,
}

/// An announcement that was not echoed. It was sent and may be lost, or it waits for the one before it.
#[derive(Clone, Copy, Debug)]
struct Unechoed {
    id: AddressId,
    option: MptcpOption,
    /// When the announcement is sent again. `None`: it waits for an acknowledgement that can carry it, or for
    /// [`AddressBook::release_one`].
    again: Option<Instant>,
    /// How often the announcement was sent.
    tries: u32,
}

/// The addresses that a connection may use, and announcements of ours that are still to be sent.
//= RFC 8684 §3.2: "A host MUST store the mappings between Address IDs and addresses both for itself and the remote host"
//= tests: remove_addr::the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order, remove_addr::a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset
pub(crate) struct AddressBook {
    /// Our address of the first subflow. Its port is the connection's.
    initial_local: SocketAddr,
    local: Vec<NumberedAddress>,
    /// Addresses that were announced with another port than the connection's.
    ports: Vec<(AddressId, SocketAddr)>,
    /// The first entry is the peer's address of the first subflow.
    remote: Vec<RemoteAddress>,
    /// Number of announced addresses that may be in use at a time, and the budget for further ones.
    accepted: usize,
    new: Allowance,
    /// Whether the peer has removed the address at which we first reached it.
    initial_removed: bool,
    taken: RateLimiter,
    /// Announcements and echoes for the next acknowledgements.
    announce: VecDeque<MptcpOption>,
    unechoed: Vec<Unechoed>,
}

impl AddressBook {
    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.announce.shrink_to_fit();
        self.unechoed.shrink_to_fit();
    }

    /// The addresses of a connection whose first subflow runs between `initial_local` and `initial_remote`.
    ///
    /// The address of the first subflow has the identifier 0 (RFC 8684 §3.2). If it is in `local`, it exchanges
    /// identifiers with the first entry; if not, the others' identifiers move up by one. `accepted` is the number of
    /// announced addresses of the peer that may be in use at a time.
    pub(crate) fn new(
        local: &[NumberedAddress],
        initial_local: SocketAddr,
        initial_remote: SocketAddr,
        accepted: u8,
    ) -> Self {
        let mut local = local.to_vec();
        if let Some(i) = local.iter().position(|a| a.1 == initial_local.ip()) {
            let first = local[0].0;
            local[0].0 = local[i].0;
            local[i].0 = first;
        } else {
            local.retain_mut(|a| match a.0.0.checked_add(1) {
                Some(next) => {
                    a.0 = AddressId(next);
                    true
                }
                None => false,
            });
        }
        AddressBook {
            initial_local,
            local,
            ports: Vec::new(),
            remote: vec![RemoteAddress { id: AddressId(0), address: initial_remote, proved: true }],
            accepted: accepted.into(),
            new: Allowance::new(accepted.into(), ADDRESS_INTERVAL),
            initial_removed: false,
            taken: RateLimiter::new(ADDRESSES, ADDRESS_PERIOD),
            announce: VecDeque::new(),
            unechoed: Vec::new(),
        }
    }

    /// Our address of the first subflow.
    pub(crate) fn initial_local(&self) -> SocketAddr {
        self.initial_local
    }

    /// This host's addresses.
    pub(crate) fn local(&self) -> &[NumberedAddress] {
        &self.local
    }

    /// The peer's addresses. The one at which we first reached it comes first.
    pub(crate) fn remote(&self) -> &[RemoteAddress] {
        &self.remote
    }

    /// Notes that this address has answered with something that only the peer can know.
    pub(crate) fn prove(&mut self, address: SocketAddr) {
        self.remote.iter_mut().filter(|r| r.address == address).for_each(|r| r.proved = true);
    }

    /// Whether nothing but the peer's announcement speaks for this address.
    pub(crate) fn is_unproved(&self, address: SocketAddr) -> bool {
        !self.remote.iter().any(|r| r.address == address && r.proved)
    }

    /// Whether the peer has removed the address at which we first reached it.
    pub(crate) fn initial_is_removed(&self) -> bool {
        self.initial_removed
    }

    /// What is configured for the path from one of our addresses.
    pub(crate) fn meta_of(&self, address: IpAddr) -> PathMeta {
        self.local.iter().find(|a| a.1 == address).map(|a| a.2).unwrap_or_default()
    }

    /// The identifier of one of our addresses.
    pub(crate) fn id_of(&self, address: IpAddr) -> AddressId {
        self.local.iter().find(|a| a.1 == address).map_or(AddressId(0), |a| a.0)
    }

    /// Announces every local address except that of the first subflow. `one_at_a_time`: each further announcement is
    /// released by [`release_one`](Self::release_one).
    pub(crate) fn announce_all(&mut self, keys: &Keys, one_at_a_time: bool) {
        let others = self.local.iter().filter(|a| a.1 != self.initial_local.ip());
        for (i, (id, address, _)) in others.enumerate() {
            let option = announcement(keys, *id, *address, None);
            match one_at_a_time && i > 0 {
                true => self.unechoed.push(Unechoed { id: *id, option, again: None, tries: 0 }),
                false => self.announce.push_back(option),
            }
        }
    }

    /// Releases the next announcement that waits for the one before it, unless an announcement is still to be sent.
    pub(crate) fn release_one(&mut self) {
        let is_ours = |option: &MptcpOption| matches!(option, MptcpOption::AddAddress { hmac: Some(_), .. });
        if !self.announce.iter().any(is_ours) {
            let next = self.unechoed.iter().find(|u| u.tries == 0);
            self.announce.extend(next.map(|u| u.option));
        }
    }

    /// Announces one local address. Joins may come to `port`, or to the connection's port.
    pub(crate) fn announce(&mut self, keys: &Keys, id: AddressId, address: IpAddr, port: Option<u16>) {
        if let Some(port) = port.filter(|port| *port != self.initial_local.port()) {
            self.ports.push((id, SocketAddr::new(address, port)));
        }
        self.announce.push_back(announcement(keys, id, address, port));
    }

    /// Whether joins may come to this address, at the connection's port or an announced one.
    pub(crate) fn takes_joins(&self, local: &SocketAddr) -> bool {
        local.port() == self.initial_local.port() || self.ports.iter().any(|(_, announced)| announced == local)
    }

    /// Whether there is an announcement or an echo to send.
    #[inline]
    pub(crate) fn has_announcement(&self) -> bool {
        !self.announce.is_empty()
    }

    /// Puts the next announcement on an acknowledgement. The data sequence signal is left out if there is no room for
    /// both, or if it would tell the peer nothing new (`is_news` is false).
    pub(crate) fn add_announcement(&mut self, now: Instant, is_news: bool, segment: &mut Segment) {
        let Some(option) = self.announce.front().copied() else { return };
        let len = option.wire_len().next_multiple_of(4);
        let signal = segment.options.dss;
        if (!is_news || len > segment.options.free_bytes()) && signal.is_some_and(|d| d.mapping.is_none()) {
            segment.options.dss = None;
        }
        if len > segment.options.free_bytes() {
            segment.options.dss = signal;
            return;
        }
        self.announce.pop_front();
        segment.options.mptcp.push(option);
        if let MptcpOption::AddAddress { id, hmac: Some(_), .. } = option {
            let tries = self.unechoed.iter().find(|u| u.id == id).map_or(0, |u| u.tries);
            self.unechoed.retain(|u| u.id != id);
            let again = Some(now + FIRST_WAIT.saturating_mul(1 << tries));
            self.unechoed.push(Unechoed { id, option, again, tries: tries + 1 });
        }
    }

    /// When the next announcement that was not echoed is sent again.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        // Called after every segment, and usually there is none.
        if self.unechoed.is_empty() { None } else { self.unechoed.iter().filter_map(|u| u.again).min() }
    }

    /// Repeats announcements that were not echoed, a bounded number of times.
    //= RFC 8684 §3.4.1: "the lack of this type of "echo" can indicate to the initial ADD_ADDR sender that the ADD_ADDR
    //= needs to be retransmitted"
    //= tests: add_addr::a_lost_announcement_is_repeated, add_addr::without_an_echo_announcing_ends
    //= RFC 8684 §3.4.1: "a host MUST treat address advertisements as soft state, and it MAY choose to refresh advertisements
    //= periodically"
    //= tests: add_addr::a_lost_announcement_is_repeated
    pub(crate) fn repeat_announcements(&mut self, now: Instant) {
        let due = |u: &Unechoed| u.again.is_some_and(|t| t <= now);
        let before = self.unechoed.len();
        self.unechoed.retain(|u| !due(u) || u.tries < TRIES);
        if self.unechoed.len() < before {
            self.release_one();
        }
        for unechoed in self.unechoed.iter_mut().filter(|u| due(u)) {
            unechoed.again = None;
            self.announce.push_back(unechoed.option);
        }
    }

    /// Handles the peer's echo of an announcement of ours.
    pub(crate) fn take_echo(&mut self, id: AddressId) {
        self.unechoed.retain(|u| u.id != id);
        self.release_one();
    }

    /// Whether one more announcement or removal of the peer is read now, or one more probe that a removal causes is
    /// sent. Those beyond the limit are ignored as if they were lost.
    pub(crate) fn may_answer(&mut self, now: Instant) -> bool {
        self.taken.allows(now)
    }

    /// Takes an announcement of the peer and queues its echo. Returns whether the address is new, or `None` if the
    /// announcement is not believed.
    pub(crate) fn take_announcement(
        &mut self,
        now: Instant,
        keys: &Keys,
        id: AddressId,
        address: IpAddr,
        port: Option<u16>,
        hmac: u64,
    ) -> Option<bool> {
        //= RFC 8684 §3.4.1: "an implementation MAY discard incoming address advertisements at will"
        //= tests: add_addr::a_flood_of_announcements_is_capped_and_rate_limited, add_addr::so_many_announced_addresses_are_used_as_the_settings_say
        if !self.may_answer(now) {
            return None;
        }
        let expected = crypto::add_address_hmac(keys.remote, keys.local, id, address, port);
        //= RFC 8684 §3.4.1: "If a host receives an ADD_ADDR option for which it cannot validate the HMAC, it SHOULD
        //= silently ignore the option"
        //= tests: add_addr::a_wrong_hmac_is_ignored_without_an_echo
        let right = crypto::constant_time_eq(&expected.to_be_bytes(), &hmac.to_be_bytes());
        let may_be = |peer: &RemoteAddress| special::can_be_a_hosts(address, peer.address.ip());
        if !right || !self.remote.first().is_some_and(may_be) || port == Some(0) {
            return None;
        }
        if self.local.iter().any(|(_, own, _)| *own == address) {
            return Some(false);
        }
        //= RFC 8684 §3.4.1: "If no port is specified, MPTCP SHOULD attempt to connect to the specified address on the same port as
        //= the port that is already in use by the subflow on which the ADD_ADDR signal was sent"
        //= tests: add_addr::an_announced_address_is_echoed_and_joined_whoever_sends
        let Some(to) = port.or_else(|| self.remote.first().map(|r| r.address.port())) else { return Some(false) };
        let remote = SocketAddr::new(address, to);
        // An address beyond the limit is echoed and not used, as in Linux. One that comes too soon counts as lost, and
        // is announced again.
        //= RFC 8684 §3.4.1: "If the port number is different, the receiving host SHOULD try to set up a new subflow to this new
        //= address/port combination"
        //= tests: add_addr::another_port_of_an_announced_address_is_joined_too
        let is_new = self.remote.iter().all(|r| r.address != remote) && self.remote.len() <= self.accepted;
        if is_new && !self.new.take(now) {
            return None;
        }
        //= RFC 8684 §3.4.1: "a receiver receiving a fresh ADD_ADDR option (where E=0) will send the same option back to
        //= the sender, but not including the HMAC and with E=1"
        //= tests: add_addr::an_announced_address_is_echoed_and_joined_whoever_sends
        let echo = MptcpOption::AddAddress { id, address, port, hmac: None };
        if !self.announce.contains(&echo) {
            self.announce.push_back(echo);
        }
        if is_new {
            //= RFC 8684 §3.4.1: "All Address IDs learned via either MP_JOIN or ADD_ADDR SHOULD be stored by the receiver in a data
            //= structure that gathers all the Address-ID-to-address mappings for a connection"
            //= tests: remove_addr::a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset
            self.remote.push(RemoteAddress { id, address: remote, proved: false });
        }
        Some(is_new)
    }

    /// Handles the peer's removal of an address: it is not joined any more. "If an Address ID is not known, the
    /// receiver will silently ignore the request" (RFC 8684 §3.4.2).
    //= RFC 8684 §3.8: "Remove request for unknown Address ID: silently ignore"
    //= tests: remove_addr::a_removal_of_an_unknown_address_is_ignored
    //= RFC 8684 §3.4.2: "If the path is found to still be alive, the receiving host SHOULD no longer use the specified address for
    //= future connections"
    //= tests: remove_addr::the_initial_address_is_not_joined_again_after_its_removal
    pub(crate) fn take_removal(&mut self, id: AddressId) {
        self.initial_removed |= id == AddressId(0);
        // The first entry stays in the list, because its port is the connection's.
        self.remote.retain(|r| r.id != id || id == AddressId(0));
    }

    /// Adds an address of this host. Returns its identifier, unless the address is known already or no identifier is
    /// free.
    //= RFC 8684 §3.4.1: "The Address ID MUST uniquely identify the address for the sender of the option (within the scope of the
    //= connection)"
    //= tests: remove_addr::addresses_have_numbers_of_their_own
    //= RFC 8684 §3.4.1: "the address MUST be the same as the address previously assigned to this Address ID"
    //= tests: remove_addr::addresses_have_numbers_of_their_own
    //= RFC 8684 §3.4.1: "A host wishing to replace an existing Address ID MUST first remove the existing one"
    //= tests: remove_addr::addresses_have_numbers_of_their_own
    pub(crate) fn add_local(&mut self, address: IpAddr, meta: PathMeta) -> Option<AddressId> {
        let used = |id: u8| self.local.iter().any(|(known, _, _)| known.0 == id);
        let id = (1..=u8::MAX).find(|id| !used(*id)).map(AddressId)?;
        if self.local.iter().any(|(_, known, _)| *known == address) {
            return None;
        }
        self.local.push((id, address, meta));
        Some(id)
    }

    /// Removes an address of this host, and tells the peer if `tell` is set. Returns whether the address was known.
    //= RFC 8684 §3.4.2: "the affected host SHOULD announce this situation so that the peer can remove subflows related to this
    //= address"
    //= tests: remove_addr::the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order
    //= RFC 8684 §3.4.2: "Even if an address is not in use by an MPTCP connection, if it has been previously announced, an
    //= implementation SHOULD announce its removal"
    //= tests: remove_addr::an_address_that_nobody_joined_is_removed_too
    //= RFC 8684 §3.4.2: "A host MAY also choose to announce that a valid IP address should not be used any longer"
    //= tests: remove_addr::the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order
    pub(crate) fn remove_local(&mut self, address: IpAddr, tell: bool) -> bool {
        let Some(i) = self.local.iter().position(|(_, known, _)| *known == address) else { return false };
        let (id, _, _) = self.local.remove(i);
        self.unechoed.retain(|u| u.id != id);
        // Others may have waited for the echo of this one.
        if self.unechoed.iter().all(|u| u.tries == 0) {
            self.release_one();
        }
        self.ports.retain(|(of, _)| *of != id);
        if tell {
            self.announce.push_back(MptcpOption::RemoveAddress { ids: AddressIds::one(id) });
        }
        true
    }

    /// Stops repeating announcements.
    pub(crate) fn stop_repeating(&mut self) {
        self.unechoed.clear();
    }

    /// Stops announcing anything.
    pub(crate) fn stop_announcing(&mut self) {
        self.announce.clear();
        self.unechoed.clear();
    }
}

fn announcement(keys: &Keys, id: AddressId, address: IpAddr, port: Option<u16>) -> MptcpOption {
    let hmac = crypto::add_address_hmac(keys.local, keys.remote, id, address, port);
    MptcpOption::AddAddress { id, address, port, hmac: Some(hmac) }
}
