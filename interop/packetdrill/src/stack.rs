//! Sockets over one endpoint, and the clock that it runs on.

use crate::epoll::Epoll;
use crate::options::Options;
use bytes::Bytes;
use core::net::SocketAddr;
use pathweave_proto::{ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint, ListenerHandle, Secrets};
use pathweave_units::random::Random;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Segment;
use pathweave_wire::codec::{decode_into, decode_packet_too_big, encode};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::IntoRawFd;

/// Start time of the clock, so large that no script sees a time before it.
const START: Duration = Duration::from_secs(1_000_000);

/// A packet that does not come within this time will not come.
const PATIENCE: Duration = Duration::from_secs(200);

/// The reason why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An error number.
    Number(i32),
    /// The call would have to wait.
    Blocked,
}

pub(crate) type Answer<T> = Result<T, Refusal>;

pub(crate) fn refuse<T>(number: i32) -> Answer<T> {
    Err(Refusal::Number(number))
}

#[derive(Debug)]
pub(crate) enum Role {
    Fresh,
    Listener(ListenerHandle, VecDeque<ConnectionHandle>),
    Connection(ConnectionHandle),
    /// A set of sockets to wait for.
    Epoll(Epoll),
    Closed,
}

#[derive(Debug)]
pub(crate) struct Socket {
    /// A descriptor of `/dev/null`, because packetdrill closes by itself what a script has left open.
    fd: i32,
    pub(crate) multipath: bool,
    waits: bool,
    pub(crate) options: Options,
    pub(crate) bound: Option<SocketAddr>,
    pub(crate) role: Role,
    /// The pending `SO_ERROR`.
    pub(crate) error: i32,
    pub(crate) connected: bool,
    /// Time at which the connection was opened.
    pub(crate) opened: Instant,
    /// Number of bytes that were read.
    pub(crate) read: u64,
    /// Whether the script has shut down reading.
    pub(crate) reads_no_more: bool,
    /// Number of changes that wake waiting calls.
    pub(crate) news: u64,
}

pub(crate) struct Stack {
    now: Instant,
    pub(crate) endpoint: Endpoint,
    sockets: Vec<Socket>,
    /// Packets that have left, with their times.
    left: VecDeque<(Instant, Vec<u8>)>,
    place: Segment,
}

/// The readiness of a socket.
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
        _ => libc::EPIPE,
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

    /// The clock's time in microseconds. Each look moves it by one, because packetdrill looks repeatedly until a time
    /// has come.
    pub(crate) fn look_at_clock(&mut self) -> i64 {
        self.advance(self.now + Duration::from_micros(1));
        microseconds(self.now)
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Lets time pass.
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

    /// Sends what is ready to leave, and tells the sockets what has happened.
    pub(crate) fn settle(&mut self) {
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
                        socket.news += 1;
                    }
                }
            }
            while let Some((handle, event)) = self.endpoint.poll_event() {
                acted = true;
                let of = |s: &&mut Socket| matches!(s.role, Role::Connection(h) if h == handle);
                let Some(socket) = self.sockets.iter_mut().find(of) else { continue };
                socket.news += 1;
                match event {
                    ConnectionEvent::Connected => (socket.connected, socket.opened) = (true, self.now),
                    ConnectionEvent::Failed(error) => socket.error = number_of(error),
                    _ => {}
                }
            }
            if !acted {
                return;
            }
        }
    }

    /// Handles an arriving packet.
    pub(crate) fn take_packet(&mut self, packet: &[u8]) {
        let packet = Bytes::copy_from_slice(packet);
        if let Ok(ecn) = decode_into(&packet, 0..packet.len(), &mut self.place) {
            self.endpoint.handle_segment(self.now, ecn, &self.place);
        } else if let Ok(message) = decode_packet_too_big(&packet) {
            self.endpoint.handle_packet_too_big(self.now, &message);
        }
        self.settle();
    }

    /// The next packet that leaves, and its time. Lets time pass until there is one.
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

    pub(crate) fn socket(&mut self, fd: i32) -> Answer<&mut Socket> {
        let open = |s: &&mut Socket| s.fd == fd && !matches!(s.role, Role::Closed);
        self.sockets.iter_mut().find(open).ok_or(Refusal::Number(libc::EBADF))
    }

    pub(crate) fn add(&mut self, multipath: bool, role: Role) -> i32 {
        let connected = matches!(role, Role::Connection(_));
        let fd = File::open("/dev/null").map_or(-1, IntoRawFd::into_raw_fd);
        let socket = Socket {
            fd,
            multipath,
            waits: true,
            options: Options::default(),
            bound: None,
            role,
            error: 0,
            connected,
            opened: self.now,
            read: 0,
            reads_no_more: false,
            news: 0,
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
}

fn microseconds(at: Instant) -> i64 {
    (at.since(Instant::ZERO).as_nanos() / 1000) as i64
}
