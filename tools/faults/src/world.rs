//! Two hosts, their applications, and the paths between them.

use crate::apps::{App, CHANGED, Close, Reader, byte_at};
use crate::case::Case;
use crate::network::{Fates, Network};
use crate::show;
use core::net::{IpAddr, SocketAddr};
use pathweave_proto::{Connection, ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress};
use pathweave_units::Instant;
use pathweave_units::random::Random;
use pathweave_wire::Payload;

const PORT: u16 = 5001;
/// More segments than this from one end at one instant are a spin.
const SPIN: u32 = 20_000;

/// The address of a path's end.
fn address(path: usize, server: bool) -> IpAddr {
    IpAddr::from([10, 0, path as u8 + 1, if server { 2 } else { 1 }])
}

pub(crate) struct World<'c> {
    pub(crate) case: &'c Case,
    pub(crate) now: Instant,
    pub(crate) hosts: [Endpoint; 2],
    pub(crate) handles: [Option<ConnectionHandle>; 2],
    pub(crate) apps: [App; 2],
    pub(crate) network: Network,
    /// How each end has ended: in order, or why not.
    pub(crate) ends: [Option<ConnectionEvent>; 2],
    /// What does not hold.
    pub(crate) fault: Option<String>,
    /// Everything that happens is printed.
    shows: bool,
    pub(crate) packets: u64,
}

impl<'c> World<'c> {
    pub(crate) fn new(case: &'c Case, shows: bool) -> World<'c> {
        let paths = case.paths.len();
        let host = |server: bool| {
            let name = if server { "server" } else { "client" };
            let mut end = Endpoint::new(Random::substream(case.seed, name));
            end.set_routes((0..paths).map(|p| (address(p, server), address(p, !server))));
            end
        };
        let local = |server| -> Vec<LocalAddress> {
            (0..paths).map(|p| LocalAddress { address: address(p, server), meta: Default::default() }).collect()
        };
        let mut hosts = [host(false), host(true)];
        let (from, to) = (SocketAddr::new(address(0, false), 0), SocketAddr::new(address(0, true), PORT));
        hosts[1].listen_and_accept(to, case.configs[1].clone(), &local(true)).expect("nobody else listens");
        let opened = hosts[0].connect(Instant::ZERO, from, to, case.configs[0].clone(), &local(false));
        let handle = opened.expect("the parameters are the defaults");
        let app = |i: usize| App { next_write: Some(case.plans[i].first), ..App::default() };
        World {
            case,
            now: Instant::ZERO,
            hosts,
            handles: [Some(handle), None],
            apps: [app(0), app(1)],
            network: Network::new(case),
            ends: [None, None],
            fault: None,
            shows,
            packets: 0,
        }
    }

    pub(crate) fn connection(&self, end: usize) -> Option<&Connection> {
        self.hosts[end].connection(self.handles[end]?)
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        if self.shows {
            println!("{:>14} {}", self.now.to_string(), what());
        }
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.tell(|| format!("WRONG: {what}"));
        self.fault.get_or_insert(what);
    }

    /// The next time at which anything can happen.
    pub(crate) fn next(&self) -> Option<Instant> {
        let hosts = self.hosts.iter().filter_map(Endpoint::poll_timeout);
        let apps = (0..2).filter_map(|i| self.next_of_app(i));
        hosts.chain(apps).chain(self.network.next()).min()
    }

    /// Everything that happens at `at`.
    pub(crate) fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        while let Some(mut arrival) = self.network.arrive(self.now) {
            let to = usize::from(arrival.to_server);
            self.tell(|| format!("    arrives: {}", show::segment(&arrival.segment)));
            self.hosts[to].handle_segment(self.now, arrival.ecn, &mut arrival.segment);
            self.drain();
        }
        for i in 0..2 {
            if self.hosts[i].poll_timeout().is_some_and(|t| t <= self.now) {
                self.hosts[i].handle_timeout(self.now);
            }
        }
        self.drain();
        for i in 0..2 {
            self.act(i);
        }
        self.drain();
    }

    /// Takes what the hosts say, and sends their segments.
    pub(crate) fn drain(&mut self) {
        for i in 0..2 {
            while let Some(accepted) = self.hosts[i].poll_accept() {
                self.accept(i, accepted.connection);
            }
            while let Some((handle, event)) = self.hosts[i].poll_event() {
                if Some(handle) != self.handles[i] {
                    continue;
                }
                self.tell(|| format!("{} {event:?}", show::END[i]));
                match event {
                    ConnectionEvent::Closed | ConnectionEvent::Failed(_) => {
                        self.ends[i].get_or_insert(event);
                    }
                    ConnectionEvent::Readable => self.read_if_due(i),
                    ConnectionEvent::Writable | ConnectionEvent::Connected => self.write_if_due(i),
                    _ => {}
                }
            }
            let mut sent = 0;
            while let Some(transmit) = self.hosts[i].poll_transmit(self.now) {
                sent += 1;
                if sent > SPIN {
                    return self.fail(format!("the {} sends without end", show::END[i]));
                }
                self.send(i, transmit.ecn, transmit.segment);
            }
        }
    }

    /// A second handshake of the client's is a new connection to the server, where the first has failed.
    fn accept(&mut self, end: usize, handle: ConnectionHandle) {
        let lost = matches!(self.ends[end], Some(ConnectionEvent::Failed(_))) && self.apps[end].read == 0;
        if self.handles[end].is_none() || (lost && self.apps[end].written == 0) {
            self.handles[end] = Some(handle);
            self.ends[end] = None;
        }
    }

    fn send(&mut self, from: usize, ecn: pathweave_wire::Ecn, segment: pathweave_wire::Segment) {
        self.packets += 1;
        let (client, server) = if from == 0 { (&segment.src, &segment.dst) } else { (&segment.dst, &segment.src) };
        let ends = (client.ip(), server.ip());
        let path = (0..self.case.paths.len()).find(|p| (address(*p, false), address(*p, true)) == ends);
        let Some(path) = path else { return self.fail(format!("no route for {}", show::segment(&segment))) };
        if segment.options.wire_len() > pathweave_wire::MAX_OPTION_BYTES {
            return self.fail(format!("options too long: {}", show::segment(&segment)));
        }
        let shown = self.shows.then(|| show::segment(&segment));
        let mut fates = Fates::new();
        let told = self.shows.then_some(&mut fates);
        self.network.send(self.case, self.now, path, from == 0, (ecn, segment), told);
        self.tell(|| {
            let shown = shown.unwrap_or_default();
            format!("{} path {path}: {shown}{}", show::END[from], show::fates(&fates))
        });
    }

    /// When the application at an end acts by itself.
    fn next_of_app(&self, end: usize) -> Option<Instant> {
        let (app, plan) = (&self.apps[end], &self.case.plans[end]);
        if self.ends[end].is_some() || self.handles[end].is_none() || app.aborted {
            return None;
        }
        let close = match plan.close {
            Close::At(at) if !app.closed => Some(at),
            Close::Abort(at) => Some(at),
            _ => None,
        };
        let stalled = match plan.reader {
            Reader::Stalls(_, until) => Some(until),
            _ => None,
        };
        let calm = Some(self.case.calm);
        let times = [close, stalled, calm, app.next_write.filter(|_| !app.closed), app.next_read];
        // What was due now was done together with everything else at this instant.
        times.into_iter().flatten().filter(|t| *t > self.now).min()
    }

    fn act(&mut self, end: usize) {
        if self.handles[end].is_none() || self.apps[end].aborted {
            return;
        }
        if let Close::Abort(at) = self.case.plans[end].close
            && at <= self.now
        {
            self.tell(|| format!("{} aborts", show::END[end]));
            self.apps[end].aborted = true;
            let now = self.now;
            if let Some(handle) = self.handles[end] {
                self.hosts[end].abort(now, handle).ok();
            }
            return;
        }
        self.read_if_due(end);
        self.write_if_due(end);
        self.close_if_due(end);
    }

    fn write_if_due(&mut self, end: usize) {
        let plan = &self.case.plans[end];
        let calm = self.now >= self.case.calm;
        let Some(handle) = self.handles[end] else { return };
        loop {
            let app = &mut self.apps[end];
            let left = plan.bytes.saturating_sub(app.written);
            let due = calm || app.next_write.is_none_or(|t| t <= self.now);
            if app.closed || app.aborted || left == 0 || !due {
                break;
            }
            let len = left.min(plan.chunk);
            let bytes: Vec<u8> = (app.written..app.written + len).map(|at| byte_at(end == 1, at)).collect();
            let taken = self.hosts[end].write(self.now, handle, Payload::Bytes(bytes.into())).unwrap_or(0);
            let app = &mut self.apps[end];
            app.written += taken;
            // Without a time it waits for room.
            app.next_write = (taken == len).then(|| self.now + plan.pause);
            if taken < len || !plan.pause.is_zero() {
                break;
            }
        }
        self.close_if_due(end);
    }

    fn close_if_due(&mut self, end: usize) {
        let (plan, app) = (&self.case.plans[end], &self.apps[end]);
        let all = app.written == plan.bytes;
        let calm = self.now >= self.case.calm;
        let due = match plan.close {
            Close::AfterWriting => all,
            Close::AfterTheEnd => (app.saw_end && all) || calm,
            Close::At(at) => at <= self.now || calm,
            Close::Abort(_) => false,
        };
        // A client closes only what is open; a server closes what it has accepted.
        if !due || app.closed || app.aborted {
            return;
        }
        let (now, Some(handle)) = (self.now, self.handles[end]) else { return };
        self.tell(|| format!("{} closes after {} bytes", show::END[end], self.apps[end].written));
        self.apps[end].closed = true;
        self.hosts[end].close(now, handle).ok();
    }

    fn read_if_due(&mut self, end: usize) {
        let (plan, calm) = (&self.case.plans[end], self.now >= self.case.calm);
        let Some(handle) = self.handles[end] else { return };
        let mut most = u64::MAX;
        match plan.reader {
            Reader::Stalls(from, until) if (from..until).contains(&self.now) && !calm => return,
            Reader::Slowly(bytes, pause) if !calm => {
                if self.apps[end].next_read.is_some_and(|t| t > self.now) {
                    return;
                }
                most = bytes;
                self.apps[end].next_read = Some(self.now + pause);
            }
            _ => self.apps[end].next_read = None,
        }
        while most > 0
            && let Ok(payload) = self.hosts[end].read(self.now, handle, most)
        {
            most -= u64::from(payload.len());
            self.take(end, &payload);
        }
        if most == u64::MAX || self.hosts[end].connection(handle).is_some_and(|c| c.at_end()) {
            self.look_for_end(end);
        }
    }

    /// Reads everything that is there, no matter what the plan says.
    pub(crate) fn read_all(&mut self, end: usize) {
        let Some(handle) = self.handles[end].filter(|_| !self.apps[end].aborted) else { return };
        while let Ok(payload) = self.hosts[end].read(self.now, handle, u64::MAX) {
            self.take(end, &payload);
        }
        self.look_for_end(end);
    }

    /// Every byte is the one that was written there.
    fn take(&mut self, end: usize, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { return self.fail("bytes became virtual".into()) };
        let other = 1 - end;
        let start = self.apps[end].read;
        let trusted = self.connection(end).is_some_and(Connection::is_mptcp);
        let right = |at: u64, byte: u8| (byte & !CHANGED) == byte_at(other == 1, at);
        let wrong = bytes.iter().enumerate().find(|(i, b)| !right(start + *i as u64, **b)).map(|(i, _)| i);
        let changed = bytes.iter().any(|b| b & CHANGED != 0);
        self.apps[end].read += bytes.len() as u64;
        self.tell(|| format!("{} reads {} bytes from {start} on", show::END[end], bytes.len()));
        let read = self.apps[end].read;
        if let Some(at) = wrong {
            self.fail(format!("the {} reads a wrong byte at {}", show::END[end], start + at as u64));
        } else if read > self.apps[other].written {
            self.fail(format!("the {} has read {read} of {} bytes", show::END[end], self.apps[other].written));
        } else if changed && trusted {
            self.fail(format!("the {} reads a changed byte despite its checksum", show::END[end]));
        }
    }

    /// Who reads the end has read all.
    fn look_for_end(&mut self, end: usize) {
        let in_order = self.ends[end] == Some(ConnectionEvent::Closed);
        let at_end = self.connection(end).map_or(in_order, Connection::at_end);
        if !at_end || self.apps[end].saw_end {
            return;
        }
        self.apps[end].saw_end = true;
        let (read, writer) = (self.apps[end].read, &self.apps[1 - end]);
        let (written, closed) = (writer.written, writer.closed);
        self.tell(|| format!("{} reads the end", show::END[end]));
        if !closed {
            self.fail(format!("the {} reads an end that nobody made", show::END[end]));
        } else if read != written {
            self.fail(format!("truncated: the {} reads the end after {read} of {written} bytes", show::END[end]));
        }
    }
}
