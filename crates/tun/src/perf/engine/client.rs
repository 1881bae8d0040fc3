//! The engine as the client of a measurement.

use super::{
    AFTER_THE_END, EngineOptions, Flow, HOST, LONGEST_CLOSE, addresses, answers_for, finish_capture, host, hurry_close,
};
use crate::perf::following::{self, Following};
use crate::perf::measurement::unix_seconds;
use crate::perf::meter::Meter;
use crate::perf::stream::totals;
use crate::perf::{Interval, Measurement, Processor, Request, STOPPED, Totals, no_connection};
use crate::uplinks::Purpose;
use crate::{Clock, run};
use bytes::Bytes;
use pathweave_driver::Applications;
use pathweave_proto::connection::TcpState;
use pathweave_proto::{ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint};
use pathweave_units::{Duration, Instant};
use std::io;
use std::net::SocketAddr;

struct Client {
    flow: Flow,
    connection: Option<ConnectionHandle>,
    /// Size of an echo's messages, and how many messages are left to send.
    echo: Option<(usize, u64)>,
    /// Whether the client ends its stream after its own data. If not, it ends the stream after the server has.
    sends: bool,
    asked_at: Instant,
    round_trips: Vec<Duration>,
    connected: Option<Instant>,
    /// Whether the time of a timed direction is over.
    time_is_over: bool,
    finished: bool,
    failed: Option<ConnectionError>,
    meter: Meter,
}

impl Client {
    /// Sends the next message of an echo after the previous one has come back.
    fn ask(&mut self, now: Instant) {
        let Some((size, left)) = &mut self.echo else { return };
        let back = self.flow.sink.received + self.flow.sink.tail().len() as u64;
        if back < self.flow.source.written || !self.flow.pending.is_empty() {
            return;
        }
        if self.flow.source.written > 0 {
            self.round_trips.push(now.since(self.asked_at));
        }
        if *left > 0 {
            *left -= 1;
            let message = vec![7; *size];
            self.flow.source.count(&message);
            self.flow.pending.push(message.into());
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
                ConnectionEvent::Connected => {
                    self.connected = Some(now);
                    self.meter = Meter::new(now);
                }
                ConnectionEvent::Readable => self.flow.read(now, endpoint, connection),
                ConnectionEvent::Closed => self.finished = true,
                ConnectionEvent::Failed(error) => {
                    self.failed = Some(error);
                    self.meter.measure(now, endpoint, connection);
                }
                _ => {}
            }
        }
        if acted {
            self.go_on(now, endpoint);
        }
        acted
    }

    /// Returns the end of a timed direction, so that it ends even if no acknowledgement arrives any more.
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

/// Connects to a server and does what `request` says, calling `on_interval` every second. If the connection ends early,
/// or `is_stopped` ends it, the outcome has the figures up to then.
///
/// # Errors
/// If a device fails, or if the server cannot be connected to.
pub fn client(
    options: &EngineOptions,
    remote: SocketAddr,
    request: Request,
    echo: Option<(usize, u64)>,
    on_interval: &mut dyn FnMut(&Interval),
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Measurement> {
    let mut config = options.config.clone();
    let (mut following, interfaces, addresses) = match &options.uplinks {
        Some(uplinks) => {
            config = following::config(uplinks, &config);
            let (following, interfaces, addresses) = Following::start(uplinks, Purpose::Connect(remote.ip()))?;
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
        meter: Meter::new(clock.now()),
    };
    let mut driver = host(options, &interfaces, client)?;
    config.tcp.packet_memory = driver.io.device.packet_memory();
    let now = clock.now();
    let connection = driver.endpoints[HOST]
        .connect(now, SocketAddr::new(first.ours, 0), remote, config, &addresses)
        .map_err(io::Error::other)?;
    driver.applications.connection = Some(connection);
    driver.drain(now, HOST)?;

    let mut progress = Progress::new(connection, remote);
    let mut failed = Ok(());
    run(&mut driver, &clock, |driver, now| {
        if let Some(following) = &mut following {
            failed = following.go_on(now, driver, |_| vec![connection]).map(drop);
        }
        let (endpoint, client) = (&mut driver.endpoints[HOST], &mut driver.applications);
        if is_stopped() {
            progress.stop(now, endpoint, client);
            return false;
        }
        progress.goes_on(now, endpoint, client, on_interval) && failed.is_ok()
    })?;
    failed?;
    // A connection that was stopped has a reset for the server.
    driver.drain(clock.now(), HOST)?;
    finish_capture(&mut driver.io)?;
    progress.finish(clock.now(), driver.applications)
}

/// Progress of a measurement.
struct Progress {
    connection: ConnectionHandle,
    remote: SocketAddr,
    /// Start of the measurement, seconds since 1970.
    began: u64,
    /// Processor time at the start, and the time used from then until the server's stream ended.
    before: Processor,
    used: Processor,
    /// Time at which the server's stream ended.
    ended_at: Option<Instant>,
    /// Time at which the connection was closed.
    finished_at: Option<Instant>,
    /// Time for which the client answers after that.
    after_the_end: Duration,
    /// The subflows that have not ended although both streams have.
    open: Vec<String>,
    stopped: bool,
}

impl Progress {
    fn new(connection: ConnectionHandle, remote: SocketAddr) -> Self {
        Progress {
            connection,
            remote,
            began: unix_seconds(),
            before: Processor::now(),
            used: Processor::default(),
            ended_at: None,
            finished_at: None,
            after_the_end: AFTER_THE_END,
            open: Vec::new(),
            stopped: false,
        }
    }

    /// Measures what is due. Returns whether there is anything left to wait for.
    fn goes_on(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        client: &mut Client,
        on_interval: &mut dyn FnMut(&Interval),
    ) -> bool {
        if client.connected.is_some() && client.meter.is_due(now) && self.ended_at.is_none() {
            client.meter.measure(now, endpoint, self.connection);
            client.meter.intervals.last().into_iter().for_each(on_interval);
        }
        if client.flow.peer_has_ended && self.ended_at.is_none() {
            self.ended_at = Some(now);
            self.after_the_end = answers_for(endpoint, self.connection);
            self.used = Processor::now().since(self.before);
            client.meter.measure(now, endpoint, self.connection);
        }
        let mut longest_wait = LONGEST_CLOSE;
        if self.ended_at.is_some() && !client.finished {
            self.open = open_subflows(endpoint, self.connection);
            if hurry_close(endpoint, self.connection) {
                // The engine itself resets the rest after `LONGEST_CLOSE`.
                longest_wait = LONGEST_CLOSE.saturating_mul(2);
            }
        }
        let waits = self.ended_at.is_none_or(|ended| now.since(ended) < longest_wait);
        let answers = !client.finished || now.since(*self.finished_at.get_or_insert(now)) < self.after_the_end;
        answers && client.failed.is_none() && client.flow.error.is_none() && waits
    }

    /// Ends the connection, with the figures up to now.
    fn stop(&mut self, now: Instant, endpoint: &mut Endpoint, client: &mut Client) {
        self.stopped = true;
        if self.ended_at.is_none() {
            client.meter.measure(now, endpoint, self.connection);
            let _ = endpoint.abort(now, self.connection);
        }
    }

    /// The measurement, complete or up to an interruption.
    fn finish(self, end: Instant, client: Client) -> io::Result<Measurement> {
        let Progress { remote, began, before, used, ended_at, finished_at, open, stopped, .. } = self;
        let Some(start) = client.connected else {
            let why = match client.failed {
                // The interruption aborted the connection.
                _ if stopped => STOPPED.to_owned(),
                Some(error) => error.to_string(),
                None => "the server did not answer".to_owned(),
            };
            return Err(io::Error::other(no_connection(remote, &why)));
        };
        let server = client.flow.sink.tail().first_chunk().filter(|_| ended_at.is_some()).and_then(Totals::read);
        let slow = finished_at.zip(ended_at).is_none_or(|(finished, ended)| finished.since(ended) >= LONGEST_CLOSE);
        let Meter { intervals, multipath, written, acknowledged, .. } = client.meter;
        let trouble = if server.is_none() && stopped {
            Some(STOPPED.to_owned())
        } else if server.is_none() {
            Some(what_is_missing(client.failed, client.flow.error, written.saturating_sub(acknowledged)))
        } else {
            (slow && !open.is_empty()).then(|| format!("these paths did not answer at the end: {}", open.join(", ")))
        };
        let mut round_trips = client.round_trips;
        round_trips.sort_unstable();
        Ok(Measurement {
            began,
            addresses: addresses_of(&intervals),
            multipath: Some(multipath),
            client: totals(&client.flow.source, &client.flow.sink),
            server,
            acknowledged: Some(acknowledged.saturating_sub(Request::BYTES as u64)),
            trouble,
            duration: ended_at.unwrap_or(end).since(start),
            processor: if ended_at.is_some() { used } else { Processor::now().since(before) },
            intervals,
            round_trips,
        })
    }
}

/// The addresses of all subflows, in the order in which the subflows were opened.
fn addresses_of(intervals: &[Interval]) -> Vec<(SocketAddr, SocketAddr)> {
    let mut all = Vec::new();
    for subflow in intervals.iter().flat_map(|interval| &interval.subflows) {
        if !all.contains(&(subflow.local, subflow.remote)) {
            all.push((subflow.local, subflow.remote));
        }
    }
    all
}

/// The addresses of the open subflows, in words.
fn open_subflows(endpoint: &Endpoint, connection: ConnectionHandle) -> Vec<String> {
    let subflows = endpoint.connection(connection).into_iter().flat_map(|connection| connection.subflows());
    let open = subflows.filter(|s| !s.closed && s.tcp.state != TcpState::TimeWait);
    open.map(|s| format!("{} to {}", s.local.ip(), s.remote.ip())).collect()
}

/// A sentence that says why the server's totals are missing, and what else is missing.
fn what_is_missing(failed: Option<ConnectionError>, error: Option<String>, unacknowledged: u64) -> String {
    let why = match (failed, error) {
        (Some(error), _) => format!("the connection failed: {error}"),
        (None, Some(error)) => error,
        (None, None) => "the server ended the connection too early".to_owned(),
    };
    let bytes = match unacknowledged {
        0 => String::new(),
        bytes => format!("{bytes} bytes of what was written are not acknowledged, and "),
    };
    format!("{why}; {bytes}the server's figures are missing")
}
