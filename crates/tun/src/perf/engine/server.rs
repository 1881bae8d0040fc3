//! The engine as the server of a measurement.

use super::{AFTER_THE_END, EngineOptions, Flow, HOST, addresses, answers_for, finish_capture, host, hurry_close};
use crate::perf::following::Following;
use crate::perf::stream::totals;
use crate::perf::{Processor, Request, Served, Sink, Source, Totals};
use crate::uplinks::Purpose;
use crate::{Clock, run};
use bytes::Bytes;
use pathweave_driver::Applications;
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, ReadError};
use pathweave_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A connection that the server serves.
struct Session {
    /// The bytes of the request so far; `None` once it is complete.
    request: Option<Vec<u8>>,
    /// This process's processor time when the session began.
    processor: Processor,
    flow: Flow,
    /// Whether the client sends data. The server then sends its totals only after the client's stream has ended.
    client_sends: bool,
    said_totals: bool,
}

struct Server<'a> {
    sessions: BTreeMap<ConnectionHandle, Session>,
    /// The server's addresses, and those that are gone. A connection that is accepted late may have begun at one of the
    /// latter.
    addresses: Vec<LocalAddress>,
    gone: Vec<IpAddr>,
    served: u64,
    /// Time for which the server answers packets after the last connection.
    answers_for: Duration,
    on_served: &'a mut dyn FnMut(&Served<'_>),
}

impl Session {
    fn new() -> Self {
        let flow = Flow::new(Source::nothing(false), Sink::new(0, false));
        let processor = Processor::now();
        Session { request: Some(Vec::new()), processor, flow, client_sends: true, said_totals: false }
    }

    /// Reads the request, and none of the data behind it.
    fn read_request(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        let Some(bytes) = &mut self.request else { return };
        while bytes.len() < Request::BYTES {
            match endpoint.read(now, connection, (Request::BYTES - bytes.len()) as u64) {
                Ok(payload) => bytes.extend(payload.to_vec()),
                Err(ReadError::Blocked) => return,
                Err(error) => {
                    self.flow.error = Some(format!("no request: {error}"));
                    return;
                }
            }
        }
        let Some(request) = bytes.first_chunk().and_then(Request::read) else {
            self.flow.error = Some("the client's first bytes are no request".into());
            let _ = endpoint.abort(now, connection);
            return;
        };
        let source = request.source(request.down, now);
        self.flow = Flow { echo: request.echo, ..Flow::new(source, request.sink(0)) };
        self.client_sends = request.client_sends();
        self.request = None;
    }

    fn go_on(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        self.read_request(now, endpoint, connection);
        if self.request.is_some() || self.flow.error.is_some() {
            return;
        }
        if !self.flow.peer_has_ended {
            self.flow.read(now, endpoint, connection);
        }
        let may_end = self.flow.peer_has_ended || !self.client_sends;
        while self.flow.write(now, endpoint, connection) && may_end && !self.flow.closed {
            if self.said_totals {
                self.flow.close(now, endpoint, connection);
            } else {
                self.said_totals = true;
                let totals = self.totals().bytes();
                self.flow.pending.push(Bytes::copy_from_slice(&totals));
            }
        }
    }

    fn totals(&self) -> Totals {
        let processor = Processor::now().since(self.processor);
        let mut totals = Totals { processor, ..totals(&self.flow.source, &self.flow.sink) };
        if self.flow.echo {
            (totals.written, totals.written_hash) = (totals.received, totals.received_hash);
        }
        totals
    }
}

impl Server<'_> {
    /// Replaces the server's addresses.
    fn follow(&mut self, addresses: Vec<LocalAddress>) {
        self.gone.extend(self.addresses.iter().map(|a| a.address));
        self.gone.retain(|gone| addresses.iter().all(|a| a.address != *gone));
        self.gone.sort_unstable();
        self.gone.dedup();
        self.addresses = addresses;
    }

    /// Ends the session of a connection and reports its totals.
    fn leave(&mut self, endpoint: &Endpoint, connection: ConnectionHandle) {
        if let Some(session) = self.sessions.remove(&connection) {
            self.served += 1;
            self.answers_for = answers_for(endpoint, connection);
            let totals = session.totals();
            // A connection closes without an error only after the acknowledgement of its last byte.
            (self.on_served)(&Served { totals: &totals, error: session.flow.error.as_deref() });
        }
    }

    /// Keeps a path that is dark at the end from delaying its session.
    fn hurry_closes(&self, endpoint: &mut Endpoint) {
        for (connection, session) in &self.sessions {
            if session.flow.closed && session.flow.peer_has_ended {
                hurry_close(endpoint, *connection);
            }
        }
    }
}

impl Applications for Server<'_> {
    fn serve(&mut self, now: Instant, _host: usize, endpoint: &mut Endpoint) -> bool {
        let mut acted = false;
        while let Some(accepted) = endpoint.poll_accept() {
            acted = true;
            self.sessions.insert(accepted.connection, Session::new());
            let _ = endpoint.with(accepted.connection, |c| {
                self.gone.iter().for_each(|address| c.remove_address(now, *address));
                self.addresses.iter().for_each(|a| c.add_address(now, a.address, a.meta));
            });
        }
        while let Some((connection, event)) = endpoint.poll_event() {
            acted = true;
            let Some(session) = self.sessions.get_mut(&connection) else { continue };
            let ended = match event {
                ConnectionEvent::Closed => true,
                ConnectionEvent::Failed(error) => {
                    session.flow.error.get_or_insert_with(|| error.to_string());
                    true
                }
                _ => {
                    session.go_on(now, endpoint, connection);
                    false
                }
            };
            if ended {
                self.leave(endpoint, connection);
            }
        }
        acted
    }
}

/// Serves clients at this address, which may be unspecified, until a given number was served. `on_served` is called for
/// each client.
///
/// # Errors
/// If a device or the machine fails.
pub fn server(
    options: &EngineOptions,
    at: SocketAddr,
    most: Option<u64>,
    on_served: &mut dyn FnMut(&Served<'_>),
    on_ready: &mut dyn FnMut(),
) -> io::Result<()> {
    let (mut following, interfaces, addresses) = match &options.uplinks {
        Some(uplinks) => {
            let (following, interfaces, addresses) = Following::start(uplinks, Purpose::Listen(at))?;
            (Some(following), interfaces, addresses)
        }
        None => (None, options.interfaces.clone(), addresses(options)),
    };
    let server = Server {
        sessions: BTreeMap::new(),
        addresses,
        gone: Vec::new(),
        served: 0,
        answers_for: AFTER_THE_END,
        on_served,
    };
    let mut driver = host(options, &interfaces, server)?;
    let mut config = options.config.clone();
    config.tcp.packet_memory = driver.io.device.packet_memory();
    let listen = |endpoint: &mut Endpoint, addresses: &[LocalAddress]| {
        endpoint.listen_and_accept(at, config.clone(), addresses).map_err(io::Error::other)
    };
    let mut listener = listen(&mut driver.endpoints[HOST], &driver.applications.addresses)?;
    on_ready();
    let clock = Clock::start();
    let mut all_served_at = None;
    let mut failed = Ok(());
    run(&mut driver, &clock, |driver, now| {
        if let Some(following) = &mut following {
            failed =
                following.go_on(now, driver, |server| server.sessions.keys().copied().collect()).and_then(|changed| {
                    if changed {
                        let (server, endpoint) = (&mut driver.applications, &mut driver.endpoints[HOST]);
                        server.follow(following.addresses());
                        endpoint.unlisten(listener).map_err(io::Error::other)?;
                        listener = listen(endpoint, &server.addresses)?;
                    }
                    Ok(())
                });
        }
        driver.applications.hurry_closes(&mut driver.endpoints[HOST]);
        if most.is_some_and(|most| driver.applications.served >= most) {
            all_served_at.get_or_insert(now);
        }
        failed.is_ok() && all_served_at.is_none_or(|at| now.since(at) < driver.applications.answers_for)
    })?;
    failed?;
    finish_capture(&mut driver.io)
}
