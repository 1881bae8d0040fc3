//! The calls of sockets, from C and back.

#![expect(unsafe_code, reason = "a C interface")]

use crate::abi::{User, answer, fail, length, settings, shared};
use crate::stack::Refusal;
use core::ffi::{c_int, c_long, c_ulong, c_void};
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use libc::{iovec, msghdr, sockaddr, socklen_t, ssize_t};

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
    if buffer.is_null() && len > 0 {
        return Err(libc::EFAULT);
    }
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

/// Writes the control data that tells what is left to read, if the script has asked for it (`TCP_INQ`).
unsafe fn put_rest(user: User, fd: c_int, message: &mut msghdr) {
    const TCP_CM_INQ: c_int = 36;
    let rest = shared(user).lock().told_rest(fd);
    // Sound: control data has room for what `msg_controllen` says, and nothing is written where that is too little.
    unsafe {
        let needed = libc::CMSG_SPACE(size_of::<c_int>() as u32) as usize;
        let Some(rest) = rest.filter(|_| message.msg_controllen >= needed) else {
            message.msg_controllen = 0;
            return;
        };
        message.msg_controllen = needed;
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = libc::SOL_TCP;
        (*header).cmsg_type = TCP_CM_INQ;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(rest);
    }
}

pub(crate) unsafe extern "C" fn recvmsg(user: User, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // Sound: a valid message, whose pieces are valid.
    unsafe {
        (*message).msg_flags = 0;
        let waits = flags & libc::MSG_DONTWAIT == 0;
        let read = read_pieces(user, fd, (*message).msg_iov, (*message).msg_iovlen, waits);
        put_rest(user, fd, &mut *message);
        read
    }
}

/// Writes everything, or what there is room for.
pub(crate) unsafe fn write_from(user: User, fd: c_int, buffer: *const c_void, len: usize, flags: c_int) -> ssize_t {
    if buffer.is_null() && len > 0 {
        return length(Err(libc::EFAULT));
    }
    let waits = flags & libc::MSG_DONTWAIT == 0;
    // Sound: `len` valid bytes; of none, the pointer may be anything.
    let bytes = if len == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(buffer.cast::<u8>(), len) } };
    let mut written = 0;
    let result = shared(user).call(fd, waits, |stack, _| {
        while written < bytes.len() {
            match stack.write(fd, &bytes[written..], flags) {
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
    unsafe { write_from(user, fd, buffer, len, 0) }
}

pub(crate) unsafe extern "C" fn send(
    user: User,
    fd: c_int,
    buffer: *const c_void,
    len: usize,
    flags: c_int,
) -> ssize_t {
    unsafe { write_from(user, fd, buffer, len, flags) }
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

unsafe fn write_pieces(user: User, fd: c_int, pieces: *const iovec, count: usize, flags: c_int) -> ssize_t {
    let mut all = Vec::new();
    for i in 0..count {
        // Sound: `count` pieces, each of so many valid bytes.
        let piece = unsafe { &*pieces.add(i) };
        if piece.iov_len > 0 {
            all.extend_from_slice(unsafe { core::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) });
        }
    }
    unsafe { write_from(user, fd, all.as_ptr().cast(), all.len(), flags) }
}

pub(crate) unsafe extern "C" fn writev(user: User, fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
    unsafe { write_pieces(user, fd, pieces, count.max(0) as usize, 0) }
}

pub(crate) unsafe extern "C" fn sendmsg(user: User, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // Sound: a valid message, whose pieces are valid.
    let (pieces, count) = unsafe { ((*message).msg_iov, (*message).msg_iovlen) };
    unsafe { write_pieces(user, fd, pieces, count, flags) }
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
