//! Options of sockets.

use crate::info::tcp_info;
use crate::stack::{Answer, Refusal, Role, Stack, refuse};
use pathweave_units::Duration;

/// Constants that `libc` does not have.
const TCP_INQ: i32 = 36;
const TCP_CC_INFO: i32 = 26;
const SO_MEMINFO: i32 = 55;
/// 32-bit numbers of `SO_MEMINFO`.
const MEMINFO_BYTES: usize = 36;
/// Size of a buffer larger than any version of `struct tcp_info`. Unknown fields are 0.
const INFO_BYTES: usize = 512;
/// Default time without any answer of the peer after which a connection ends.
const USER_TIMEOUT: Duration = Duration::from_secs(60);
/// Default time after which an idle peer is probed (RFC 9293 §3.8.4).
const KEEP_IDLE: Duration = Duration::from_secs(7200);
/// Bytes that the TCP and IP headers take of a packet.
const HEADERS: u32 = 40;

/// Options that a script has set on a socket. Connections inherit those of their listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) no_delay: bool,
    pub(crate) corked: bool,
    /// `SO_SNDBUF`, doubled as Linux does, bytes.
    pub(crate) send_buffer: Option<u32>,
    pub(crate) max_segment: Option<u32>,
    /// `TCP_NOTSENT_LOWAT`; 0: none.
    pub(crate) not_sent_low_water: u32,
    pub(crate) user_timeout: Option<Duration>,
    pub(crate) keeps_alive: bool,
    pub(crate) keep_idle: Option<Duration>,
    /// `TCP_INQ`: whether reading also tells how much is left.
    pub(crate) tells_rest: bool,
}

impl Options {
    /// The largest packet of a path, if the script has set the largest segment.
    pub(crate) fn mtu(&self) -> Option<u32> {
        self.max_segment.map(|bytes| bytes + HEADERS)
    }
}

impl Stack {
    pub(crate) fn set_option(&mut self, fd: i32, level: i32, name: i32, value: i32) -> Answer<()> {
        let options = &mut self.socket(fd)?.options;
        let (number, on) = (value as u32, value != 0);
        match (level, name) {
            (libc::SOL_TCP, libc::TCP_NODELAY) => options.no_delay = on,
            (libc::SOL_TCP, libc::TCP_CORK) => options.corked = on,
            (libc::SOL_TCP, libc::TCP_MAXSEG) => options.max_segment = Some(number),
            (libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT) => options.not_sent_low_water = number,
            (libc::SOL_TCP, libc::TCP_USER_TIMEOUT) => {
                options.user_timeout = on.then(|| Duration::from_millis(number.into()));
            }
            (libc::SOL_TCP, libc::TCP_KEEPIDLE) => options.keep_idle = Some(Duration::from_secs(number.into())),
            (libc::SOL_TCP, TCP_INQ) => options.tells_rest = on,
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => options.keeps_alive = on,
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => options.send_buffer = Some(number.saturating_mul(2)),
            // What changes nothing here: addresses are never in use for long, there is one route, and nobody is spared a copy.
            (libc::SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT | libc::SO_MARK | libc::SO_ZEROCOPY)
            | (libc::SOL_SOCKET, libc::SO_LINGER)
            | (libc::SOL_IP, libc::IP_TOS | libc::IP_FREEBIND | libc::IP_MTU_DISCOVER) => return Ok(()),
            _ => return refuse(libc::ENOPROTOOPT),
        }
        self.apply(fd, level, name)
    }

    /// Passes the option on to the connection, if there is one already.
    fn apply(&mut self, fd: i32, level: i32, name: i32) -> Answer<()> {
        let now = self.now();
        let socket = self.socket(fd)?;
        let options = socket.options;
        let handle = match &socket.role {
            Role::Connection(handle) => *handle,
            Role::Listener(..) => return self.listen(fd, &crate::abi::settings()),
            _ => return Ok(()),
        };
        let set = self.endpoint.with(handle, |connection| match (level, name) {
            (libc::SOL_TCP, libc::TCP_NODELAY) => connection.set_nagle(now, !options.no_delay),
            (libc::SOL_TCP, libc::TCP_CORK) => connection.set_cork(now, options.corked),
            (libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT) => {
                let bytes = options.not_sent_low_water;
                connection.set_unsent_limit((bytes != 0).then(|| bytes.into())).ok();
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                connection.set_send_buffer(now, options.send_buffer.unwrap_or(1).max(1).into()).ok();
            }
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) | (libc::SOL_TCP, libc::TCP_KEEPIDLE) => {
                let idle = options.keep_idle.unwrap_or(KEEP_IDLE);
                connection.set_keep_alive(if options.keeps_alive { idle } else { Duration::ZERO });
            }
            (libc::SOL_TCP, libc::TCP_USER_TIMEOUT) => {
                connection.set_close_timeout(options.user_timeout.unwrap_or(USER_TIMEOUT)).ok();
            }
            _ => {}
        });
        set.map_err(|_| Refusal::Number(libc::ENOTCONN))?;
        self.settle();
        Ok(())
    }

    /// Passes on all options that were set before there was a connection.
    pub(crate) fn apply_all(&mut self, fd: i32) -> Answer<()> {
        let options = self.socket(fd)?.options;
        for (set, level, name) in [
            (options.send_buffer.is_some(), libc::SOL_SOCKET, libc::SO_SNDBUF),
            (options.user_timeout.is_some(), libc::SOL_TCP, libc::TCP_USER_TIMEOUT),
            (options.not_sent_low_water != 0, libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT),
            (options.keeps_alive, libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            (options.corked, libc::SOL_TCP, libc::TCP_CORK),
        ] {
            if set {
                self.apply(fd, level, name)?;
            }
        }
        Ok(())
    }

    pub(crate) fn option(&mut self, fd: i32, level: i32, name: i32) -> Answer<Vec<u8>> {
        let now = self.now();
        let socket = self.socket(fd)?;
        let (options, opened) = (socket.options, socket.opened);
        let handle = if let Role::Connection(handle) = socket.role { Some(handle) } else { None };
        let connection = handle.and_then(|handle| self.endpoint.connection(handle));
        let number = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => self.take_error(fd)? as u32,
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => options.send_buffer.unwrap_or(0),
            (libc::SOL_TCP, libc::TCP_NODELAY) => options.no_delay.into(),
            (libc::SOL_TCP, libc::TCP_CORK) => options.corked.into(),
            (libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT) => options.not_sent_low_water,
            (libc::SOL_TCP, libc::TCP_MAXSEG) => {
                let agreed = connection.and_then(|c| c.subflows().next()).map(|subflow| subflow.mss);
                agreed.or(options.max_segment).unwrap_or(536)
            }
            (libc::SOL_TCP, libc::TCP_INFO) => {
                let mut info = connection.map(|c| tcp_info(c, now, opened)).unwrap_or_default();
                info.resize(INFO_BYTES, 0);
                return Ok(info);
            }
            // What a congestion controller tells: nothing, as Linux's Cubic.
            (libc::SOL_TCP, TCP_CC_INFO) => return Ok(Vec::new()),
            (libc::SOL_SOCKET, SO_MEMINFO) => return Ok(vec![0; MEMINFO_BYTES]),
            _ => return refuse(libc::ENOPROTOOPT),
        };
        Ok(number.to_ne_bytes().to_vec())
    }
}
