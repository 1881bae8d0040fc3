//! packetdrill's C interface (`packetdrill.h`), translated to `Stack`.
//!
//! This file, `calls.rs` and `waiting.rs` are the only ones with `unsafe`. packetdrill passes pointers to its own
//! structs, and the pointer that it got from here, and calls the functions as C does. The code is right about these
//! pointers as long as packetdrill keeps to its header: each pointer is valid for the call, and a buffer is as long as
//! the argument beside it says. `fcntl` and `ioctl` have a list of any arguments there; functions with three named
//! arguments take the first of them from the same place on x86-64 and AArch64 Linux.
//!
//! packetdrill calls from two threads: one runs the script, the other waits in calls that block. While a call waits,
//! the script's thread moves the clock. Before it moves the clock, it gives the other thread a moment to return, so
//! that a call that ends at some time also ends at this time on the clock.

#![expect(unsafe_code, reason = "a C interface")]

use crate::calls::*;
use crate::settings::Settings;
use crate::stack::{Refusal, Stack};
use crate::waiting::*;
use core::ffi::{c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void};
use libc::{epoll_event, iovec, loff_t, msghdr, pollfd, sockaddr, socklen_t, ssize_t, timeval};
use pathweave_units::Duration;
use std::sync::{Condvar, Mutex, MutexGuard};

pub(crate) type User = *mut c_void;

/// The struct that packetdrill has filled in. Functions that the scripts never call stay null.
#[repr(C)]
#[expect(missing_debug_implementations, reason = "functions only")]
pub struct Interface {
    userdata: User,
    free: Option<extern "C" fn(User)>,
    socket: Option<extern "C" fn(User, c_int, c_int, c_int) -> c_int>,
    bind: Option<unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int>,
    listen: Option<extern "C" fn(User, c_int, c_int) -> c_int>,
    accept: Option<unsafe extern "C" fn(User, c_int, *mut sockaddr, *mut socklen_t) -> c_int>,
    connect: Option<unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int>,
    read: Option<unsafe extern "C" fn(User, c_int, *mut c_void, usize) -> ssize_t>,
    readv: Option<unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t>,
    recv: Option<unsafe extern "C" fn(User, c_int, *mut c_void, usize, c_int) -> ssize_t>,
    recvfrom:
        Option<unsafe extern "C" fn(User, c_int, *mut c_void, usize, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t>,
    recvmsg: Option<unsafe extern "C" fn(User, c_int, *mut msghdr, c_int) -> ssize_t>,
    write: Option<unsafe extern "C" fn(User, c_int, *const c_void, usize) -> ssize_t>,
    writev: Option<unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t>,
    send: Option<unsafe extern "C" fn(User, c_int, *const c_void, usize, c_int) -> ssize_t>,
    sendto:
        Option<unsafe extern "C" fn(User, c_int, *const c_void, usize, c_int, *const sockaddr, socklen_t) -> ssize_t>,
    sendmsg: Option<unsafe extern "C" fn(User, c_int, *const msghdr, c_int) -> ssize_t>,
    fcntl: Option<extern "C" fn(User, c_int, c_int, c_long) -> c_int>,
    ioctl: Option<unsafe extern "C" fn(User, c_int, c_ulong, *mut c_int) -> c_int>,
    close: Option<extern "C" fn(User, c_int) -> c_int>,
    shutdown: Option<extern "C" fn(User, c_int, c_int) -> c_int>,
    getsockopt: Option<unsafe extern "C" fn(User, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int>,
    setsockopt: Option<unsafe extern "C" fn(User, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int>,
    poll: Option<unsafe extern "C" fn(User, *mut pollfd, libc::nfds_t, c_int) -> c_int>,
    netdev_send: Option<unsafe extern "C" fn(User, *const c_void, usize) -> c_int>,
    netdev_receive: Option<unsafe extern "C" fn(User, *mut c_void, *mut usize, *mut c_longlong) -> c_int>,
    usleep: Option<extern "C" fn(User, libc::useconds_t) -> c_int>,
    gettimeofday: Option<unsafe extern "C" fn(User, *mut timeval, *mut c_void) -> c_int>,
    epoll_create: Option<extern "C" fn(User, c_int) -> c_int>,
    epoll_ctl: Option<unsafe extern "C" fn(User, c_int, c_int, c_int, *mut epoll_event) -> c_int>,
    epoll_wait: Option<unsafe extern "C" fn(User, c_int, *mut epoll_event, c_int, c_int) -> c_int>,
    pipe: Option<extern "C" fn(User, *mut c_int) -> c_int>,
    splice: Option<extern "C" fn(User, c_int, *mut loff_t, c_int, *mut loff_t, usize, c_uint) -> ssize_t>,
}

/// Name of the file with the arguments that the script gave to `sysctl` and `ip`.
const LINES: &str = "PATHWEAVE_PACKETDRILL_LINES";

/// Real time that the script's thread waits for the other thread to come back from a call.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(1);

pub(crate) struct Shared {
    stack: Mutex<Stack>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Stack> {
        self.stack.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Carries out a call. While the call has to wait, and may, it is tried again each time that something has changed.
    pub(crate) fn call<T>(
        &self,
        fd: c_int,
        waits: bool,
        act: impl FnMut(&mut Stack, bool) -> Result<T, Refusal>,
    ) -> Result<T, c_int> {
        self.act(|stack| waits && stack.waits(fd), act)
    }

    /// The same for a call that may always wait.
    pub(crate) fn wait<T>(&self, act: impl FnMut(&mut Stack, bool) -> Result<T, Refusal>) -> Result<T, c_int> {
        self.act(|_| true, act)
    }

    fn act<T>(
        &self,
        waits: impl Fn(&mut Stack) -> bool,
        mut act: impl FnMut(&mut Stack, bool) -> Result<T, Refusal>,
    ) -> Result<T, c_int> {
        let mut stack = self.lock();
        let mut again = false;
        loop {
            match act(&mut stack, again) {
                Ok(value) => {
                    self.changed.notify_all();
                    return Ok(value);
                }
                Err(Refusal::Number(number)) => return Err(number),
                Err(Refusal::Blocked) if !waits(&mut stack) => return Err(libc::EAGAIN),
                Err(Refusal::Blocked) => {}
            }
            again = true;
            stack = self.changed.wait(stack).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

pub(crate) fn settings() -> Settings {
    let lines = std::env::var(LINES).ok().and_then(|name| std::fs::read_to_string(name).ok());
    Settings::new(&lines.unwrap_or_default())
}

/// The state that `packetdrill_interface_init` has handed out.
pub(crate) fn shared<'u>(user: User) -> &'u Shared {
    // Sound: packetdrill gives back the pointer it got, until it has called `free`.
    unsafe { &*user.cast::<Shared>() }
}

pub(crate) fn fail(number: c_int) -> c_int {
    // Sound: the address of this thread's errno.
    unsafe { *libc::__errno_location() = number };
    -1
}

pub(crate) fn answer<T>(result: Result<T, c_int>, value: impl FnOnce(T) -> c_int) -> c_int {
    result.map_or_else(fail, value)
}

pub(crate) fn length(result: Result<usize, c_int>) -> ssize_t {
    result.map_or_else(|number| fail(number) as ssize_t, |bytes| bytes as ssize_t)
}

extern "C" fn free(user: User) {
    // Sound: made by `Box::into_raw`, and packetdrill calls this once, at the end.
    drop(unsafe { Box::from_raw(user.cast::<Shared>()) });
}

unsafe extern "C" fn netdev_send(user: User, packet: *const c_void, len: usize) -> c_int {
    // Sound: `len` valid bytes.
    let packet = unsafe { core::slice::from_raw_parts(packet.cast::<u8>(), len) };
    shared(user).lock().take_packet(packet);
    shared(user).changed.notify_all();
    0
}

/// Gives the other thread a moment before time passes.
fn wait_for_calls(shared: &Shared) {
    shared.changed.notify_all();
    std::thread::sleep(MOMENT);
}

unsafe extern "C" fn netdev_receive(
    user: User,
    packet: *mut c_void,
    len: *mut usize,
    time_usecs: *mut c_longlong,
) -> c_int {
    let shared = shared(user);
    if !shared.lock().has_packet() {
        wait_for_calls(shared);
    }
    let next = shared.lock().next_packet();
    shared.changed.notify_all();
    // Sound: room for `*len` bytes, and for both numbers. A packet of no bytes ends the script: none will come.
    unsafe {
        let (at, bytes) = next.filter(|(_, bytes)| bytes.len() <= *len).unwrap_or_default();
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), packet.cast::<u8>(), bytes.len());
        (*len, *time_usecs) = (bytes.len(), at);
    }
    0
}

extern "C" fn usleep(user: User, time: libc::useconds_t) -> c_int {
    let shared = shared(user);
    wait_for_calls(shared);
    shared.lock().sleep(Duration::from_micros(u64::from(time)));
    shared.changed.notify_all();
    0
}

unsafe extern "C" fn gettimeofday(user: User, time: *mut timeval, _zone: *mut c_void) -> c_int {
    let now = shared(user).lock().look_at_clock();
    shared(user).changed.notify_all();
    // Sound: room for a time.
    unsafe { *time = timeval { tv_sec: now / 1_000_000, tv_usec: now % 1_000_000 } };
    0
}

/// The function that packetdrill looks for in the library that `--so_filename` names.
///
/// # Safety
/// `interface` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(_flags: *const c_char, interface: *mut Interface) {
    let shared = Box::new(Shared { stack: Mutex::new(Stack::new()), changed: Condvar::new() });
    let filled = Interface {
        userdata: Box::into_raw(shared).cast(),
        free: Some(free),
        socket: Some(socket),
        bind: Some(bind),
        listen: Some(listen),
        accept: Some(accept),
        connect: Some(connect),
        read: Some(read),
        readv: Some(readv),
        recv: Some(recv),
        recvfrom: Some(recvfrom),
        recvmsg: Some(recvmsg),
        write: Some(write),
        writev: Some(writev),
        send: Some(send),
        sendto: Some(sendto),
        sendmsg: Some(sendmsg),
        fcntl: Some(fcntl),
        ioctl: Some(ioctl),
        close: Some(close),
        shutdown: Some(shutdown),
        getsockopt: Some(getsockopt),
        setsockopt: Some(setsockopt),
        poll: Some(poll),
        netdev_send: Some(netdev_send),
        netdev_receive: Some(netdev_receive),
        usleep: Some(usleep),
        gettimeofday: Some(gettimeofday),
        epoll_create: Some(epoll_create),
        epoll_ctl: Some(epoll_ctl),
        epoll_wait: Some(epoll_wait),
        pipe: Some(pipe),
        splice: Some(splice),
    };
    // Sound: valid for writing, as its caller says.
    unsafe { interface.write(filled) };
}
