//! Effects of changed addresses on the subflows (RFC 8684 §3.4), and priorities of subflows (§3.3.8). The addresses
//! themselves are in [`AddressBook`](crate::paths::addresses::AddressBook).

use super::mode::Mode;
use super::{Connection, DataFin, PathMeta, Role, SettingError, Shared};
use crate::paths::subflow::Subflow;
use crate::paths::table::Split;
use core::net::IpAddr;
use pathweave_scheduler::{SubflowId, SubflowSet};
use pathweave_units::Instant;
use pathweave_wire::Segment;
use pathweave_wire::mptcp::{AddressId, MptcpOption, ResetReason};

impl Connection {
    /// Whether subflow `id` is to carry an announcement on an acknowledgement of its own, before anything else.
    pub(super) fn announcement_is_due(&self, id: SubflowId) -> bool {
        let nothing = !self.shared.addresses.has_announcement();
        if nothing || !self.is_mptcp() || (self.shared.role == Role::Client && self.shared.is_unconfirmed()) {
            return false;
        }
        let first = self.subflows.iter().find(|s| s.is_alive());
        let ends = matches!(self.shared.life.data_fin, DataFin::Sent { .. });
        first.is_some_and(|s| s.id == id && !(s.send_data_fin && ends))
    }

    /// Whether subflow `id` may carry an announcement. A subflow that ends or does not answer carries none while another
    /// can, because it may be the one whose address is gone.
    pub(super) fn may_announce(&self, id: SubflowId) -> bool {
        if !self.shared.addresses.has_announcement() {
            return false;
        }
        let mut alive = self.subflows.iter().filter(|s| s.is_alive());
        match alive.next() {
            None => true,
            Some(first) if first.id == id => true,
            Some(_) => !self.shared.host.announces_on_first_subflow() && alive.any(|s| s.id == id),
        }
    }

    /// Adds an address of this host. A server announces it; a client joins from it at once.
    pub fn add_address(&mut self, now: Instant, address: IpAddr, meta: PathMeta) {
        // The address is known already, or 255 others are.
        let Some(id) = self.shared.addresses.add_local(address, meta) else { return };
        match (self.shared.mode, self.shared.role) {
            (Mode::Agreed(keys) | Mode::Confirmed(keys), Role::Server) => {
                self.shared.addresses.announce(&keys, id, address, None);
            }
            _ => self.shared.joins.request_at(now),
        }
    }

    /// Announces an address of this host, on either side. The peer may join it at `port`, or at the connection's port
    /// if that is `None`. Returns whether it is announced, which needs Multipath TCP.
    //= RFC 8684 §3.4.1: "there may be cases (such as port-based load balancing) where the explicit specification of a different port
    //= is required"
    //= tests: add_addr::a_client_announces_too_and_with_a_port
    pub fn announce_address(&mut self, address: IpAddr, meta: PathMeta, port: Option<u16>) -> bool {
        let Some(keys) = self.shared.mode.keys() else { return false };
        let known = self.shared.addresses.local().iter().find(|a| a.1 == address).map(|a| a.0);
        // 255 other addresses have all the identifiers.
        let Some(id) = known.or_else(|| self.shared.addresses.add_local(address, meta)) else { return false };
        self.shared.addresses.announce(&keys, id, address, port);
        true
    }

    /// Removes an address of this host: the peer is told, and subflows from this address end. "A subflow that is still
    /// functioning MUST be closed with a FIN exchange as in regular TCP" (RFC 8684 §3.4.2).
    //= RFC 8684 §3.4.2: "A subflow that is still functioning MUST be closed with a FIN exchange as in regular TCP,
    //= rather than using this option"
    //= tests: remove_addr::the_owner_of_an_address_removes_it_and_ends_its_subflows_in_order
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) {
        if !self.shared.addresses.remove_local(address, self.is_mptcp()) {
            return;
        }
        for subflow in self.subflows.iter_mut().filter(|s| s.tcp.local.ip() == address && !s.tcp.is_closed()) {
            self.shared.retire(now, subflow);
        }
        self.schedule(now);
    }

    /// Makes a subflow a backup or a normal subflow, here and at the peer (MP_PRIO, RFC 8684 §3.3.8).
    //= RFC 8684 §3.3.8: "the MP_PRIO option, shown in Figure 11, can be used to change the "B" flag of the subflow on
    //= which it is sent"
    //= tests: mp_prio::a_subflow_becomes_a_backup_and_is_used_again, mp_prio::with_nothing_but_backups_sending_goes_on
    ///
    /// # Errors
    /// If there is no such subflow, or it has ended.
    //= RFC 8684 §3.4.2: "Before the address is removed, the requesting host MAY also use MP_PRIO (Section 3.3.8) to request that a
    //= path no longer be used"
    //= tests: mp_prio::a_subflow_becomes_a_backup_and_is_used_again
    pub fn set_backup(&mut self, now: Instant, id: SubflowId, backup: bool) -> Result<(), SettingError> {
        let mptcp = self.is_mptcp();
        let subflow = self.subflows.get_mut(id).filter(|s| !s.tcp.is_closed()).ok_or(SettingError::UnknownSubflow)?;
        subflow.backup = backup;
        if mptcp {
            subflow.send_priority = Some(backup);
            subflow.tcp.signal();
        }
        self.schedule(now);
        Ok(())
    }

    /// Sends the probes that are due. If there was no answer, the subflow or the connection ends.
    pub(super) fn run_probes(&mut self, now: Instant) {
        let interval = self.shared.config.keep_alive;
        let next = |s: &Subflow| s.keep_alive.next_probe(&s.tcp, interval).filter(|_| !s.tcp.is_closed());
        let is_due = |s: &&mut Subflow| next(s).is_some_and(|t| t <= now);
        let mut removed = SubflowSet::EMPTY;
        for subflow in self.subflows.iter_mut().filter(is_due) {
            //= RFC 8684 §3.4.2: "The sending and receipt (if no keepalive response was received) of this message SHOULD trigger the
            //= sending of RSTs by both hosts on the affected subflow(s) (if possible)"
            //= tests: remove_addr::a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset
            if subflow.keep_alive.is_removed_for_certain() {
                removed = removed.with(subflow.id);
            } else {
                subflow.keep_alive.send_probe(now, &mut subflow.tcp, false);
            }
        }
        for id in removed.iter() {
            self.refuse_subflow(now, id, ResetReason::Unspecified);
        }
        let timeout = self.shared.config.close_timeout;
        let silent = |s: &Subflow| s.keep_alive.is_silent_for(now, timeout);
        if self.subflows.established().any(silent)
            && self.subflows.established().all(|s| silent(s) || s.repeats_for(now, timeout))
        {
            self.give_up(now);
        }
    }
}

impl Shared {
    /// Takes a REMOVE_ADDR: no more joins to the addresses; subflows that use one are asked whether they are alive. "If
    /// a host receives a REMOVE_ADDR option, it must ensure that the affected path or paths are no longer in use before
    /// it instigates closure. The receipt of REMOVE_ADDR SHOULD first trigger the sending of a TCP keepalive on the
    /// path" (RFC 8684 §3.4.2).
    //= RFC 8684 §3.4.2: "The receipt of REMOVE_ADDR SHOULD first trigger the sending of a TCP keepalive [RFC1122] on
    //= the path, and if a response is received, the path SHOULD NOT be removed"
    //= tests: remove_addr::a_path_that_answers_is_not_removed_and_one_that_does_not_is_reset
    pub(super) fn take_removal(&mut self, now: Instant, ids: &[AddressId], at: &mut Split<'_>) {
        for id in ids {
            if !self.addresses.may_answer(now) {
                return;
            }
            let of_id = |remote| self.addresses.remote().iter().any(|r| r.id == *id && r.address == remote);
            self.joins.forget_paths_to(of_id);
            self.addresses.take_removal(*id);
            let asked = |s: &Subflow| s.keep_alive.is_asked_after_removal();
            let uses = |s: &&mut Subflow| s.tcp.is_established() && s.remote_id == *id && !asked(s);
            for subflow in at.all_mut().filter(uses) {
                if self.addresses.may_answer(now) {
                    subflow.keep_alive.send_probe(now, &mut subflow.tcp, true);
                }
            }
        }
    }

    /// Puts MP_PRIO on an acknowledgement if it fits, otherwise on the next one.
    #[cold]
    pub(super) fn add_priority(&self, subflow: &mut Subflow, segment: &mut Segment) {
        // No change of priority waits.
        let Some(backup) = subflow.send_priority else { return };
        let option = MptcpOption::Priority { backup };
        if option.wire_len().next_multiple_of(4) <= segment.options.free_bytes() {
            segment.options.mptcp.push(option);
            subflow.send_priority = None;
        } else {
            subflow.tcp.signal();
        }
    }

    /// Takes an ADD_ADDR with a right HMAC and echoes it, or takes the echo of one of ours.
    pub(super) fn take_address(
        &mut self,
        now: Instant,
        id: AddressId,
        address: IpAddr,
        port: Option<u16>,
        hmac: Option<u64>,
    ) {
        // An infinite mapping or an MP_FAIL of the same segment may have made the connection plain TCP.
        let Some(keys) = self.mode.keys() else { return };
        // An echo has no HMAC.
        let Some(hmac) = hmac else { return self.addresses.take_echo(id) };
        // An announcement over the limits, or with a wrong HMAC, is ignored.
        let Some(is_new) = self.addresses.take_announcement(now, &keys, id, address, port, hmac) else { return };
        // A peer that knows both keys speaks Multipath TCP.
        self.confirm();
        if is_new {
            self.joins.request();
        }
    }
}
