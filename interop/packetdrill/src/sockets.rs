//! The calls of sockets.

use crate::options::Options;
use crate::settings::Settings;
use crate::stack::{Answer, Ready, Refusal, Role, Stack, refuse};
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{ConnectionHandle, ReadError, WriteError};
use pathweave_wire::Payload;
use std::collections::VecDeque;

/// Settings with what was set of a socket before it connected or listened.
fn with_options(mut config: ConnectionConfig, options: &Options) -> ConnectionConfig {
    config.nagle = !options.no_delay;
    config.tcp.mtu = options.mtu().unwrap_or(config.tcp.mtu);
    config
}

impl Stack {
    pub(crate) fn bind(&mut self, fd: i32, at: SocketAddr) -> Answer<()> {
        self.socket(fd)?.bound = Some(at);
        Ok(())
    }

    pub(crate) fn listen(&mut self, fd: i32, settings: &Settings) -> Answer<()> {
        let socket = self.socket(fd)?;
        let Some(at) = socket.bound else { return refuse(libc::EINVAL) };
        let config = with_options(settings.config(socket.multipath), &socket.options);
        let local = if at.ip().is_unspecified() { Settings::own_address() } else { at.ip() };
        let before = match &self.socket(fd)?.role {
            Role::Listener(handle, _) => Some(*handle),
            _ => None,
        };
        if let Some(before) = before {
            // The socket listens with other settings from now on.
            self.endpoint.unlisten(before).ok();
        }
        let opened = self.endpoint.listen_and_accept(at, config, &settings.served(local));
        let Ok(handle) = opened else { return refuse(libc::EADDRINUSE) };
        self.socket(fd)?.role = Role::Listener(handle, VecDeque::new());
        Ok(())
    }

    pub(crate) fn accept(&mut self, fd: i32) -> Answer<(i32, SocketAddr)> {
        let socket = self.socket(fd)?;
        let (multipath, options) = (socket.multipath, socket.options);
        let Role::Listener(_, waiting) = &mut socket.role else { return refuse(libc::EINVAL) };
        let handle = waiting.pop_front().ok_or(Refusal::Blocked)?;
        let peer = self.endpoint.connection(handle).map(|c| c.remote_address());
        let new = self.add(multipath, Role::Connection(handle));
        self.socket(new)?.options = options;
        self.apply_all(new)?;
        Ok((new, peer.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0))))
    }

    /// Connects. With `again`, a waiting call asks whether the connection is open.
    pub(crate) fn connect(&mut self, fd: i32, to: SocketAddr, settings: &Settings, again: bool) -> Answer<()> {
        let now = self.now();
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
        let config = with_options(settings.client_config(socket.multipath), &socket.options);
        let own = Settings::own_address();
        let bound = socket.bound.filter(|at| !at.ip().is_unspecified());
        let from = bound.unwrap_or(SocketAddr::new(own, socket.bound.map_or(0, |at| at.port())));
        let opened = self.endpoint.connect(now, from, to, config, &settings.opened(from.ip()));
        let Ok(handle) = opened else { return refuse(libc::EADDRNOTAVAIL) };
        self.socket(fd)?.role = Role::Connection(handle);
        self.apply_all(fd)?;
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
        let answer = match self.endpoint.read(self.now(), handle, most as u64) {
            Ok(payload) => {
                let mut read = payload.to_vec();
                // The engine reads one piece at a time.
                while read.len() < most
                    && let Ok(more) = self.endpoint.read(self.now(), handle, (most - read.len()) as u64)
                {
                    read.extend_from_slice(&more.to_vec());
                }
                self.socket(fd)?.read += read.len() as u64;
                Ok(read)
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

    /// Writes bytes. `flags` are those of `send`.
    pub(crate) fn write(&mut self, fd: i32, bytes: &[u8], flags: i32) -> Answer<usize> {
        let handle = self.connection(fd)?;
        let payload = Payload::Bytes(Bytes::copy_from_slice(bytes));
        let now = self.now();
        let written = self.endpoint.with(handle, |connection| match flags {
            _ if flags & libc::MSG_MORE != 0 => connection.write_more(now, payload),
            _ if flags & libc::MSG_EOR != 0 => connection.write_record(now, payload),
            _ => connection.write(now, payload),
        });
        let answer = match written.unwrap_or(Err(WriteError::UnknownConnection)) {
            Ok(taken) => Ok(taken as usize),
            Err(WriteError::Blocked) => Err(Refusal::Blocked),
            Err(_) => match core::mem::take(&mut self.socket(fd)?.error) {
                0 => refuse(libc::EPIPE),
                number => refuse(number),
            },
        };
        self.settle();
        answer
    }

    pub(crate) fn shutdown(&mut self, fd: i32, read: bool, write: bool) -> Answer<()> {
        let handle = self.connection(fd)?;
        self.socket(fd)?.reads_no_more |= read;
        if write {
            self.endpoint.close(self.now(), handle).ok();
        }
        self.settle();
        Ok(())
    }

    pub(crate) fn close(&mut self, fd: i32) -> Answer<()> {
        let now = self.now();
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
            Role::Fresh | Role::Epoll(_) | Role::Closed => {}
        }
        self.settle();
        Ok(())
    }

    /// The pending error (`SO_ERROR`), which is reported once.
    pub(crate) fn take_error(&mut self, fd: i32) -> Answer<i32> {
        Ok(core::mem::take(&mut self.socket(fd)?.error))
    }

    /// The remaining bytes that reading reports, if the script has asked for them. An ended stream has one more, so
    /// that it is read to its end.
    pub(crate) fn told_rest(&mut self, fd: i32) -> Option<i32> {
        let handle = self.connection(fd).ok()?;
        let rest = self.readable_bytes(fd).ok()?;
        let ends = self.endpoint.connection(handle).is_some_and(|c| c.at_end());
        let left = if rest == 0 { u64::from(ends) } else { rest };
        self.socket(fd).ok()?.options.tells_rest.then(|| i32::try_from(left).unwrap_or(i32::MAX))
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
