//! The applications at both ends, which compare every byte with the written one.

use crate::apps::{App, CHANGED, Close, Reader, byte_at};
use crate::case::Case;
use crate::network::{self, Show};
use pathweave_driver::Applications;
use pathweave_proto::{Connection, ConnectionEvent, ConnectionHandle, Endpoint};
use pathweave_units::Instant;
use pathweave_wire::Payload;

pub(crate) struct Programs<'c> {
    case: &'c Case,
    pub(crate) handles: [Option<ConnectionHandle>; 2],
    pub(crate) apps: [App; 2],
    /// The end of each side: in order, or with an error.
    pub(crate) ends: [Option<ConnectionEvent>; 2],
    /// The broken rule, if there is one.
    pub(crate) fault: Option<String>,
    /// Whether each end had Multipath TCP when last looked at.
    pub(crate) multipath: [bool; 2],
    /// Time of an application's last read.
    pub(crate) progress: Instant,
    /// Whether bytes must be right. They need not be if an attacker on the path can forge them.
    trusts_bytes: bool,
    show: Show,
    /// Time at which the applications last acted by themselves, and the end whose turn it is.
    acted: Instant,
    turn: usize,
}

impl Applications for Programs<'_> {
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        let mut acted = false;
        while let Some(accepted) = endpoint.poll_accept() {
            acted = true;
            self.accept(now, host, endpoint, accepted.connection);
        }
        while let Some((handle, event)) = endpoint.poll_event() {
            acted = true;
            if Some(handle) != self.handles[host] {
                continue;
            }
            self.show.tell(now, || format!("{} {event:?}", network::END[host]));
            match event {
                ConnectionEvent::Closed | ConnectionEvent::Failed(_) => {
                    self.ends[host].get_or_insert(event);
                }
                ConnectionEvent::Readable => self.read_if_due(now, host, endpoint),
                ConnectionEvent::Writable | ConnectionEvent::Connected => self.write_if_due(now, host, endpoint),
                _ => {}
            }
        }
        acted
    }

    fn quiet(&mut self, _now: Instant, host: usize, endpoint: &mut Endpoint) {
        if let Some(connection) = self.connection(host, endpoint).filter(|c| c.is_connected()) {
            self.multipath[host] = connection.is_mptcp();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (0..2).filter_map(|end| self.next_of_app(end)).min()
    }

    fn handle_timeout(&mut self, now: Instant, endpoints: &mut [Endpoint]) -> Option<usize> {
        let end = self.turn;
        self.acted = now;
        self.turn = (end + 1) % 3;
        self.act(now, end, endpoints.get_mut(end)?);
        Some(end)
    }
}

impl<'c> Programs<'c> {
    /// The applications of a case whose client has begun to connect.
    pub(crate) fn new(case: &'c Case, client: ConnectionHandle, show: Show) -> Self {
        let app = |i: usize| App { next_write: Some(case.plans[i].first), ..App::default() };
        Programs {
            case,
            handles: [Some(client), None],
            apps: [app(0), app(1)],
            ends: [None, None],
            fault: None,
            multipath: [false; 2],
            progress: Instant::ZERO,
            trusts_bytes: !case.has_attackers_on_the_path(),
            show,
            acted: Instant::ZERO,
            turn: 0,
        }
    }

    fn connection<'e>(&self, end: usize, endpoint: &'e Endpoint) -> Option<&'e Connection> {
        endpoint.connection(self.handles[end]?)
    }

    pub(crate) fn fail(&mut self, now: Instant, what: String) {
        self.show.tell(now, || format!("WRONG: {what}"));
        self.fault.get_or_insert(what);
    }

    /// Accepts a connection. If the client's first handshake has failed, its second one is a new connection to the
    /// server.
    fn accept(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint, handle: ConnectionHandle) {
        let lost = matches!(self.ends[end], Some(ConnectionEvent::Failed(_))) && self.apps[end].read == 0;
        if self.handles[end].is_none() || (lost && self.apps[end].written == 0) {
            self.handles[end] = Some(handle);
            self.ends[end] = None;
        } else {
            // A connection that no application has asked for.
            endpoint.abort(now, handle).ok();
        }
    }

    /// Time at which the application at an end next acts by itself.
    fn next_of_app(&self, end: usize) -> Option<Instant> {
        let (app, plan) = (&self.apps[end], &self.case.plans[end]);
        if self.ends[end].is_some() || self.handles[end].is_none() || app.gone {
            return None;
        }
        let close = match plan.close {
            Close::At(at) if !app.closed => Some(at),
            Close::Abort(at) | Close::Leave(at) => Some(at),
            _ => None,
        };
        let stalled = match plan.reader {
            Reader::Stalls(_, until) => Some(until),
            _ => None,
        };
        let calm = Some(self.case.calm);
        let times = [close, stalled, calm, app.next_write.filter(|_| !app.closed), app.next_read];
        // Everything that was due when they last acted was done then.
        times.into_iter().flatten().filter(|t| *t > self.acted).min()
    }

    fn act(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint) {
        if self.handles[end].is_none() || self.apps[end].gone {
            return;
        }
        let plan = self.case.plans[end].close;
        if let Close::Abort(at) | Close::Leave(at) = plan
            && at <= now
        {
            let leaves = matches!(plan, Close::Leave(_));
            self.show.tell(now, || format!("{} {}", network::END[end], if leaves { "leaves" } else { "aborts" }));
            (self.apps[end].gone, self.apps[end].closed) = (true, leaves);
            if let Some(handle) = self.handles[end] {
                endpoint.with(handle, |c| if leaves { c.leave(now) } else { c.abort(now) }).ok();
            }
            return;
        }
        self.read_if_due(now, end, endpoint);
        self.write_if_due(now, end, endpoint);
        self.close_if_due(now, end, endpoint);
    }

    fn write_if_due(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint) {
        let plan = &self.case.plans[end];
        let calm = now >= self.case.calm;
        let Some(handle) = self.handles[end] else { return };
        loop {
            let app = &mut self.apps[end];
            let left = plan.bytes.saturating_sub(app.written);
            let due = calm || app.next_write.is_none_or(|t| t <= now);
            if app.closed || app.gone || left == 0 || !due {
                break;
            }
            let len = left.min(plan.chunk);
            let bytes: Vec<u8> = (app.written..app.written + len).map(|at| byte_at(end == 1, at)).collect();
            let taken = endpoint.write(now, handle, Payload::Bytes(bytes.into())).unwrap_or(0);
            let app = &mut self.apps[end];
            app.written += taken;
            // Without a time it waits for room.
            app.next_write = (taken == len).then(|| now + plan.pause);
            if taken < len || !plan.pause.is_zero() {
                break;
            }
        }
        self.close_if_due(now, end, endpoint);
    }

    fn close_if_due(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint) {
        let (plan, app) = (&self.case.plans[end], &self.apps[end]);
        let all = app.written == plan.bytes;
        let calm = now >= self.case.calm;
        let due = match plan.close {
            Close::AfterWriting => all,
            Close::AfterTheEnd => (app.saw_end && all) || calm,
            Close::At(at) => at <= now || calm,
            Close::Abort(_) | Close::Leave(_) => false,
        };
        // A client closes only what is open; a server closes what it has accepted.
        if !due || app.closed || app.gone {
            return;
        }
        let Some(handle) = self.handles[end] else { return };
        self.show.tell(now, || format!("{} closes after {} bytes", network::END[end], self.apps[end].written));
        self.apps[end].closed = true;
        endpoint.close(now, handle).ok();
    }

    fn read_if_due(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint) {
        let (plan, calm) = (&self.case.plans[end], now >= self.case.calm);
        let Some(handle) = self.handles[end] else { return };
        let mut most = u64::MAX;
        match plan.reader {
            Reader::Stalls(from, until) if (from..until).contains(&now) && !calm => return,
            Reader::Slowly(bytes, pause) if !calm => {
                if self.apps[end].next_read.is_some_and(|t| t > now) {
                    return;
                }
                most = bytes;
                self.apps[end].next_read = Some(now + pause);
            }
            _ => self.apps[end].next_read = None,
        }
        while most > 0
            && let Ok(payload) = endpoint.read(now, handle, most)
        {
            most -= u64::from(payload.len());
            self.take(now, end, endpoint, &payload);
        }
        if most == u64::MAX || endpoint.connection(handle).is_some_and(|c| c.at_end()) {
            self.look_for_end(now, end, endpoint);
        }
    }

    /// Reads everything that is there, no matter what the plan says.
    pub(crate) fn read_all(&mut self, now: Instant, end: usize, endpoint: &mut Endpoint) {
        let Some(handle) = self.handles[end].filter(|_| !self.apps[end].gone) else { return };
        while let Ok(payload) = endpoint.read(now, handle, u64::MAX) {
            self.take(now, end, endpoint, &payload);
        }
        self.look_for_end(now, end, endpoint);
    }

    /// Checks that every byte is the one written at its position.
    fn take(&mut self, now: Instant, end: usize, endpoint: &Endpoint, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { return self.fail(now, "bytes became virtual".into()) };
        let other = 1 - end;
        let start = self.apps[end].read;
        let trusted = self.connection(end, endpoint).is_some_and(Connection::is_mptcp);
        let right = |at: u64, byte: u8| (byte & !CHANGED) == byte_at(other == 1, at);
        let wrong = bytes.iter().enumerate().find(|(i, b)| !right(start + *i as u64, **b)).map(|(i, _)| i);
        let changed = bytes.iter().any(|b| b & CHANGED != 0);
        self.apps[end].read += bytes.len() as u64;
        self.progress = now;
        self.show.tell(now, || format!("{} reads {} bytes from {start} on", network::END[end], bytes.len()));
        let read = self.apps[end].read;
        if !self.trusts_bytes {
            return;
        }
        if let Some(at) = wrong {
            self.fail(now, format!("the {} reads a wrong byte at {}", network::END[end], start + at as u64));
        } else if read > self.apps[other].written {
            self.fail(now, format!("the {} has read {read} of {} bytes", network::END[end], self.apps[other].written));
        } else if changed && trusted {
            self.fail(now, format!("the {} reads a changed byte despite its checksum", network::END[end]));
        }
    }

    /// Checks that an application that reads the end has read everything.
    fn look_for_end(&mut self, now: Instant, end: usize, endpoint: &Endpoint) {
        let in_order = self.ends[end] == Some(ConnectionEvent::Closed);
        let at_end = self.connection(end, endpoint).map_or(in_order, Connection::at_end);
        if !at_end || self.apps[end].saw_end {
            return;
        }
        self.apps[end].saw_end = true;
        let (read, writer) = (self.apps[end].read, &self.apps[1 - end]);
        let (written, closed) = (writer.written, writer.closed);
        self.show.tell(now, || format!("{} reads the end", network::END[end]));
        if !self.trusts_bytes {
        } else if !closed {
            self.fail(now, format!("the {} reads an end that nobody made", network::END[end]));
        } else if read != written {
            self.fail(
                now,
                format!("truncated: the {} reads the end after {read} of {written} bytes", network::END[end]),
            );
        }
    }
}
