//! Further subflows, opened by a connection or by its peer.

use super::Endpoint;
use core::net::SocketAddr;
use pathweave_units::Instant;
use pathweave_wire::mptcp::{MptcpOption, ResetReason, Token};
use pathweave_wire::{Ecn, Segment};

impl Endpoint {
    /// Starts the subflows that a connection wants.
    #[cold]
    pub(super) fn join(&mut self, now: Instant, index: u32) {
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else { return };
        for (local, remote) in connection.wanted_joins() {
            if self.routes.as_ref().is_some_and(|r| !r.contains(&(local.ip(), remote.ip()))) {
                continue;
            }
            let Some(port) = self.free_port(local.ip(), remote) else { continue };
            let local = SocketAddr::new(local.ip(), port);
            let new = self.new_subflow(now, local, remote);
            let connection = self.slots[index as usize].connection.as_deref_mut();
            if let Some(id) = connection.and_then(|c| c.join(now, (local, remote), new)) {
                self.register(index, (local, remote), id);
                self.use_learned_path_mtu(now, index, (local.ip(), remote.ip()));
            }
        }
    }

    #[cold]
    pub(super) fn handle_join(&mut self, now: Instant, syn: &Segment, token: Token) {
        let new = self.new_subflow(now, syn.dst, syn.src);
        let found = self.by_token.get(&token).copied();
        let connection = found.and_then(|i| self.slots[i as usize].connection.as_deref_mut());
        //= RFC 8684 §3.8: "Unknown token in MP_JOIN (or HMAC failure in MP_JOIN ACK, or missing MP_JOIN in SYN/ACK
        //= response): send RST"
        //= tests: mp_join::an_unknown_token_is_refused, mp_join::a_wrong_hmac_is_refused, mp_join::an_answer_without_mp_join_is_refused
        let (Some(index), Some(connection)) = (found, connection) else {
            return self
                .refuse_segment(syn, Some(MptcpOption::Reset { transient: false, reason: ResetReason::MptcpError }));
        };
        match connection.accept_join(now, syn, new) {
            Ok(subflow) => {
                self.register(index, (syn.dst, syn.src), subflow);
                self.use_learned_path_mtu(now, index, (syn.dst.ip(), syn.src.ip()));
                self.touch(index);
            }
            Err(why) => self.refuse_segment(syn, Some(why)),
        }
    }

    /// Gives a name to a join that found none free, if this segment proves that it comes from the peer.
    #[cold]
    pub(super) fn handle_late_join(&mut self, now: Instant, index: u32, ecn: Ecn, segment: &Segment) {
        let addresses = (segment.dst, segment.src);
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else { return };
        match connection.take_late_join(now, segment) {
            Some(id) => {
                connection.handle_segment(now, id, ecn, segment, false);
                self.register(index, addresses, id);
                self.use_learned_path_mtu(now, index, (addresses.0.ip(), addresses.1.ip()));
                self.after_input(now, index);
            }
            None if connection.table().has_late_join(&segment.dst, &segment.src) => self.touch(index),
            None => {
                self.by_addresses.remove(addresses);
                self.touch(index);
            }
        }
    }
}
