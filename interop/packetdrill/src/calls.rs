//! The calls of sockets, from C and back.

#![expect(unsafe_code, reason = "a C interface")]

use crate::abi::{User, answer, fail, length, settings, shared};
use crate::stack::Refusal;
use core::ffi::{c_int, c_long, c_ulong, c_void};
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use libc::{iovec, msghdr, pollfd, sockaddr, socklen_t, ssize_t};

unsafe fn address(at: *const sockaddr) -> Result<SocketAddr, c_int> {
    // Sound: as long as the family says, which packetdrill has checked against `addrlen`.
    unsafe {
        match c_int::from((*at).sa_family) {
            libc::AF_INET => {
                let at = *at.cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(u32::from_be(at.sin_addr.s_addr));
                Ok(SocketAddr::new(ip.into(), u16::from_be(at.sin_port)))
            }
            libc::AF_INET6 => {
                let at = *at.cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(at.sin6_addr.s6_addr);
                Ok(SocketAddr::new(ip.to_canonical(), u16::from_be(at.sin6_port)))
            }
            _ => Err(libc::EAFNOSUPPORT),
        }
    }
}

pub(crate) extern "C" fn socket(user: User, _domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    const MPTCP: c_int = 262;
    let mut stack = shared(user).lock();
    let fd = stack.open(protocol == MPTCP);
    if kind & libc::SOCK_NONBLOCK != 0 {
        stack.set_waits(fd, false).ok();
    }
    fd
}

pub(crate) unsafe extern "C" fn bind(user: User, fd: c_int, at: *const sockaddr, _len: socklen_t) -> c_int {
    // Sound: a valid address for this call.
    match unsafe { address(at) } {
        Ok(at) => answer(shared(user).call(fd, false, |stack, _| stack.bind(fd, at)), |()| 0),
        Err(number) => fail(number),
    }
}

pub(crate) extern "C" fn listen(user: User, fd: c_int, _backlog: c_int) -> c_int {
    answer(shared(user).call(fd, false, |stack, _| stack.listen(fd, &settings())), |()| 0)
}

pub(crate) unsafe extern "C" fn accept(user: User, fd: c_int, at: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let accepted = shared(user).call(fd, true, |stack, _| stack.accept(fd));
    answer(accepted, |(new, peer)| {
        // Sound: both are null, or valid with room for what `len` says.
        unsafe { put_address(peer, at, len) };
        new
    })
}

unsafe fn put_address(peer: SocketAddr, at: *mut sockaddr, len: *mut socklen_t) {
    if at.is_null() || len.is_null() {
        return;
    }
    // Sound: room for `*len` bytes; nothing is written where that is too little.
    unsafe {
        match peer {
            SocketAddr::V4(peer) if *len as usize >= size_of::<libc::sockaddr_in>() => {
                let out = at.cast::<libc::sockaddr_in>();
                (*out).sin_family = libc::AF_INET as u16;
                (*out).sin_port = peer.port().to_be();
                (*out).sin_addr.s_addr = u32::from(*peer.ip()).to_be();
                *len = size_of::<libc::sockaddr_in>() as socklen_t;
            }
            SocketAddr::V6(peer) if *len as usize >= size_of::<libc::sockaddr_in6>() => {
                let out = at.cast::<libc::sockaddr_in6>();
                (*out).sin6_family = libc::AF_INET6 as u16;
                (*out).sin6_port = peer.port().to_be();
                (*out).sin6_addr.s6_addr = peer.ip().octets();
                *len = size_of::<libc::sockaddr_in6>() as socklen_t;
            }
            _ => {}
        }
    }
}

pub(crate) unsafe extern "C" fn connect(user: User, fd: c_int, to: *const sockaddr, _len: socklen_t) -> c_int {
    // Sound: a valid address for this call.
    let to = match unsafe { address(to) } {
        Ok(to) => to,
        Err(number) => return fail(number),
    };
    let settings = settings();
    let result = shared(user).call(fd, true, |stack, again| stack.connect(fd, to, &settings, again));
    answer(result.map_err(|number| if number == libc::EAGAIN { libc::EINPROGRESS } else { number }), |()| 0)
}

/// Reads at most `len` bytes to `buffer`.
unsafe fn read_into(user: User, fd: c_int, buffer: *mut c_void, len: usize, waits: bool) -> Result<usize, c_int> {
    let bytes = shared(user).call(fd, waits, |stack, _| stack.read(fd, len))?;
    // Sound: no more than `len` bytes were read, and the buffer has room for them.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast::<u8>(), bytes.len()) };
    Ok(bytes.len())
}

pub(crate) unsafe extern "C" fn read(user: User, fd: c_int, buffer: *mut c_void, len: usize) -> ssize_t {
    length(unsafe { read_into(user, fd, buffer, len, true) })
}

pub(crate) unsafe extern "C" fn recv(user: User, fd: c_int, buffer: *mut c_void, len: usize, flags: c_int) -> ssize_t {
    length(unsafe { read_into(user, fd, buffer, len, flags & libc::MSG_DONTWAIT == 0) })
}

pub(crate) unsafe extern "C" fn recvfrom(
    user: User,
    fd: c_int,
    buffer: *mut c_void,
    len: usize,
    flags: c_int,
    _from: *mut sockaddr,
    _from_len: *mut socklen_t,
) -> ssize_t {
    unsafe { recv(user, fd, buffer, len, flags) }
}

/// Fills the first piece that has room, as a short read may.
unsafe fn read_pieces(user: User, fd: c_int, pieces: *const iovec, count: usize, waits: bool) -> ssize_t {
    let mut total = 0;
    for i in 0..count {
        // Sound: `count` pieces, each with room for its length.
        let piece = unsafe { &*pieces.add(i) };
        let read = unsafe { read_into(user, fd, piece.iov_base, piece.iov_len, waits && total == 0) };
        match read {
            Ok(bytes) if bytes == piece.iov_len => total += bytes,
            Ok(bytes) => return (total + bytes) as ssize_t,
            Err(number) if total == 0 => return length(Err(number)),
            Err(_) => break,
        }
    }
    total as ssize_t
}

pub(crate) unsafe extern "C" fn readv(user: User, fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    unsafe { read_pieces(user, fd, pieces, count.max(0) as usize, true) }
}

pub(crate) unsafe extern "C" fn recvmsg(user: User, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // Sound: a valid message, whose pieces are valid; it has no control data afterwards.
    unsafe {
        (*message).msg_controllen = 0;
        (*message).msg_flags = 0;
        read_pieces(user, fd, (*message).msg_iov, (*message).msg_iovlen, flags & libc::MSG_DONTWAIT == 0)
    }
}

/// Writes everything, or what there is room for.
unsafe fn write_from(user: User, fd: c_int, buffer: *const c_void, len: usize, waits: bool) -> ssize_t {
    // Sound: `len` valid bytes; of none, the pointer may be anything.
    let bytes = if len == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(buffer.cast::<u8>(), len) } };
    let mut written = 0;
    let result = shared(user).call(fd, waits, |stack, _| {
        while written < bytes.len() {
            match stack.write(fd, &bytes[written..]) {
                Ok(taken) => written += taken,
                Err(Refusal::Blocked) => return Err(Refusal::Blocked),
                Err(Refusal::Number(_)) if written > 0 => return Ok(written),
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(written)
    });
    match result {
        Err(libc::EAGAIN) if written > 0 => written as ssize_t,
        result => length(result),
    }
}

pub(crate) unsafe extern "C" fn write(user: User, fd: c_int, buffer: *const c_void, len: usize) -> ssize_t {
    unsafe { write_from(user, fd, buffer, len, true) }
}

pub(crate) unsafe extern "C" fn send(
    user: User,
    fd: c_int,
    buffer: *const c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    unsafe { write_from(user, fd, buffer, len, flags & libc::MSG_DONTWAIT == 0) }
}

pub(crate) unsafe extern "C" fn sendto(
    user: User,
    fd: c_int,
    buffer: *const c_void,
    len: usize,
    flags: c_int,
    _to: *const sockaddr,
    _to_len: socklen_t,
) -> ssize_t {
    unsafe { send(user, fd, buffer, len, flags) }
}

unsafe fn write_pieces(user: User, fd: c_int, pieces: *const iovec, count: usize, waits: bool) -> ssize_t {
    let mut all = Vec::new();
    for i in 0..count {
        // Sound: `count` pieces, each of so many valid bytes.
        let piece = unsafe { &*pieces.add(i) };
        if piece.iov_len > 0 {
            all.extend_from_slice(unsafe { core::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) });
        }
    }
    unsafe { write_from(user, fd, all.as_ptr().cast(), all.len(), waits) }
}

pub(crate) unsafe extern "C" fn writev(user: User, fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    unsafe { write_pieces(user, fd, pieces, count.max(0) as usize, true) }
}

pub(crate) unsafe extern "C" fn sendmsg(user: User, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // Sound: a valid message, whose pieces are valid.
    let (pieces, count) = unsafe { ((*message).msg_iov, (*message).msg_iovlen) };
    unsafe { write_pieces(user, fd, pieces, count, flags & libc::MSG_DONTWAIT == 0) }
}

pub(crate) extern "C" fn fcntl(user: User, fd: c_int, command: c_int, value: c_long) -> c_int {
    let shared = shared(user);
    match command {
        libc::F_GETFL => libc::O_RDWR | if shared.lock().waits(fd) { 0 } else { libc::O_NONBLOCK },
        libc::F_SETFL => {
            let waits = value as c_int & libc::O_NONBLOCK == 0;
            answer(shared.call(fd, false, |stack, _| stack.set_waits(fd, waits)), |()| 0)
        }
        _ => fail(libc::EINVAL),
    }
}

pub(crate) unsafe extern "C" fn ioctl(user: User, fd: c_int, request: c_ulong, value: *mut c_int) -> c_int {
    if request != libc::FIONREAD {
        return fail(libc::ENOTTY);
    }
    answer(shared(user).call(fd, false, |stack, _| stack.readable_bytes(fd)), |bytes| {
        // Sound: room for a number.
        unsafe { *value = bytes as c_int };
        0
    })
}

pub(crate) extern "C" fn close(user: User, fd: c_int) -> c_int {
    answer(shared(user).call(fd, false, |stack, _| stack.close(fd)), |()| 0)
}

pub(crate) extern "C" fn shutdown(user: User, fd: c_int, how: c_int) -> c_int {
    answer(
        shared(user).call(fd, false, |stack, _| stack.shutdown(fd, how != libc::SHUT_WR, how != libc::SHUT_RD)),
        |()| 0,
    )
}

pub(crate) unsafe extern "C" fn getsockopt(
    user: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    if (level, name) != (libc::SOL_SOCKET, libc::SO_ERROR) {
        return fail(libc::ENOPROTOOPT);
    }
    answer(shared(user).call(fd, false, |stack, _| stack.take_error(fd)), |number| {
        // Sound: room for a number, as its length says.
        unsafe {
            *value.cast::<c_int>() = number;
            *len = size_of::<c_int>() as socklen_t;
        }
        0
    })
}

pub(crate) unsafe extern "C" fn setsockopt(
    user: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    match (level, name) {
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) if len as usize >= size_of::<c_int>() => {
            // Sound: `len` valid bytes.
            let on = unsafe { *value.cast::<c_int>() } != 0;
            answer(shared(user).call(fd, false, |stack, _| stack.set_no_delay(fd, on)), |()| 0)
        }
        (libc::SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT | libc::SO_LINGER) => 0,
        _ => fail(libc::ENOPROTOOPT),
    }
}

pub(crate) unsafe extern "C" fn poll(user: User, fds: *mut pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
    // Sound: `count` valid entries.
    let fds = unsafe { core::slice::from_raw_parts_mut(fds, count as usize) };
    let Some(first) = fds.first().map(|f| f.fd) else { return 0 };
    let result = shared(user).call(first, timeout != 0, |stack, _| {
        let mut ready = 0;
        for f in &mut *fds {
            let Ok(is) = stack.ready(f.fd) else { continue };
            let mut events = 0;
            for (set, event) in [
                (is.readable, libc::POLLIN),
                (is.writable, libc::POLLOUT),
                (is.peer_ended, libc::POLLRDHUP),
                (is.failed, libc::POLLERR),
                (is.both_ended, libc::POLLHUP),
            ] {
                events |= if set { event } else { 0 };
            }
            f.revents = events & (f.events | libc::POLLERR | libc::POLLHUP);
            ready += c_int::from(f.revents != 0);
        }
        if ready > 0 { Ok(ready) } else { Err(Refusal::Blocked) }
    });
    match result {
        Err(libc::EAGAIN) => 0,
        result => answer(result, |ready| ready),
    }
}
