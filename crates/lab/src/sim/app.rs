//! Applications: writers that write by their workload, and readers that read at once.

use super::addressing::path_between;
use super::contents::Contents;
use super::readings::Readings;
use super::requests::{Page, Requests};
use super::traffic::exponential;
use crate::scenario::{self, Direction, Gaps, Workload};
use core::net::SocketAddr;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{Connection, ConnectionError, ConnectionHandle, Endpoint, LocalAddress, SubflowId};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// Least time between a message's due time and the run's end for it to count as undelivered.
const IN_TIME: Duration = Duration::from_secs(1);

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) host: usize,
    pub(super) address: SocketAddr,
    pub(super) handle: Option<ConnectionHandle>,
}

/// Time from the connect to a process's first write. Packets that the handshake causes, such as announcements of
/// addresses and joins, stay ahead of the data, as if the process needed time to wake up.
pub(super) const WAKE_UP: Duration = Duration::from_micros(1);
/// Bytes that a reader reads, or a writer writes, in one call.
const BLOCK: u64 = 64 << 10;

/// The applications at both ends of a connection.
pub(super) struct App {
    pub(super) name: String,
    pub(super) measured: bool,
    pub(super) paths: Vec<usize>,
    pub(super) direction: Direction,
    workload: Workload,
    config: ConnectionConfig,
    local_addresses: Vec<LocalAddress>,
    pub(super) client: End,
    pub(super) server: End,
    pub(super) start: Instant,
    /// Time of the next start or message.
    timer: Option<Instant>,
    /// Time of the first write; the far future if that time is unknown or past.
    pub(super) wakes: Instant,
    written: u64,
    /// Bytes of messages that are due and not written yet.
    pending: u64,
    generated: u64,
    closed: bool,
    /// Random numbers for the times between messages.
    random: Random,
    /// The requests for objects, if it loads a web page.
    pub(super) requests: Option<Requests>,
    /// Messages and objects on their way: the end of each in the stream, and the time since which it is awaited.
    awaited: VecDeque<(u64, Instant)>,
    pub(super) contents: Contents,
    pub(super) received: u64,
    /// Bytes read that differ from the written ones.
    pub(super) altered: u64,
    /// Time at which the last byte was read; `None` before that.
    pub(super) finished: Option<Instant>,
    pub(super) error: Option<ConnectionError>,
    /// Whether the reader got the stream's bytes out of order, which is a broken invariant of the engine.
    pub(super) corrupted: bool,
}

impl App {
    pub(super) fn new(
        connection: &scenario::Connection,
        config: ConnectionConfig,
        client: (usize, SocketAddr),
        server: (usize, SocketAddr),
        local_addresses: Vec<LocalAddress>,
        random: Random,
        requests: Option<Requests>,
    ) -> Self {
        let end = |(host, address)| End { host, address, handle: None };
        App {
            name: connection.name.clone(),
            measured: connection.measured,
            paths: connection.paths.clone(),
            direction: connection.direction,
            workload: connection.workload,
            config,
            local_addresses,
            client: end(client),
            server: end(server),
            start: Instant::ZERO,
            timer: None,
            wakes: Instant::FAR_FUTURE,
            written: 0,
            pending: 0,
            generated: 0,
            closed: false,
            random,
            requests,
            awaited: VecDeque::new(),
            contents: Contents::Virtual,
            received: 0,
            altered: 0,
            finished: None,
            error: None,
            corrupted: false,
        }
    }

    /// Makes the application connect at this time.
    pub(super) fn start_at(&mut self, start: Instant) {
        self.start = start;
        self.timer = Some(start);
    }

    /// Whether the workload ends by itself.
    pub(super) fn ends(&self) -> bool {
        self.workload.ends()
    }
    /// Whether the application has ended, with or without an error.
    pub(super) fn is_done(&self) -> bool {
        self.finished.is_some() || self.error.is_some()
    }
    /// Whether the application has anything to receive. A page may have fewer objects than connections.
    pub(super) fn has_work(&self) -> bool {
        self.requests.as_ref().is_none_or(|r| r.end() > 0 || self.finished.is_none())
    }
    /// Messages and objects that were due from `from` on, [`IN_TIME`] or more before `end`, and have not arrived.
    /// `None` if the application sends as fast as the connection allows.
    pub(super) fn undelivered(&self, from: Instant, end: Instant) -> Option<u64> {
        let late = |since: Instant| since >= from && since + IN_TIME <= end;
        match self.workload {
            Workload::Bulk | Workload::Transfer { .. } => None,
            Workload::Messages { .. } | Workload::Web { .. } => {
                Some(self.awaited.iter().filter(|(_, since)| late(*since)).count() as u64)
            }
        }
    }
    /// Since when the reader waits for something that has not arrived; `None` if everything that was due is there.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        match self.workload {
            Workload::Bulk | Workload::Transfer { .. } => self.finished.is_none().then_some(self.start),
            Workload::Messages { .. } | Workload::Web { .. } => self.awaited.front().map(|(_, since)| *since),
        }
    }
    pub(super) fn sender(&self) -> &End {
        match self.direction {
            Direction::Upload => &self.client,
            Direction::Download => &self.server,
        }
    }
    pub(super) fn receiver(&self) -> &End {
        match self.direction {
            Direction::Upload => &self.server,
            Direction::Download => &self.client,
        }
    }

    /// The path of the scenario that a subflow between these addresses runs over.
    pub(super) fn path_of(&self, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        path_between(&self.paths, local, remote)
    }

    /// The scenario's path that the subflow with this identifier uses.
    pub(super) fn path_of_subflow(&self, connection: &Connection, id: SubflowId) -> Option<usize> {
        let (local, remote) = connection.addresses(id)?;
        self.path_of(local, remote)
    }

    /// Bytes that the writer could write now.
    fn available(&self) -> u64 {
        match self.workload {
            Workload::Bulk => u64::MAX,
            Workload::Transfer { size } => size - self.written,
            Workload::Messages { .. } | Workload::Web { .. } => self.pending,
        }
    }

    /// Whether the writer has more data than the connection accepted.
    pub(super) fn has_more(&self) -> bool {
        !self.closed && self.available() > 0
    }

    /// Time at which the application next acts by itself.
    pub(super) fn next_time(&self) -> Instant {
        self.timer.map_or(self.wakes, |timer| timer.min(self.wakes))
    }

    /// The end of the message to which the next byte belongs. A transfer is one message.
    fn message_end(&self) -> Option<u64> {
        match self.workload {
            Workload::Bulk => None,
            Workload::Transfer { size } => Some(size),
            Workload::Web { .. } => self.awaited.iter().map(|(end, _)| *end).find(|end| *end > self.written),
            Workload::Messages { message, size, .. } => {
                let end = (self.written / message.max(1) + 1).saturating_mul(message.max(1));
                Some(size.map_or(end, |size| end.min(size)))
            }
        }
    }

    pub(super) fn write(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(handle) = self.sender().handle.filter(|_| self.wakes == Instant::FAR_FUTURE) else { return };
        while self.available() > 0 && !self.closed {
            // With a kernel's send buffer, a writer writes block by block, and each block is pushed.
            let block = if self.config.tcp.send_buffer_tuning { BLOCK - self.written % BLOCK } else { u64::MAX };
            let left = self.message_end().map_or(u64::MAX, |end| end.saturating_sub(self.written));
            let payload = self.contents.from(self.written, self.available().min(block).min(left));
            let len = u64::from(payload.len());
            let taken = if len == left {
                endpoint.write_message(now, handle, payload)
            } else {
                endpoint.write(now, handle, payload)
            };
            let Ok(taken) = taken else { break };
            self.written += taken;
            self.pending = self.pending.saturating_sub(taken);
            if taken < len {
                break;
            }
        }
        if self.workload.size() == Some(self.written) && !self.closed {
            self.closed = true;
            // A connection that no longer exists is closed.
            endpoint.close(now, handle).ok();
        }
    }

    /// Draws the time to the next message.
    fn gap(&mut self) -> Duration {
        let Workload::Messages { rate, message, gaps, .. } = self.workload else { return Duration::ZERO };
        let mean = rate.time_to_send(message);
        let gap = match gaps {
            Gaps::Even => mean,
            Gaps::Exponential => exponential(&mut self.random, mean),
        };
        gap.max(Duration::from_nanos(1))
    }

    /// Makes the client ask for the next object of its page. The client is done if there is none left.
    fn ask(&mut self, now: Instant, endpoint: &mut Endpoint, pages: &mut [Page]) {
        let (Some(requests), Some(client)) = (&mut self.requests, self.client.handle) else { return };
        match requests.ask(&mut pages[requests.page]) {
            Some(end) => {
                self.awaited.push_back((end, now));
                requests.write(now, endpoint, client, &self.contents);
            }
            None => {
                self.finished = Some(now);
                endpoint.close(now, client).ok();
            }
        }
    }

    /// Makes the server read requests and answer them.
    pub(super) fn answer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let (Some(requests), Some(server)) = (&mut self.requests, self.server.handle) else { return };
        let (last, altered) = requests.read(now, endpoint, server, &self.contents);
        self.altered += altered;
        if let Some(end) = last {
            self.pending = end - self.written;
            self.write(now, endpoint);
        }
        if endpoint.connection(server).is_some_and(|c| c.at_end()) {
            endpoint.close(now, server).ok();
        }
    }

    /// Reads one block. The next block is read after the segments that this read allows have left. Returns whether
    /// there may be a next block.
    pub(super) fn read(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        readings: &mut Readings,
        pages: &mut [Page],
    ) -> bool {
        let Some(handle) = self.receiver().handle else { return false };
        let mut left = BLOCK;
        while left > 0
            && let Ok(payload) = endpoint.read(now, handle, left)
        {
            left -= u64::from(payload.len());
            if let Payload::Virtual { start, .. } = payload {
                self.corrupted |= start != self.received;
            }
            self.altered += self.contents.differing(self.received, &payload);
            self.received += u64::from(payload.len());
            if self.measured {
                readings.delivered(now, u64::from(payload.len()), self.waits_since());
            }
        }
        while let Some((_, since)) = self.awaited.pop_front_if(|(end, _)| *end <= self.received) {
            if self.measured {
                readings.message(since, now);
            }
        }
        if let Some(requests) = &self.requests {
            if requests.end() == self.received && self.finished.is_none() {
                self.ask(now, endpoint, pages);
            }
        } else if self.finished.is_none() && endpoint.connection(handle).is_some_and(|c| c.at_end()) {
            self.finished = Some(now);
            // The reader has everything and closes its own direction.
            endpoint.close(now, handle).ok();
        }
        left == 0
    }

    /// Opens the connection, or writes its next message. Returns the host that acted.
    pub(super) fn start_or_write(&mut self, now: Instant, endpoints: &mut [Endpoint], pages: &mut [Page]) -> usize {
        if self.wakes <= now {
            self.wakes = Instant::FAR_FUTURE;
            if self.requests.is_some() {
                let host = self.client.host;
                self.ask(now, &mut endpoints[host], pages);
                return host;
            }
            let host = self.sender().host;
            self.write(now, &mut endpoints[host]);
            return host;
        }
        self.timer = None;
        if self.client.handle.is_none() && self.error.is_none() {
            let (local, remote) = (self.client.address, self.server.address);
            let endpoint = &mut endpoints[self.client.host];
            match endpoint.connect(now, local, remote, self.config.clone(), &self.local_addresses) {
                Ok(handle) => self.client.handle = Some(handle),
                Err(_) => self.error = Some(ConnectionError::Aborted),
            }
            if let Workload::Messages { gaps, .. } = self.workload {
                // A Poisson process begins with a gap, so that several do not begin together.
                self.timer = Some(match gaps {
                    Gaps::Even => now,
                    Gaps::Exponential => now + self.gap(),
                });
            }
            return self.client.host;
        }
        if let Workload::Messages { message, size, .. } = self.workload {
            let message = size.map_or(message, |s| message.min(s - self.generated));
            self.generated += message;
            self.pending += message;
            self.awaited.push_back((self.generated, now));
            let more = size.is_none_or(|s| self.generated < s);
            self.timer = more.then(|| now + self.gap());
        }
        let host = self.sender().host;
        self.write(now, &mut endpoints[host]);
        host
    }
}
