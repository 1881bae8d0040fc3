//! A proxy that accepts Multipath TCP and forwards each connection to a server over plain TCP. Clients reach any server
//! over several paths, and the server needs no change. The proxy is also an example of an application that has sockets
//! of its own beside the engine.
//!
//! ```sh
//! cargo run --release --package pathweave-tun --example proxy -- 8080 127.0.0.1:80 10.1.0.2@10.1.0.1 10.2.0.2@10.2.0.1
//! ```
//!
//! The arguments are the port to listen on, the server, and the engine's paths as in `pathweave perf`. With
//! `--connections N` the proxy ends after `N` connections. With `--pcap FILE` it writes a capture.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("TUN devices are Linux's");
}

#[cfg(target_os = "linux")]
mod linux {
    use bytes::Bytes;
    use pathweave_algorithms::Registry;
    use pathweave_driver::{Applications, Driver, Observed};
    use pathweave_proto::config::ConnectionConfig;
    use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint, LocalAddress, ReadError};
    use pathweave_tun::{Capture, Clock, Interface, Tunnels, run_beside, secrets};
    use pathweave_units::{Duration, Instant};
    use rustix::event::{PollFd, PollFlags};
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::io::{self, ErrorKind, Read, Write};
    use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};

    const MTU: u16 = 1500;
    /// Largest read from the server, bytes.
    const READ_BYTES: usize = 64 << 10;
    /// Most pieces that one call reads from a connection.
    const READ_PIECES: usize = 64;
    /// Time for which the proxy still answers packets after the last connection, in case an acknowledgement was lost.
    const AFTER_THE_END: Duration = Duration::from_millis(500);

    /// A client's connection, and the proxy's socket to the server.
    struct Session {
        server: TcpStream,
        /// Data from the client that the server has not accepted yet, and data in the other direction.
        to_server: Vec<Bytes>,
        to_client: Vec<Bytes>,
        /// Whether the client and the server have ended their streams, and whether the other side has been told.
        client_has_ended: bool,
        server_has_ended: bool,
        told_server: bool,
        told_client: bool,
        /// Whether the client's connection is over. The server may not have accepted all data yet.
        is_over: bool,
    }

    impl Session {
        fn new(server: SocketAddr) -> io::Result<Self> {
            let server = TcpStream::connect(server)?;
            server.set_nonblocking(true)?;
            server.set_nodelay(true)?;
            Ok(Session {
                server,
                to_server: Vec::new(),
                to_client: Vec::new(),
                client_has_ended: false,
                server_has_ended: false,
                told_server: false,
                told_client: false,
                is_over: false,
            })
        }

        /// Drops all waiting data and sends nothing further.
        fn give_up(&mut self) {
            let _ = self.server.shutdown(Shutdown::Both);
            self.to_server.clear();
            self.to_client.clear();
            (self.client_has_ended, self.server_has_ended) = (true, true);
            (self.told_client, self.told_server, self.is_over) = (true, true, true);
        }

        /// Moves data from the client to the server until one of them blocks. Returns whether any data moved.
        fn up(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) -> io::Result<bool> {
            let mut went = false;
            loop {
                while let Some(first) = self.to_server.first_mut() {
                    match self.server.write(first) {
                        Ok(bytes) if bytes == first.len() => drop(self.to_server.remove(0)),
                        Ok(bytes) => *first = first.slice(bytes..),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(went),
                        Err(error) => return Err(error),
                    }
                    went = true;
                }
                if self.client_has_ended {
                    if !std::mem::replace(&mut self.told_server, true) {
                        self.server.shutdown(Shutdown::Write)?;
                    }
                    return Ok(went);
                }
                let mut pieces = [const { Bytes::new() }; READ_PIECES];
                match endpoint.read_chunks(now, connection, u64::MAX, &mut pieces) {
                    Ok(read) => self.to_server.extend(pieces.into_iter().take(read.chunks)),
                    Err(ReadError::Blocked) => return Ok(went),
                    Err(_) => self.client_has_ended = true,
                }
            }
        }

        /// Moves data from the server to the client in the same way.
        fn down(&mut self, now: Instant, endpoint: &mut Endpoint, connection: ConnectionHandle) -> io::Result<bool> {
            let mut went = false;
            loop {
                while !self.to_client.is_empty() {
                    let Ok(taken) = endpoint.write_chunks(now, connection, &mut self.to_client) else {
                        return Ok(went);
                    };
                    self.to_client.drain(..taken.chunks);
                    went = true;
                }
                if self.server_has_ended {
                    if !std::mem::replace(&mut self.told_client, true) {
                        let _ = endpoint.close(now, connection);
                        went = true;
                    }
                    return Ok(went);
                }
                let mut buffer = vec![0; READ_BYTES];
                match self.server.read(&mut buffer) {
                    Ok(0) => self.server_has_ended = true,
                    Ok(bytes) => {
                        buffer.truncate(bytes);
                        self.to_client.push(buffer.into());
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(went),
                    Err(error) => return Err(error),
                }
            }
        }
    }

    struct Proxy {
        server: SocketAddr,
        sessions: BTreeMap<ConnectionHandle, Session>,
        ended: u64,
    }

    impl Proxy {
        /// Adds the events of the server's socket that this session waits for.
        fn wait_for<'a>(&'a self, descriptors: &mut Vec<PollFd<'a>>) {
            for session in self.sessions.values() {
                let mut wanted = PollFlags::empty();
                wanted.set(PollFlags::IN, session.to_client.is_empty() && !session.server_has_ended);
                wanted.set(PollFlags::OUT, !session.to_server.is_empty());
                if !wanted.is_empty() {
                    descriptors.push(PollFd::new(&session.server, wanted));
                }
            }
        }
    }

    impl Applications for Proxy {
        fn serve(&mut self, now: Instant, _host: usize, endpoint: &mut Endpoint) -> bool {
            let mut acted = false;
            while let Some(accepted) = endpoint.poll_accept() {
                acted = true;
                match Session::new(self.server) {
                    Ok(session) => drop(self.sessions.insert(accepted.connection, session)),
                    Err(error) => {
                        eprintln!("{}: {error}", self.server);
                        let _ = endpoint.abort(now, accepted.connection);
                    }
                }
            }
            while let Some((connection, event)) = endpoint.poll_event() {
                acted = true;
                let Some(session) = self.sessions.get_mut(&connection) else { continue };
                match event {
                    ConnectionEvent::Closed => session.is_over = true,
                    ConnectionEvent::Failed(error) => {
                        println!("failed: {error}");
                        session.give_up();
                    }
                    _ => {}
                }
            }
            for (connection, session) in &mut self.sessions {
                let up = session.up(now, endpoint, *connection);
                match up.and_then(|up| Ok(up | session.down(now, endpoint, *connection)?)) {
                    Ok(went) => acted |= went,
                    Err(error) => {
                        eprintln!("{}: {error}", self.server);
                        session.give_up();
                        let _ = endpoint.abort(now, *connection);
                    }
                }
            }
            let before = self.sessions.len();
            self.sessions.retain(|_, session| !session.is_over || !session.told_server);
            self.ended += (before - self.sessions.len()) as u64;
            acted
        }
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let (mut plain, mut most, mut pcap) = (Vec::new(), None, None);
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--connections" => most = Some(arguments.next().unwrap_or_default().parse::<u64>()?),
                "--pcap" => pcap = arguments.next(),
                _ => plain.push(argument),
            }
        }
        let [port, server, paths @ ..] = &plain[..] else { return Err("write PORT SERVER OURS@MACHINES...".into()) };
        let mut interfaces = Vec::new();
        for (number, path) in paths.iter().enumerate() {
            let (ours, machines) = path.split_once('@').ok_or("a path is OURS@MACHINES")?;
            let (ours, machines): (IpAddr, IpAddr) = (ours.parse()?, machines.parse()?);
            interfaces.push(Interface { name: format!("proxy{number}"), ours, machines, mtu: MTU, public: None });
        }
        let registry = Registry::builtin();
        let mut config =
            ConnectionConfig::new(registry.choose_scheduler("minrtt", &[])?, registry.choose_controller("cubic", &[])?);
        let addresses: Vec<LocalAddress> =
            interfaces.iter().map(|i| LocalAddress { address: i.ours, meta: Default::default() }).collect();
        let observer = pcap.map(|file| Capture::create(file.as_ref(), &interfaces)).transpose()?;
        let device = Tunnels::create(&interfaces, true)?;
        config.tcp.packet_memory = device.packet_memory();
        let proxy = Proxy { server: server.parse()?, sessions: BTreeMap::new(), ended: 0 };
        let mut driver = Driver::new(vec![Endpoint::new(secrets()?)], Observed { device, observer }, proxy);
        let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port.parse()?);
        driver.endpoints[0].listen_and_accept(any, config, &addresses)?;
        println!("waiting on port {port}");
        let clock = Clock::start();
        let mut last = None;
        run_beside(&mut driver, &clock, Proxy::wait_for, |driver, now| {
            let ended = driver.applications.ended;
            if most.is_some_and(|most| ended >= most) {
                last.get_or_insert(now);
            }
            last.is_none_or(|last| now.since(last) < AFTER_THE_END)
        })?;
        driver.io.observer.as_mut().map_or(Ok(()), Capture::finish)?;
        Ok(())
    }
}
