//! Our engine as client and as server.

use super::following::{self, Following};
use super::meter::Meter;
use super::stream::totals;
use super::{Interval, Outcome, Processor, Request, Sink, Source, Totals};
use crate::{Capture, Clock, Interface, Io, Tunnels, run, secrets, uplinks};
use bytes::Bytes;
use pathweave_driver::{Applications, Driver, Observed};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{
    ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, ReadError, WriteError,
};
use pathweave_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

const HOST: usize = 0;
/// How long the last acknowledgements may take once all data is there.
const LONGEST_CLOSE: Duration = Duration::from_secs(5);
/// So long it answers after the end: its last acknowledgement may be lost, and then the peer repeats what it was for.
const AFTER_THE_END: Duration = Duration::from_millis(500);
/// Or so many round trips of its slowest subflow, if that is longer: a repetition may be lost too, and the next one comes after twice the time.
const ROUND_TRIPS_AFTER_THE_END: u64 = 20;
/// Pieces that are read with one call.
const READ_PIECES: usize = 64;

/// Where and how the engine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its addresses and their devices.
    pub interfaces: Vec<Interface>,
    /// The machine's paths instead, as they come and go: of clients only.
    pub uplinks: Option<uplinks::Options>,
    /// Whether devices give and take super-segments.
    pub offload: bool,
    /// Settings of the connections.
    pub config: ConnectionConfig,
    /// Where a capture is written to.
    pub pcap: Option<PathBuf>,
}

/// What one side does with a connection.
#[derive(Debug)]
struct Flow {
    source: Source,
    sink: Sink,
    /// Written before anything else of the source.
    pending: Vec<Bytes>,
    /// All that arrives is sent back.
    echo: bool,
    peer_has_ended: bool,
    closed: bool,
    error: Option<String>,
}

impl Flow {
    fn new(source: Source, sink: Sink) -> Self {
        Flow { source, sink, pending: Vec::new(), echo: false, peer_has_ended: false, closed: false, error: None }
    }

    /// Writes as much as there is room for. True: all is written, and the source has ended.
    fn write(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) -> bool {
        loop {
            if self.pending.is_empty() {
                match self.source.next(now) {
                    Some(piece) => self.pending.push(piece),
                    None => return true,
                }
            }
            match endpoint.write_chunks(now, connection, &mut self.pending) {
                Ok(taken) => drop(self.pending.drain(..taken.chunks)),
                Err(WriteError::Blocked) => return false,
                Err(error) => {
                    self.error.get_or_insert_with(|| format!("writing: {error}"));
                    return false;
                }
            }
        }
    }

    /// Reads all that is there.
    fn read(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        let mut pieces = [const { Bytes::new() }; READ_PIECES];
        let end = loop {
            match endpoint.read_chunks(now, connection, u64::MAX, &mut pieces) {
                Ok(read) => {
                    for piece in &mut pieces[..read.chunks] {
                        let piece = std::mem::take(piece);
                        self.sink.take(now, &piece);
                        if self.echo {
                            self.pending.push(piece);
                        }
                    }
                }
                Err(end) => break end,
            }
        };
        match end {
            ReadError::Blocked => {}
            ReadError::Finished => self.peer_has_ended = true,
            error => {
                self.error.get_or_insert_with(|| format!("reading: {error}"));
            }
        }
    }

    fn close(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) {
        if !std::mem::replace(&mut self.closed, true) {
            let _ = endpoint.close(now, connection);
        }
    }
}

/// An endpoint on its TUN devices.
fn host<A: Applications>(options: &Options, interfaces: &[Interface], applications: A) -> io::Result<Driver<Io, A>> {
    let device = Tunnels::create(interfaces, options.offload)?;
    let capture = options.pcap.as_ref().map(|path| Capture::create(path, interfaces)).transpose()?;
    let endpoint = Endpoint::new(secrets()?);
    Ok(Driver::new(vec![endpoint], Observed { device, observer: capture }, applications))
}

fn addresses(options: &Options) -> Vec<LocalAddress> {
    options.interfaces.iter().map(|i| LocalAddress { address: i.ours, meta: Default::default() }).collect()
}

fn finish_capture(io: &mut Io) -> io::Result<()> {
    io.observer.as_mut().map_or(Ok(()), Capture::finish)
}

struct Client {
    flow: Flow,
    connection: Option<ConnectionHandle>,
    /// Size of an echo's messages, how many are left, and when the last one left.
    echo: Option<(usize, u64)>,
    /// Its direction ends with what it sends, not with what it receives.
    sends: bool,
    asked_at: Instant,
    round_trips: Vec<Duration>,
    connected: Option<Instant>,
    /// The end of a timed direction has come.
    time_is_over: bool,
    finished: bool,
    failed: Option<ConnectionError>,
}

impl Client {
    /// Sends the next message of an echo once the last one is back.
    fn ask(&mut self, now: Instant) {
        let Some((size, left)) = &mut self.echo else { return };
        let back = self.flow.sink.received + self.flow.sink.tail().len() as u64;
        if back < self.flow.source.sent || !self.flow.pending.is_empty() {
            return;
        }
        if self.flow.source.sent > 0 {
            self.round_trips.push(now.since(self.asked_at));
        }
        if *left > 0 {
            *left -= 1;
            self.flow.pending.push(vec![7; *size].into());
            self.flow.source.sent += *size as u64;
            self.asked_at = now;
        } else {
            self.echo = None;
        }
    }

    fn go_on(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(connection) = self.connection.filter(|_| self.connected.is_some()) else { return };
        while self.flow.write(now, endpoint, connection) {
            self.ask(now);
            if self.echo.is_none() && (self.sends || self.flow.peer_has_ended) {
                self.flow.close(now, endpoint, connection);
            }
            if self.flow.pending.is_empty() {
                break;
            }
        }
    }
}

impl Applications for Client {
    fn serve(&mut self, now: Instant, _host: usize, endpoint: &mut Endpoint) -> bool {
        let mut acted = false;
        while let Some((connection, event)) = endpoint.poll_event() {
            acted = true;
            match event {
                ConnectionEvent::Connected => self.connected = Some(now),
                ConnectionEvent::Writable => {}
                ConnectionEvent::Readable => self.flow.read(now, endpoint, connection),
                ConnectionEvent::Closed => self.finished = true,
                ConnectionEvent::Failed(error) => self.failed = Some(error),
            }
        }
        if acted {
            self.go_on(now, endpoint);
        }
        acted
    }

    /// A timed direction ends even where nothing is acknowledged any more.
    fn poll_timeout(&self) -> Option<Instant> {
        self.flow.source.until().filter(|_| self.connected.is_some() && !self.time_is_over)
    }

    fn handle_timeout(&mut self, now: Instant, endpoints: &mut [Endpoint]) -> Option<usize> {
        self.poll_timeout().filter(|until| *until <= now)?;
        self.time_is_over = true;
        self.go_on(now, &mut endpoints[HOST]);
        Some(HOST)
    }
}

/// Connects to a server and does what `request` says. `on_interval` is told of each second.
///
/// # Errors
/// Where the devices or the connection fail, or the server does not answer as it should.
pub fn client(
    options: &Options,
    remote: SocketAddr,
    request: Request,
    echo: Option<(usize, u64)>,
    on_interval: &mut dyn FnMut(&Interval),
) -> io::Result<Outcome> {
    let mut config = options.config.clone();
    let (mut following, interfaces, addresses) = match &options.uplinks {
        Some(uplinks) => {
            config = following::config(uplinks, &config);
            let (following, interfaces, addresses) = Following::start(uplinks, remote.ip())?;
            (Some(following), interfaces, addresses)
        }
        None => (None, options.interfaces.clone(), addresses(options)),
    };
    let Some(first) = interfaces.iter().find(|i| i.ours.is_ipv4() == remote.is_ipv4()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no path has an address of the server's IP version"));
    };
    let clock = Clock::start();
    let source = request.source(request.up, clock.now());
    let mut flow = Flow::new(source, request.sink(Totals::BYTES));
    flow.pending.push(Bytes::copy_from_slice(&request.bytes()));
    let client = Client {
        flow,
        connection: None,
        echo: echo.filter(|_| request.echo),
        sends: request.client_sends(),
        asked_at: clock.now(),
        round_trips: Vec::new(),
        connected: None,
        time_is_over: false,
        finished: false,
        failed: None,
    };
    let mut driver = host(options, &interfaces, client)?;
    config.tcp.packet_memory = driver.io.device.packet_memory();
    let now = clock.now();
    let connection = driver.endpoints[HOST]
        .connect(now, SocketAddr::new(first.ours, 0), remote, config, &addresses)
        .map_err(io::Error::other)?;
    driver.applications.connection = Some(connection);
    driver.drain(now, HOST)?;

    let mut meter = Meter::new(now);
    let processor = Processor::now();
    let mut used = Duration::ZERO;
    let (mut ended_at, mut finished_at) = (None, None);
    let mut after_the_end = AFTER_THE_END;
    let mut failed = Ok(());
    run(&mut driver, &clock, |driver, now| {
        if let Some(following) = &mut following {
            failed = following.go_on(now, driver, connection);
        }
        let endpoint = &mut driver.endpoints[HOST];
        if meter.is_due(now) && ended_at.is_none() {
            meter.measure(now, endpoint, connection);
            meter.intervals.last().into_iter().for_each(&mut *on_interval);
        }
        let client = &driver.applications;
        if client.flow.peer_has_ended && ended_at.is_none() {
            ended_at = Some(now);
            after_the_end = answers_for(endpoint, connection);
            used = Duration::from_nanos(Processor::now().nanoseconds - processor.nanoseconds);
            meter.measure(now, endpoint, connection);
        }
        let waits = ended_at.is_none_or(|ended| now.since(ended) < LONGEST_CLOSE);
        let answers = !client.finished || now.since(*finished_at.get_or_insert(now)) < after_the_end;
        answers && client.failed.is_none() && client.flow.error.is_none() && waits && failed.is_ok()
    })?;
    failed?;
    finish_capture(&mut driver.io)?;
    let client = driver.applications;
    if let Some(error) = client.failed {
        return Err(io::Error::other(format!("the connection failed: {error}")));
    }
    if let Some(error) = client.flow.error {
        return Err(io::Error::other(error));
    }
    let may_be_open = ended_at.is_some() && following.as_ref().is_some_and(Following::has_lost_paths);
    if !client.finished && !may_be_open {
        return Err(io::Error::other("the connection was not closed cleanly"));
    }
    let Some(tail) = client.flow.sink.tail().first_chunk() else {
        return Err(io::Error::other("the server ended without its totals"));
    };
    let mut round_trips = client.round_trips;
    round_trips.sort_unstable();
    let start = client.connected.unwrap_or(now);
    Ok(Outcome {
        multipath: Some(meter.multipath),
        client: totals(&client.flow.source, &client.flow.sink),
        server: Totals::read(tail),
        duration: ended_at.unwrap_or(start).since(start),
        processor: used,
        intervals: meter.intervals,
        round_trips,
    })
}

/// A connection that the server serves.
struct Session {
    /// What is there of the request, until it is whole.
    request: Option<Vec<u8>>,
    flow: Flow,
    /// The totals wait for the end of what the client sends.
    client_sends: bool,
    said_totals: bool,
}

struct Server<'a> {
    sessions: BTreeMap<ConnectionHandle, Session>,
    served: u64,
    /// How long it goes on after the last one.
    answers_for: Duration,
    on_served: &'a mut dyn FnMut(&Totals, Option<&str>),
}

impl Session {
    fn new() -> Self {
        let flow = Flow::new(Source::nothing(false), Sink::new(0, false));
        Session { request: Some(Vec::new()), flow, client_sends: true, said_totals: false }
    }

    /// Reads the request, with nothing of what follows.
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
        let mut totals = totals(&self.flow.source, &self.flow.sink);
        if self.flow.echo {
            totals.sent = totals.received;
        }
        totals
    }
}

impl Applications for Server<'_> {
    fn serve(&mut self, now: Instant, _host: usize, endpoint: &mut Endpoint) -> bool {
        let mut acted = false;
        while let Some(accepted) = endpoint.poll_accept() {
            acted = true;
            self.sessions.insert(accepted.connection, Session::new());
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
            if ended && let Some(session) = self.sessions.remove(&connection) {
                self.served += 1;
                self.answers_for = answers_for(endpoint, connection);
                (self.on_served)(&session.totals(), session.flow.error.as_deref());
            }
        }
        acted
    }
}

/// How long the end of a connection is answered.
fn answers_for(endpoint: &Endpoint, connection: ConnectionHandle) -> Duration {
    let subflows = endpoint.connection(connection).into_iter().flat_map(|c| c.subflows());
    let slowest = subflows.map(|s| s.rtt.smoothed_or_zero()).max().unwrap_or_default();
    AFTER_THE_END.max(slowest.saturating_mul(ROUND_TRIPS_AFTER_THE_END))
}

/// Serves clients on `port` at all addresses, until so many were served; `on_served` is told of each, with what went wrong.
///
/// # Errors
/// Where a device fails.
pub fn server(
    options: &Options,
    port: u16,
    most: Option<u64>,
    on_served: &mut dyn FnMut(&Totals, Option<&str>),
    on_ready: &mut dyn FnMut(),
) -> io::Result<()> {
    let mut driver = host(
        options,
        &options.interfaces,
        Server { sessions: BTreeMap::new(), served: 0, answers_for: AFTER_THE_END, on_served },
    )?;
    let any: IpAddr = match options.interfaces.iter().all(|i| i.ours.is_ipv4()) {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut config = options.config.clone();
    config.tcp.packet_memory = driver.io.device.packet_memory();
    driver.endpoints[HOST]
        .listen_and_accept(SocketAddr::new(any, port), config, &addresses(options))
        .map_err(io::Error::other)?;
    on_ready();
    let clock = Clock::start();
    let mut all_served_at = None;
    run(&mut driver, &clock, |driver, now| {
        if most.is_some_and(|most| driver.applications.served >= most) {
            all_served_at.get_or_insert(now);
        }
        all_served_at.is_none_or(|at| now.since(at) < driver.applications.answers_for)
    })?;
    finish_capture(&mut driver.io)
}
