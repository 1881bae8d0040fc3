//! Two endpoints joined by simple links: a delay each way, and a script that says what happens to each packet.

mod log;
mod packet;
mod settings;

pub(crate) use packet::{Fate, Packet};
pub(crate) use settings::{config, on_each_host, tcp_config, with_scheduler};

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::connection::{PathMeta, SubflowInfo};
use pathweave_proto::{Connection, ConnectionEvent, ConnectionHandle, Endpoint, ListenerHandle, LocalAddress};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Ecn, Flags, Payload, Segment};
use std::collections::BTreeMap;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client = 0,
    Server = 1,
}
pub(crate) use Side::{Client, Server};

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Client => Server,
            Server => Client,
        }
    }
}

pub(crate) const PORT: u16 = 80;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
pub(crate) fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

type Script = Box<dyn FnMut(&mut Packet) -> Fate>;

struct Flying {
    to: Side,
    path: usize,
    ecn: Ecn,
    segment: Segment,
}

pub(crate) struct Path {
    pub(crate) addresses: [IpAddr; 2],
    pub(crate) delay: Duration,
    pub(crate) up: bool,
}

/// What an application knows of one end.
#[derive(Default)]
pub(crate) struct App {
    pub(crate) handle: Option<ConnectionHandle>,
    pub(crate) received: Vec<u8>,
    pub(crate) events: Vec<(Instant, ConnectionEvent)>,
    /// Written so far, and still to be written.
    pub(crate) written: u64,
    pub(crate) pending: u64,
    pub(crate) close_after_writing: bool,
    /// Reads whenever it can.
    pub(crate) reads: bool,
}

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) hosts: [Endpoint; 2],
    pub(crate) apps: [App; 2],
    pub(crate) paths: Vec<Path>,
    pub(crate) config: ConnectionConfig,
    /// By the time of arrival and their numbers.
    flying: BTreeMap<(Instant, usize), Flying>,
    script: Script,
    pub(crate) log: Vec<Packet>,
    /// Data without contents.
    pub(crate) virtual_payload: bool,
    /// Bytes that were changed on the way are no failure.
    pub(crate) unchecked: bool,
    /// Whether the server's events are kept for the test.
    pub(crate) collect_events: bool,
    pub(crate) all_events: Vec<(ConnectionHandle, ConnectionEvent)>,
    isns: Vec<[u32; 2]>,
    /// The server's listener; without one a test makes its own.
    pub(crate) listener: Option<ListenerHandle>,
}

/// The byte at a place of the test stream.
pub(crate) fn byte_at(side: Side, at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ side as u8
}

fn v4(path: usize, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, path as u8 + 1, host))
}
fn v6(path: usize, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, path as u16 + 1, 0, 0, 0, host))
}

impl Pair {
    /// Hosts with one path for each of these one-way delays, in ms.
    pub(crate) fn new(delays: &[u64], config: ConnectionConfig) -> Pair {
        let addresses = |i| [v4(i, 1), v4(i, 2)];
        Pair::with_addresses(delays, addresses, config)
    }

    pub(crate) fn ipv6(delays: &[u64], config: ConnectionConfig) -> Pair {
        let addresses = |i| [v6(i, 1), v6(i, 2)];
        Pair::with_addresses(delays, addresses, config)
    }

    fn with_addresses(delays: &[u64], addresses: impl Fn(usize) -> [IpAddr; 2], config: ConnectionConfig) -> Pair {
        let path = |(i, d): (usize, &u64)| Path { addresses: addresses(i), delay: ms(*d), up: true };
        let paths: Vec<Path> = delays.iter().enumerate().map(path).collect();
        let mut hosts = [0, 1].map(|i| Endpoint::new(Random::substream(1, ["client", "server"][i])));
        for (i, host) in hosts.iter_mut().enumerate() {
            host.set_routes(paths.iter().map(|p| (p.addresses[i], p.addresses[1 - i])));
        }
        let mut pair = Pair {
            now: Instant::ZERO,
            hosts,
            apps: [App { reads: true, ..App::default() }, App { reads: true, ..App::default() }],
            paths,
            config: config.clone(),
            flying: BTreeMap::new(),
            script: Box::new(|_| Fate::Pass),
            log: Vec::new(),
            virtual_payload: false,
            unchecked: false,
            collect_events: false,
            all_events: Vec::new(),
            isns: vec![[0; 2]; delays.len()],
            listener: None,
        };
        pair.listen(config);
        pair
    }

    /// The server accepts with other settings from now on.
    pub(crate) fn listen(&mut self, config: ConnectionConfig) {
        let addresses = self.local_addresses(Server);
        if let Some(before) = self.listener.take() {
            self.hosts[1].unlisten(before).expect("it listens");
        }
        let anywhere = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
        self.listener = Some(self.hosts[1].listen_and_accept(anywhere, config, &addresses).expect("nobody listens"));
    }

    pub(crate) fn local_addresses(&self, side: Side) -> Vec<LocalAddress> {
        let local = |p: &Path| LocalAddress { address: p.addresses[side as usize], meta: PathMeta::default() };
        self.paths.iter().map(local).collect()
    }

    /// The client's SYN goes out.
    pub(crate) fn open(&mut self) {
        let (local, remote) = (self.paths[0].addresses[0], self.paths[0].addresses[1]);
        let addresses = self.local_addresses(Client);
        let handle = self.hosts[0].connect(
            self.now,
            SocketAddr::new(local, 0),
            SocketAddr::new(remote, PORT),
            self.config.clone(),
            &addresses,
        );
        self.apps[0].handle = Some(handle.expect("the settings are right"));
        self.settle();
    }

    /// Opens a connection and waits until both ends have it.
    #[track_caller]
    pub(crate) fn connect(&mut self) {
        self.open();
        self.run_until("both ends are connected", secs(30), |p| {
            p.connection(Client).is_some_and(Connection::is_connected) && p.connection(Server).is_some()
        });
    }

    /// Opens a connection and waits until it has `n` subflows that carry data on the client. Sends one byte, since only
    /// data proves to the client that the peer speaks Multipath TCP.
    #[track_caller]
    pub(crate) fn connect_with_subflows(&mut self, n: usize) {
        self.connect();
        self.write(Client, 1);
        self.run_until("all subflows are up", secs(30), |p| p.usable(Client) == n && p.usable(Server) == n);
    }

    pub(crate) fn connection(&self, side: Side) -> Option<&Connection> {
        self.hosts[side as usize].connection(self.apps[side as usize].handle?)
    }

    #[track_caller]
    pub(crate) fn the(&self, side: Side) -> &Connection {
        self.connection(side).expect("the connection exists")
    }

    /// The subflow of one end that runs over a path.
    #[track_caller]
    pub(crate) fn subflow(&self, side: Side, path: usize) -> SubflowInfo {
        let local = self.paths[path].addresses[side as usize];
        let found = self.the(side).subflows().filter(|s| s.local.ip() == local).last();
        found.expect("there is a subflow on that path")
    }

    pub(crate) fn usable(&self, side: Side) -> usize {
        self.connection(side).map_or(0, |c| c.subflows().filter(|s| s.usable).count())
    }

    /// Writes as many bytes of the test stream, as fast as the send buffer takes them.
    pub(crate) fn write(&mut self, side: Side, len: u64) {
        self.apps[side as usize].pending += len;
        self.push(side);
        self.settle();
    }

    /// Writes and then closes.
    pub(crate) fn send_all(&mut self, side: Side, len: u64) {
        self.apps[side as usize].pending += len;
        self.apps[side as usize].close_after_writing = true;
        self.push(side);
        self.settle();
    }

    fn push(&mut self, side: Side) {
        let app = &mut self.apps[side as usize];
        let Some(handle) = app.handle else { return };
        let host = &mut self.hosts[side as usize];
        while app.pending > 0 {
            let len = app.pending.min(50_000);
            let bytes: Vec<u8> = (app.written..app.written + len).map(|i| byte_at(side, i)).collect();
            let taken = host.write(self.now, handle, Payload::Bytes(bytes.into())).unwrap_or(0);
            app.written += taken;
            app.pending -= taken;
            if taken < len {
                return;
            }
        }
        if app.close_after_writing {
            app.close_after_writing = false;
            host.close(self.now, handle).ok();
        }
    }

    pub(crate) fn close(&mut self, side: Side) {
        self.command(side, |c, now| c.close(now));
    }

    pub(crate) fn command(&mut self, side: Side, command: impl FnOnce(&mut Connection, Instant)) {
        let now = self.now;
        if let Some(handle) = self.apps[side as usize].handle {
            self.hosts[side as usize].with(handle, |c| command(c, now)).ok();
        }
        self.settle();
    }

    /// The application reads at most `max` bytes now, also where it does not read by itself.
    pub(crate) fn read(&mut self, side: Side, max: u64) -> u64 {
        let mut left = max;
        let Some(handle) = self.apps[side as usize].handle else { return 0 };
        while left > 0 {
            let Ok(payload) = self.hosts[side as usize].read(self.now, handle, left) else { break };
            left -= u64::from(payload.len());
            self.take(side, &payload);
        }
        self.settle();
        max - left
    }

    fn take(&mut self, side: Side, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { panic!("real bytes became virtual: {payload:?}") };
        let received = &mut self.apps[side as usize].received;
        for byte in bytes {
            let at = received.len() as u64;
            let right = self.unchecked || *byte == byte_at(side.other(), at);
            assert!(right, "byte {at} of the stream to {side:?} has changed");
            received.push(*byte);
        }
    }

    /// Bytes that the application on this end has read.
    pub(crate) fn received(&self, side: Side) -> u64 {
        self.apps[side as usize].received.len() as u64
    }

    pub(crate) fn happened(&self, side: Side, wanted: impl Fn(&ConnectionEvent) -> bool) -> Option<Instant> {
        self.apps[side as usize].events.iter().find(|(_, e)| wanted(e)).map(|(t, _)| *t)
    }

    /// Everything that can happen now: applications and departing segments.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut idle = true;
            for side in [Client, Server] {
                let i = side as usize;
                while let Some(accepted) = self.hosts[i].poll_accept() {
                    idle = false;
                    self.apps[i].handle.get_or_insert(accepted.connection);
                }
                while let Some((handle, event)) = self.hosts[i].poll_event() {
                    idle = false;
                    if self.collect_events && side == Server {
                        self.all_events.push((handle, event));
                    }
                    if self.apps[i].handle.get_or_insert(handle) == &handle {
                        self.apps[i].events.push((self.now, event));
                    }
                    if self.apps[i].reads
                        && let ConnectionEvent::Readable = event
                    {
                        while let Ok(payload) = self.hosts[i].read(self.now, handle, u64::MAX) {
                            self.take(side, &payload);
                        }
                    }
                    if let ConnectionEvent::Writable | ConnectionEvent::Connected = event {
                        self.push(side);
                    }
                }
                while let Some(transmit) = self.hosts[i].poll_transmit(self.now) {
                    idle = false;
                    self.send(side, transmit.segment, transmit.ecn);
                }
            }
            if idle {
                return;
            }
        }
    }

    fn send(&mut self, from: Side, segment: Segment, ecn: Ecn) {
        let number = self.log.len();
        let ends = [segment.src.ip(), segment.dst.ip()];
        let i = from as usize;
        let path = self.paths.iter().position(|p| p.addresses[i] == ends[0] && p.addresses[1 - i] == ends[1]);
        let Some(path) = path else { panic!("no route for {segment:?}") };
        if !segment.payload.is_empty() && !self.virtual_payload {
            let real = matches!(segment.payload, Payload::Bytes(_));
            assert!(real, "a segment of a stream of real bytes carries real bytes: {segment:?}");
        }
        assert!(segment.options.wire_len() <= 40, "options fit: {:?}", segment.options);
        assert!(
            segment.ip_len() <= self.config.tcp.mtu,
            "{} bytes on a path of {}",
            segment.ip_len(),
            self.config.tcp.mtu
        );
        if segment.flags.contains(Flags::SYN) {
            self.isns[path][i] = segment.seq;
        }
        let mut packet = Packet { at: self.now, from, path, segment, ecn, number };
        let fate = (self.script)(&mut packet);
        self.log.push(packet.clone());
        let base = self.now + self.paths[path].delay;
        let arrivals = match fate {
            _ if !self.paths[path].up => vec![],
            Fate::Pass => vec![base],
            Fate::Drop => vec![],
            Fate::Late(extra) => vec![base + extra],
            Fate::Twice(extra) => vec![base, base + extra],
        };
        for at in arrivals {
            let Packet { ecn, segment, .. } = packet.clone();
            self.flying.insert((at, number), Flying { to: from.other(), path, ecn, segment });
        }
    }

    pub(crate) fn next_event(&self) -> Option<Instant> {
        let timers = self.hosts.iter().filter_map(Endpoint::poll_timeout);
        timers.chain(self.flying.keys().map(|(at, _)| *at).take(1)).min()
    }

    /// Goes on to the next thing that happens, not beyond `limit`. Returns whether anything was left.
    #[track_caller]
    pub(crate) fn step(&mut self, limit: Instant) -> bool {
        let Some(next) = self.next_event().filter(|t| *t <= limit) else {
            self.now = limit;
            return false;
        };
        self.now = self.now.max(next);
        if let Some(first) = self.flying.first_entry()
            && first.key().0 <= self.now
        {
            let Flying { to, ecn, mut segment, .. } = first.remove();
            self.hosts[to as usize].handle_segment(self.now, ecn, &mut segment);
        } else {
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
        }
        self.settle();
        true
    }

    #[track_caller]
    pub(crate) fn run_for(&mut self, time: Duration) {
        let limit = self.now + time;
        let mut steps = 0u64;
        while self.step(limit) {
            steps += 1;
            assert!(steps < 2_000_000, "time stands still at {}\n{}", self.now, self.describe());
        }
    }

    /// Runs until `done`, for at most `limit`.
    #[track_caller]
    pub(crate) fn run_until(&mut self, what: &str, limit: Duration, done: impl Fn(&Pair) -> bool) {
        let end = self.now + limit;
        let mut steps = 0u64;
        while !done(self) {
            steps += 1;
            assert!(steps < 2_000_000, "time stands still at {}", self.now);
            if !self.step(end) && !done(self) {
                panic!("not within {limit}: {what}\n{}", self.describe());
            }
        }
    }

    /// Runs until `side` has received `len` bytes in all.
    #[track_caller]
    pub(crate) fn run_until_received(&mut self, side: Side, len: u64, limit: Duration) {
        self.run_until(&format!("{side:?} has {len} bytes"), limit, |p| p.received(side) >= len);
        assert_eq!(self.received(side), len, "no byte more than was sent");
    }
}
