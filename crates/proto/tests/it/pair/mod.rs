//! Two endpoints with simple links between them: a delay each way, and a script that decides about each packet.

mod links;
mod log;
mod packet;
mod programs;
mod settings;

pub(crate) use links::{Links, Path, Says};
pub(crate) use packet::{Fate, Packet};
pub(crate) use programs::{App, Programs, byte_at};
#[cfg(feature = "host-linux")]
pub(crate) use settings::on_linux;
pub(crate) use settings::{config, defers, on_each_host, tcp_config, with_recovery, with_scheduler};

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use pathweave_driver::{Driver, PacketIo};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::connection::{Observation, PathMeta, SubflowSnapshot};
use pathweave_proto::{Connection, ConnectionEvent, Endpoint, ListenerHandle, LocalAddress, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client = 0,
    Server = 1,
}
pub(crate) use Side::{Client, Server};

impl Side {
    /// The side with this number.
    pub(crate) fn of(number: usize) -> Side {
        [Client, Server][number]
    }

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

fn v4(path: usize, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, path as u8 + 1, host))
}
fn v6(path: usize, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, path as u16 + 1, 0, 0, 0, host))
}

/// Two endpoints, the links between them, the applications behind them, and a clock.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) driver: Driver<Links, Programs>,
    pub(crate) config: ConnectionConfig,
    /// The server's listener; `None` if the test makes its own.
    pub(crate) listener: Option<ListenerHandle>,
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

    /// Hosts with paths of IPv4 and IPv6 in turn.
    pub(crate) fn mixed(delays: &[u64], config: ConnectionConfig) -> Pair {
        let addresses = |i: usize| if i.is_multiple_of(2) { [v4(i, 1), v4(i, 2)] } else { [v6(i, 1), v6(i, 2)] };
        Pair::with_addresses(delays, addresses, config)
    }

    fn with_addresses(delays: &[u64], addresses: impl Fn(usize) -> [IpAddr; 2], config: ConnectionConfig) -> Pair {
        let path = |(i, d): (usize, &u64)| Path { addresses: addresses(i), delay: ms(*d), up: true, narrow: None };
        let paths: Vec<Path> = delays.iter().enumerate().map(path).collect();
        let mut hosts =
            [0, 1].map(|i| Endpoint::new(Secrets::reproducible(Random::substream(1, ["client", "server"][i]))));
        for (i, host) in hosts.iter_mut().enumerate() {
            host.set_routes(paths.iter().map(|p| (p.addresses[i], p.addresses[1 - i])));
        }
        let app = || App { reads: true, ..App::default() };
        let programs = Programs { apps: [app(), app()], ..Programs::default() };
        let links = Links::new(paths, config.tcp.mtu);
        let mut pair = Pair {
            now: Instant::ZERO,
            driver: Driver::new(hosts.into(), links, programs),
            config: config.clone(),
            listener: None,
        };
        pair.listen(config);
        pair
    }

    /// Makes the server accept with other settings from now on.
    pub(crate) fn listen(&mut self, config: ConnectionConfig) {
        let addresses = self.local_addresses(Server);
        if let Some(before) = self.listener.take() {
            self.driver.endpoints[1].unlisten(before).expect("it listens");
        }
        let anywhere = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
        self.listener =
            Some(self.driver.endpoints[1].listen_and_accept(anywhere, config, &addresses).expect("nobody listens"));
    }

    pub(crate) fn local_addresses(&self, side: Side) -> Vec<LocalAddress> {
        let local = |p: &Path| LocalAddress { address: p.addresses[side as usize], meta: PathMeta::default() };
        self.driver.io.paths.iter().map(local).collect()
    }

    /// Sends the client's SYN.
    pub(crate) fn open(&mut self) {
        self.open_with(&self.local_addresses(Client));
    }

    /// Sends the client's SYN, with the client's addresses in another order.
    pub(crate) fn open_with(&mut self, addresses: &[LocalAddress]) {
        let (local, remote) = (self.driver.io.paths[0].addresses[0], self.driver.io.paths[0].addresses[1]);
        let handle = self.driver.endpoints[0].connect(
            self.now,
            SocketAddr::new(local, 0),
            SocketAddr::new(remote, PORT),
            self.config.clone(),
            addresses,
        );
        self.driver.applications.apps[0].handle = Some(handle.expect("the settings are right"));
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

    /// Opens a connection and waits until it has `n` subflows that can carry the client's data. Sends one byte, because
    /// only data proves to the client that the peer speaks Multipath TCP.
    #[track_caller]
    pub(crate) fn connect_with_subflows(&mut self, n: usize) {
        self.connect();
        self.write(Client, 1);
        self.run_until("all subflows are up", secs(30), |p| p.usable(Client) == n && p.usable(Server) == n);
    }

    /// Adds remote addresses that do not answer, reachable from this address of the client.
    pub(crate) fn add_dark_addresses(&mut self, local: IpAddr, remotes: impl IntoIterator<Item = IpAddr>) {
        let dark = |remote| Path { addresses: [local, remote], delay: ms(10), up: false, narrow: None };
        self.driver.io.paths.extend(remotes.into_iter().map(dark));
        self.driver.io.isns.resize(self.driver.io.paths.len(), [0; 2]);
        let routes: Vec<_> = self.driver.io.paths.iter().map(|p| (p.addresses[0], p.addresses[1])).collect();
        self.driver.endpoints[0].set_routes(routes);
    }

    pub(crate) fn connection(&self, side: Side) -> Option<&Connection> {
        self.driver.endpoints[side as usize].connection(self.driver.applications.apps[side as usize].handle?)
    }

    #[track_caller]
    pub(crate) fn the(&self, side: Side) -> &Connection {
        self.connection(side).expect("the connection exists")
    }

    /// The subflow of one end on a path.
    #[track_caller]
    pub(crate) fn subflow(&self, side: Side, path: usize) -> SubflowSnapshot {
        let local = self.driver.io.paths[path].addresses[side as usize];
        let found = self.the(side).subflows().filter(|s| s.local.ip() == local).last();
        found.expect("there is a subflow on that path")
    }

    pub(crate) fn usable(&self, side: Side) -> usize {
        self.connection(side).map_or(0, |c| c.subflows().filter(|s| s.usable).count())
    }

    /// Writes this many bytes of the test stream, as fast as the send buffer takes them.
    pub(crate) fn write(&mut self, side: Side, len: u64) {
        self.driver.applications.apps[side as usize].pending += len;
        self.push(side);
        self.settle();
    }

    /// Writes and then closes.
    pub(crate) fn send_all(&mut self, side: Side, len: u64) {
        self.driver.applications.apps[side as usize].pending += len;
        self.driver.applications.apps[side as usize].close_after_writing = true;
        self.push(side);
        self.settle();
    }

    fn push(&mut self, side: Side) {
        let Driver { endpoints, applications, .. } = &mut self.driver;
        applications.push(self.now, side, &mut endpoints[side as usize]);
    }

    pub(crate) fn close(&mut self, side: Side) {
        self.command(side, |c, now| c.close(now));
    }

    pub(crate) fn command(&mut self, side: Side, command: impl FnOnce(&mut Connection, Instant)) {
        let now = self.now;
        if let Some(handle) = self.driver.applications.apps[side as usize].handle {
            self.driver.endpoints[side as usize].with(handle, |c| command(c, now)).ok();
        }
        self.settle();
    }

    /// Reads at most `max` bytes now, even if the application does not read by itself.
    pub(crate) fn read(&mut self, side: Side, max: u64) -> u64 {
        let mut left = max;
        let Some(handle) = self.driver.applications.apps[side as usize].handle else { return 0 };
        while left > 0 {
            let Ok(payload) = self.driver.endpoints[side as usize].read(self.now, handle, left) else { break };
            left -= u64::from(payload.len());
            self.driver.applications.take(side, &payload);
        }
        self.settle();
        max - left
    }

    /// Number of bytes that the application on this end has read.
    pub(crate) fn received(&self, side: Side) -> u64 {
        self.driver.applications.apps[side as usize].received.len() as u64
    }

    pub(crate) fn happened(&self, side: Side, wanted: impl Fn(&ConnectionEvent) -> bool) -> Option<Instant> {
        self.driver.applications.apps[side as usize].events.iter().find(|(_, e)| wanted(e)).map(|(t, _)| *t)
    }

    /// Observations of a side since the last call ([`Endpoint::observe_all`]).
    pub(crate) fn observed(&mut self, side: Side) -> Vec<Observation> {
        let endpoint = &mut self.driver.endpoints[side as usize];
        std::iter::from_fn(|| endpoint.poll_observation()).map(|(_, observation)| observation).collect()
    }

    /// Carries out the consequences of a command: segments leave, applications act.
    pub(crate) fn settle(&mut self) {
        for host in 0..2 {
            let Ok(()) = self.driver.drain(self.now, host);
        }
    }

    /// Continues to the next packet or timer, not beyond `limit`. Returns whether anything was left.
    #[track_caller]
    pub(crate) fn step(&mut self, limit: Instant) -> bool {
        let Some(next) = self.driver.poll_timeout().filter(|t| *t <= limit) else {
            self.now = limit;
            return false;
        };
        self.now = self.now.max(next);
        // Tests look at the state between the two parts of a round.
        let arrives = self.driver.io.poll_timeout().is_some_and(|at| at <= self.now);
        let Ok(()) = match arrives {
            true => self.driver.handle_packets(self.now),
            false => self.driver.handle_timeout(self.now),
        };
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
