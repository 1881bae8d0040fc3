//! All applications of a run: which of them acts next, and which of them an event belongs to.

use super::Noted;
use super::addressing::path_of;
use super::app::{App, WAKE_UP};
use super::contents::Contents;
use super::readings::Readings;
use super::requests::Page;
use crate::scenario::EndsWith;
use pathweave_proto::{Accepted, ConnectionEvent, ConnectionHandle, Endpoint};
use pathweave_units::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// All applications of a run.
pub(super) struct Apps {
    pub(super) list: Vec<App>,
    pages: Vec<Page>,
    /// For each host, by the slots of its connections: the connection, and the index of the application that has it.
    by_slot: Vec<Vec<Option<(ConnectionHandle, usize)>>>,
    /// The same of connections whose slot another connection has now.
    earlier: BTreeMap<(usize, ConnectionHandle), usize>,
    /// Index of the first application whose server listens on this port of a host.
    by_port: BTreeMap<(usize, u16), usize>,
    /// Indices of the applications that act by themselves, by the time at which they do.
    due: BTreeSet<(Instant, usize)>,
    /// The first of these times, or the far future.
    next: Instant,
    /// Indices of the applications with something to read.
    unread: Vec<usize>,
    /// Index of the application to ask next whether its time has come.
    turn: usize,
    /// Index of the first application that may not be done and that the run waits for.
    awaited: usize,
}

impl Apps {
    pub(super) fn new(list: Vec<App>, pages: Vec<Page>) -> Self {
        let mut by_port = BTreeMap::new();
        for (i, app) in list.iter().enumerate() {
            by_port.entry((app.server.host, app.server.address.port())).or_insert(i);
        }
        let mut apps = Apps {
            list,
            pages,
            by_slot: Vec::new(),
            earlier: BTreeMap::new(),
            by_port,
            due: BTreeSet::new(),
            next: Instant::FAR_FUTURE,
            unread: Vec::new(),
            turn: 0,
            awaited: 0,
        };
        (0..apps.list.len()).for_each(|i| apps.reschedule(i, Instant::FAR_FUTURE));
        apps
    }

    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (self.next < Instant::FAR_FUTURE).then_some(self.next)
    }

    /// Notes that an application, which acted by itself next at `before`, now does so at another time.
    fn reschedule(&mut self, index: usize, before: Instant) {
        self.due.remove(&(before, index));
        let next = self.list[index].next_time();
        if next < Instant::FAR_FUTURE {
            self.due.insert((next, index));
        }
        self.next = self.due.first().map_or(Instant::FAR_FUTURE, |(time, _)| *time);
    }

    /// Notes that an application has this connection on `host`.
    fn own(&mut self, host: usize, handle: ConnectionHandle, index: usize) {
        let hosts = self.by_slot.len().max(host + 1);
        self.by_slot.resize_with(hosts, Vec::new);
        let slots = &mut self.by_slot[host];
        slots.resize(slots.len().max(handle.slot() + 1), None);
        if let Some((earlier, index)) = slots[handle.slot()].replace((handle, index)) {
            self.earlier.insert((host, earlier), index);
        }
    }

    /// The application with this connection at one of its ends on `host`.
    #[inline]
    pub(super) fn with_connection(&self, host: usize, handle: ConnectionHandle) -> Option<usize> {
        let (owned, index) = (*self.by_slot.get(host)?.get(handle.slot())?)?;
        if owned == handle { Some(index) } else { self.earlier.get(&(host, handle)).copied() }
    }

    /// Lets the next application act whose time has come. Each acts at most once in a turn. Returns the host that
    /// acted.
    pub(super) fn handle_timeout(&mut self, now: Instant, endpoints: &mut [Endpoint]) -> Option<usize> {
        // No application is due before `now`, because the run stops at each of these times.
        debug_assert!(self.next >= now, "an application was passed over");
        let due = (self.next == now).then(|| self.due.range((now, self.turn)..=(now, usize::MAX)).next());
        let Some(&(_, due)) = due.flatten() else {
            self.turn = 0;
            return None;
        };
        self.turn = due + 1;
        let app = &mut self.list[due];
        let connected = app.client.handle.is_some();
        let host = app.start_or_write(now, endpoints, &mut self.pages);
        if let Some(handle) = app.client.handle.filter(|_| !connected) {
            self.own(host, handle, due);
        }
        self.reschedule(due, now);
        Some(host)
    }

    /// Whether every measured transfer has ended, with or without an error.
    pub(super) fn measured_are_done(&self) -> bool {
        self.list.iter().filter(|a| a.measured).all(App::is_done)
    }

    /// Whether all connections that the run waits for have ended, with or without an error.
    pub(super) fn are_done(&mut self, ends_with: EndsWith) -> bool {
        let awaited = |a: &App| a.measured || (ends_with == EndsWith::All && a.ends());
        // What is done remains done.
        while self.list.get(self.awaited).is_some_and(|app| app.is_done() || !awaited(app)) {
            self.awaited += 1;
        }
        self.awaited == self.list.len()
    }

    /// Makes all streams carry real bytes from now on.
    pub(super) fn set_real_payload(&mut self) {
        let contents = Contents::real();
        self.list.iter_mut().for_each(|app| app.contents = contents.clone());
    }

    /// Collects a host's observations, and notes those of measured senders.
    pub(super) fn note(&self, host: usize, endpoint: &mut Endpoint, noted: &mut VecDeque<Noted>) {
        while let Some((handle, observation)) = endpoint.poll_observation() {
            let sends = |a: &App| a.measured && a.sender().host == host && a.sender().handle == Some(handle);
            let connection = self.with_connection(host, handle).filter(|i| sends(&self.list[*i]));
            let Some(connection) = connection else { continue };
            let subflows = endpoint.connection(handle).into_iter().flat_map(|c| c.subflows());
            let paths = subflows.filter_map(|s| Some((s.id, path_of(s.local.ip())?))).collect();
            noted.push_back(Noted { connection, paths, observation });
        }
    }

    /// Handles the events of a host's engine. Returns whether anything was done.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        index: usize,
        endpoint: &mut Endpoint,
        readings: &mut Readings,
    ) -> bool {
        let mut acted = false;
        while let Some(Accepted { connection: handle, local, .. }) = endpoint.poll_accept() {
            acted = true;
            if let Some(&i) = self.by_port.get(&(index, local.port()))
                && let server = &mut self.list[i].server
                && server.handle.is_none()
            {
                server.handle = Some(handle);
                self.own(index, handle, i);
            }
        }
        while let Some((handle, event)) = endpoint.poll_event() {
            acted = true;
            let Some(i) = self.with_connection(index, handle) else { continue };
            let app = &mut self.list[i];
            match event {
                ConnectionEvent::Connected | ConnectionEvent::Writable => {
                    let is_sender = app.sender().handle == Some(handle) && app.sender().host == index;
                    // If the workload has requests, the requesting end writes first.
                    match (event, &mut app.requests) {
                        (ConnectionEvent::Connected, Some(_)) if is_sender => {}
                        (ConnectionEvent::Connected, asks) if is_sender || asks.is_some() => {
                            let before = app.next_time();
                            app.wakes = now + WAKE_UP;
                            self.reschedule(i, before);
                        }
                        (ConnectionEvent::Writable, Some(requests)) if !is_sender => {
                            requests.write(now, endpoint, handle, &app.contents);
                        }
                        (ConnectionEvent::Writable, _) if is_sender => app.write(now, endpoint),
                        _ => {}
                    }
                }
                ConnectionEvent::Readable => {
                    let is_receiver = app.receiver().handle == Some(handle) && app.receiver().host == index;
                    if !is_receiver {
                        app.answer(now, endpoint);
                    } else if !self.unread.contains(&i) {
                        self.unread.push(i);
                    }
                }
                ConnectionEvent::Failed(error) => {
                    app.error.get_or_insert(error);
                }
                _ => {}
            }
        }
        let mut at = 0;
        while let Some(&i) = self.unread.get(at) {
            let app = &mut self.list[i];
            let is_here = app.receiver().host == index;
            acted |= is_here;
            if is_here && !app.read(now, endpoint, readings, &mut self.pages) {
                self.unread.remove(at);
            } else {
                at += 1;
            }
        }
        acted
    }
}
