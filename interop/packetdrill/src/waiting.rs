//! The calls for options, and those that wait for several sockets, from C and back.

#![expect(unsafe_code, reason = "a C interface")]

use crate::abi::{User, answer, fail, shared};
use crate::epoll::events_of;
use crate::stack::{Refusal, Stack};
use core::ffi::{c_int, c_uint, c_void};
use libc::{epoll_event, loff_t, pollfd, socklen_t, ssize_t};
use pathweave_units::Duration;

pub(crate) unsafe extern "C" fn getsockopt(
    user: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    answer(shared(user).call(fd, false, |stack, _| stack.option(fd, level, name)), |bytes| {
        // Sound: room for as many bytes as the length says, of which no more are written.
        unsafe {
            let bytes = &bytes[..bytes.len().min(*len as usize)];
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast::<u8>(), bytes.len());
            *len = bytes.len() as socklen_t;
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
    if value.is_null() || len == 0 {
        return fail(libc::EINVAL);
    }
    let mut number = [0; size_of::<c_int>()];
    let taken = number.len().min(len as usize);
    // Sound: `len` valid bytes. A byte counts as a number, as for the type of service.
    number[..taken].copy_from_slice(unsafe { core::slice::from_raw_parts(value.cast::<u8>(), taken) });
    let number = c_int::from_ne_bytes(number);
    answer(shared(user).call(fd, false, |stack, _| stack.set_option(fd, level, name, number)), |()| 0)
}

/// Waits until `act` no longer blocks, at most this many milliseconds of the stack's clock. A negative number means no
/// limit.
fn wait<T>(user: User, timeout: c_int, mut act: impl FnMut(&mut Stack) -> Result<T, Refusal>) -> Result<T, c_int> {
    let mut until = None;
    shared(user).wait(|stack, _| {
        let now = stack.now();
        let end = *until.get_or_insert(now + Duration::from_millis(timeout.max(0) as u64));
        match act(stack) {
            Err(Refusal::Blocked) if timeout >= 0 && now >= end => Err(Refusal::Number(libc::EAGAIN)),
            result => result,
        }
    })
}

pub(crate) unsafe extern "C" fn poll(user: User, fds: *mut pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
    // Sound: `count` valid entries.
    let fds = unsafe { core::slice::from_raw_parts_mut(fds, count as usize) };
    let result = wait(user, timeout, |stack| {
        let mut ready = 0;
        for f in &mut *fds {
            let Ok(is) = stack.ready(f.fd) else { continue };
            // The events of `poll` and of epoll have the same numbers.
            f.revents = events_of(&is) as i16 & (f.events | libc::POLLERR | libc::POLLHUP);
            ready += c_int::from(f.revents != 0);
        }
        if ready > 0 { Ok(ready) } else { Err(Refusal::Blocked) }
    });
    match result {
        Err(libc::EAGAIN) => 0,
        result => answer(result, |ready| ready),
    }
}

pub(crate) extern "C" fn epoll_create(user: User, _size: c_int) -> c_int {
    shared(user).lock().epoll_create()
}

pub(crate) unsafe extern "C" fn epoll_ctl(
    user: User,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // Sound: null, or a valid event.
    let event = unsafe { event.as_ref() }.map_or((0, 0), |event| (event.events, event.u64));
    answer(shared(user).call(fd, false, |stack, _| stack.epoll_ctl(epoll, operation, fd, event)), |()| 0)
}

pub(crate) unsafe extern "C" fn epoll_wait(
    user: User,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    match wait(user, timeout, |stack| stack.epoll_wait(epoll, most.max(0) as usize)) {
        Err(libc::EAGAIN) => 0,
        result => answer(result, |found| {
            for (i, (events_of_one, data)) in found.iter().enumerate() {
                // Sound: room for `most` events.
                unsafe { events.add(i).write_unaligned(epoll_event { events: *events_of_one, u64: *data }) };
            }
            found.len() as c_int
        }),
    }
}

pub(crate) extern "C" fn pipe(_user: User, _ends: *mut c_int) -> c_int {
    fail(libc::ENOSYS)
}

pub(crate) extern "C" fn splice(
    _user: User,
    _from: c_int,
    _from_offset: *mut loff_t,
    _to: c_int,
    _to_offset: *mut loff_t,
    _len: usize,
    _flags: c_uint,
) -> ssize_t {
    fail(libc::ENOSYS) as ssize_t
}
