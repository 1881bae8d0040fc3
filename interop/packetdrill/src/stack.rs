//! Sockets over one endpoint, and the clock that it runs on.

use crate::settings::Settings;
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_proto::{
    ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint, ListenerHandle, ReadError, Secrets, WriteError,
};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::codec::{decode_into, decode_packet_too_big, encode};
use pathweave_wire::{Payload, Segment};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::IntoRawFd;

/// What the clock shows at the start, so that no script sees a time before it.
const START: Duration = Duration::from_secs(1_000_000);

/// A packet that is expected and does not come within this time will not come.
const PATIENCE: Duration = Duration::from_secs(200);

/// Why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// With this error number.
    Number(i32),
    /// It would have to wait.
    Blocked,
}

type Answer<T> = Result<T, Refusal>;

fn refuse<T>(number: i32) -> Answer<T> {
    Err(Refusal::Number(number))
}

#[derive(Debug)]
enum Role {
    Fresh,
    Listener(ListenerHandle, VecDeque<ConnectionHandle>),
    Connection(ConnectionHandle),
    Closed,
}

#[derive(Debug)]
struct Socket {
    /// A descriptor of `/dev/null`, because packetdrill closes by itself what a script has left open.
    fd: i32,
    multipath: bool,
    waits: bool,
    no_delay: bool,
    bound: Option<SocketAddr>,
    role: Role,
    /// What `SO_ERROR` tells once.
    error: i32,
    connected: bool,
    /// Bytes that were read.
    read: u64,
    /// The script has shut down this direction.
    reads_no_more: bool,
}

pub(crate) struct Stack {
    now: Instant,
    endpoint: Endpoint,
    sockets: Vec<Socket>,
    /// Packets that have left, and when.
    left: VecDeque<(Instant, Vec<u8>)>,
    place: Segment,
}

/// What a socket is ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    pub(crate) failed: bool,
    pub(crate) peer_ended: bool,
    pub(crate) both_ended: bool,
}

fn number_of(error: ConnectionError) -> i32 {
    match error {
        ConnectionError::Refused => libc::ECONNREFUSED,
        ConnectionError::Reset => libc::ECONNRESET,
        ConnectionError::AllPathsDead | ConnectionError::ConnectTimeout => libc::ETIMEDOUT,
        ConnectionError::Aborted => libc::EPIPE,
    }
}

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack {
            now: Instant::ZERO + START,
            endpoint: Endpoint::new(Secrets::reproducible(Random::substream(1, "packetdrill"))),
            sockets: Vec::new(),
            left: VecDeque::new(),
            place: Segment::default(),
        }
    }

    /// Microseconds that the clock shows. Each look moves it by one, because packetdrill looks until a time has come.
    pub(crate) fn look_at_clock(&mut self) -> i64 {
        self.advance(self.now + Duration::from_micros(1));
        microseconds(self.now)
    }

    /// Time passes.
    pub(crate) fn sleep(&mut self, time: Duration) {
        self.advance(self.now + time);
    }

    fn advance(&mut self, to: Instant) {
        while let Some(next) = self.endpoint.poll_timeout().filter(|next| *next <= to) {
            self.now = self.now.max(next);
            self.endpoint.handle_timeout(self.now);
            self.settle();
        }
        self.now = to;
    }

    /// What has to leave leaves, and sockets learn what has happened.
    fn settle(&mut self) {
        loop {
            while let Some(ecn) = self.endpoint.poll_transmit_into(self.now, 1, &mut self.place) {
                let mut packet = Vec::new();
                // A segment that no packet can hold does not exist: the engine knows the size of its options.
                if encode(&self.place, ecn, &mut packet).is_ok() {
                    self.left.push_back((self.now, packet));
                }
            }
            let mut acted = false;
            while let Some(accepted) = self.endpoint.poll_accept() {
                acted = true;
                let listener = accepted.listener;
                for socket in &mut self.sockets {
                    if let Role::Listener(handle, waiting) = &mut socket.role
                        && *handle == listener
                    {
                        waiting.push_back(accepted.connection);
                    }
                }
            }
            while let Some((handle, event)) = self.endpoint.poll_event() {
                acted = true;
                let of = |s: &&mut Socket| matches!(s.role, Role::Connection(h) if h == handle);
                let Some(socket) = self.sockets.iter_mut().find(of) else { continue };
                match event {
                    ConnectionEvent::Connected => socket.connected = true,
                    ConnectionEvent::Failed(error) => socket.error = number_of(error),
                    _ => {}
                }
            }
            if !acted {
                return;
            }
        }
    }

    /// A packet comes in.
    pub(crate) fn take_packet(&mut self, packet: &[u8]) {
        let packet = Bytes::copy_from_slice(packet);
        if let Ok(ecn) = decode_into(&packet, 0..packet.len(), &mut self.place) {
            self.endpoint.handle_segment(self.now, ecn, &self.place);
        } else if let Ok(message) = decode_packet_too_big(&packet) {
            self.endpoint.handle_packet_too_big(self.now, &message);
        }
        self.settle();
    }

    /// The next packet that has left, and when: time passes until there is one.
    pub(crate) fn next_packet(&mut self) -> Option<(i64, Vec<u8>)> {
        let limit = self.now + PATIENCE;
        loop {
            if let Some((at, packet)) = self.left.pop_front() {
                return Some((microseconds(at), packet));
            }
            let next = self.endpoint.poll_timeout().filter(|next| *next <= limit)?;
            self.advance(next.max(self.now));
        }
    }

    /// Whether a packet is ready without waiting.
    pub(crate) fn has_packet(&self) -> bool {
        !self.left.is_empty()
    }

    fn socket(&mut self, fd: i32) -> Answer<&mut Socket> {
        let open = |s: &&mut Socket| s.fd == fd && !matches!(s.role, Role::Closed);
        self.sockets.iter_mut().find(open).ok_or(Refusal::Number(libc::EBADF))
    }

    fn add(&mut self, multipath: bool, role: Role) -> i32 {
        let connected = matches!(role, Role::Connection(_));
        let fd = File::open("/dev/null").map_or(-1, IntoRawFd::into_raw_fd);
        let socket = Socket {
            fd,
            multipath,
            waits: true,
            no_delay: false,
            bound: None,
            role,
            error: 0,
            connected,
            read: 0,
            reads_no_more: false,
        };
        self.sockets.push(socket);
        fd
    }

    pub(crate) fn open(&mut self, multipath: bool) -> i32 {
        self.add(multipath, Role::Fresh)
    }

    pub(crate) fn waits(&mut self, fd: i32) -> bool {
        self.socket(fd).is_ok_and(|socket| socket.waits)
    }

    pub(crate) fn set_waits(&mut self, fd: i32, waits: bool) -> Answer<()> {
        self.socket(fd)?.waits = waits;
        Ok(())
    }

    pub(crate) fn bind(&mut self, fd: i32, at: SocketAddr) -> Answer<()> {
        self.socket(fd)?.bound = Some(at);
        Ok(())
    }

    pub(crate) fn listen(&mut self, fd: i32, settings: &Settings) -> Answer<()> {
        let socket = self.socket(fd)?;
        let Some(at) = socket.bound else { return refuse(libc::EINVAL) };
        let mut config = settings.config(socket.multipath);
        config.nagle = !socket.no_delay;
        let local = if at.ip().is_unspecified() { Settings::own_address() } else { at.ip() };
        let opened = self.endpoint.listen_and_accept(at, config, &settings.served(local));
        let Ok(handle) = opened else { return refuse(libc::EADDRINUSE) };
        self.socket(fd)?.role = Role::Listener(handle, VecDeque::new());
        Ok(())
    }

    pub(crate) fn accept(&mut self, fd: i32) -> Answer<(i32, SocketAddr)> {
        let socket = self.socket(fd)?;
        let multipath = socket.multipath;
        let Role::Listener(_, waiting) = &mut socket.role else { return refuse(libc::EINVAL) };
        let handle = waiting.pop_front().ok_or(Refusal::Blocked)?;
        let peer = self.endpoint.connection(handle).map(|c| c.remote_address());
        let new = self.add(multipath, Role::Connection(handle));
        Ok((new, peer.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0))))
    }

    /// Connects; asked again by a call that waits, says whether it has.
    pub(crate) fn connect(&mut self, fd: i32, to: SocketAddr, settings: &Settings, again: bool) -> Answer<()> {
        let now = self.now;
        let socket = self.socket(fd)?;
        match &socket.role {
            Role::Connection(_) if socket.error != 0 => return refuse(core::mem::take(&mut socket.error)),
            Role::Connection(_) if socket.connected && again => return Ok(()),
            Role::Connection(_) if socket.connected => return refuse(libc::EISCONN),
            Role::Connection(_) if again => return Err(Refusal::Blocked),
            Role::Connection(_) => return refuse(libc::EALREADY),
            Role::Fresh => {}
            _ => return refuse(libc::EINVAL),
        }
        let mut config = settings.client_config(socket.multipath);
        config.nagle = !socket.no_delay;
        let own = Settings::own_address();
        let bound = socket.bound.filter(|at| !at.ip().is_unspecified());
        let from = bound.unwrap_or(SocketAddr::new(own, socket.bound.map_or(0, |at| at.port())));
        let opened = self.endpoint.connect(now, from, to, config, &settings.opened(from.ip()));
        let Ok(handle) = opened else { return refuse(libc::EADDRNOTAVAIL) };
        self.socket(fd)?.role = Role::Connection(handle);
        self.settle();
        Err(Refusal::Blocked)
    }

    fn connection(&mut self, fd: i32) -> Answer<ConnectionHandle> {
        match &self.socket(fd)?.role {
            Role::Connection(handle) => Ok(*handle),
            _ => refuse(libc::ENOTCONN),
        }
    }

    pub(crate) fn read(&mut self, fd: i32, most: usize) -> Answer<Vec<u8>> {
        let handle = self.connection(fd)?;
        // Nobody waits for nothing, or after `SHUT_RD` for more than is there.
        if most == 0 || (self.socket(fd)?.reads_no_more && self.readable_bytes(fd)? == 0) {
            return Ok(Vec::new());
        }
        let answer = match self.endpoint.read(self.now, handle, most as u64) {
            Ok(payload) => {
                self.socket(fd)?.read += u64::from(payload.len());
                Ok(payload.to_vec())
            }
            Err(ReadError::Blocked) => Err(Refusal::Blocked),
            Err(ReadError::Failed(_)) => {
                let socket = self.socket(fd)?;
                match core::mem::take(&mut socket.error) {
                    0 => Ok(Vec::new()),
                    number => refuse(number),
                }
            }
            Err(_) => Ok(Vec::new()),
        };
        self.settle();
        answer
    }

    pub(crate) fn write(&mut self, fd: i32, bytes: &[u8]) -> Answer<usize> {
        let handle = self.connection(fd)?;
        let payload = Payload::Bytes(Bytes::copy_from_slice(bytes));
        let answer = match self.endpoint.write(self.now, handle, payload) {
            Ok(taken) => Ok(taken as usize),
            Err(WriteError::Blocked) => Err(Refusal::Blocked),
            Err(_) => match core::mem::take(&mut self.socket(fd)?.error) {
                0 => refuse(libc::EPIPE),
                told => refuse(told),
            },
        };
        self.settle();
        answer
    }

    pub(crate) fn shutdown(&mut self, fd: i32, read: bool, write: bool) -> Answer<()> {
        let handle = self.connection(fd)?;
        self.socket(fd)?.reads_no_more |= read;
        if write {
            self.endpoint.close(self.now, handle).ok();
        }
        self.settle();
        Ok(())
    }

    pub(crate) fn close(&mut self, fd: i32) -> Answer<()> {
        let now = self.now;
        let socket = self.socket(fd)?;
        let connected = socket.connected;
        match core::mem::replace(&mut socket.role, Role::Closed) {
            // RFC 9293 §3.10.4, CLOSE in SYN-SENT: "Delete the TCB".
            Role::Connection(handle) if !connected => {
                self.endpoint.abort(now, handle).ok();
            }
            Role::Connection(handle) => {
                self.endpoint.with(handle, |connection| connection.leave(now)).ok();
            }
            Role::Listener(handle, waiting) => {
                self.endpoint.unlisten(handle).ok();
                for connection in waiting {
                    self.endpoint.abort(now, connection).ok();
                }
            }
            Role::Fresh | Role::Closed => {}
        }
        self.settle();
        Ok(())
    }

    /// The error that is told once (`SO_ERROR`).
    pub(crate) fn take_error(&mut self, fd: i32) -> Answer<i32> {
        Ok(core::mem::take(&mut self.socket(fd)?.error))
    }

    pub(crate) fn set_no_delay(&mut self, fd: i32, on: bool) -> Answer<()> {
        let now = self.now;
        let socket = self.socket(fd)?;
        socket.no_delay = on;
        if let Role::Connection(handle) = socket.role {
            self.endpoint.with(handle, |connection| connection.set_nagle(now, !on)).ok();
            self.settle();
        }
        Ok(())
    }

    /// Bytes that can be read at once (`SIOCINQ`).
    pub(crate) fn readable_bytes(&mut self, fd: i32) -> Answer<u64> {
        let handle = self.connection(fd)?;
        let read = self.socket(fd)?.read;
        let connection = self.endpoint.connection(handle);
        Ok(connection.map_or(0, |c| c.snapshot().receiving.in_order_bytes.saturating_sub(read)))
    }

    pub(crate) fn ready(&mut self, fd: i32) -> Answer<Ready> {
        let waiting_bytes = self.readable_bytes(fd).unwrap_or(0);
        let socket = self.socket(fd)?;
        let failed = socket.error != 0;
        let connected = socket.connected;
        Ok(match &socket.role {
            Role::Listener(_, waiting) => Ready { readable: !waiting.is_empty(), ..Ready::default() },
            Role::Connection(handle) => {
                let handle = *handle;
                let connection = self.endpoint.connection(handle);
                let ended = connection.is_none_or(|c| c.at_end());
                Ready {
                    readable: failed || ended || waiting_bytes > 0,
                    writable: failed || (connected && connection.is_none_or(|c| c.writable() > 0)),
                    failed,
                    peer_ended: ended,
                    both_ended: failed || connection.is_none_or(|c| c.is_finished()),
                }
            }
            _ => Ready { writable: true, both_ended: true, ..Ready::default() },
        })
    }
}

fn microseconds(at: Instant) -> i64 {
    (at.since(Instant::ZERO).as_nanos() / 1000) as i64
}
