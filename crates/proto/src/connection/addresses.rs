//! Announcing and removing addresses, and taking what the peer announces and removes (RFC 8684 §3.4); priorities of subflows
//! (§3.3.8).

use super::handshake::{Keys, Mode};
use super::{Connection, DataFin, PathMeta, Role};
use crate::seq::SubflowId;
use core::net::{IpAddr, SocketAddr};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::{AddressId, AddressIds, MptcpOption};
use pathweave_wire::{Segment, crypto};

/// How often an announcement is repeated without an echo.
const TRIES: u32 = 8;
/// The first wait for an echo; doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// An announcement that was sent and not echoed: it may be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unechoed {
    id: AddressId,
    option: MptcpOption,
    /// When it is sent again; nothing: it waits for an acknowledgement to go on.
    pub(super) again: Option<Instant>,
    tries: u32,
}

impl Connection {
    /// Every further local address is announced.
    pub(super) fn announce_addresses(&mut self, keys: &Keys) {
        let initial = self.subflows.iter().next().map(|s| s.tcp.local);
        for (id, address, _) in &self.local_addresses {
            if Some(*address) == initial.map(|i| i.ip()) {
                continue;
            }
            let hmac = crypto::add_address_hmac(keys.local, keys.remote, *id, *address, None);
            let option = MptcpOption::AddAddress { id: *id, address: *address, port: None, hmac: Some(hmac) };
            self.announce.push_back(option);
        }
    }

    /// Whether subflow `id` is to carry an announcement on an acknowledgement of its own, before anything else.
    pub(super) fn announcement_is_due(&self, id: SubflowId) -> bool {
        if self.announce.is_empty() || !self.is_mptcp() || (self.role == Role::Client && self.is_unconfirmed()) {
            return false;
        }
        let first = self.subflows.iter().find(|s| s.usable() && !s.stale);
        let ends = matches!(self.data_fin, DataFin::Sent(_));
        first.is_some_and(|s| s.id == id && !(s.send_data_fin && ends))
    }

    /// Puts the next announcement on an acknowledgement of `subflow`. Where both do not fit, or the data sequence signal
    /// tells nothing new, it gives way, as in the kernel.
    #[cold]
    pub(super) fn add_announcement(&mut self, now: Instant, subflow: SubflowId, segment: &mut Segment) {
        let Some(option) = self.announce.front().copied() else { return };
        let len = option.wire_len().next_multiple_of(4);
        let signal = segment.options.dss;
        let is_news = self.subflows.get(subflow).is_some_and(|s| s.tcp.owes_ack());
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

    /// Announcements whose echo did not come are sent again, a bounded number of times.
    //= RFC 8684 §3.4.1: "the lack of this type of "echo" can indicate to the initial ADD_ADDR sender that the ADD_ADDR
    //= needs to be retransmitted"
    //= tests: add_addr::a_lost_announcement_is_repeated, add_addr::without_an_echo_announcing_ends
    pub(super) fn repeat_announcements(&mut self, now: Instant) {
        let due = |u: &Unechoed| u.again.is_some_and(|t| t <= now);
        self.unechoed.retain(|u| !due(u) || u.tries < TRIES);
        for unechoed in self.unechoed.iter_mut().filter(|u| due(u)) {
            unechoed.again = None;
            self.announce.push_back(unechoed.option);
        }
    }

    /// Takes an ADD_ADDR with a right HMAC and echoes it; takes the echo of one of ours.
    pub(super) fn take_address(
        &mut self,
        now: Instant,
        id: AddressId,
        address: IpAddr,
        port: Option<u16>,
        hmac: Option<u64>,
    ) {
        let Mode::Mptcp(keys) = self.mode else { return };
        let Some(hmac) = hmac else {
            self.unechoed.retain(|u| u.id != id);
            return;
        };
        if !self.addresses_taken.allows(now) {
            return;
        }
        let expected = crypto::add_address_hmac(keys.remote, keys.local, id, address, port);
        //= RFC 8684 §3.4.1: "If a host receives an ADD_ADDR option for which it cannot validate the HMAC, it SHOULD
        //= silently ignore the option"
        //= tests: add_addr::a_wrong_hmac_is_ignored_without_an_echo
        let right = crypto::constant_time_eq(&expected.to_be_bytes(), &hmac.to_be_bytes());
        if !right || address.is_loopback() || address.is_multicast() || address.is_unspecified() {
            return;
        }
        // Who knows both keys speaks Multipath TCP.
        self.confirm();
        if self.local_addresses.iter().any(|(_, own, _)| *own == address) {
            return;
        }
        let Some(to) = port.or_else(|| self.remote_addresses.first().map(|r| r.1.port())) else { return };
        //= RFC 8684 §3.4.1: "a receiver receiving a fresh ADD_ADDR option (where E=0) will send the same option back to
        //= the sender, but not including the HMAC and with E=1"
        //= tests: add_addr::an_announced_address_is_echoed_and_joined_whoever_sends
        let echo = MptcpOption::AddAddress { id, address, port, hmac: None };
        if !self.announce.contains(&echo) {
            self.announce.push_back(echo);
        }
        let remote = SocketAddr::new(address, to);
        let known = self.remote_addresses.iter().any(|r| r.1 == remote);
        if !known && self.remote_addresses.len() < SubflowId::MAX_SUBFLOWS {
            self.remote_addresses.push((id, remote));
            self.joins_wanted = true;
        }
    }

    /// Takes a REMOVE_ADDR: no more joins to the addresses; subflows that use one are asked whether they are alive. "If an
    /// Address ID is not known, the receiver will silently ignore the request" (RFC 8684 §3.4.2).
    //= RFC 8684 §3.8: "Remove request for unknown Address ID: silently ignore"
    //= tests: remove_addr::a_removal_of_an_unknown_address_is_ignored
    pub(super) fn take_removal(&mut self, now: Instant, ids: &[AddressId]) {
        for id in ids {
            self.initial_removed |= *id == AddressId(0);
            // The first one stays in the list, because its port is the connection's.
            self.remote_addresses.retain(|(known, _)| known != id || *id == AddressId(0));
            for subflow in self.subflows.ids() {
                if self.subflows.get(subflow).is_some_and(|s| s.remote_id == *id && !s.tcp.is_closed()) {
                    self.probe_for_removal(now, subflow);
                }
            }
        }
    }

    /// This host has a further address from now on: a server announces it, a client joins from it.
    pub fn add_address(&mut self, address: IpAddr, meta: PathMeta) {
        let used = |id: u8| self.local_addresses.iter().any(|(known, _, _)| known.0 == id);
        let Some(id) = (1..=u8::MAX).find(|id| !used(*id)) else { return };
        if self.local_addresses.iter().any(|(_, known, _)| *known == address) {
            return;
        }
        self.local_addresses.push((AddressId(id), address, meta));
        match (self.mode, self.role) {
            (Mode::Mptcp(keys), Role::Server) => {
                let hmac = crypto::add_address_hmac(keys.local, keys.remote, AddressId(id), address, None);
                let option = MptcpOption::AddAddress { id: AddressId(id), address, port: None, hmac: Some(hmac) };
                self.announce.push_back(option);
            }
            _ => self.joins_wanted = true,
        }
    }

    /// This host loses an address: the peer is told, and subflows from there end. "A subflow that is still functioning MUST be
    /// closed with a FIN exchange as in regular TCP" (RFC 8684 §3.4.2).
    //= RFC 8684 §3.4.2: "A subflow that is still functioning MUST be closed with a FIN exchange as in regular TCP,
    //= rather than using this option"
    //= tests: remove_addr::the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) {
        let Some(i) = self.local_addresses.iter().position(|(_, known, _)| *known == address) else { return };
        let (id, _, _) = self.local_addresses.remove(i);
        self.unechoed.retain(|u| u.id != id);
        if self.is_mptcp() {
            self.announce.push_back(MptcpOption::RemoveAddress { ids: AddressIds::one(id) });
        }
        for id in self.subflows.ids() {
            if self.subflows.get(id).is_some_and(|s| s.tcp.local.ip() == address && !s.tcp.is_closed()) {
                self.retire_subflow(now, id);
            }
        }
        self.schedule(now);
    }

    /// Makes a subflow a backup, or one like the others, here and at the peer (MP_PRIO, RFC 8684 §3.3.8).
    //= RFC 8684 §3.3.8: "the MP_PRIO option, shown in Figure 11, can be used to change the "B" flag of the subflow on
    //= which it is sent"
    //= tests: mp_prio::a_subflow_becomes_a_backup_and_is_used_again, mp_prio::with_nothing_but_backups_sending_goes_on
    pub fn set_backup(&mut self, now: Instant, id: SubflowId, backup: bool) {
        let mptcp = self.is_mptcp();
        if let Some(subflow) = self.subflows.get_mut(id) {
            subflow.backup = backup;
            if mptcp {
                subflow.send_priority = Some(backup);
                subflow.tcp.signal();
            }
        }
        self.schedule(now);
    }
}
