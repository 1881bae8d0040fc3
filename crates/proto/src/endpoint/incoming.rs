//! What belongs to no subflow yet: new connections, joins, and what is refused.

use super::Endpoint;
use crate::connection::{Connection, join, names_capable};
use pathweave_units::Instant;
use pathweave_wire::mptcp::{Key, MpJoin, MptcpOption, ResetReason, Token};
use pathweave_wire::{Ecn, Segment};

impl Endpoint {
    #[cold]
    pub(super) fn handle_syn(&mut self, now: Instant, syn: &Segment) {
        //= RFC 8684 §3.2: "Demultiplexing subflow SYNs MUST be done using the token"
        //= tests: mp_join::an_unknown_token_is_refused, mp_capable::a_syn_that_also_joins_is_plain_tcp
        if let (Some(MpJoin::Syn { token, .. }), false) = (join(syn), names_capable(syn)) {
            return self.handle_join(now, syn, *token);
        }
        let key = self.fresh_key();
        let numbers = self.numbers();
        let Some(listener) = self.listeners.get(&syn.dst.port()) else {
            return self.refuse(syn, None);
        };
        let (mut config, ids) = (listener.config.clone(), listener.addresses.clone());
        config.mptcp &= key.is_some();
        let Ok(connection) = Connection::accept(now, config, key.unwrap_or(Key(0)), numbers, syn, &ids) else {
            return self.refuse(syn, None);
        };
        self.limit_half_open();
        let index = self.insert(connection, (syn.dst, syn.src));
        self.half_open.push_back(self.handle_of(index));
        self.touch(index);
    }

    /// Makes room for one more handshake: one that is still waiting after so many newer ones is forgotten.
    fn limit_half_open(&mut self) {
        while let Some(oldest) = self.half_open.front().copied() {
            let waits = self.connection(oldest).is_some_and(|c| !c.is_connected());
            if waits && self.half_open.len() < self.half_open_limit.max(1) {
                break;
            }
            self.half_open.pop_front();
            if waits {
                self.release(oldest.index);
            }
        }
    }

    #[cold]
    fn handle_join(&mut self, now: Instant, syn: &Segment, token: Token) {
        let numbers = self.numbers();
        let found = self.by_token.get(&token).copied();
        let connection = found.and_then(|i| self.slots[i as usize].connection.as_deref_mut());
        //= RFC 8684 §3.8: "Unknown token in MP_JOIN (or HMAC failure in MP_JOIN ACK, or missing MP_JOIN in SYN/ACK
        //= response): send RST"
        //= tests: mp_join::an_unknown_token_is_refused, mp_join::a_wrong_hmac_is_refused, mp_join::an_answer_without_mp_join_is_refused
        let (Some(index), Some(connection)) = (found, connection) else {
            return self.refuse(syn, Some(ResetReason::MptcpError));
        };
        match connection.accept_join(now, syn, numbers) {
            Ok(subflow) => {
                self.register(index, (syn.dst, syn.src), subflow);
                self.touch(index);
            }
            Err(reason) => self.refuse(syn, Some(reason)),
        }
    }

    /// A join that found no name for its subflow gets one once it has proved to be the peer's.
    #[cold]
    pub(super) fn handle_late_join(&mut self, now: Instant, index: u32, ecn: Ecn, segment: &mut Segment) {
        let addresses = (segment.dst, segment.src);
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else { return };
        match connection.take_late_join(now, segment) {
            Some(id) => {
                connection.handle_segment(now, id, ecn, segment);
                self.register(index, addresses, id);
                self.after_input(index);
            }
            None if connection.table().has_late_join(&segment.dst, &segment.src) => self.touch(index),
            None => {
                self.by_addresses.remove(addresses);
                self.touch(index);
            }
        }
    }

    /// A reset for what belongs to no connection.
    #[cold]
    pub(super) fn refuse(&mut self, segment: &Segment, reason: Option<ResetReason>) {
        let mut reset = segment.resetting_answer();
        if let Some(reason) = reason {
            reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason });
        }
        self.control.push_back(reset);
    }
}
