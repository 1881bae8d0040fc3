//! Slots of an endpoint's connections, and the indices that find them by addresses and by token.

use super::rest::Rest;
use super::{ConnectionHandle, Endpoint, ListenerHandle};
use crate::connection::Connection;
use core::net::SocketAddr;
use pathweave_scheduler::SubflowId;
use pathweave_units::Instant;
use pathweave_wire::mptcp::Token;

#[derive(Default)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) connection: Option<Box<Connection>>,
    /// The valid entry of this connection in the heap of timers.
    pub(super) timer: Option<Instant>,
    /// The valid entry in the heap of checks.
    pub(super) check: Option<Instant>,
    pub(super) queued: bool,
    /// Whether the connection counts as a handshake that waits.
    pub(super) half_open: bool,
    /// Whether the connection only waits for old segments (TIME-WAIT).
    pub(super) lingers: bool,
    pub(super) rest: Rest,
    /// Memory of the connection's waiting data when that was last counted, bytes.
    pub(super) waiting_bytes: u64,
    pub(super) claim: Claim,
    /// Keys of the indices that find this connection: its subflows' local and remote addresses, and its token.
    pub(super) addresses: Vec<Addresses>,
    pub(super) token: Option<Token>,
}

/// Whether the application knows of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Claim {
    /// The application has opened or accepted it, or [`Endpoint::poll_accept`] has returned it.
    #[default]
    Known,
    /// This listener has answered the SYN by itself, and the handshake is not complete.
    Handshake(ListenerHandle),
    /// A listener has accepted it by itself, and [`Endpoint::poll_accept`] has not returned it yet.
    Unclaimed,
}

/// Local and remote address of a subflow.
pub(super) type Addresses = (SocketAddr, SocketAddr);

impl ConnectionHandle {
    /// Number of the connection's slot in its endpoint, from 0. Existing connections have different slots, and a new
    /// connection may get the slot of a forgotten one, so that an application can keep its connections in a list.
    #[inline]
    pub fn slot(self) -> usize {
        self.index as usize
    }
}

impl Endpoint {
    pub(super) fn insert(&mut self, connection: Connection, addresses: Addresses) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.token = connection.local_token();
        if let Some(token) = slot.token {
            self.by_token.insert(token, index);
        }
        let mut connection = Box::new(connection);
        self.observing.begin(&mut connection);
        slot.connection = Some(connection);
        slot.rest.note_use();
        self.register(index, addresses, SubflowId(0));
        index
    }

    /// Directs segments between these addresses to this subflow. Addresses of subflows whose names were given to others
    /// are forgotten.
    #[cold]
    pub(super) fn register(&mut self, index: u32, addresses: Addresses, subflow: SubflowId) {
        let slot = &mut self.slots[index as usize];
        if let Some(connection) = slot.connection.as_deref() {
            let by_addresses = &mut self.by_addresses;
            slot.addresses.retain(|known| {
                let (of, id) = by_addresses.get(&known.0, &known.1).unwrap_or((u32::MAX, SubflowId(0)));
                let kept = of == index && *known != addresses && connection.table().is_between(id, &known.0, &known.1);
                if of == index && !kept {
                    by_addresses.remove(*known);
                }
                kept
            });
        }
        // Most connections have one subflow.
        slot.addresses.reserve_exact(1);
        slot.addresses.push(addresses);
        self.by_addresses.insert(addresses, (index, subflow));
    }

    pub(super) fn handle_of(&self, index: u32) -> ConnectionHandle {
        ConnectionHandle { index, generation: self.slots[index as usize].generation }
    }

    pub(super) fn slot(&self, handle: ConnectionHandle) -> Option<&Slot> {
        self.slots.get(handle.index as usize).filter(|s| s.generation == handle.generation)
    }

    /// Forgets a connection that is over and has reported everything.
    pub(super) fn release_if_over(&mut self, index: u32) {
        let Some(connection) = self.slots[index as usize].connection.as_deref() else { return };
        if connection.is_released() {
            self.release(index);
        } else if connection.lingers() {
            self.note_lingering(index);
        }
    }

    #[cold]
    pub(super) fn release(&mut self, index: u32) {
        self.observing.note_change(self.handle_of(index));
        self.slots[index as usize].connection = None;
        self.count_waiting(index);
        let slot = &mut self.slots[index as usize];
        self.half_open_now -= usize::from(core::mem::take(&mut slot.half_open));
        slot.generation = slot.generation.wrapping_add(1);
        slot.timer = None;
        slot.check = None;
        slot.lingers = false;
        slot.rest.end();
        slot.claim = Claim::Known;
        for addresses in slot.addresses.drain(..) {
            if self.by_addresses.get(&addresses.0, &addresses.1).is_some_and(|(i, _)| i == index) {
                self.by_addresses.remove(addresses);
            }
        }
        if let Some(token) = slot.token.take() {
            self.by_token.remove(&token);
        }
        self.free.push(index);
        self.forget_looks();
        self.forget_closed(index);
        self.look_for_room(index);
    }

    /// Number of entries of all tables, including free slots. This measures the memory of an endpoint apart from its
    /// open connections.
    pub fn footprint(&self) -> usize {
        let waiting = self.timers.len()
            + self.checks.len()
            + self.looks.len()
            + self.ready.len()
            + self.backlog.len()
            + self.budget.closed();
        let addresses: usize = self.slots.iter().map(|s| s.addresses.len()).sum();
        self.slots.len() + self.by_addresses.len() + self.by_token.len() + addresses + waiting + self.time_waits.len()
    }

    pub(super) fn is_in_use(&self, addresses: &Addresses) -> bool {
        let Some((index, subflow)) = self.by_addresses.get(&addresses.0, &addresses.1) else {
            return self.time_waits.holds(addresses);
        };
        let connection = self.slots[index as usize].connection.as_deref();
        connection.is_some_and(|c| c.table().is_between(subflow, &addresses.0, &addresses.1))
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.slots.iter().filter(|s| s.connection.is_some()).count()
    }
}
