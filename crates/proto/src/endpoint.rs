//! Many connections behind a set of addresses: demultiplexing, listeners, tokens, timers.

use crate::config::ConnectionConfig;
use crate::connection::{Connection, ConnectionEvent, Numbers, PathMeta, Transmit, capable, join};
use crate::parameter::ParameterError;
use crate::seq::SubflowId;
use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::mptcp::{AddressId, Key, MpJoin, MptcpOption, ResetReason, Token};
use pathweave_wire::{Ecn, Flags, Payload, Segment, crypto};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Names a connection of one endpoint. A handle of a connection that is gone finds nothing, even after its place was
/// given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionHandle {
    index: u32,
    generation: u32,
}

/// One of the endpoint's own addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalAddress {
    /// The address.
    pub address: IpAddr,
    /// What is configured about the path that starts here.
    pub meta: PathMeta,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// The timer entry that stands for this connection in the table.
    timer: Option<Instant>,
    queued: bool,
    accepted: bool,
}

struct Listener {
    config: ConnectionConfig,
    addresses: Vec<(AddressId, IpAddr, PathMeta)>,
}

/// Address identifiers are places in the list.
fn with_ids(addresses: &[LocalAddress]) -> Vec<(AddressId, IpAddr, PathMeta)> {
    addresses.iter().enumerate().map(|(i, a)| (AddressId(i as u8), a.address, a.meta)).collect()
}

/// Draws of a token that is not in use before plain TCP is taken instead.
const TOKEN_TRIES: u32 = 16;
/// The first port for connections that name none (RFC 6335 §6: the dynamic ports).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// A host's end of many connections.
///
/// One mutation, then drain: [`Endpoint::poll_transmit`] until nothing is left, [`Endpoint::poll_event`] likewise, then
/// wait for input or for [`Endpoint::poll_timeout`].
pub struct Endpoint {
    random: Random,
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_addresses: BTreeMap<(SocketAddr, SocketAddr), (u32, SubflowId)>,
    by_token: BTreeMap<Token, u32>,
    listeners: BTreeMap<u16, Listener>,
    /// Pairs of local and remote address that a packet can travel between; nothing: every pair.
    routes: Option<BTreeSet<(IpAddr, IpAddr)>>,
    /// Connections with something to send.
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    events: VecDeque<(ConnectionHandle, ConnectionEvent)>,
    accepted: VecDeque<ConnectionHandle>,
    /// Answers that belong to no connection.
    control: VecDeque<Segment>,
    next_port: u16,
}

impl Endpoint {
    /// An endpoint without connections. `random` makes keys, sequence numbers and nonces.
    pub fn new(random: Random) -> Self {
        Endpoint {
            random,
            routes: None,
            slots: Vec::new(),
            free: Vec::new(),
            by_addresses: BTreeMap::new(),
            by_token: BTreeMap::new(),
            listeners: BTreeMap::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            events: VecDeque::new(),
            accepted: VecDeque::new(),
            control: VecDeque::new(),
            next_port: FIRST_DYNAMIC_PORT,
        }
    }

    /// Accepts connections to `port` with these settings. `addresses` are this host's that a connection may use; all but
    /// the one that was connected to are announced.
    pub fn listen(&mut self, port: u16, config: ConnectionConfig, addresses: &[LocalAddress]) {
        self.listeners.insert(port, Listener { config, addresses: with_ids(addresses) });
    }

    /// The pairs of local and remote address with a route between them: no subflow is tried between others, as a host
    /// without a route refuses to connect.
    pub fn set_routes(&mut self, pairs: impl IntoIterator<Item = (IpAddr, IpAddr)>) {
        self.routes = Some(pairs.into_iter().collect());
    }

    fn numbers(&mut self) -> Numbers {
        Numbers { isn: self.random.next_u32(), nonce: self.random.next_u32() }
    }

    /// A key whose token is not in use (RFC 8684 §3.1); after some tries any key.
    fn fresh_key(&mut self) -> Option<Key> {
        (0..TOKEN_TRIES).find_map(|_| {
            let key = Key(self.random.next_u64());
            (!self.by_token.contains_key(&crypto::token(key))).then_some(key)
        })
    }

    fn free_port(&mut self, local: IpAddr, remote: SocketAddr) -> u16 {
        for _ in 0..=u16::MAX - FIRST_DYNAMIC_PORT {
            let port = self.next_port;
            self.next_port = if port == u16::MAX { FIRST_DYNAMIC_PORT } else { port + 1 };
            if !self.by_addresses.contains_key(&(SocketAddr::new(local, port), remote)) {
                return port;
            }
        }
        self.next_port
    }

    fn insert(&mut self, connection: Connection) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.slots[index as usize].connection = Some(Box::new(connection));
        index
    }

    fn handle_of(&self, index: u32) -> ConnectionHandle {
        ConnectionHandle { index, generation: self.slots[index as usize].generation }
    }

    fn slot(&self, handle: ConnectionHandle) -> Option<&Slot> {
        self.slots.get(handle.index as usize).filter(|s| s.generation == handle.generation)
    }

    /// Opens a connection from `local` (port 0: a free one) to `remote`. `addresses` are this host's that it may use.
    ///
    /// # Errors
    /// When the scheduler or controller does not take its parameters.
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        mut config: ConnectionConfig,
        addresses: &[LocalAddress],
    ) -> Result<ConnectionHandle, ParameterError> {
        let port = if local.port() == 0 { self.free_port(local.ip(), remote) } else { local.port() };
        let local = SocketAddr::new(local.ip(), port);
        let key = self.fresh_key();
        config.mptcp &= key.is_some();
        let key = key.unwrap_or(Key(0));
        let (numbers, ids) = (self.numbers(), with_ids(addresses));
        let connection = Connection::connect(now, config, key, numbers, (local, remote), &ids)?;
        let token = connection.local_token();
        let index = self.insert(connection);
        self.by_addresses.insert((local, remote), (index, SubflowId(0)));
        if let Some(token) = token {
            self.by_token.insert(token, index);
        }
        self.touch(index);
        Ok(self.handle_of(index))
    }

    /// A connection, to read its state.
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&Connection> {
        self.slot(handle)?.connection.as_deref()
    }

    /// Runs a command on a connection: write, read, close, abort.
    pub fn with<R>(&mut self, handle: ConnectionHandle, command: impl FnOnce(&mut Connection) -> R) -> Option<R> {
        self.slot(handle)?;
        let connection = self.slots[handle.index as usize].connection.as_deref_mut()?;
        let result = command(connection);
        self.touch(handle.index);
        Some(result)
    }

    /// Writes to a connection's stream; returns the bytes taken, 0 where the connection is gone.
    pub fn write(&mut self, now: Instant, handle: ConnectionHandle, payload: Payload) -> u64 {
        self.with(handle, |c| c.write(now, payload)).unwrap_or(0)
    }

    /// Reads at most `max` bytes in order from a connection.
    pub fn read(&mut self, now: Instant, handle: ConnectionHandle, max: u64) -> Option<Payload> {
        self.with(handle, |c| c.read(now, max)).flatten()
    }

    /// The next connection that a peer opened.
    pub fn poll_accept(&mut self) -> Option<ConnectionHandle> {
        self.accepted.pop_front()
    }

    /// The next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, ConnectionEvent)> {
        self.events.pop_front()
    }

    /// Takes a segment that arrived with this ECN codepoint.
    pub fn handle_segment(&mut self, now: Instant, ecn: Ecn, segment: &mut Segment) {
        let key = (segment.dst, segment.src);
        if let Some(&(index, subflow)) = self.by_addresses.get(&key)
            && let Some(connection) = self.slots[index as usize].connection.as_deref_mut()
        {
            if connection.has_subflow(subflow, key) {
                connection.handle_segment(now, subflow, ecn, segment);
                return self.after_input(index);
            }
            // The subflow's name has been given to another.
            self.by_addresses.remove(&key);
        }
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
            self.handle_syn(now, segment);
        } else {
            self.refuse(segment, None);
        }
    }

    fn handle_syn(&mut self, now: Instant, syn: &Segment) {
        if let (Some(MpJoin::Syn { token, .. }), None) = (join(syn), capable(syn)) {
            return self.handle_join(syn, *token);
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
        let token = connection.local_token();
        let index = self.insert(connection);
        self.by_addresses.insert((syn.dst, syn.src), (index, SubflowId(0)));
        if let Some(token) = token {
            self.by_token.insert(token, index);
        }
        self.touch(index);
    }

    fn handle_join(&mut self, syn: &Segment, token: Token) {
        let numbers = self.numbers();
        let found = self.by_token.get(&token).copied();
        let connection = found.and_then(|i| self.slots[i as usize].connection.as_deref_mut());
        let (Some(index), Some(connection)) = (found, connection) else {
            return self.refuse(syn, Some(ResetReason::MptcpError));
        };
        match connection.accept_join(syn, numbers) {
            Ok(subflow) => {
                self.by_addresses.insert((syn.dst, syn.src), (index, subflow));
                self.touch(index);
            }
            Err(reason) => self.refuse(syn, Some(reason)),
        }
    }

    /// A reset for what belongs to no connection.
    fn refuse(&mut self, segment: &Segment, reason: Option<ResetReason>) {
        let mut reset = segment.resetting_answer();
        if let Some(reason) = reason {
            reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason });
        }
        self.control.push_back(reset);
    }

    /// Runs every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, index))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let slot = &mut self.slots[index as usize];
            if slot.timer != Some(at) {
                continue;
            }
            slot.timer = None;
            if let Some(connection) = slot.connection.as_deref_mut() {
                if connection.poll_timeout().is_some_and(|t| t <= now) {
                    connection.handle_timeout(now);
                }
                self.after_input(index);
            }
        }
    }

    /// When [`Endpoint::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(segment) = self.control.pop_front() {
            return Some(Transmit { segment, segment_size: None, ecn: Ecn::NotEct });
        }
        while let Some(&index) = self.ready.front() {
            let slot = &mut self.slots[index as usize];
            if let Some(transmit) = slot.connection.as_deref_mut().and_then(|c| c.poll_transmit(now)) {
                return Some(transmit);
            }
            self.ready.pop_front();
            self.slots[index as usize].queued = false;
            self.update_timer(index);
            self.release_if_over(index);
        }
        None
    }

    /// After input: new joins, events, and whatever it now has to send.
    fn after_input(&mut self, index: u32) {
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else { return };
        for (local, remote) in connection.wanted_joins() {
            if self.routes.as_ref().is_some_and(|r| !r.contains(&(local.ip(), remote.ip()))) {
                continue;
            }
            let numbers = Numbers { isn: self.random.next_u32(), nonce: self.random.next_u32() };
            let port = self.free_port(local.ip(), remote);
            let local = SocketAddr::new(local.ip(), port);
            let connection = self.slots[index as usize].connection.as_deref_mut();
            if let Some(id) = connection.and_then(|c| c.join((local, remote), numbers)) {
                self.by_addresses.insert((local, remote), (index, id));
            }
        }
        self.touch(index);
    }

    /// A connection changed: its events are collected, and it is asked for segments and timers.
    fn touch(&mut self, index: u32) {
        let handle = self.handle_of(index);
        let slot = &mut self.slots[index as usize];
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        if !slot.accepted && connection.role() == crate::connection::Role::Server && connection.is_connected() {
            slot.accepted = true;
            self.accepted.push_back(handle);
        }
        while let Some(event) = connection.poll_event() {
            self.events.push_back((handle, event));
        }
        if !slot.queued {
            slot.queued = true;
            self.ready.push_back(index);
        }
    }

    /// Timers are looked up lazily: an entry that is too early costs one look, one that is too late would be a missed timer.
    fn update_timer(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(next) = slot.connection.as_deref().and_then(Connection::poll_timeout) else { return };
        if slot.timer.is_none_or(|t| next < t) {
            slot.timer = Some(next);
            self.timers.push(Reverse((next, index)));
            self.compact_timers();
        }
    }

    /// Entries that a sooner one has replaced stay until their time; too many of them are thrown out.
    fn compact_timers(&mut self) {
        if self.timers.len() > 4 * self.slots.len() + 64 {
            let slots = &self.slots;
            self.timers.retain(|Reverse((at, index))| slots[*index as usize].timer == Some(*at));
        }
    }

    /// Forgets a connection that is over and has told everything.
    fn release_if_over(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(connection) = slot.connection.as_deref() else { return };
        if !connection.is_released() {
            return;
        }
        slot.connection = None;
        slot.generation = slot.generation.wrapping_add(1);
        slot.timer = None;
        slot.accepted = false;
        self.by_addresses.retain(|_, (i, _)| *i != index);
        self.by_token.retain(|_, i| *i != index);
        self.free.push(index);
    }

    /// Connections that exist.
    pub fn connections(&self) -> usize {
        self.slots.iter().filter(|s| s.connection.is_some()).count()
    }
}
