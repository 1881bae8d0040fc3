//! Listeners: the addresses at which an endpoint takes new connections, and how these are decided on.

use super::slots::Claim;
use super::{ConnectionHandle, Endpoint, ListenerHandle, LocalAddress, with_ids};
use crate::config::ConnectionConfig;
use crate::paths::addresses;
use core::fmt::{Display, Formatter};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A connection that a listener has accepted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The connection.
    pub connection: ConnectionHandle,
    /// The listener that accepted it.
    pub listener: ListenerHandle,
    /// The address that the peer connected to.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// Why a listener could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// Another listener has this address and port.
    AddressInUse,
    /// The port is 0.
    NoPort,
}

impl Display for ListenError {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            ListenError::AddressInUse => "another listener has this address and port",
            ListenError::NoPort => "a listener needs a port",
        })
    }
}

impl core::error::Error for ListenError {}

/// The endpoint does not have this listener, or no longer has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownListener;

impl Display for UnknownListener {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        f.write_str("no such listener")
    }
}

impl core::error::Error for UnknownListener {}

/// How a listener treats a SYN.
#[derive(Clone)]
pub(super) enum Policy {
    /// The application decides.
    Ask,
    /// The SYN is answered at once, with these settings and addresses.
    Accept(Arc<ConnectionConfig>, Arc<[addresses::NumberedAddress]>),
}

/// All listeners, by address.
#[derive(Default)]
pub(super) struct Listeners {
    by_address: BTreeMap<SocketAddr, (ListenerHandle, Policy)>,
    next: u32,
}

impl Listeners {
    //= RFC 9293 §3.9.1.1 (MUST-41): "Every passive OPEN call either creates a new connection record in LISTEN state, or it returns
    //= an error; it MUST NOT affect any previously created connection record"
    //= tests: incoming::a_port_of_a_connection_can_be_listened_at
    //= RFC 9293 §3.9.1.1 (MUST-42): "A TCP implementation that supports multiple concurrent connections MUST provide an OPEN call
    //= that will functionally allow an application to LISTEN on a port while a connection block with the same local port is in
    //= SYN-SENT or SYN-RECEIVED state"
    //= tests: incoming::a_port_of_a_connection_can_be_listened_at
    fn insert(&mut self, at: SocketAddr, policy: Policy) -> Result<ListenerHandle, ListenError> {
        // Without the scope and the flow label of an IPv6 address.
        let at = SocketAddr::new(at.ip(), at.port());
        if at.port() == 0 {
            return Err(ListenError::NoPort);
        }
        if self.by_address.contains_key(&at) {
            return Err(ListenError::AddressInUse);
        }
        let handle = ListenerHandle(self.next);
        self.next = self.next.wrapping_add(1);
        self.by_address.insert(at, (handle, policy));
        Ok(handle)
    }

    fn remove(&mut self, listener: ListenerHandle) -> Result<(), UnknownListener> {
        let before = self.by_address.len();
        self.by_address.retain(|_, (handle, _)| *handle != listener);
        if self.by_address.len() < before { Ok(()) } else { Err(UnknownListener) }
    }

    /// The listener for an address: the one that names it, otherwise one for any address of its family, otherwise one
    /// for any address.
    pub(super) fn at(&self, address: SocketAddr) -> Option<(ListenerHandle, &Policy)> {
        let any_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let family = if address.is_ipv4() { any_v4 } else { any };
        let found = [address.ip(), family, any].into_iter().find_map(|ip| {
            let at = SocketAddr::new(ip, address.port());
            self.by_address.get(&at)
        });
        found.map(|(handle, policy)| (*handle, policy))
    }
}

impl Endpoint {
    /// Listens at an address and port. The application decides on each connection ([`Endpoint::poll_incoming`]).
    ///
    /// The address `0.0.0.0` stands for every IPv4 address, `[::]` for every address of both families. A listener with
    /// a specific address precedes one for all.
    ///
    /// # Errors
    /// If another listener has this address and port, or the port is 0.
    pub fn listen(&mut self, at: SocketAddr) -> Result<ListenerHandle, ListenError> {
        self.listeners.insert(at, Policy::Ask)
    }

    /// Listens like [`Endpoint::listen`], but accepts every connection with these settings ([`Endpoint::poll_accept`])
    /// and answers each SYN at once. `addresses`: this host's addresses that a connection may use. All of them are
    /// announced except the one that the peer connected to.
    ///
    /// # Errors
    /// As for [`Endpoint::listen`].
    pub fn listen_and_accept(
        &mut self,
        at: SocketAddr,
        config: ConnectionConfig,
        addresses: &[LocalAddress],
    ) -> Result<ListenerHandle, ListenError> {
        self.listeners.insert(at, Policy::Accept(config.into(), with_ids(addresses).into()))
    }

    /// Stops listening. Accepted connections continue; those that wait for a decision are refused.
    ///
    /// # Errors
    /// If there is no such listener.
    pub fn unlisten(&mut self, listener: ListenerHandle) -> Result<(), UnknownListener> {
        self.listeners.remove(listener)?;
        self.refuse_incoming_of(listener);
        Ok(())
    }

    /// The next connection that a listener has accepted by itself ([`Endpoint::listen_and_accept`]). Its events
    /// ([`Endpoint::poll_event`]) follow after this call, beginning with
    /// [`ConnectionEvent::Connected`](crate::ConnectionEvent::Connected).
    pub fn poll_accept(&mut self) -> Option<Accepted> {
        let accepted = self.accepted.pop_front()?;
        let index = accepted.connection.index;
        self.slots[index as usize].claim = Claim::Known;
        self.collect(index);
        self.release_if_over(index);
        Some(accepted)
    }
}
