//! The engine as client.

use super::{AFTER_THE_END, Flow, HOST, LONGEST_CLOSE, Options, addresses, answers_for, finish_capture, host};
use crate::perf::following::{self, Following};
use crate::perf::meter::Meter;
use crate::perf::stream::totals;
use crate::perf::{Interval, Outcome, Processor, Request, Totals};
use crate::uplinks::Purpose;
use crate::{Clock, run};
use bytes::Bytes;
use pathweave_driver::Applications;
use pathweave_proto::{ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint};
use pathweave_units::{Duration, Instant};
use std::io;
use std::net::SocketAddr;

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
            failed = following.go_on(now, driver, |_| vec![connection]).map(drop);
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
