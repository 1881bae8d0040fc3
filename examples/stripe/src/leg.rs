//! A leg: a local and a remote address, and the TCP connection between them. If the connection dies, the leg makes a
//! new one.

use crate::connection::Connection;
use pathweave_scheduler::{Duration, Instant, SubflowId};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

/// The pause before a dead leg connects again: the first one, and the longest. Each failure doubles the pause.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));
/// The time within which a connection must be established.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time without an answer after which the kernel gives a connection up (`TCP_USER_TIMEOUT`), ms.
const USER_TIMEOUT_MS: u32 = 30_000;

#[derive(Debug)]
enum State {
    Waiting { until: Instant },
    Connecting { stream: TcpStream, until: Instant },
    Up(Box<Connection>),
}

#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) id: SubflowId,
    pub(crate) local: IpAddr,
    remote: SocketAddr,
    /// Name of the kernel's congestion controller; `None`: the system's default.
    congestion: Option<String>,
    state: State,
    pause: Duration,
    /// Bytes of the stream that the leg was given, repeats included.
    pub(crate) given: u64,
    /// How often an established connection of the leg has died.
    pub(crate) deaths: u32,
}

impl Leg {
    /// A leg that connects at the first call of [`Leg::come_up`].
    pub(crate) fn new(id: SubflowId, local: IpAddr, remote: SocketAddr, congestion: Option<String>) -> Self {
        let state = State::Waiting { until: Instant::ZERO };
        Leg { id, local, remote, congestion, state, pause: PAUSE.0, given: 0, deaths: 0 }
    }

    /// The connection, if it is established.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        if let State::Up(connection) = &self.state { Some(connection) } else { None }
    }

    pub(crate) fn connection_mut(&mut self) -> Option<&mut Connection> {
        if let State::Up(connection) = &mut self.state { Some(connection) } else { None }
    }

    /// The socket, and the events of `poll` to wait for.
    pub(crate) fn waits_for(&self) -> Option<(&TcpStream, PollFlags)> {
        match &self.state {
            State::Waiting { .. } => None,
            State::Connecting { stream, .. } => Some((stream, PollFlags::OUT)),
            State::Up(connection) if connection.is_full() => Some((&connection.stream, PollFlags::IN | PollFlags::OUT)),
            State::Up(connection) => Some((&connection.stream, PollFlags::IN)),
        }
    }

    /// Continues to connect if the leg is not up. Returns whether the leg has come up in this call.
    pub(crate) fn come_up(&mut self, now: Instant) -> bool {
        let next = match std::mem::replace(&mut self.state, State::Waiting { until: now }) {
            State::Waiting { until } if now < until => Ok(State::Waiting { until }),
            State::Waiting { .. } => self.begin().map(|stream| State::Connecting { stream, until: now + PATIENCE }),
            State::Connecting { stream, until } => established(stream).and_then(|made| match made {
                Ok(connection) => Ok(State::Up(Box::new(connection))),
                Err(stream) if now < until => Ok(State::Connecting { stream, until }),
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            }),
            up @ State::Up(_) => {
                self.state = up;
                return false;
            }
        };
        match next {
            Ok(state) => self.state = state,
            Err(_) => self.rest(now),
        }
        let is_up = self.connection().is_some();
        if is_up {
            self.pause = PAUSE.0;
        }
        is_up
    }

    /// Ends the connection. The leg connects again after a pause.
    pub(crate) fn die(&mut self, now: Instant) {
        self.deaths += 1;
        self.rest(now);
    }

    fn rest(&mut self, now: Instant) {
        self.state = State::Waiting { until: now + self.pause };
        self.pause = self.pause.saturating_mul(2).min(PAUSE.1);
    }

    fn begin(&self) -> io::Result<TcpStream> {
        let family = if self.remote.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        if let Some(name) = &self.congestion {
            sockopt::set_tcp_congestion(&socket, name)?;
        }
        bind(&socket, &SocketAddr::new(self.local, 0))?;
        match connect(&socket, &self.remote) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
            Err(e) => Err(e.into()),
        }
    }
}

/// The connection if it is established, and the socket if it is not yet.
fn established(stream: TcpStream) -> io::Result<Result<Connection, TcpStream>> {
    sockopt::socket_error(&stream)??;
    if stream.peer_addr().is_err() {
        return Ok(Err(stream));
    }
    // A piece fills a segment; it must not wait for the next one.
    stream.set_nodelay(true)?;
    sockopt::set_tcp_user_timeout(&stream, USER_TIMEOUT_MS)?;
    Ok(Ok(Connection::new(stream)?))
}
