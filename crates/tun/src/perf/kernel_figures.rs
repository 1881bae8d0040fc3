//! The kernel's figures about the subflows of one of its connections (`sock_diag(7)`).

use super::{Request, SubflowFigures};
use netlink_sys::{Socket, SocketAddr as Netlink};
use pathweave_units::Duration;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Numbers of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
const NETLINK_SOCK_DIAG: isize = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_ULP_INFO_MPTCP: u16 = 3;
const MPTCP_SUBFLOW_ATTR_TOKEN_LOC: u16 = 2;
const FAMILIES: [u8; 2] = [2, 10];
const TCP: u8 = 6;
/// Attribute of a request with the number of a protocol that has more than 8 bits, and the number of Multipath TCP.
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
const MPTCP: u32 = 262;
/// Flag of `mptcp_info`: the connection is plain TCP.
const FALLBACK: u32 = 1;
/// All states but those of listeners and of sockets that are closed.
const STATES: u32 = 0xfff & !(1 << 7) & !(1 << 10);
/// The length of `nlmsghdr`, and that of `inet_diag_msg`, which follows it.
const HEADER_BYTES: usize = 16;
const SOCKET_BYTES: usize = 72;
/// A list of sockets takes at most this many answers of at most 32 KiB each.
const MOST_ANSWERS: usize = 1000;

/// A TCP socket of the machine.
struct Subflow {
    /// Multipath TCP's number of its connection; only an administrator learns it.
    token: Option<u32>,
    figures: SubflowFigures,
}

/// The figures of the connection whose first subflow has these ends, since its start: of each subflow, or of the first one if the system
/// does not say which others there are. Nothing if the system says nothing.
fn subflows(local: SocketAddr, remote: SocketAddr) -> Vec<SubflowFigures> {
    let all: Vec<Subflow> = FAMILIES.into_iter().flat_map(|family| sockets(family).unwrap_or_default()).collect();
    let is_first = |s: &Subflow| (s.figures.local, s.figures.remote) == (local, remote);
    let token = all.iter().find(|s| is_first(s)).and_then(|s| s.token);
    let is_ours = |s: &Subflow| is_first(s) || (token.is_some() && s.token == token);
    // Both ends may be on this machine, and have tokens of their own.
    all.into_iter().filter(is_ours).map(|s| s.figures).collect()
}

/// A position in a connection's stream up to which the peer has acknowledged, and whether it is Multipath TCP's or that
/// of plain TCP. Positions of one kind have a common origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Acknowledged {
    is_multipath: bool,
    position: u64,
}

impl Acknowledged {
    /// The position of the connection whose first subflow has these ends. `None` if the system does not report it.
    fn of(local: SocketAddr, remote: SocketAddr) -> Option<Self> {
        let find = |protocol| {
            let read = |message: &[u8]| acknowledged(message, protocol == MPTCP);
            let mut all = FAMILIES.into_iter().flat_map(|family| messages(family, protocol, read).unwrap_or_default());
            all.find(|(ends, _)| *ends == (local, remote)).map(|(_, acknowledged)| acknowledged)
        };
        // Multipath TCP's socket has the ends of its first subflow. One that fell back is not found here.
        find(MPTCP).or_else(|| find(TCP.into()))
    }

    /// Bytes acknowledged since `before`. `None` if the connection fell back in between.
    fn since(self, before: Self) -> Option<u64> {
        (self.is_multipath == before.is_multipath).then(|| self.position.saturating_sub(before.position))
    }
}

/// The kernel's figures of a client's connection. Sockets that have ended tell nothing, so the last figures before count.
pub(super) struct Watch {
    local: SocketAddr,
    remote: SocketAddr,
    before: Option<Acknowledged>,
    /// Bytes of the client's data that the peer has acknowledged. `None` if the system does not report it.
    pub(super) acknowledged: Option<u64>,
    /// Figures of the subflows since the connection's start.
    pub(super) subflows: Vec<SubflowFigures>,
}

impl Watch {
    /// Begins before the client sends its request.
    pub(super) fn start(local: SocketAddr, remote: SocketAddr) -> Self {
        let before = Acknowledged::of(local, remote);
        Watch { local, remote, before, acknowledged: before.map(|_| 0), subflows: Vec::new() }
    }

    /// Takes figures again.
    pub(super) fn look(&mut self) {
        let now =
            Acknowledged::of(self.local, self.remote).zip(self.before).and_then(|(now, before)| now.since(before));
        self.acknowledged = now.map(|bytes| bytes.saturating_sub(Request::BYTES as u64)).max(self.acknowledged);
        let subflows = subflows(self.local, self.remote);
        if !subflows.is_empty() {
            self.subflows = subflows;
        }
    }
}

/// All TCP sockets of a family.
fn sockets(family: u8) -> io::Result<Vec<Subflow>> {
    messages(family, TCP.into(), read)
}

/// The sockets of a family and protocol that `read` takes.
fn messages<T>(family: u8, protocol: u32, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let mut request = vec![0; HEADER_BYTES];
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    // The lowest eight bits; the attribute has them all.
    request.extend([family, protocol as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    request.extend(STATES.to_ne_bytes());
    // Any addresses, ports and devices.
    request.extend([0; 48]);
    request.extend(8u16.to_ne_bytes());
    request.extend(INET_DIAG_REQ_PROTOCOL.to_ne_bytes());
    request.extend(protocol.to_ne_bytes());
    let length = request.len() as u32;
    request[..4].copy_from_slice(&length.to_ne_bytes());

    let socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.send_to(&request, &Netlink::new(0, 0), 0)?;
    let mut found = Vec::new();
    for _ in 0..MOST_ANSWERS {
        let (answer, _) = socket.recv_from_full()?;
        let mut rest = &answer[..];
        while let Some((message, others)) = first_message(rest) {
            let kind = u16::from_ne_bytes([message[4], message[5]]);
            if kind == NLMSG_DONE || kind == NLMSG_ERROR {
                return Ok(found);
            }
            found.extend(message.get(HEADER_BYTES..).and_then(&read));
            rest = others;
        }
    }
    Ok(found)
}

/// The first message, with its header, and what follows.
fn first_message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = number::<4>(bytes, 0).map(u32::from_ne_bytes)? as usize;
    let message = bytes.get(..length).filter(|message| message.len() >= HEADER_BYTES)?;
    Some((message, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.first_chunk().copied()
}

/// The contents of an attribute, in a list of attributes.
fn attribute(mut list: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(number(list, 0)?));
        // The highest bits say that there are attributes within, and the order of bytes.
        let kind = u16::from_ne_bytes(number(list, 2)?) & 0x3fff;
        let contents = list.get(4..length)?;
        if kind == wanted {
            return Some(contents);
        }
        list = list.get(length.next_multiple_of(4)..)?;
    }
}

/// The own and the peer's end in an `inet_diag_msg`.
fn ends(message: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let is_ipv4 = *message.first()? == FAMILIES[0];
    let address = |port: usize, address: usize| -> Option<SocketAddr> {
        let ip = match is_ipv4 {
            true => IpAddr::from(number::<4>(message, address)?),
            false => Ipv6Addr::from(number::<16>(message, address)?).to_canonical(),
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(number(message, port)?)))
    };
    Some((address(4, 8)?, address(6, 24)?))
}

/// The ends of a socket, and how much its peer has acknowledged. `None` for a socket of Multipath TCP that fell back.
fn acknowledged(message: &[u8], is_multipath: bool) -> Option<((SocketAddr, SocketAddr), Acknowledged)> {
    let info = attribute(message.get(SOCKET_BYTES..)?, INET_DIAG_INFO)?;
    if is_multipath && number(info, 8).map(u32::from_ne_bytes)? & FALLBACK != 0 {
        return None;
    }
    // `mptcpi_snd_una` and `tcpi_bytes_acked`.
    let position = number(info, if is_multipath { 24 } else { 120 }).map(u64::from_ne_bytes)?;
    Some((ends(message)?, Acknowledged { is_multipath, position }))
}

/// `inet_diag_msg` and its attributes.
fn read(message: &[u8]) -> Option<Subflow> {
    let (local, remote) = ends(message)?;
    let attributes = message.get(SOCKET_BYTES..)?;
    // `tcp_info` of linux/tcp.h.
    let info = attribute(attributes, INET_DIAG_INFO)?;
    let small = |at| number(info, at).map(u32::from_ne_bytes);
    let large = |at| number(info, at).map(u64::from_ne_bytes);
    let segment_bytes = small(16)?;
    let micros = |at| Some(Duration::from_micros(small(at)?.into()));
    let mptcp = attribute(attributes, INET_DIAG_ULP_INFO).and_then(|ulp| attribute(ulp, INET_ULP_INFO_MPTCP));
    Some(Subflow {
        token: mptcp.and_then(|m| number(attribute(m, MPTCP_SUBFLOW_ATTR_TOKEN_LOC)?, 0)).map(u32::from_ne_bytes),
        figures: SubflowFigures {
            local,
            remote,
            sent_bytes: large(200)?,
            received_bytes: large(128)?,
            retransmitted_segments: small(100)?.into(),
            window_bytes: u64::from(small(80)?) * u64::from(segment_bytes),
            offered_bytes: small(228).unwrap_or(0).into(),
            round_trip: micros(68)?,
            round_trip_variation: micros(72)?,
            segment_bytes,
            path_mtu: small(60)?,
        },
    })
}

/// The differences between the figures of `now` and those of `before`, an earlier time.
pub(super) fn since(now: &[SubflowFigures], before: &[SubflowFigures]) -> Vec<SubflowFigures> {
    let of = |subflow: &SubflowFigures| {
        let ends = |s: &&SubflowFigures| (s.local, s.remote) == (subflow.local, subflow.remote);
        let counts = |s: &SubflowFigures| (s.sent_bytes, s.received_bytes, s.retransmitted_segments);
        let (sent, received, again) = before.iter().find(ends).map_or((0, 0, 0), counts);
        SubflowFigures {
            sent_bytes: subflow.sent_bytes.saturating_sub(sent),
            received_bytes: subflow.received_bytes.saturating_sub(received),
            retransmitted_segments: subflow.retransmitted_segments.saturating_sub(again),
            ..subflow.clone()
        }
    };
    now.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, subflows};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_tells_what_a_socket_sent_and_received() {
        let listener = TcpListener::bind(("::1", 0)).expect("loopback");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut far, _) = listener.accept().expect("a client");
        near.write_all(&[7; 5000]).expect("written");
        far.read_exact(&mut [0; 5000]).expect("read");
        far.write_all(&[7; 300]).expect("written");
        near.read_exact(&mut [0; 300]).expect("read");
        let ends = (near.local_addr().expect("bound"), near.peer_addr().expect("connected"));
        let found = subflows(ends.0, ends.1);
        let [only] = &found[..] else { panic!("one subflow: {found:?}") };
        assert_eq!((only.sent_bytes, only.received_bytes, only.retransmitted_segments), (5000, 300, 0));
        assert!(only.segment_bytes >= 1000 && only.path_mtu > only.segment_bytes, "{only:?}");
        let before = Acknowledged::of(ends.0, ends.1).expect("a connected socket");
        near.write_all(&[7; 700]).expect("written");
        far.read_exact(&mut [0; 700]).expect("read");
        // The receiver may acknowledge a moment after it has read.
        let since = || Acknowledged::of(ends.0, ends.1).and_then(|now| now.since(before));
        let all = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            since() == Some(700)
        });
        assert!(all, "{before:?}, and then {:?} more", since());
        assert!(only.window_bytes > 0 && only.offered_bytes > 0 && only.round_trip.as_micros() > 0, "{only:?}");
    }
}
