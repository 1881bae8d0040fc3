//! Many connections behind a set of addresses: demultiplexing, listeners, tokens, timers.

mod cookies;
mod demux;
mod errors;
mod handles;
mod incoming;
mod joins;
mod limits;
mod listener;
mod observing;
mod path_mtu;
mod rest;
mod secrets;
mod slots;
mod time_wait;
mod timers;

use crate::config::ConnectionConfig;
use crate::connection::{
    Amount, Connection, ConnectionEvent, PathMeta, ReadError, Transmit, UnknownConnection, WriteError,
};
use crate::paths::table::LATE_JOIN;
use bytes::Bytes;
use cookies::Cookies;
use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};
use demux::Demux;
pub use errors::ConnectError;
pub use handles::{ConnectionHandle, ListenerHandle};
use incoming::Backlog;
pub use incoming::{AcceptError, Incoming};
use limits::Budget;
pub use limits::EndpointLimits;
use listener::Listeners;
pub use listener::{Accepted, ListenError, UnknownListener};
use observing::Observing;
pub use path_mtu::PathMtuError;
use path_mtu::PathMtus;
use pathweave_units::Instant;
use pathweave_wire::mptcp::{AddressId, Key, Token};
use pathweave_wire::{Ecn, Flags, Payload, Segment};
use rest::Looks;
pub use secrets::Secrets;
use slots::{Claim, Slot};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use time_wait::TimeWaits;

/// One of the endpoint's own addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalAddress {
    /// The address.
    pub address: IpAddr,
    /// Settings of the path that starts at this address.
    pub meta: PathMeta,
}

/// Gives each address its index as identifier. Addresses beyond the 256th do not fit into an identifier's octet and are
/// not used.
fn with_ids(addresses: &[LocalAddress]) -> Vec<(AddressId, IpAddr, PathMeta)> {
    (0..=u8::MAX).zip(addresses).map(|(i, a)| (AddressId(i), a.address, a.meta)).collect()
}

/// Default of [`Endpoint::set_half_open_limit`].
const HALF_OPEN: usize = 4096;

/// One host's end of many connections.
///
/// After each mutation, drain it: call [`Endpoint::poll_transmit`] until it returns nothing, and
/// [`Endpoint::poll_event`] likewise. Then wait for input or for [`Endpoint::poll_timeout`].
pub struct Endpoint {
    secrets: Secrets,
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_addresses: Demux,
    by_token: BTreeMap<Token, u32>,
    /// Limit of handshakes that wait for their third segment, and their present number.
    half_open_limit: usize,
    half_open_now: usize,
    cookies: Cookies,
    listeners: Listeners,
    backlog: Backlog,
    /// Pairs of local and remote address with a route between them; `None`: every pair.
    routes: Option<BTreeSet<(IpAddr, IpAddr)>>,
    path_mtus: PathMtus,
    /// Connections that may have something to send.
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    /// When connections check for data that may have vanished. These are no timers, because a check usually changes
    /// nothing.
    checks: BinaryHeap<Reverse<(Instant, u32)>>,
    events: VecDeque<(ConnectionHandle, ConnectionEvent)>,
    observing: Observing,
    accepted: VecDeque<Accepted>,
    budget: Budget,
    time_waits: TimeWaits,
    looks: Looks,
    /// Answers that belong to no connection.
    control: VecDeque<Segment>,
}

impl Endpoint {
    /// An endpoint without connections.
    pub fn new(secrets: Secrets) -> Self {
        Endpoint {
            secrets,
            routes: None,
            path_mtus: PathMtus::default(),
            slots: Vec::new(),
            free: Vec::new(),
            by_addresses: Demux::default(),
            by_token: BTreeMap::new(),
            half_open_limit: HALF_OPEN,
            half_open_now: 0,
            cookies: Cookies::default(),
            listeners: Listeners::default(),
            backlog: Backlog::default(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            checks: BinaryHeap::new(),
            events: VecDeque::new(),
            observing: Observing::default(),
            accepted: VecDeque::new(),
            budget: Budget::default(),
            time_waits: TimeWaits::default(),
            looks: Looks::default(),
            control: VecDeque::new(),
        }
    }

    /// Sets the pairs of local and remote address with a route between them. No subflow is tried between other
    /// addresses, as a host without a route refuses to connect.
    pub fn set_routes(&mut self, pairs: impl IntoIterator<Item = (IpAddr, IpAddr)>) {
        self.routes = Some(pairs.into_iter().collect());
    }

    /// Limits the handshakes that wait for their third segment, so that a flood of SYNs takes a bounded amount of
    /// memory. Further SYNs are answered with SYN cookies.
    pub fn set_half_open_limit(&mut self, limit: usize) {
        self.half_open_limit = limit;
    }

    /// Opens a connection from `local` (port 0: any free one) to `remote`. `addresses` are this host's addresses that
    /// it may use.
    ///
    /// # Errors
    /// If `remote` is not the address of one host, there is a connection between these addresses already, no port is
    /// free, there are too many connections, or the scheduler or controller rejects its parameters.
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        mut config: ConnectionConfig,
        addresses: &[LocalAddress],
    ) -> Result<ConnectionHandle, ConnectError> {
        //= RFC 9293 §3.9.1.1 (MUST-46): "A TCP implementation MUST reject as an error a local OPEN call for an invalid remote IP address
        //= (e.g., a broadcast or multicast address)"
        //= tests: api::nobody_connects_to_an_address_that_is_not_one_hosts
        if incoming::is_nobodys(remote.ip()) || remote.port() == 0 {
            return Err(ConnectError::InvalidRemote);
        }
        if self.is_full() {
            return Err(ConnectError::TooManyConnections);
        }
        let port = match local.port() {
            0 => self.free_port(local.ip(), remote).ok_or(ConnectError::NoFreePort)?,
            port => port,
        };
        //= RFC 9293 §3.9.1.1 (MUST-43): "The optional "local IP address" parameter MUST be supported to allow the specification of
        //= the local IP address"
        //= tests: api::addresses_are_those_of_the_first_subflow
        let local = SocketAddr::new(local.ip(), port);
        if self.is_in_use(&(local, remote)) {
            return Err(ConnectError::AddressInUse);
        }
        let key = self.fresh_key();
        config.mptcp &= key.is_some();
        let key = key.unwrap_or(Key(0));
        let (new, ids) = (self.new_subflow(now, local, remote), with_ids(addresses));
        let connection = Connection::connect(now, config.into(), key, new, (local, remote), &ids)?;
        let index = self.insert(connection, (local, remote));
        self.use_learned_path_mtu(now, index, (local.ip(), remote.ip()));
        self.touch(index);
        Ok(self.handle_of(index))
    }

    /// A connection, for reading its state.
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&Connection> {
        self.slot(handle)?.connection.as_deref()
    }

    /// Runs a command on a connection.
    ///
    /// # Errors
    /// If there is no such connection.
    pub fn with<R>(
        &mut self,
        handle: ConnectionHandle,
        command: impl FnOnce(&mut Connection) -> R,
    ) -> Result<R, UnknownConnection> {
        let connection = self.connection_mut(handle).ok_or(UnknownConnection)?;
        let result = command(connection);
        self.slots[handle.index as usize].rest.note_use();
        self.touch(handle.index);
        Ok(result)
    }

    fn connection_mut(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.slot(handle)?;
        self.slots[handle.index as usize].connection.as_deref_mut()
    }

    /// Writes to a connection's stream. Returns the number of bytes accepted, at least one unless `payload` is empty.
    ///
    /// # Errors
    /// If the send buffer is full, or the stream can no longer be written to.
    ///
    /// # Panics
    /// As for [`Connection::write`].
    pub fn write(&mut self, now: Instant, handle: ConnectionHandle, payload: Payload) -> Result<u64, WriteError> {
        self.with(handle, |c| c.write(now, payload))?
    }

    /// Writes chunks of bytes to a connection's stream in one write ([`Connection::write_chunks`]).
    ///
    /// # Errors
    /// As for [`Endpoint::write`]; `chunks` is unchanged then.
    ///
    /// # Panics
    /// As for [`Connection::write_chunks`].
    pub fn write_chunks(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        chunks: &mut [Bytes],
    ) -> Result<Amount, WriteError> {
        self.with(handle, |c| c.write_chunks(now, chunks))?
    }

    /// Writes like [`Endpoint::write`]. If all of `payload` is accepted, a message of the application ends with it.
    ///
    /// # Errors
    /// As for [`Endpoint::write`].
    ///
    /// # Panics
    /// As for [`Connection::write`].
    pub fn write_message(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        payload: Payload,
    ) -> Result<u64, WriteError> {
        self.with(handle, |c| c.write_message(now, payload))?
    }

    /// Closes our direction of a connection, after all written data.
    ///
    /// # Errors
    /// If there is no such connection.
    pub fn close(&mut self, now: Instant, handle: ConnectionHandle) -> Result<(), UnknownConnection> {
        self.with(handle, |c| c.close(now))
    }

    /// Ends a connection at once and tells the peer.
    ///
    /// # Errors
    /// If there is no such connection.
    pub fn abort(&mut self, now: Instant, handle: ConnectionHandle) -> Result<(), UnknownConnection> {
        self.with(handle, |c| c.abort(now))
    }

    /// Reads at most `max` bytes in order from a connection.
    ///
    /// # Errors
    /// If there is no data yet, or will never be any.
    pub fn read(&mut self, now: Instant, handle: ConnectionHandle, max: u64) -> Result<Payload, ReadError> {
        self.read_with(now, handle, |connection| connection.read(now, max))
    }

    /// Reads at most `max` bytes in order from a connection, one contiguous piece into each chunk
    /// ([`Connection::read_chunks`]).
    ///
    /// # Errors
    /// As for [`Endpoint::read`], and [`ReadError::Virtual`] if the peer's stream has no bytes.
    pub fn read_chunks(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        max: u64,
        chunks: &mut [Bytes],
    ) -> Result<Amount, ReadError> {
        self.read_with(now, handle, |connection| connection.read_chunks(now, max, chunks))
    }

    #[inline]
    fn read_with<R>(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        read: impl FnOnce(&mut Connection) -> Result<R, ReadError>,
    ) -> Result<R, ReadError> {
        let connection = self.connection_mut(handle).ok_or(UnknownConnection)?;
        let out = read(connection)?;
        // Reading has no other consequences, so otherwise the connection need not be asked for output.
        let touched = connection.acknowledges_reading(now) || connection.at_end() || connection.error().is_some();
        self.count_waiting(handle.index);
        self.look_for_room(handle.index);
        self.slots[handle.index as usize].rest.note_use();
        match touched {
            true => self.touch(handle.index),
            false => self.list_used(now, handle.index),
        }
        Ok(out)
    }

    /// The next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, ConnectionEvent)> {
        self.events.pop_front()
    }

    /// Processes a segment that arrived with this ECN codepoint, or several segments that a device has joined
    /// ([`Segment::segment_size`]). Data that is kept shares the memory of the segment's bytes.
    ///
    /// Joined segments, with one mapping or several, have the same effect as single ones, except for acknowledgements.
    /// As in a kernel with receive offload, there is one decision for all parts: an acknowledgement is due if they have
    /// more bytes than one full segment. Each part counts as a full segment in length.
    //= RFC 9293 §3.10.7.4 (MUST-58): "In general, the processing of received segments MUST be implemented to aggregate ACK segments
    //= whenever possible"
    //= tests: super_segments::what_arrives_as_one_is_taken_as_several_are, delayed_ack::every_second_full_segment_is_acknowledged
    pub fn handle_segment(&mut self, now: Instant, ecn: Ecn, segment: &Segment) {
        let found = self.by_addresses.get(&segment.dst, &segment.src);
        let no_memory = found.is_some_and(|(index, _)| self.has_no_memory_for(index, segment));
        if found.is_some_and(|(index, _)| self.slots[index as usize].half_open)
            && self.repeats_earlier_end(now, segment)
        {
            return;
        }
        let may_open = segment.flags.contains(Flags::SYN) && self.has_use_for(segment);
        if let Some((index, subflow)) = found
            && let slot = &mut self.slots[index as usize]
            && let Some(connection) = slot.connection.as_deref_mut()
        {
            slot.rest.note_use();
            if subflow == LATE_JOIN {
                return self.handle_late_join(now, index, ecn, segment);
            }
            if may_open && time_wait::gives_way(&mut self.time_waits, now, connection, subflow, segment) {
                self.by_addresses.remove((segment.dst, segment.src));
                self.after_input(now, index);
                return self.handle_stranger(now, ecn, segment);
            }
            if connection.table().is_between(subflow, &segment.dst, &segment.src) {
                if connection.handle_segment(now, subflow, ecn, segment, no_memory) {
                    self.note_closed(index);
                }
                // A mapping without data is kept too.
                if !segment.payload.is_empty() || segment.options.dss.is_some_and(|dss| dss.mapping.is_some()) {
                    self.count_waiting(index);
                }
                self.look_for_room(index);
                return self.after_input(now, index);
            }
            // Another subflow has this name now.
            self.by_addresses.remove((segment.dst, segment.src));
        }
        self.handle_stranger(now, ecn, segment);
    }

    /// The next segment to send, or at most `max_segments` of one subflow that leave as one
    /// ([`Segment::segment_size`]), up to 64 KiB. With `max_segments` of 1 each leaves alone. After cutting
    /// ([`Segment::parts`]) the segments on the wire are the same either way.
    pub fn poll_transmit(&mut self, now: Instant, max_segments: usize) -> Option<Transmit> {
        let mut segment = Segment::default();
        let ecn = self.poll_transmit_into(now, max_segments, &mut segment)?;
        let departure = self.departure(now, &segment);
        Some(Transmit { segment, ecn, departure })
    }

    /// When the last segment that was given out is to leave ([`Transmit::departure`]), for drivers that use
    /// [`Endpoint::poll_transmit_into`].
    pub fn departure(&self, now: Instant, segment: &Segment) -> Instant {
        let connection = self.ready.front().and_then(|index| self.slots[*index as usize].connection.as_deref());
        let paced = connection.filter(|_| !segment.payload.is_empty()).and_then(Connection::departure);
        paced.map_or(now, |departure| departure.max(now))
    }

    /// Writes the next segment to send into `segment`, whatever it held before, and returns its packet's ECN codepoint.
    /// This is [`Endpoint::poll_transmit`] for drivers that keep segments where they are made.
    pub fn poll_transmit_into(&mut self, now: Instant, max_segments: usize, segment: &mut Segment) -> Option<Ecn> {
        if let Some(answer) = self.control.pop_front() {
            *segment = answer;
            return Some(Ecn::NotEct);
        }
        while let Some(&index) = self.ready.front() {
            let slot = &mut self.slots[index as usize];
            let connection = slot.connection.as_deref_mut();
            if let Some(ecn) = connection.and_then(|c| c.poll_transmit(now, max_segments, segment)) {
                return Some(ecn);
            }
            self.ready.pop_front();
            self.after_output(now, index);
        }
        None
    }

    /// A connection has nothing more to send.
    fn after_output(&mut self, now: Instant, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.queued = false;
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        self.observing.note_change(ConnectionHandle { index, generation: slot.generation });
        // Sending may have made room in the send buffer.
        let has_news = connection.has_news();
        self.update_timer(now, index);
        if has_news {
            self.collect(index);
        }
        self.update_check(index);
        self.list_used(now, index);
        self.release_if_over(index);
    }

    /// After input: starts new joins, and lists the connection for its events and segments.
    fn after_input(&mut self, now: Instant, index: u32) {
        let Some(connection) = self.slots[index as usize].connection.as_deref_mut() else { return };
        if connection.wants_joins() {
            self.join(now, index);
        }
        self.touch(index);
    }

    /// A connection changed: collects its events and lists it as ready to be asked for segments and timers.
    fn touch(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        if slot.half_open && connection.is_connected() {
            slot.half_open = false;
            self.half_open_now -= 1;
            self.time_waits.remove((connection.local_address(), connection.remote_address()));
        }
        if let Claim::Handshake(listener) = slot.claim
            && connection.is_connected()
        {
            slot.claim = Claim::Unclaimed;
            let (local, remote) = (connection.local_address(), connection.remote_address());
            let connection = ConnectionHandle { index, generation: slot.generation };
            self.accepted.push_back(Accepted { connection, listener, local, remote });
        }
        if slot.token.is_some() && connection.is_plain() {
            // The keys have no meaning any more (RFC 8684 §3.7).
            if let Some(token) = slot.token.take() {
                self.by_token.remove(&token);
            }
        }
        let has_news = connection.has_news();
        if !slot.queued {
            slot.queued = true;
            self.ready.push_back(index);
        }
        if has_news {
            self.collect(index);
        }
    }

    /// Takes a connection's events and observations. The application gets the events of a connection that a listener
    /// accepts by itself only after [`Endpoint::poll_accept`] has returned it, and none of one whose handshake fails.
    fn collect(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        let handle = ConnectionHandle { index, generation: slot.generation };
        match slot.claim {
            Claim::Known => {
                while let Some(event) = connection.poll_event() {
                    // Readable data is reported once until the event is polled.
                    let told = (handle, event);
                    if event != ConnectionEvent::Readable || self.events.back() != Some(&told) {
                        self.events.push_back(told);
                    }
                }
            }
            Claim::Handshake(_) => while connection.poll_event().is_some() {},
            Claim::Unclaimed => {}
        }
        self.observing.collect(handle, connection);
    }
}
